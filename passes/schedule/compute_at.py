"""`compute_at` and `reverse_compute_at`: move a block into a loop of its consumers, or of its producers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations_with_replacement

from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import InsertPoint

from relex.dialects.errors import fail, name_of
from relex.dialects.index.atoms import Atom
from relex.dialects.index.domains import constant_value
from relex.dialects.index.expr import Index, IndexExpr, span_of, terms_of
from relex.dialects.index.from_ir import index_of, is_below
from relex.dialects.schedule.block_primitives import ComputeAtOp, ReverseComputeAtOp
from relex.dialects.tir import BlockOp, ForOp, IterKind, IterVar, LoopKind, loops_around
from relex.dialects.tir.accesses import Access, Element
from relex.dialects.walks import walk_of
from relex.passes.analysis.buffers import accesses_in, buffers_read, buffers_written, check_only_writer, local_buffer
from relex.passes.analysis.dependence import block_accesses, carrying
from relex.passes.analysis.footprints import IndexInterval, Region, covers, interval_of, region_of
from relex.passes.analysis.kept import resumed
from relex.passes.analysis.loop_tree import (
    check_serial,
    check_structure,
    function_of,
    guard_of,
    is_reduction,
    label_of,
    loops_of,
    name_of_block,
    variables_of_kind,
)
from relex.passes.analysis.reduction_order import order_matters
from relex.passes.rewriting.index_arithmetic import IndexArithmetic, substitute
from relex.passes.rewriting.loop_edits import add_guard, erase_empty, insert_nest, new_loop
from relex.passes.schedule import code_motion
from relex.passes.schedule.arguments import NewNames
from relex.passes.schedule.compute_inline import elementwise_store
from relex.passes.schedule.primitive_table import primitive
from relex.passes.schedule.rebind import with_variables


@primitive(ComputeAtOp)
def compute_at(block: BlockOp, loop: ForOp, names: NewNames) -> None:
    """Move a block into a loop of its consumers: each iteration computes what it reads, in loops `ax0`, `ax1`, ..."""
    check_structure(loop)
    branch, other = code_motion.branches(block, loop)
    if not branch.is_before_in_block(other):
        fail(block, f"expected {name_of_block(block)} to stand before {label_of(loop)}")
    for around in (loop, *loops_around(loop)):
        check_serial(around)
    func = function_of(block)
    buffer, element = _written_element(block)
    local_buffer(buffer, block)
    check_only_writer(func, buffer, block)
    code_motion.check_runs_anywhere(block)
    _check_reduces_in_order(block)
    _check_whole_reduction(block, other)
    readers = [access for access in accesses_in(func, buffer) if access.block is not block]
    for reader in readers:
        if not loop.is_ancestor(reader.block):
            fail(block, f"every reader of {name_of(buffer)} must be inside {label_of(loop)}; "
                        f"{name_of_block(reader.block)} is not")  # fmt: skip
    if not readers:
        fail(block, f"expected {name_of(buffer)} to be read in {label_of(loop)}")
    code_motion.check_independent(block, list(code_motion.accesses_from(branch, other)), exempt=[buffer])
    region = region_of([reader.element for reader in readers], loop)
    variables = _variables_read(block, element, region)
    placement = _Placement(block, loop, _ranges_read(variables, element, region))
    first = next(op for op in loop.body.block.ops if any(op.is_ancestor(reader.block) for reader in readers))
    late, labels = code_motion.find_late_values(block, other), placement.labels(names)
    code_motion.move_before(late, other)
    replace(placement, block=with_variables(block, variables)).move(InsertPoint.before(first), labels)


def _written_element(block: BlockOp) -> tuple[SSAValue, Element]:
    """Return the buffer that a block writes and the indices of the element: each spatial variable once, and constants.
    Fail if the block accesses other elements of the buffer."""
    name = name_of_block(block)
    buffers = buffers_written(block)
    accesses = [access for access in block_accesses(block) if access.buffer in buffers]
    elements = {tuple(map(index_of, access.indices)) for access in accesses}
    if len(buffers) != 1 or len(elements) != 1:
        fail(block, f"expected {name} to write one element, and to read no others of its buffer")
    (element,) = elements
    spatial = [IndexExpr.of(v.variable) for v in block.iter_vars if v.kind is IterKind.SPATIAL]
    variables = [index for index in element if terms_of(index)]
    if set(variables) != set(spatial) or len(variables) != len(spatial):
        fail(block, f"expected the spatial variables of {name} as indices of {name_of(buffers[0])}, each once")
    if block.init is None and is_reduction(block):
        fail(block, f"expected the reduction {name} to have an init")
    return buffers[0], element


def _check_whole_reduction(block: BlockOp, other: Operation) -> None:
    """Fail if a reduction shares its own loops with its consumers, which would then see partial results."""
    shared = {loop.variable for loop in loops_around(other)}
    if variables_of_kind(block, IterKind.REDUCE) & shared:
        fail(block, f"expected the loops of the reduction {name_of_block(block)} around it alone")


def _variables_read(block: BlockOp, element: Element, region: Region) -> list[IterVar]:
    """Return the variables of a block, with extents that end where nothing beyond is read."""
    needed = {index: interval for index, interval in zip(element, region, strict=True) if interval is not None}
    return [_up_to(v, needed.get(IndexExpr.of(v.variable))) for v in block.iter_vars]


def _up_to(v: IterVar, interval: IndexInterval | None) -> IterVar:
    if interval is None or not isinstance(v.extent, int):
        return v
    end = span_of(interval.base).high + interval.extent
    return replace(v, extent=int(end)) if end < v.extent else v


def _ranges_read(variables: Sequence[IterVar], element: Element, region: Region) -> list[IndexInterval | None]:
    """Return for each variable of a block the values that a region of its buffer needs."""
    ranges: list[IndexInterval | None] = []
    for v in variables:
        index = IndexExpr.of(v.variable)
        interval = region[element.index(index)] if index in element else None
        ranges.append(interval if interval is not None and _is_part(interval, v.extent) else None)
    return ranges


def _is_part(interval: IndexInterval, extent: int | SSAValue) -> bool:
    """Return whether an interval is smaller than the range up to `extent`, but covers it as the outer loops run."""
    return isinstance(extent, SSAValue) or (interval.extent < extent and covers(interval, extent))


@primitive(ReverseComputeAtOp)
def reverse_compute_at(block: BlockOp, loop: ForOp, names: NewNames) -> None:
    """Move a block into a loop of its producers: each iteration consumes the elements that it has computed, in loops
    `ax0`, `ax1`, ... at the end of the loop."""
    check_structure(loop)
    branch, other = code_motion.branches(block, loop)
    if not other.is_before_in_block(branch):
        fail(block, f"expected {name_of_block(block)} to stand after {label_of(loop)}")
    if is_reduction(block):
        fail(block, f"expected {name_of_block(block)} to have spatial variables only, found a reduction")
    if any(around.kind.data is not LoopKind.SERIAL for around in (loop, *loops_around(loop))):
        elementwise_store(block)
    code_motion.check_runs_anywhere(block)
    _check_still_runs(block, loop, other)
    late, placement = _reversed(block, loop, branch, other)
    labels = placement.labels(names)
    code_motion.move_before(late, other)
    placement.move(InsertPoint.at_end(loop.body.block), labels)


@resumed()
def _reversed(
    block: BlockOp, loop: ForOp, branch: Operation, other: Operation
) -> tuple[Sequence[Operation], _Placement]:
    """Return what has to move with a block into a loop of its producers, and where it goes there. `branch` holds the
    loop and `other` the block, next to each other. Fail if the block cannot be there."""
    passed = list(code_motion.accesses_from(other, branch))
    inside = [access for access in passed if loop.is_ancestor(access.block) and access.is_write]
    produced = [buffer for buffer in buffers_read(block) if any(access.buffer is buffer for access in inside)]
    if not produced:
        fail(block, f"expected {name_of_block(block)} to read something that is computed in {label_of(loop)}")
    if guard_of(block) is not None:
        for written in buffers_written(block):
            check_only_writer(function_of(block), written, block)
    code_motion.check_independent(block, passed, exempt=produced)
    _check_any_order(block, branch)
    late = code_motion.find_late_values(block, other)
    shared = branch.parent_op()
    ranges = _ranges(block, loop, produced, shared if isinstance(shared, ForOp) else None)
    return late, _Placement(block, loop, ranges)


def _check_still_runs(block: BlockOp, loop: ForOp, other: Operation) -> None:
    """Fail if a block that may run would go into a loop without iterations, as a sum of no terms has."""
    if any(around.extent == 0 for around in loops_of(block)):
        return
    for around in (loop, *loops_around(loop)):
        if other.is_ancestor(around) and around.extent == 0:
            fail(block, f"expected {label_of(around)} to have iterations, found none")


def _check_any_order(block: BlockOp, branch: Operation) -> None:
    """Fail if iterations of the loops that a block leaves depend on each other: it will run in another order."""
    inner = [loop for loop in loops_of(block) if branch.is_ancestor(loop)]
    for a, b in combinations_with_replacement(block_accesses(block), 2):
        if carried := carrying(inner, a, b, conditions=False):
            elements = f"elements of {name_of(a.buffer)} that {name_of_block(block)} may touch in several"
            fail(block, f"expected independent iterations of {label_of(carried[0])}, found {elements}")


def _ranges(
    block: BlockOp, loop: ForOp, produced: Sequence[SSAValue], shared: ForOp | None
) -> list[IndexInterval | None]:
    """Return for each variable of a block the values for which one iteration of a loop computes the elements of the
    produced buffers. `shared` is the innermost loop around both, if any: over one of its iterations, the block must
    still do what it did before."""
    found: dict[SSAValue, IndexInterval | None] = {}
    for buffer in produced:
        for variable, interval in _finished(block, loop, buffer):
            if found.setdefault(variable, interval) != interval:
                fail(block, f"expected {label_of(loop)} to compute the same part of what {name_of_block(block)} reads")
    if shared is None:
        return [found.get(v.variable) for v in block.iter_vars]
    ranges: list[IndexInterval | None] = []
    is_private = all(shared.is_ancestor(buffer.owner) for buffer in produced if isinstance(buffer.owner, Operation))
    for v in block.iter_vars:
        if is_private and v.variable in found and _is_whole(index_of(v.binding), shared, v.extent):
            # All elements that the block reads in an iteration of `shared` are computed in it, each once.
            ranges.append(found[v.variable])
            continue
        before = interval_of(index_of(v.binding), shared)
        after = found.get(v.variable, before)
        if before is None or after is None or not before.full or _in_loop(after, shared) != before:
            fail(
                block,
                f"expected {label_of(shared)} to compute in each iteration what {name_of_block(block)} reads there",
            )
        ranges.append(after)
    return ranges


def _in_loop(interval: IndexInterval, loop: ForOp) -> IndexInterval | None:
    """Return all values that an interval takes in one iteration of a loop."""
    around = interval_of(interval.base, loop)
    if around is None:
        return None
    return IndexInterval(around.base, around.extent + interval.extent - 1, interval.full)


def _finished(block: BlockOp, loop: ForOp, buffer: SSAValue) -> list[tuple[SSAValue, IndexInterval | None]]:
    """Return the values of a block's variables for which one iteration of a loop completes the elements of a buffer.
    Fail if elements are computed in several iterations, or if this cannot be decided."""
    accesses = list(accesses_in(function_of(block), buffer))
    writes = [access for access in accesses if access.is_write]
    reads = [access for access in accesses if access.block is block]
    for write in writes:
        _check_finished(block, loop, write, writes)
    regions = [region_of([write.element], loop) for write in writes]
    ranges: list[tuple[SSAValue, IndexInterval | None]] = []
    for read in reads:
        for dimension, index in enumerate(read.indices):
            if constant_value(index) is not None and read.shape[dimension] == 1:
                continue
            variables = [v for v in block.iter_vars if v.variable is index]
            intervals = [region[dimension] for region in regions]
            if not variables:
                fail(block, f"expected {name_of_block(block)} to read {name_of(buffer)} at its variables")
            if any(interval != intervals[0] for interval in intervals):
                fail(block, f"expected the same part of {name_of(buffer)} to be written by all in {label_of(loop)}")
            extent = variables[0].extent
            if all(_is_whole(write.element[dimension], loop, extent) for write in writes):
                ranges.append((index, None))
            else:
                ranges.append((index, _checked(block, buffer, intervals[0], extent)))
    return ranges


def _is_whole(form: Index, loop: ForOp, extent: int | SSAValue) -> bool:
    """Return whether an index is the variable of a loop inside of `loop` that runs over the whole `extent`."""
    loops = [op for op in walk_of(loop, ForOp) if op is not loop]
    return any(form == IndexExpr.of(inner.variable) and inner.extent == extent for inner in loops)


def _check_finished(block: BlockOp, loop: ForOp, write: Access, writes: Sequence[Access]) -> None:
    buffer = write.buffer
    if not loop.is_ancestor(write.block):
        fail(block, f"every writer of {name_of(buffer)} must be inside {label_of(loop)}; "
                    f"{name_of_block(write.block)} is not")  # fmt: skip
    around = [outer for outer in loops_of(write.block) if outer.is_ancestor(loop)]
    for again in writes:
        if carried := carrying(around, write, again):
            fail(block, f"expected elements of {name_of(buffer)} to be computed in one iteration of "
                        f"{label_of(carried[-1])}, found several")  # fmt: skip


def _checked(block: BlockOp, buffer: SSAValue, interval: IndexInterval | None, extent: int | SSAValue) -> IndexInterval:
    """Return `interval` if it is certain to cover every value up to `extent`; otherwise fail."""
    if interval is None or not interval.full:
        fail(block, f"expected the part of {name_of(buffer)} that is computed in one iteration to be known")
    if not isinstance(extent, SSAValue) and not covers(interval, extent):
        fail(block, f"expected {name_of(buffer)} to be computed for all values that {name_of_block(block)} reads")
    return interval


def _check_reduces_in_order(block: BlockOp) -> None:
    """Fail if the loops of a block's reduction are not in the order of its variables, and the order matters."""
    expected: list[Atom] = []
    for v in block.iter_vars:
        if v.kind is IterKind.REDUCE:
            terms = sorted(terms_of(index_of(v.binding)).items(), key=lambda term: -term[1])
            expected += [atom for atom, _ in terms]
    found = [loop.variable for loop in loops_of(block) if loop.variable in expected]
    if found != expected and (reason := order_matters(block)) is not None:
        fail(block, f"expected the loops of the reduction {name_of_block(block)} in the order of its variables, as "
                    f"{reason}")  # fmt: skip


@dataclass(frozen=True)
class _Placement:
    """The destination of a block: a loop, and the interval that each of its variables runs through; None for all."""

    block: BlockOp
    loop: ForOp
    ranges: Sequence[IndexInterval | None]

    def labels(self, names: NewNames) -> list[str]:
        """Return labels for the new loops: `ax0`, `ax1`, ..."""
        count = sum(interval is None or interval.extent != 1 for interval in self.ranges)
        return names.take(loops=[f"ax{i}" for i in range(count)])[1]

    def move(self, at: InsertPoint, labels: Sequence[str]) -> None:
        """Move the block into new loops, and erase the loops that it leaves empty."""
        block = self.block
        left = block.parent_op()
        block.detach()
        erase_empty(left)
        forms: list[Index] = []
        loops: list[ForOp] = []
        for v, interval in zip(block.iter_vars, self.ranges, strict=True):
            if interval is not None and interval.extent == 1:
                forms.append(interval.base)
                continue
            extent = v.extent if interval is None else interval.extent
            loops.append(new_loop(extent, labels[len(loops)], block))
            variable = IndexExpr.of(loops[-1].variable)
            forms.append(variable if interval is None else interval.base + variable)
        insert_nest(loops, block, at)
        emitter = IndexArithmetic(block)
        for i, form in enumerate(forms):
            block.operands[i] = emitter.emit(form)
        self._guard(forms)
        substitute(self.loop)

    def _guard(self, forms: Sequence[Index]) -> None:
        """Guard the block where an interval exceeds the range of a variable."""
        for v, form, interval in zip(self.block.iter_vars, forms, self.ranges, strict=True):
            if interval is None:
                continue
            if span_of(form).low < 0:
                add_guard(self.block, form, 0, "sge")
            if not is_below(form, v.extent):
                add_guard(self.block, form, v.extent)
