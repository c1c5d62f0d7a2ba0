"""Proof that functions compute the same before and after a pass: both run on symbols, and their terms are compared."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from relex.reference.equivalence.bounds import LIBRARY_FUNCTIONS
from relex.reference.equivalence.execution import Runner, Shapes, TooLong
from relex.reference.equivalence.interface import Interface
from relex.reference.proof.identities import identities
from relex.reference.proof.numbers import RUNNING, SymbolicNumbers, Unproved, packed
from relex.reference.proof.refinement import Refinement
from relex.reference.proof.terms import Terms

if TYPE_CHECKING:
    from relex.dialects.dtypes import Array

LIBRARY = frozenset(kind.name for kind in LIBRARY_FUNCTIONS)
"""Functions whose last digits are not specified."""

STEPS = 2_000_000
"""The number of interpreted steps, and of terms, that a function may take in a proof."""


@dataclass(frozen=True)
class Side:
    """A function before or after a pass."""

    runner: Runner
    name: str
    interface: Interface


@dataclass(frozen=True)
class TermDifference:
    """An element for which the two sides have different terms."""

    place: str
    before: str
    after: str
    smallest: tuple[str, str]
    """The smallest terms that differ inside of these."""

    def __str__(self) -> str:
        inner = "" if self.smallest == (self.before, self.after) else f"; {self.smallest[0]} became {self.smallest[1]}"
        return f"{self.place} is {self.before} before and {self.after} after{inner}"


class DifferentTerms(Unproved):
    """The two sides have different terms."""

    def __init__(self, difference: TermDifference):
        super().__init__(f"its terms differ: {difference}")
        self.difference = difference


Rewrite = Callable[[Sequence[Any]], tuple[list[Any], list[Any]]]


def prove(before: Side, after: Side, arguments: Sequence[Any], shapes: Shapes | None, rewrite: Rewrite | None) -> None:
    """Prove that two functions compute the same for all arguments of the sizes of these. `shapes` are those of the
    results; `rewrite` maps arguments to those before and after. Raises `NotComparable` with the reason if that is not
    proved: `DifferentTerms` if they may not compute the same."""
    terms = Terms(identities())
    token = RUNNING.set(terms)
    try:
        olds = _symbols(terms, before.interface, arguments)
        news = olds
        if rewrite is not None:
            olds, news = rewrite(olds)
        expected, assumed = _run(terms, before, olds, shapes)
        found, still_assumed = _run(terms, after, news, shapes)
        if any(a.shape != b.shape for (a, _), (b, _) in zip(expected, found, strict=True)):
            raise Unproved("its results have other shapes")
        _compare(terms, before.interface, expected, found)
        if lowered := sorted(assumed - still_assumed):
            raise Unproved(f"{', '.join(lowered)} is taken to mean what 'legalize-ops' makes of it")
    finally:
        RUNNING.reset(token)


def _symbols(terms: Terms, interface: Interface, arguments: Sequence[Any]) -> list[Any]:
    return [
        value if spec.is_index else packed(terms.elements(spec.name, np.shape(value), spec.dtype), spec.dtype)
        for spec, value in zip(interface.inputs, arguments, strict=True)
    ]


Results = list[tuple["Array", np.dtype[Any]]]


def _run(terms: Terms, side: Side, arguments: Sequence[Any], shapes: Shapes | None) -> tuple[Results, set[str]]:
    """Return the terms of the results, and of the buffers that are written, with the dtypes of both; and the operators
    that are taken to mean what their loops compute."""
    numbers = SymbolicNumbers(terms)
    specs = side.interface.inputs
    inputs = [
        value if spec.is_index and spec.shape is None else np.array(_as_symbols(numbers, value, spec.dtype))[()]
        for spec, value in zip(specs, arguments, strict=True)
    ]
    try:
        found = side.runner.run_on(numbers, side.name, side.interface, inputs, shapes, STEPS)
    except TooLong:
        raise Unproved(f"it takes more than {STEPS} steps on symbols") from None
    dtypes = [spec.dtype for spec in (*side.interface.outputs, *side.interface.written)]
    return [
        (np.asarray(numbers.terms_of(np.asarray(x), d)), d) for x, d in zip(found, dtypes, strict=True)
    ], numbers.assumed


def _as_symbols(numbers: SymbolicNumbers, value: Any, dtype: np.dtype[Any]) -> Any:
    array = np.asarray(value)
    return array if array.dtype.names else packed(numbers.terms_of(array, dtype), dtype)


def _compare(terms: Terms, interface: Interface, expected: Results, found: Results) -> None:
    refinement = Refinement(terms)
    names = [spec.name for spec in interface.outputs] + [f"%{spec.name}" for spec in interface.written]
    for name, (before, _), (after, _) in zip(names, expected, found, strict=True):
        for index, (old, new) in enumerate(zip(before.ravel().tolist(), after.ravel().tolist(), strict=True)):
            if refinement.holds(old, new):
                continue
            place = [int(n) for n in np.unravel_index(index, before.shape)] if before.ndim else []
            inner = refinement.difference(old, new)
            texts = terms.text(inner.before), terms.text(inner.after)
            if (function := terms.heads[inner.before].name) in LIBRARY:
                raise Unproved(f"{function} may come from any library, and is computed in another way: {texts[1]}")
            whole = TermDifference(f"{name}{place or ''}", terms.text(old), terms.text(new), texts)
            raise DifferentTerms(whole)
