"""Random schedules: each step is refused with a reason, or leaves the function computing what it did."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from schedules import PROGRAMS, check, program

from relex.dialects import parse_module
from relex.dialects.errors import CompileError
from relex.passes import ApplySchedulePass
from relex.passes.schedule import Schedule
from relex.reference.fuzzing.steps import RandomStep


@pytest.mark.sampled
@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("strict", [False, True])
@given(seed=st.integers(0, 2**32 - 1))
@settings(deadline=None, max_examples=4)
def test_random_schedules(name: str, strict: bool, seed: int) -> None:
    random = Random(seed)
    schedule = Schedule(program(name, strict=strict))
    for _ in range(random.randint(1, 8)):
        try:
            RandomStep(schedule, name, random).apply()
        except CompileError as e:
            (diagnostic,) = e.diagnostics
            assert any(word in diagnostic.message for word in ("expected", "cannot", "must be", "carries values"))
            assert "\n" not in diagnostic.message
    check(schedule, name, strict=strict, exact=not strict and name != "softmax")
    replay(schedule, name, strict)


def replay(schedule: Schedule, name: str, strict: bool) -> None:
    """The trace as text, applied to the function as it was, gives the same."""
    (func,) = program(name, strict=strict).ops
    steps = [str(op) for op in schedule.trace().ops]
    again = ApplySchedulePass()(parse_module("\n".join([str(func), *steps])))
    assert str(again) == str(schedule.module)
