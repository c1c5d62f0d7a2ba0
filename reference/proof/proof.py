"""Proof that functions compute the same before and after a pass: both run on symbols, and their terms are compared."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from relex.reference.equivalence.bounds import LIBRARY_FUNCTIONS
from relex.reference.equivalence.execution import Runner, Shapes, TooLong
from relex.reference.equivalence.interface import Interface
from relex.reference.proof.field import Residues
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


class TooManySteps(Unproved):
    """A function takes more steps than it may."""


class DifferentResidues(Unproved):
    """The two sides have different residues."""


class DifferentTerms(Unproved):
    """The two sides have different terms."""

    def __init__(self, difference: TermDifference):
        super().__init__(f"its terms differ: {difference}")
        self.difference = difference


Rewrite = Callable[[Sequence[Any]], tuple[list[Any], list[Any]]]


LARGE = 20_000
"""The number of elements of arguments from which on residues take the place of terms."""

RESIDUE_STEPS = 10_000_000
"""The number of steps that a function may take on residues."""

DOUBT = 1e-9
"""The probability of a wrong proof that is small enough: as long as it is larger, proofs by residues are repeated."""


@np.errstate(all="ignore")
def prove(before: Side, after: Side, arguments: Sequence[Any], shapes: Shapes | None, rewrite: Rewrite | None) -> float:
    """Prove that two functions compute the same for all arguments of the sizes of these. `shapes` are those of the
    results; `rewrite` maps arguments to those before and after. Return the probability that the proof is wrong: 0 if it
    is on terms. Raises `NotComparable` with the reason if nothing is proved: `DifferentTerms` if they may not compute
    the same."""
    if sum(np.size(x) for x in arguments) <= LARGE:
        try:
            terms = Terms(identities())
            _prove(terms, terms, before, after, arguments, shapes, rewrite)
            return 0.0
        except TooManySteps:
            pass
    doubt, seed = 1.0, 0
    last: Residues | None = None
    while doubt > DOUBT:
        old = Residues(seed, after=last)
        new = Residues(seed, before=old)
        try:
            _prove(old, new, before, after, arguments, shapes, rewrite)
        except DifferentResidues:
            if last is not None or not old.given.keys() - new.given.keys():
                raise
            # The pass may have lost flags of ops that occur without these, too.
            last = new
            continue
        doubt *= min(new.doubt, 0.5)
        seed += 1
    return doubt


def _prove(
    olds: Terms,
    news: Terms,
    before: Side,
    after: Side,
    arguments: Sequence[Any],
    shapes: Shapes | None,
    rewrite: Rewrite | None,
) -> None:
    old_arguments = new_arguments = _symbols(olds, before.interface, arguments)
    if rewrite is not None:
        old_arguments, new_arguments = rewrite(old_arguments)
    expected, assumed = _run(olds, before, old_arguments, shapes)
    found, still_assumed = _run(news, after, new_arguments, shapes)
    if any(a.shape != b.shape for (a, _), (b, _) in zip(expected, found, strict=True)):
        raise Unproved("its results have other shapes")
    if isinstance(olds, Residues):
        _compare_residues(olds, before.interface, expected, found)
    else:
        _compare(olds, before.interface, expected, found)
    if lowered := sorted(assumed - still_assumed):
        raise Unproved(f"{', '.join(lowered)} is taken to mean what 'legalize-ops' makes of it")


def _symbols(terms: Terms, interface: Interface, arguments: Sequence[Any]) -> list[Any]:
    return [
        value if spec.is_index else packed(terms.elements(spec.name, np.shape(value), spec.dtype), spec.dtype)
        for spec, value in zip(interface.inputs, arguments, strict=True)
    ]


Results = list[tuple["Array", np.dtype[Any]]]


def _run(terms: Terms, side: Side, arguments: Sequence[Any], shapes: Shapes | None) -> tuple[Results, set[str]]:
    """Return the terms of the results, and of the buffers that are written, with the dtypes of both; and the operators
    that are taken to mean what their loops compute."""
    token = RUNNING.set(terms)
    try:
        return _run_on(SymbolicNumbers(terms), side, arguments, shapes)
    finally:
        RUNNING.reset(token)


def _run_on(
    numbers: SymbolicNumbers, side: Side, arguments: Sequence[Any], shapes: Shapes | None
) -> tuple[Results, set[str]]:
    specs, steps = side.interface.inputs, RESIDUE_STEPS if isinstance(numbers.terms, Residues) else STEPS
    inputs = [
        value if spec.is_index and spec.shape is None else np.array(_as_symbols(numbers, value, spec.dtype))[()]
        for spec, value in zip(specs, arguments, strict=True)
    ]
    try:
        found = side.runner.run_on(numbers, side.name, side.interface, inputs, shapes, steps)
    except TooLong:
        raise TooManySteps(f"it takes more than {steps} steps on symbols") from None
    dtypes = [spec.dtype for spec in (*side.interface.outputs, *side.interface.written)]
    return [
        (np.asarray(numbers.terms_of(np.asarray(x), d)), d) for x, d in zip(found, dtypes, strict=True)
    ], numbers.assumed


def _as_symbols(numbers: SymbolicNumbers, value: Any, dtype: np.dtype[Any]) -> Any:
    array = np.asarray(value)
    return array if array.dtype.names else packed(numbers.terms_of(array, dtype), dtype)


def _names(interface: Interface) -> list[str]:
    return [spec.name for spec in interface.outputs] + [f"%{spec.name}" for spec in interface.written]


def _compare_residues(terms: Residues, interface: Interface, expected: Results, found: Results) -> None:
    for name, (before, _), (after, _) in zip(_names(interface), expected, found, strict=True):
        # What was never written may become anything.
        differs = np.argwhere((before != after) & (before != terms.undefined))
        if len(differs):
            place = differs[0].tolist()
            raise DifferentResidues(
                f"its residues differ for {name}{place or ''}, and for {len(differs) - 1} more elements"
            )


def _compare(terms: Terms, interface: Interface, expected: Results, found: Results) -> None:
    refinement = Refinement(terms)
    for name, (before, _), (after, _) in zip(_names(interface), expected, found, strict=True):
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
