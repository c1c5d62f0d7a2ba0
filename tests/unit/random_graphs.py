"""Random graphs of all operators."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any, cast

import numpy as np
from hypothesis import strategies as st
from operator_cases import CASES
from programs import Array, MakeOperator, random_array, tensor_of
from xdsl.builder import Builder
from xdsl.dialects.builtin import FunctionType, ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import SSAValue
from xdsl.rewriter import InsertPoint
from xdsl.utils.test_value import create_ssa_value

from relex.dialects.errors import InferenceError
from relex.dialects.relex import ConstantOp, Operator
from relex.dialects.relex.operator import tensor_type

MAKERS: list[MakeOperator] = [make for make, _ in CASES]
"""Every operator, with the properties that it has in the cases."""

SHAPES: list[tuple[int, ...]] = [
    (),
    (0,),
    (1,),
    (3,),
    (5,),
    (3, 5),
    (3, 1),
    (2, 0),
    (2, 3, 4),
    (1, 2, 4, 4),
    (3, 2, 3, 3),
]
DTYPES = ["float32", "float64", "int8", "int32", "int64", "bool"]
MOST_ELEMENTS = 4096


class Graph:
    """A function @main that grows operator by operator."""

    def __init__(self, inputs: Sequence[Array]):
        self.inputs = list(inputs)
        self.function = FuncOp("main", ([tensor_of(x) for x in inputs], []))
        self.values: list[SSAValue] = list(self.function.args)
        self._builder = Builder(InsertPoint.at_end(self.function.body.block))

    def add_constant(self, array: Array) -> None:
        self.values.append(self._builder.insert(ConstantOp(array)).result)

    def choices(self, make: MakeOperator, count: int) -> list[tuple[SSAValue, ...]]:
        """The operands that an operator takes."""
        return [chosen for chosen in itertools.product(self.values, repeat=count) if self._fits(make, chosen)]

    def _fits(self, make: MakeOperator, operands: Sequence[SSAValue]) -> bool:
        try:
            op = make(*(create_ssa_value(value.type) for value in operands))
        except InferenceError:
            return False
        shape = tensor_type(op.result_types[0]).get_shape()
        return int(np.prod(shape)) <= MOST_ELEMENTS

    def add(self, make: MakeOperator, operands: Sequence[SSAValue]) -> None:
        self.values.append(self._builder.insert(make(*operands)).results[0])

    def module(self, returned: Sequence[int]) -> ModuleOp:
        results = [self.values[i] for i in returned]
        self._builder.insert(ReturnOp(*results))
        self.function.function_type = FunctionType.from_lists(
            self.function.function_type.inputs.data, [value.type for value in results]
        )
        return ModuleOp([self.function])


def operand_count(make: MakeOperator) -> int:
    """How many operands an operator has in its case."""
    return next(len(operands) for other, operands in CASES if other is make)


def operator_of(make: MakeOperator) -> type[Operator]:
    """The class that a maker makes."""
    return cast(type[Operator], getattr(make, "func", make))


@st.composite
def graphs(draw: Callable[[st.SearchStrategy[Any]], Any]) -> ModuleOp:
    """Modules with a function @main. The first operator has operands as in its case, and is returned; those that follow
    take what is there."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    make, operands = draw(st.sampled_from(CASES))
    more = [(draw(st.sampled_from(DTYPES)), shape) for shape in draw(st.lists(st.sampled_from(SHAPES), max_size=2))]
    graph = Graph([*operands, *(random_array(rng, dtype, shape) for dtype, shape in more)])
    graph.add(make, graph.values[: len(operands)])
    first = len(graph.values) - 1
    for shape in draw(st.lists(st.sampled_from(SHAPES), max_size=1)):
        graph.add_constant(random_array(rng, operands[0].dtype.name, shape))
    for follower in draw(st.lists(st.sampled_from(MAKERS), max_size=5)):
        if operand_count(follower) <= 3 and (fitting := graph.choices(follower, operand_count(follower))):
            graph.add(follower, draw(st.sampled_from(fitting)))
    last = draw(st.lists(st.integers(0, len(graph.values) - 1), max_size=2))
    return graph.module([first, len(graph.values) - 1, *last])
