"""Size inference rules of ops."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Literal, TypeAlias

from xdsl.dialects import arith, cf, func, memref, tensor
from xdsl.dialects.builtin import DYNAMIC_INDEX, IndexType, IntegerAttr, TensorType
from xdsl.ir import Operation, SSAValue

from relex.dialects.errors import InferenceError, fail, name_of, one_line
from relex.dialects.index.expr import names_in, never_negative
from relex.dialects.index.from_ir import EXPRESSIONS, divisor_of, index_of
from relex.dialects.index.values import substitute
from relex.dialects.relex import AllocTensorOp, CallDpsPackedOp, CallOp, CallTirOp, DataflowOp, MatchSizesOp, Operator
from relex.dialects.relex.types import SizedType
from relex.dialects.sizes.analysis import SIZES, SizeAnalysis
from relex.dialects.sizes.attributes import sizes_in_type
from relex.dialects.sizes.expressions import Size, count
from relex.dialects.sizes.late import data_size
from relex.dialects.sizes.requirements import Requirement, gathering
from relex.dialects.tir import AllocBufferOp
from relex.dialects.upstream.hints import isa
from relex.dialects.upstream.reshapes import Collapse, Expand, groups_of


@SIZES.rule(Operator)
def _infer_operator(op: Operator, analysis: SizeAnalysis) -> None:
    operands = [(operand.type, analysis.sizes_as_typed(operand)) for operand in op.operands]
    types = [SizedType(t.element_type, sizes) for t, sizes in operands if isa(t, TensorType)]
    try:
        with gathering() as requirements:
            inferred = op.infer_results(types, op.properties)
    except InferenceError as e:
        fail(op, one_line(e))
    for requirement in requirements:
        analysis.require(requirement)
    sizes = analysis.name_data_sizes(op, [found.get_shape() for found in inferred])
    for result, found in zip(op.results, sizes, strict=True):
        analysis.set(result, found)


@SIZES.rule(DataflowOp)
def _infer_dataflow(op: DataflowOp, analysis: SizeAnalysis) -> None:
    analysis.visit(op.body.block)
    for result, value in zip(op.results, op.output.values, strict=True):
        analysis.set(result, analysis.sizes(value))


@SIZES.rule(CallTirOp, CallDpsPackedOp, AllocTensorOp, AllocBufferOp)
def _read_size_operands(
    op: CallTirOp | CallDpsPackedOp | AllocTensorOp | AllocBufferOp, analysis: SizeAnalysis
) -> None:
    _expect_sizes(op.sizes, analysis)
    given = iter(op.sizes)
    for result in op.results:
        _set_sizes(result, given, analysis)
        analysis.allocate(result)
    if isinstance(op, CallTirOp):
        sizes = [analysis.sizes(value) for value in (*op.arguments, *op.results)]
        analysis.enter(analysis.callee(op.callee), sizes)


@SIZES.rule(memref.AllocOp)
def _read_alloc_sizes(op: memref.AllocOp, analysis: SizeAnalysis) -> None:
    _set_sizes(op.memref, iter(op.dynamic_sizes), analysis)


def _set_sizes(value: SSAValue, given: Iterator[SSAValue], analysis: SizeAnalysis) -> None:
    """Set the sizes of a value, of which the dynamic ones are `given`."""
    sizes = sizes_in_type(value.type)
    analysis.set(value, [analysis.number(next(given)) if size == DYNAMIC_INDEX else size for size in sizes])


def _expect_sizes(indices: Iterable[SSAValue], analysis: SizeAnalysis) -> None:
    for index in indices:
        analysis.require(Requirement(0, "<=", analysis.number(index)))


@SIZES.rule(CallOp, func.CallOp)
def _infer_call(op: CallOp | func.CallOp, analysis: SizeAnalysis) -> None:
    # Names stand for sizes: an index argument counts as one.
    _expect_sizes([value for value in op.arguments if value.type == IndexType()], analysis)
    callee = analysis.callee(op.callee)
    values = analysis.enter(callee, [analysis.sizes(value) for value in op.arguments])
    late = {name for sizes in callee.results for size in sizes for name in names_in(size)} - values.keys()
    values |= {name: data_size(name) for name in late}
    results = [tuple(substitute(size, values) for size in sizes) for sizes in callee.results]
    for result, sizes in zip(op.results, analysis.name_data_sizes(op, results), strict=True):
        analysis.set(result, sizes)
        analysis.allocate(result)


@SIZES.rule(tensor.DimOp, memref.DimOp)
def _infer_dim(op: tensor.DimOp | memref.DimOp, analysis: SizeAnalysis) -> None:
    dimension, rank = analysis.number(op.index), len(sizes_in_type(op.source.type))
    if not isinstance(dimension, int) or not 0 <= dimension < rank:
        fail(op, f"expected a dimension of {name_of(op.source)}, which has {rank}, found {dimension}")
    analysis.set(op.result, [analysis.sizes(op.source)[dimension]])


@SIZES.rule(tensor.CastOp, memref.CastOp)
def _infer_cast(op: tensor.CastOp | memref.CastOp, analysis: SizeAnalysis) -> None:
    analysis.set(op.results[0], analysis.sizes(op.operands[0]))


@SIZES.rule(MatchSizesOp)
def _infer_matched(op: MatchSizesOp, analysis: SizeAnalysis) -> None:
    sizes = list(analysis.sizes(op.operand))
    for dimension, text in enumerate(op.texts):
        if text:
            sizes[dimension] = analysis.named_size(text, sizes[dimension])
    analysis.set(op.result, sizes)


_UNSIGNED = 7
_RELATIONS: Mapping[int, Literal["==", "<="]] = {0: "==", 3: "<=", _UNSIGNED: "<="}
"""The comparisons of indices that a program checks sizes by: `eq`, `sle` and `ule`."""


@SIZES.rule(cf.AssertOp)
def _note_check(op: cf.AssertOp, analysis: SizeAnalysis) -> None:
    check = op.arg.owner
    if not isinstance(check, arith.CmpiOp) or check.lhs.type != IndexType() or not analysis.knows(check.rhs):
        return
    relation = _RELATIONS.get(check.predicate.value.data)
    if relation is None:
        return
    if not analysis.knows(check.lhs) and check.predicate.value.data == _UNSIGNED:
        analysis.name_checked(check.lhs, analysis.number(check.rhs))
    elif analysis.knows(check.lhs):
        analysis.assume(Requirement(analysis.number(check.lhs), relation, analysis.number(check.rhs)))


@SIZES.rule(tensor.InsertSliceOp)
def _infer_insert_slice(op: tensor.InsertSliceOp, analysis: SizeAnalysis) -> None:
    analysis.set(op.result, analysis.sizes(op.dest))


@SIZES.rule(tensor.CollapseShapeOp, memref.CollapseShapeOp)
def _infer_collapsed(op: Collapse, analysis: SizeAnalysis) -> None:
    sizes = analysis.sizes(op.src)
    analysis.set(op.result, [count([sizes[d] for d in group]) for group in groups_of(op)])


@SIZES.rule(tensor.ExpandShapeOp, memref.ExpandShapeOp)
def _infer_expanded(op: Expand, analysis: SizeAnalysis) -> None:
    given = iter(op.operands[1:])
    shape = sizes_in_type(op.result.type)
    sizes = [analysis.number(next(given)) if size == DYNAMIC_INDEX else size for size in shape]
    for size, group in zip(analysis.sizes(op.src), groups_of(op), strict=True):
        analysis.require(Requirement(count([sizes[d] for d in group]), "==", size))
    analysis.set(op.result, sizes)


@SIZES.rule(arith.ConstantOp)
def _infer_constant(op: arith.ConstantOp, analysis: SizeAnalysis) -> None:
    if isinstance(op.value, IntegerAttr) and op.result.type == IndexType():
        analysis.set(op.result, [op.value.value.data])


@SIZES.rule(*EXPRESSIONS)
def _infer_arithmetic(op: Operation, analysis: SizeAnalysis) -> None:
    """Infer index arithmetic. An unknown result is an error only if a size depends on it."""
    if type(op.results[0].type) is not IndexType or not all(map(analysis.knows, op.operands)):
        return
    value = EXPRESSIONS[type(op)](op, analysis.number)
    if value is None and isinstance(op, _Division):
        value = _part_of_dimension(op, analysis)
    if value is not None:
        analysis.set(op.results[0], [value])


_Division: TypeAlias = arith.DivSIOp | arith.DivUIOp | arith.RemSIOp | arith.RemUIOp


def _part_of_dimension(op: _Division, analysis: SizeAnalysis) -> Size | None:
    """Return a quotient or a remainder of what is never negative, such as a dimension, whatever its expression is."""
    dividend, divisor = analysis.number(op.lhs), divisor_of(analysis.number(op.rhs))
    if not divisor or not never_negative(index_of(op.lhs)):
        return None
    return dividend // divisor if isinstance(op, arith.DivSIOp | arith.DivUIOp) else dividend % divisor
