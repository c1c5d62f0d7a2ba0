"""Schedules written in Python."""

from __future__ import annotations

from typing import Any, cast

from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.utils.exceptions import VerifyException

from relex.dialects.errors import UnknownNameError, fail
from relex.dialects.schedule import PrimitiveOp, SequenceOp
from relex.dialects.schedule.loop_primitives import LabelLoopsOp, ParallelOp, UnrollOp, VectorizeOp
from relex.dialects.symbols import named
from relex.dialects.tir import BlockOp, ForOp, PrimFuncOp
from relex.extras import find_part
from relex.passes.analysis.kept import suspended
from relex.passes.analysis.loop_tree import find_block, find_loop, loops_of, structures_in
from relex.passes.rewriting.stated_sizes import state_sizes
from relex.passes.schedule.arguments import Block, Loop
from relex.passes.schedule.primitive_table import apply_primitive
from relex.passes.schedule.steps import Steps

_OF_KINDS = (LabelLoopsOp, ParallelOp, UnrollOp, VectorizeOp)
"""Steps that change only how loops run, and their names."""


class Schedule(Steps):
    """
    A module whose loop functions are transformed step by step. The module it is created from is not modified.

    Every step is checked: one that would change what the function computes raises a `CompileError` at the loop or block
    concerned. Steps take and return blocks and loops by name; these stay valid as long as a block or loop of that name
    exists.
    """

    def __init__(self, module: ModuleOp, *, sizes_are_stated: bool = False):
        self.module = module.clone()
        if not sizes_are_stated:
            state_sizes(self.module)
        self._steps: dict[str, list[PrimitiveOp]] = {}
        self._labelled: set[str] = set()
        """The functions whose loops have been given labels."""

    def trace(self) -> ModuleOp:
        """Return all steps so far as schedules for `apply-schedule`: one `schedule.sequence` per function."""
        return ModuleOp([SequenceOp(name, [op.clone() for op in steps]) for name, steps in self._steps.items()])

    def steps_of(self, func: str) -> list[PrimitiveOp]:
        """Return copies of the steps of a function so far."""
        return [op.clone() for op in self._steps.get(func, ())]

    def __repr__(self) -> str:
        steps = ", ".join(f"{len(ops)} of {name}" for name, ops in self._steps.items())
        return f"<schedule: steps: {steps or 'none'}>"

    def _repr_html_(self) -> str:
        return find_part("html-of-schedule")(self)

    def apply(self, func: str, op: PrimitiveOp) -> Any:
        """Apply a primitive to a function; return the blocks and loops that its function returns, by name. Raises
        `CompileError` for an invalid one."""
        function = self.function(func)
        try:
            op.verify_()
        except VerifyException as e:
            fail(op, str(e))
        with suspended(is_kept=isinstance(op, _OF_KINDS)):
            made = apply_primitive(op, function)
        self._steps.setdefault(func, []).append(op)
        return _by_name(made, func)

    def get_block(self, name: str, func: str | None = None) -> Block:
        """Return a block by name; without `func`, the block of the one function that has such a block."""
        names = [func] if func is not None else self._functions_with(name)
        if len(names) != 1:
            raise UnknownNameError(f"expected one function with a block '{name}', found {', '.join(names) or 'none'}")
        found = Block(names[0], name)
        self.block_op(found)
        return found

    def get_loops(self, block: Block) -> list[Loop]:
        """Return the loops around a block, outermost first. Unlabelled loops of the function are given labels."""
        loops = loops_of(self.block_op(block))
        # Steps label the loops that they make: most calls need not look at the whole function.
        if block.func not in self._labelled or any(loop.label is None for loop in loops):
            self._label(block.func)
        return [Loop(block.func, loop.label.data) for loop in loops if loop.label is not None]

    def _label(self, func: str) -> None:
        """Give labels to the loops of a function that have none."""
        if any(type(op) is ForOp and op.label is None for op in structures_in(self.function(func))):
            self.apply(func, LabelLoopsOp())
        self._labelled.add(func)

    def function(self, name: str) -> PrimFuncOp:
        """Return a loop function of the module, in its current state."""
        found = named(self.module, name)
        if type(found) is not PrimFuncOp:
            raise UnknownNameError(f"expected a loop function, found no '{name}'")
        return found

    def block_op(self, block: Block) -> BlockOp:
        """Return a block of the module, in its current state."""
        return find_block(self.function(block.func), block.name)

    def loop_op(self, loop: Loop) -> ForOp:
        """Return a loop of the module, in its current state."""
        return find_loop(self.function(loop.func), loop.label)

    def _functions_with(self, block: str) -> list[str]:
        return [
            func.sym_name.data
            for func in self.module.ops
            if isinstance(func, PrimFuncOp)
            and any(isinstance(op, BlockOp) and op.block_name.data == block for op in func.walk())
        ]


def _by_name(made: object, func: str) -> Any:
    """Return the loops and blocks that a primitive returns by name."""
    match made:
        case BlockOp():
            return Block(func, made.block_name.data)
        case ForOp(label=StringAttr(data=label)):
            return Loop(func, label)
        case list():
            return [_by_name(part, func) for part in cast("list[object]", made)]
        case _:
            return None
