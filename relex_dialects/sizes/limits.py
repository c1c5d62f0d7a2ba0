"""Overflow of index arithmetic: products of sizes can exceed memory, and 2^63."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from functools import lru_cache

from xdsl.dialects.builtin import DYNAMIC_INDEX, MemRefType, TensorType, i8
from xdsl.ir import Attribute

from relex.dialects.dtypes import size_in_bytes
from relex.dialects.index.atoms import Product
from relex.dialects.index.expr import atoms_in, named, names_in, never_negative, parts_of
from relex.dialects.index.upper_terms import Bounds, upper_terms
from relex.dialects.sizes.expressions import MAX_ARGUMENT_SIZE, MAX_SIZE, Size, Sizes, count
from relex.dialects.sizes.requirements import Requirement
from relex.dialects.upstream.hints import isa

Typed = tuple[Attribute, Sizes]
"""A type, and the sizes of a value of that type."""


def limits(given: Iterable[Typed], computed: Iterable[Typed]) -> dict[Requirement, Typed]:
    """Return the requirements that no tensor, and no intermediate result of its sizes, is too large for an index, each
    with the first that has it. `given` are the arguments: requirements that follow from `MAX_ARGUMENT_SIZE` are left
    out."""
    bounds = _bounds(given)
    found: dict[Size, Typed] = {}
    for t, sizes in dict.fromkeys(computed):  # Many values have the same sizes.
        for size in (bytes_of(t, sizes), *_steps(sizes)):
            found.setdefault(size, (t, sizes))
    required: dict[Requirement, Typed] = {}
    for size, typed in found.items():
        if not _is_bounded(size, bounds):
            required.setdefault(Requirement(size, "<=", MAX_SIZE).reduced(), typed)
    return required


def fits_index(requirement: Requirement) -> bool:
    """Return whether neither side of a requirement, nor what it is computed from, exceeds an index for any sizes."""
    sides = [requirement.lhs, requirement.rhs]
    bounds = _bounds((TensorType(i8, [DYNAMIC_INDEX]), (named(name),)) for side in sides for name in names_in(side))
    return all(_is_bounded(size, bounds) for size in _steps(sides))


def _bounds(given: Iterable[Typed]) -> Bounds:
    """Return upper bounds of products of names, given that tensors of these sizes are in memory."""
    bounds = {**_upper_bound(1)}
    for size in (size for t, sizes in given for size in (bytes_of(t, sizes), *sizes) if never_negative(size)):
        for names, factor in _upper_bound(size).items():
            bounds[names] = min(bounds.get(names, MAX_SIZE), Fraction(MAX_ARGUMENT_SIZE) / factor)
    return bounds


def _is_bounded(size: Size, bounds: Bounds) -> bool:
    terms = _upper_bound(size)
    return terms.keys() <= bounds.keys() and sum(factor * bounds[names] for names, factor in terms.items()) <= MAX_SIZE


@lru_cache(maxsize=4096)
def _upper_bound(size: Size) -> Bounds:
    """Return an upper bound of a size; the functions of a program have many sizes in common."""
    return upper_terms(size)


def _steps(sizes: Sequence[Size]) -> Iterator[Size]:
    """Yield the sizes, and the intermediate results of their computation."""
    for size in sizes:
        yield size
        for atom in atoms_in(size):
            if not isinstance(atom, Product):
                yield from parts_of(atom)


def bytes_of(t: Attribute, sizes: Sequence[Size]) -> Size:
    """Return the size of a tensor or buffer in bytes; 0 for other types."""
    if not isa(t, TensorType) and not isa(t, MemRefType):
        return 0
    return count(sizes) * size_in_bytes(t.element_type)
