"""Random graphs of operators, whatever their operands and properties are."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from math import inf, prod
from random import Random
from typing import Any

import numpy as np
from xdsl.builder import Builder
from xdsl.dialects.builtin import DYNAMIC_INDEX, ModuleOp, TensorType
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import AttrConstraint, OptPropertyDef
from xdsl.rewriter import InsertPoint
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.hints import isa
from xdsl.utils.test_value import create_ssa_value

from relex.dialects import relex
from relex.dialects.arrays import Array
from relex.dialects.dtypes import DTYPES as ELEMENT_TYPES
from relex.dialects.dtypes import numpy_dtype
from relex.dialects.errors import InferenceError, RelexError
from relex.dialects.relex.data_sizes import AsSizesOp, NonMaxSuppressionOp
from relex.dialects.relex.operator import tensor_type
from relex.dialects.relex.properties import (
    ElementConstr,
    FlagConstr,
    Float64Constr,
    IntegerConstr,
    IntegersConstr,
    ScalarConstr,
    as_property,
)
from relex.dialects.relex.random_numbers import KEY_WORDS, RandomOperator

Shape = tuple[int, ...]
Tensor = TensorType[Attribute]

SHAPES: list[Shape] = [
    (),
    (0,),
    (1,),
    (3,),
    (5,),
    (3, 3),
    (3, 3),
    (3, 3),
    (3, 5),
    (3, 1),
    (2, 0),
    (2, 3, 4),
    (1, 2, 4, 4),
    (3, 2, 3, 3),
    (2, 3, 4, 5),
]
DTYPES = ["float32", "float64", "int8", "int32", "int64", "bool"]
MORE_SHAPES: list[Shape] = [*SHAPES, *SHAPES, (7,), (17,), (33,), (2, 17), (13, 3), (5, 19), (8, 16), (1, 0, 2)]
"""Other shapes as well: primes, multiples of what vectors hold, and some elements more."""
DTYPES_OF_PROGRAMS = [*DTYPES, *DTYPES, "float16", "bfloat16", "int16", "uint8", "uint16", "uint32", "uint64"]
MOST_ELEMENTS = 4096
ATTEMPTS = 400
"""The number of attempts to draw operands and properties for an operator."""
PROPERTY_ATTEMPTS = 60
"""The number of attempts to draw properties for given operands."""

OPERATORS: list[type[relex.Operator]] = [kind for kind in relex.Relex.operations if issubclass(kind, relex.Operator)]
"""The operators of the graph dialect."""

DRAWN = [kind for kind in OPERATORS if kind is not AsSizesOp]
"""What random graphs are made of, unless they ask for operators. Hardly a number that is drawn is a size."""


class Graph:
    """A function @main that grows operator by operator."""

    def __init__(self, types: Sequence[Tensor] = ()):
        self.function = FuncOp("main", (types, []))
        self.values: list[SSAValue] = list(self.function.args)
        self._builder = Builder(InsertPoint.at_end(self.function.body.block))

    @classmethod
    def before(cls, last: Operation) -> Graph:
        """Return a graph that grows before the terminator of a function."""
        function = last.parent_op()
        assert isinstance(function, FuncOp)
        graph = cls.__new__(cls)
        graph.function = function
        block = function.body.block
        known: list[SSAValue] = [*block.args, *(v for op in block.ops for v in op.results)]
        graph.values = [v for v in known if isa(v.type, TensorType)]
        graph._builder = Builder(InsertPoint.before(last))
        return graph

    def argument(self, t: Tensor) -> SSAValue:
        """Add an argument."""
        block = self.function.body.block
        value = block.insert_arg(t, len(block.args))
        value.name_hint = f"x{len(block.args) - 1}"
        return self._add(value)

    def constant(self, array: Array) -> SSAValue:
        """Add a constant."""
        return self._add(self._builder.insert(relex.ConstantOp(array)).result)

    def add(self, op: relex.Operator) -> SSAValue:
        """Add an operator. Raises `InferenceError` for one with a large result."""
        if prod(max(size, 1) for size in tensor_type(op.results[0].type).get_shape()) > MOST_ELEMENTS:
            raise InferenceError("expected a smaller result")
        return self._add(self._builder.insert(op).results[0])

    def _add(self, value: SSAValue) -> SSAValue:
        self.values.append(value)
        return value

    def module(self, returned: Sequence[SSAValue]) -> ModuleOp:
        """Return the graph as a module whose function returns these values."""
        self._builder.insert(ReturnOp(*returned))
        self.function.update_function_type()
        return ModuleOp([self.function])


class Draw:
    """Draws types, properties and operators."""

    def __init__(
        self,
        random: Random,
        *,
        dynamic: float = 0.0,
        dtypes: Sequence[str] = DTYPES,
        shapes: Sequence[Shape] = SHAPES,
        most: int = MOST_ELEMENTS,
        work: float = inf,
    ):
        self.random = random
        self.dtype = random.choice(["float32"] * (len(dtypes) // 3 * 3) + list(dtypes))
        self._dynamic, self._dtypes, self._shapes = dynamic, dtypes, shapes
        self._most, self._work = most, work

    def shape(self) -> Shape:
        """Return the shape of a new argument."""
        return self.random.choice(self._shapes)

    def related(self, shape: Shape) -> Shape:
        """Return a shape that another operand may have next to one of the given shape."""
        rank = len(shape)
        near: list[Shape] = [shape, shape, shape, shape[1:], shape[-1:], shape[1:2], (), (1,) * rank]
        if rank:
            i = self.random.randrange(rank)
            near += [(*shape[:i], 1, *shape[i + 1 :]), (4, shape[-1]), (shape[-1], 4), (2, *shape[1:]), (*shape, 2)]
        return self.random.choice([*near, *SHAPES[:4], self.shape()])

    def tensor(self, shape: Shape, dtype: str | None = None) -> Tensor:
        """Return a type, in which some sizes may be dynamic."""
        sizes = [DYNAMIC_INDEX if self.random.random() < self._dynamic else size for size in shape]
        return TensorType(ELEMENT_TYPES[dtype or self.dtype], sizes)

    def array(self, shape: Shape, dtype: str | None = None) -> Array:
        """Return the contents of a constant: one number everywhere, or random ones."""
        kind = numpy_dtype(ELEMENT_TYPES[dtype or self.dtype])
        if self.random.random() < 0.6:
            number = self.random.choice([0, 1, -1, 2] if kind.kind != "b" else [0, 1])
            return np.full(shape, number).astype(kind)
        rng = np.random.default_rng(self.random.randrange(2**32))
        return (rng.standard_normal(shape) * (1 if kind.kind == "f" else 4)).astype(kind)

    def operand_types(self, kind: type[relex.Operator], anchor: Tensor | None = None) -> list[Tensor]:
        """Return types of new operands, which go together with `anchor`."""
        count = self.random.randint(1, 3) if kind.is_variadic() else len(kind.operand_names())
        if not count:
            return []
        dtype = self.dtype if self.random.random() < 0.6 else self.random.choice(self._dtypes)
        first = self.shape()
        if anchor is not None:
            first, dtype = tuple(anchor.get_shape()), _dtype_name(anchor)
        elif issubclass(kind, relex.SlidingWindows) and self.random.random() < 0.8:
            first = (1, 2, *[self.random.choice([3, 4])] * kind.RANK)
        beside = self.related(first)
        if issubclass(kind, relex.BlockedConvolution) and len(first) == 4:
            # No random shape fits.
            beside = (2, first[1], 2, 2, 1, 3)
        if kind is relex.WinogradOutputTransformOp and anchor is None:
            first = (36, *first[:2], 1, 1)[:3]
        shapes = [first, *(beside if self.random.random() < 0.6 else self.related(first) for _ in range(count - 1))]
        is_mixed = count > 1 and self.random.random() < 0.3
        types = [
            self.tensor(shape, self.random.choice([dtype, *self._dtypes]) if is_mixed else dtype) for shape in shapes
        ]
        if issubclass(kind, RandomOperator) and anchor is None:
            types[0] = TensorType(ELEMENT_TYPES["uint32"], [KEY_WORDS])
        if kind is NonMaxSuppressionOp and anchor is None:
            dtype = self.random.choice(["float32", "float64"])
            boxes, scores = self.tensor((2, 3, 4), dtype), self.tensor((2, 2, 3), dtype)
            types = [boxes, scores, self.tensor((), "int64"), self.tensor((), dtype), self.tensor((), dtype)]
        if issubclass(kind, relex.BlockedConvolution) and kind is not relex.Conv2dBlockedOp and anchor is None:
            types = [self.tensor(shape, "int32") for shape in ((1, 2, 3, 3), (2, 2, 2, 2, 1, 3))]
        if kind is relex.DequantizeBlocksOp and anchor is None:
            types = [self.tensor((2, 36), "uint8")]
        if kind is relex.DenseBlocksOp and anchor is None:
            parts = [self.tensor((3, size), "uint8") for size in (4, 32)]
            types = [self.tensor((2, 64), "float32"), *parts]
        if kind is relex.DenseBlockRowsOp and anchor is None:
            types = [self.tensor((2, 64), "float32"), self.tensor((3, 36), "uint8")]
        if kind in (relex.RoundBlocksOp, relex.BlockScalesOp) and anchor is None:
            types = [self.tensor((2, 64), "float32")]
        if kind is relex.BlockDigitsOp and anchor is None:
            types = [self.tensor((2, size), "float32") for size in (64, 2)]
        if kind is relex.DenseWordsOp and anchor is None:
            shapes = {"int32": (2, 16), "float32": (2, 2), "uint8": (3, 4)}
            types = [*(self.tensor(shape, dtype) for dtype, shape in shapes.items()), self.tensor((3, 8), "int32")]
        if kind is relex.UnpackScalesOp and anchor is None:
            types = [self.tensor((2, 4, 32), "uint8")]
        if kind in (relex.UnpackNumbersOp, relex.UnpackPairsOp) and anchor is None:
            types = [self.tensor((1, 1, 2, 32), "float32"), self.tensor((1, 32, 32), "uint8")]
        return types

    def properties(
        self,
        kind: type[relex.Operator],
        operands: Sequence[Attribute],
        fixed: Mapping[str, Any],
        named: Container[str] = (),
    ) -> dict[str, Attribute]:
        """Return properties for operands of these types: those that are fixed, most of the named ones, and others.
        Raises an error for fixed ones of the wrong kind."""
        declared = kind.get_irdl_definition().properties
        like = operands[0] if operands else TensorType(ELEMENT_TYPES[self.dtype], ())
        length = self.random.randint(0, 4)
        drawn: dict[str, Attribute | None] = {}
        for name, definition in declared.items():
            if name in fixed:
                drawn[name] = as_property(name, fixed[name], definition.constr, like)
                continue
            is_optional = isinstance(definition, OptPropertyDef) or definition.default_value is not None
            if is_optional and self.random.random() < (0.2 if name in named else 0.6):
                continue
            value = self._property(definition.constr, tensor_type(like).get_shape(), length)
            value = "Q4_0" if name == "layout" else self._table() if name == "table" else value
            drawn[name] = as_property(name, value, definition.constr, like)
        return kind.with_defaults(drawn)

    def _property(self, constraint: AttrConstraint, shape: Shape, length: int) -> Any:
        random, rank = self.random, len(shape)
        if constraint == IntegersConstr:
            return self._integers(shape, length)
        if constraint == IntegerConstr:
            return random.choice([0, 0, 1, 1, -1, rank - 1, 2])
        if constraint in (Float64Constr, ScalarConstr):
            return random.choice([0, 1, -1, 3, 0.5, 1e-3])
        if constraint == FlagConstr:
            return random.random() < 0.5
        return ELEMENT_TYPES[random.choice(self._dtypes)] if constraint == ElementConstr else None

    def _table(self) -> list[int]:
        """Return numbers that fit into bytes with and without a sign."""
        return [self.random.randrange(128) for _ in range(self.random.choice([1, 2, 16, 100, 256]))]

    def _integers(self, shape: Shape, length: int) -> list[int]:
        """Return a list of dimensions, of sizes, or of small numbers."""
        random, rank = self.random, len(shape)
        axes = random.sample(range(rank), rank)
        match random.choice([0, 1, 1, 2, 3, 3, 4]):
            case 0:
                return axes
            case 1:
                return axes[: random.randint(0, rank)]
            case 2:
                return random.choice([[-1], list(shape), [*shape, 1], [2, *shape], [*shape[1:], -1], [0, *shape]])
            case 3:
                return [random.randint(0, 2)] * random.choice([length, rank, 2, 2, 2, 2 * rank])
            case _:
                return [random.choice([0, 1, 1, 2, 3, -1]) for _ in range(random.choice([length, rank, 2 * rank]))]

    def operator(
        self,
        kind: type[relex.Operator],
        operands: Sequence[SSAValue],
        fixed: Mapping[str, Any] | None = None,
        named: Container[str] = (),
    ) -> relex.Operator:
        """Return an operator with these operands, and properties that fit. Raises `InferenceError` if none do."""
        types = [value.type for value in operands]
        attempts = PROPERTY_ATTEMPTS if kind.get_irdl_definition().properties else 1
        for _ in range(attempts):
            if (found := self._inferred(kind, types, fixed or {}, named)) is not None:
                properties, results = found
                return kind.create(operands=operands, properties=properties, result_types=results)
        raise InferenceError(f"expected operands that '{kind.name}' accepts, found {', '.join(map(str, types))}")

    def _inferred(
        self,
        kind: type[relex.Operator],
        types: Sequence[Attribute],
        fixed: Mapping[str, Any],
        named: Container[str] = (),
    ) -> tuple[dict[str, Attribute], Sequence[Tensor]] | None:
        """Return properties and the types of the results, if drawn properties fit."""
        try:
            properties = self.properties(kind, types, fixed, named)
            return properties, kind.types_of_results(types, properties)
        except (RelexError, VerifyException, IndexError, ValueError):
            return None

    def grow(self, graph: Graph, kind: type[relex.Operator]) -> SSAValue | None:
        """Add an operator to a graph, on values that are there and on new arguments; None if none fits."""
        for _ in range(ATTEMPTS):
            anchor = self._existing(graph)
            types = self.operand_types(kind, tensor_type(anchor.type) if anchor is not None else None)
            operands = [self._existing(graph) if self.random.random() < 0.4 else None for _ in types]
            if anchor is not None and operands:
                operands[self.random.choice([0, -1])] = anchor
            known = [value.type if value is not None else t for value, t in zip(operands, types, strict=True)]
            if (found := self._inferred(kind, known, {})) is None:
                continue
            properties, results = found
            if any(prod(max(size, 1) for size in t.get_shape()) > self._most for t in results):
                continue
            if self._work_of(kind, known, properties, results) > self._work:
                continue
            values = [value or self.leaf(graph, t) for value, t in zip(operands, types, strict=True)]
            return graph.add(kind.create(operands=values, properties=properties, result_types=results))
        return None

    def _work_of(
        self,
        kind: type[relex.Operator],
        operands: Sequence[Attribute],
        properties: Mapping[str, Attribute],
        results: Sequence[Tensor],
    ) -> int:
        """Return how much an operator computes, as far as that is known."""
        if self._work == inf or any(DYNAMIC_INDEX in tensor_type(t).get_shape() for t in (*operands, *results)):
            return 0
        values = [create_ssa_value(t) for t in operands]
        return kind.create(operands=values, properties=dict(properties), result_types=results).work

    def _existing(self, graph: Graph) -> SSAValue | None:
        """Return a value of the graph, most often one of the last, to be used instead of a new argument."""
        if not graph.values or self.random.random() < 0.2:
            return None
        return self.random.choice([*graph.values[-3:], *graph.values])

    def leaf(self, graph: Graph, t: Tensor) -> SSAValue:
        """Add an argument or, now and then, a constant."""
        if DYNAMIC_INDEX in t.get_shape() or self.random.random() < 0.8:
            return graph.argument(t)
        return graph.constant(self.array(t.get_shape(), _dtype_name(t)))


def _dtype_name(t: Tensor) -> str:
    return numpy_dtype(t.element_type).name


def random_graph(
    random: Random,
    kinds: Sequence[type[relex.Operator]] = (),
    size: int = 6,
    dynamic: float = 0.0,
    draw: Draw | None = None,
) -> ModuleOp:
    """Return a module with a function @main of up to `size` operators of these kinds, by default of all. It returns
    what no operator uses, and some of the values that are used too."""
    graph, draw = Graph(), draw or Draw(random, dynamic=dynamic)
    for kind in random.choices(kinds or DRAWN, k=random.randint((size + 1) // 2, size)):
        draw.grow(graph, kind)
    return graph.module(list(returned_of(random, graph.values)))


def returned_of(random: Random, values: Sequence[SSAValue]) -> Iterator[SSAValue]:
    """Yield the values that a graph returns."""
    for value in values:
        if not value.uses.get_length() or random.random() < 0.15:
            yield value
