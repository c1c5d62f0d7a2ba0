"""Semantics of `memref`: buffers and their elements. Buffers with other layouts than the identity come from views."""

from __future__ import annotations

from typing import Any

import numpy as np
from xdsl.dialects import memref
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, MemRefType, NoneAttr
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.traits import SymbolTable
from xdsl.utils.hints import isa

from relex.dialects.dtypes import array_from_dense
from relex.dialects.errors import name_of, stop, unsupported
from relex.dialects.relex.types import shape_str
from relex.dialects.tir import AllocBufferOp
from relex.reference.interpreter.memory import Buffer, check_bounds, check_size, dimension
from relex.reference.interpreter.numbers import Numbers
from relex.reference.interpreter.program import MONITOR, STEPS, Frame, Preparation, Program, Step, shape_of
from relex.reference.interpreter.scalars import INDEX, dtype_of


@STEPS.rule(memref.AllocOp, memref.AllocaOp, AllocBufferOp)
def interpret_alloc(op: memref.AllocOp | memref.AllocaOp | AllocBufferOp, preparation: Preparation) -> Step:
    """Allocate a buffer of unspecified contents."""
    sizes = op.sizes if isinstance(op, AllocBufferOp) else op.dynamic_sizes
    kind = buffer_type(op, op.results[0])
    if not isinstance(kind.layout, NoneAttr):
        unsupported(op, f"expected a memref of identity layout, found {kind}")
    element_type: Attribute = kind.element_type
    dtype, numbers = dtype_of(op, element_type), preparation.numbers
    operands, result = preparation.slots(sizes), preparation.slot(op.results[0])

    def step(frame: Frame) -> None:
        shape = shape_of(kind, [frame[slot] for slot in operands])
        check_size(op, shape)
        frame[result] = Buffer(numbers.fresh_array(shape, dtype, element_type))

    return step


def buffer_type(op: Operation, value: SSAValue) -> MemRefType:
    """Return the type of a memref. Raises `UnsupportedError` unless its layout is the identity or strided."""
    t = value.type
    if not isa(t, MemRefType) or (t.get_num_dims() and t.get_strides() is None):
        unsupported(op, f"expected a memref of identity or strided layout, found {t}")
    return t


@STEPS.rule(memref.DeallocOp)
def interpret_dealloc(op: memref.DeallocOp, preparation: Preparation) -> Step | None:
    """Free a buffer, which only a checked run tracks."""
    if not preparation.checked:
        return None
    buffer = preparation.slot(op.memref)

    def step(frame: Frame) -> None:
        frame[MONITOR].frees(op, op.memref, frame[buffer])

    return step


@STEPS.rule(memref.LoadOp)
def interpret_load(op: memref.LoadOp, preparation: Preparation) -> Step:
    """Load an element, checking its indices."""
    buffer_type(op, op.memref)
    buffer, result, indices = preparation.slot(op.memref), preparation.slot(op.res), preparation.slots(op.indices)

    def step(frame: Frame) -> None:
        array: Any = frame[buffer].array
        index = tuple([frame[slot] for slot in indices])
        try:
            # NumPy counts a negative index from the end.
            if index and min(index) < 0:
                raise IndexError
            frame[result] = array[index]
        except IndexError:
            check_bounds(op, op.memref, array, index)
            raise

    def checked_step(frame: Frame) -> None:
        frame[MONITOR].uses(op, op.memref, frame[buffer])
        step(frame)
        frame[MONITOR].reads(op, op.memref, frame[buffer], tuple([int(frame[slot]) for slot in indices]))

    return checked_step if preparation.checked else step


@STEPS.rule(memref.StoreOp)
def interpret_store(op: memref.StoreOp, preparation: Preparation) -> Step:
    """Store an element, checking its indices."""
    buffer_type(op, op.memref)
    buffer, value, indices = preparation.slot(op.memref), preparation.slot(op.value), preparation.slots(op.indices)

    def step(frame: Frame) -> None:
        array: Any = frame[buffer].array
        index = tuple([frame[slot] for slot in indices])
        try:
            if index and min(index) < 0:
                raise IndexError
            array[index] = frame[value]
        except IndexError:
            check_bounds(op, op.memref, array, index)
            raise
        except ValueError:
            stop_read_only(op, op.memref)

    def checked_step(frame: Frame) -> None:
        frame[MONITOR].uses(op, op.memref, frame[buffer])
        step(frame)
        frame[MONITOR].writes(op, op.memref, frame[buffer], tuple([int(frame[slot]) for slot in indices]))

    return checked_step if preparation.checked else step


def stop_read_only(op: Operation, buffer: SSAValue) -> None:
    """Stop at `op`, which writes a read-only buffer."""
    stop(op, f"expected a buffer that may be written, found {name_of(buffer)}, which holds an input or a constant")


@STEPS.rule(memref.CopyOp)
def interpret_copy(op: memref.CopyOp, preparation: Preparation) -> Step:
    """Copy all elements to a buffer of the same shape."""
    buffer_type(op, op.source)
    buffer_type(op, op.destination)
    source, destination = preparation.slot(op.source), preparation.slot(op.destination)

    def step(frame: Frame) -> None:
        read, written = frame[source].array, frame[destination].array
        if read.shape != written.shape:
            stop(op, f"expected buffers of one shape, found {shape_str(read.shape)} and {shape_str(written.shape)}")
        if not written.flags.writeable:
            stop_read_only(op, op.destination)
        np.copyto(written, read)

    def checked_step(frame: Frame) -> None:
        monitor = frame[MONITOR]
        monitor.uses(op, op.source, frame[source])
        monitor.uses(op, op.destination, frame[destination])
        step(frame)
        for index in np.ndindex(frame[destination].array.shape):
            monitor.reads(op, op.source, frame[source], index)
            monitor.writes(op, op.destination, frame[destination], index)

    return checked_step if preparation.checked else step


@STEPS.rule(memref.GetGlobalOp)
def interpret_get_global(op: memref.GetGlobalOp, preparation: Preparation) -> None:
    """Preset the buffer of a global."""
    found = SymbolTable.lookup_symbol(op, op.name_)
    if not isinstance(found, memref.GlobalOp):
        stop(op, f"expected a 'memref.global' named {op.name_}, found no such global")
    preparation.preset(op.memref, _global(found, preparation.program))


def _global(op: memref.GlobalOp, program: Program) -> Buffer:
    """Return the memory of a global, which all functions and calls share."""
    if op not in program.globals:
        program.globals[op] = _make_global(op, program.numbers)
    return program.globals[op]


def _make_global(op: memref.GlobalOp, numbers: Numbers) -> Buffer:
    element_type: Attribute = op.type.element_type
    dtype = dtype_of(op, element_type)
    if not isinstance(op.initial_value, DenseIntOrFPElementsAttr):
        return Buffer(numbers.fresh_array(op.type.get_shape(), dtype, element_type))
    array = array_from_dense(op.initial_value).astype(dtype).reshape(op.type.get_shape())
    array = numbers.constant(array, element_type)
    return Buffer.read_only(array) if op.constant is not None else Buffer(array)


@STEPS.rule(memref.DimOp)
def interpret_dim(op: memref.DimOp, preparation: Preparation) -> Step:
    """Return the size of a dimension."""
    source, index, result = preparation.slot(op.source), preparation.slot(op.index), preparation.slot(op.result)

    def step(frame: Frame) -> None:
        frame[result] = dimension(op, op.source, frame[source].array, frame[index])

    return step


@STEPS.rule(memref.RankOp)
def interpret_rank(op: memref.RankOp, preparation: Preparation) -> None:
    """Preset the number of dimensions."""
    preparation.preset(op.rank, INDEX.type(buffer_type(op, op.source).get_num_dims()))
