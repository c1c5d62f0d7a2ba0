"""What an operator gives, compiled and by its own semantics, and how the two compare."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from programs import Array, MakeOperator, compiled, interpreted, operator_module, operator_program, tensor_of
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp, StringAttr, TensorType
from xdsl.ir import Attribute
from xdsl.utils.test_value import create_ssa_value

from relex.lowering.relex_pipeline import Level
from relex.reference import Interpretation
from relex.runtime import Executable

SPECIAL = [np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -2.5, 1e-45, 3e38]


def infer(make: MakeOperator, *types: TensorType) -> Attribute:
    """The type of the operator's result."""
    return make(*map(create_ssa_value, types)).result_types[0]


class Place(NamedTuple):
    """Where an operator is: a function of a program."""

    text: str
    name: str

    def native(self, *operands: Array, strict: bool = False) -> Any:
        """What the compiled function gives."""
        return executable(self.text, strict)[self.name](*operands)

    def interpreted(self, level: Level, *operands: Array, strict: bool, checked: bool = False) -> Any:
        """What the function gives, interpreted at a level."""
        return interpretation(self.text, level, strict, checked)[self.name](*operands)


class Groups:
    """Cases in programs of several, which are lowered and compiled together."""

    def __init__(self, cases: Sequence[tuple[MakeOperator, Sequence[Array]]]):
        self.cases = cases
        self.texts: dict[tuple[int, ...], str] = {}

    def place_of(self, number: int, group: tuple[int, ...]) -> Place:
        """Where a case is, in the program of a group."""
        if group not in self.texts:
            self.texts[group] = together([self.cases[i] for i in group])
        return Place(self.texts[group], f"case_{group.index(number)}")


def together(cases: Sequence[tuple[MakeOperator, Sequence[Array]]]) -> str:
    """A program with a function for each case: @case_0, @case_1, and so on."""
    functions: list[func.FuncOp] = []
    for i, (make, operands) in enumerate(cases):
        (function,) = operator_module(make, [tensor_of(array) for array in operands]).ops
        assert isinstance(function, func.FuncOp)
        function.detach()
        function.sym_name = StringAttr(f"case_{i}")
        functions.append(function)
    return str(ModuleOp(functions))


@lru_cache(maxsize=2)
def executable(text: str, strict: bool) -> Executable:
    """A program as native code. Tests call the same one for several operands, one after the other."""
    return compiled(text, strict=strict)


@lru_cache(maxsize=8)
def interpretation(text: str, level: Level, strict: bool, checked: bool) -> Interpretation:
    """A program that is interpreted at a level."""
    return interpreted(text, level, strict=strict, checked=checked)


def native(make: MakeOperator, *operands: Array, strict: bool = False) -> Any:
    """What the compiled operator gives."""
    return Place(operator_program(make, operands), "main").native(*operands, strict=strict)


def expected(make: MakeOperator, *operands: Array) -> Any:
    """What the operator's own semantics give."""
    return only_one(all_expected(make, *operands))


def all_expected(make: MakeOperator, *operands: Array) -> Sequence[Array]:
    """All results that the operator's own semantics give."""
    operator = make(*(create_ssa_value(tensor_of(array)) for array in operands))
    return [np.asarray(result) for result in operator.evaluate_results(*operands)]


def all_of(results: Array | tuple[Array, ...]) -> Sequence[Array]:
    """The results of a function, as a list."""
    return results if isinstance(results, tuple) else [results]


def only_one(results: Sequence[Array]) -> Any:
    """A result alone if it is the only one, as functions return it."""
    return results[0] if len(results) == 1 else tuple(results)


def assert_same(found: Array, wanted: Array) -> None:
    """Equal, NaN included; zeros of either sign are."""
    assert found.dtype == wanted.dtype
    assert found.shape == wanted.shape
    np.testing.assert_array_equal(found, wanted)


def assert_close(found: Array, wanted: Array, ulps: int) -> None:
    """Equal up to some units in the last place of the wanted number; NaN and infinities at the same places."""
    if not ulps:
        assert_same(found, wanted)
        return
    assert found.dtype == wanted.dtype
    assert found.shape == wanted.shape
    same = (found == wanted) | (np.isnan(found) & np.isnan(wanted))
    with np.errstate(invalid="ignore"):
        near = abs(found - wanted) <= ulps * np.spacing(abs(wanted))
    np.testing.assert_array_equal(found[~(same | near)], wanted[~(same | near)])


def check(make: MakeOperator, *operands: Array, ulps: int = 0, place: Place | None = None) -> None:
    """The operator agrees with its semantics on every level, interpreted as loops and at the core, and compiled: alone,
    or in a program of several."""
    place = place or Place(operator_program(make, operands), "main")
    at_levels = [place.interpreted(level, *operands, strict=False) for level in ("loops", "core")]
    for found in (*at_levels, place.native(*operands)):
        for one, wanted in zip(all_of(found), all_expected(make, *operands), strict=True):
            assert_close(one, wanted, ulps)
