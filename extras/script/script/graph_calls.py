"""Calls in graph functions that are not plain operators, read and printed: `R.call_tir`, `R.const`, ..."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeGuard, cast

from xdsl.dialects.builtin import DYNAMIC_INDEX, TensorType
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.utils.hints import isa

from relex.dialects import relex
from relex.dialects.dtypes import FLOATS, array_from_dense, has_dtype, numpy_dtype
from relex.dialects.errors import InferenceError, fail
from relex.dialects.relex.operator import tensor_type
from relex.dialects.relex.types import rank_of
from relex.dialects.table import Table
from relex.frontend.graph_expressions import array_of
from relex.frontend.script.declarations import declare, read_tensor, read_tensors
from relex.frontend.script.dtypes import NAMES, element_type_of
from relex.frontend.script.scope import arguments
from relex.frontend.script.source import ScriptError
from relex.frontend.script.writing import CANNOT, dtype_name, python_number, python_value, tuple_of

if TYPE_CHECKING:
    from relex.frontend.script.graph_expressions import GraphExpressions
    from relex.frontend.script.print_graphs import GraphPrinter

CALLS = Table[str, Callable[["GraphExpressions", ast.Call], "Value"]]("calls in graph functions")
"""The reader of each call by the function's name; other packages may add theirs."""

PRINTED = Table[type[Operation], Callable[["GraphPrinter", Any], str]]("ops that are printed as calls")
"""The printer of each op that `CALLS` reads; other packages may add theirs."""

Value = SSAValue | tuple["Value", ...]
"""A tensor, or a tuple of values."""


def as_tensors(value: object) -> Value | None:
    """Return the object that a name refers to if it is a tensor or a tuple, else None."""
    return cast("Value", value) if isinstance(value, SSAValue | tuple) else None


def flatten(value: Value) -> list[SSAValue]:
    """Return the tensors of a nested tuple, in order."""
    return [value] if isinstance(value, SSAValue) else [tensor for part in value for tensor in flatten(part)]


def grouped(value: Value, tensors: Iterator[SSAValue]) -> Value:
    """Return tensors in tuples like the tuples of another value."""
    return next(tensors) if isinstance(value, SSAValue) else tuple(grouped(part, tensors) for part in value)


def results_of(op: Operation) -> Value:
    """Return the result of an op, or a tuple of all its results."""
    return op.results[0] if len(op.results) == 1 else tuple(op.results)


_DEFAULTS = {"b": "bool", "i": "int32", "f": "float32"}
"""The dtypes TVM gives to constants without one, by NumPy's dtype kind."""


def make_constant(graph: GraphExpressions, node: ast.expr, dtype: str | None) -> SSAValue:
    """Return a number or nested lists of numbers as a constant tensor; the default dtype is bool, int32 or float32."""
    import numpy as np

    value = graph.scope.unit.constants.value(node)
    try:
        kind = np.array(value).dtype.kind
        element_type = element_type_of(node, dtype or _DEFAULTS.get(kind, "float32"))
        with np.errstate(all="ignore"):
            array = array_of(value, numpy_dtype(element_type))
    except (ValueError, TypeError, OverflowError) as e:
        raise ScriptError(node, f"expected numbers of {dtype or 'one dtype'}, in lists of equal lengths") from e
    return graph.scope.emit(node, relex.ConstantOp(array)).result


@CALLS.rule("R.call_tir")
def _call_tir(graph: GraphExpressions, node: ast.Call) -> Value:
    bound = call_arguments(node, "R.call_tir")
    if isinstance(bound["func"], ast.Constant) or _is_extern(bound["func"], graph):
        return _call_library(graph, node, bound)
    name = loop_callee(graph, bound["func"])
    if name in graph.functions.in_place:
        raise ScriptError(node, f"expected '{name}' to be called by R.call_tir_inplace, as elsewhere")
    inputs = flatten(graph.tensors(bound["args"]))
    return results_of(graph.scope.emit(node, relex.CallTirOp(name, inputs, *outputs_of(graph, node, bound))))


def loop_callee(graph: GraphExpressions, node: ast.expr) -> str:
    """Return the name of the loop function that an expression refers to."""
    name = graph.callee(node)
    if graph.functions.kind(name) != "T.prim_func":
        raise ScriptError(node, f"expected a loop function, found graph function '{name}'; call it directly")
    return name


@PRINTED.rule(relex.CallTirOp)
def _print_call_tir(printer: GraphPrinter, op: relex.CallTirOp) -> str:
    return f"R.call_tir(cls.{op.callee.root_reference.data}, {_print_operands(printer, op)})"


@CALLS.rule("R.call_dps_packed")
def _call_dps_packed(graph: GraphExpressions, node: ast.Call) -> Value:
    return _call_library(graph, node, call_arguments(node, "R.call_dps_packed"))


@PRINTED.rule(relex.CallDpsPackedOp)
def _print_call_dps_packed(printer: GraphPrinter, op: relex.CallDpsPackedOp) -> str:
    if op.side_effects is not None:
        fail(op, CANNOT)
    return f"R.call_dps_packed({python_value(op.callee.data)}, {_print_operands(printer, op)})"


def _print_operands(printer: GraphPrinter, op: relex.CallTirOp | relex.CallDpsPackedOp) -> str:
    sizes = iter(op.sizes)
    types = [printer.tensor(printer.sizes_of(t, sizes), t) for t in op.outputs.types if isa(t, TensorType)]
    declared = types[0] if len(types) == 1 else f"[{', '.join(types)}]"
    return f"{tuple_of([printer.text(value) for value in op.arguments])}, out_ty={declared}"


def _is_extern(node: ast.expr, graph: GraphExpressions) -> TypeGuard[ast.Call]:
    return isinstance(node, ast.Call) and graph.scope.meaning(node.func) == "R.ExternFunc"


def _call_library(graph: GraphExpressions, node: ast.Call, bound: Mapping[str, ast.expr]) -> Value:
    function = bound["func"]
    if _is_extern(function, graph):
        function = arguments(function, "R.ExternFunc", ("global_symbol",))["global_symbol"]
    library = graph.scope.unit.constants.string(function, "the name of a library function")
    inputs = flatten(graph.tensors(bound["args"]))
    return results_of(graph.scope.emit(node, relex.CallDpsPackedOp(library, inputs, *outputs_of(graph, node, bound))))


def call_arguments(node: ast.Call, name: str, *required: str) -> dict[str, ast.expr]:
    """Return the arguments of a call; the types of its results have had several parameter names."""
    bound = arguments(node, name, ("func", "args", *required), ("out_ty", "dtype"), more=("out_sinfo", "out_shape"))
    for old in ("out_sinfo", "out_shape"):
        if old in bound:
            bound["out_ty"] = bound.pop(old)
    if "out_ty" not in bound:
        raise ScriptError(node, f"expected the type of the result for '{name}': out_ty=R.Tensor(shape, dtype)")
    return bound


def outputs_of(
    graph: GraphExpressions, node: ast.Call, bound: Mapping[str, ast.expr]
) -> tuple[Sequence[TensorType], Sequence[SSAValue]]:
    """Return the result types of a call, and a value for each `?` in them."""
    unit, declared = graph.scope.unit, bound["out_ty"]
    tensors = [declare(unit, node, declared, bound["dtype"])] if "dtype" in bound else read_tensors(unit, declared)
    types = [tensor.tensor for tensor in tensors]
    return types, [graph.scalars.index(size) for tensor in tensors for size in tensor.dynamic_sizes]


@CALLS.rule("R.alloc_tensor", "R.builtin.alloc_tensor")
def _alloc_tensor(graph: GraphExpressions, node: ast.Call) -> Value:
    bound = arguments(node, "R.alloc_tensor", ("shape", "dtype"), ("runtime_device_index", "storage_scope"))
    tensor = declare(graph.scope.unit, node, bound["shape"], bound["dtype"])
    sizes = [graph.scalars.index(size) for size in tensor.dynamic_sizes]
    return graph.scope.emit(node, relex.AllocTensorOp(tensor.tensor, sizes)).result


@PRINTED.rule(relex.AllocTensorOp)
def _print_alloc_tensor(printer: GraphPrinter, op: relex.AllocTensorOp) -> str:
    shape = ", ".join(printer.sizes_of(op.result.type, iter(op.sizes)))
    dtype = dtype_name(op, op.result.type.element_type)
    return f'R.builtin.alloc_tensor(R.shape([{shape}]), R.dtype("{dtype}"), 0, R.str("global"))'


FOUND = ", found {}"
"""The end of the format of an assertion that names an index."""


@CALLS.rule("R.assert_op")
def _assert(graph: GraphExpressions, node: ast.Call) -> Value:
    bound = arguments(node, "R.assert_op", ("condition",), ("format_args", "format"))
    text = graph.scope.unit.constants.string(bound["format"], "a message") if "format" in bound else ""
    given = bound.get("format_args", ast.List(elts=[]))
    operands = given.elts if isinstance(given, ast.List | ast.Tuple) else [given]
    if len(operands) > 1 or (operands and not text.endswith(FOUND)):
        raise ScriptError(given, f"expected at most an index, whose format ends with '{FOUND}'")
    condition, *index = (graph.tensor(operand) for operand in (bound["condition"], *operands))
    message = text.removesuffix(FOUND).replace("{{", "{").replace("}}", "}") if operands else text
    return results_of(graph.scope.emit(node, relex.AssertOp(condition, message, *index)))


@PRINTED.rule(relex.AssertOp)
def _print_assert(printer: GraphPrinter, op: relex.AssertOp) -> str:
    message, operands = op.message.data, [op.condition]
    if op.index is not None:
        message, operands = message.replace("{", "{{").replace("}", "}}") + FOUND, [*operands, op.index]
    return f"R.assert_op({', '.join(map(printer.text, operands))}, format=R.str({python_value(message)}))"


@CALLS.rule("R.const")
def _const(graph: GraphExpressions, node: ast.Call) -> Value:
    bound = arguments(node, "R.const", ("value",), ("dtype",))
    dtype = graph.scope.unit.constants.string(bound["dtype"], "a dtype") if "dtype" in bound else None
    return make_constant(graph, bound["value"], dtype)


@PRINTED.rule(relex.ConstantOp)
def _print_const(printer: GraphPrinter, op: relex.ConstantOp) -> str:
    element_type = op.value.get_element_type()
    # An empty list loses the sizes of the inner dimensions.
    if not has_dtype(element_type) or 0 in op.value.get_shape()[:-1]:
        fail(op, f"{CANNOT}: found a constant of type {op.result.type}")
    array = array_from_dense(op.value)
    array = array.astype("float64") if element_type in FLOATS else array
    return f'R.const({_elements(array.tolist(), element_type)}, "{NAMES[element_type]}")'


def _elements(value: object, element_type: Attribute) -> str:
    """Print nested lists of numbers."""
    if isinstance(value, list):
        return f"[{', '.join(_elements(part, element_type) for part in cast('list[object]', value))}]"
    return python_number(value, element_type) if isinstance(value, int | float) else repr(value)


@CALLS.rule("R.linear")
def _linear(graph: GraphExpressions, node: ast.Call) -> Value:
    """`x @ w.T + b`."""
    bound = arguments(node, "R.linear", ("data", "weight"), ("bias", "out_dtype"))
    dtype = bound.pop("out_dtype", None)
    values = [graph.tensor(node) for node in bound.values()]
    kind = graph.scope.unit.constants.value(dtype) if dtype is not None else None
    if dtype is not None and kind not in (None, "", "void"):
        wanted = element_type_of(dtype, kind)
        values = [graph.scope.emit(node, relex.AstypeOp(value, wanted)).result for value in values]
    try:
        product = graph.scope.emit(node, relex.DenseOp(*values[:2])).result
        return product if len(values) == 2 else graph.scope.emit(node, relex.AddOp(product, values[2])).result
    except InferenceError as e:
        raise ScriptError(node, f"'R.linear' {e}") from e


@PRINTED.rule(relex.DenseOp)
def _print_dense(printer: GraphPrinter, op: relex.DenseOp) -> str:
    return f"R.linear({', '.join(map(printer.text, op.operands))})"


@PRINTED.rule(relex.BatchNormOp)
def _print_batch_norm(printer: GraphPrinter, op: relex.BatchNormOp) -> str:
    return f"{printer.operator(op, 'training=False')}[0]"


@PRINTED.rule(relex.TakeOp)
def _print_take(printer: GraphPrinter, op: relex.TakeOp) -> str:
    return printer.operator(op, 'mode="clip"')  # TVM's default differs.


@PRINTED.rule(relex.ArgsortOp)
def _print_argsort(printer: GraphPrinter, op: relex.ArgsortOp) -> str:
    return printer.operator(op, 'dtype="int64"')  # TVM's default differs.


@PRINTED.rule(relex.UniqueOp)
def _print_unique(printer: GraphPrinter, op: relex.UniqueOp) -> str:
    return printer.operator(op, "return_index=True", "return_inverse=True", "return_counts=True")


@CALLS.rule("R.argwhere")
def _argwhere(graph: GraphExpressions, node: ast.Call) -> Value:
    """Read `R.argwhere`, which has a row for each place, as in NumPy; TVM lacks it."""
    return graph.apply(node, "R.argwhere", relex.NonzeroOp).results[0]


@CALLS.rule("R.nonzero")
def _nonzero(graph: GraphExpressions, node: ast.Call) -> Value:
    """Read `R.nonzero`, which has a row for each dimension in TVM."""
    places = graph.apply(node, "R.nonzero", relex.NonzeroOp)
    return graph.scope.emit(node, relex.PermuteDimsOp(places)).result


@PRINTED.rule(relex.NonzeroOp)
def _print_nonzero(printer: GraphPrinter, op: relex.NonzeroOp) -> str:
    return f"R.argwhere({printer.text(op.operand)})"


@CALLS.rule("R.match_cast")
def _match_cast(graph: GraphExpressions, node: ast.Call) -> Value:
    bound = arguments(node, "R.match_cast", ("value", "ty"))
    value, declared = graph.tensor(bound["value"]), read_tensor(graph.scope.unit, bound["ty"])
    if not declared.fits(value.type):
        raise ScriptError(bound["ty"], f"expected a type that {value.type} may have, found {declared}")
    texts = [_size_text(size) for size in declared.sizes or ()] or [""] * rank_of(value)
    result = graph.scope.emit(node, relex.MatchSizesOp(value, texts)).result
    for dimension, text in enumerate(texts):
        if text.isidentifier():
            graph.parameters.name_size(node, text, result, dimension)
    return result


def _size_text(node: ast.expr) -> str:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ast.unparse(node)


@PRINTED.rule(relex.MatchSizesOp)
def _print_match_sizes(printer: GraphPrinter, op: relex.MatchSizesOp) -> str:
    t = tensor_type(op.result.type)
    texts = [text or str(size) for text, size in zip(op.texts, t.get_shape(), strict=True)]
    if str(DYNAMIC_INDEX) in texts:
        fail(op, f"{CANNOT}: expected a name for each size")
    printer.sizes.update({(op.result, d): text for d, text in enumerate(texts) if text.isidentifier()})
    declared = printer.tensor([text if text.isdecimal() else f'"{text}"' for text in texts], t)
    return f"R.match_cast({printer.text(op.operand)}, {declared})"


@CALLS.rule("R.tuple")
def _tuple(graph: GraphExpressions, node: ast.Call) -> Value:
    return tuple(graph.tensors(arg) for arg in node.args)
