"""Programs for tests, and what they give."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any, cast

import numpy as np
from xdsl.dialects import func
from xdsl.dialects.builtin import FunctionType, ModuleOp, TensorType
from xdsl.ir import Attribute, Block, Region

from relex.dialects import parse_module
from relex.dialects.dtypes import element_type_of
from relex.dialects.relex import Operator
from relex.dialects.signature import Signature
from relex.lowering.relex_pipeline import Level, RelexPipelinePass
from relex.lowering.support.signatures import signatures
from relex.reference import Interpretation, interpret
from relex.runtime import Executable, build

Array = np.ndarray[Any, np.dtype[Any]]

MakeOperator = Callable[..., Operator]
"""An operator for some operands: its class, or a function that knows its properties too."""


def operator_of(make: MakeOperator) -> type[Operator]:
    """The class that a maker makes."""
    return cast(type[Operator], getattr(make, "func", make))


def tensor_of(array: Array) -> TensorType[Attribute]:
    return TensorType(element_type_of(array.dtype), array.shape)


def operator_program(make: MakeOperator, operands: Sequence[Array]) -> str:
    """A function @main that applies one operator to arguments like `operands`."""
    return str(operator_module(make, [tensor_of(array) for array in operands]))


def operator_module(make: MakeOperator, types: Sequence[TensorType[Attribute]]) -> ModuleOp:
    """A function @main that applies one operator to arguments of these types."""
    block = Block(arg_types=types)
    for i, argument in enumerate(block.args):
        argument.name_hint = f"x{i}"
    operator = make(*block.args)
    block.add_ops([operator, func.ReturnOp(*operator.results)])
    main = func.FuncOp("main", FunctionType.from_lists(types, operator.result_types), Region(block))
    return ModuleOp([main])


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


@lru_cache(maxsize=16)
def lowered(text: str, level: Level, strict: bool) -> ModuleOp:
    """A program at a level: at the core as what its loops become."""
    before = lowered(text, "loops", strict) if level == "core" else parse_module(text)
    return RelexPipelinePass(level, strict)(before)


@lru_cache(maxsize=16)
def stated(text: str) -> Mapping[str, Signature]:
    """The signatures of a program's functions."""
    return signatures(parse_module(text))


def interpreted(text: str, level: Level, *, strict: bool = True, checked: bool = False) -> Interpretation:
    """A program lowered to a level and interpreted there."""
    return interpret(lowered(text, level, strict), checked=checked, interface=stated(text))


def compiled(text: str, level: Level = "core", *, strict: bool = True) -> Executable:
    """A program as native code, which continues from a level that it is interpreted at, too, instead of being lowered
    twice. `test_text_levels.py` shows that the code is the same as by `build(text)`."""
    return build(lowered(text, level, strict), strict=strict)
