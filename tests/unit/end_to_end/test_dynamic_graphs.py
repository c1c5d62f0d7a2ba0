"""Random graphs with sizes that are known at run time, compiled once and called with several sizes."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from functools import partial

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from programs import LEVELS, Array, MakeOperator, interpreted, random_array
from xdsl.builder import Builder
from xdsl.dialects.builtin import FunctionType, ModuleOp, TensorType, i32
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import SSAValue
from xdsl.rewriter import InsertPoint

from relex.dialects.errors import InferenceError
from relex.dialects.relex import (
    AddOp,
    ConcatOp,
    DenseOp,
    ExpandDimsOp,
    MatmulOp,
    MinimumOp,
    MultiplyOp,
    PermuteDimsOp,
    ReluOp,
    StridedSliceOp,
    SumOp,
)
from relex.dialects.relex.operator import tensor_type
from relex.dialects.relex.types import SizedType, Sizes, without_names
from relex.dialects.sizes import evaluate, gathering, named
from relex.runtime import build

n, m = named("n"), named("m")

CALLS: list[dict[str, int]] = [{"n": 2, "m": 3}, {"n": 0, "m": 1}, {"n": 1, "m": 0}, {"n": 5, "m": 5}]

OPERATORS: dict[MakeOperator, int] = {
    AddOp: 2,
    MultiplyOp: 2,
    MinimumOp: 2,
    ReluOp: 1,
    DenseOp: 2,
    MatmulOp: 2,
    ConcatOp: 2,
    PermuteDimsOp: 1,
    partial(SumOp, axis=0): 1,
    partial(SumOp, axis=-1, keepdims=True): 1,
    partial(ExpandDimsOp, axis=0): 1,
    partial(StridedSliceOp, axes=[0], begin=[1], end=[-1]): 1,
}
"""Those that are exact on integers, and how many operands they take."""

SHAPES: st.SearchStrategy[Sizes] = st.lists(st.sampled_from([n, m, 1, 2]), max_size=3).map(tuple)


class Graph:
    """A function @main that grows operator by operator, and beside each of its values what it is in each call."""

    def __init__(self, shapes: Sequence[Sizes], rng: np.random.Generator):
        types = [TensorType(i32, without_names(shape)) for shape in shapes]
        self.function = FuncOp("main", (types, []))
        self.values: list[tuple[SSAValue, Sizes, list[Array]]] = []
        for argument, shape in zip(self.function.args, shapes, strict=True):
            arrays = [random_array(rng, "int32", [evaluate(size, call) for size in shape]) for call in CALLS]
            self.values.append((argument, shape, arrays))
        self._builder = Builder(InsertPoint.at_end(self.function.body.block))

    def operands(self, make: MakeOperator) -> list[tuple[int, ...]]:
        """The choices of values that an operator takes, whatever the sizes are."""
        choices = itertools.product(range(len(self.values)), repeat=OPERATORS[make])
        return [chosen for chosen in choices if self._infer(make, chosen) is not None]

    def _infer(self, make: MakeOperator, chosen: Sequence[int]) -> Sizes | None:
        try:
            op = make(*(self.values[i][0] for i in chosen))
            with gathering() as requirements:
                result = op.infer([SizedType(i32, self.values[i][1]) for i in chosen], op.properties)
        except InferenceError:
            return None
        return None if requirements else result.get_shape()

    def add(self, make: MakeOperator, chosen: Sequence[int]) -> None:
        shape = self._infer(make, chosen)
        assert shape is not None
        op = self._builder.insert(make(*(self.values[i][0] for i in chosen)))
        arrays = [np.asarray(op.evaluate(*(self.values[i][2][k] for i in chosen))) for k in range(len(CALLS))]
        assert [array.shape for array in arrays] == [tuple(evaluate(s, call) for s in shape) for call in CALLS]
        self.values.append((op.results[0], shape, arrays))

    def module(self, returned: Sequence[int]) -> ModuleOp:
        results = [self.values[i][0] for i in returned]
        self._builder.insert(ReturnOp(*results))
        inputs = self.function.function_type.inputs.data
        self.function.function_type = FunctionType.from_lists(inputs, [tensor_type(r.type) for r in results])
        return ModuleOp([self.function])


@settings(max_examples=15)
@given(data=st.data())
def test_random_graphs(data: st.DataObject) -> None:
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    graph = Graph(data.draw(st.lists(SHAPES, min_size=1, max_size=3)), rng)
    inputs = len(graph.values)
    for make in data.draw(st.lists(st.sampled_from(list(OPERATORS)), min_size=1, max_size=8)):
        if fitting := graph.operands(make):
            graph.add(make, data.draw(st.sampled_from(fitting)))
    returned = data.draw(st.lists(st.integers(0, len(graph.values) - 1), min_size=1, max_size=3))
    text = str(graph.module(returned))
    level = data.draw(st.sampled_from(LEVELS))
    for function in (build(text)["main"], interpreted(text, level)["main"]):
        for k in range(len(CALLS)):
            found = function(*(arrays[k] for _, _, arrays in graph.values[:inputs]))
            for array, i in zip(found if len(returned) > 1 else [found], returned, strict=True):
                np.testing.assert_array_equal(array, graph.values[i][2][k])
