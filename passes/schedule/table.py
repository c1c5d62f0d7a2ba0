"""The open table of schedule primitives: the implementation of each op of the `schedule` dialect."""

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
Register the decorated function as the implementation of an op class. It gets the op and the function to transform,
fills in the names of what it creates if the op leaves them open, and calls `fail` before changing anything if the op
does not apply.
"""


def apply_primitive(op: PrimitiveOp, func: PrimFuncOp) -> None:
    """
    Transform a loop function by a primitive. Raises a `PassError` if it does not apply: at the primitive if that has a
    source line, else at the loop or block concerned.
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
    """Return why a step does not apply, without the name of the op in front."""
    return re.sub(r"^'[\w.]+' op ", "", refusal.diagnostics[0].message)
