"""Race freedom: iterations that may run at the same time, or in any order, do not conflict."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from xdsl.ir import Operation, SSAValue

from relex.dialects.errors import in_line
from relex.dialects.index.constraints import Point, System, different, same
from relex.dialects.tir import BlockOp, ForOp, IterKind, LoopKind, PrimFuncOp, loops_around
from relex.dialects.tir.accesses import Access
from relex.passes.analysis.buffer_accesses import element_in, touches
from relex.passes.analysis.dependence import lifetime
from relex.passes.analysis.iteration_systems import Instance, idle_loops
from relex.passes.checking.findings import Finding, element, finding_of, values_of
from relex.passes.checking.verdicts import judge, unless_partial


@dataclass(frozen=True)
class IterationGroup:
    """Runs of `body` in one run of `scope` that differ in the values of `names`."""

    body: Operation
    scope: Operation
    names: Sequence[SSAValue]
    values: Sequence[SSAValue]
    kind: str


def check_races(function: PrimFuncOp) -> Iterator[Finding]:
    """For each parallel loop, and each block with its spatial variables, yield a finding for each buffer on which two
    iterations may conflict, at least one of them writing."""
    found = touches(function)
    for op in function.body.walk():
        group = _group_of(op, function)
        if group is None:
            continue
        inside = [touch for touch in found if _takes_part(touch, op)]
        written = dict.fromkeys(touch.buffer for touch in inside if touch.is_write)
        of_buffers = ([touch for touch in inside if touch.buffer is buffer] for buffer in written)
        yield from filter(None, (_check_buffer(group, own, function) for own in of_buffers))


def _takes_part(touch: Access, body: Operation) -> bool:
    """Return whether an access can make runs of `body` conflict: not if its buffer is local to them, nor if it is in
    the init of a reduction that they are steps of, which runs before them."""
    is_inside = body.is_ancestor(touch.op) and not body.is_ancestor(touch.buffer.owner)
    return is_inside and body not in idle_loops(touch.op)


def _group_of(op: Operation, function: PrimFuncOp) -> IterationGroup | None:
    match op:
        case ForOp() if op.kind.data is LoopKind.PARALLEL:
            kind = f"iteration of the parallel loop{in_line(op)}"
            return IterationGroup(op, op.parent_op() or function, [op.variable], [op.variable], kind)
        case BlockOp() if loops := list(loops_around(op)):
            spatial = [v for v in op.iter_vars if v.kind is IterKind.SPATIAL]
            names, values = [v.variable for v in spatial], [v.binding for v in spatial]
            kind = f"value of the spatial variables of block @{op.block_name.data}"
            return IterationGroup(op, loops[-1].parent_op() or function, names, values, kind)
        case _:
            return None


def _check_buffer(group: IterationGroup, own: Sequence[Access], function: PrimFuncOp) -> Finding | None:
    """Return the first certain conflict, else the first possible one."""
    doubt: Finding | None = None
    for number, first in enumerate(own):
        for second in own[: number + 1] if first.is_write else own[:number]:
            if not (first.is_write or second.is_write):
                continue
            writer, other = (second, first) if second.is_write else (first, second)
            finding = _check_pair(group, writer, other, function)
            if finding is not None and finding.certain:
                return finding
            doubt = doubt or finding
    return doubt


def _check_pair(group: IterationGroup, writer: Access, other: Access, function: PrimFuncOp) -> Finding | None:
    one = Instance(writer.op, Instance(function), function)
    two = Instance(other.op, one, lifetime(writer.buffer, group.scope))
    places = element_in(writer, one), element_in(other, two)
    own, others = ([run.form(value) for value in group.values] for run in (one, two))
    domain = one.whole_system & two.system
    meeting = System(tuple(same(a, b) for a, b in zip(*places, strict=True)))
    verdict = unless_partial(judge(domain, domain & meeting & different(own, others)), writer, other)

    def conflict(point: Point) -> str:
        found = f"{element(writer.buffer, places[0], point)} written at {values_of(group.names, own, point)}"
        found += f" and {'' if other.is_write else 'read '}at {values_of(group.names, others, point)}"
        purpose = "write an element" if other.is_write else "use an element that is written"
        return f"one {group.kind} to {purpose}, found {found}"

    rival = "writes" if other.is_write else "reads"
    return finding_of(writer.op, verdict, conflict, f"another {group.kind} {rival} the element")
