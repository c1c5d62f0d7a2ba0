"""Parameters and attributes of functions, common to loop functions and graph functions."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence

from xdsl.dialects import memref, tensor
from xdsl.dialects.builtin import IndexType, MemRefType
from xdsl.ir import Attribute, BlockArgument, Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from relex.dialects.function_arguments import keep_argument_names, state_dims
from relex.dialects.names import name_value
from relex.frontend.script.number_emitter import Size
from relex.frontend.script.scope import Scope, arguments
from relex.frontend.script.source import ScriptError
from relex.lowering.te.scalars import build_constant

LAYOUT_FREE_ATTR = "tir.layout_free"
"""On an argument: its layout may be changed, as it is not visible outside of the module."""


def plain_parameters(function: ast.FunctionDef) -> Sequence[ast.arg]:
    """Return the parameters of a function that has plain ones only. Raises `ScriptError`."""
    args = function.args
    for extra in (args.vararg, args.kwarg, *args.kwonlyargs, *args.defaults, *args.posonlyargs):
        if extra is not None:
            raise ScriptError(extra, "expected plain parameters, each a name and a type")
    return args.args


class Parameters:
    """The parameters of a function, and the dynamic sizes that they have."""

    def __init__(self, scope: Scope):
        self._scope = scope
        self._names: dict[BlockArgument, str] = {}
        self._dims: dict[SSAValue, Sequence[str]] = {}
        """The names of the sizes of each parameter, "" for unnamed ones."""
        self._sizes: dict[str, SSAValue] = {}
        self._sources: dict[str, tuple[SSAValue, int]] = {}
        """The tensors in the middle of the function that have a size of a new name."""
        self._last_size: Operation | None = None

    def add(self, node: ast.arg, name: str, type: Attribute, dims: Sequence[str] = ()) -> None:
        """Add a parameter, and the names of its sizes."""
        value = self._scope.entry.insert_arg(type, len(self._names))
        value.location = self._scope.unit.source.location(node)
        name_value(value, name)
        self._scope.names[name] = value
        self._names[value], self._dims[value] = name, dims
        self._scope.names.update({dim: Size(dim) for dim in dims if dim})

    def size(self, node: ast.AST, name: str) -> SSAValue:
        """Return a dynamic size, read at function entry from the first parameter that has it."""
        if name not in self._sizes:
            source = self.source(name)
            if source is None:
                raise ScriptError(node, f"expected an argument that has a size '{name}'")
            argument, dimension = source
            place = build_constant(dimension, IndexType())
            dim = memref.DimOp if isinstance(argument.type, MemRefType) else tensor.DimOp
            read = dim.create(operands=[argument, place.result], result_types=[IndexType()])
            self._insert_first(node, place, read)
            self._sizes[name] = read.results[0]
            name_value(read.results[0], name)
        return self._sizes[name]

    def source(self, name: str) -> tuple[SSAValue, int] | None:
        """Return the first tensor that has a dynamic size of this name, and its dimension."""
        found = ((argument, dims.index(name)) for argument, dims in self._dims.items() if name in dims)
        return next(found, self._sources.get(name))

    def name_size(self, node: ast.AST, name: str, value: SSAValue, dimension: int) -> None:
        """Give a size of a tensor a name, unless it is known already."""
        if name in self._sizes or any(name in dims for dims in self._dims.values()):
            return
        place = self._scope.emit(node, build_constant(dimension, IndexType()))
        self._sizes[name] = self._scope.emit(node, tensor.DimOp(value, place.result)).result
        self._sources[name] = value, dimension
        self._scope.names.setdefault(name, Size(name))
        name_value(self._sizes[name], name)

    def _insert_first(self, node: ast.AST, *ops: Operation) -> None:
        """Insert ops at the beginning of the function, after those inserted there before."""
        for op in ops:
            op.location = self._scope.unit.source.location(node)
            last = self._last_size
            start = InsertPoint.at_start(self._scope.entry) if last is None else InsertPoint.after(last)
            Rewriter.insert_op(op, start)
            self._last_size = op

    def describe(self, function: Operation, node: ast.FunctionDef, attributes: Mapping[str, Attribute]) -> None:
        """Set the location and the attributes of the function, and the attributes of its arguments: names that SSA
        values cannot keep, and names of sizes."""
        function.location = self._scope.unit.source.location(node)
        function.attributes.update(attributes)
        keep_argument_names(function, list(self._names.values()))
        for position, value in enumerate(self._names):
            state_dims(function, position, self._dims[value])


def function_attributes(scope: Scope, call: ast.Call, what: str, function: str) -> tuple[ast.expr, dict[str, object]]:
    """Return the dictionary of `T.func_attr` or `R.func_attr`, as written and evaluated."""
    node = arguments(call, what, ("attrs",))["attrs"]
    found = dict(scope.unit.constants.dictionary(_without_target(node)))
    if found.pop("global_symbol", function) != function and scope.unit.in_class:
        raise ScriptError(node, f"expected global_symbol to be the name of the function, '{function}'")
    return node, found


def _without_target(node: ast.expr) -> ast.expr:
    """Return a dictionary without TVM's target, which is chosen where a module is compiled."""
    if not isinstance(node, ast.Dict):
        return node
    pairs = [(key, value) for key, value in zip(node.keys, node.values, strict=True) if not _is_target(key)]
    return ast.copy_location(ast.Dict([key for key, _ in pairs], [value for _, value in pairs]), node)


def _is_target(key: ast.expr | None) -> bool:
    return isinstance(key, ast.Constant) and key.value == "target"
