"""
Small wrong edits of what passes return: operands swapped, a predicate or a constant off by one, a store lost.

`python extras/proof/tests/wrong_edits.py` makes each of them, one at a time, after each pass of the default compilation
of a small program, and counts how many a proof refutes. `--every 10` makes only some.
"""

from __future__ import annotations

import argparse
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from xdsl.dialects import arith, memref, scf
from xdsl.dialects.builtin import IndexType, IntegerAttr, ModuleOp
from xdsl.dialects.utils import FastMathFlag
from xdsl.ir import Operation
from xdsl.passes import ModulePass

from relex.dialects import parse_module
from relex.dialects.context import make_context
from relex.dialects.errors import RelexError
from relex.dialects.parser import verify_module
from relex.dialects.tir import ForOp
from relex.lowering import RelexPipelinePass
from relex.passes.driver.base import apply_pass
from relex.reference.equivalence.check import Checker
from relex.reference.equivalence.verdicts import Certainty

PROGRAM = """
func.func @main(%x: tensor<3x7xf32>, %w: tensor<19x7xf32>, %b: tensor<19xf32>, %y: tensor<3x19xf32>)
    -> tensor<3x19xf32> {
  %0 = relex.dense %x, %w : (tensor<3x7xf32>, tensor<19x7xf32>) -> tensor<3x19xf32>
  %1 = relex.add %0, %b : (tensor<3x19xf32>, tensor<19xf32>) -> tensor<3x19xf32>
  %2 = relex.relu %1 : (tensor<3x19xf32>) -> tensor<3x19xf32>
  %3 = relex.subtract %2, %y : (tensor<3x19xf32>, tensor<3x19xf32>) -> tensor<3x19xf32>
  %4 = relex.divide %3, %y : (tensor<3x19xf32>, tensor<3x19xf32>) -> tensor<3x19xf32>
  func.return %4 : tensor<3x19xf32>
}
"""

Edit = Callable[[Operation], bool]
"""Edits an op; returns whether that was possible."""

EDITS: dict[str, Edit] = {}


def edit(make: Edit) -> Edit:
    """Register an edit."""
    EDITS[make.__name__.replace("_", "-")] = make
    return make


@edit
def swap_operands(op: Operation) -> bool:
    if not isinstance(op, arith.SubfOp | arith.DivfOp | arith.SubiOp | arith.SelectOp):
        return False
    *rest, a, b = op.operands
    op.operands = [*rest, b, a]
    return a is not b


@edit
def subtract_for_add(op: Operation) -> bool:
    if not isinstance(op, arith.AddfOp):
        return False
    return _replace(op, arith.SubfOp(op.lhs, op.rhs, op.fastmath))


@edit
def ignore_nan(op: Operation) -> bool:
    if not isinstance(op, arith.MaximumfOp):
        return False
    return _replace(op, arith.MaxnumfOp(op.lhs, op.rhs, op.fastmath))


@edit
def regroup_strict_sum(op: Operation) -> bool:
    if not isinstance(op, arith.AddfOp) or FastMathFlag.REASSOC in op.fastmath.data:
        return False
    op.fastmath = arith.FastMathFlagsAttr("fast")
    return True


@edit
def compare_off_by_one(op: Operation) -> bool:
    """Turn < into <= and so on."""
    other = {2: 3, 3: 2, 4: 5, 5: 4, 0: 1}
    if not isinstance(op, arith.CmpiOp) or op.predicate.value.data not in other:
        return False
    op.predicate = IntegerAttr(other[op.predicate.value.data], 64)
    return True


@edit
def constant_off_by_one(op: Operation) -> bool:
    if not isinstance(op, arith.ConstantOp) or not isinstance(op.value, IntegerAttr):
        return False
    op.value = IntegerAttr(op.value.value.data + 1, op.value.type)
    return isinstance(op.result.type, IndexType)


@edit
def extent_off_by_one(op: Operation) -> bool:
    if not isinstance(op, ForOp) or not isinstance(op.extent, int) or op.extent < 2:
        return False
    op.static_extent = IntegerAttr(op.extent - 1, op.static_extent.type)  # pyright: ignore
    return True


@edit
def lose_store(op: Operation) -> bool:
    if not isinstance(op, memref.StoreOp):
        return False
    op.detach()
    return True


@edit
def lose_condition(op: Operation) -> bool:
    """Run the body of an `if` always."""
    if not isinstance(op, scf.IfOp) or op.results or op.parent is None:
        return False
    for inner in list(op.true_region.block.ops):
        inner.detach()
        if not isinstance(inner, scf.YieldOp):
            op.parent.insert_op_before(inner, op)
    op.detach()
    return True


@edit
def other_index(op: Operation) -> bool:
    """Load with two indices swapped, or the last one twice."""
    if not isinstance(op, memref.LoadOp) or len(op.indices) < 2 or op.indices[0] is op.indices[1]:
        return False
    first, last, *rest = op.indices
    op.operands = [op.memref, last, last, *rest] if first is not last else op.operands
    return True


def _replace(op: Operation, new: Operation) -> bool:
    assert op.parent is not None
    op.parent.insert_op_before(new, op)
    op.results[0].replace_all_uses_with(new.results[0])
    op.detach()
    return True


@dataclass(frozen=True)
class WrongEdit:
    """An edit of what a pass returns."""

    p: ModulePass
    name: str
    place: int
    """The number of the op."""
    before: ModuleOp
    after: ModuleOp

    def __str__(self) -> str:
        return f"{self.name} of op {self.place} after '{self.p.name}'"

    def is_refuted(self) -> bool | None:
        """Return whether a check finds the edit; None if it neither proves nor refutes
        it."""
        checker = Checker(samples=1, proof=True)
        checker.start(self.before)
        if checker.after(self.p, self.after) is not None:
            return True
        kinds = {f.verdict.kind for f in checker.report.findings}
        return False if Certainty.PROVED in kinds or Certainty.UNCHANGED in kinds else None


def wrong_edits(text: str = PROGRAM, only: str | None = None) -> Iterator[WrongEdit]:
    """Yield all edits of what passes return, as far as that is a valid program and one that the pass changed. With
    `only`, those after one pass."""
    module = parse_module(text)
    for p in RelexPipelinePass(to="core").steps():
        before = module.clone()
        apply_pass(p, make_context(), module)
        if only not in (None, p.name) or before.is_structurally_equivalent(module):
            continue
        for name, change in EDITS.items():
            for place, _ in enumerate(module.walk()):
                edited = module.clone()
                if change(list(edited.walk())[place]) and _is_valid(edited):
                    yield WrongEdit(p, name, place, before, edited)


def _is_valid(module: ModuleOp) -> bool:
    try:
        verify_module(module)
    except (RelexError, ValueError):
        return False
    return True


def main() -> None:
    """Count what is refuted."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--every", type=int, default=1, help="make only one of this many edits")
    parser.add_argument("--start", type=int, default=0, help="which one first")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    counts: Counter[tuple[str, bool | None]] = Counter()
    for number, wrong in enumerate(wrong_edits()):
        if number % args.every == args.start:
            refuted = wrong.is_refuted()
            counts[wrong.name, refuted] += 1
            if not refuted:
                print(f"{wrong}: {'taken for right' if refuted is False else 'not proved, and no sample shows it'}")
    for (name, refuted), count in sorted(counts.items(), key=str):
        print(f"{name}: {count} {'refuted' if refuted else 'not refuted'}")


if __name__ == "__main__":
    main()
