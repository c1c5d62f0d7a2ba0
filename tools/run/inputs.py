"""Function arguments from the command line and from files."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from relex.dialects.array_files.array_files import load_array
from relex.tools.options.model_inputs import Number, read_number
from relex.tools.shell.diagnostics import ToolError

if TYPE_CHECKING:
    from relex.dialects.dtypes import Array
    from relex.dialects.signature import TensorSpec


@dataclass(frozen=True)
class Input:
    """An argument: its name, if given, and its value as a function of the call's number. `count` is the number of calls
    it has values for, None if all calls share one value. `source` names the origin of the value of a call."""

    name: str | None
    value: Callable[[int], Array | Number | list[Any]]
    count: int | None = None
    source: Callable[[int], str] = str

    @classmethod
    def read(cls, text: str) -> Input:
        """Read one value from `[NAME=]FILE.npy`, `[NAME=]NUMBER` or `[NAME=][1,2]`, a list that is converted as in
        Python."""
        name, rest = _split(text)
        value = (
            _read_list(rest) if rest.startswith("[") and rest.endswith("]") else read_number(rest)
        )  # `./3` is a file.
        found = load_array(rest) if value is None else value
        return cls(name, lambda _: found)

    @classmethod
    def read_series(cls, text: str) -> Input:
        """Read a value for each call from `[NAME=]FILE.npy`, along its first axis, or from each file of
        `[NAME=]FOLDER`."""
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


def _read_list(text: str) -> list[Any]:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as e:
        raise ToolError(f"cannot read '{text}': expected a list of numbers such as [1.5,2] or [[1,2],[3,4]]") from e


def source_of(inputs: Iterable[Input], number: int) -> str:
    """Return the origin of the values that are specific to a call; empty if there is only one call."""
    return " and ".join(i.source(number) for i in inputs if i.count is not None)


def for_argument(value: Any, spec: TensorSpec, function: str) -> Any:
    """Return the value to pass for an argument of a function: an integer becomes a float where a float is expected, a
    list an array, and a part of a file is copied where the call changes it."""
    if isinstance(value, list):
        from relex.runtime.arguments import ArgumentReader

        return ArgumentReader(spec, function)(value)
    if spec.is_inout:
        import numpy as np

        return np.require(value, requirements="W")
    is_float = spec.is_scalar and spec.dtype.kind == "f"
    try:
        return float(value) if is_float and type(value) is int else value
    except OverflowError as e:
        found = f"one of {value.bit_length()} bits"
        raise ToolError(f"argument '{spec.name}': expected a number of {spec.dtype.name}, found {found}") from e


def count_calls(inputs: Iterable[Input]) -> int | None:
    """Return the number of calls the inputs are for, None if no input implies it. Raises `ToolError` if they
    disagree."""
    counts = {i.count for i in inputs if i.count is not None}
    if len(counts) > 1:
        raise ToolError(f"expected as many entries in every --each, found {' and '.join(map(str, sorted(counts)))}")
    if counts == {0}:
        raise ToolError("expected at least one entry in --each, found none")
    return counts.pop() if counts else None


def _split(text: str) -> tuple[str | None, str]:
    """Return the name of an argument, if there is one, and the path."""
    name, equals, path = text.partition("=")
    is_named = equals and "/" not in name  # `./a=b.npy` is a file.
    return (name, path) if is_named else (None, text)
