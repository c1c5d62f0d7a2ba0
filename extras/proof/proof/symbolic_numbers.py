"""
Symbols in place of numbers: the representation in which the interpreter computes terms.

Each number is the number of its term, in a structured array. An element takes as many cells of eight bytes as its type
has bytes, so that views of arenas at byte offsets overlap as they do in memory: the first cell holds the term, the
others its negative. An element whose cells do not fit together, or do not have the type with which they are read, was
partly overwritten, and is undefined.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextvars import ContextVar
from functools import cache
from struct import Struct
from typing import Any

import numpy as np
from xdsl.dialects import llvm, vector
from xdsl.dialects.builtin import IndexType
from xdsl.ir import Attribute, Operation

from relex.dialects.arrays import Array
from relex.dialects.relex import Operator
from relex.reference.domains.domain_numbers import DomainNumbers, is_index
from relex.reference.domains.symbols import mixes_elements
from relex.reference.equivalence.interface import NotComparable
from relex.reference.interpreter.budget import take
from relex.reference.interpreter.memory import signless
from relex.reference.interpreter.scalars import dtype_of
from relex.reference.proof.rules import make_term, reduction_term
from relex.reference.proof.subword import INT32, mixed_bytes, split
from relex.reference.proof.terms import Terms


class Unproved(NotComparable):
    """The reason why a function is not proved to compute the same."""


RUNNING: ContextVar[Terms] = ContextVar("terms of the proof that runs")

CELL = 8
"""The bytes of a representation for each byte of a number."""


_MIXED_BYTES = ("llvm.x86.avx512.vpdpbusd.", "llvm.aarch64.neon.usdot.v4i32.")
"""The intrinsics that multiply unsigned bytes with signed ones, and add up the products of each word."""


class Symbolic(np.void):
    """One number. Control flow and indices may depend on it only if it is a constant."""

    def _value(self) -> Any:
        terms = RUNNING.get()
        value = terms.value(terms.settle(int(self["term"])))
        if value is None:
            raise Unproved("control flow or an index depends on an element")
        return value

    def __bool__(self) -> bool:
        return bool(self._value())

    def __int__(self) -> int:
        return int(self._value())

    __index__ = __int__


@cache
def symbolic_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return the dtype in which symbols of a dtype are stored."""
    rest: list[Any] = [("rest", np.int64, (dtype.itemsize - 1,))] if dtype.itemsize > 1 else []
    return np.dtype((Symbolic, [("term", np.int64), *rest]))


def packed(terms: Any, dtype: np.dtype[Any]) -> Any:
    """Return the representation of terms of a dtype."""
    terms = np.asarray(terms, np.int64)
    cells = np.empty((*terms.shape, dtype.itemsize), np.int64)
    cells[...] = -terms[..., np.newaxis]
    cells[..., 0] = terms
    return cells.view(symbolic_dtype(dtype))[..., 0][()]


def packed_one(term: int, dtype: np.dtype[Any]) -> Any:
    """Return the representation of one term."""
    rest = dtype.itemsize - 1
    return np.frombuffer(_cells(rest + 1).pack(term, *[-term] * rest), symbolic_dtype(dtype))[0]


@cache
def _cells(count: int) -> Struct:
    return Struct(f"={count}q")


class SymbolicNumbers(DomainNumbers):
    """Terms in place of numbers. Indices stay numbers."""

    byte = CELL

    def __init__(self, terms: Terms):
        super().__init__(terms)
        self.terms = terms
        self._has_views = False

    def fresh_array(self, shape: tuple[int, ...], dtype: np.dtype[Any], element_type: Attribute) -> Array:
        if isinstance(element_type, IndexType):
            return super().fresh_array(shape, dtype, element_type)
        return np.array(packed(np.full(shape, self.terms.undefined), dtype))

    def stored(self, dtype: np.dtype[Any]) -> np.dtype[Any]:
        self._has_views = True
        return symbolic_dtype(dtype)

    def decided(self, value: Any) -> Any:
        if not value.dtype.names:
            return value
        values = self.terms.values(np.asarray(value["term"]))
        if values is None:
            raise self.undecided()
        return values[()]

    def undecided(self) -> Exception:
        return Unproved("a mask, control flow or an index depends on an element")

    def number_of(self, cells: Any, dtype: np.dtype[Any]) -> Any:
        return packed(cells, dtype)

    def cells_of(self, number: Any, dtype: np.dtype[Any]) -> Array:
        if not number.dtype.names:
            return self.terms.constants(np.asarray(number).astype(signless(dtype), copy=False))
        found: Array = np.asarray(number["term"])
        if not self._has_views:
            return found
        whole = found >= 0
        if dtype.itemsize > 1:
            whole &= (number["rest"] == -found[..., np.newaxis]).all(axis=-1)
        return np.where(whole & self.terms.are_of(found, dtype), found, self.terms.undefined)

    def _term_of_one(self, number: Any, dtype: np.dtype[Any]) -> int:
        """Return the term of a single number, as `cells_of`."""
        if not number.dtype.names:
            return int(self.terms.constants(np.asarray(number).astype(dtype, copy=False)))
        term, *rest = _cells(dtype.itemsize).unpack(number.tobytes())
        if not self._has_views:
            return term
        is_whole = term >= 0 and rest.count(-term) == len(rest)
        return term if is_whole and self.terms.is_of(term, dtype) else self.terms.undefined

    def function(self, op: Operation, function: Callable[..., Any]) -> Callable[..., Any]:
        if isinstance(op, Operator):
            return lambda *arrays: self.run_operator(op, arrays)
        if isinstance(op, vector.BroadcastOp | vector.ShuffleOp):
            element = [dtype_of(op, v.type) for v in op.operands]
            return lambda *values: function(*map(self._lifted, values, element))
        if is_index(op.results[0].type):
            return lambda *numbers: function(*map(self.decided, numbers))
        dtypes = [dtype_of(op, v.type) for v in op.operands]
        makes = [self.make_result(op, function, i) for i in range(len(op.results))]
        results = [dtype_of(op, r.type) for r in op.results]
        if isinstance(op, vector.ReductionOp):
            return self._reduction(reduction_term(op, self.terms, function), dtypes, results[0])
        if isinstance(op, vector.BitcastOp) and dtypes[0].itemsize != results[0].itemsize:
            return self._split(dtypes[0], results[0])
        if isinstance(op, llvm.CallIntrinsicOp) and op.intrin.data.startswith(_MIXED_BYTES):
            return lambda *numbers: packed(mixed_bytes(self.terms, *map(self.cells_of, numbers, dtypes)), INT32)
        if isinstance(op, llvm.CallIntrinsicOp) and mixes_elements(op):
            raise Unproved(f"it computes with several elements at once by {op.intrin.data}")

        known: dict[tuple[int, ...], Any] = {}

        def run(*numbers: Any) -> Any:
            if len(makes) == 1 and not any([number.shape for number in numbers]):
                if numbers and not any([number.dtype.names for number in numbers]):
                    # Of indices, such as whether one is in bounds.
                    value = np.asarray(function(*numbers)).astype(results[0], copy=False)[()]
                    return packed_one(self.terms.constant(value), results[0])
                return self._of_one(makes[0], numbers, dtypes, results[0], known)
            terms = [self.cells_of(number, dtype) for number, dtype in zip(numbers, dtypes, strict=True)]
            found = [packed(self.terms.map(make, terms), dtype) for make, dtype in zip(makes, results, strict=True)]
            return found[0] if len(found) == 1 else tuple(found)

        return run

    def repeated(self, op: Operation, function: Callable[..., Any], place: int) -> Callable[[Any, Array], Any]:
        # All ops that reductions repeat are commutative.
        make, dtype = self.make_result(op, function, 0), dtype_of(op, op.results[0].type)

        def run(result: Any, rows: Array) -> Any:
            return packed(self.terms.repeated(make, self.cells_of(result, dtype), self.cells_of(rows, dtype)), dtype)

        return run

    def _of_one(
        self,
        make: Callable[..., int],
        numbers: Sequence[Any],
        dtypes: Sequence[np.dtype[Any]],
        dtype: np.dtype[Any],
        known: dict[tuple[int, ...], Any],
    ) -> Any:
        """Apply a function of terms to single numbers, which most steps of a walk through iterations do. Results for
        numbers that do not depend on arguments are `known` after the first time."""
        take(1)
        terms = tuple(map(self._term_of_one, numbers, dtypes))
        if (result := known.get(terms)) is None:
            result = packed_one(int(make(*terms)), dtype)
            if None not in [self.terms.value(term) for term in terms]:
                known[terms] = result
        return result

    def make_result(self, op: Operation, function: Callable[..., Any], number: int) -> Callable[..., int]:
        if len(op.results) == 1:
            return make_term(op, self.terms, function)
        return super().make_result(op, function, number)

    def _lifted(self, value: Any, dtype: np.dtype[Any]) -> Any:
        return value if value.dtype.names else packed(self.cells_of(value, dtype), dtype)

    def _split(self, source: np.dtype[Any], target: np.dtype[Any]) -> Callable[..., Any]:
        if source.itemsize < target.itemsize or not source.kind == target.kind == "i":
            raise Unproved("it splits the bits of floats, or joins the bits of elements")

        def run(number: Any) -> Any:
            return packed(split(self.terms, self.cells_of(number, source), source, target), target)

        return run

    def _reduction(
        self, combine: Callable[..., int], dtypes: Sequence[np.dtype[Any]], dtype: np.dtype[Any]
    ) -> Callable[..., Any]:
        def run(values: Any, *accumulator: Any) -> Any:
            start = [int(self.cells_of(a, dtype)) for a in accumulator]
            return packed(combine(*start, *self.cells_of(values, dtypes[0]).tolist()), dtype)

        return run

    def in_place(self, op: Operation, function: Callable[..., Any], outputs: int) -> Callable[..., Any]:
        raise Unproved("it calls a library function")

    def without_loops(
        self, op: Operator, cells: Sequence[Array], results: Sequence[tuple[tuple[int, ...], np.dtype[Any]]]
    ) -> Sequence[tuple[Array, np.dtype[Any]]]:
        raise Unproved(f"sizes depend on elements by {op.name}" if op.COUNTS else f"{op.name} has no loops")
