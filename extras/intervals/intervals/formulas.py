"""The open table of what operators compute, written from their descriptions and not from their definitions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np
from xdsl.ir import Operation

from relex.dialects.arrays import Array
from relex.dialects.relex.properties import python_value
from relex.dialects.table import Table
from relex.reference.intervals import arithmetic as real
from relex.reference.intervals.numbers import Reals, Value, wrapped

Formula = Callable[..., Any]
"""Maps an operator and what is known about its operands to what is known about its result, or to a tuple for several;
to None if that is nothing."""

FORMULAS = Table[type[Operation], Formula]("wider formulas")
"""The formulas by class of operator."""


def given(op: Operation, name: str, default: Any = None) -> Any:
    """Return a property as a value of Python, or what stands for one that is not given."""
    attr = op.properties.get(name)
    return default if attr is None else python_value(attr)


def as_list(value: Any) -> list[int]:
    """Return one number or several as a list."""
    return [value] if isinstance(value, int) else list(value)


def axes_of(op: Operation, name: str, rank: int) -> list[int]:
    """Return the dimensions in a property, counted from the front; all of them if it is not given."""
    value = given(op, name)
    return list(range(rank)) if value is None else [axis % rank for axis in as_list(value)]


def in_rows(x: Value, axes: Sequence[int]) -> Any:
    """Return an array with some dimensions as one, the last."""
    others = [axis for axis in range(len(x.shape)) if axis not in axes]
    shape = [*(x.shape[axis] for axis in others), prod(x.shape[axis] for axis in axes)]
    return x.moved(lambda a: a.transpose([*others, *sorted(axes)]).reshape(shape))


def moved(x: Any, move: Callable[[Array], Any]) -> Any:
    """Return an array after each of its parts was moved in the same way."""
    return x.moved(move)


def constant(like: Any, value: float) -> Any:
    """Return a number as an element of an array like another."""
    return real.number(like, value) if isinstance(like, Reals) else wrapped(like.t, int(value), np.True_)


def stacked(x: Sequence[Any], combine: Callable[[Sequence[Array]], Array]) -> Any:
    """Return arrays that are put together, each of their parts in the same way."""
    first = x[0]
    known = combine([part.known for part in x])
    if isinstance(first, Reals):
        low = combine([part.low for part in x])
        high = low if all(part.low is part.high for part in x) else combine([part.high for part in x])
        return Reals(first.fmt, low, high, known)
    return type(first)(first.t, combine([part.value for part in x]), known)
