"""
Bounds on how far two correct results of a program may lie apart.

A program may have several correct results. relex allows (`docs/checking.md` explains it to users):

* Elementwise arithmetic is IEEE arithmetic: one result. So are data movement, comparisons, integers.
* Additions with `reassoc` may be reordered within their chain, and a product with `contract` may be fused into them
  without rounding. A sum of K terms is then off from the exact one by at most K roundings of the sum of the absolute
  values, so two correct ones lie at most twice as far apart. Sums whose partial sums are all multiples of one power of
  two, and small enough to be representable, are the same in any order: samples of small integers produce such sums, and
  these must match bit by bit.
* Functions beyond arithmetic (`exp`, `tanh`, ...) may come from any library: two results may lie `FUNCTION_ULPS` apart.
* The sign of a zero is unspecified where a maximum or minimum chooses between zeros, and in reordered sums.
* Any NaN is as good as another: the integer that has the bits of one is unspecified.

`Bounds` is the domain of this: each number carries its *spread*, the maximum distance between two correct values of it.
An operation on numbers with a spread gives one with a spread: the spread of the exact operation over all correct
operands, plus two roundings. Results without a known bound (a quotient whose divisor may be zero, a selection that may
go either way) have an infinite spread and are not compared; if control flow depends on such a number, the run ends with
`UndecidedBranch`. Where a program works on the bits of such a number, as after `expand-math`, nothing is known: there,
the bounds of the earlier program apply.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from xdsl.ir import Operation

from relex.dialects.arrays import Array
from relex.dialects.dtypes import numpy_dtype
from relex.dialects.relex import Operator
from relex.dialects.relex.operator import tensor_type
from relex.reference.domains.domain import Domain, Make
from relex.reference.domains.domain_numbers import DomainNumbers
from relex.reference.domains.symbols import SymbolHead, mixes_elements
from relex.reference.equivalence.bounded import UndecidedBranch, plain, spread_of, value_of
from relex.reference.equivalence.interface import NotComparable
from relex.reference.equivalence.spread_rules import RULES, Rule, known_if_operands_are

STEPS = 4
"""The steps that a function of many numbers with bounds takes: as many as in loops, with loads and stores."""


class Bounds(Domain):
    """Numbers with the spread of their correct values."""

    folds = False

    def spend(self, count: int) -> None:
        super().spend(STEPS * count)

    def constants(self, array: Array) -> Array:
        return np.asarray(plain(array))

    def values(self, cells: Array) -> Array | None:
        return None if np.any(spread_of(cells) != 0) else np.asarray(value_of(cells))

    def make_op(self, op: Operation, function: Callable[..., Any]) -> Make:
        if not mixes_elements(op):
            return super().make_op(op, function)
        return lambda *operands: plain(function(*map(value_of, operands)), _any_spread(operands))

    def rule_of(self, name: str) -> Rule:
        """Return the function that bounds the result of an op of a name."""
        return RULES.get(name, known_if_operands_are)

    def make(self, head: SymbolHead) -> Make:
        rule, function = self.rule_of(head.name), head.function
        assert function is not None

        def run(*operands: Any) -> Any:
            return rule(head, function(*map(value_of, operands)), *operands)

        return run


class BoundedNumbers(DomainNumbers):
    """Numbers with a spread in a run of the interpreter."""

    def cells_of(self, number: Any, dtype: np.dtype[Any]) -> Any:
        return number if number.dtype.names else plain(number)

    def undecided(self) -> Exception:
        return UndecidedBranch()

    def in_place(self, op: Operation, function: Callable[..., Any], outputs: int) -> Callable[..., Any]:
        def run(*arrays: Array) -> None:
            count = len(arrays) - outputs
            values = [np.array(value_of(array)) for array in arrays]
            function(*values)
            for output, value in zip(arrays[count:], values[count:], strict=True):
                output[...] = plain(value, _any_spread(arrays[:count]))

        return run

    def without_loops(
        self, op: Operator, cells: Sequence[Array], results: Sequence[tuple[tuple[int, ...], np.dtype[Any]]]
    ) -> Sequence[tuple[Array, np.dtype[Any]]]:
        if op.COUNTS and _any_spread(cells):
            raise NotComparable(f"sizes depend on rounded elements by {op.name}")
        types = [tensor_type(v.type).element_type for v in op.operands]
        values = [np.asarray(value_of(c)).view(numpy_dtype(t)) for c, t in zip(cells, types, strict=True)]
        found = zip(op.evaluate_results(*values), results, strict=True)
        return [(np.asarray(plain(x.view(dtype), _any_spread(cells))), dtype) for x, (_, dtype) in found]


def _any_spread(arrays: Sequence[Any]) -> float:
    """Return the spread of numbers that are known if all elements of some arrays are."""
    return np.inf if any(np.any(spread_of(array) != 0) for array in arrays) else 0.0
