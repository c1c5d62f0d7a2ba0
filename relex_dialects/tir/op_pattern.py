"""How the elements of a loop function's results hang on those of its inputs: what a fuser decides by."""

from __future__ import annotations

from collections.abc import Iterable

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Operation
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.str_enum import StrEnum

OP_PATTERN_ATTR = "tir.op_pattern"
"""On a loop function: its pattern, as a string."""


class OpPattern(StrEnum):
    """From the one that fuses most easily to the one that never does."""

    ELEMENTWISE = "elementwise"
    """An element of the result needs the same element of an input, and of others at most one each."""
    BROADCAST = "broadcast"
    """An input has fewer dimensions, its elements are used again along the others."""
    INJECTIVE = "injective"
    """An element of the result needs elements at places that are computed from its own: transposed, cut out, ..."""
    REDUCTION = "reduction"
    """Elements along some dimensions become one."""
    OUT_ELEMENTWISE_FUSABLE = "out-elementwise-fusable"
    """More work than that, which uses elements again and again: a matrix product, say. What is done to each element of
    its result may be done along with it."""
    OPAQUE = "opaque"
    """Nothing is known."""

    @property
    def rank(self) -> int:
        return list(OpPattern).index(self)

    def is_at_most(self, other: OpPattern) -> bool:
        """Whether this one fuses as easily as the other."""
        return self.rank <= other.rank


def widest(patterns: Iterable[OpPattern]) -> OpPattern:
    """The pattern of several steps together: that of the hardest one."""
    return max(patterns, key=lambda pattern: pattern.rank, default=OpPattern.ELEMENTWISE)


def get_op_pattern(function: Operation) -> OpPattern | None:
    """The pattern that a function is annotated with."""
    attr = function.attributes.get(OP_PATTERN_ATTR)
    return OpPattern(attr.data) if isinstance(attr, StringAttr) else None


def set_op_pattern(function: Operation, pattern: OpPattern) -> None:
    function.attributes[OP_PATTERN_ATTR] = StringAttr(pattern)


def verify_op_pattern(function: Operation) -> None:
    attr = function.attributes.get(OP_PATTERN_ATTR)
    if attr is None or (isinstance(attr, StringAttr) and attr.data in list(OpPattern)):
        return
    raise VerifyException(f"expected '{OP_PATTERN_ATTR}' to be one of {', '.join(OpPattern)}, found {attr}")
