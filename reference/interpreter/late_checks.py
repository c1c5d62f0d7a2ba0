"""Checks of sizes that a run finds out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from xdsl.ir import Block, Operation, SSAValue

from relex.dialects.errors import PassError, fail_sizes
from relex.dialects.sizes import MAX_SIZE, evaluate, names_in
from relex.dialects.sizes.late import LateCheck
from relex.dialects.sizes.modules import ModuleSizes, may_have_late_sizes

Check = Callable[[list[Any]], None]
"""Checks the values in a frame."""


def late_checks(function: Operation, slot: Callable[[SSAValue], int]) -> Mapping[SSAValue | Block, list[Check]]:
    """Return what is to be checked in a function as soon as a value is known, or where a branch begins. `slot` says
    where values are in a frame."""
    found: dict[SSAValue | Block, list[Check]] = {}
    if not may_have_late_sizes(function):
        return found
    with suppress(PassError):  # A program whose sizes cannot be inferred has no such checks; its ops check themselves.
        late = ModuleSizes().late(function)
        places = {name: (slot(value), dimension) for name, (value, dimension) in late.places.items()}
        for check in late.checks:
            found.setdefault(check.after, []).append(_checking(check, places))
    return found


def _checking(check: LateCheck, places: Mapping[str, tuple[int, int]]) -> Check:
    requirement = check.requirement
    used = {name: places[name] for size in (requirement.lhs, requirement.rhs) for name in names_in(size)}

    def run(frame: list[Any]) -> None:
        values = {name: _size(frame[slot], dimension) for name, (slot, dimension) in used.items()}
        if not requirement.substitute(values).holds:
            fail_sizes(check.op, check.message, min(evaluate(check.found, values), MAX_SIZE))

    return run


def _size(value: Any, dimension: int) -> int:
    """Return a size of a tensor, or the value of an index."""
    shape: tuple[int, ...] = getattr(value, "shape", ())
    return shape[dimension] if shape else int(value)
