"""What stands for the numbers of a program in a run: as a rule, those of NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from xdsl.ir import Attribute, Operation

from relex.reference.interpreter.memory import fresh_array

if TYPE_CHECKING:
    import numpy as np

    from relex.dialects.dtypes import Array


class Numbers:
    """NumPy's numbers. A class that derives from it may carry more with each, or fill memory in another way."""

    def __init__(self, *, checked: bool = False):
        self._checked = checked

    def constant(self, value: Any, element_type: Attribute) -> Any:
        """What stands for a number or an array of numbers of a type."""
        return value

    def fresh_array(self, shape: tuple[int, ...], dtype: np.dtype[Any], element_type: Attribute) -> Array:
        """Memory of unspecified content for what stands for numbers of a type."""
        return fresh_array(shape, dtype, checked=self._checked)

    def function(self, op: Operation, function: Callable[..., Any]) -> Callable[..., Any]:
        """`function`, which gives the results of `op` for NumPy's numbers, on what stands for them."""
        return function

    def in_place(self, op: Operation, function: Callable[..., Any], outputs: int) -> Callable[..., Any]:
        """`function`, which fills the last `outputs` arrays as `op` says, on arrays of what stands for numbers."""
        return function
