"""The file of tuned schedules: loop functions, and the steps for each that has a better schedule than the default."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from xdsl.dialects.builtin import ModuleOp, StringAttr

from relex.dialects.context import make_context
from relex.dialects.errors import RelexError
from relex.dialects.parser import parse_module
from relex.dialects.schedule import PrimitiveOp, SequenceOp
from relex.dialects.target.target_attribute import Target, get_target, set_target
from relex.dialects.tir import PrimFuncOp
from relex.dialects.upstream.printer import as_text
from relex.passes.loops.apply_tuning import identity
from relex.tools.shell.diagnostics import ToolError, read_text, write_bytes


class Record:
    """The tuned schedules for a target, by the identity of loop functions."""

    def __init__(self, target: Target):
        self.target = target
        self._module = ModuleOp([])
        self._known: set[str] = set()
        set_target(self._module, target)

    @classmethod
    def load(cls, path: Path, target: Target) -> Record:
        """Read a file. Raises `ToolError` for one that is for another target, or that cannot be read."""
        record = cls(target)
        name, text = read_text(str(path))
        try:
            module = parse_module(text, name)
        except RelexError as e:
            raise ToolError(f"cannot resume '{path}': {e}") from e
        if get_target(module) != target:
            raise ToolError(f"expected '{path}' to be for {target}, found {get_target(module)}")
        record._module = module
        record._known = {identity(op) for op in module.ops if isinstance(op, PrimFuncOp)}
        return record

    def __contains__(self, func: PrimFuncOp) -> bool:
        return identity(func) in self._known

    def add(self, func: PrimFuncOp, steps: Sequence[PrimitiveOp] | None) -> None:
        """Add a function with the steps that are better than the default, or None."""
        taken = {op.sym_name.data for op in self._module.ops if isinstance(op, PrimFuncOp)}
        name = func.sym_name.data
        name = next(n for i in range(len(taken) + 1) if (n := f"{name}_{i}" if i else name) not in taken)
        copy = func.clone()
        copy.sym_name = StringAttr(name)
        block = self._module.body.block
        block.add_op(copy)
        if steps is not None:
            block.add_op(SequenceOp(name, [op.clone() for op in steps]))
        self._known.add(identity(func))

    def __str__(self) -> str:
        return as_text(self._module, make_context())

    def save(self, path: Path) -> None:
        """Write the file."""
        write_bytes(str(path), str(self).encode())
