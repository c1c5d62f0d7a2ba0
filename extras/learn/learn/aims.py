"""What is asked of a solution that is a program."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from relex.dialects.arrays import Array
from relex.runtime.library import Function


@dataclass(frozen=True)
class Bar:
    """How fast a solution is to be: at least `times` as fast as something else. That is the program without the steps
    of its schedule, the one that the exercise begins with, what the default schedule makes of it, or NumPy."""

    times: float
    than: Literal["unscheduled", "the start", "the default schedule", "NumPy"]


@dataclass(frozen=True)
class Aim:
    """What a solution computes: a formula of its arguments, for some shapes of them. `needs` is an op that it must
    have; `keeps` says that only the schedule of the start may change."""

    formula: Callable[..., Array]
    shapes: Sequence[Sequence[tuple[int, ...]]]
    needs: str = ""
    keeps: bool = False
    bar: Bar | None = None
    types: Sequence[str] = ()
    """The element types of the arguments, if they are not all f32."""
    library: Mapping[str, Function] = field(default_factory=dict[str, Function])
    """The library functions that a solution may call."""
    calls: Mapping[str, int] = field(default_factory=dict[str, int])
    """How often a call of `main` calls library functions when it is compiled, if it has to."""
    local_bytes: int | None = None
    """How many bytes of local buffers it may have after its schedule."""
