"""Blocks that read elements at quotients and remainders of a loop's variable, such as repeated rows."""

from __future__ import annotations

from itertools import pairwise

from relex.dialects.errors import fail
from relex.dialects.index.atoms import Quotient, Remainder
from relex.dialects.index.expr import IndexExpr, atoms_in
from relex.dialects.index.from_ir import index_of
from relex.dialects.target.processors import Processor
from relex.dialects.tir import BlockOp, ForOp
from relex.dialects.tir.accesses import Access
from relex.passes.analysis.dependence import block_accesses
from relex.passes.analysis.loop_tree import name_of_block
from relex.passes.cpu import cost
from relex.passes.cpu.reduction_nest import check_at_least, count, named, position_of, spatial_loops
from relex.passes.cpu.rule import Plan
from relex.passes.schedule import Loop, Schedule


def split_at_divisors(block: BlockOp, processor: Processor) -> Plan:
    """Split loops whose quotients and remainders are indices, so that each of these has a separate loop, without a
    division for each element. LLVM makes vectors of the innermost one.

    ```mlir
    tir.for %i in (1000) {
      ... // y[i] = x[i % 250]
    }
    // split_at_divisors
    tir.for %i0, %i1 in (4, 250) {
      ... // y[250 i0 + i1] = x[i1]
    }
    ```
    """
    loops = spatial_loops(block)
    check_at_least(block, cost.MIN_STEPS, count(loops), "elements")
    factors = {named(loop): found for loop in loops if (found := _factors(block, loop))}
    if not factors:
        fail(block, f"expected {name_of_block(block)} to use quotients or remainders of a loop that divide it")
    summary = ", ".join("x".join(map(str, found)) for found in factors.values())
    return Plan(f"loops of {summary} iterations", lambda schedule: _schedule(schedule, factors))


def _factors(block: BlockOp, loop: ForOp) -> list[int | str]:
    """Return the extents of loops that together replace a loop, "?" for one that is only known at run time; none if its
    variable is not divided, or not evenly, or if quotients and remainders add up to a place in memory without any."""
    variable, extent = IndexExpr.of(loop.variable), loop.extent
    forms = [form for access in block_accesses(block) if not _is_linear(access) for form in access.element]
    atoms = {atom for form in forms for atom in atoms_in(form) if isinstance(atom, Quotient | Remainder)}
    whole = extent if isinstance(extent, int) else index_of(extent)
    divisors = {atom.divisor for atom in atoms if atom.dividend == variable}
    steps = sorted({1, *divisors} - {whole})
    if len(steps) < 2 or whole % steps[-1] != 0 or any(large % small for small, large in pairwise(steps)):
        return []
    outer = whole // steps[-1]
    inner = [large // small for small, large in pairwise(steps)]
    return [outer if isinstance(outer, int) else "?", *reversed(inner)]


def _is_linear(access: Access) -> bool:
    place = position_of(access)
    return place is not None and not any(isinstance(atom, Quotient | Remainder) for atom in atoms_in(place))


def _schedule(schedule: Schedule, factors: dict[Loop, list[int | str]]) -> None:
    for loop, (_, *inner) in factors.items():
        schedule.split(loop, [None, *(n for n in inner if isinstance(n, int))])
