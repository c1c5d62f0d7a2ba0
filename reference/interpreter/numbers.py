"""Representation of a program's numbers in a run: NumPy's by default."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from xdsl.ir import Attribute, Operation

from relex.dialects.arrays import Array
from relex.reference.interpreter.memory import fresh_array


class Numbers:
    """NumPy's numbers. Subclasses may attach more to each, or fill memory in another way."""

    byte = 1
    """The bytes of memory in which a byte of a number is represented."""

    def __init__(self, *, checked: bool = False):
        self._checked = checked

    def constant(self, value: Any, element_type: Attribute) -> Any:
        """Return the representation of a number or an array of numbers of a type."""
        return value

    def fresh_array(self, shape: tuple[int, ...], dtype: np.dtype[Any], element_type: Attribute) -> Array:
        """Allocate memory of unspecified contents for numbers of a type."""
        return fresh_array(shape, dtype, checked=self._checked)

    def stored(self, dtype: np.dtype[Any]) -> np.dtype[Any]:
        """Return the dtype of numbers in memory that is viewed as numbers of `dtype`."""
        return dtype

    def decided(self, value: Any) -> Any:
        """Return the number, or the vector of numbers, by which a run decides where it goes on or what it accesses."""
        return value

    def function(self, op: Operation, function: Callable[..., Any]) -> Callable[..., Any]:
        """Lift `function`, which computes the results of `op` for NumPy's numbers, to their representation."""
        return function

    def repeated(self, op: Operation, function: Callable[..., Any], place: int) -> Callable[[Any, Array], Any]:
        """Lift `function`, which computes the result of `op`, and apply it again and again: to the result so far, its
        operand number `place` of two, and to one row of an array after the other."""
        step = self.function(op, function)

        def run(result: Any, rows: Array) -> Any:
            for row in rows:
                result = step(row, result) if place else step(result, row)
            return result

        return run

    def in_place(self, op: Operation, function: Callable[..., Any], outputs: int) -> Callable[..., Any]:
        """Lift `function`, which fills the last `outputs` arrays as `op` says, to arrays of the representation."""
        return function
