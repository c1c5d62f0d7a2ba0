"""Blocks of loop functions: `with T.sblock("name"):`, or `T.block` in older scripts."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from xdsl.dialects import arith, memref, scf
from xdsl.dialects.builtin import UnitAttr
from xdsl.ir import Block, Region, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from relex.dialects.fast_math import PRODUCT_FLAGS, SUM_FLAGS
from relex.dialects.names import Names, name_value
from relex.dialects.tir import BlockOp, InitOp, IterKind
from relex.frontend.script.attributes import read_attributes
from relex.frontend.script.declarations import expect_extent
from relex.frontend.script.regions import check_regions
from relex.frontend.script.scope import arguments
from relex.frontend.script.source import ScriptError, name_of, shown

if TYPE_CHECKING:
    from relex.frontend.script.loop_statements import Statements

REASSOCIATE_KEY = "relex.reassociate"
"""Key in `T.sblock_attr`: the block's sum may be reassociated, and contracted with its products."""

AXES = {
    "T.axis.spatial": IterKind.SPATIAL,
    "T.axis.reduce": IterKind.REDUCE,
    "T.axis.S": IterKind.SPATIAL,
    "T.axis.R": IterKind.REDUCE,
}
"""Kinds of axes by their names in scripts; each is printed by the first of its names, in `T.axis.remap` by a letter."""


_DESCRIPTIONS = ("T.where", "T.reads", "T.writes", "T.sblock_attr")


@dataclass(frozen=True)
class _Axis:
    """An axis of a block, which counts from `start`."""

    node: ast.expr
    name: str
    kind: IterKind
    extent: int | SSAValue
    binding: SSAValue
    start: int | SSAValue = 0


@dataclass
class _Parts:
    """The statements of a block by their role."""

    axes: list[ast.Assign] = field(default_factory=list[ast.Assign])
    calls: dict[str, ast.Call] = field(default_factory=dict[str, ast.Call])
    """The calls of `_DESCRIPTIONS` by name, each at most once."""
    body: list[ast.stmt] = field(default_factory=list[ast.stmt])


class Blocks:
    """Reads the blocks of a loop function."""

    def __init__(self, statements: Statements):
        self._statements = statements
        self._expressions = statements.expressions
        self._scope = statements.scope
        self._constants = statements.scope.unit.constants
        self._names = Names()

    def read_with(self, node: ast.With, call: ast.Call) -> None:
        """Read `with T.sblock("name"):` or `with T.init():`."""
        match self._scope.meaning(call.func):
            case "T.sblock" | "T.block":
                self._read_block(node, call)
            case "T.init":
                self._read_init(node, call)
            case _:
                raise ScriptError(call, f"expected T.sblock or T.init, found '{shown(call.func)}'")

    def _read_block(self, node: ast.With, call: ast.Call) -> None:
        name = arguments(call, "T.sblock", (), ("name",)).get("name")
        block_name = self._constants.string(name, "a name") if name is not None else "block"
        parts = self._parts(node.body)
        if block_name == "root" and not parts.axes and self._scope.block is self._scope.entry:
            self._statements.read(parts.body)  # TVM's name for the whole body.
            return
        block_name = self._unique(block_name, name)
        if "T.where" not in parts.calls:
            self._block(node, block_name, parts)
            return
        where = parts.calls["T.where"]
        condition = self._expressions.condition(arguments(where, "T.where", ("predicate",))["predicate"])
        guarded = Block()
        with self._scope.inside(guarded):
            self._block(node, block_name, parts)
            self._scope.emit(where, scf.YieldOp())
        self._scope.emit(where, scf.IfOp(condition, [], Region(guarded)))

    def _unique(self, name: str, node: ast.expr | None) -> str:
        """Return a unique name for a block. TVM prints duplicate names after fusing functions."""
        fresh = self._names.fresh(name)
        if node is not None and fresh != name:
            message = f"expected a name that no other block has, found '{name}'; used '{fresh}'"
            self._scope.unit.warn(ScriptError(node, message))
        return fresh

    def _parts(self, statements: Sequence[ast.stmt]) -> _Parts:
        parts = _Parts()
        for statement in statements:
            call = statement.value if isinstance(statement, ast.Assign | ast.Expr) else None
            meaning = (self._scope.meaning(call.func) or "") if isinstance(call, ast.Call) else ""
            meaning = meaning.replace("T.block_attr", "T.sblock_attr")
            if isinstance(statement, ast.Assign) and meaning.startswith("T.axis."):
                parts.axes.append(statement)
            elif isinstance(statement, ast.Expr) and isinstance(call, ast.Call) and meaning in _DESCRIPTIONS:
                if meaning in parts.calls:
                    raise ScriptError(call, f"expected '{meaning}' once in a block")
                parts.calls[meaning] = call
            else:
                parts.body.append(statement)
        return parts

    def _block(self, node: ast.With, name: str, parts: _Parts) -> None:
        axes = [axis for statement in parts.axes for axis in self._axes(statement)]
        kinds, extents = [axis.kind for axis in axes], [axis.extent for axis in axes]
        block = self._scope.emit(node, BlockOp(name, kinds, extents, [axis.binding for axis in axes]))
        body = block.body.block
        for axis, variable in zip(axes, body.args, strict=True):
            name_value(variable, axis.name)
        with self._scope.inside(body):
            for axis, variable in zip(axes, body.args, strict=True):
                self._scope.names[axis.name] = self._statements.shifted(axis.node, variable, axis.start)
            self._statements.read(parts.body)
            self._annotate(block, parts)
            for what in ("T.reads", "T.writes"):
                if what in parts.calls and self._scope.unit.complete:
                    check_regions(self._expressions, block, what, parts.calls[what])

    def _annotate(self, block: BlockOp, parts: _Parts) -> None:
        if (call := parts.calls.get("T.sblock_attr")) is None:
            return
        node = arguments(call, "T.sblock_attr", ("attrs",))["attrs"]
        attributes = read_attributes(node, self._constants.dictionary(node))
        if attributes.pop(REASSOCIATE_KEY, None) == UnitAttr():
            _loosen_sums(block)
        block.attributes.update(attributes)

    # Axes.

    def _axes(self, statement: ast.Assign) -> Sequence[_Axis]:
        call, target = statement.value, statement.targets[0]
        assert isinstance(call, ast.Call)
        names = target.elts if isinstance(target, ast.Tuple | ast.List) else [target]
        meaning = self._scope.meaning(call.func) or ""
        if meaning == "T.axis.remap":
            return self._remap(call, names)
        if meaning not in AXES:
            raise ScriptError(call.func, f"'{meaning}' is not supported; expected T.axis.spatial, .reduce or .remap")
        if len(names) != 1:
            raise ScriptError(target, f"expected one name for '{meaning}', found {len(names)}")
        bound = arguments(call, meaning, ("dom", "binding"), more=("dtype",))
        start, extent = self._domain(bound["dom"])
        binding = self._statements.difference(call, self._expressions.index(bound["binding"]), start)
        assert isinstance(binding, SSAValue)
        return [_Axis(target, name_of(target), AXES[meaning], extent, binding, start)]

    def _domain(self, node: ast.expr) -> tuple[int | SSAValue, int | SSAValue]:
        """Return the start and extent of an axis, written `8` or `(begin, end)`."""
        if not isinstance(node, ast.Tuple):
            start, extent = 0, self._expressions.index_or_size(node)
        elif len(node.elts) == 2:
            start, end = (self._expressions.index_or_size(part) for part in node.elts)
            extent = self._statements.difference(node, end, start)
        else:
            raise ScriptError(node, "expected an extent, or (begin, end)")
        return start, expect_extent(node, extent)

    def _remap(self, call: ast.Call, names: Sequence[ast.expr]) -> Sequence[_Axis]:
        bound = arguments(call, "T.axis.remap", ("kinds", "bindings"), more=("dtype",))
        kinds = self._constants.string(bound["kinds"], 'kinds, as in "SSR"')
        bindings = bound["bindings"]
        loops = bindings.elts if isinstance(bindings, ast.List | ast.Tuple) else [bindings]
        if not len(kinds) == len(loops) == len(names):
            found = f"{len(kinds)} and {len(loops)}"
            raise ScriptError(call, f"expected {len(names)} kinds and loops, as there are names, found {found}")
        return list(map(self._remapped, names, kinds, loops))

    def _remapped(self, name: ast.expr, kind: str, node: ast.expr) -> _Axis:
        if f"T.axis.{kind}" not in AXES:
            raise ScriptError(node, f"expected kinds S (spatial) or R (reduce), found {kind!r}")
        value = self._expressions.expression(node)
        if not isinstance(value, SSAValue) or value not in self._statements.iterations:
            message = f"expected a loop variable, found '{shown(node)}'; T.axis.spatial takes expressions"
            raise ScriptError(node, message)
        iteration = self._statements.iterations[value]
        loop = iteration.loop
        return _Axis(name, name_of(name), AXES[f"T.axis.{kind}"], loop.extent, loop.variable, iteration.start)

    def _read_init(self, node: ast.With, call: ast.Call) -> None:
        arguments(call, "T.init", ())
        block = self._scope.block.parent_op()
        if not isinstance(block, BlockOp):
            raise ScriptError(call, "expected 'T.init' directly in a block")
        if block.init is not None:
            raise ScriptError(call, "expected 'T.init' once in a block")
        init = InitOp()
        with self._scope.inside(init.body.block):
            self._statements.read(node.body)
        init.location = self._scope.unit.source.location(node)
        Rewriter.insert_op(init, InsertPoint.at_start(self._scope.block))


def _loosen_sums(block: BlockOp) -> None:
    """Allow the additions whose results a block stores to be reassociated, and contracted with a product."""
    for op in block.body.block.ops:
        if isinstance(op, memref.StoreOp) and isinstance(total := op.value.owner, arith.AddfOp):
            total.fastmath = SUM_FLAGS
            if isinstance(product := total.rhs.owner, arith.MulfOp):
                product.fastmath = PRODUCT_FLAGS
