"""Calls of functions with random arguments."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from relex.dialects.errors import AssertionFailedError
from relex.dialects.signature import TensorSpec
from relex.dialects.sizes import names_in
from relex.reference.equivalence.samples import KINDS
from relex.tools.campaign.subject import Case, Skip

if TYPE_CHECKING:
    from relex.dialects.dtypes import Array


def first_difference(
    case: Case, specs: Sequence[TensorSpec], compare: Callable[[Sequence[Array]], str | int]
) -> str | None:
    """Return the first difference that `compare` finds on arguments of some kind; it returns how many elements were
    decided if it finds none. Raises `Skip` if nothing could be decided."""
    rng = np.random.default_rng(int(case.options["seed"]))
    decided = 0
    for kind in KINDS:
        found = compare(random_arguments(specs, rng, kind))
        if isinstance(found, str):
            return f"{found} ({KINDS[kind].description})"
        decided += found
    if not decided:
        raise Skip("nothing is decided")
    return None


def random_arguments(specs: Sequence[TensorSpec], rng: np.random.Generator, kind: str) -> list[Array]:
    """Return arguments of a kind, in which sizes of one name are equal. Raises `Skip` if a size is negative."""
    names = {name for spec in specs for size in spec.shape for name in names_in(size)}
    sizes = {name: int(rng.integers(0, 6)) for name in sorted(names)}
    shapes = [spec.shape_with(sizes) for spec in specs]
    if min(chain.from_iterable(shapes), default=0) < 0:
        raise Skip("sizes that do not go together: one of them is negative")
    draw = KINDS[kind].draw
    return [draw(rng, spec.dtype, shape, i) for i, (spec, shape) in enumerate(zip(specs, shapes, strict=True))]


def called(function: Callable[..., Any], arguments: Sequence[Array]) -> Any:
    """Call a function. Raises `Skip` if it refuses the sizes of the arguments, or a size that it computes of them."""
    try:
        return function(*arguments)
    except ValueError as e:
        raise Skip(f"sizes that do not go together: {e}") from e
    except AssertionFailedError as e:
        raise Skip(f"elements that are refused: {e}") from e


def as_list(results: Any) -> list[Array]:
    """Return the results of a call."""
    several = cast("Sequence[Any]", results if isinstance(results, tuple | list) else [results])
    return [np.asarray(a) for a in several if a is not None]
