"""Graph functions: `@R.function` to `func.func` on tensors."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import TYPE_CHECKING

from xdsl.dialects.builtin import FunctionType, IntegerAttr, UnitAttr, i64
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Region, SSAValue
from xdsl.utils.hints import isa

from relex.dialects.function_arguments import INOUT_ATTR, set_argument_attr
from relex.dialects.names import name_value
from relex.dialects.relex import PRIMITIVE_ATTR, DataflowOp, OutputOp
from relex.frontend.script.attributes import read_attributes
from relex.frontend.script.declarations import Declaration
from relex.frontend.script.graph_calls import Value, as_tensors, flatten, grouped
from relex.frontend.script.graph_expressions import GraphExpressions, TheModule
from relex.frontend.script.graph_numbers import NumberDeclaration, name_number, read_value, read_values, tuple_parts
from relex.frontend.script.graph_regions import read_if, read_while
from relex.frontend.script.number_emitter import Size
from relex.frontend.script.parameters import Parameters, function_attributes, plain_parameters
from relex.frontend.script.scope import Hidden, Scope, Unit, WrongValue
from relex.frontend.script.source import ScriptError, name_of, shown

if TYPE_CHECKING:
    from relex.frontend.script.modules import ModuleReader


class GraphFunctionReader:
    """Reads a function decorated with `R.function`."""

    def __init__(self, unit: Unit, node: ast.FunctionDef, functions: ModuleReader):
        self._unit = unit
        self._node = node
        self._functions = functions
        self._scope = Scope(unit)
        self._parameters = Parameters(self._scope)
        self._graph = GraphExpressions(self._scope, self._parameters, functions)
        self._attributes: dict[str, Attribute] = {}
        self._replaced: Sequence[int] = ()
        self._outputs_of_block: dict[str, Value] = {}
        self._returned: Sequence[SSAValue] | None = None
        self.result: Value | None = None
        """The returned tensor or tuple."""

    def read(self, *, private: bool) -> FuncOp:
        """Return the function. Raises `ScriptError`."""
        numbers: list[tuple[ast.arg, str]] = []
        for arg in plain_parameters(self._node):
            if arg.annotation is None:
                raise ScriptError(arg, f"expected a type for parameter '{arg.arg}': R.Tensor(shape, dtype)")
            numbers += [
                (arg, declared.size)
                for declared in self._parameter(arg, arg.arg, arg.annotation)
                if isinstance(declared, NumberDeclaration) and declared.size
            ]
        for arg, size in numbers:
            name_number(self._scope, self._parameters, arg, size)
        self._scope.read(self._node.body, self._statement)
        if self._returned is None and self._unit.complete:
            raise ScriptError(self._node, f"expected 'return' at the end of '{self._node.name}'")
        entry = self._scope.entry
        kind = FunctionType.from_lists(entry.arg_types, [value.type for value in self._returned or ()])
        result = FuncOp(self._node.name, kind, Region(entry), "private" if private else None)
        self._parameters.describe(result, self._node, self._attributes)
        for number, position in enumerate(self._replaced):
            if position >= 0:
                set_argument_attr(result, position, INOUT_ATTR, IntegerAttr(number, i64))
        return result

    def _parameter(self, arg: ast.arg, name: str, annotation: ast.expr) -> Sequence[Declaration | NumberDeclaration]:
        """Add a parameter and return what it is declared as; a tuple becomes an argument for each element."""
        if not self._unit.vocabulary.calls(annotation, "R.Tuple"):
            declared = read_value(self._unit, annotation)
            self._parameters.add(arg, name, declared.type, declared.dims)
            return [declared]
        taken = {other.arg for other in self._node.args.args}
        names = [f"{name}_{i}" for i in range(len(tuple_parts(annotation)))]
        if clash := taken & {*names}:
            raise ScriptError(arg, f"expected no parameter '{min(clash)}' beside the tuple '{name}'")
        parts = zip(names, tuple_parts(annotation), strict=True)
        found = [declared for part_name, part in parts for declared in self._parameter(arg, part_name, part)]
        self._scope.names[name] = tuple(self._scope.names.pop(part_name) for part_name in names)
        return found

    # Statements.

    def _statement(self, node: ast.stmt) -> None:
        if self._returned is not None:
            raise ScriptError(node, "unreachable statement after 'return'")
        match node:
            case ast.With(items=[ast.withitem(context_expr=call, optional_vars=None)], body=body):
                if not self._unit.vocabulary.calls(call, "R.dataflow"):
                    raise ScriptError(call, f"expected R.dataflow(), found '{shown(call)}'")
                self._dataflow(node, body)
            case ast.Assign(targets=[target], value=value):
                self._assign(target, value)
            case ast.AnnAssign(target=ast.Name() as target, annotation=annotation, value=ast.expr() as value):
                self._assign(target, value)
                value = as_tensors(self._scope.names[target.id])
                self._expect(target, read_values(self._unit, annotation), flatten(value) if value is not None else [])
            case ast.Expr(value=value):
                self._effect(value)
            case ast.Return() if self._scope.block is not self._scope.entry and not self._graph.in_dataflow:
                raise ScriptError(node, "expected 'return' at the end of the function, outside of branches and loops")
            case ast.Return(value=ast.expr() as value) if not self._graph.in_dataflow:
                self._return(node, value)
            case ast.If():
                read_if(node, self._scope, self._graph, self._statement)
            case ast.While():
                read_while(node, self._scope, self._graph, self._statement)
            case ast.Pass():
                return
            case _:
                expected = "expected an assignment, 'with R.dataflow():', 'if', 'while' or 'return'"
                raise ScriptError(node, f"'{shown(node)}' is not supported in a graph function; {expected}")

    def _dataflow(self, node: ast.With, body: Sequence[ast.stmt]) -> None:
        if self._graph.in_dataflow:
            raise ScriptError(node, "dataflow blocks cannot be nested")
        block, outside, was_complete = Block(), self._scope.names, self._unit.complete
        self._outputs_of_block, self._graph.in_dataflow = {}, True
        with self._scope.inside(block):
            self._scope.read(body, self._statement)
            inside = dict(self._scope.names.maps[0])
            values = [tensor for value in self._outputs_of_block.values() for tensor in flatten(value)]
            self._scope.emit(node, OutputOp(*values))
        self._graph.in_dataflow = False
        results = self._scope.emit(node, DataflowOp([value.type for value in values], block)).results
        hidden = Hidden("the value is not visible outside of its dataflow block; name it in R.output")
        for name, value in inside.items():
            outside[name] = value if isinstance(value, TheModule | Size) else hidden
        if not was_complete or not self._unit.complete:
            outside.update({name: WrongValue() for name in inside})
        position = iter(results)
        for name, value in self._outputs_of_block.items():
            self._bind(name, grouped(value, position))

    def _output(self, call: ast.Call) -> None:
        """Read `R.output(...)`."""
        if not self._graph.in_dataflow:
            raise ScriptError(call, "expected 'R.output' in a dataflow block")
        if self._outputs_of_block:
            raise ScriptError(call, "expected 'R.output' once in a dataflow block")
        for arg in call.args:
            if not isinstance(arg, ast.Name):
                raise ScriptError(arg, f"expected the name of a value, found '{shown(arg)}'")
            self._outputs_of_block[arg.id] = self._graph.tensors(arg)

    def _assign(self, target: ast.expr, value: ast.expr) -> None:
        if isinstance(target, ast.Tuple | ast.List):
            parts = value.elts if isinstance(value, ast.Tuple) else []
            if parts and len(parts) == len(target.elts) and all(map(self._declares_size, parts)):
                for name, size in zip(target.elts, parts, strict=True):
                    self._assign(name, size)
            else:
                self._unpack(target, value)
            return
        if not isinstance(target, ast.Name):
            raise ScriptError(target, f"expected a name, found '{shown(target)}'; tensors do not change")
        if isinstance(value, ast.Name) and value.id == self._functions.class_name and value.id not in self._scope.names:
            self._scope.names[target.id] = TheModule()
        elif self._declares_size(value):
            if target.id not in self._scope.names and self._is_matched(target.id):
                self._scope.names[target.id] = Size(target.id)
            elif target.id not in self._scope.names:
                raise ScriptError(target, f"expected an argument that has a size '{target.id}'")
        else:
            self._bind(target.id, self._graph.tensors(value))

    def _is_matched(self, name: str) -> bool:
        """Return whether a call of `R.match_cast` gives a size this name."""
        calls = (n for n in ast.walk(self._node) if isinstance(n, ast.Call))
        casts = (call for call in calls if self._scope.meaning(call.func) == "R.match_cast")
        return any(isinstance(n, ast.Name) and n.id == name for call in casts for n in ast.walk(call))

    def _declares_size(self, node: ast.expr) -> bool:
        is_call = isinstance(node, ast.Call) and not node.args
        return is_call and self._scope.meaning(node.func) in ("T.int64", "T.int32")

    def _unpack(self, target: ast.Tuple | ast.List, value: ast.expr) -> None:
        values = self._graph.tensors(value)
        count = len(values) if isinstance(values, tuple) else 1
        if not isinstance(values, tuple) or count != len(target.elts):
            raise ScriptError(target, f"expected a tuple of {len(target.elts)}, found {count}")
        for part, found in zip(target.elts, values, strict=True):
            self._bind(name_of(part), found)

    def _bind(self, name: str, value: Value) -> None:
        """Bind a name to a value. The elements of a tuple are named where they are extracted."""
        self._scope.names[name] = value
        if isinstance(value, SSAValue):
            name_value(value, name)

    def _expect(
        self, node: ast.AST, declared: Sequence[Declaration | NumberDeclaration], found: Sequence[SSAValue]
    ) -> None:
        if len(declared) != len(found):
            raise ScriptError(node, f"expected {len(declared)} values, as declared, found {len(found)}")
        for tensor, value in zip(declared, found, strict=True):
            if not tensor.fits(value.type):
                raise ScriptError(node, f"expected {tensor}, as declared, found {value.type}")

    def _effect(self, node: ast.expr) -> None:
        """Read an expression statement."""
        if isinstance(node, ast.Constant):
            return
        meaning = self._scope.meaning(node.func) if isinstance(node, ast.Call) else None
        if isinstance(node, ast.Call) and meaning == "R.func_attr":
            attributes, found = function_attributes(self._scope, node, meaning, self._node.name)
            if found.pop("Primitive", False):
                self._attributes[PRIMITIVE_ATTR] = UnitAttr()
            self._replaced = self._positions(attributes, found.pop(INOUT_ATTR, ()))
            self._attributes |= read_attributes(attributes, found)
        elif isinstance(node, ast.Call) and meaning == "R.output":
            self._output(node)
        else:
            self._graph.tensors(node)

    def _positions(self, node: ast.expr, found: object) -> Sequence[int]:
        """Return which parameter each result takes the place of; -1 stands for none."""
        count = len(self._scope.entry.args)
        if not isa(found, tuple[int, ...]) or not all(-1 <= position < count for position in found):
            raise ScriptError(node, f"expected '{INOUT_ATTR}' to be a list of parameters, from 0 to {count - 1}, or -1")
        return found

    def _return(self, node: ast.Return, value: ast.expr) -> None:
        self.result = self._graph.tensors(value)
        returned = flatten(self.result)
        if self._node.returns is not None:
            self._expect(node, read_values(self._unit, self._node.returns), returned)
        self._scope.emit(node, ReturnOp(*returned))
        self._returned = returned


def declared_function(unit: Unit, node: ast.FunctionDef) -> FuncOp:
    """Return the type of a function, as its parameters and its result state it."""
    annotations = [arg.annotation for arg in node.args.args if arg.annotation is not None]
    inputs = [declared.type for annotation in annotations for declared in read_values(unit, annotation)]
    outputs = [] if node.returns is None else [declared.type for declared in read_values(unit, node.returns)]
    return FuncOp(node.name, FunctionType.from_lists(inputs, outputs), Region(), "private")
