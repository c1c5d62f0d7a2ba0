"""Generated arguments of functions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any
from zlib import crc32

import numpy as np

from relex.dialects.arrays import Array
from relex.dialects.dtypes import is_float_dtype
from relex.reference.equivalence.bounded import Format
from relex.reference.equivalence.interface import Interface, Spec

SIZES = (3, 1, 0, 5, 2)
"""Values of dynamic sizes, sample by sample."""


@dataclass(frozen=True)
class Sample:
    """One choice of arguments: `kind` is the distribution of numbers, `size` the minimum of dynamic sizes."""

    seed: int
    number: int
    kind: str
    size: int

    def __str__(self) -> str:
        return f"sample {self.number} ({KINDS[self.kind].description}; seed {self.seed})"

    def arguments(self, interface: Interface) -> Iterator[list[Any]]:
        """Yield arguments for a function: distinct dynamic sizes first, then equal ones, in case the function refuses
        the former."""
        sizes = _Sizes(self.size, distinct=True)
        yield [self._argument(spec, sizes.shape(spec), interface) for spec in interface.inputs]
        if len(sizes.given) > 1 and self.size > 1:
            sizes = _Sizes(self.size, distinct=False)
            yield [self._argument(spec, sizes.shape(spec), interface) for spec in interface.inputs]

    def of_shapes(self, interface: Interface, shapes: Sequence[tuple[int, ...]]) -> list[Any]:
        """Return arguments of given shapes; the argument for a number is the number itself, if it stands for a size."""
        return [
            np.int64(shape[0])
            if spec.is_index and spec.shape is None and shape
            else self._argument(spec, shape, interface)
            for spec, shape in zip(interface.inputs, shapes, strict=True)
        ]

    def _argument(self, spec: Spec, shape: tuple[int, ...], interface: Interface) -> Any:
        # Seeded by name, so that removing other arguments does not change it.
        name = crc32(spec.name.encode())
        rng = np.random.default_rng([self.seed, self.number, name])
        turn = self.seed + self.number + name % 7
        if spec.is_index and spec.shape is None:
            # A size, a loop bound, or an index.
            return np.int64(self.size if self.kind == "normal" else rng.integers(0, self.size, endpoint=True))
        if spec.shape is None:
            kind = KINDS["whole"] if spec.dtype.kind == "i" and interface.has_loops else KINDS[self.kind]
            return kind.draw(rng, spec.dtype, (), turn)[()]
        kind = "normal" if spec.is_finite and self.kind == "unbounded" else self.kind
        return KINDS[kind].draw(rng, spec.dtype, shape, turn)


class _Sizes:
    """Values of dynamic sizes, one for each name."""

    def __init__(self, size: int, *, distinct: bool):
        self.given: dict[str, int] = {}
        self._size = size
        self._distinct = distinct

    def shape(self, spec: Spec) -> tuple[int, ...]:
        dims = enumerate(spec.shape or ())
        return tuple(size if size >= 0 else self._of(spec.dims[i] or f"{spec.name}.{i}") for i, size in dims)

    def _of(self, name: str) -> int:
        more = len(self.given) if self._distinct and self._size > 1 else 0
        return self.given.setdefault(name, self._size + more)


def samples(seed: int, count: int) -> Iterator[Sample]:
    """Yield `count` samples of each kind of numbers."""
    for i in range(count):
        for kind in KINDS:
            yield Sample(seed, i, kind, SIZES[i % len(SIZES)])


Draw = Callable[[np.random.Generator, np.dtype[Any], tuple[int, ...], int], Array]
"""Draws an array of a dtype and shape. The last number differs between the samples and arguments of a function."""


@dataclass(frozen=True)
class Distribution:
    """A distribution of the elements of an array."""

    description: str
    draw: Draw


def _normal(rng: np.random.Generator, dtype: np.dtype[Any], shape: tuple[int, ...], turn: int) -> Array:
    if is_float_dtype(dtype):
        return rng.standard_normal(shape).astype(dtype)
    if dtype.kind == "b":
        return rng.random(shape) < 0.5
    info = np.iinfo(dtype)
    return rng.integers(info.min, info.max, shape, dtype=dtype, endpoint=True)


def _whole(rng: np.random.Generator, dtype: np.dtype[Any], shape: tuple[int, ...], turn: int) -> Array:
    if dtype.kind == "b":
        return _normal(rng, dtype, shape, turn)
    return rng.integers(-4, 4, shape, endpoint=True).astype(dtype)


def _with(values: Callable[[np.dtype[Any]], Sequence[Any]]) -> Draw:
    """Mix `values` into normal numbers: half of a small array, a few in a large one, so that a sum is not always NaN.
    They take turns from sample to sample."""

    def draw(rng: np.random.Generator, dtype: np.dtype[Any], shape: tuple[int, ...], turn: int) -> Array:
        array = np.array(_normal(rng, dtype, shape, turn))
        special = np.array(values(dtype), dtype)
        count = (array.size + 1) // 2 if array.size <= 8 else 4 + array.size // 64
        places = rng.permutation(array.size)[:count]
        array.reshape(-1)[places] = special[(turn * max(count, 1) + np.arange(count)) % len(special)]
        return array

    return draw


def _unbounded(dtype: np.dtype[Any]) -> Sequence[Any]:
    return [np.nan, np.inf, -np.inf] if is_float_dtype(dtype) else _extreme(dtype)


def _extreme(dtype: np.dtype[Any]) -> Sequence[Any]:
    if dtype.kind == "b":
        return [False, True]
    if not is_float_dtype(dtype):
        info = np.iinfo(dtype)
        return [info.min, info.max, 0, -1 if info.min else info.max // 2 + 1, 1]
    fmt = Format.of(dtype)
    normal = fmt.tiny * 2.0 ** (fmt.precision - 1)
    return [-0.0, fmt.largest, fmt.tiny, 0.0, -fmt.largest, 1.0, -fmt.tiny, normal]


KINDS = {
    "normal": Distribution("normal numbers", _normal),
    "whole": Distribution("small whole numbers", _whole),
    "unbounded": Distribution("NaN and infinities among normal numbers", _with(_unbounded)),
    "extreme": Distribution("zeros, largest and smallest numbers among normal ones", _with(_extreme)),
}
"""Distributions by name."""
