"""Command-line options for the inputs of a model: sizes that are closed, and inputs that are constants."""

from __future__ import annotations

import argparse
import re
from collections.abc import Mapping, Sequence
from pathlib import PurePath
from typing import Any

from relex.dialects.readers import BINARY_READERS
from relex.tools.shell.diagnostics import Source, ToolError

Number = bool | int | float

_TRUTHS = {"true": True, "false": False}
_SHAPE = re.compile(r"(\d+|\?)(x(\d+|\?))*")
_NUMBERS = re.compile(r"\[.*\]|[^\[\]]*,[^\[\]]*")


def model_options(args: argparse.Namespace, source: Source) -> Mapping[str, Any]:
    """Return the options of the reader of a program. Raises `ToolError` for what cannot be read, and for a program that
    is no model."""
    for option in ("shapes", "values"):
        if getattr(args, option) and source.kind not in BINARY_READERS:
            known = " or ".join(f".{suffix}" for suffix in BINARY_READERS)
            raise ToolError(f"expected a model, a file named *{known}, with --{option}, found '{source.name}'")
    options: dict[str, Any] = {
        "shapes": _once("shapes", [_shape(part) for text in args.shapes for part in text.split(",")]),
        "values": _once("values", [_value(text) for text in args.values]),
    }
    return {name: given for name, given in options.items() if given}


def _once(option: str, entries: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(entries)
    if len(made) != len(entries):
        raise ToolError(f"expected each name once in --{option}, found {', '.join(name for name, _ in entries)}")
    return made


def _shape(text: str) -> tuple[str, int | tuple[int | None, ...]]:
    """Read `NAME=4` or `NAME=1x3x?`. Names of models may have = in them."""
    name, _, sizes = text.strip().rpartition("=")
    if not name or not _SHAPE.fullmatch(sizes):
        raise ToolError(f"expected --shapes with NAME=4 or NAME=1x3x224x224, found '{text}'")
    found = tuple(None if size == "?" else int(size) for size in sizes.split("x"))
    return name, found[0] if len(found) == 1 and found[0] is not None else found


def _value(text: str) -> tuple[str, Any]:
    """Read `NAME=FILE.npy`, `NAME=NUMBER` or `NAME=1,8`."""
    name, _, value = text.strip().partition("=")
    if not name or not value:
        raise ToolError(f"expected --values with NAME=VALUE, found '{text}'")
    if PurePath(value).suffix == ".npy":
        from relex.dialects.array_files.array_files import load_array

        return name, load_array(value)
    parts = [part for part in value.strip("[]").split(",") if part.strip()]
    numbers = [read_number(part.strip()) for part in parts]
    if None in numbers:
        raise ToolError(f"expected --values with an .npy file, a number, or numbers like 1,8, found '{text}'")
    return name, numbers if _NUMBERS.fullmatch(value) or len(numbers) != 1 else numbers[0]


def read_number(text: str) -> Number | None:
    """Return the number that a command-line argument denotes, or None."""
    for read in (_TRUTHS.__getitem__, int, float):
        try:
            return read(text)
        except (KeyError, ValueError):
            pass
    return None
