"""Schedules of a loop function that may be better than the default one on the machine at hand."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product

from relex.dialects.schedule import PrimitiveOp
from relex.dialects.target.processors import Processor
from relex.dialects.tir import PrimFuncOp
from relex.passes.loops.schedule_cpu import scheduled

REGISTERS = (1.0, 0.75, 0.5)
"""The share of the vector registers that tiles are made for."""

CACHES = (1.0, 0.5, 2.0, 4.0)
"""The sizes of caches that blocks are made for, relative to the sizes in the processor's record."""


@dataclass(frozen=True)
class Candidate:
    """A schedule: its steps, and where they come from."""

    steps: Sequence[PrimitiveOp]
    why: str

    @property
    def text(self) -> str:
        """The steps as text; equal for equal schedules."""
        return "\n".join(map(str, self.steps))


def candidates(func: PrimFuncOp, processor: Processor) -> list[Candidate]:
    """Return the default schedule of a function, and then its neighbours: those that the rules choose for a processor
    that differs a little, and those without one of the rules. Each stands there once."""
    found: dict[str, Candidate] = {}
    default = scheduled(func, processor)
    rules = {decision.rule for decision in default.decisions if decision.rule is not None}
    for why, record, without in _variants(processor, sorted(rules)):
        made = scheduled(func, record, without=without)
        candidate = Candidate(made.steps, why)
        found.setdefault(candidate.text, candidate)
    return list(found.values())


def _variants(processor: Processor, rules: Sequence[str]) -> Iterator[tuple[str, Processor, Sequence[str]]]:
    yield "the default", processor, ()
    for rule in rules:
        yield f"without {rule}", processor, [rule]
    widths = [processor.vector_bits, processor.vector_bits // 2]
    for bits, registers, l1, l2 in product(widths, REGISTERS, CACHES, CACHES):
        changed = [bits != widths[0], registers != 1.0, l1 != 1.0, l2 != 1.0]
        if sum(changed) in (1, 2):
            record = replace(
                processor,
                vector_bits=bits,
                vector_registers=int(processor.vector_registers * registers),
                l1_bytes=int(processor.l1_bytes * l1),
                l2_bytes=int(processor.l2_bytes * l2),
            )
            texts = (
                f"vectors of {bits} bits",
                f"{record.vector_registers} registers",
                f"a first-level cache of {record.l1_bytes} bytes",
                f"a second-level cache of {record.l2_bytes} bytes",
            )
            yield " and ".join(text for text, is_one in zip(texts, changed, strict=True) if is_one), record, ()
