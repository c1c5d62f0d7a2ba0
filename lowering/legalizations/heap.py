"""A heap in a loop function: numbered elements, of which the largest come first."""

from __future__ import annotations

from xdsl.dialects.builtin import IndexType, i1, i64
from xdsl.ir import Attribute

from relex.dialects.sizes import Size
from relex.lowering import te
from relex.lowering.legalizations.data_sizes import clipped, inside

_MOST_LEVELS = 62
"""As often can a size be halved before it is 0."""

Element = tuple[te.PrimExpr, te.PrimExpr]
"""A key, and a number that decides between equal keys: the lower one comes first."""


class Heap:
    """A heap of at most `size` elements, in memory of the block that `code` emits. An element comes before what is
    at twice its place, counted from 1, and right after that. Taking the first few of many takes little more time than
    looking at all of them once; taking all of them, about as long as a sort."""

    def __init__(self, code: te.Code, size: Size, key_type: Attribute):
        self._code = code
        self._size = size
        self._keys, self._numbers = code.buffer((size,), key_type, "keys"), code.buffer((size,), i64, "numbers")
        self.count: te.Tensor = code.variable(i64, 0, "count")
        """How many elements there are."""
        self._hole, self._next = code.variable(i64, 0, "hole"), code.variable(i64, 0, "next")
        self._first, self._moves = code.variable(i64, 0, "first"), code.variable(i1, 0, "moves")
        self._begin, self._levels = code.variable(i64, 0, "begin"), code.variable(i64, 0, "levels")
        with code.loop(size) as k:  # No analysis can know that only elements are read that are there.
            code.store(self._keys, (k,), 0)
            code.store(self._numbers, (k,), 0)

    def append_if(self, condition: te.PrimExpr, key: te.PrimExpr, number: te.PrimExpr) -> None:
        """Add an element if a condition holds; `build` makes a heap of all."""
        code, before = self._code, self._code.let(self.count[()])
        self._put(before, (key, number))
        code.store(self.count, (), te.select(condition, before + 1, before))

    def build(self) -> None:
        """Make a heap of the elements that have been added."""
        code, count = self._code, self._code.let(self.count[()])
        half = code.let(_half(count))
        code.store(self._begin, (), half)
        with code.loop_to(half, self._size, "back") as k:
            place = code.let(half - 1 - te.cast(k, i64))
            # Elements from `half` on have no others below them; below those from half of that, there is one level more.
            with code.when(place < self._begin[()]):
                code.store(self._begin, (), _half(self._begin[()]))
                code.store(self._levels, (), self._levels[()] + 1)
            self._sink(place, self._at(place), count)

    def pop(self) -> te.PrimExpr:
        """Take out the first element, of which there must be one, and return its number."""
        start, last = te.as_expr(0, i64), self._code.let(self.count[()] - 1)
        _, number = self._at(start)
        self._code.store(self.count, (), last)
        self._sink(start, self._at(last), last)
        return number

    def _sink(self, place: te.PrimExpr, moved: Element, count: te.PrimExpr) -> None:
        """Put an element in a place, or below it, where the first of those that come before it makes room."""
        code = self._code
        code.store(self._hole, (), place)
        code.store(self._next, (), place)
        with code.loop_to(self._levels[()], _MOST_LEVELS, "level"):
            here = code.let(self._next[()])
            left = code.let(here * 2 + 1)
            code.store(self._next, (), count)  # There is nothing below it.
            with code.when(left < count):
                right = code.let(left + 1)
                is_right = (right < count) & _comes_before(self._at(right), self._at(left))
                # Analyses need not know what is decided by elements: they see numbers in variables.
                code.store(self._first, (), te.select(is_right, right, left))
                first = code.let(self._first[()])
                below = self._at(first)
                code.store(self._moves, (), _comes_before(below, moved))
                with code.when(self._moves[()]):
                    self._put(here, below)
                    code.store(self._hole, (), first)
                    code.store(self._next, (), first)
        self._put(code.let(self._hole[()]), moved)

    def _at(self, place: te.PrimExpr) -> Element:
        at = clipped(place, self._size)
        return self._code.let(self._keys[at]), self._code.let(self._numbers[at])

    def _put(self, place: te.PrimExpr, element: Element) -> None:
        with inside(self._code, te.cast(place, IndexType()), self._size) as at:
            for buffer, value in zip((self._keys, self._numbers), element, strict=True):
                self._code.store(buffer, (at,), value)


def _half(number: te.PrimExpr) -> te.PrimExpr:
    return te.call("right_shift", number, 1)


def _comes_before(one: Element, other: Element) -> te.PrimExpr:
    (key, number), (other_key, other_number) = one, other
    return (key > other_key) | (te.equal(key, other_key) & (number < other_number))
