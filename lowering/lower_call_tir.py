"""Bufferize graph functions: tensors become buffers, and results become output arguments."""

from __future__ import annotations

from collections.abc import Sequence
from graphlib import CycleError, TopologicalSorter
from hashlib import sha256

from xdsl.context import Context
from xdsl.dialects import cf, func, memref, scf, tensor
from xdsl.dialects.bufferization import MaterializeInDestinationOp
from xdsl.dialects.builtin import (
    ArrayAttr,
    BytesAttr,
    DenseIntOrFPElementsAttr,
    DictionaryAttr,
    FunctionType,
    MemRefType,
    ModuleOp,
    StringAttr,
    SymbolRefAttr,
    TensorType,
    UnitAttr,
)
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from relex.dialects import relex, tir
from relex.dialects.dtypes import SUB_BYTE, buffer_of, dense_bytes, dense_type
from relex.dialects.errors import fail
from relex.dialects.failures import FOUND_INDEX, declaration
from relex.dialects.function_arguments import C_INTERFACE_ATTR, replacements, result_attrs
from relex.dialects.libraries import LibraryFunction
from relex.dialects.op_edits import insert_before
from relex.dialects.relex.types import shape_str
from relex.dialects.sizes.attributes import has_unknown, sizes_in_type
from relex.dialects.sizes.modules import ModuleSizes, may_have_late_sizes
from relex.dialects.symbols import is_public, resolve
from relex.dialects.upstream.hints import isa
from relex.dialects.walks import walk_of
from relex.lowering.conversion import Conversion, ConversionPass, ConversionTable, TypeConverter, convert
from relex.lowering.memory.growing import grow_in_place
from relex.lowering.support import control_rules, result_buffers
from relex.lowering.support.destinations import BRANCHES, LOOPS, give_destinations
from relex.lowering.support.late_results import allocate_results, check_memory, free_early, inline_late_calls
from relex.lowering.support.loop_checks import check_loops
from relex.lowering.support.passed_on import free_passed_on
from relex.lowering.support.replaced_arguments import write_arguments
from relex.lowering.support.row_rules import join_rows
from relex.lowering.support.slice_rules import convert_insert_slice
from relex.passes.rewriting.late_checks import check_late_sizes
from relex.passes.rewriting.size_values import SizesOfResults

GRAPH_TO_BUFFERS = ConversionTable("lower-call-tir")
"""Conversion rules for ops on tensors; other packages add rules for theirs."""

_types = TypeConverter("tensors to buffers")


@_types.rule(TensorType)
def convert_tensor_type(tensor: TensorType) -> Attribute:
    """Convert a tensor type to a memref of the same shape, of integers without a sign."""
    return buffer_of(tensor)


class LowerCallTirPass(ConversionPass):
    """
    Makes memory explicit: tensors become buffers, and functions take buffers for their results as further arguments;
    scalar results stay results. A result that takes the place of an argument is copied into it; `plan-memory` lets it
    be computed there, as far as that is right. A call writes straight into the caller's buffer if its result is
    returned; other results get memory that is freed at the end of the function. Only returned arguments and constants,
    and values returned twice, are copied. Dataflow blocks are inlined, constants become globals, and equal constants
    share one. Public functions get a C interface. A library function is declared once for all calls with the same
    types; the declaration names it.

    Requires graph operators to be gone (`legalize-ops`). Dynamic sizes are those that calls name, or follow from the
    sizes of the arguments.

    ```mlir
    func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
      %y = relex.call_tir @relu(%x) : (tensor<8xf32>) -> tensor<8xf32>
      %z = relex.call_tir @relu(%y) : (tensor<8xf32>) -> tensor<8xf32>
      func.return %z : tensor<8xf32>
    }
    // lower-call-tir
    func.func @main(%x: memref<8xf32>, %out: memref<8xf32>) attributes {llvm.emit_c_interface} {
      %y = memref.alloc() {alignment = 64 : i64} : memref<8xf32>
      tir.call @relu(%x, %y) : memref<8xf32>, memref<8xf32>
      tir.call @relu(%y, %out) : memref<8xf32>, memref<8xf32>
      memref.dealloc %y : memref<8xf32>
      func.return
    }
    ```
    """

    name = "lower-call-tir"

    table = GRAPH_TO_BUFFERS
    types = _types

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for block in walk_of(op, relex.DataflowOp):
            block.dissolve()
        _check_recursion(op)
        calls = walk_of(op, relex.CallOp, func.CallOp, *BRANCHES, *LOOPS)
        types = [value.type for call in calls for value in call.results]
        types += [t for f in op.ops if isinstance(f, func.FuncOp) and replacements(f) for t in f.function_type.outputs]
        may_be_late = [f for f in op.ops if isinstance(f, func.FuncOp) and may_have_late_sizes(f)]
        known = ModuleSizes.of_all(op) if may_be_late or any(map(has_unknown, types)) else None
        if may_be_late and inline_late_calls(op, SizesOfResults(known)):
            may_be_late = [f for f in op.ops if isinstance(f, func.FuncOp) and may_have_late_sizes(f)]
            known = ModuleSizes.of_all(op)
        late = [f for f in may_be_late if known is not None and known.late(f).sources]
        if known is not None and (late or any(known.late(f).checks for f in may_be_late)):
            check_late_sizes(op, known)
            known = ModuleSizes.of_all(op)
        sizes = SizesOfResults(known)
        check_loops(op)
        write_arguments(op, sizes)
        for function in late:
            allocate_results(function, sizes)
        give_destinations(op, sizes)
        _pass_destinations(op, sizes)
        convert(op, GRAPH_TO_BUFFERS, _types, _check_no_tensors)
        for function in may_be_late:
            grow_in_place(function)
        for function in late:
            free_passed_on(function)
            free_early(function)
        check_memory(op, late)


@GRAPH_TO_BUFFERS.rule(func.FuncOp)
def convert_function(op: func.FuncOp, conversion: Conversion) -> None:
    """Convert a signature: tensors become buffers, and tensor results become output arguments."""
    inputs, results = op.function_type.inputs.data, op.function_type.outputs.data
    if (inputs or results) and not any(isinstance(t, TensorType) for t in (*inputs, *results)):
        return
    filled = [t for t in results if isa(t, TensorType)]
    if len(op.body.blocks) > 1:
        fail(op, f"expected a function of one block, found {len(op.body.blocks)}")
    if op.body.blocks:
        block = op.body.block
        conversion.convert_arguments(block)
        for i, t in enumerate(filled):
            output = block.insert_arg(conversion.types.convert(t), len(block.args), op.location)
            output.name_hint = "out" if len(filled) == 1 else f"out{i}"
    buffers = [conversion.types.convert(t) for t in (*inputs, *filled)]
    op.function_type = FunctionType.from_lists(buffers, [t for t in results if not isinstance(t, TensorType)])
    if op.arg_attrs is not None or op.res_attrs is not None:
        arg_attrs = op.arg_attrs or [DictionaryAttr({})] * len(inputs)
        attrs = zip(result_attrs(op, len(results)), results, strict=True)
        op.arg_attrs = ArrayAttr([*arg_attrs, *(of_one for of_one, t in attrs if isinstance(t, TensorType))])
    op.res_attrs = None
    if op.body.blocks and is_public(op):
        op.attributes[C_INTERFACE_ATTR] = UnitAttr()


@GRAPH_TO_BUFFERS.rule(func.ReturnOp)
def convert_return(op: func.ReturnOp, conversion: Conversion) -> None:
    """Copy returned tensors into the outputs unless they are already there, and return the scalars."""
    filled = result_buffers.returned_tensors(op)
    if not filled:
        return
    for value, output in zip(filled, result_buffers.output_arguments(op), strict=True):
        source = conversion.value(value)
        if source is not output:
            copy = conversion.add(memref.CopyOp(source, output))
            copy.detach()
            Rewriter.insert_op(copy, InsertPoint.before(result_buffers.first_of_frees(op)))
    conversion.add(func.ReturnOp(*conversion.values([value for value in op.arguments if value not in filled])))
    conversion.replace()


@GRAPH_TO_BUFFERS.rule(relex.CallTirOp)
def convert_call_tir(op: relex.CallTirOp, conversion: Conversion) -> None:
    """Convert a call of a loop function to one that fills the buffers of its results."""
    outputs = [result_buffers.result_buffer(result, conversion) for result in op.results]
    buffers = [*conversion.values(op.arguments), *outputs]
    callee = resolve(op, op.callee, tir.PrimFuncOp)
    expected = callee.function_type.inputs
    conversion.add(
        tir.CallLoopsOp(op.callee, [_cast(b, t, conversion) for b, t in zip(buffers, expected, strict=True)])
    )
    conversion.replace(*outputs)


def _cast(buffer: SSAValue, t: Attribute, conversion: Conversion) -> SSAValue:
    """Cast a buffer to the type that a callee declares, which knows fewer sizes, or more that have been checked."""
    if buffer.type == t or not isa(t, MemRefType):
        return buffer
    return conversion.add(memref.CastOp.get(buffer, t)).dest


@GRAPH_TO_BUFFERS.rule(tensor.DimOp)
def convert_dim(op: tensor.DimOp, conversion: Conversion) -> None:
    """Convert `tensor.dim` to `memref.dim`."""
    conversion.replace(conversion.add(memref.DimOp(conversion.value(op.source), op.index)).result)


@GRAPH_TO_BUFFERS.rule(tensor.CastOp)
def convert_cast(op: tensor.CastOp, conversion: Conversion) -> None:
    """Convert `tensor.cast` to `memref.cast`, if the types differ."""
    buffer = conversion.value(op.source)
    conversion.replace(_cast(buffer, conversion.types.convert(op.dest.type), conversion))


@GRAPH_TO_BUFFERS.rule(tensor.CollapseShapeOp, tensor.ExpandShapeOp)
def convert_reshape(op: tensor.CollapseShapeOp | tensor.ExpandShapeOp, conversion: Conversion) -> None:
    """Convert to a view of the buffer, or to the buffer that this one is a view of, if that has the right shape."""
    source, kind = conversion.value(op.src), result_buffers.buffer_type(op.result)
    owner = source.owner
    origin = owner.operands[0] if isinstance(owner, memref.CollapseShapeOp | memref.ExpandShapeOp) else source
    if origin.type != kind or not kind.has_static_shape():
        origin = conversion.add(result_buffers.view_of_buffer(source, op.reassociation, kind, op.operands[1:])).result
    conversion.replace(origin)


@GRAPH_TO_BUFFERS.rule(relex.PackBytesOp)
def convert_words(op: relex.PackBytesOp, conversion: Conversion) -> None:
    """Convert to a view of the buffer whose elements are words."""
    if not op.is_view:
        fail(op, "expected 'legalize-ops' before")
    *before, view = result_buffers.view_of_words(conversion.value(op.data), result_buffers.buffer_type(op.result))
    for new in before:
        conversion.add(new)
    conversion.replace(conversion.add(view).results[0])


@GRAPH_TO_BUFFERS.rule(relex.ConcatOp)
def convert_concat(op: relex.ConcatOp, conversion: Conversion) -> None:
    """Copy rows behind one another; `grow_in_place` leaves those where they are that a loop carries."""
    if any(size != 1 for size in sizes_in_type(op.result.type)[: op.normal_axis]):
        fail(op, "expected 'legalize-ops' before")
    conversion.replace(join_rows(op, conversion))


@GRAPH_TO_BUFFERS.rule(relex.CallOp, func.CallOp)
def convert_call(op: relex.CallOp | func.CallOp, conversion: Conversion) -> None:
    """Convert a call with tensors to one that fills the buffers of its results and returns the scalars."""
    if not any(isinstance(t, TensorType) for t in (*op.operand_types, *op.result_types)):
        return
    buffers = {r: result_buffers.result_buffer(r, conversion) for r in op.results if isinstance(r.type, TensorType)}
    returned = [t for t in op.result_types if not isinstance(t, TensorType)]
    call = func.CallOp(op.callee, [*conversion.values(op.arguments), *buffers.values()], returned)
    numbers = iter(conversion.add(call).results)
    conversion.replace(*(buffers[result] if result in buffers else next(numbers) for result in op.results))


@GRAPH_TO_BUFFERS.rule(tensor.FromElementsOp)
def convert_from_elements(op: tensor.FromElementsOp, conversion: Conversion) -> None:
    """Store numbers in the buffer that the tensor is written to."""
    buffer = result_buffers.result_buffer(op.results[0], conversion)
    control_rules.fill(buffer, op.elements, conversion)
    conversion.replace(buffer)


@GRAPH_TO_BUFFERS.rule(relex.MatchSizesOp)
def convert_match_sizes(op: relex.MatchSizesOp, conversion: Conversion) -> None:
    """Forward a tensor whose sizes have been checked."""
    conversion.replace(_cast(conversion.value(op.operand), conversion.types.convert(op.result.type), conversion))


GRAPH_TO_BUFFERS.rule(*BRANCHES, *LOOPS)(control_rules.convert_regions)
GRAPH_TO_BUFFERS.rule(scf.YieldOp, scf.ConditionOp)(control_rules.convert_end)
GRAPH_TO_BUFFERS.rule(MaterializeInDestinationOp)(control_rules.convert_materialize)
GRAPH_TO_BUFFERS.rule(tensor.ExtractOp)(control_rules.convert_extract)
GRAPH_TO_BUFFERS.rule(tensor.InsertSliceOp)(convert_insert_slice)


@GRAPH_TO_BUFFERS.rule(relex.AllocTensorOp)
def convert_alloc_tensor(op: relex.AllocTensorOp, conversion: Conversion) -> None:
    """Convert to the buffer that the tensor is written to."""
    conversion.replace(result_buffers.result_buffer(op.results[0], conversion))


@GRAPH_TO_BUFFERS.rule(relex.CallDpsPackedOp)
def convert_call_dps_packed(op: relex.CallDpsPackedOp, conversion: Conversion) -> None:
    """Convert to a call of a declared library function that fills the buffers of its results."""
    inputs = conversion.values(op.arguments)
    outputs = [result_buffers.result_buffer(result, conversion) for result in op.results]
    library = LibraryFunction(op.callee.data, _array_types(op.arguments, inputs), _array_types(op.results, outputs))
    conversion.declare(library.symbol, library.declaration)
    conversion.add(func.CallOp(library.symbol, [*inputs, *outputs], []))
    conversion.replace(*outputs)


def _array_types(tensors: Sequence[SSAValue], buffers: Sequence[SSAValue]) -> tuple[MemRefType, ...]:
    """Return the types of the arrays that a library function gets: buffers of the elements that the tensors have."""
    return tuple(
        MemRefType(tensor.type.element_type, buffer.type.get_shape())
        for tensor, buffer in zip(tensors, buffers, strict=True)
        if isa(tensor.type, TensorType) and isa(buffer.type, MemRefType)
    )


@GRAPH_TO_BUFFERS.rule(relex.AssertOp)
def convert_assert(op: relex.AssertOp, conversion: Conversion) -> None:
    """Convert to an assertion about the element of a buffer, after a call that says which index it is about."""
    condition = conversion.add(memref.LoadOp.get(conversion.value(op.condition), [])).res
    if op.index is not None:
        index = conversion.add(memref.LoadOp.get(conversion.value(op.index), [])).res
        conversion.declare(FOUND_INDEX, declaration)
        conversion.add(func.CallOp(FOUND_INDEX, [index], []))
    conversion.add(cf.AssertOp(condition, op.message))
    conversion.replace()


@GRAPH_TO_BUFFERS.rule(relex.ConstantOp)
def convert_constant(op: relex.ConstantOp, conversion: Conversion) -> None:
    """Convert a constant to a global, named after its type and a hash of its value, so that equal ones share it."""
    buffer = result_buffers.buffer_type(op.results[0])
    is_sub_byte = op.value.get_element_type() in SUB_BYTE
    data = BytesAttr(dense_bytes(op.value)) if is_sub_byte else op.value.data
    digest = sha256(data.data).hexdigest()[:16]
    name = f"constant_{shape_str(buffer.get_shape())}x{buffer.element_type}_{digest}"

    def make() -> Operation:
        return memref.GlobalOp.get(
            StringAttr(name),
            buffer,
            DenseIntOrFPElementsAttr(dense_type(buffer.element_type, buffer.get_shape()), data),
            sym_visibility=StringAttr("private"),
            constant=UnitAttr(),
            alignment=result_buffers.ALIGNMENT,
        )

    conversion.declare(name, make)
    conversion.replace(conversion.add(memref.GetGlobalOp(SymbolRefAttr(name), buffer)).memref)


def _pass_destinations(module: ModuleOp, sizes: SizesOfResults) -> None:
    """Let callers allocate results whose sizes follow from the sizes of the arguments, and pass them as
    destinations."""
    ops = walk_of(module, relex.CallOp, func.CallOp)
    calls = [op for op in ops if any(map(has_unknown, op.result_types))]
    for call in calls:
        buffers: dict[SSAValue, SSAValue] = {}
        for result in call.results:
            t = result.type
            if not isa(t, TensorType):
                continue
            buffers[result] = insert_before(call, relex.AllocTensorOp(t, sizes.of(result))).result
        returned = [t for t in call.result_types if not isinstance(t, TensorType)]
        filled = insert_before(call, func.CallOp(call.callee, [*call.arguments, *buffers.values()], returned))
        numbers = iter(filled.results)
        Rewriter.replace_op(call, [], [buffers.get(r) or next(numbers) for r in call.results])


def _check_recursion(module: ModuleOp) -> None:
    """Refuse functions that call themselves unconditionally, directly or through others: they never return."""
    functions = {op.sym_name.data: op for op in module.ops if isinstance(op, func.FuncOp)}
    callees = {name: _always_called(function) for name, function in functions.items()}
    try:
        TopologicalSorter(callees).prepare()
    except CycleError as e:
        cycle: list[str] = e.args[1]
        names = " calls ".join(f"@{name}" for name in reversed(cycle))
        fail(functions[cycle[-1]], f"expected to end, found that {names}")


def _always_called(function: func.FuncOp) -> list[str]:
    entry = function.body.first_block
    ops = entry.ops if entry is not None else ()
    return [op.callee.root_reference.data for op in ops if isinstance(op, relex.CallOp | func.CallOp)]


def _check_no_tensors(op: Operation) -> None:
    if isinstance(op, relex.Operator):
        fail(op, "cannot be lowered to buffers; run 'legalize-ops' before 'lower-call-tir'")
    if any(type(value.type) is TensorType for value in (*op.operands, *op.results)):
        fail(op, "cannot be lowered to buffers; expected ops of the relex dialect on tensors")
