"""Fusion patterns: how the elements of a loop function's results depend on the elements of its inputs."""

from __future__ import annotations

from collections.abc import Iterable

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Operation
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.str_enum import StrEnum

OP_PATTERN_ATTR = "tir.op_pattern"
"""On a loop function: its pattern, as a string."""


class OpPattern(StrEnum):
    """The patterns, from the one that fuses most easily to the one that never fuses."""

    ELEMENTWISE = "elementwise"
    """A result element needs the same element of one input, and at most one element of each other input."""
    BROADCAST = "broadcast"
    """An input has fewer dimensions; its elements are reused along the others."""
    INJECTIVE = "injective"
    """A result element needs elements at positions computed from its own: a transpose, a slice, ..."""
    REDUCTION = "reduction"
    """Elements along some dimensions are reduced to one."""
    OUT_ELEMENTWISE_FUSABLE = "out-elementwise-fusable"
    """A heavier computation that reuses its input elements, such as a matrix product. Elementwise work on its result
    may be fused into it."""
    OPAQUE = "opaque"
    """Nothing is known."""

    @property
    def rank(self) -> int:
        """The position in this order."""
        return list(OpPattern).index(self)

    def is_at_most(self, other: OpPattern) -> bool:
        """Return whether this pattern fuses at least as easily as another."""
        return self.rank <= other.rank


def widest(patterns: Iterable[OpPattern]) -> OpPattern:
    """Return the pattern of several steps together: the pattern of the one hardest to fuse."""
    return max(patterns, key=lambda pattern: pattern.rank, default=OpPattern.ELEMENTWISE)


def get_op_pattern(function: Operation) -> OpPattern | None:
    """Return the pattern that a function is annotated with."""
    attr = function.attributes.get(OP_PATTERN_ATTR)
    return OpPattern(attr.data) if isinstance(attr, StringAttr) else None


def set_op_pattern(function: Operation, pattern: OpPattern) -> None:
    """Annotate a function with its pattern."""
    function.attributes[OP_PATTERN_ATTR] = StringAttr(pattern)


def verify_op_pattern(function: Operation) -> None:
    """Raise `VerifyException` for an annotation that is not a pattern."""
    attr = function.attributes.get(OP_PATTERN_ATTR)
    if attr is None or (isinstance(attr, StringAttr) and attr.data in list(OpPattern)):
        return
    raise VerifyException(f"expected '{OP_PATTERN_ATTR}' to be one of {', '.join(OpPattern)}, found {attr}")
