"""Operators whose class need not say what follows from it: their name and their example."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, TypeVar

from xdsl.irdl import irdl_op_definition

from relex.dialects.relex.operator import Operator

if TYPE_CHECKING:
    from relex.dialects.relex.sliding_windows import SlidingWindows

Declared = TypeVar("Declared", bound=Operator)
Windowed = TypeVar("Windowed", bound="SlidingWindows")


def declared(cls: type[Declared]) -> type[Declared]:
    """
    Define an operator of relex, as `irdl_op_definition` does. It is named after its class, `relex.left_shift` after
    `LeftShiftOp`, and documented by `documentation`, which adds the example of its family:

        @declared
        class SqrtOp(FloatFunction, exactness=Exactness.NUMBERS):
            \"""The square root, correctly rounded; NaN for negative numbers.\"""
    """
    words = re.sub(r"(?<=.)(?=[A-Z])", "_", cls.__name__.removesuffix("Op"))
    cls.set_name(f"relex.{words.lower()}")
    cls.__doc__ = cls.documentation()
    return irdl_op_definition(cls)


def for_ranks(cls: type[Windowed], name: str) -> list[type[Windowed]]:
    """
    Define an operator of relex for windows of one, two and three dimensions each, as `declared` does; `{}` in the name
    of a class stands for their number:

        MaxPool1dOp, MaxPool2dOp, MaxPool3dOp = for_ranks(MaxPool, "MaxPool{}dOp")
    """
    place = {"__module__": cls.__module__}
    return [declared(type(cls)(name.format(rank), (cls,), place, rank=rank)) for rank in (1, 2, 3)]
