"""Numbers in graph functions: parameters of type `R.Prim`, and `R.prim_value`."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from xdsl.dialects.builtin import AnyFloat, IndexType, TensorType, f64, i64
from xdsl.dialects.tensor import FromElementsOp
from xdsl.ir import Attribute, SSAValue

from relex.dialects.relex import AsSizesOp, ExpandDimsOp, MatchSizesOp
from relex.frontend.script.declarations import Declaration, read_tensor
from relex.frontend.script.dtypes import element_type_of, name_of_type
from relex.frontend.script.graph_calls import CALLS
from relex.frontend.script.number_emitter import Literal
from relex.frontend.script.parameters import Parameters
from relex.frontend.script.scope import Scope, Unit, arguments
from relex.frontend.script.source import ScriptError, shown
from relex.lowering.te.scalars import build_constant, build_conversion

if TYPE_CHECKING:
    from relex.frontend.script.graph_expressions import GraphExpressions


@dataclass(frozen=True)
class NumberDeclaration:
    """A declared number: `R.Prim("int64")`, or `R.Prim(value="n")` for one that is a size `n`."""

    node: ast.expr
    type: Attribute
    size: str = ""

    dims: tuple[str, ...] = ()

    def fits(self, t: Attribute) -> bool:
        """Return whether a type is the declared one."""
        return t == self.type

    def __str__(self) -> str:
        return shown(self.node)


def read_value(unit: Unit, node: ast.expr) -> Declaration | NumberDeclaration:
    """Return the tensor or the number that a type declares."""
    if not unit.vocabulary.calls(node, "R.Prim"):
        return read_tensor(unit, node)
    bound = arguments(node, "R.Prim", (), ("dtype",), more=("value",))
    if ("dtype" in bound) == ("value" in bound):
        raise ScriptError(node, f"expected a dtype or a value for a number, found '{shown(node)}'")
    if "dtype" in bound:
        dtype = bound["dtype"]
        return NumberDeclaration(node, element_type_of(dtype, unit.constants.value(dtype)))
    value = bound["value"]
    name = value.id if isinstance(value, ast.Name) else value.value if isinstance(value, ast.Constant) else None
    if not isinstance(name, str) or not name.isidentifier():
        raise ScriptError(value, f"expected the name of a size, found '{shown(value)}'")
    return NumberDeclaration(node, i64, name)


def read_values(unit: Unit, node: ast.expr) -> list[Declaration | NumberDeclaration]:
    """Return the tensors and numbers of a type: one, or the elements of a tuple or list."""
    if unit.vocabulary.calls(node, "R.Tuple"):
        return [declared for part in tuple_parts(node) for declared in read_values(unit, part)]
    parts = node.elts if isinstance(node, ast.List | ast.Tuple) else [node]
    return [read_value(unit, part) for part in parts]


def tuple_parts(node: ast.Call) -> Sequence[ast.expr]:
    """Return the types of the elements of `R.Tuple`, which are its arguments or in a list."""
    match node.args:
        case [ast.List(elts=parts) | ast.Tuple(elts=parts)]:
            return parts
        case parts:
            return parts


def name_number(scope: Scope, parameters: Parameters, node: ast.arg, name: str) -> None:
    """Let the number that a parameter takes be a size of this name. Where a tensor has that size, too, both must be
    equal."""
    number = cast("SSAValue", scope.names[node.arg])
    row = scope.emit(node, ExpandDimsOp(number_as_tensor(scope, node, number), [0])).result
    sizes = scope.emit(node, AsSizesOp(row)).result
    parameters.name_size(node, name, scope.emit(node, MatchSizesOp(sizes, ["0", name])).result, 1)


def number_as_tensor(scope: Scope, node: ast.AST, value: SSAValue) -> SSAValue:
    """Return a tensor without dimensions of a number; a tensor is returned as it is."""
    if isinstance(value.type, TensorType):
        return value
    return scope.emit(node, FromElementsOp(value, result_type=TensorType(value.type, []))).result


@CALLS.rule("R.prim_value")
def _prim_value(graph: GraphExpressions, node: ast.Call) -> SSAValue:
    """A number: of 64 bits unless it has a type."""
    value = graph.scalars.expression(arguments(node, "R.prim_value", ("value",))["value"])
    if isinstance(value, Literal):
        kind = value.type or (f64 if isinstance(value.value, float) else i64)
        number = float(value.value) if isinstance(kind, AnyFloat) else int(value.value)
        try:
            return graph.scope.emit(node, build_constant(number, kind)).result
        except (ValueError, OverflowError):
            raise ScriptError(node, f"expected a number of {name_of_type(kind)}, found {number}") from None
    if isinstance(value.type, IndexType):
        return graph.scope.emit(node, build_conversion(value, i64)).results[0]
    return value
