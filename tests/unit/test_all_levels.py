"""Random graphs of all operators compute the same at every level, and as machine code."""

from __future__ import annotations

from hypothesis import HealthCheck, given, settings
from random_graphs import MAKERS, graphs, operator_of
from xdsl.dialects.builtin import ModuleOp

from relex.dialects.relex import Operator, Relex
from relex.lowering import RelexPipelinePass
from relex.reference import check_pass

UNDECIDED = "it decides by numbers that rounding may change"
"""Where a place is computed from a sum, say; then all other levels must agree."""


def test_no_operator_is_forgotten() -> None:
    assert {operator_of(make) for make in MAKERS} == {op for op in Relex.operations if issubclass(op, Operator)}


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(module=graphs())
def test_all_levels_agree(module: ModuleOp) -> None:
    """Every level is compared with the one above; the bounds of what may differ are those of the program."""
    report = check_pass(RelexPipelinePass(), module, samples=1)
    assert ("convert-to-llvm", "main") in report.compared or set(report.skipped.values()) == {UNDECIDED}
