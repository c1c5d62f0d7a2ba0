"""Random graphs of all operators compute the same at every level, and as machine code."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from operator_cases import CASES
from programs import operator_of
from random_graphs import graphs
from xdsl.dialects.builtin import ModuleOp

from relex.dialects.relex import Operator, Relex
from relex.lowering import RelexPipelinePass
from relex.reference import check_pass
from relex.reference.fuzzing.graph_functions import OPERATORS, random_graph

UNDECIDED = "it decides by numbers that rounding may change"
"""Where a place is computed from a sum, say; then all other levels must agree."""


def test_no_operator_is_forgotten() -> None:
    assert {operator_of(make) for make, _ in CASES} == {op for op in Relex.operations if issubclass(op, Operator)}


@pytest.mark.parametrize("kind", OPERATORS, ids=lambda kind: kind.name)
def test_graphs_may_have_every_operator(kind: type[Operator]) -> None:
    found = (random_graph(Random(seed), [kind], 1) for seed in range(10))
    assert any(isinstance(op, kind) for module in found for op in module.walk())


@settings(max_examples=2, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(module=graphs())
def test_all_levels_agree(module: ModuleOp) -> None:
    """Every level is compared with the one above; the bounds of what may differ are the program's."""
    report = check_pass(RelexPipelinePass(), module, samples=1)
    assert ("convert-to-llvm", "main") in report.compared or set(report.skipped.values()) == {UNDECIDED}
