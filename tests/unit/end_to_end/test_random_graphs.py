"""Random graphs of exact operators, compiled, against NumPy."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from programs import Array, MakeOperator, random_array, tensor_of
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue

from relex.dialects.errors import InferenceError
from relex.dialects.relex import (
    AbsOp,
    AddOp,
    DenseOp,
    DivideOp,
    EqualOp,
    EwiseFMAOp,
    FloorOp,
    LessOp,
    MatmulOp,
    MaximumOp,
    MinimumOp,
    MultiplyOp,
    NegativeOp,
    Operator,
    PermuteDimsOp,
    ReluOp,
    RsqrtOp,
    SqrtOp,
    SqueezeOp,
    SubtractOp,
    WhereOp,
)
from relex.dialects.relex.operator import tensor_type
from relex.reference.fuzzing import graph_functions
from relex.runtime import build

SHAPES = st.lists(st.sampled_from([0, 1, 1, 2, 3, 3, 7]), max_size=3).map(tuple)
DTYPES = ["float32", "float64", "int8", "int32", "int64", "bool"]
OPERATORS = [
    AbsOp,
    AddOp,
    DenseOp,
    DivideOp,
    EqualOp,
    EwiseFMAOp,
    FloorOp,
    LessOp,
    MatmulOp,
    MaximumOp,
    MinimumOp,
    MultiplyOp,
    NegativeOp,
    PermuteDimsOp,
    ReluOp,
    RsqrtOp,
    SqrtOp,
    SqueezeOp,
    SubtractOp,
    WhereOp,
]
"""Those that need no properties and whose strict form is exact: no function of the C library, sums in the order of the
plain loop."""


def maximum(a: Array, b: Array) -> Array:
    """NumPy's, which leaves open what the maximum of two zeros is: here +0 is above -0."""
    return np.where((a == 0) & (b == 0), a + b, np.maximum(a, b))


def minimum(a: Array, b: Array) -> Array:
    if a.dtype.kind != "f":
        return np.minimum(a, b)
    return np.where((a == 0) & (b == 0), -(-a + -b), np.minimum(a, b))


def product(a: Array, b: Array) -> Array:
    """The matrix product as a plain loop computes it. `a` is ...xMxK, `b` is ...xKxN."""
    shape = (*np.broadcast_shapes(a.shape[:-2], b.shape[:-2]), a.shape[-2], b.shape[-1])
    total = np.zeros(shape, a.dtype)
    for k in range(a.shape[-1]):
        total = total + a[..., :, k, None] * b[..., None, k, :]
    return total


def matmul(a: Array, b: Array) -> Array:
    result = product(a if a.ndim > 1 else a[None], b if b.ndim > 1 else b[:, None])
    return result.reshape(np.matmul(np.zeros(a.shape), np.zeros(b.shape)).shape)


def dense(x: Array, w: Array) -> Array:
    return matmul(x, w.T)


def relu(x: Array) -> Array:
    return maximum(x, np.zeros_like(x))


REFERENCES: dict[type[Operator], Callable[..., Array]] = {
    MaximumOp: maximum,
    MinimumOp: minimum,
    ReluOp: relu,
    DenseOp: dense,
    MatmulOp: matmul,
}
"""Where an operator's own semantics leave something open: zeros of two signs, and the order of sums."""


class Graph:
    """A function @main that grows operator by operator, and beside each of its values what NumPy says that it is."""

    def __init__(self, inputs: Sequence[Array]):
        self.inputs = list(inputs)
        self._graph = graph_functions.Graph([tensor_of(x) for x in inputs])
        self.values: list[tuple[SSAValue, Array]] = list(zip(self._graph.values, inputs, strict=True))

    def add_constant(self, array: Array) -> None:
        self.values.append((self._graph.constant(array), array))

    def operands(self, operator: type[Operator]) -> list[tuple[int, ...]]:
        """The choices of values that an operator takes."""
        count = len(operator.get_irdl_definition().operands)
        return [
            chosen
            for chosen in itertools.product(range(len(self.values)), repeat=count)
            if self._fits(operator, chosen)
        ]

    def _fits(self, operator: type[Operator], chosen: Sequence[int]) -> bool:
        try:
            operator.types_of_results([tensor_type(self.values[i][0].type) for i in chosen], {})
        except InferenceError:
            return False
        return True

    def add(self, make: MakeOperator, chosen: Sequence[int]) -> None:
        values, arrays = zip(*(self.values[i] for i in chosen), strict=True)
        op = make(*values)
        reference = REFERENCES.get(type(op), op.evaluate)
        with np.errstate(all="ignore"):
            self.values.append((self._graph.add(op), np.asarray(reference(*arrays))))

    def module(self, returned: Sequence[int]) -> ModuleOp:
        return self._graph.module([self.values[i][0] for i in returned])


@settings(max_examples=25)
@given(data=st.data())
def test_random_graphs(data: st.DataObject) -> None:
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    dtype = data.draw(st.sampled_from(DTYPES))
    graph = Graph([random_array(rng, dtype, shape) for shape in data.draw(st.lists(SHAPES, min_size=1, max_size=3))])
    for shape in data.draw(st.lists(SHAPES, max_size=2)):
        graph.add_constant(random_array(rng, dtype, shape))
    for operator in data.draw(st.lists(st.sampled_from(OPERATORS), min_size=1, max_size=15)):
        if fitting := graph.operands(operator):
            graph.add(operator, data.draw(st.sampled_from(fitting)))
    returned = data.draw(st.lists(st.integers(0, len(graph.values) - 1), min_size=1, max_size=4))
    found = build(graph.module(returned), strict=True)["main"](*graph.inputs)
    for array, i in zip(found if len(returned) > 1 else [found], returned, strict=True):
        expected = graph.values[i][1]
        assert (array.dtype, array.shape) == (expected.dtype, expected.shape)
        np.testing.assert_array_equal(array, expected)
