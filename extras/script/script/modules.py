"""Whole scripts to modules."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import Any

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

from relex.dialects.context import make_context
from relex.dialects.errors import CompileError, UnknownNameError, add_source
from relex.dialects.readers import split_path
from relex.dialects.tir import PrimFuncOp
from relex.dialects.upstream.verifier import verify_module
from relex.frontend.script import image_compositions, nn_compositions, tensor_compositions
from relex.frontend.script.constants import Constants
from relex.frontend.script.graph_calls import Value
from relex.frontend.script.graph_expressions import GRAPH, LOOPS, missing_constants
from relex.frontend.script.graph_functions import GraphFunctionReader, declared_function
from relex.frontend.script.in_place_calls import called_in_place
from relex.frontend.script.loop_functions import LoopFunctionReader
from relex.frontend.script.scope import FollowUp, Unit
from relex.frontend.script.source import ScriptError, ScriptSource
from relex.frontend.script.vocabulary import Vocabulary

COMPOSITIONS = (image_compositions, nn_compositions, tensor_compositions)
"""Modules that add calls of graph functions to the table."""

_OPTIONS = ("private", "pure", "s_tir", "tirx", "check_well_formed")
"""Options of the decorators. All but `private` state what relex infers by itself."""


def parse_script(
    text: str,
    name: str = "<string>",
    *,
    context: Context | None = None,
    params: Mapping[str, Any] | None = None,
    verify: bool = True,
    line_offset: int = 0,
    module: str | None = None,
) -> ModuleOp:
    """Read a module written in TVMScript. The text is parsed as Python and never executed.

    It contains one class decorated with `I.ir_module`, or functions decorated with `T.prim_func` and `R.function`;
    anything else except imports and named constants is ignored. Of several classes, `module` is the name of the one to
    read. `params` provides the constants that printed modules elide, under the names `metadata_0`, `metadata_1`, ...,
    or as a list under the key that the script uses: `{"relax.expr.Constant": [w, b]}`. `line_offset` is added to every
    line number.

    Raises `CompileError` with all errors, at their lines and columns, and `UnknownNameError` if there is no module of
    that name.
    """
    source = ScriptSource(text, name, line_offset)
    return read_module(source, _find_module(source, module), context=context, params=params, verify=verify)


def read_module(
    source: ScriptSource,
    node: ast.ClassDef | Sequence[ast.FunctionDef],
    *,
    context: Context | None = None,
    params: Mapping[str, Any] | None = None,
    given: Mapping[str, object] | None = None,
    bound: Mapping[str, str] | None = None,
    verify: bool = True,
) -> ModuleOp:
    """Read the module of a class or of some functions in a file. `given` has the values of names in scope (only
    numbers, strings and tuples are used), and `bound` the qualified names of those that refer to modules or parts of
    vocabularies. Raises `CompileError`."""
    vocabulary = Vocabulary(source.tree, bound)
    try:
        constants = Constants(vocabulary, source.tree, given or {})
    except ScriptError as e:
        raise CompileError(source.diagnose(e)) from e
    in_class = isinstance(node, ast.ClassDef)
    unit = Unit(source, context or make_context(), params or {}, vocabulary, constants, in_class)
    module = ModuleReader(unit, node).read()
    if unit.complete and (verify or unit.errors):
        try:
            verify_module(module)
        except CompileError as e:
            unit.errors += [add_source(d, source.text, source.line_offset) for d in e.diagnostics]
    if unit.errors:
        raise CompileError(sorted(unit.errors, key=lambda d: (d.line, d.column)))
    return module


def _find_module(source: ScriptSource, chosen: str | None) -> ast.ClassDef | Sequence[ast.FunctionDef]:
    """Return the single module of a file, or the one of that name."""
    vocabulary = Vocabulary(source.tree)
    found = [s for s in source.tree.body if isinstance(s, ast.ClassDef | ast.FunctionDef)]
    classes = [s for s in found if isinstance(s, ast.ClassDef) and decorator(vocabulary, s, "I.ir_module")]
    functions = [s for s in found if isinstance(s, ast.FunctionDef) and decorator(vocabulary, s, LOOPS, GRAPH)]
    if chosen is not None:
        by_name = {node.name: node for node in classes}
        if chosen not in by_name:
            raise UnknownNameError(f"{source.name}: no module '{chosen}'; there are {', '.join(by_name) or 'none'}")
        return by_name[chosen]
    match [*classes, *functions]:
        case [ast.ClassDef() as module]:
            return module
        case [ast.ClassDef(name=first), second, *_]:
            expected = f"expected one module in a file, found '{first}' and '{second.name}'"
            path = f"{PurePath(source.name).name}:{first}"
            hint = f"'{path}' is one of them" if split_path(path)[1] else f"module='{first}' chooses one"
            error = ScriptError(second, f"{expected}; {hint}")
        case [_, *_]:
            return functions
        case _:
            kinds = "a class decorated with @I.ir_module, or functions decorated with @T.prim_func or @R.function"
            place = next(iter(source.tree.body), source.tree)
            error = ScriptError(place, f"expected {kinds}, found none")
    raise CompileError(source.diagnose(error))


def decorator(vocabulary: Vocabulary, node: ast.ClassDef | ast.FunctionDef, *meanings: str) -> str | None:
    """Return which of some decorators a definition has, or None."""
    for found in node.decorator_list:
        meaning = vocabulary.meaning(found.func if isinstance(found, ast.Call) else found)
        if meaning in meanings:
            return meaning
    return None


@dataclass
class _Definition:
    """A function of a script and the state of reading it."""

    node: ast.FunctionDef
    kind: str
    private: bool
    op: FuncOp | PrimFuncOp | None = None
    is_open: bool = False
    """Reading has begun. If there is no op and the function has no error, a further request for it is a recursive
    call."""
    is_wrong: bool = False
    result: Value | None = None
    """What a graph function returns: a tensor or a tuple."""


@dataclass
class ModuleReader:
    """Reads the functions of a module. A called function is read when it is first requested."""

    unit: Unit
    node: ast.ClassDef | Sequence[ast.FunctionDef]
    definitions: dict[str, _Definition] = field(default_factory=dict[str, _Definition])
    in_place: Mapping[str, Sequence[int]] = field(default_factory=dict[str, Sequence[int]])
    """The loop functions that are called in place, see `called_in_place`."""

    @property
    def class_name(self) -> str | None:
        """The name of the module's class, None for functions outside of a class."""
        return self.node.name if isinstance(self.node, ast.ClassDef) else None

    def read(self) -> ModuleOp:
        """Return the module."""
        for statement in self.node.body if isinstance(self.node, ast.ClassDef) else self.node:
            try:
                self._define(statement)
            except ScriptError as e:
                self.unit.leave_out(e)
        for error in missing_constants(self.unit, ast.Module([d.node for d in self.definitions.values()], [])):
            self.unit.leave_out(error)
        graphs = [d.node for d in self.definitions.values() if d.kind == GRAPH]
        self.in_place = called_in_place(self.unit, graphs)
        for definition in self.definitions.values():
            if not definition.is_open:
                self._read(definition)
        return ModuleOp([d.op for d in self.definitions.values() if d.op is not None])

    def _define(self, statement: ast.stmt) -> None:
        match statement:
            case ast.FunctionDef():
                kind = decorator(self.unit.vocabulary, statement, LOOPS, GRAPH)
                if kind is None:
                    raise ScriptError(statement, f"expected @T.prim_func or @R.function before '{statement.name}'")
                if statement.name in self.definitions:
                    raise ScriptError(statement, f"expected a function '{statement.name}' once in a module")
                self.definitions[statement.name] = _Definition(statement, kind, self._is_private(statement))
            case ast.Expr(value=ast.Constant()) | ast.Pass():
                return
            case ast.Expr(value=call) if self.unit.vocabulary.calls(call, "I.module_attrs", "I.module_global_infos"):
                return  # Facts for TVM's passes.
            case _:
                expected = "expected functions decorated with @T.prim_func or @R.function in a module"
                raise ScriptError(statement, expected)

    def _is_private(self, node: ast.FunctionDef) -> bool:
        calls = [call for call in node.decorator_list if isinstance(call, ast.Call)]
        options = [keyword for call in calls for keyword in call.keywords]
        for option in options:
            if option.arg not in _OPTIONS:
                raise ScriptError(option, f"expected {', '.join(_OPTIONS)}, found '{option.arg}'")
        private = [self.unit.constants.value(option.value) for option in options if option.arg == "private"]
        return private[-1:] == [True]

    def kind(self, name: str) -> str | None:
        """Return the decorator of a function, or None if the module has no function of that name."""
        definition = self.definitions.get(name)
        return definition.kind if definition is not None else None

    def result(self, name: str) -> Value | None:
        """Return what a graph function returns, None while it is read."""
        return self.definitions[name].result

    def function(self, node: ast.AST, name: str) -> FuncOp | PrimFuncOp:
        """Return an existing function by name, without a body while that is read. Raises `ScriptError` if it has
        errors."""
        definition = self.definitions[name]
        if not definition.is_open:
            self._read(definition)
        if definition.op is not None:
            return definition.op
        if definition.is_wrong:
            raise FollowUp(node, f"'{name}' is wrong")
        if definition.kind == LOOPS or definition.node.returns is None:
            raise ScriptError(node, f"'{name}' calls itself: expected a graph function that states its type")
        return declared_function(self.unit, definition.node)

    def _read(self, definition: _Definition) -> None:
        """Read a function. If part of it is missing, it is left out, so that its callers get no follow-up errors."""
        definition.is_open = True
        others_complete, self.unit.complete = self.unit.complete, True
        try:
            is_loops, node = definition.kind == LOOPS, definition.node
            in_place = self.in_place.get(node.name, ())
            reader = (
                LoopFunctionReader(self.unit, node, in_place)
                if is_loops
                else GraphFunctionReader(self.unit, node, self)
            )
            op = reader.read(private=definition.private)
            definition.op = op if self.unit.complete else None
            definition.result = reader.result if isinstance(reader, GraphFunctionReader) else None
        except ScriptError as e:
            self.unit.leave_out(e)
        except RecursionError:
            self.unit.leave_out(ScriptError(definition.node, "expected a function that nests less deeply"))
        definition.is_wrong = definition.op is None
        self.unit.complete = self.unit.complete and others_complete
