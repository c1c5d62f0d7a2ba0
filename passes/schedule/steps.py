"""
The primitives as methods.

Type checkers and editors read `steps.pyi`, which `tests/typing/primitives.py` writes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from inspect import Parameter, getdoc
from typing import Any, cast

from relex.dialects.errors import UnknownNameError
from relex.dialects.schedule import PrimitiveOp
from relex.passes.schedule.arguments import KINDS, Block, Loop, NewNames, annotation_of, parameters_of


class Steps:
    """One method for each primitive, on blocks and loops by name: it makes the op of the primitive and applies it."""

    def apply(self, func: str, op: PrimitiveOp) -> Any:
        """Apply a primitive to a function, and return the blocks and loops that its function returns, by name."""
        raise NotImplementedError


def public_parameters(carry: Callable[..., Any]) -> list[Parameter] | None:
    """Return the parameters that a step of a schedule has arguments for; None if it cannot say all that the function
    of the primitive gets."""
    parameters = [p for p in parameters_of(carry).parameters.values() if p.annotation is not NewNames]
    return parameters if all(annotation_of(p) in KINDS for p in parameters) else None


def add_method(op: type[PrimitiveOp], carry: Callable[..., Any]) -> None:
    """Let a schedule take a step by a method that is called as the primitive; existing methods stay."""
    name, parameters = op.name.rpartition(".")[2], public_parameters(carry)
    if parameters is None or hasattr(Steps, name):
        return
    kinds = {p.name: KINDS[annotation_of(p)] for p in parameters}
    signature = parameters_of(carry).replace(parameters=parameters)

    def step(self: Steps, *args: Any, **kwargs: Any) -> Any:
        given = {**dict.fromkeys(kinds, ()), **signature.bind(*args, **kwargs).arguments}
        properties = [kind.write(name, given[name]) for name, kind in kinds.items()]
        made = op.create(properties={name: value for part in properties for name, value in part.items()})
        return self.apply(_function_of(given.values()), made)

    for attribute, value in {"__name__": name, "__doc__": getdoc(carry), "__signature__": signature}.items():
        setattr(step, attribute, value)
    setattr(Steps, name, step)


def _function_of(arguments: Iterable[object]) -> str:
    """Return the function that all blocks and loops are in; fail if there are several."""
    several = [cast("Sequence[object]", value) if isinstance(value, Sequence) else [value] for value in arguments]
    names = sorted({part.func for parts in several for part in parts if isinstance(part, Block | Loop)})
    if len(names) != 1:
        raise UnknownNameError(f"expected blocks and loops of one function, found {', '.join(names) or 'none'}")
    return names[0]
