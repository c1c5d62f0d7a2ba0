"""Graphs with the structure of networks: equal layers in a chain, wide fans, deep chains, shared constants."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from random import Random

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue

from relex.dialects import relex
from relex.dialects.errors import InferenceError
from relex.reference.fuzzing.graph_functions import DTYPES_OF_PROGRAMS, MORE_SHAPES, Draw, Graph, random_graph

UNARY: list[type[relex.Operator]] = [
    kind for kind in relex.Relex.operations if issubclass(kind, relex.UnaryElementwise)
]


def layers(random: Random) -> ModuleOp:
    """Return a chain of equal layers; their weights are constants, each its own or one of all, or arguments."""
    width, rows = random.choice([1, 3, 4, 9, 17]), random.choice([1, 2, 5])
    graph, draw = Graph(), Draw(random)
    draw.dtype = random.choice(["float32", "float32", "float64", "int32"])
    value = graph.argument(draw.tensor((rows, width)))
    is_shared, are_constant = random.random() < 0.3, random.random() < 0.6
    norm: list[Callable[[SSAValue], relex.Operator]] = [relex.ReluOp]
    if draw.dtype != "int32":
        norm.append(lambda v: relex.SoftmaxOp(v, axis=-1))

    def weight(*shape: int) -> SSAValue:
        if are_constant:
            return graph.constant(_numbers(random, shape, draw.dtype))
        return graph.argument(draw.tensor(shape))

    shared = (weight(width, width), weight(width)) if is_shared else None
    step = random.choice(norm)
    for _ in range(random.choice([2, 2, 3, 4, 8])):
        w, b = shared or (weight(width, width), weight(width))
        hidden = graph.add(step(graph.add(relex.AddOp(graph.add(relex.DenseOp(value, w)), b))))
        value = graph.add(relex.AddOp(hidden, value)) if random.random() < 0.5 else hidden
    return graph.module([value])


def fan(random: Random) -> ModuleOp:
    """Return many operators on one value, whose results are added up or concatenated."""
    graph, draw = Graph(), Draw(random)
    draw.dtype = random.choice(["float32", "float64"])
    value = graph.argument(draw.tensor((random.choice([1, 3, 16]), random.choice([1, 4, 7]))))
    parts = [_unary(graph, draw, value) for _ in range(random.choice([3, 4, 6, 8, 16]))]
    if random.random() < 0.5:
        return graph.module([graph.add(relex.ConcatOp(*parts, axis=random.choice([0, 1])))])
    total = parts[0]
    for part in parts[1:]:
        total = graph.add(relex.AddOp(total, part))
    return graph.module([total, *parts[:1]])


def deep(random: Random) -> ModuleOp:
    """Return a long chain of elementwise operators, some of which use values from far before."""
    graph, draw = Graph(), Draw(random)
    draw.dtype = random.choice(["float32", "float32", "int64"])
    shape = draw.shape()
    values = [graph.argument(draw.tensor(shape)), graph.constant(draw.array(shape))]
    for _ in range(random.choice([8, 10, 12, 20, 60])):
        kind = random.choice([relex.AddOp, relex.SubtractOp, relex.MultiplyOp, relex.ReluOp, relex.ReluOp])
        operands = [values[-1], random.choice(values)] if kind is not relex.ReluOp else [values[-1]]
        values.append(graph.add(kind(*random.sample(operands, len(operands)))))
    return graph.module([values[-1]])


def block(random: Random) -> ModuleOp:
    """Return layer normalization, a layer and its residual sum, as in transformers."""
    graph, draw = Graph(), Draw(random)
    draw.dtype = "float32"
    rows, width = random.choice([1, 3]), random.choice([3, 8])
    value = graph.argument(draw.tensor((rows, width)))
    for _ in range(random.choice([1, 1, 2, 3])):
        scale, shift = (graph.constant(_numbers(random, (width,), "float32")) for _ in range(2))
        hidden = graph.add(relex.LayerNormOp(value, scale, shift, axes=[-1]))
        shapes = (2 * width, width), (width, 2 * width)
        up, down = (graph.constant(_numbers(random, shape, "float32")) for shape in shapes)
        wide = _unary(graph, draw, graph.add(relex.DenseOp(hidden, up)))
        value = graph.add(relex.AddOp(graph.add(relex.DenseOp(wide, down)), value))
    return graph.module([value])


def mixture(random: Random) -> ModuleOp:
    """Return a random graph of all operators: most are small, as a mistake seldom takes more, and the time goes into
    other ones."""
    dynamic, most = random.choice([0, 0, 0, 0.3]), random.choice([64, 256, 256, 1024])
    draw = Draw(random, dynamic=dynamic, dtypes=DTYPES_OF_PROGRAMS, shapes=MORE_SHAPES, most=most, work=8 * most)
    return random_graph(random, size=random.choice([1, 2, 2, 3, 3, 4, 6]), draw=draw)


STRUCTURES: list[Callable[[Random], ModuleOp]] = [mixture, mixture, mixture, mixture, layers, fan, deep, block]
"""The structures of programs, more often drawn the more often they are here."""


def random_program(random: Random) -> ModuleOp:
    """Return a program of a random structure."""
    return random.choice(STRUCTURES)(random)


def _unary(graph: Graph, draw: Draw, value: SSAValue) -> SSAValue:
    """Add an elementwise operator with a result of the same type."""
    while True:
        with suppress(InferenceError):
            op = draw.operator(draw.random.choice(UNARY), [value])
            if op.results[0].type == value.type:
                return graph.add(op)


def _numbers(random: Random, shape: tuple[int, ...], dtype: str) -> np.ndarray:
    rng = np.random.default_rng(random.randrange(2**32))
    if dtype.startswith("int"):
        return rng.integers(-3, 4, shape).astype(dtype)
    return rng.standard_normal(shape).astype(dtype)
