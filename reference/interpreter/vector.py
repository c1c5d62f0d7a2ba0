"""Semantics of `vector`: vectors are arrays of their shape, and arithmetic on them is elementwise."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

import numpy as np
from xdsl.dialects import arith, vector
from xdsl.dialects.builtin import AnyFloat, ArrayAttr, BoolAttr, VectorType
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.ir.affine import AffineConstantExpr, AffineDimExpr, AffineMap
from xdsl.utils.hints import isa

from relex.dialects.arrays import Array
from relex.dialects.errors import stop, unsupported
from relex.reference.interpreter.arith import FLOAT_FUNCTIONS, integer_function
from relex.reference.interpreter.checks import MONITOR
from relex.reference.interpreter.memory import Buffer, check_bounds
from relex.reference.interpreter.memref import buffer_type, stop_read_only
from relex.reference.interpreter.program import SCALARS, STEPS, Binary, Preparation, Run, Unary
from relex.reference.interpreter.scalars import dtype_of

Kind = vector.CombiningKindFlag


def _shape(op: Operation, t: Attribute) -> tuple[int, ...]:
    """Return the shape of a vector type of fixed size."""
    if not isa(t, VectorType) or t.get_num_scalable_dims():
        unsupported(op, f"expected a vector of fixed size, found {t}")
    return t.get_shape()


# Memory


class _Lanes:
    """The elements of a buffer that a vector covers, given by the indices of the first."""

    def __init__(
        self,
        op: Operation,
        base: SSAValue,
        kind: Attribute,
        preparation: Preparation,
        dimensions: Sequence[int | None] | None = None,
    ):
        self.shape = _shape(op, kind)
        self._op = op
        self._base = base
        self._checked = preparation.checked
        self._decided = preparation.numbers.decided
        rank = buffer_type(op, base).get_num_dims()
        if len(self.shape) > rank and dimensions is None:
            unsupported(op, f"expected a buffer of {len(self.shape)} dimensions, found {base.type}")
        self._axes = tuple(dimensions if dimensions is not None else range(rank - len(self.shape), rank))
        # For each dimension of the buffer, the distance of each element from the first; None is a broadcast.
        self._steps: list[Any] = [np.zeros(self.shape, np.int64) for _ in range(rank)]
        for count, dimension in zip(np.indices(self.shape), self._axes, strict=True):
            if dimension is not None:
                self._steps[dimension] = count

    def places(self, indices: Sequence[Any]) -> tuple[Any, ...]:
        """Return the indices of the elements, an array for each dimension of the buffer."""
        return tuple([int(index) + step for index, step in zip(indices, self._steps, strict=True)])

    def inside(self, buffer: Buffer, indices: Sequence[Any], in_bounds: Sequence[bool], mask: Any = True) -> Any:
        """Return the part of a mask that may be accessed: all of it, in dimensions declared to be in bounds."""
        result = np.array(np.broadcast_to(mask if mask is True else self._decided(mask), self.shape))
        places, sizes = self.places(indices), buffer.array.shape
        for dimension, is_in_bounds in zip(self._axes, in_bounds, strict=True):
            if dimension is not None and not is_in_bounds:
                result &= places[dimension] < sizes[dimension]
        return result

    def load(self, buffer: Buffer, indices: Sequence[Any], mask: Any = True, otherwise: Any = 0) -> Array:
        """Load the elements that the mask selects; the others are taken from `otherwise`."""
        array, mask, places = self._enter(buffer, indices, mask)
        result = np.array(np.broadcast_to(otherwise, self.shape), array.dtype)
        result[mask] = array[places]
        for index in zip(*places, strict=True) if self._checked else ():
            MONITOR.get().reads(self._op, self._base, buffer, tuple(map(int, index)))
        return result

    def store(self, value: Any, buffer: Buffer, indices: Sequence[Any], mask: Any = True) -> None:
        """Store the elements that the mask selects."""
        array, mask, places = self._enter(buffer, indices, mask)
        if not array.flags.writeable:
            stop_read_only(self._op, self._base)
        array[places] = value[mask] if places else value
        for index in zip(*places, strict=True) if self._checked else ():
            MONITOR.get().writes(self._op, self._base, buffer, tuple(map(int, index)))

    def _enter(self, buffer: Buffer, indices: Sequence[Any], mask: Any) -> tuple[Any, Any, tuple[Any, ...]]:
        if self._checked:
            MONITOR.get().uses(self._op, self._base, buffer)
        mask = np.broadcast_to(mask if mask is True else self._decided(mask), self.shape)
        places = tuple([place[mask] for place in self.places(indices)])
        check_bounds(self._op, self._base, buffer.array, places)
        return buffer.array, mask, places


@STEPS.rule(vector.LoadOp, vector.MaskedLoadOp)
def interpret_load(op: vector.LoadOp | vector.MaskedLoadOp, preparation: Preparation) -> Run:
    """Load consecutive elements: all, or those that a mask selects, with the others from `pass_thru`."""
    lanes, rank = _Lanes(op, op.base, op.result.type, preparation), len(op.indices)

    def load(buffer: Buffer, *others: Any) -> Array:
        return lanes.load(buffer, others[:rank], *others[rank:])

    return load


@STEPS.rule(vector.StoreOp)
def interpret_store(op: vector.StoreOp, preparation: Preparation) -> Run:
    """Store consecutive elements."""
    lanes = _Lanes(op, op.base, op.vector.type, preparation)

    def store(value: Array, buffer: Buffer, *indices: Any) -> None:
        lanes.store(value, buffer, indices)

    return store


@STEPS.rule(vector.MaskedStoreOp)
def interpret_masked_store(op: vector.MaskedStoreOp, preparation: Preparation) -> Run:
    """Store the elements that a mask selects."""
    lanes = _Lanes(op, op.base, op.value_to_store.type, preparation)

    def store(buffer: Buffer, *others: Any) -> None:
        *indices, mask, value = others
        lanes.store(value, buffer, indices, mask)

    return store


@STEPS.rule(vector.TransferReadOp)
def interpret_transfer_read(op: vector.TransferReadOp, preparation: Preparation) -> Run:
    """Read elements, with padding for those that are out of bounds or masked."""
    lanes, in_bounds = _transfer(op, op.result.type, preparation)
    rank = len(op.indices)

    def read(buffer: Buffer, *others: Any) -> Array:
        indices, (padding, *mask) = others[:rank], others[rank:]
        return lanes.load(buffer, indices, lanes.inside(buffer, indices, in_bounds, *mask), padding)

    return read


@STEPS.rule(vector.TransferWriteOp)
def interpret_transfer_write(op: vector.TransferWriteOp, preparation: Preparation) -> Run:
    """Write elements, except those that are out of bounds or masked."""
    lanes, in_bounds = _transfer(op, op.vector.type, preparation)
    rank = len(op.indices)

    def write(value: Array, buffer: Buffer, *others: Any) -> None:
        indices, mask = others[:rank], others[rank:]
        lanes.store(value, buffer, indices, lanes.inside(buffer, indices, in_bounds, *mask))

    return write


def _transfer(
    op: vector.TransferReadOp | vector.TransferWriteOp, kind: Attribute, preparation: Preparation
) -> tuple[_Lanes, list[bool]]:
    """Return the lanes of a transfer, and which of their dimensions are declared to be in bounds."""
    permutation = op.permutation_map.data
    dimensions: list[int | None] = []
    for expr in permutation.results:
        if not isinstance(expr, AffineDimExpr | AffineConstantExpr):
            unsupported(op, f"expected a permutation of dimensions, found {permutation}")
        dimensions.append(expr.position if isinstance(expr, AffineDimExpr) else None)
    if op.mask is not None and permutation != AffineMap.minor_identity(permutation.num_dims, len(dimensions)):
        unsupported(op, f"expected no mask with the permutation {permutation}")
    lanes = _Lanes(op, op.source, kind, preparation, dimensions)
    stated = op.get_attr_or_prop("in_bounds")
    return lanes, [bool(b) for b in stated] if isa(stated, ArrayAttr[BoolAttr]) else [False] * len(dimensions)


@STEPS.rule(vector.CreateMaskOp)
def interpret_create_mask(op: vector.CreateMaskOp, preparation: Preparation) -> Run:
    """Make a mask whose leading elements are true, up to a size for each dimension."""
    counts = np.indices(_shape(op, op.mask_vector.type))

    def run(*sizes: Any) -> Array:
        return np.all([count < size for count, size in zip(counts, sizes, strict=True)], axis=0)

    return run


# Elements


@SCALARS.rule(vector.BroadcastOp)
def interpret_broadcast(op: vector.BroadcastOp) -> Unary:
    """Repeat a scalar or vector to the shape of the result."""
    shape = _shape(op, op.vector.type)
    return lambda source: np.broadcast_to(source, shape)


@STEPS.rule(vector.ExtractOp)
def interpret_extract(op: vector.ExtractOp, preparation: Preparation) -> Run:
    """Return an element or a subvector."""
    position = _position(op, op.get_mixed_position(), op.vector.type)

    def extract(source: Array, *dynamic: Any) -> Any:
        return source[position(dynamic)]

    return extract


@STEPS.rule(vector.InsertOp)
def interpret_insert(op: vector.InsertOp, preparation: Preparation) -> Run:
    """Return a copy of a vector with an element or a subvector replaced."""
    position = _position(op, op.get_mixed_position(), op.dest.type)

    def insert(source: Any, dest: Any, *dynamic: Any) -> Any:
        value = np.array(dest)
        value[position(dynamic)] = source
        return value

    return insert


def _position(op: Operation, position: Sequence[SSAValue | int], t: Attribute) -> Callable[..., tuple[int, ...]]:
    """Return a function for the indices of an element or subvector; it stops if they are out of bounds, which is
    undefined behaviour in compiled code."""
    shape = _shape(op, t)

    def find(dynamic: Sequence[Any]) -> tuple[int, ...]:
        values = iter(dynamic)
        found = tuple([i if isinstance(i, int) else int(next(values)) for i in position])
        for i, size in zip(found, shape, strict=False):
            if not 0 <= i < size:
                stop(op, f"expected a position in 0..{size - 1}, found {i}")
        return found

    return find


@SCALARS.rule(vector.ShuffleOp)
def interpret_shuffle(op: vector.ShuffleOp) -> Binary:
    """Select elements from two concatenated vectors."""
    lanes = list(op.mask.get_values())
    return lambda a, b: np.concatenate([np.atleast_1d(a), np.atleast_1d(b)])[lanes]


@SCALARS.rule(vector.BitcastOp)
def interpret_bitcast(op: vector.BitcastOp) -> Unary:
    """Reinterpret the bits of elements as the bits of another type."""
    source, target = dtype_of(op, op.source.type), dtype_of(op, op.result.type)
    if (source == np.bool_) != (target == np.bool_):
        unsupported(op, f"expected whole bytes, found {op.source.type} and {op.result.type}")
    return lambda a: np.ascontiguousarray(a).view(target)


# Arithmetic


COMBINING: dict[Kind, tuple[type[Operation] | None, type[Operation] | None]] = {
    Kind.ADD: (arith.AddfOp, arith.AddiOp),
    Kind.MUL: (arith.MulfOp, arith.MuliOp),
    Kind.AND: (None, arith.AndIOp),
    Kind.OR: (None, arith.OrIOp),
    Kind.XOR: (None, arith.XOrIOp),
    Kind.MAXIMUMF: (arith.MaximumfOp, None),
    Kind.MINIMUMF: (arith.MinimumfOp, None),
    Kind.MAXNUMF: (arith.MaxnumfOp, None),
    Kind.MINNUMF: (arith.MinnumfOp, None),
    Kind.MAXSI: (None, arith.MaxSIOp),
    Kind.MINSI: (None, arith.MinSIOp),
    Kind.MAXUI: (None, arith.MaxUIOp),
    Kind.MINUI: (None, arith.MinUIOp),
}
"""The op that a reduction repeats: of floats, and of integers."""


@SCALARS.rule(vector.ReductionOp)
def interpret_reduction(op: vector.ReductionOp) -> Run:
    """Reduce from the first element to the last; fast-math flags allow other orders. A sum of floats starts from 0."""
    _shape(op, op.vector.type)
    element = op.dest.type
    on_floats, on_integers = COMBINING[op.kind.data]
    repeated = on_floats if isinstance(element, AnyFloat) else on_integers
    if repeated is None:
        numbers = "floats" if isinstance(element, AnyFloat) else "integers"
        unsupported(op, f"expected a kind of reduction that {numbers} have, found '{op.kind.data}'")
    combine = FLOAT_FUNCTIONS[repeated] if isinstance(element, AnyFloat) else integer_function(op, repeated, element)
    starts_from = {Kind.ADD: 0, Kind.MUL: 1}.get(op.kind.data) if isinstance(element, AnyFloat) else None

    def run(values: Any, *accumulator: Any) -> Any:
        start = accumulator or (() if starts_from is None else (values.dtype.type(starts_from),))
        return reduce(combine, (*start, *values))

    return run
