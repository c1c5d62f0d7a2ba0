"""The arguments of a function from the command line and from files."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from relex.passes.support.array_files import load_array
from relex.tools.diagnostics import ToolError

if TYPE_CHECKING:
    from relex.dialects.dtypes import Array
    from relex.runtime.signature import TensorSpec

Number = bool | int | float

_TRUTHS = {"true": True, "false": False}


@dataclass(frozen=True)
class Input:
    """What to pass for an argument: its name, if one was given, and its value in the call of a number; `count` is how
    many calls there are values for, None for one value in all calls. `source` says where that of a call comes from."""

    name: str | None
    value: Callable[[int], Array | Number]
    count: int | None = None
    source: Callable[[int], str] = str

    @classmethod
    def read(cls, text: str) -> Input:
        """The value from `[NAME=]FILE.npy` or `[NAME=]NUMBER`."""
        name, rest = _split(text)
        value = _number(rest)
        found = load_array(rest) if value is None else value
        return cls(name, lambda _: found)

    @classmethod
    def read_series(cls, text: str) -> Input:
        """The values from `[NAME=]FILE.npy`, along the first axis, or `[NAME=]FOLDER`, one from each of its files."""
        name, path = _split(text)
        if Path(path).is_dir():
            files = sorted(map(str, Path(path).glob("*.npy")))
            if not files:
                raise ToolError(f"expected .npy files in the folder '{path}', found none")
            return cls(name, lambda i: load_array(files[i]), len(files), files.__getitem__)
        array = load_array(path, mapped=True)
        if not array.ndim:
            raise ToolError(f"cannot read '{path}': expected an array with an axis of inputs, found a single number")
        return cls(name, lambda i: array[i], len(array), lambda i: f"{path}[{i}]")


def source_of(inputs: Iterable[Input], number: int) -> str:
    """Where the values of a call come from that other calls have not; empty if there is one call only."""
    return " and ".join(i.source(number) for i in inputs if i.count is not None)


def for_argument(value: Any, spec: TensorSpec) -> Any:
    """The value to pass for an argument: what is written without a point may be a float."""
    is_float = spec.is_scalar and spec.dtype.kind == "f"
    try:
        return float(value) if is_float and type(value) is int else value
    except OverflowError as e:
        found = f"one of {value.bit_length()} bits"
        raise ToolError(f"argument '{spec.name}': expected a number of {spec.dtype.name}, found {found}") from e


def _number(text: str) -> Number | None:
    """The number that the command line says, if it is one. `./3` is a file."""
    for read in (_TRUTHS.__getitem__, int, float):
        try:
            return read(text)
        except (KeyError, ValueError):
            pass
    return None


def count_calls(inputs: Iterable[Input]) -> int | None:
    """How many calls the inputs are for; None if none of them says it. Raises `ToolError` if they disagree."""
    counts = {i.count for i in inputs if i.count is not None}
    if len(counts) > 1:
        raise ToolError(f"expected as many entries in every --each, found {' and '.join(map(str, sorted(counts)))}")
    if counts == {0}:
        raise ToolError("expected at least one entry in --each, found none")
    return counts.pop() if counts else None


def _split(text: str) -> tuple[str | None, str]:
    """The name of an argument, if there is one, and the path."""
    name, equals, path = text.partition("=")
    is_named = equals and "/" not in name  # `./a=b.npy` is a file.
    return (name, path) if is_named else (None, text)
