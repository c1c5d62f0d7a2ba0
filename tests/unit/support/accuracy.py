"""
Measures how exact each elementwise function of floats is, in units in the last place, against 100 digits.

`make accuracy` runs it, which takes some minutes, and writes `accuracy.json`, whose numbers `docs/operators.md` shows.
Names of functions after it measure only those, and print what is worst.
"""

from __future__ import annotations

import inspect
import json
import platform
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from accuracy_draws import Results, draws, evaluate, results
from exact_functions import COMPOSITIONS, OPERATORS, Exact, operators
from programs import operator_module
from xdsl.dialects.builtin import DYNAMIC_INDEX, ModuleOp, TensorType, f32, f64
from xdsl.ir import Attribute

from relex.dialects.dtypes import FLOATS, is_emulated, record_of
from relex.dialects.sizes import named
from relex.dialects.target.target_attribute import Target
from relex.frontend import op
from relex.frontend.compositions import activations, special_functions
from relex.frontend.importing.builder import Builder
from relex.reference import interpret
from relex.runtime import build

Array = np.ndarray[Any, np.dtype[Any]]

RESULTS = Path(__file__).with_name("accuracy.json")

TYPES = {record_of(t).name: t for t in FLOATS}

PROPERTIES: Mapping[str, Callable[[Attribute], Mapping[str, Any]]] = {
    "astype": lambda t: {"dtype": t},
    "clip": lambda t: {"min": -1, "max": 1.5},
}
"""The properties of operators that need some, for a type of the result."""


COMPOSED_WITH: Mapping[str, Mapping[str, Any]] = {
    "celu": {"alpha": 1.25},
    "elu": {"alpha": 0.75},
    "hard_shrink": {"limit": 0.5},
    "leaky_relu": {"slope": 0.1},
    "soft_shrink": {"limit": 0.5},
    "swish": {"alpha": 1.5},
}
"""The numbers that functions of the front ends are measured with."""

ALONE = 3000
"""How many elements are computed one by one, as what is left of a vector is."""

MODES = ("default", "strict", "interpreter")


@dataclass(frozen=True)
class Function:
    """A function for one element type."""

    name: str
    exact: Exact
    element: Attribute

    def __str__(self) -> str:
        return f"{self.name}-{record_of(self.element).name}"

    @property
    def module(self) -> ModuleOp:
        """A program that applies it to vectors of a dynamic size."""
        if self.name in COMPOSITIONS:
            return composed(self.name, self.element, self.exact.operands)
        kind = operators()[self.name]
        given: Mapping[str, Any] = PROPERTIES[self.name](self.element) if self.name in PROPERTIES else {}
        t = TensorType(self.operand, [DYNAMIC_INDEX])
        return operator_module(partial(kind, **given), [t] * self.exact.operands)

    @property
    def operand(self) -> Attribute:
        """The element type of the operands."""
        if self.name != "astype":
            return self.element
        return f32 if self.element == f64 else f64

    def bound(self, mode: str) -> float:
        """The largest error that it may have, in units in the last place."""
        # NumPy's functions of f32, which the interpreter computes with, are off by up to 2.5.
        return self.exact.bound(record_of(self.element).name) + (mode == "interpreter" and self.element == f32)

    def operands(self, fine: float) -> Sequence[Array]:
        """The numbers to measure it with."""
        if record_of(self.operand).size == 2 and self.exact.operands == 1 and fine > 1:
            fine = 0
        return draws(record_of(self.operand), fine, self.exact.operands)

    def results(self, operands: Sequence[Array]) -> Results:
        """What it is."""
        element = record_of(self.element)
        if self.exact.function is not None:
            return results(element, evaluate(self.exact.function, self.exact.special, operands))
        with np.errstate(all="ignore"):
            return results(element, self.exact.special(*operands).astype(np.float64).tolist())


def compositions() -> Mapping[str, Callable[..., Any]]:
    """The functions of the front ends that are computed in several steps."""
    modules = (activations, special_functions)
    return {
        name: function
        for module in modules
        for name, function in vars(module).items()
        if inspect.isfunction(function) and function.__module__ == module.__name__ and not name.startswith("_")
    }


def composed(name: str, element: Attribute, operands: int) -> ModuleOp:
    """A program with a function of the front ends, which compute smaller floats in f32, and round once."""
    builder = Builder("accuracy")
    arguments = [builder.add_argument(f"x{i}", element, [named("n")]) for i in range(operands)]
    kind = f32 if is_emulated(element) else element
    wide = [op.astype(x, kind) if is_emulated(element) else x for x in arguments]
    given = {"kind": kind} if name == "erfc" else COMPOSED_WITH.get(name, {})
    result = compositions()[name](*wide, **given)
    value = builder.value(op.astype(result, element) if is_emulated(element) else result)
    return ModuleOp([builder.finish("main", [value])])


def load() -> dict[str, dict[str, dict[str, float]]]:
    """Return the largest errors that were measured, by function, element type and mode."""
    return json.loads(RESULTS.read_text())


def functions() -> Iterator[Function]:
    """Yield all functions for all element types that they take."""
    for name, exact in {**OPERATORS, **COMPOSITIONS}.items():
        yield from (Function(name, exact, t) for t in FLOATS)


def mains(module: ModuleOp, *, whole: bool) -> Iterator[tuple[str, Callable[..., Array]]]:
    """Yield the programs that are measured, by their modes. `whole` adds one for shorter vectors."""
    targets = [None, *OTHER_TARGETS] if whole else [None]
    for strict, target in product((False, True), targets):
        yield "strict" if strict else "default", build(module, strict=strict, target=target)["main"]
    yield "interpreter", interpret(module)["main"]


OTHER_TARGETS = [Target(Target.host().triple, "haswell")] if platform.machine() == "x86_64" else []


@dataclass(frozen=True)
class Worst:
    """The largest error of a function, and where it is."""

    error: float
    place: tuple[Any, ...] = ()
    found: Any = None

    @classmethod
    def of(cls, results: Results, operands: Sequence[Array], found: Array) -> Worst:
        errors = results.errors(found)
        i = int(errors.argmax())
        return cls(float(errors[i]), tuple(operand[i] for operand in operands), found[i])


def measure(function: Function, fine: float, *, whole: bool, modes: Sequence[str] = MODES) -> dict[str, Worst]:
    """Return the largest errors, by the mode of compilation: of long vectors, and of elements one by one."""
    operands = function.operands(fine)
    exact = function.results(operands)
    worst = dict.fromkeys(modes, Worst(0.0))
    for mode, main in mains(function.module, whole=whole):
        if mode not in modes:
            continue
        found = main(*operands)
        computed = [found]
        if mode != "interpreter":
            computed.append(found.copy())
            for i in range(0, len(found), 1 + len(found) // ALONE):
                computed[1][i : i + 1] = main(*(operand[i : i + 1].copy() for operand in operands))
        worst[mode] = max([worst[mode], *(Worst.of(exact, operands, each) for each in computed)], key=lambda w: w.error)
    return worst


def main(names: Sequence[str]) -> str | None:
    """Measure all functions, or those with these names, and return what is wrong."""
    measured, wrong = load() if names else {}, list[str]()
    if unknown := {*names} - {function.name for function in functions()}:
        return f"expected names of functions in exact_functions.py, found {', '.join(sorted(unknown))}"
    for function in functions():
        if names and function.name not in names:
            continue
        element = record_of(function.element)
        worst = measure(function, FINE[element.name], whole=True)
        measured.setdefault(function.name, {})[element.name] = {mode: round(w.error, 3) for mode, w in worst.items()}
        for mode, one in worst.items():
            line = f"{function!s:20} {mode:12} {one.error:10.4g}  at {', '.join(map(str, one.place))}: {one.found}"
            wrong += [line] * (one.error > function.bound(mode))
            print(line, flush=True)
        rows = [f" {json.dumps(name)}: {json.dumps(of_types)}" for name, of_types in sorted(measured.items())]
        RESULTS.write_text("{\n" + ",\n".join(rows) + "\n}\n")
    return "\n".join(["larger errors than the bounds in exact_functions.py:", *wrong]) if wrong else None


FINE = {"f16": 4, "bf16": 4, "f32": 8, "f64": 3}
"""How many numbers of each power of two are measured; of 16 bits, all numbers are if there is one operand."""


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
