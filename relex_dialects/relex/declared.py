"""Operators whose class need not say what follows from it: their name and their example."""

from __future__ import annotations

import re
from typing import TypeVar

from xdsl.irdl import irdl_op_definition

from relex.dialects.relex.operator import Operator

Declared = TypeVar("Declared", bound=Operator)


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
