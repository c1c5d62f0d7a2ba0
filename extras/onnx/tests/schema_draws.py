"""Random models of one node, made from the schema of its operator: element types, inputs, attributes and data.

    draw = Draw(Operator("", "Softmax", 13), 7)  # the seventh draw of an operator
    draw.model, draw.feeds, draw.text

A draw is a function of its operator and number. What a schema does not say, as which shapes fit each other, rules say:
`schema_rules.py` has them by operator and by the names of inputs and attributes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from math import prod
from random import Random
from typing import Any, cast

import ml_dtypes
import numpy as np
import onnx
from onnx import TensorProto, ValueInfoProto, defs, helper, numpy_helper

OLDEST = 7
"""The first operator set that is imported as it is. The last one is the newest of the package onnx."""

SIZES = (0, 1, 2, 3, 5)

FEEDS = 3
"""How many times the function of a model is called, with other data each time."""

ELEMENTS: Mapping[str, int] = {f"tensor({name.lower()})": number for name, number in TensorProto.DataType.items()}
"""The element types of tensors, by the names that schemas have for them."""

FLOATS = ("tensor(float)", "tensor(double)", "tensor(float16)", "tensor(bfloat16)")

NOT_DRAWN = ("tensor(string)", "tensor(undefined)")

Array = Any
Rule = Callable[["Draw"], None]


@dataclass(frozen=True)
class Operator:
    """An operator of the standard, from a version of its operator set on."""

    domain: str
    name: str
    since: int

    @cached_property
    def schema(self) -> Any:
        """Its definition. The type of it in the package lacks some of its members."""
        return defs.get_schema(self.name, self.since, self.domain)

    def __str__(self) -> str:
        return f"{self.domain + '.' if self.domain else ''}{self.name}-{self.since}"


@cache
def operators() -> dict[Operator, range]:
    """Return all operators, once for each version of their definition, with the operator sets that have it."""
    newest = {"": defs.onnx_opset_version()}
    starts: dict[tuple[str, str], list[int]] = {}
    for schema in defs.get_all_schemas_with_history():
        starts.setdefault((schema.domain, schema.name), []).append(schema.since_version)
    found: dict[Operator, range] = {}
    for (domain, name), versions in sorted(starts.items()):
        last = newest.get(domain, max(versions))
        for since, until in zip(sorted(versions), [*sorted(versions)[1:], last + 1], strict=True):
            sets = range(max(since, OLDEST if domain == "" else 1), min(until, last + 1))
            if sets and not defs.get_schema(name, since, domain).deprecated:
                found[Operator(domain, name, since)] = sets
    return found


def element_dtype(type_name: str) -> np.dtype[Any]:
    """Return the dtype of tensors of a type in a schema."""
    return helper.tensor_dtype_to_np_dtype(ELEMENTS[type_name])


@dataclass
class Given:
    """An input of a node."""

    shape: tuple[int, ...]
    make: Callable[[], Array]
    """Return other data each time."""
    is_fixed: bool = False
    """Whether a compiler may have to know it, so that it is seldom an input of the model."""


@dataclass
class Draw:
    """A model and what is fed to it."""

    operator: Operator
    number: int
    rules: Mapping[str, Rule]
    attributes: dict[str, Any] = field(default_factory=dict[str, Any])
    inputs: dict[str, list[Given | None]] = field(default_factory=dict[str, list[Given | None]])
    left: set[str] = field(default_factory=set[str])
    """Attributes that are left out on purpose."""
    outputs: int = 0
    """How many outputs the node names; 0 for as many as are drawn."""

    def __post_init__(self) -> None:
        self.random = Random(f"{self.operator}:{self.number}")
        self.numbers = np.random.default_rng(self.random.getrandbits(64))
        self.version = self.random.choice(operators()[self.operator])
        self.schema = self.operator.schema
        self.is_special = self.number % 5 in (1, 3)
        self.is_dynamic = self.number % 4 == 2
        if any(formal.type_str in NOT_DRAWN for formal in self.schema.inputs):
            raise NotDrawn("strings, sequences or optional values")
        self.types = {c.type_param_str: self._type(i, c) for i, c in enumerate(self.schema.type_constraints)}
        self.rules.get(self.operator.name, self.rules[""])(self)
        self._complete()
        self.model, self.feeds = self._assemble()

    def _type(self, place: int, constraint: Any) -> str:
        """Return one of the types that a variable stands for: of the first variable, each in its turn."""
        names = sorted(t for t in constraint.allowed_type_strs if t in ELEMENTS and t not in NOT_DRAWN)
        if not names:
            raise NotDrawn("strings, sequences or optional values")
        floats = [t for t in names if t in FLOATS]
        if self.is_special and floats:
            # Integers and booleans have few numbers that are special.
            return floats[self.number // 2 % len(floats)]
        return names[(self.number + len(self.operator.name)) % len(names)] if place == 0 else self.random.choice(names)

    # Choices.

    def chance(self, probability: float) -> bool:
        """Return True with a probability."""
        return self.random.random() < probability

    def pick(self, *choices: Any) -> Any:
        """Return one of some values."""
        return self.random.choice(choices)

    def between(self, low: int, high: int) -> int:
        """Return an integer from `low` to `high`."""
        return self.random.randint(low, high)

    def shape(self, low: int = 0, high: int = 4, sizes: Sequence[int] = SIZES) -> tuple[int, ...]:
        """Return a shape of `low` to `high` dimensions. Few have a size 0."""
        weights = [1 if size == 0 else 4 for size in sizes]
        return tuple(self.random.choices(sizes, weights, k=self.between(low, high)))

    def axis(self, rank: int, name: str = "axis", default: int | None = None) -> int:
        """Give a dimension in an attribute, counted from either end, and return it counted from the front."""
        axis = self.between(0, rank - 1)
        if default is not None and -rank <= default < rank and self.chance(0.2):
            return default % rank
        self.attributes[name] = axis - rank if self.signed_axes and self.chance(0.4) else axis
        return axis

    @property
    def signed_axes(self) -> bool:
        """Whether dimensions may be counted from the end, which the operator sets before 11 do not have."""
        return self.version >= 11 or self.operator.domain != ""

    def axes(self, rank: int, count: int | None = None) -> list[int]:
        """Return different dimensions, counted from either end."""
        count = self.between(0, rank) if count is None else count
        chosen = self.random.sample(range(rank), count)
        return [axis - rank if self.signed_axes and self.chance(0.4) else axis for axis in chosen]

    def narrowed(self, shape: Sequence[int], ranks: bool = True) -> tuple[int, ...]:
        """Return a shape that broadcasts to another one."""
        sizes = [1 if self.chance(0.2) else size for size in shape]
        return tuple(sizes[self.between(0, len(sizes)) if ranks and self.chance(0.3) else 0 :])

    def flag(self, name: str, probability: float = 0.5) -> bool:
        """Give an attribute that is 0 or 1, or leave it out. Return what the node has."""
        return bool(self.choose(name, 0, 1)) if self.has(name) else False

    def choose(self, name: str, *choices: Any, absent: float = 0.25) -> Any:
        """Give an attribute that the schema has one of some values, or none. Return the value, or the default."""
        if not self.has(name):
            return None
        attribute = self.schema.attributes[name]
        if not attribute.required and self.chance(absent):
            self.left.add(name)
            default = attribute.default_value
            value = helper.get_attribute_value(default) if default.type else None
            return value.decode() if isinstance(value, bytes) else value
        self.attributes[name] = self.random.choice(choices)
        return self.attributes[name]

    def has(self, name: str) -> bool:
        """Return whether the schema has an attribute."""
        return name in self.schema.attributes

    def takes(self, name: str) -> bool:
        """Return whether the schema has an input."""
        return any(formal.name == name for formal in self.schema.inputs)

    # Inputs.

    def dtype(self, name: str) -> np.dtype[Any]:
        """Return the element type of an input."""
        (text,) = [formal.type_str for formal in self.schema.inputs if formal.name == name]
        return element_dtype(self.types[text] if text in self.types else str(text))

    def array(self, shape: Sequence[int], dtype: np.dtype[Any], special: bool | None = None) -> Array:
        """Return data: small numbers, many of them with halves, and in special draws the ends of what the type has."""
        special = self.is_special if special is None else special
        return drawn(self.numbers, tuple(shape), dtype, special, f"{self.operator.name} adds" in self.rules)

    def data(self, name: str, shape: Sequence[int], make: Callable[[], Array] | None = None) -> None:
        """Give an input data of a shape, or what a function returns, converted to the element type."""
        dtype, sizes = self.dtype(name), tuple(shape)

        def made() -> Array:
            if make is None:
                return self.array(sizes, dtype)
            with np.errstate(all="ignore"):
                return np.asarray(make()).reshape(sizes).astype(dtype)

        self.inputs.setdefault(name, []).append(Given(sizes, made))

    def optional(self, name: str, shape: Sequence[int], make: Callable[[], Array] | None = None) -> bool:
        """Give an optional input, or not, if the schema has it. Return whether it is given."""
        if not self.takes(name) or self.chance(0.5):
            return False
        self.data(name, shape, make)
        return True

    def fixed(self, name: str, values: Any) -> None:
        """Give an input that most models have as a constant; as an attribute where the schema has it as one."""
        if not self.takes(name):
            if self.has(name):
                self.attributes[name] = np.asarray(values).tolist()
            return
        array = np.asarray(values).astype(self.dtype(name))
        self.inputs[name] = [Given(array.shape, lambda: array, is_fixed=True)]

    def integers(self, low: int, high: int, shape: Sequence[int]) -> Callable[[], Array]:
        """Return a function that makes integers from `low` to below `high`."""
        return lambda: self.numbers.integers(low, max(high, low + 1), tuple(shape))

    def uniform(self, low: float, high: float, shape: Sequence[int]) -> Callable[[], Array]:
        """Return a function that makes numbers from `low` to `high`."""
        return lambda: self.numbers.uniform(low, high, tuple(shape))

    # The model.

    def _complete(self) -> None:
        """Give attributes that no rule has given, by their types."""
        for name in sorted(self.schema.attributes):
            if name not in self.attributes and name not in self.left and f":{name}" in self.rules:
                self.rules[f":{name}"](self)

    def leave(self, *names: str) -> None:
        """Leave attributes out."""
        self.left.update(names)

    def _assemble(self) -> tuple[onnx.ModelProto, list[dict[str, Array]]]:
        names: list[str] = []
        arguments: list[ValueInfoProto] = []
        constants: list[TensorProto] = []
        makers: dict[str, Callable[[], Array]] = {}
        count = sum(map(len, self.inputs.values()))
        for formal in self.schema.inputs:
            for place, given in enumerate(self.inputs.get(formal.name, [None])):
                if given is None:
                    names.append("")
                    continue
                name = f"{formal.name}{place or ''}"
                names.append(name)
                if self.chance(0.85 if given.is_fixed else 0.12 if count > 1 else 0.05):
                    constants.append(tensor(name, given.make()))
                    continue
                element = helper.np_dtype_to_tensor_dtype(given.make().dtype)
                arguments.append(helper.make_tensor_value_info(name, element, self._sizes(given.shape, count)))
                makers[name] = given.make
        while names and not names[-1]:
            names.pop()
        outputs = self._outputs()
        node = helper.make_node(self.operator.name, names, outputs, "node", domain=self.operator.domain)
        for key, value in self.attributes.items():
            kind = onnx.AttributeProto.AttributeType.Value(self.schema.attributes[key].type.name)
            node.attribute.append(helper.make_attribute(key, value, attr_type=kind))
        graph = helper.make_graph([node], str(self.operator), arguments, [], constants)
        graph.output.extend(ValueInfoProto(name=name) for name in outputs if name)
        sets = [helper.make_opsetid(self.operator.domain, self.version)]
        model = helper.make_model(graph, opset_imports=sets, ir_version=min(10, onnx.IR_VERSION))
        feeds = [{name: make() for name, make in makers.items()} for _ in range(FEEDS if makers else 1)]
        return model, feeds

    def _sizes(self, shape: Sequence[int], inputs: int) -> list[int | str]:
        """Return sizes as a model declares them: in some draws, some are only known when it runs."""
        named = {size for size in SIZES if self.is_dynamic and (size != 1 or inputs == 1)}
        return [f"n{size}" if size in named else size for size in shape]

    def _outputs(self) -> list[str]:
        """Return the names of outputs: all required ones, and of the others as many as are drawn."""
        required = max(1, self.schema.min_output)
        count = self.outputs or self.between(required, max(required, len(self.schema.outputs)))
        return [f"y{i}" for i in range(count)]

    @property
    def text(self) -> str:
        """The node in one line."""
        shown = [f"{name}={_shown(value)}" for name, value in sorted(self.attributes.items())]
        graph = self.model.graph
        constants = {c.name: numpy_helper.to_array(c) for c in graph.initializer}
        types = {i.name: i.type.tensor_type for i in graph.input}
        for name in graph.node[0].input:
            if name in constants:
                a = constants[name]
                values = f" {np.asarray(a).reshape(-1).tolist()}" if a.size <= 6 else ""
                shown.append(f"{name}: constant {a.dtype.name}{list(a.shape)}{values}")
            elif name:
                sizes = [d.dim_param or d.dim_value for d in types[name].shape.dim]
                shown.append(f"{name}: {TensorProto.DataType.Name(types[name].elem_type).lower()}{sizes}")
        special = ", special numbers" if self.is_special else ""
        return f"{self.operator} #{self.number} (operator set {self.version}{special}): {', '.join(shown)}"


def _shown(value: Any) -> str:
    return f"tensor {numpy_helper.to_array(value).tolist()}" if isinstance(value, TensorProto) else repr(value)


class NotDrawn(Exception):
    """Why an operator is not drawn."""


def tensor(name: str, array: Array) -> TensorProto:
    """Return an array as a constant of a model."""
    return numpy_helper.from_array(np.asarray(array), name)


def limits(dtype: np.dtype[Any]) -> tuple[int, int]:
    """Return the smallest and the largest integer of a type."""
    info: Any = np.iinfo(dtype) if dtype.kind in "iu" else cast(Any, ml_dtypes).iinfo(dtype)
    return int(info.min), int(info.max)


def is_integer(dtype: np.dtype[Any]) -> bool:
    """Return whether a type has integers."""
    return dtype.kind in "iu" or dtype.name in ("int2", "uint2", "int4", "uint4")


def drawn(
    numbers: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype[Any], special: bool, added: bool = False
) -> Array:
    """Return an array of random numbers, which may be special ones. Of those that are added up none is so large that it
    counts which are added first."""
    if dtype.kind == "b":
        return numbers.integers(0, 2, shape).astype(dtype)
    if is_integer(dtype):
        low, high = limits(dtype)
        values = numbers.integers(max(low, -9), min(high, 9) + 1, shape).astype(dtype)
        ends: list[Any] = [0, 1] if added else [low, high, low + 1, high - 1, 0, 1]
    else:
        made = np.asarray(numbers.normal(0, 2, shape))
        with np.errstate(all="ignore"):
            values = np.where(numbers.random(shape) < 0.5, np.round(made * 4) / 4, made).astype(dtype)
            ends = [x for x in special_floats(dtype) if not (added and 1e3 < abs(x) < np.inf)]
    if special and prod(shape):
        chosen = np.array(ends, dtype)[numbers.integers(0, len(ends), shape)]
        values = np.where(numbers.random(shape) < 0.4, chosen, values).astype(dtype)
    return np.asarray(values)


def special_floats(dtype: np.dtype[Any]) -> list[Any]:
    """Return floats that are easily computed with wrongly."""
    info: Any = cast(Any, ml_dtypes).finfo(dtype if dtype.kind != "c" else np.float32)
    ends = [float(info.max), float(info.tiny), float(info.smallest_subnormal)]
    return [np.nan, np.inf, -np.inf, -0.0, 0.0, *ends, *(-end for end in ends), 0.5, -0.5, 1.5, 2.5, 1.0, -1.0]
