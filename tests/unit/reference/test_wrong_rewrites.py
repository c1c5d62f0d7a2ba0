"""Wrong rewrites are caught by name; right ones pass."""

from __future__ import annotations

import pytest
from wrong_rewrites import CASES, Case

from relex.reference import NotEquivalentError, check_pass


def test_there_are_enough() -> None:
    assert len(CASES) >= 30
    assert {case.level for case in CASES.values()} == {"graph", "loops", "core"}


@pytest.mark.parametrize("name", CASES)
def test_a_wrong_rewrite_is_caught(name: str) -> None:
    case = CASES[name]
    with pytest.raises(NotEquivalentError, match=f"pass '{name}' changes what @"):
        check_pass(case.wrong, case.module)


@pytest.mark.parametrize("case", [case for case in CASES.values() if case.right], ids=lambda case: case.wrong.name)
def test_the_right_rewrite_is_not(case: Case) -> None:
    assert case.right is not None
    report = check_pass(case.right, case.module)
    assert (case.right.name, "main") in report.compared
    assert report.skipped == {}
