"""The open table of primitives: from an op of a schedule to what it does to a loop function."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from relex.dialects.errors import PassError, diagnose, fail
from relex.dialects.schedule import PrimitiveOp
from relex.dialects.table import Table
from relex.dialects.tir import PrimFuncOp

PRIMITIVES = Table[type[PrimitiveOp], Callable[[Any, PrimFuncOp], None]]("schedule primitives")

primitive = PRIMITIVES.rule
"""
Registers the decorated function as what ops of a class do. It gets the op and the function to change, fills in the
names of what it makes where the op leaves them open, and calls `fail` before it has changed anything where the op does
not apply.
"""


def apply_primitive(op: PrimitiveOp, func: PrimFuncOp) -> None:
    """
    Change a loop function as a primitive says. Raises a `PassError` where it does not apply: at the loop or block
    concerned, or at the primitive if that stands in a text.
    """
    rule = PRIMITIVES.find(op)
    if rule is None:
        fail(op, "expected a primitive that is known")
    try:
        rule(op, func)
    except PassError as e:
        at_step = diagnose(op, reason_of(e))
        raise PassError(at_step) if at_step.line else e from e


def reason_of(refusal: PassError) -> str:
    """Why a step does not apply, without the op where that shows."""
    return re.sub(r"^'[\w.]+' op ", "", refusal.diagnostics[0].message)
