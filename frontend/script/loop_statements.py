"""Statements of loop functions: loops, conditionals, stores, local buffers."""

from __future__ import annotations

import ast
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field

from xdsl.dialects import memref, scf
from xdsl.dialects.builtin import DYNAMIC_INDEX, AnyFloat, IndexType, StringAttr
from xdsl.ir import Attribute, Block, Region, SSAValue

from relex.dialects.names import Names
from relex.dialects.tir import AllocBufferOp, ForOp
from relex.dialects.tir.loops import MAX_EXTENT, LoopKind
from relex.frontend.script.attributes import read_attributes
from relex.frontend.script.buffers import read_declaration
from relex.frontend.script.dtypes import DTYPES, name_of_type
from relex.frontend.script.expressions import ExpressionReader
from relex.frontend.script.numbers import Literal, Scalarlike
from relex.frontend.script.source import ScriptError, shown
from relex.frontend.script.unit import Unit, Wrong, arguments, name_value
from relex.frontend.script.vocabulary import unknown

LABEL_KEY = "relex.label"
"""Key in a loop's annotations: its label, where it differs from the name of its variable."""

_LOOPS = {
    "range": LoopKind.SERIAL,
    "T.serial": LoopKind.SERIAL,
    "T.parallel": LoopKind.PARALLEL,
    "T.vectorized": LoopKind.VECTORIZED,
    "T.unroll": LoopKind.UNROLLED,
    "T.unrolled": LoopKind.UNROLLED,
}

_EXPECTED_LOOP = "expected range, T.grid, T.serial, T.parallel, T.vectorized or T.unroll"


@dataclass(frozen=True)
class Iteration:
    """The range of a script's loop variable: from `start`, driven by a loop that counts from 0."""

    loop: ForOp
    start: int | SSAValue


@dataclass(frozen=True)
class _Head:
    """One loop of a `for` statement."""

    variable: ast.expr
    extent: int | SSAValue
    start: int | SSAValue = 0
    kind: LoopKind = LoopKind.SERIAL
    annotations: Mapping[str, Attribute] = field(default_factory=dict[str, Attribute])


class StatementReader(ExpressionReader):
    """Reads the statements of a loop function."""

    def __init__(self, unit: Unit, block: Block):
        super().__init__(unit, block)
        self.iterations: dict[SSAValue, Iteration] = {}
        self._labels = Names()

    @abstractmethod
    def read_attributes(self, call: ast.Call) -> None:
        """Read `T.func_attr({...})`."""

    @abstractmethod
    def read_block(self, node: ast.With, call: ast.Call) -> None:
        """Read `with T.sblock("name"):`."""

    @abstractmethod
    def read_init(self, node: ast.With, call: ast.Call) -> None:
        """Read `with T.init():`."""

    def statement(self, node: ast.stmt) -> None:
        match node:
            case ast.For(target=target, iter=head, body=body, orelse=[]):
                self._loops(node, target, head, body)
            case ast.With(items=[ast.withitem(context_expr=ast.Call() as call, optional_vars=None)]):
                self._with(node, call)
            case ast.If(test=test, body=body, orelse=orelse):
                self._if(node, test, body, orelse)
            case ast.Assign(targets=[ast.Subscript() as target], value=value):
                self.store(node, target, self.expression(value))
            case ast.AugAssign(target=ast.Subscript() as target, op=op, value=value):
                self.store(node, target, self.binary(node, op, self.load(target), self.expression(value)))
            case ast.Assign(targets=[ast.Name() as target], value=ast.Call() as call) if self._allocates(call):
                self._allocate(target, call)
            case ast.Assign(targets=[ast.Name() as target], value=value):
                self._let(target, self.expression(value))
            case ast.AnnAssign(target=ast.Name() as target, value=ast.expr() as value, annotation=annotation):
                self._let(target, self._annotated(annotation, self.expression(value)))
            case ast.Expr(value=value):
                self._effect(value)
            case ast.Pass() | ast.Return(value=None):
                return
            case _:
                raise ScriptError(
                    node,
                    f"'{shown(node)}' is not supported in a loop function; "
                    "expected for, with, if, a store or a new name for a value",
                )

    # Loops.

    def _loops(self, node: ast.For, target: ast.expr, head: ast.expr, body: Sequence[ast.stmt]) -> None:
        variables = target.elts if isinstance(target, ast.Tuple | ast.List) else [target]
        with ExitStack() as stack:
            for part in self._heads(head, variables):
                self._open_loop(node, part, stack)
            self.statements(body)

    def _open_loop(self, node: ast.For, head: _Head, stack: ExitStack) -> None:
        if not isinstance(head.variable, ast.Name):
            raise ScriptError(head.variable, f"expected a name, found '{shown(head.variable)}'")
        name = head.variable.id
        annotations = dict(head.annotations)
        label = annotations.pop(LABEL_KEY, None)
        fresh = self._labels.fresh(label.data if isinstance(label, StringAttr) else name)
        label = label.data if isinstance(label, StringAttr) else fresh
        loop = self.emit(node, ForOp(head.extent, kind=head.kind, label=label))
        loop.attributes.update(annotations)
        name_value(loop.variable, name)
        stack.enter_context(self.inside(loop.body.block))
        value = self.shifted(head.variable, loop.variable, head.start)
        self.iterations[value] = Iteration(loop, head.start)
        self.scope[name] = value

    def shifted(self, node: ast.AST, variable: SSAValue, start: int | SSAValue) -> SSAValue:
        """Return a variable that counts from 0 shifted to count from `start`."""
        if start == 0:
            return variable
        return self.as_index(node, self.binary(node, ast.Add(), variable, _literal(start)))

    def difference(self, node: ast.AST, left: int | SSAValue, right: int | SSAValue) -> int | SSAValue:
        """Return the difference of two indices."""
        if right == 0:
            return left
        result = self.binary(node, ast.Sub(), _literal(left), _literal(right))
        return (
            result.value
            if isinstance(result, Literal) and isinstance(result.value, int)
            else self.as_index(node, result)
        )

    def _heads(self, head: ast.expr, variables: Sequence[ast.expr]) -> Sequence[_Head]:
        is_range = isinstance(head, ast.Call) and isinstance(head.func, ast.Name) and head.func.id == "range"
        meaning = "range" if is_range else self.meaning(head.func) if isinstance(head, ast.Call) else None
        if not isinstance(head, ast.Call) or meaning is None:
            raise ScriptError(head, f"{_EXPECTED_LOOP}, found '{shown(head)}'")
        if meaning == "T.grid":
            return self._grid(head, variables)
        if meaning == "T.thread_binding":
            raise ScriptError(
                head, "'T.thread_binding' is not supported, as there are no GPU threads; write 'T.parallel'"
            )
        if meaning not in _LOOPS:
            raise unknown(head.func, meaning, _LOOPS, _EXPECTED_LOOP)
        if len(variables) != 1:
            raise ScriptError(variables[1], f"expected one variable for '{meaning}', found {len(variables)}")
        return [self._head(head, meaning, variables[0])]

    def _grid(self, head: ast.Call, variables: Sequence[ast.expr]) -> Sequence[_Head]:
        if head.keywords:
            raise ScriptError(head.keywords[0], "expected nothing but extents for 'T.grid'")
        extents = [self._extent(extent, self.index_or_size(extent)) for extent in head.args]
        if len(extents) != len(variables):
            raise ScriptError(head, f"expected {len(variables)} extents, one for each variable, found {len(extents)}")
        return [_Head(variable, extent) for variable, extent in zip(variables, extents, strict=True)]

    def _head(self, head: ast.Call, meaning: str, variable: ast.expr) -> _Head:
        bound = arguments(head, meaning, ("start",), ("stop", "step"), more=("annotations",))
        bound = {name: value for name, value in bound.items() if name == "start" or not _is_none(value)}
        if "step" in bound and self.unit.constants.value(bound["step"]) != 1:
            raise ScriptError(bound["step"], "expected a step of 1; multiply the variable by it instead")
        annotations: Mapping[str, Attribute] = {}
        if "annotations" in bound:
            annotations = read_attributes(head, self.unit.constants.dictionary(bound["annotations"]))
        first = self.index_or_size(bound["start"])
        if "stop" not in bound:
            return _Head(variable, self._extent(head.args[0], first), 0, _LOOPS[meaning], annotations)
        extent = self.difference(head, self.index_or_size(bound["stop"]), first)
        extent = max(extent, 0) if isinstance(extent, int) else extent
        return _Head(variable, extent, first, _LOOPS[meaning], annotations)

    @staticmethod
    def _extent(node: ast.AST, extent: int | SSAValue) -> int | SSAValue:
        if isinstance(extent, int) and not 0 <= extent <= MAX_EXTENT:
            raise ScriptError(node, f"expected an extent from 0 to {MAX_EXTENT}, found {extent}")
        return extent

    # Other statements.

    def _with(self, node: ast.With, call: ast.Call) -> None:
        match self.meaning(call.func):
            case "T.sblock" | "T.block":
                self.read_block(node, call)
            case "T.init":
                self.read_init(node, call)
            case _:
                raise ScriptError(call, f"expected T.sblock or T.init, found '{shown(call.func)}'")

    def _if(self, node: ast.stmt, test: ast.expr, body: Sequence[ast.stmt], orelse: Sequence[ast.stmt]) -> None:
        condition = self.condition(test)
        regions = [self._branch(node, part) for part in (body, orelse) if part]
        self.emit(node, scf.IfOp(condition, [], regions[0], regions[1] if orelse else Region()))

    def _branch(self, node: ast.AST, statements: Sequence[ast.stmt]) -> Region:
        block = Block()
        with self.inside(block):
            self.statements(statements)
            self.emit(node, scf.YieldOp())
        return Region(block)

    def store(self, node: ast.AST, target: ast.Subscript, value: Scalarlike) -> None:
        """Store a number to an element of a buffer."""
        buffer, indices, element_type = self.place(target)
        if isinstance(value, SSAValue) and value.type != element_type:
            if not isinstance(value.type, IndexType) or isinstance(element_type, AnyFloat):
                expected, found = name_of_type(element_type), name_of_type(value.type)
                raise ScriptError(node, f"expected a value of {expected} to store, found {found}; write T.Cast")
        self.emit(node, memref.StoreOp.get(self.convert(node, value, element_type), buffer, indices))

    def _allocates(self, call: ast.Call) -> bool:
        return self.meaning(call.func) in ("T.sblock_alloc_buffer", "T.alloc_buffer")

    def _allocate(self, target: ast.Name, call: ast.Call) -> None:
        declared = read_declaration(self.unit, call, shown(call.func))
        sizes = zip(declared.sizes, declared.type.get_shape(), strict=True)
        dynamic = [self.index(node) for node, size in sizes if size == DYNAMIC_INDEX]
        self._let(target, self.emit(call, AllocBufferOp(declared.type, dynamic)).buffer)

    def _let(self, target: ast.Name, value: Scalarlike) -> None:
        """Bind a name to a value; unlike in Python, it cannot be rebound."""
        if target.id in self.scope and not isinstance(self.scope[target.id], Wrong):
            raise ScriptError(
                target, f"expected a new name, found '{target.id}' again; only elements of buffers change"
            )
        if isinstance(value, SSAValue):
            name_value(value, target.id)
        self.scope[target.id] = value

    def _annotated(self, annotation: ast.expr, value: Scalarlike) -> Scalarlike:
        """Return the value of `name: T.int32 = ...` or `name: T.let = ...`, converted to the type."""
        if isinstance(annotation, ast.Subscript) and self.meaning(annotation.value) == "T.let":
            annotation = annotation.slice
        meaning = self.meaning(annotation) or shown(annotation)
        if meaning == "T.let":
            return value
        if meaning.removeprefix("T.") not in DTYPES:
            raise ScriptError(annotation, f"expected T.let or a dtype of T, found '{meaning}'")
        if isinstance(value, SSAValue) and isinstance(value.type, IndexType):
            return value  # All integer types of a script's indices mean `index`.
        return self.convert(annotation, value, DTYPES[meaning.removeprefix("T.")])

    def _effect(self, node: ast.expr) -> None:
        """Read an expression statement."""
        if isinstance(node, ast.Constant):
            return
        meaning = self.meaning(node.func) if isinstance(node, ast.Call) else None
        if not isinstance(node, ast.Call) or meaning is None:
            raise ScriptError(node, f"expected a statement that does something, found '{shown(node)}'")
        match meaning:
            case "T.func_attr" if self.block is self.entry:
                self.read_attributes(node)
            case "T.evaluate" if all(isinstance(argument, ast.Constant) for argument in node.args):
                return
            case "T.reads" | "T.writes" | "T.where" | "T.sblock_attr" | "T.block_attr":
                raise ScriptError(node, f"expected '{meaning}' directly in a block")
            case _:
                raise unknown(node.func, meaning, ["T.func_attr", "T.reads", "T.writes", "T.where", "T.sblock_attr"],
                              "expected a store or a function that computes a value")  # fmt: skip


def _literal(value: int | SSAValue) -> Scalarlike:
    return Literal(value) if isinstance(value, int) else value


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def first_line(node: ast.AST) -> str:
    """Return the first line of a statement, for error messages."""
    return shown(node).split("\n")[0]
