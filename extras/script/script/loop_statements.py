"""Statements of loop functions: loops, conditionals, stores, local buffers."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field

from xdsl.dialects import cf, memref, scf
from xdsl.dialects.builtin import AnyFloat, IndexType, StringAttr
from xdsl.ir import Attribute, Block, Region, SSAValue

from relex.dialects.dtypes import DTYPES
from relex.dialects.names import Names, name_value
from relex.dialects.tir import AllocBufferOp, ForOp
from relex.dialects.tir.loops import LoopKind
from relex.frontend.script.attributes import read_attributes
from relex.frontend.script.blocks import Blocks
from relex.frontend.script.declarations import expect_extent, read_allocation
from relex.frontend.script.dtypes import name_of_type
from relex.frontend.script.expressions import Expressions
from relex.frontend.script.number_emitter import Literal, Scalarlike
from relex.frontend.script.scope import WrongValue, arguments
from relex.frontend.script.source import ScriptError, name_of, shown
from relex.frontend.script.vocabulary import unknown

LABEL_KEY = "relex.label"
"""Key in a loop's annotations: its label, where it differs from the name of its variable."""

LOOPS = {
    "T.serial": LoopKind.SERIAL,
    "T.parallel": LoopKind.PARALLEL,
    "T.vectorized": LoopKind.VECTORIZED,
    "T.unroll": LoopKind.UNROLLED,
    "range": LoopKind.SERIAL,
    "T.unrolled": LoopKind.UNROLLED,
}
"""Loop kinds by their names in scripts; each kind is printed by the first of its names."""

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
    step: int = 1
    annotations: Mapping[str, Attribute] = field(default_factory=dict[str, Attribute])


class Statements:
    """Reads the statements of a loop function; `read_function_attributes` reads `T.func_attr`."""

    def __init__(self, expressions: Expressions, read_function_attributes: Callable[[ast.Call], None]):
        self.expressions = expressions
        self.numbers = expressions.numbers
        self.scope = expressions.scope
        self.iterations: dict[SSAValue, Iteration] = {}
        self._blocks = Blocks(self)
        self._labels = Names()
        self._read_function_attributes = read_function_attributes

    def read(self, nodes: Sequence[ast.stmt]) -> None:
        """Read statements into the current block."""
        self.scope.read(nodes, self._statement)

    def _statement(self, node: ast.stmt) -> None:
        value_of = self.expressions.expression
        match node:
            case ast.For(target=target, iter=head, body=body, orelse=[]):
                self._loops(node, target, head, body)
            case ast.With(items=[ast.withitem(context_expr=ast.Call() as call, optional_vars=None)]):
                self._blocks.read_with(node, call)
            case ast.If(test=test, body=body, orelse=orelse):
                self._if(node, test, body, orelse)
            case ast.Assign(targets=[ast.Subscript() as target], value=value):
                self._store(node, target, value_of(value))
            case ast.AugAssign(target=ast.Subscript() as target, op=op, value=value):
                old = self.expressions.load(target)
                self._store(node, target, self.numbers.binary(node, op, old, value_of(value)))
            case ast.Assign(targets=[ast.Name() as target], value=ast.Call() as call) if self._allocates(call):
                declared = read_allocation(self.scope.unit, call, shown(call.func))
                sizes = [self.expressions.index(size) for size in declared.dynamic_sizes]
                self._let(target, self.scope.emit(call, AllocBufferOp(declared.buffer, sizes)).buffer)
            case ast.Assign(targets=[ast.Name() as target], value=value):
                self._let(target, value_of(value))
            case ast.AnnAssign(target=ast.Name() as target, value=ast.expr() as value, annotation=annotation):
                self._let(target, self._annotated(annotation, value_of(value)))
            case ast.Assert(test=test, msg=message):
                self.scope.emit(node, cf.AssertOp(self.expressions.condition(test), self._message(message)))
            case ast.Expr(value=value):
                self._effect(value)
            case ast.Pass() | ast.Return(value=None):
                return
            case _:
                expected = "expected for, with, if, assert, a store or a new name for a value"
                raise ScriptError(node, f"'{shown(node)}' is not supported in a loop function; {expected}")

    # Loops.

    def _loops(self, node: ast.For, target: ast.expr, head: ast.expr, body: Sequence[ast.stmt]) -> None:
        variables = target.elts if isinstance(target, ast.Tuple | ast.List) else [target]
        with ExitStack() as stack:
            for part in self._heads(head, variables):
                self._open_loop(node, part, stack)
            self.read(body)

    def _open_loop(self, node: ast.For, head: _Head, stack: ExitStack) -> None:
        name = name_of(head.variable)
        annotations = dict(head.annotations)
        given = annotations.pop(LABEL_KEY, None)
        label = given.data if isinstance(given, StringAttr) else None
        fresh = self._labels.fresh(label if label is not None else name)
        loop = self.scope.emit(node, ForOp(head.extent, kind=head.kind, label=label if label is not None else fresh))
        loop.attributes.update(annotations)
        name_value(loop.variable, name)
        stack.enter_context(self.scope.inside(loop.body.block))
        if head.step == 1:
            value = self.shifted(head.variable, loop.variable, head.start)
            self.iterations[value] = Iteration(loop, head.start)
        else:
            steps = self.numbers.binary(node, ast.Mult(), loop.variable, Literal(head.step))
            value = self.shifted(head.variable, self.numbers.as_index(node, steps), head.start)
        self.scope.names[name] = value

    def shifted(self, node: ast.AST, variable: SSAValue, start: int | SSAValue) -> SSAValue:
        """Return a variable that counts from 0 shifted to count from `start`."""
        if start == 0:
            return variable
        return self.numbers.as_index(node, self.numbers.binary(node, ast.Add(), variable, _literal(start)))

    def difference(self, node: ast.AST, left: int | SSAValue, right: int | SSAValue) -> int | SSAValue:
        """Return the difference of two indices."""
        if right == 0:
            return left
        return self._size(node, self.numbers.binary(node, ast.Sub(), _literal(left), _literal(right)))

    def _heads(self, head: ast.expr, variables: Sequence[ast.expr]) -> Sequence[_Head]:
        is_range = isinstance(head, ast.Call) and isinstance(head.func, ast.Name) and head.func.id == "range"
        meaning = "range" if is_range else self.scope.meaning(head.func) if isinstance(head, ast.Call) else None
        if not isinstance(head, ast.Call) or meaning is None:
            raise ScriptError(head, f"{_EXPECTED_LOOP}, found '{shown(head)}'")
        if meaning == "T.grid":
            return self._grid(head, variables)
        if meaning == "T.thread_binding":
            instead = "as there are no GPU threads; write 'T.parallel'"
            raise ScriptError(head, f"'T.thread_binding' is not supported, {instead}")
        if meaning not in LOOPS:
            raise unknown(head.func, meaning, LOOPS, _EXPECTED_LOOP)
        if len(variables) != 1:
            raise ScriptError(variables[1], f"expected one variable for '{meaning}', found {len(variables)}")
        return [self._head(head, meaning, variables[0])]

    def _grid(self, head: ast.Call, variables: Sequence[ast.expr]) -> Sequence[_Head]:
        if head.keywords:
            raise ScriptError(head.keywords[0], "'T.grid' takes only extents")
        extents = [expect_extent(extent, self.expressions.index_or_size(extent)) for extent in head.args]
        if len(extents) != len(variables):
            raise ScriptError(head, f"expected {len(variables)} extents, one for each variable, found {len(extents)}")
        return list(map(_Head, variables, extents))

    def _head(self, head: ast.Call, meaning: str, variable: ast.expr) -> _Head:
        bound = arguments(head, meaning, ("start",), ("stop", "step"), more=("annotations",))
        bound = {name: value for name, value in bound.items() if name == "start" or not _is_none(value)}
        constants = self.scope.unit.constants
        step = constants.integer(bound["step"], "a step") if "step" in bound else 1
        if step < 1:
            raise ScriptError(bound["step"], f"expected a step of 1 or more, found {step}; count from 0 instead")
        annotations: Mapping[str, Attribute] = {}
        if "annotations" in bound:
            annotations = read_attributes(head, constants.dictionary(bound["annotations"]))
        first = self.expressions.index_or_size(bound["start"])
        if "stop" not in bound:
            where, first, extent = bound["start"], 0, first
        else:
            where, extent = head, self.difference(head, self.expressions.index_or_size(bound["stop"]), first)
            extent = max(extent, 0) if isinstance(extent, int) else extent
        extent = self._steps(head, expect_extent(where, extent), step)
        return _Head(variable, extent, first, LOOPS[meaning], step, annotations)

    def _steps(self, node: ast.expr, extent: int | SSAValue, step: int) -> int | SSAValue:
        """Return how many steps an extent has."""
        if step == 1:
            return extent
        whole = self.numbers.binary(node, ast.Add(), _literal(extent), Literal(step - 1))
        return self._size(node, self.numbers.binary(node, ast.FloorDiv(), whole, Literal(step)))

    def _size(self, node: ast.AST, value: Scalarlike) -> int | SSAValue:
        if isinstance(value, Literal) and isinstance(value.value, int):
            return value.value
        return self.numbers.as_index(node, value)

    # Other statements.

    def _if(self, node: ast.stmt, test: ast.expr, body: Sequence[ast.stmt], orelse: Sequence[ast.stmt]) -> None:
        condition = self.expressions.condition(test)
        regions = [self._branch(node, part) for part in (body, orelse) if part]
        self.scope.emit(node, scf.IfOp(condition, [], regions[0], regions[1] if orelse else Region()))

    def _branch(self, node: ast.AST, statements: Sequence[ast.stmt]) -> Region:
        block = Block()
        with self.scope.inside(block):
            self.read(statements)
            self.scope.emit(node, scf.YieldOp())
        return Region(block)

    def _message(self, node: ast.expr | None) -> str:
        """Return the message of an assertion. TVM prints `("RuntimeError", ["expected ", "more"])`."""
        match node:
            case None:
                return "assertion failed"
            case ast.Tuple(elts=[ast.Constant(), ast.List(elts=parts)]):
                return "".join(map(self.scope.unit.constants.string, parts))
            case _:
                return self.scope.unit.constants.string(node, "a message")

    def _store(self, node: ast.AST, target: ast.Subscript, value: Scalarlike) -> None:
        """Store a number to an element of a buffer."""
        buffer, indices, element_type = self.expressions.place(target)
        if isinstance(value, SSAValue) and value.type != element_type:
            if not isinstance(value.type, IndexType) or isinstance(element_type, AnyFloat):
                expected, found = name_of_type(element_type), name_of_type(value.type)
                raise ScriptError(node, f"expected a value of {expected} to store, found {found}; write T.Cast")
        self.scope.emit(node, memref.StoreOp.get(self.numbers.convert(node, value, element_type), buffer, indices))

    def _allocates(self, call: ast.Call) -> bool:
        meaning = self.scope.meaning(call.func)
        return meaning in ("T.sblock_alloc_buffer", "T.alloc_buffer", "T.decl_buffer")

    def _let(self, target: ast.Name, value: Scalarlike) -> None:
        """Bind a name to a value; unlike in Python, it cannot be rebound."""
        if target.id in self.scope.names and not isinstance(self.scope.names[target.id], WrongValue):
            found = f"found '{target.id}' again; only elements of buffers change"
            raise ScriptError(target, f"expected a new name, {found}")
        if isinstance(value, SSAValue):
            name_value(value, target.id)
        self.scope.names[target.id] = value

    def _annotated(self, annotation: ast.expr, value: Scalarlike) -> Scalarlike:
        """Return the value of `name: T.int32 = ...` or `name: T.let = ...`, converted to the type."""
        if isinstance(annotation, ast.Subscript) and self.scope.meaning(annotation.value) == "T.let":
            annotation = annotation.slice
        meaning = self.scope.meaning(annotation) or shown(annotation)
        if meaning == "T.let":
            return value
        if meaning.removeprefix("T.") not in DTYPES:
            raise ScriptError(annotation, f"expected T.let or a dtype of T, found '{meaning}'")
        if isinstance(value, SSAValue) and isinstance(value.type, IndexType):
            return value  # All integer types of a script's indices mean `index`.
        return self.numbers.convert(annotation, value, DTYPES[meaning.removeprefix("T.")])

    def _effect(self, node: ast.expr) -> None:
        """Read an expression statement."""
        if isinstance(node, ast.Constant):
            return
        meaning = self.scope.meaning(node.func) if isinstance(node, ast.Call) else None
        if not isinstance(node, ast.Call) or meaning is None:
            raise ScriptError(node, f"statement has no effect: '{shown(node)}'")
        match meaning:
            case "T.func_attr" if self.scope.block is self.scope.entry:
                self._read_function_attributes(node)
            case "T.evaluate":
                self.expressions.expression(arguments(node, meaning, ("value",))["value"])  # Its value is not used.
            case "T.assume":
                self.expressions.expression(node)
            case "T.reads" | "T.writes" | "T.where" | "T.sblock_attr" | "T.block_attr":
                raise ScriptError(node, f"expected '{meaning}' directly in a block")
            case _:
                known = ("T.func_attr", "T.reads", "T.writes", "T.where", "T.sblock_attr")
                raise unknown(node.func, meaning, known, "expected a store or a function that computes a value")


def _literal(value: int | SSAValue) -> Scalarlike:
    return Literal(value) if isinstance(value, int) else value


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None
