"""`--random` of relex-run: random arguments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from relex.tools.shell.diagnostics import ToolError

if TYPE_CHECKING:
    from relex.dialects.dtypes import Array
    from relex.dialects.signature import Signature, TensorSpec

DEFAULT_SIZE = 16
"""The value of dynamic sizes that are not given, if calls may have it."""
_SIZES_TRIED = 64


def read_sizes(text: str) -> dict[str, int]:
    """Read `n=16,m=3`. Raises `ToolError`."""
    sizes: dict[str, int] = {}
    for part in filter(None, text.split(",")):
        name, _, number = part.partition("=")
        if not number.isdecimal():
            raise ToolError(f"expected --random with sizes such as n=16, found '{part}'")
        sizes[name] = int(number)
    return sizes


def with_default_sizes(signature: Signature, sizes: Mapping[str, int]) -> dict[str, int]:
    """Return `sizes` and, for all others, the first number from `DEFAULT_SIZE` on that a call may have; `DEFAULT_SIZE`
    if none is found."""
    found = [{**dict.fromkeys(signature.names, DEFAULT_SIZE + more), **sizes} for more in range(_SIZES_TRIED)]
    return next((values for values in found if _fits(signature, values)), found[0])


def _fits(signature: Signature, sizes: Mapping[str, int]) -> bool:
    return all(requirement.substitute(sizes).holds for requirement in signature.requirements)


def random_arguments(signature: Signature, sizes: Mapping[str, int], given: Sequence[str]) -> dict[str, Any]:
    """Return an argument for each name that is not `given`, always the same ones: floats with a normal distribution,
    integers 0 and 1, which are valid indices almost anywhere. Raises `ToolError` for a size that is not there, and
    `ShapeError` for sizes that a call cannot have."""
    if unknown := [name for name in sizes if name not in signature.names]:
        known = ", ".join(signature.names) or "none"
        raise ToolError(f"{signature.name}() has no size '{unknown[0]}'; there are {known}")
    rng = np.random.default_rng(0)
    specs = signature.with_sizes(with_default_sizes(signature, sizes)).inputs
    return {spec.name: _draw(spec, rng) for spec in specs if spec.name not in given}


def _draw(spec: TensorSpec, rng: np.random.Generator) -> Array | int:
    if spec.element_type == "index":
        # Its shape holds a size of other arguments.
        return int(spec.shape[0]) if spec.shape and isinstance(spec.shape[0], int) else DEFAULT_SIZE
    shape = tuple(size for size in spec.shape if isinstance(size, int))
    is_float = spec.dtype.kind not in "iub"
    drawn = rng.standard_normal(shape) if is_float else rng.integers(0, 2, shape)
    array = np.asarray(drawn).astype(spec.dtype)
    return array[()] if spec.is_scalar else array
