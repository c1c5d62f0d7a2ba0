"""Loop functions: `@T.prim_func` to `tir.prim_func`."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import IntegerAttr, UnitAttr, i64
from xdsl.ir import Attribute, Block, Region
from xdsl.utils.hints import isa

from relex.dialects.tir import PrimFuncOp
from relex.dialects.tir.accesses import accesses
from relex.dialects.tir.functions import NOALIAS_ATTR
from relex.frontend.script.attributes import read_attributes
from relex.frontend.script.blocks import BlockReader
from relex.frontend.script.buffers import Buffer, make_buffer, read_buffer
from relex.frontend.script.dtypes import DTYPES
from relex.frontend.script.numbers import Size
from relex.frontend.script.parameters import argument_attributes, plain_parameters
from relex.frontend.script.source import ScriptError, shown
from relex.frontend.script.unit import Unit, arguments, name_value

OUTPUTS_KEY = "relex.outputs"
"""Key in `T.func_attr`: the number of output parameters, where it does not follow from the body."""


@dataclass(frozen=True)
class _Parameter:
    """A parameter of a loop function: a buffer or a number."""

    node: ast.arg
    name: str
    type: Attribute
    buffer: Buffer | None = None


def read_loop_function(unit: Unit, node: ast.FunctionDef, *, private: bool) -> PrimFuncOp:
    """Return the `tir.prim_func` for a function decorated with `T.prim_func`. Raises `ScriptError`."""
    return _LoopFunctionReader(unit, node, private).read()


class _LoopFunctionReader(BlockReader):
    """
    Reads one loop function. Its outputs are the parameters that it writes, which must be last: relex, unlike TVM,
    requires outputs to be known.
    """

    def __init__(self, unit: Unit, node: ast.FunctionDef, private: bool):
        super().__init__(unit, Block())
        self._node = node
        self._private = private
        self._attributes: dict[str, Attribute] = {}
        self._layout_free: Sequence[int] = ()
        self._outputs: int | None = None
        self._parameters: list[_Parameter] = []

    def read(self) -> PrimFuncOp:
        """Return the function."""
        body, matched = self._split(self._node.body)
        self._parameters = [self._parameter(arg, matched) for arg in plain_parameters(self._node)]
        for parameter in self._parameters:
            value = self.block.insert_arg(parameter.type, len(self.block.args))
            value.location = self.unit.source.location(parameter.node)
            name_value(value, parameter.name)
            self.scope[parameter.name] = value
            if parameter.buffer is not None:
                self.dims[value] = parameter.buffer.dims
                self.scope.update({dim: Size(dim) for dim in parameter.buffer.dims if dim})
        self.statements(body)
        return self._function()

    def _split(self, statements: Sequence[ast.stmt]) -> tuple[list[ast.stmt], dict[str, tuple[str, Buffer]]]:
        """Separate the body from the statements that declare parameters: buffers of handles, and names of sizes."""
        body: list[ast.stmt] = []
        matched: dict[str, tuple[str, Buffer]] = {}
        for statement in statements:
            match statement:
                case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call() as call):
                    meaning = self.unit.vocabulary.meaning(call.func)
                    if meaning == "T.match_buffer":
                        handle, buffer = self._match_buffer(call)
                        matched[handle] = (name, buffer)
                        continue
                    if meaning in ("T.int32", "T.int64", "T.var") and self._declares_size(call, meaning):
                        self.scope[name] = Size(name)
                        continue
                case _:
                    pass
            body.append(statement)
        return body, matched

    def _declares_size(self, call: ast.Call, meaning: str) -> bool:
        return meaning == "T.var" or (not call.args and all(keyword.arg == "is_size_var" for keyword in call.keywords))

    def _match_buffer(self, call: ast.Call) -> tuple[str, Buffer]:
        bound = arguments(call, "T.match_buffer", ("param", "shape"), ("dtype",), more=("align", "offset_factor"))
        if not isinstance(bound["param"], ast.Name):
            raise ScriptError(bound["param"], "expected a parameter of type T.handle")
        return bound["param"].id, make_buffer(self.unit, bound["shape"], bound.get("dtype"))

    def _parameter(self, arg: ast.arg, matched: dict[str, tuple[str, Buffer]]) -> _Parameter:
        annotation = arg.annotation
        if annotation is None:
            raise ScriptError(arg, f"expected a type for parameter '{arg.arg}': T.Buffer(shape, dtype)")
        meaning = self.unit.vocabulary.meaning(annotation) or ""
        if meaning == "T.handle" or self.unit.vocabulary.calls(annotation, "T.handle"):
            if arg.arg not in matched:
                raise ScriptError(arg, f"expected a buffer for '{arg.arg}': T.match_buffer({arg.arg}, shape, dtype)")
            name, buffer = matched[arg.arg]
            return _Parameter(arg, name, buffer.type, buffer)
        if meaning.removeprefix("T.") in DTYPES:
            return _Parameter(arg, arg.arg, DTYPES[meaning.removeprefix("T.")])
        head = annotation.func if isinstance(annotation, ast.Call) else annotation
        head = head.value if isinstance(head, ast.Subscript) else head
        if self.unit.vocabulary.meaning(head) != "T.Buffer":
            raise ScriptError(
                annotation, f"expected T.Buffer(shape, dtype), T.handle or a dtype, found '{shown(annotation)}'"
            )
        buffer = read_buffer(self.unit, annotation)
        return _Parameter(arg, arg.arg, buffer.type, buffer)

    def read_attributes(self, call: ast.Call) -> None:
        """Read `T.func_attr({...})`."""
        node = arguments(call, "T.func_attr", ("attrs",))["attrs"]
        found = dict(self.unit.constants.dictionary(node))
        if found.pop("global_symbol", self._node.name) != self._node.name:
            raise ScriptError(node, f"expected global_symbol to be the name of the function, '{self._node.name}'")
        noalias = [bool(found.pop(key)) for key in ("tir.noalias", "tirx.noalias") if key in found]
        if any(noalias):
            self._attributes[NOALIAS_ATTR] = UnitAttr()
        self._layout_free = self._positions(node, found.pop("layout_free_buffers", ()))
        outputs = found.pop(OUTPUTS_KEY, None)
        if outputs is not None and (not isinstance(outputs, int) or not 0 <= outputs <= len(self._parameters)):
            raise ScriptError(node, f"expected {OUTPUTS_KEY} to be at most {len(self._parameters)}, found {outputs!r}")
        self._outputs = outputs
        self._attributes |= read_attributes(node, found)

    def _positions(self, node: ast.expr, positions: object) -> tuple[int, ...]:
        count = len(self._parameters)
        if not isa(positions, tuple[int, ...]) or not all(0 <= position < count for position in positions):
            raise ScriptError(node, f"expected layout_free_buffers to be positions below {count}, found {positions!r}")
        return positions

    def _function(self) -> PrimFuncOp:
        types = [parameter.type for parameter in self._parameters]
        names = {value: p.name for value, p in zip(self.entry.args, self._parameters, strict=True)}
        result = PrimFuncOp(
            self._node.name,
            types,
            [],
            Region(self.entry),
            visibility="private" if self._private else None,
            arg_attrs=argument_attributes(names, self.dims, self._layout_free),
        )
        result.location = self.unit.source.location(self._node)
        result.attributes.update(self._attributes)
        count = self._outputs if self._outputs is not None else len(types) - self._first_output(result)
        result.num_outputs = IntegerAttr(count, i64)
        return result

    def _first_output(self, function: PrimFuncOp) -> int:
        """Return the position of the first written parameter. All parameters after it must be outputs, too."""
        written = {access.buffer for access in accesses(function) if access.is_write}
        first = next((i for i, arg in enumerate(self.entry.args) if arg in written), len(self._parameters))
        for parameter, value in list(zip(self._parameters, self.entry.args, strict=True))[first:]:
            if value not in written and self.unit.complete:
                output = self._parameters[first].name
                raise ScriptError(
                    parameter.node,
                    f"expected the parameters behind output '{output}' to be written too, found '{parameter.name}'; "
                    "outputs stand last",
                )
        return first
