"""The open table of schedule primitives: the function that carries out each op of the `schedule` dialect."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from inspect import BoundArguments
from typing import Any, TypeVar

from relex.dialects.errors import PassError, diagnose, fail
from relex.dialects.schedule import NamingOp, PrimitiveOp
from relex.dialects.table import Table
from relex.dialects.tir import PrimFuncOp
from relex.passes.analysis.loop_tree import note_structures
from relex.passes.schedule.arguments import KINDS, NewNames, annotation_of, parameters_of
from relex.passes.schedule.steps import add_method
from relex.passes.schedule.watching import recording

CarryT = TypeVar("CarryT", bound=Callable[..., Any])

PRIMITIVES = Table[type[PrimitiveOp], Callable[..., Any]]("schedule primitives")


def primitive(op: type[PrimitiveOp]) -> Callable[[CarryT], CarryT]:
    """
    Register the decorated function as the implementation of an op class, and as a method of `Schedule`.

    Its parameters have the names of the op's properties; their annotations, from `KINDS`, say what it gets: for a
    `ForOp` or a `BlockOp`, the one of the name in the property. `NewNames` stands for the names of what it creates,
    `PrimFuncOp` for the function to transform, and the op class for the op. It returns the loops and blocks that those
    who take the step want to know. If the op does not apply, it calls `fail` before it changes anything.
    """

    def register(carry: CarryT) -> CarryT:
        PRIMITIVES.add(carry, op)
        add_method(op, carry)
        return carry

    return register


def apply_primitive(op: PrimitiveOp, func: PrimFuncOp) -> object:
    """
    Transform a loop function by a primitive; return what the function of the primitive returns. Raises a `PassError` if
    it does not apply: at the primitive if that has a source line, else at the loop or block concerned.
    """
    carry = PRIMITIVES.find(op) or fail(op, "expected a primitive that is known")
    names = NewNames(func, op.new_names if isinstance(op, NamingOp) else ())
    always: dict[Any, object] = {NewNames: names, PrimFuncOp: func, type(op): op}
    call = BoundArguments(parameters_of(carry), OrderedDict())
    try:
        for name, parameter in call.signature.parameters.items():
            kind = annotation_of(parameter)
            call.arguments[name] = always[kind] if kind in always else KINDS[kind].read(op, name, func)
        with recording(op, func):
            result = carry(*call.args, **call.kwargs)
    except PassError as e:
        at_step = diagnose(op, e.reason)
        raise PassError(at_step) if at_step.line else e from e
    note_structures(func, result)
    if isinstance(op, NamingOp) and names.taken:
        op.new_names = names.taken
    return result
