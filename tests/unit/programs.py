"""Programs for tests, as text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute

from relex.dialects import parse_module
from relex.dialects.dtypes import element_type_of
from relex.dialects.relex import Operator
from relex.lowering.relex_pipeline import Level, RelexPipelinePass
from relex.runtime import Interpretation, interpret
from relex.runtime.signature import signatures

Array = np.ndarray[Any, np.dtype[Any]]


def tensor_of(array: Array) -> TensorType[Attribute]:
    return TensorType(element_type_of(array.dtype), array.shape)


def operator_program(operator: type[Operator], operands: Sequence[Array]) -> str:
    """A function @main that applies one operator to arguments like `operands`."""
    types = [tensor_of(array) for array in operands]
    result = operator.infer(types, {})
    names = [f"%x{i}" for i in range(len(types))]
    arguments = ", ".join(f"{name}: {t}" for name, t in zip(names, types, strict=True))
    return (
        f"func.func @main({arguments}) -> {result} {{\n"
        f"  %r = {operator.name} {', '.join(names)} : ({', '.join(map(str, types))}) -> {result}\n"
        f"  func.return %r : {result}\n"
        "}\n"
    )


def random_array(rng: np.random.Generator, dtype: str, shape: Sequence[int]) -> Array:
    """Normal numbers, or integers over the whole range of the dtype."""
    kind = np.dtype(dtype)
    if kind.kind == "f":
        return rng.standard_normal(shape).astype(kind)
    if kind.kind == "b":
        return rng.random(shape) < 0.5
    info = np.iinfo(kind)
    return rng.integers(info.min, info.max, shape, dtype=kind, endpoint=True)


LEVELS: tuple[Level, ...] = ("graph", "loops", "core")


def interpreted(text: str, level: Level, *, strict: bool = True, checked: bool = False) -> Interpretation:
    """A program lowered to a level and interpreted there."""
    module = parse_module(text)
    lowered = RelexPipelinePass(level, strict)(module)
    return interpret(lowered, checked=checked, interface=signatures(module))
