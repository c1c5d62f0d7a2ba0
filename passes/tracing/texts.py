"""Ops as single lines of text, with the names that their values have in the printed module."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from io import StringIO
from typing import IO

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, Region, SSAValue

from relex.dialects.upstream.printer import ElidingPrinter


class OpTexts:
    """
    Prints single ops of a module. Values have the names under which the whole module is printed now; values that are
    new get the names of those that they replace, or new ones.
    """

    def __init__(self, module: ModuleOp):
        self._names: dict[SSAValue, str] = {}
        self._counts: dict[Operation | None, dict[str | None, int]] = {}
        for function in module.ops:
            for value in _values(function):
                self._names[value] = self._new_name(value, function)

    def text(self, op: Operation) -> str:
        """Return an op as text, without the contents of its regions and without long constants."""
        text = StringIO()
        _LinePrinter(text, self).print_op(op)
        return " ".join(text.getvalue().split())

    def value_text(self, value: SSAValue) -> str:
        """Return the name and the type of a value."""
        return f"%{self.name(value)} : {value.type}"

    def name(self, value: SSAValue) -> str:
        """Return the name of a value, without a percent sign."""
        if value not in self._names:
            self._names[value] = self._new_name(value, _function(value))
        return self._names[value]

    def replaced(self, old: Sequence[SSAValue], new: Sequence[SSAValue | None]) -> None:
        """Give values without a name the names of the values that they replace."""
        for before, after in zip(old, new, strict=True):
            if after is not None and before in self._names:
                self._names.setdefault(after, self._names[before])

    def _new_name(self, value: SSAValue, function: Operation | None) -> str:
        counts = self._counts.setdefault(function, {})
        hint = value.name_hint
        number = counts.get(hint, 0)
        counts[hint] = number + 1
        if hint is None:
            return str(number)
        return f"{hint}_{number}" if number else hint


def _values(op: Operation) -> Iterator[SSAValue]:
    """Yield the values that an op defines and those in it, in the order in which they are printed."""
    yield from op.results
    for region in op.regions:
        for block in region.blocks:
            yield from block.args
            for inner in block.ops:
                yield from _values(inner)


def _function(value: SSAValue) -> Operation | None:
    """Return the op directly in the module that a value belongs to."""
    op = value.owner if isinstance(value.owner, Operation) else value.owner.parent_op()
    while op is not None and op.parent_op() is not None and not isinstance(op.parent_op(), ModuleOp):
        op = op.parent_op()
    return op


class _LinePrinter(ElidingPrinter):
    """Prints `{...}` in place of regions. Values have the names that they have in `texts`."""

    def __init__(self, stream: IO[str], texts: OpTexts):
        super().__init__(stream)
        self.texts = texts

    def print_ssa_value(self, value: SSAValue) -> str:
        name = self.texts.name(value)
        self.print_string(f"%{name}")
        return name

    def print_region(
        self,
        region: Region,
        print_entry_block_args: bool = True,
        print_empty_block: bool = True,
        print_block_terminators: bool = True,
    ) -> None:
        self.print_string("{...}")

    def print_block(self, block: Block, print_block_args: bool = True, print_block_terminator: bool = True) -> None:
        self.print_string("...")
