"""Rules for operators that read or write at positions, which are data."""

from __future__ import annotations

from typing import Any

import numpy as np
from schema_draws import Draw
from schema_rules import rule


@rule("Gather", "GatherElements")
def gathered(draw: Draw) -> None:
    """Positions along a dimension."""
    shape = draw.shape(1, 4, (1, 2, 3, 5))
    axis = draw.axis(len(shape), default=0)
    low = -shape[axis] if draw.version >= 11 else 0
    places = draw.shape(0, 3) if draw.operator.name == "Gather" else list(shape)
    if draw.operator.name != "Gather":
        places = [draw.between(1, size) for size in shape]
        places[axis] = draw.pick(0, 1, 2, 5)
    draw.data("data", shape)
    draw.data("indices", places, draw.integers(low, shape[axis], places))


@rule("GatherND")
def gathered_points(draw: Draw) -> None:
    """Points, in batches."""
    shape = draw.shape(1, 4, (1, 2, 3))
    batch = draw.between(0, len(shape) - 1) if draw.has("batch_dims") else 0
    depth = draw.between(1, len(shape) - batch)
    places = (*shape[:batch], *draw.shape(0 if batch else 1, 2, (1, 2, 3)), depth)
    sizes = np.array(shape[batch : batch + depth])
    draw.data("data", shape)
    draw.data("indices", places, lambda: draw.numbers.integers(-sizes, sizes, places))
    if batch:
        draw.attributes["batch_dims"] = batch


@rule("Scatter", "ScatterElements")
def scattered(draw: Draw) -> None:
    """Different positions along a dimension, or any, if they are combined."""
    shape = draw.shape(1, 4, (1, 2, 3, 5))
    axis = draw.axis(len(shape), default=0)
    reduction = draw.choose("reduction", "none", "add", "mul", *(("max", "min") if draw.version >= 18 else ()))
    places = [draw.between(1, size) for size in shape]
    draw.data("data", shape)

    def different() -> Any:
        if reduction not in (None, "none"):
            return draw.numbers.integers(-shape[axis], shape[axis], places)
        order = np.argsort(draw.numbers.random([*places[:axis], shape[axis], *places[axis + 1 :]]), axis)
        return np.take(order, range(places[axis]), axis)

    draw.data("indices", places, different)
    draw.data("updates", places)


@rule("ScatterND")
def scattered_points(draw: Draw) -> None:
    """Different points, or any, if they are combined."""
    shape = draw.shape(1, 4, (1, 2, 3))
    depth = draw.between(1, len(shape))
    reduction = draw.choose("reduction", "none", "add", "mul", *(("max", "min") if draw.version >= 18 else ()))
    sizes = shape[:depth]
    count = draw.between(1, int(np.prod(sizes)))
    draw.data("data", shape)

    def points() -> Any:
        if reduction not in (None, "none"):
            return draw.numbers.integers(-np.array(sizes), sizes, (count, depth))
        chosen = draw.numbers.permutation(int(np.prod(sizes)))[:count]
        return np.stack(np.unravel_index(chosen, sizes), -1)

    draw.data("indices", (count, depth), points)
    draw.data("updates", (count, *shape[depth:]))


@rule("TensorScatter")
def cached_rows(draw: Draw) -> None:
    """Rows that are written into a cache."""
    batch, length, new, width = draw.pick(1, 2), 5, draw.pick(1, 2, 3), draw.pick(1, 3)
    mode = draw.choose("mode", "linear", "circular")
    draw.data("past_cache", (batch, 2, length, width))
    draw.data("update", (batch, 2, new, width))
    draw.optional("write_indices", (batch,), draw.integers(0, length if mode == "circular" else length - new, (batch,)))
    draw.leave("axis")


@rule("Compress")
def compressed(draw: Draw) -> None:
    """A condition that is known, or not."""
    shape = draw.shape(1)
    size = shape[draw.axis(len(shape))] if draw.chance(0.7) else int(np.prod(shape))
    draw.data("input", shape)
    draw.fixed("condition", draw.numbers.integers(0, 2, draw.between(0, size)))


@rule("OneHot")
def one_hot(draw: Draw) -> None:
    """Positions inside and outside."""
    shape = draw.shape(0, 3)
    depth = draw.pick(1, 3, 5)
    low = 0 if draw.dtype("indices").name.startswith("u") else -depth
    draw.data("indices", shape, draw.integers(low, depth + 2, shape))
    draw.fixed("depth", draw.pick(depth, [depth]))
    draw.data("values", (2,))
    draw.axis(len(shape) + 1, default=-1)


@rule("ReverseSequence")
def reversed_sequences(draw: Draw) -> None:
    """Lengths of sequences."""
    shape = draw.shape(2, 4, (1, 2, 3, 5))
    time = draw.between(0, 1)
    batch = 1 - time
    draw.attributes.update(time_axis=time, batch_axis=batch)
    draw.data("input", shape)
    draw.data("sequence_lens", (shape[batch],), draw.integers(1, shape[time] + 1, (shape[batch],)))


@rule("NonZero")
def places(draw: Draw) -> None:
    """Places whose number depends on the data."""
    draw.data("X", draw.shape())


@rule("Unique")
def different(draw: Draw) -> None:
    """Different elements."""
    draw.data("X", draw.shape(1))
