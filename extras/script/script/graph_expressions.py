"""Expressions in graph functions: operators, calls, constants."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from xdsl.dialects import func
from xdsl.dialects.builtin import TensorType, UnitAttr, i1
from xdsl.dialects.func import FuncOp
from xdsl.ir import SSAValue
from xdsl.utils.hints import isa

from relex.dialects.errors import DTypeError
from relex.dialects.relex import PRIMITIVE_ATTR, CallOp, ConstantOp, Operator
from relex.dialects.relex.structure import impurity
from relex.frontend.script.dtypes import NAMES
from relex.frontend.script.dynamic_options import DynamicOptions
from relex.frontend.script.expressions import Expressions
from relex.frontend.script.graph_calls import CALLS, Value, as_tensors, flatten, grouped, make_constant, results_of
from relex.frontend.script.graph_numbers import number_as_tensor
from relex.frontend.script.metadata import MetadataReference, dictionary_of, missing
from relex.frontend.script.operators import apply_operator, find_operator, script_name
from relex.frontend.script.parameters import Parameters
from relex.frontend.script.scalar_functions import OPERATORS
from relex.frontend.script.scope import FollowUp, Scope, Unit
from relex.frontend.script.source import ScriptError, shown
from relex.frontend.script.vocabulary import unknown

if TYPE_CHECKING:
    from relex.frontend.script.modules import ModuleReader

_OPERATORS = {op: f"R.{f.meaning}" for op, f in OPERATORS.items() if isinstance(f.meaning, str)}
_OPERATORS[ast.MatMult] = "R.matmul"
"""The graph operators of Python's operators: most are called as on numbers."""

_INSTEAD = {
    "R.call_packed": "library functions that fill their results are called by R.call_dps_packed",
    "R.call_pure_packed": "library functions that fill their results are called by R.call_dps_packed",
    "R.dataflow": "write 'with R.dataflow():'",
    "R.output": "it ends a dataflow block",
}


LOOPS, GRAPH = "T.prim_func", "R.function"
"""The decorators of functions."""


class TheModule:
    """The module itself as a value: `cls` after `cls = Module`."""


class GraphExpressions:
    """Reads expressions on tensors."""

    def __init__(self, scope: Scope, parameters: Parameters, functions: ModuleReader):
        self.scope = scope
        self.parameters = parameters
        self.scalars = Expressions(scope, parameters)
        self.functions = functions
        self.in_dataflow = False
        self.sizes = DynamicOptions(scope, parameters)

    def tensors(self, node: ast.expr) -> Value:
        """Read an expression as a tensor or a tuple."""
        match node:
            case ast.Name():
                return self._named(node)
            case ast.Tuple(elts=parts) | ast.List(elts=parts):
                return tuple(self.tensors(part) for part in parts)
            case ast.Subscript(value=source, slice=place):
                return self._element(node, source, place)
            case ast.Call():
                return self._call_of(node)
            case ast.BinOp(left=left, op=op, right=right) | ast.Compare(left=left, ops=[op], comparators=[right]) if (
                type(op) in _OPERATORS
            ):
                return self._operator(node, _OPERATORS[type(op)], [left, right])
            case ast.UnaryOp(op=ast.USub(), operand=operand) if not isinstance(operand, ast.Constant):
                return self._operator(node, "R.negative", [operand])
            case _:
                raise ScriptError(node, f"expected a tensor, found '{shown(node)}'")

    def tensor(self, node: ast.expr) -> SSAValue:
        """Read an expression that must be a single tensor."""
        value = self.tensors(node)
        if isinstance(value, tuple):
            raise ScriptError(node, f"expected one tensor, found a tuple of {len(value)}")
        return number_as_tensor(self.scope, node, value)

    def _named(self, node: ast.Name) -> Value:
        value = as_tensors(self.scope.lookup(node))
        if value is not None:
            return value
        raise ScriptError(node, f"expected a tensor, found '{node.id}'")

    def _element(self, node: ast.Subscript, source: ast.expr, place: ast.expr) -> Value:
        if (key := dictionary_of(source)) is not None:
            number = self.scope.unit.constants.integer(place, "the number of a constant")
            return self._metadata(MetadataReference(node, key, number), is_reported=isinstance(place, ast.Constant))
        values = self.tensors(source)
        if not isinstance(values, tuple):
            raise ScriptError(node, "expected a tuple to index; R.take and R.strided_slice index tensors")
        position = self.scope.unit.constants.integer(place, "a position")
        if not -len(values) <= position < len(values):
            raise ScriptError(place, f"expected a position below {len(values)}, found {position}")
        return values[position]

    def _metadata(self, reference: MetadataReference, *, is_reported: bool) -> SSAValue:
        """Emit a constant that TVM elided when it printed the module. `is_reported` says that `missing_constants`
        reports it if it is missing."""
        array = reference.find(self.scope.unit.params)
        if array is None:
            raise FollowUp(reference.node, f"no array '{reference.name}'") if is_reported else missing(reference)
        try:
            return self.scope.emit(reference.node, ConstantOp(array)).result
        except DTypeError as e:
            raise ScriptError(reference.node, f"'{reference.name}': {e}") from e

    # Calls.

    def _call_of(self, node: ast.Call) -> Value:
        meaning = self.scope.meaning(node.func)
        if meaning is None or not meaning.startswith(("R.", "T.", "I.")):
            return self._call_function(node)
        if meaning in CALLS:
            return CALLS[meaning](self, node)
        operator = find_operator(self.scope.unit, meaning)
        if operator is None:
            if meaning in _INSTEAD:
                raise ScriptError(node.func, f"'{meaning}' is not supported here; {_INSTEAD[meaning]}")
            raise unknown(node.func, meaning, (*CALLS, *self._operators()), "expected an operator, or R.call_tir")
        return results_of(self.apply(node, meaning, operator))

    def _operators(self) -> Sequence[str]:
        """Return the script names of relex's own operators."""
        dialect = self.scope.unit.context.get_optional_dialect("relex")
        return [script_name(op) for op in dialect.operations if issubclass(op, Operator)] if dialect is not None else []

    def operands(self, nodes: Sequence[ast.expr]) -> Sequence[SSAValue]:
        """Read the operands of an operator; a number takes the dtype of the tensors beside it."""
        numbers = {i for i, node in enumerate(nodes) if self._is_number(node)}
        found = {i: self.tensor(node) for i, node in enumerate(nodes) if i not in numbers}
        types = [value.type for value in found.values() if isa(value.type, TensorType)]
        # A number beside a condition is like the other operands.
        types = [t for t in types if t.element_type != i1] or types
        if numbers and not types:
            raise ScriptError(nodes[0], "expected a tensor among the operands, found numbers alone")
        return [
            make_constant(self, node, NAMES[types[-1].element_type]) if i in numbers else found[i]
            for i, node in enumerate(nodes)
        ]

    def _is_number(self, node: ast.expr) -> bool:
        is_value = isinstance(node, ast.Name) and node.id in self.scope.names
        return not is_value and not self._is_typed(node) and self.scope.unit.constants.is_constant(node)

    def _is_typed(self, node: ast.expr) -> bool:
        """Return whether an expression is `R.prim_value` of a number with a dtype, such as `T.float32(1)`."""
        return self.scope.unit.vocabulary.calls(node, "R.prim_value") and any(
            isinstance(part, ast.Call) for part in node.args
        )

    def _operator(self, node: ast.expr, name: str, operands: Sequence[ast.expr]) -> Value:
        call = ast.copy_location(ast.Call(func=node, args=list(operands), keywords=[]), node)
        operator = find_operator(self.scope.unit, name)
        assert operator is not None
        return self.apply(call, name, operator).results[0]

    def apply(self, call: ast.Call, name: str, operator: type[Operator]) -> Operator:
        """Emit an operator for a call."""

        def emit(op: Operator) -> Operator:
            return self.scope.emit(call, op)

        return apply_operator(self.scope.unit, call, name, operator, self.operands, self.sizes, emit)

    def _call_function(self, node: ast.Call) -> Value:
        """Read a call of another graph function."""
        name = self.callee(node.func)
        callee = None if self.functions.kind(name) == LOOPS else self.functions.function(node, name)
        if not isinstance(callee, FuncOp):
            raise ScriptError(node, f"expected a graph function, found loop function '{name}'; write R.call_tir")
        values = flatten(tuple(self.tensors(arg) for arg in node.args))
        if node.keywords:
            raise ScriptError(node.keywords[0], "expected arguments in order")
        expected = callee.function_type.inputs.data
        if tuple(value.type for value in values) != expected:
            found = ", ".join(str(value.type) for value in values)
            wanted = ", ".join(map(str, expected))
            raise ScriptError(node, f"expected arguments ({wanted}) for '{name}', found ({found})")
        results = callee.function_type.outputs.data
        if self.in_dataflow and callee.is_declaration:
            raise ScriptError(node, "expected a function that calls itself to do so outside of R.dataflow")
        if self.in_dataflow:
            self._make_group(node, callee)
        is_group = PRIMITIVE_ATTR in callee.attributes
        call = self.scope.emit(node, (CallOp if is_group else func.CallOp)(name, values, results))
        result = self.functions.result(name)
        return results_of(call) if result is None else grouped(result, iter(call.results))

    def _make_group(self, node: ast.Call, callee: FuncOp) -> None:
        """Mark a function called in a dataflow block as a fused group, after checking that it is pure: older versions
        of TVM do not print which functions are groups."""
        for op in callee.walk():
            if op is not callee and not isinstance(op, func.ReturnOp) and (reason := impurity(op)) is not None:
                name = callee.sym_name.data
                raise ScriptError(node, f"expected a pure function in R.dataflow, but '{name}' {reason}")
        callee.attributes[PRIMITIVE_ATTR] = UnitAttr()

    def callee(self, node: ast.expr) -> str:
        """Return the name of the function that an expression refers to: `cls.f`, `Module.f` or `f`."""
        match node:
            case ast.Name(id=name) if name not in self.scope.names:
                pass
            case ast.Attribute(value=ast.Name(id=module) as owner, attr=name):
                if module not in self.scope.names and module != self.functions.class_name:
                    hint = f"; write '{module} = {self.functions.class_name}'" if self.functions.class_name else ""
                    self.scope.unit.report(ScriptError(owner, f"name '{module}' is not defined{hint}"))
                elif module in self.scope.names and not isinstance(self.scope.lookup(owner), TheModule):
                    raise ScriptError(owner, f"expected the module, found '{module}'")
            case _:
                raise ScriptError(node, f"expected a function, found '{shown(node)}'")
        if self.functions.kind(name) is None:
            raise ScriptError(node, f"expected a function of the module, found no '{name}'")
        return name


def missing_constants(unit: Unit, tree: ast.AST) -> Iterator[ScriptError]:
    """Yield an error for each constant elided from a printed module that is not among the parameters."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Subscript) and (key := dictionary_of(node.value)) is not None:
            number = node.slice.value if isinstance(node.slice, ast.Constant) else None
            if (
                isinstance(number, int)
                and (reference := MetadataReference(node, key, number)).find(unit.params) is None
            ):
                yield missing(reference)
