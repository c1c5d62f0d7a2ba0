"""`--verify-roundtrip`: after each pass, the program is printed and read back as it is."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import zip_longest

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass

from relex.dialects.errors import CompileError, diagnose
from relex.dialects.parser import parse_module
from relex.dialects.upstream.printer import as_text
from relex.passes.driver.base import steps_of
from relex.tools.options.instrumentation import Instrumentation


@dataclass
class VerifyRoundtrip(Instrumentation):
    """Prints the program after each pass and parses it again, which must give the same program. The same text is not
    parsed twice: many passes change nothing."""

    context: Context
    _last: tuple[str, ModuleOp] | None = None
    """The text that was parsed last, and what it says."""

    def start(self, module: ModuleOp) -> None:
        self._verify(module, "the input")

    def after(self, p: ModulePass, module: ModuleOp) -> None:
        if not steps_of(p):
            self._verify(module, f"the program after pass '{p.name}'")

    def _verify(self, module: ModuleOp, what: str) -> None:
        if (found := find_difference(module, self._read_back(module, what))) is not None:
            op, difference = found
            raise CompileError(
                diagnose(op, f"expected {what} to be printed and read back as it is, found {difference}")
            )

    def _read_back(self, module: ModuleOp, what: str) -> ModuleOp:
        text = as_text(module, self.context)
        if self._last is None or self._last[0] != text:
            self._last = text, self._parse(text, module, what)
        return self._last[1]

    def _parse(self, text: str, module: ModuleOp, what: str) -> ModuleOp:
        try:
            return parse_module(text, "<printed>", context=self.context, verify=False)
        except CompileError as e:
            problem = e.diagnostics[0]
            line = (text.splitlines() or [""])[max(problem.line - 1, 0)].strip()
            message = f"expected the text of {what} to be readable, found {problem.message} in '{line}'"
            raise CompileError(diagnose(module, message)) from e


def find_difference(module: ModuleOp, again: ModuleOp) -> tuple[Operation, str] | None:
    """Return the first op that differs in a module that was parsed again, and a description of the difference, or
    None."""
    same: dict[SSAValue, SSAValue] = {}
    for old, new in zip_longest(module.walk(), again.walk()):
        if old is None or new is None:
            return module, "more ops" if old is None else f"no '{old.name}' op at its place"
        for a, b in _values(old, new):
            same[a] = b
        if (how := _how_it_differs(old, new)) is not None:
            return old, how
    for old, new in zip(module.walk(), again.walk(), strict=True):
        for i, (a, b) in enumerate(zip(old.operands, new.operands, strict=True)):
            if same.get(a) is not b:
                return old, f"another value as operand {i}"
    return None


def _values(old: Operation, new: Operation) -> list[tuple[SSAValue, SSAValue]]:
    """Return pairs of corresponding results and block arguments of two ops."""
    pairs: list[tuple[SSAValue, SSAValue]] = list(zip(old.results, new.results, strict=False))
    for regions in zip(old.regions, new.regions, strict=False):
        for blocks in zip(regions[0].blocks, regions[1].blocks, strict=False):
            pairs += zip(blocks[0].args, blocks[1].args, strict=False)
    return pairs


def _how_it_differs(old: Operation, new: Operation) -> str | None:
    if old.name != new.name:
        return f"'{new.name}'"
    for kind, a, b in (
        ("operands", len(old.operands), len(new.operands)),
        ("results", tuple(old.result_types), tuple(new.result_types)),
        ("blocks", [len(r.blocks) for r in old.regions], [len(r.blocks) for r in new.regions]),
        (
            "block arguments",
            [block.arg_types for r in old.regions for block in r.blocks],
            [block.arg_types for r in new.regions for block in r.blocks],
        ),
        ("successors", _positions(old), _positions(new)),
    ):
        if a != b:
            return f"other {kind}"
    for kind, before, after in (
        ("property", old.properties, new.properties),
        ("attribute", old.attributes, new.attributes),
    ):
        for name in sorted(before.keys() | after.keys()):
            if before.get(name) != after.get(name):
                return f"{kind} '{name}' as {after.get(name, 'nothing')}, which was {before.get(name, 'nothing')}"
    return None


def _positions(op: Operation) -> list[int]:
    """Return the positions of an op's successors in their region."""
    region = op.parent_region()
    blocks = list(region.blocks) if region is not None else []
    return [blocks.index(successor) for successor in op.successors]
