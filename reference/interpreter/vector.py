"""Semantics of `vector`: vectors are arrays of their shape, and arithmetic on them is elementwise."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from functools import reduce
from typing import TYPE_CHECKING, Any

import numpy as np
from xdsl.dialects import vector
from xdsl.dialects.builtin import AnyFloat, ArrayAttr, BoolAttr, VectorType
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.ir.affine import AffineConstantExpr, AffineDimExpr, AffineMap
from xdsl.utils.hints import isa

from relex.dialects.errors import stop, unsupported
from relex.reference.interpreter.arith import maximum, minimum
from relex.reference.interpreter.math import fma
from relex.reference.interpreter.memory import check_bounds
from relex.reference.interpreter.memref import buffer_type, stop_read_only
from relex.reference.interpreter.program import MONITOR, STEPS, Frame, Preparation, Step
from relex.reference.interpreter.scalars import Binary, Function, Integers, Unary, dtype_of, integers, scalar_rule

if TYPE_CHECKING:
    from relex.dialects.dtypes import Array

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
        indices: Sequence[SSAValue],
        kind: Attribute,
        preparation: Preparation,
        dimensions: Sequence[int | None] | None = None,
    ):
        self.shape = _shape(op, kind)
        self._op = op
        self._base = base
        self._checked = preparation.checked
        self._buffer, self._indices = preparation.slot(base), preparation.slots(indices)
        rank = buffer_type(op, base).get_num_dims()
        if len(self.shape) > rank and dimensions is None:
            unsupported(op, f"expected a buffer of {len(self.shape)} dimensions, found {base.type}")
        along = dimensions if dimensions is not None else range(rank - len(self.shape), rank)
        counts = np.indices(self.shape)
        # For each dimension of the buffer, the distance of each element from the first; None is a broadcast.
        self._steps: list[Any] = [np.zeros(self.shape, np.int64) for _ in range(rank)]
        for count, dimension in zip(counts, along, strict=True):
            if dimension is not None:
                self._steps[dimension] = count
        self._axes = tuple(along)

    def places(self, frame: Frame) -> tuple[Any, ...]:
        """Return the indices of the elements, an array for each dimension of the buffer."""
        return tuple([int(frame[slot]) + step for slot, step in zip(self._indices, self._steps, strict=True)])

    def inside(self, frame: Frame, in_bounds: Sequence[bool]) -> Any:
        """Return a mask of the elements that may be accessed: all, in dimensions declared to be in bounds."""
        result = np.ones(self.shape, np.bool_)
        places, sizes = self.places(frame), frame[self._buffer].array.shape
        for dimension, is_in_bounds in zip(self._axes, in_bounds, strict=True):
            if dimension is not None and not is_in_bounds:
                result &= places[dimension] < sizes[dimension]
        return result

    def load(self, frame: Frame, mask: Any, otherwise: Any) -> Array:
        """Load the elements that the mask selects; the others are taken from `otherwise`."""
        array, places = self._enter(frame, mask)
        result = np.array(np.broadcast_to(otherwise, self.shape), array.dtype)
        result[mask] = array[places]
        if self._checked:
            for index in zip(*places, strict=True):
                frame[MONITOR].reads(self._op, self._base, frame[self._buffer], tuple(map(int, index)))
        return result

    def store(self, frame: Frame, mask: Any, value: Any) -> None:
        """Store the elements that the mask selects."""
        array, places = self._enter(frame, mask)
        if not array.flags.writeable:
            stop_read_only(self._op, self._base)
        array[places] = value[mask] if places else value
        if self._checked:
            for index in zip(*places, strict=True):
                frame[MONITOR].writes(self._op, self._base, frame[self._buffer], tuple(map(int, index)))

    def _enter(self, frame: Frame, mask: Any) -> tuple[Any, tuple[Any, ...]]:
        if self._checked:
            frame[MONITOR].uses(self._op, self._base, frame[self._buffer])
        array, places = frame[self._buffer].array, tuple([place[mask] for place in self.places(frame)])
        check_bounds(self._op, self._base, array, places)
        return array, places


@STEPS.rule(vector.LoadOp)
def interpret_load(op: vector.LoadOp, preparation: Preparation) -> Step:
    """Load consecutive elements."""
    lanes, result = _Lanes(op, op.base, op.indices, op.result.type, preparation), preparation.slot(op.result)
    everywhere = np.ones(lanes.shape, np.bool_)

    def step(frame: Frame) -> None:
        frame[result] = lanes.load(frame, everywhere, 0)

    return step


@STEPS.rule(vector.StoreOp)
def interpret_store(op: vector.StoreOp, preparation: Preparation) -> Step:
    """Store consecutive elements."""
    lanes, value = _Lanes(op, op.base, op.indices, op.vector.type, preparation), preparation.slot(op.vector)
    everywhere = np.ones(lanes.shape, np.bool_)
    return lambda frame: lanes.store(frame, everywhere, frame[value])


@STEPS.rule(vector.MaskedLoadOp)
def interpret_masked_load(op: vector.MaskedLoadOp, preparation: Preparation) -> Step:
    """Load the elements that a mask selects; take the others from `pass_thru`."""
    lanes, result = _Lanes(op, op.base, op.indices, op.result.type, preparation), preparation.slot(op.result)
    mask, otherwise = preparation.slot(op.mask), preparation.slot(op.pass_thru)

    def step(frame: Frame) -> None:
        frame[result] = lanes.load(frame, frame[mask], frame[otherwise])

    return step


@STEPS.rule(vector.MaskedStoreOp)
def interpret_masked_store(op: vector.MaskedStoreOp, preparation: Preparation) -> Step:
    """Store the elements that a mask selects."""
    lanes = _Lanes(op, op.base, op.indices, op.value_to_store.type, preparation)
    mask, value = preparation.slot(op.mask), preparation.slot(op.value_to_store)
    return lambda frame: lanes.store(frame, frame[mask], frame[value])


@STEPS.rule(vector.TransferReadOp)
def interpret_transfer_read(op: vector.TransferReadOp, preparation: Preparation) -> Step:
    """Read elements, with padding for those that are out of bounds or masked."""
    lanes, allowed = _transfer(op, op.result.type, preparation)
    padding, result = preparation.slot(op.padding), preparation.slot(op.result)

    def step(frame: Frame) -> None:
        frame[result] = lanes.load(frame, allowed(frame), frame[padding])

    return step


@STEPS.rule(vector.TransferWriteOp)
def interpret_transfer_write(op: vector.TransferWriteOp, preparation: Preparation) -> Step:
    """Write elements, except those that are out of bounds or masked."""
    lanes, allowed = _transfer(op, op.vector.type, preparation)
    value = preparation.slot(op.vector)
    return lambda frame: lanes.store(frame, allowed(frame), frame[value])


def _transfer(
    op: vector.TransferReadOp | vector.TransferWriteOp, kind: Attribute, preparation: Preparation
) -> tuple[_Lanes, Callable[[Frame], Any]]:
    """Return the lanes of a transfer, and a function for the mask of those that it accesses."""
    permutation = op.permutation_map.data
    dimensions: list[int | None] = []
    for expr in permutation.results:
        if not isinstance(expr, AffineDimExpr | AffineConstantExpr):
            unsupported(op, f"expected a permutation of dimensions, found {permutation}")
        dimensions.append(expr.position if isinstance(expr, AffineDimExpr) else None)
    lanes = _Lanes(op, op.source, op.indices, kind, preparation, dimensions)
    stated = op.get_attr_or_prop("in_bounds")
    in_bounds = [bool(b) for b in stated] if isa(stated, ArrayAttr[BoolAttr]) else [False] * len(dimensions)
    if op.mask is None:
        return lanes, lambda frame: lanes.inside(frame, in_bounds)
    if permutation != AffineMap.minor_identity(permutation.num_dims, len(dimensions)):
        unsupported(op, f"expected no mask with the permutation {permutation}")
    mask = preparation.slot(op.mask)
    return lanes, lambda frame: lanes.inside(frame, in_bounds) & frame[mask]


@STEPS.rule(vector.CreateMaskOp)
def interpret_create_mask(op: vector.CreateMaskOp, preparation: Preparation) -> Step:
    """Make a mask whose leading elements are true, up to a size for each dimension."""
    sizes, result = preparation.slots(op.mask_dim_sizes), preparation.slot(op.mask_vector)
    counts = np.indices(_shape(op, op.mask_vector.type))

    def step(frame: Frame) -> None:
        mask = np.ones(counts.shape[1:], np.bool_)
        for count, size in zip(counts, sizes, strict=True):
            mask &= count < frame[size]
        frame[result] = mask

    return step


# Elements


@scalar_rule(vector.BroadcastOp)
def interpret_broadcast(op: vector.BroadcastOp) -> Unary:
    """Repeat a scalar or vector to the shape of the result."""
    shape = _shape(op, op.vector.type)
    return lambda source: np.broadcast_to(source, shape)


@STEPS.rule(vector.ExtractOp)
def interpret_extract(op: vector.ExtractOp, preparation: Preparation) -> Step:
    """Return an element or a subvector."""
    position = _position(op, op.get_mixed_position(), _shape(op, op.vector.type), preparation)
    source, result = preparation.slot(op.vector), preparation.slot(op.result)

    def step(frame: Frame) -> None:
        frame[result] = frame[source][position(frame)]

    return step


@STEPS.rule(vector.InsertOp)
def interpret_insert(op: vector.InsertOp, preparation: Preparation) -> Step:
    """Return a copy of a vector with an element or a subvector replaced."""
    position = _position(op, op.get_mixed_position(), _shape(op, op.dest.type), preparation)
    source, dest, result = preparation.slot(op.source), preparation.slot(op.dest), preparation.slot(op.result)

    def step(frame: Frame) -> None:
        value = np.array(frame[dest])
        value[position(frame)] = frame[source]
        frame[result] = value

    return step


def _position(
    op: Operation, position: Sequence[SSAValue | int], shape: Sequence[int], preparation: Preparation
) -> Callable[[Frame], tuple[int, ...]]:
    """Return a function for the indices of an element or subvector; it stops if they are out of bounds, which is
    undefined behaviour in compiled code."""
    slots = [i if isinstance(i, int) else preparation.slot(i) for i in position]
    fixed = [isinstance(i, int) for i in position]

    def find(frame: Frame) -> tuple[int, ...]:
        found = tuple([slot if known else int(frame[slot]) for slot, known in zip(slots, fixed, strict=True)])
        for i, size in zip(found, shape, strict=False):
            if not 0 <= i < size:
                stop(op, f"expected a position in 0..{size - 1}, found {i}")
        return found

    return find


@scalar_rule(vector.ShuffleOp)
def interpret_shuffle(op: vector.ShuffleOp) -> Binary:
    """Select elements from two concatenated vectors."""
    lanes = list(op.mask.get_values())
    return lambda a, b: np.concatenate([np.atleast_1d(a), np.atleast_1d(b)])[lanes]


@scalar_rule(vector.BitcastOp)
def interpret_bitcast(op: vector.BitcastOp) -> Unary:
    """Reinterpret the bits of elements as those of another type."""
    source, target = dtype_of(op, op.source.type), dtype_of(op, op.result.type)
    if (source == np.bool_) != (target == np.bool_):
        unsupported(op, f"expected whole bytes, found {op.source.type} and {op.result.type}")
    return lambda a: np.ascontiguousarray(a).view(target)


# Arithmetic


@scalar_rule(vector.FMAOp)
def interpret_fma(op: vector.FMAOp) -> Function:
    """Multiply and add with one rounding."""
    dtype_of(op, op.res.type)
    return fma


FLOAT_REDUCTIONS: dict[Kind, Binary] = {
    Kind.ADD: operator.add,
    Kind.MUL: operator.mul,
    Kind.MAXIMUMF: maximum,
    Kind.MINIMUMF: minimum,
    Kind.MAXNUMF: np.fmax,
    Kind.MINNUMF: np.fmin,
}

_operator: Any = operator

MODULAR_REDUCTIONS: dict[Kind, Binary] = {
    Kind.ADD: operator.add,
    Kind.MUL: operator.mul,
    Kind.AND: _operator.and_,
    Kind.OR: _operator.or_,
    Kind.XOR: _operator.xor,
}
"""Reductions that do not depend on signedness."""

SIGNED_REDUCTIONS: dict[Kind, Binary] = {Kind.MAXSI: np.maximum, Kind.MINSI: np.minimum}
UNSIGNED_REDUCTIONS: dict[Kind, Binary] = {Kind.MAXUI: np.maximum, Kind.MINUI: np.minimum}


@scalar_rule(vector.ReductionOp)
def interpret_reduction(op: vector.ReductionOp) -> Function:
    """Reduce from the first element to the last; fast-math flags allow other orders. A sum of floats starts from 0."""
    _shape(op, op.vector.type)
    element = op.dest.type
    combine = _float_reduction(op) if isinstance(element, AnyFloat) else _integer_reduction(op, integers(op, element))
    starts_from = {Kind.ADD: 0, Kind.MUL: 1}.get(op.kind.data) if isinstance(element, AnyFloat) else None

    def run(values: Any, *accumulator: Any) -> Any:
        start = accumulator or (() if starts_from is None else (values.dtype.type(starts_from),))
        return reduce(combine, (*start, *values))

    return run


def _float_reduction(op: vector.ReductionOp) -> Binary:
    if op.kind.data not in FLOAT_REDUCTIONS:
        unsupported(op, f"expected a kind of reduction that floats have, found '{op.kind.data}'")
    return FLOAT_REDUCTIONS[op.kind.data]


def _integer_reduction(op: vector.ReductionOp, kind: Integers) -> Binary:
    combining = op.kind.data
    for read, functions in (
        (kind.signed, SIGNED_REDUCTIONS),
        (kind.unsigned, UNSIGNED_REDUCTIONS | MODULAR_REDUCTIONS),
    ):
        if combining in functions:
            function = functions[combining]
            return lambda a, b: kind.value(function(read(a), read(b)))
    unsupported(op, f"expected a kind of reduction that integers have, found '{combining}'")
