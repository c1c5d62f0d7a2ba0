"""Semantics of `memref`: buffers and their elements. Buffers with other layouts than the identity come from views."""

from __future__ import annotations

from typing import Any

import numpy as np
from xdsl.dialects import arith, memref
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, IntegerAttr, MemRefType, NoneAttr
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.traits import SymbolTable
from xdsl.utils.hints import isa

from relex.dialects.dtypes import array_from_dense
from relex.dialects.errors import name_of, stop, unsupported
from relex.dialects.function_arguments import RESULT_ATTR
from relex.dialects.relex.types import shape_str
from relex.dialects.tir import AllocBufferOp
from relex.reference.interpreter.checks import MONITOR
from relex.reference.interpreter.late_results import note_results
from relex.reference.interpreter.memory import Buffer, check_bounds, dimension
from relex.reference.interpreter.numbers import Numbers
from relex.reference.interpreter.program import STEPS, Binary, Preparation, Run, Unary, shape_of
from relex.reference.interpreter.scalars import INDEX, dtype_of


@STEPS.rule(memref.AllocOp, memref.AllocaOp, AllocBufferOp)
def interpret_alloc(op: memref.AllocOp | memref.AllocaOp | AllocBufferOp, preparation: Preparation) -> Run:
    """Allocate a buffer of unspecified contents."""
    kind, numbers = buffer_type(op, op.results[0]), preparation.numbers
    if not isinstance(kind.layout, NoneAttr):
        unsupported(op, f"expected a memref of identity layout, found {kind}")
    element_type: Attribute = kind.element_type
    dtype = dtype_of(op, element_type)

    def allocate(*sizes: Any) -> Buffer:
        return Buffer(numbers.fresh_array(shape_of(op, kind, sizes), dtype, element_type))

    number = op.attributes.get(RESULT_ATTR)
    if not isa(number, IntegerAttr):
        return allocate

    def allocate_result(*sizes: Any) -> Buffer:
        array = numbers.fresh_array(shape_of(op, kind, sizes), dtype, element_type)
        note_results({number.value.data: array})
        return Buffer(array)

    return allocate_result


@STEPS.rule(memref.ExtractAlignedPointerAsIndexOp)
def interpret_address(op: memref.ExtractAlignedPointerAsIndexOp, preparation: Preparation) -> Unary:
    """Return a number other than 0, for a comparison: more is not specified of an address."""
    if not all(isinstance(use.operation, arith.CmpiOp) for use in op.aligned_pointer.uses):
        unsupported(op, "expected an address that is only compared")
    address = INDEX.type(1)
    return lambda buffer: address


def buffer_type(op: Operation, value: SSAValue) -> MemRefType:
    """Return the type of a memref. Raises `UnsupportedError` unless its layout is the identity or strided."""
    t = value.type
    if not isa(t, MemRefType) or (t.get_num_dims() and t.get_strides() is None):
        unsupported(op, f"expected a memref of identity or strided layout, found {t}")
    return t


@STEPS.rule(memref.DeallocOp)
def interpret_dealloc(op: memref.DeallocOp, preparation: Preparation) -> Unary | None:
    """Free a buffer, which only a checked run tracks."""
    return (lambda buffer: MONITOR.get().frees(op, op.memref, buffer)) if preparation.checked else None


@STEPS.rule(memref.LoadOp)
def interpret_load(op: memref.LoadOp, preparation: Preparation) -> Run:
    """Load an element, checking its indices."""
    name, checked = op.memref, preparation.checked
    buffer_type(op, name)

    def load(buffer: Buffer, *index: Any) -> Any:
        if checked:
            MONITOR.get().uses(op, name, buffer)
        array: Any = buffer.array
        try:
            # NumPy counts a negative index from the end.
            if index and min(index) < 0:
                raise IndexError
            value = array[index]
        except IndexError:
            check_bounds(op, name, array, index)
            raise
        if checked:
            MONITOR.get().reads(op, name, buffer, tuple(map(int, index)))
        return value

    return load


@STEPS.rule(memref.StoreOp)
def interpret_store(op: memref.StoreOp, preparation: Preparation) -> Run:
    """Store an element, checking its indices."""
    name, checked = op.memref, preparation.checked
    buffer_type(op, name)

    def store(value: Any, buffer: Buffer, *index: Any) -> None:
        if checked:
            MONITOR.get().uses(op, name, buffer)
        array: Any = buffer.array
        try:
            if index and min(index) < 0:
                raise IndexError
            array[index] = value
        except IndexError:
            check_bounds(op, name, array, index)
            raise
        except ValueError:
            stop_read_only(op, name)
        if checked:
            MONITOR.get().writes(op, name, buffer, tuple(map(int, index)))

    return store


def stop_read_only(op: Operation, buffer: SSAValue) -> None:
    """Stop at `op`, which writes a read-only buffer."""
    stop(op, f"expected a buffer that may be written, found {name_of(buffer)}, which holds an input or a constant")


@STEPS.rule(memref.CopyOp)
def interpret_copy(op: memref.CopyOp, preparation: Preparation) -> Run:
    """Copy all elements to a buffer of the same shape."""
    buffer_type(op, op.source)
    buffer_type(op, op.destination)

    def copy(source: Buffer, destination: Buffer) -> None:
        if preparation.checked:
            MONITOR.get().uses(op, op.source, source)
            MONITOR.get().uses(op, op.destination, destination)
        read, written = source.array, destination.array
        if read.shape != written.shape:
            stop(op, f"expected buffers of one shape, found {shape_str(read.shape)} and {shape_str(written.shape)}")
        if not written.flags.writeable:
            stop_read_only(op, op.destination)
        np.copyto(written, read)
        for index in np.ndindex(written.shape if preparation.checked else (0,)):
            MONITOR.get().reads(op, op.source, source, index)
            MONITOR.get().writes(op, op.destination, destination, index)

    return copy


@STEPS.rule(memref.GetGlobalOp)
def interpret_get_global(op: memref.GetGlobalOp, preparation: Preparation) -> None:
    """Preset the buffer of a global."""
    found = SymbolTable.lookup_symbol(op, op.name_)
    if not isinstance(found, memref.GlobalOp):
        stop(op, f"expected a 'memref.global' named {op.name_}, found no such global")
    # All functions and calls share its memory.
    known = preparation.program.globals
    if found not in known:
        known[found] = _make_global(found, preparation.numbers)
    preparation.preset(op.memref, known[found])


def _make_global(op: memref.GlobalOp, numbers: Numbers) -> Buffer:
    element_type: Attribute = op.type.element_type
    dtype = dtype_of(op, element_type)
    if not isinstance(op.initial_value, DenseIntOrFPElementsAttr):
        return Buffer(numbers.fresh_array(op.type.get_shape(), dtype, element_type))
    array = array_from_dense(op.initial_value).astype(dtype).reshape(op.type.get_shape())
    array = numbers.constant(array, element_type)
    return Buffer.read_only(array) if op.constant is not None else Buffer(array)


@STEPS.rule(memref.DimOp)
def interpret_dim(op: memref.DimOp, preparation: Preparation) -> Binary:
    """Return the size of a dimension."""
    return lambda buffer, index: dimension(op, op.source, buffer.array, index)


@STEPS.rule(memref.RankOp)
def interpret_rank(op: memref.RankOp, preparation: Preparation) -> Unary:
    """Return the number of dimensions."""
    rank = INDEX.type(buffer_type(op, op.source).get_num_dims())
    return lambda buffer: rank
