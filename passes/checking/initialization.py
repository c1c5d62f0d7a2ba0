"""
Definite initialization: every read sees a write, and every output element is written.

A read happens in some iteration. Before it, earlier ops have run in the same iteration, and all ops in earlier ones:
for each loop around both, an instance of the write with a smaller value of that loop's variable, and the same values of
the variables outside. Each such *piece* is a set of elements, once the variables that belong to the write alone are
eliminated. The end of a function counts as a read of all elements of its outputs.

Counterexamples decide whether the pieces cover what is read: as long as there is an element outside of the pieces met
so far, the piece that holds it is added; an element that is in no piece is an error.

Reading an uninitialized element is harmless if it only serves to compute elements of a local buffer that nothing reads:
a tile at the edge computes columns that do not exist. `uses.py` finds the uses of an element.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, islice

from xdsl.dialects import memref, scf
from xdsl.ir import SSAValue

from relex.dialects.errors import name_of
from relex.dialects.index.atoms import VariableOrigin
from relex.dialects.index.constraints import Constraint, Point, System, different, less, same, unknowns, within
from relex.dialects.index.elimination import TooHardError, inner_projection
from relex.dialects.index.expr import Index, IndexExpr, combination, constant_of
from relex.dialects.index.solve import find_point
from relex.dialects.tir import AllocBufferOp, ForOp, PrimFuncOp
from relex.dialects.tir.accesses import Access
from relex.passes.analysis.buffer_accesses import element_in, strangers, touches
from relex.passes.analysis.iteration_systems import Instance, comes_first, idle_loops, scopes_around
from relex.passes.analysis.sharing import accessed
from relex.passes.checking.findings import Finding, element, finding_of, when
from relex.passes.checking.uses import Use, uses_of
from relex.passes.checking.verdicts import TOO_HARD, Undecided, Verdict, judge, unless_partial

MOST_PIECES = 64
MOST_EXAMPLES = 500


def check_contents(function: PrimFuncOp) -> Iterator[Finding]:
    """Yield a finding for each read, and for each output at the end of the function; skip buffers that unknown ops
    use."""
    strange = {buffer for _, buffer in strangers(function)}
    found = [touch for touch in touches(function) if touch.buffer not in strange]
    writes: dict[SSAValue, list[Access]] = {buffer: [] for buffer in map(accessed, function.outputs)}
    for touch in found:
        if touch.is_write or isinstance(touch.buffer.owner, AllocBufferOp | memref.AllocOp | memref.AllocaOp):
            writes.setdefault(touch.buffer, []).extend([touch] if touch.is_write else [])
    reads = (touch for touch in found if not touch.is_write and touch.buffer in writes)
    of_reads = (_check_read(read, writes[read.buffer], found, function) for read in reads)
    outputs = (output for output in map(accessed, function.outputs) if output not in strange)
    of_outputs = (_check_output(output, writes[output], function) for output in outputs)
    yield from filter(None, chain(of_reads, of_outputs))


def _check_read(
    read: Access, writes: Sequence[Access], everything: Sequence[Access], function: PrimFuncOp
) -> Finding | None:
    if _check_use(read, Use(), writes, function) is None:
        return None
    findings = (_check_use(read, use, writes, function) for use in uses_of(read, everything))
    return next(filter(None, findings), None)


def _check_use(read: Access, use: Use, writes: Sequence[Access], function: PrimFuncOp) -> Finding | None:
    run = Instance(read.op, Instance(function), function)
    place = element_in(read, run)
    pieces = [piece for write in writes for piece in _pieces_before(write, read, place, run)]
    for dimension, index in enumerate(place):
        run.require(within(index, run.size(read.buffer, dimension)))
    use.require_in(run)
    buffer = name_of(read.buffer)
    verdict = unless_partial(_uncovered(run.whole_system, pieces), read)

    def missing(point: Point) -> str:
        found = f"no write to {element(read.buffer, place, point)} before it is read{when(run, point)}"
        return f"{buffer} to be written before it is read, found {found}"

    return finding_of(read.op, verdict, missing, f"{buffer} is written before it is read")


def _check_output(output: SSAValue, writes: Sequence[Access], function: PrimFuncOp) -> Finding | None:
    run = Instance(function)
    place = run.element(output)
    pieces = [_Piece(Instance(write.op, run, function), write, place) for write in writes]
    verdict, whole = _uncovered(run.whole_system, pieces), f"all of {name_of(output)}"

    def missing(point: Point) -> str:
        return f"{whole} to be written, found no write to {element(output, place, point)}{when(run, point)}"

    return finding_of(function, verdict, missing, f"{whole} is written")


def _pieces_before(write: Access, read: Access, place: Sequence[Index], run: Instance) -> Iterator[_Piece]:
    """Yield the pieces that a write has written before an instance of a read."""
    home = write.buffer.owner.parent_op()
    around_write = [write.op, *scopes_around(write.op)]
    common = [scope for scope in (read.op, *scopes_around(read.op)) if scope in around_write]
    if comes_first(write.op, read.op, common[0]):
        yield _Piece(Instance(write.op, run, common[0]), write, place)
    for loop in common:
        if isinstance(loop, ForOp | scf.ForOp) and loop is not home and home is not None and home.is_ancestor(loop):
            earlier = Instance(write.op, run, loop.parent_op())
            variable = loop.body.block.args[0]
            earlier.require(System.of(less(earlier.form(variable), run.form(variable))))
            yield _Piece(earlier, write, place)


class _Piece:
    """The elements that a write has written in some iterations, seen from an instance of a read."""

    def __init__(self, writer: Instance, write: Access, place: Sequence[Index]):
        written = element_in(write, writer)
        writer.require(System(tuple(same(a, b) for a, b in zip(written, place, strict=True))))
        self._writer = writer
        # An init runs once; a buffer that is allocated inside of its reduction sees it in the first step only.
        home = write.buffer.owner.parent_op()
        self._is_doubtful = home is not None and any(loop.is_ancestor(home) for loop in idle_loops(write.op))

    def cases(self) -> list[_Case]:
        """Return the disjuncts of the piece. Raises `TooHardError` for too many."""
        found = list(islice(self._writer.system.cases(), MOST_PIECES + 1))
        if len(found) > MOST_PIECES:
            raise TooHardError
        return [_Case(constraints, self._writer, self._is_doubtful) for constraints in found]


class _Case:
    """A part of a piece without disjunctions."""

    def __init__(self, constraints: Sequence[Constraint], writer: Instance, is_doubtful: bool):
        own = {v for c in constraints for v in unknowns(c.form) if v in writer.variables}
        self.unknown = sorted({v.name for v in own if v.origin is VariableOrigin.DATA})
        """The names of the data that decides, besides the loops, whether an element is written."""
        self.is_certain = not self.unknown and not is_doubtful
        self._constraints = constraints
        self._own = own

    def holds(self, point: Point) -> bool:
        """Return whether the element at a point is in this case."""
        return find_point(System(tuple(self._at(c, point) for c in self._constraints))) is not None

    def _at(self, c: Constraint, point: Point) -> Constraint:
        kept = {v: f for v, f in unknowns(c.form).items() if v in self._own}
        others = sum(f * point.get(v, 0) for v, f in unknowns(c.form).items() if v not in self._own)
        return Constraint(combination(constant_of(c.form) + others, kept), c.modulus)

    def complement(self, point: Point) -> System:
        """Return the points known to be outside of this case, at least all but `point`."""
        inner = self._inner
        if inner is not None and all(c.holds_at(point) for c in inner):
            return System.any_of(part for c in inner for part in c.negated())
        seen = {v for c in self._constraints for v in unknowns(c.form)} - self._own
        return different([IndexExpr.of(v) for v in seen], [point.get(v, 0) for v in seen])

    @cached_property
    def _inner(self) -> list[Constraint] | None:
        return inner_projection(self._constraints, lambda v: v in self._own)


@dataclass(frozen=True)
class _Cover:
    """Looks for elements that are in no case. Cases that are certain come first."""

    cases: Sequence[_Case]

    def find(self, system: System) -> Point | Undecided | None:
        """Return a point in no case, None if there is none, or `Undecided`."""
        for _ in range(MOST_EXAMPLES):
            point = find_point(system)
            if point is None:
                return None
            case = next((case for case in self.cases if case.holds(point)), None)
            if case is None:
                return point
            if not case.is_certain:
                return Undecided(f"that depends on {', '.join(case.unknown) or 'when a buffer is made'}")
            system &= case.complement(point)
        return TOO_HARD


def _uncovered(domain: System, pieces: Sequence[_Piece]) -> Verdict:
    """Decide whether `domain` has a point whose element is in no piece."""
    try:
        cases = [case for piece in pieces for case in piece.cases()]
    except TooHardError:
        return TOO_HARD
    return judge(domain, domain, _Cover(sorted(cases, key=lambda case: not case.is_certain)).find)
