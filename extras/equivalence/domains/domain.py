"""What a domain has to implement: constants, and the functions of `arith` and `math` by name."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from xdsl.dialects import arith, llvm
from xdsl.ir import Operation

from relex.dialects.arrays import Array
from relex.dialects.dtypes import is_float_dtype
from relex.reference.domains.symbols import SymbolHead, flags, head_for, head_of, is_choice
from relex.reference.interpreter.budget import ELEMENTS, take
from relex.reference.interpreter.scalars import dtype_of

Make = Callable[..., Any]
"""Maps cells, or arrays of them, to the cells of a result, elementwise."""

AT_ONCE = 2**20
"""The number of products that are computed at once."""


class Domain(ABC):
    """Something to compute with in place of numbers. Each number is a *cell*, an element of an array of some dtype of
    NumPy's. Integers have no sign: their dtypes are the dtypes of signed ones."""

    folds = True
    """Whether operators of known numbers have known results."""

    @abstractmethod
    def constants(self, array: Array) -> Array:
        """Return the cells of an array of numbers."""

    @abstractmethod
    def values(self, cells: Array) -> Array | None:
        """Return the numbers that cells stand for; None if one of them is not known."""

    @abstractmethod
    def make(self, head: SymbolHead) -> Make:
        """Return a function by its head."""

    def make_op(self, op: Operation, function: Callable[..., Any]) -> Make:
        """Return the function of an op with one result, which `function` computes for numbers."""
        if isinstance(op, arith.CmpfOp | arith.CmpiOp | llvm.ICmpOp):
            return self.comparison(dtype_of(op, op.lhs.type), op.predicate.value.data, function, flags(op))
        if isinstance(op, arith.SelectOp) or is_choice(op):
            return self.choice(dtype_of(op, op.results[0].type))
        return self.make(head_for(op, function))

    def comparison(
        self, dtype: np.dtype[Any], predicate: int, function: Callable[..., Any], properties: str = ""
    ) -> Make:
        """Return the comparison of numbers of a type by a predicate of `arith.cmpf` or `arith.cmpi`."""
        name = "arith.cmpf" if is_float_dtype(dtype) else "arith.cmpi"
        return self.make(SymbolHead(name, np.dtype(np.bool_), properties, function))

    def choice(self, dtype: np.dtype[Any]) -> Make:
        """Return the choice between two numbers of a type by a condition. Further operands are ignored."""
        make = self.make(head_of("arith.select", dtype))

        def choose(*operands: Any) -> Any:
            return make(*operands[:3])

        return choose

    def spend(self, count: int) -> None:
        """Take the steps of a run for functions of many numbers. Raises `OutOfSteps` if these are too many."""
        take(1 + count // ELEMENTS)

    def map(self, make: Make, arrays: Sequence[Array]) -> Array:
        """Apply a function to arrays, which broadcast."""
        self.spend(max(map(np.size, arrays)))
        return np.asarray(make(*arrays))

    def fold(self, head: SymbolHead, begin: Sequence[Any], rows: Array) -> Array:
        """Reduce cells along the last dimension by a function of two, from the cells in `begin` on."""
        self.spend(rows.size)
        make, columns = self.make(head), [*begin, *np.moveaxis(rows, -1, 0)]
        result = np.broadcast_to(columns[0], rows.shape[:-1])
        for column in columns[1:]:
            result = make(result, column)
        return np.asarray(result)

    def repeated(self, make: Make, begin: Array, rows: Array) -> Array:
        """Combine cells with one row of others after the other by a function of two."""
        for row in rows:
            begin = self.map(make, [begin, row])
        return begin

    def scan(self, head: SymbolHead, rows: Array) -> Array:
        """Return the partial results along the last dimension."""
        make, result = self.make(head), np.array(rows)
        for i in range(1, rows.shape[-1]):
            result[..., i] = make(result[..., i - 1], rows[..., i])
        return result

    def at_once(self, count: int, size: int) -> int:
        """Return in which steps to compute a dimension of a size of `count` products."""
        return max(1, min(size, size * AT_ONCE // max(count, 1)))
