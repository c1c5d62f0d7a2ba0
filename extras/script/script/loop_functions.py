"""Loop functions: `@T.prim_func` to `tir.prim_func`."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from xdsl.dialects.builtin import IntegerAttr, UnitAttr, i64
from xdsl.ir import Attribute, Region
from xdsl.utils.hints import isa

from relex.dialects.dtypes import DTYPES
from relex.dialects.function_arguments import set_argument_attr
from relex.dialects.tir import PrimFuncOp
from relex.dialects.tir.accesses import accesses
from relex.dialects.tir.prim_func import NOALIAS_ATTR, STRICT_ATTR
from relex.frontend.script.attributes import read_attributes
from relex.frontend.script.declarations import Declaration, read_buffer, read_match
from relex.frontend.script.expressions import Expressions
from relex.frontend.script.in_place_calls import Parameter, with_copies
from relex.frontend.script.loop_statements import Statements
from relex.frontend.script.number_emitter import Size
from relex.frontend.script.parameters import LAYOUT_FREE_ATTR, Parameters, function_attributes, plain_parameters
from relex.frontend.script.scope import Scope, Unit
from relex.frontend.script.source import ScriptError, shown

OUTPUTS_KEY = "relex.outputs"
"""Key in `T.func_attr`: the number of output parameters, where it does not follow from the body."""

_UNITS = {NOALIAS_ATTR: (NOALIAS_ATTR, "tirx.noalias"), STRICT_ATTR: (STRICT_ATTR,)}
"""Attributes without a value, with the keys in `T.func_attr` that say whether a function has them."""


class LoopFunctionReader:
    """
    Reads a function decorated with `T.prim_func`. Its outputs are the parameters that it writes, which must be last:
    relex, unlike TVM, requires outputs to be known. `in_place` says for each result of calls by `R.call_tir_inplace`
    which parameter it takes the place of, or -1.
    """

    def __init__(self, unit: Unit, node: ast.FunctionDef, in_place: Sequence[int] = ()):
        self._unit = unit
        self._node = node
        self._scope = Scope(unit)
        self._parameters = Parameters(self._scope)
        self._in_place = in_place
        self._count = 0
        self._attributes: dict[str, Attribute] = {}
        self._layout_free: Sequence[int] = ()
        self._outputs: int | None = None

    def read(self, *, private: bool) -> PrimFuncOp:
        """Return the function. Raises `ScriptError`."""
        body, matched = self._split(self._node.body)
        nodes = plain_parameters(self._node)
        parameters: list[Parameter] = [(arg, *self._parameter(arg, matched)) for arg in nodes]
        if self._in_place:
            parameters, copies = with_copies(self._node, parameters, self._in_place)
            body = [*copies, *body]
        self._count = len(parameters)
        for parameter in parameters:
            self._parameters.add(*parameter)
        Statements(Expressions(self._scope, self._parameters), self._read_attributes).read(body)
        entry = self._scope.entry
        visibility = "private" if private else None
        result = PrimFuncOp(self._node.name, entry.arg_types, [], Region(entry), visibility=visibility)
        self._parameters.describe(result, self._node, self._attributes)
        for position in self._layout_free:
            set_argument_attr(result, position, LAYOUT_FREE_ATTR, UnitAttr())
        outputs = self._outputs
        if outputs is None:
            outputs = self._count - self._first_output(result, [name for _, name, *_ in parameters])
        result.num_outputs = IntegerAttr(outputs, i64)
        return result

    def _split(self, statements: Sequence[ast.stmt]) -> tuple[list[ast.stmt], dict[str, tuple[str, Declaration]]]:
        """Separate the body from the statements that declare parameters: buffers of handles, and names of sizes."""
        body: list[ast.stmt] = []
        matched: dict[str, tuple[str, Declaration]] = {}
        is_call = self._unit.vocabulary.calls
        for statement in statements:
            match statement:
                case ast.Assign(targets=[ast.Name(id=name)], value=call) if is_call(call, "T.match_buffer"):
                    handle, buffer = self._match_buffer(call)
                    matched[handle] = (name, buffer)
                case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call() as call) if self._declares_size(call):
                    self._scope.names[name] = Size(name)
                case ast.Assign(targets=[ast.Tuple(elts=names)], value=ast.Tuple(elts=calls)) if all(
                    isinstance(call, ast.Call) and self._declares_size(call) for call in calls
                ):
                    self._scope.names.update({name.id: Size(name.id) for name in names if isinstance(name, ast.Name)})
                case _:
                    body.append(statement)
        return body, matched

    def _declares_size(self, call: ast.Call) -> bool:
        is_plain = not call.args and all(keyword.arg == "is_size_var" for keyword in call.keywords)
        calls = self._unit.vocabulary.calls
        return calls(call, "T.var") or (is_plain and calls(call, "T.int32", "T.int64"))

    def _match_buffer(self, call: ast.Call) -> tuple[str, Declaration]:
        param, buffer = read_match(self._unit, call)
        if not isinstance(param, ast.Name):
            raise ScriptError(param, "expected a parameter of type T.handle")
        return param.id, buffer

    def _parameter(
        self, arg: ast.arg, matched: dict[str, tuple[str, Declaration]]
    ) -> tuple[str, Attribute, Sequence[str]]:
        """Return the name of a parameter in the function, its type, and the names of its sizes."""
        annotation = arg.annotation
        if annotation is None:
            raise ScriptError(arg, f"expected a type for parameter '{arg.arg}': T.Buffer(shape, dtype)")
        head = annotation.func if isinstance(annotation, ast.Call) else annotation
        head = head.value if isinstance(head, ast.Subscript) else head
        meaning = self._unit.vocabulary.meaning(head) or ""
        if meaning == "T.handle" and not isinstance(annotation, ast.Subscript):
            if arg.arg not in matched:
                raise ScriptError(arg, f"expected a buffer for '{arg.arg}': T.match_buffer({arg.arg}, shape, dtype)")
            name, buffer = matched[arg.arg]
            return name, buffer.buffer, buffer.dims
        if head is annotation and meaning.removeprefix("T.") in DTYPES:
            return arg.arg, DTYPES[meaning.removeprefix("T.")], ()
        if meaning != "T.Buffer":
            expected = "expected T.Buffer(shape, dtype), T.handle or a dtype"
            raise ScriptError(annotation, f"{expected}, found '{shown(annotation)}'")
        buffer = read_buffer(self._unit, annotation)
        return arg.arg, buffer.buffer, buffer.dims

    def _read_attributes(self, call: ast.Call) -> None:
        """Read `T.func_attr({...})`."""
        node, found = function_attributes(self._scope, call, "T.func_attr", self._node.name)
        for name, keys in _UNITS.items():
            if any([bool(found.pop(key)) for key in keys if key in found]):
                self._attributes[name] = UnitAttr()
        self._layout_free = self._positions(node, found.pop("layout_free_buffers", ()))
        outputs = found.pop(OUTPUTS_KEY, None)
        if outputs is not None and (not isinstance(outputs, int) or not 0 <= outputs <= self._count):
            raise ScriptError(node, f"expected {OUTPUTS_KEY} to be at most {self._count}, found {outputs!r}")
        self._outputs = outputs
        self._attributes |= read_attributes(node, found)

    def _positions(self, node: ast.expr, positions: object) -> tuple[int, ...]:
        if not isa(positions, tuple[int, ...]) or not all(0 <= position < self._count for position in positions):
            expected = f"expected layout_free_buffers to be positions below {self._count}"
            raise ScriptError(node, f"{expected}, found {positions!r}")
        return positions

    def _first_output(self, function: PrimFuncOp, names: Sequence[str]) -> int:
        """Return the position of the first written parameter. All parameters after it must be outputs, too."""
        is_written = written_arguments(function)
        first = is_written.index(True) if True in is_written else self._count
        if False in is_written[first:] and self._unit.complete:
            unwritten = is_written.index(False, first)
            raise ScriptError(
                self._node.args.args[unwritten],
                f"expected the parameters after output '{names[first]}' to be written too, found '{names[unwritten]}'; "
                "outputs stand last",
            )
        return first


def written_arguments(function: PrimFuncOp) -> list[bool]:
    """Return for each argument whether the function writes it."""
    written = {access.buffer for access in accesses(function) if access.is_write}
    return [argument in written for argument in function.args]
