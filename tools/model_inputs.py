"""What the command line says about the inputs of a model: sizes that are closed, and inputs that are constants."""

from __future__ import annotations

import argparse
import re
from collections.abc import Mapping, Sequence
from pathlib import PurePath
from typing import Any

from relex.dialects.readers import BINARY_READERS
from relex.tools.diagnostics import ToolError

_SHAPE = re.compile(r"(\d+|\?)(x(\d+|\?))*")
_NUMBERS = re.compile(r"\[.*\]|[^\[\]]*,[^\[\]]*")


def add_model_arguments(group: argparse._ActionsContainer) -> None:  # pyright: ignore[reportPrivateUsage]
    """Add the options `--shapes` and `--values`."""
    group.add_argument(
        "--shapes",
        action="append",
        default=[],
        metavar="NAME=SIZE|NAME=SHAPE,...",
        help="close sizes of an .onnx file that are open, by their names or by those of inputs: batch=4,seq=128 or "
        "x=1x3x224x224, with ? for a size that stays as it is; may be given several times",
    )
    group.add_argument(
        "--values",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="make a constant of an input of an .onnx file: an .npy file, a number, or numbers like 1,8 for a list; "
        "may be given several times",
    )


def model_options(args: argparse.Namespace, name: str, kind: str) -> Mapping[str, Any]:
    """Return the options of the reader of the program in a file of some kind. Raises `ToolError` for what cannot be
    read, and for a program that is no model."""
    for option in ("shapes", "values"):
        if getattr(args, option) and kind not in BINARY_READERS:
            known = " or ".join(f".{suffix}" for suffix in BINARY_READERS)
            raise ToolError(f"expected a model, a file named *{known}, with --{option}, found '{name}'")
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
        from relex.passes.files.array_files import load_array

        return name, load_array(value)
    parts = [part for part in value.strip("[]").split(",") if part.strip()]
    try:
        numbers = [_number(part.strip()) for part in parts]
    except ValueError:
        raise ToolError(f"expected --values with an .npy file, a number, or numbers like 1,8, found '{text}'") from None
    return name, numbers if _NUMBERS.fullmatch(value) or len(numbers) != 1 else numbers[0]


def _number(text: str) -> bool | int | float:
    if text in ("true", "false"):
        return text == "true"
    try:
        return int(text)
    except ValueError:
        return float(text)
