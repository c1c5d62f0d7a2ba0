"""Proof that functions compute the same before and after a pass: both run on symbols, and their terms are compared."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Any

import numpy as np
from xdsl.dialects.builtin import MemRefType, TensorType

from relex.dialects.arrays import Array
from relex.reference.equivalence.execution import Runner, Shapes, TooLong
from relex.reference.equivalence.interface import Interface
from relex.reference.equivalence.proving import DifferentTerms, Proof, Rewrite, Side, TermDifference
from relex.reference.equivalence.spread_rules import LIBRARY_FUNCTIONS
from relex.reference.interpreter.budget import take
from relex.reference.interpreter.program import Program
from relex.reference.proof.field import Residues
from relex.reference.proof.first_difference import first_difference, in_full, short_text
from relex.reference.proof.float_order import ExtremeOfIntegers
from relex.reference.proof.identities import identities
from relex.reference.proof.refinement import Refinement
from relex.reference.proof.rows import Batch
from relex.reference.proof.subword import simplifications
from relex.reference.proof.symbolic_numbers import RUNNING, SymbolicNumbers, Unproved, packed
from relex.reference.proof.terms import CONSTANT, ELEMENT, Terms

LIBRARY = frozenset(kind.name for kind in LIBRARY_FUNCTIONS)
"""Functions whose last digits are not specified."""

STEPS = 2_000_000
"""The number of interpreted steps, and of terms, that a function may take in a proof."""


class TooManySteps(Unproved):
    """A function takes more steps than it may."""


class DifferentResidues(Unproved):
    """The two sides have different residues."""


Results = list[tuple[Array, np.dtype[Any]]]

LARGE = 20_000
"""The number of elements of all arguments, constants and results of ops from which on residues take the place of
terms."""

RESIDUE_STEPS = 10_000_000
"""The number of steps that a function may take on residues."""

DOUBT = 1e-9
"""The probability of a wrong proof that is small enough: as long as it is larger, proofs by residues are repeated."""


@np.errstate(all="ignore")
def prove(before: Side, after: Side, arguments: Sequence[Any], shapes: Shapes | None, rewrite: Rewrite | None) -> Proof:
    """Prove that two functions compute the same for all arguments of the sizes of these. `shapes` are the shapes of the
    results; `rewrite` maps arguments to those before and after. A proof on terms is certain. Raises `NotComparable`
    with the reason if nothing is proved: `DifferentTerms` if they may not compute the same."""
    sides = _sides(before, after, arguments, shapes, rewrite)
    if sum(np.size(x) for x in arguments) + _elements_in(before) <= LARGE:
        try:
            sides.prove_by_terms()
            return Proof(rows=sides.rows)
        except TooManySteps:
            pass
    doubt, seed = 1.0, 0
    while doubt > DOUBT:
        doubt *= min(sides.prove_by_residues(seed), 0.5)
        seed += 1
    return Proof(doubt, sides.rows)


def _sides(
    before: Side, after: Side, arguments: Sequence[Any], shapes: Shapes | None, rewrite: Rewrite | None
) -> Sides:
    """Return both sides, with fewer rows if these stand for all."""
    whole = Sides(before, after, arguments, shapes, rewrite)
    count = min((spec.shape[0] for spec in before.interface.outputs if spec.shape), default=0)
    if rewrite is not None or before.interface.written or before.interface.replaced or count < 2:
        return whole
    old, new = (Batch.of(side.runner.module, side.name, count) for side in (before, after))
    if old is None or new is None or old.arguments != new.arguments:
        return whole
    new.groups.limit(old.groups.size, old.groups.end)
    if not (start := new.groups.start):
        return whole
    return Sides(_limited(before, old, start), _limited(after, new, start), arguments, shapes, None, start)


def _limited(side: Side, batch: Batch, start: int) -> Side:
    """Return a side that computes fewer rows."""
    runner = Runner(batch.limited(start))
    runner.symbolic = side.runner.symbolic
    return replace(side, runner=runner)


@dataclass(frozen=True)
class Run:
    """A run of a function on symbols."""

    terms: Terms
    results: Results
    """The terms of the results, and of the buffers that are written, with the dtypes of both."""
    assumed: frozenset[str]
    """The operators that are assumed to mean what their loops compute."""


@dataclass(frozen=True)
class Sides:
    """A function before and after a pass, and arguments, of which only sizes and indices matter."""

    before: Side
    after: Side
    arguments: Sequence[Any]
    shapes: Shapes | None
    rewrite: Rewrite | None
    start: int = 0
    """The first row that is compared, and stands for those before it."""

    @property
    def rows(self) -> str:
        """The rows that are compared, as verdicts show them, if not all are."""
        shapes = (spec.shape for spec in self.before.interface.outputs)
        count = max((shape[0] for shape in shapes if shape), default=0)
        return f"{count - self.start} of {count} rows, which stand for all" if self.start else ""

    def prove_by_terms(self) -> None:
        """Prove that both sides have equal terms."""
        old = self._known(None) or self._run(
            self.before, Terms((*identities(), *simplifications(), ExtremeOfIntegers()))
        )
        # The terms of a long chain of passes would fill the memory.
        new = self._run(self.after, old.terms)
        _expect_same_shapes(old, new)
        try:
            _compare(old.terms, self.before.interface, old.results, new.results, self.start)
        except RecursionError:
            raise TooManySteps("its terms nest too deeply to be compared") from None
        if len(new.terms) < STEPS:
            self._keep(None, new)
        _expect_meaning(old, new)

    def prove_by_residues(self, seed: int) -> float:
        """Prove that both sides have equal residues; return the probability that they have by chance."""
        old = self._known(seed) or self._run(self.before, Residues(seed))
        assert isinstance(old.terms, Residues)
        residues = Residues(seed, before=old.terms)
        new = self._run(self.after, residues)
        _expect_same_shapes(old, new)
        try:
            _compare_residues(old.terms, self.before.interface, old.results, new.results)
        except DifferentResidues:
            if not old.terms.given.keys() - residues.given.keys():
                raise
            # The pass may have lost flags of ops that occur without these, too.
            old = self._run(self.before, narrow := Residues(seed, after=residues))
            new = self._run(self.after, residues := Residues(seed, before=narrow))
            _compare_residues(narrow, self.before.interface, old.results, new.results)
        doubt = residues.doubt
        if residues.given.keys() == residues.seen.keys():
            residues.detach()
            self._keep(seed, new)
        _expect_meaning(old, new)
        return doubt

    def _run(self, side: Side, terms: Terms) -> Run:
        arguments = _symbols(terms, self.before.interface, self.arguments)
        if self.rewrite is not None:
            arguments = self.rewrite(arguments)[0 if side is self.before else 1]
        return _run(terms, side, arguments, self.shapes, self.start)

    # The function after a pass is that before the next one.

    def _key(self, seed: int | None) -> object:
        values = (
            int(x) if spec.is_index and spec.shape is None else np.shape(x)
            for spec, x in zip(self.before.interface.inputs, self.arguments, strict=True)
        )
        return seed, self.before.name, self.start, *values

    def _known(self, seed: int | None) -> Run | None:
        return self.before.runner.symbolic.pop(self._key(seed), None) if self.rewrite is None else None

    def _keep(self, seed: int | None, run: Run) -> None:
        if self.rewrite is None:
            self.after.runner.symbolic[self._key(seed)] = run


def _elements_in(side: Side) -> int:
    """Count the elements of what the ops of a program return, as far as their number is known."""
    types = (r.type for op in side.runner.module.walk() for r in op.results)
    return sum(prod(t.get_shape()) for t in types if isinstance(t, TensorType | MemRefType) and t.has_static_shape())


def _expect_same_shapes(old: Run, new: Run) -> None:
    if any(a.shape != b.shape for (a, _), (b, _) in zip(old.results, new.results, strict=True)):
        raise Unproved("its results have other shapes")


def _expect_meaning(old: Run, new: Run) -> None:
    if lowered := sorted(old.assumed - new.assumed):
        raise Unproved(f"{', '.join(lowered)} is taken to mean what 'legalize-ops' makes of it")


def _symbols(terms: Terms, interface: Interface, arguments: Sequence[Any]) -> list[Any]:
    return [
        value if spec.is_index else packed(terms.elements(spec.name, np.shape(value), spec.dtype), spec.dtype)
        for spec, value in zip(interface.inputs, arguments, strict=True)
    ]


def _run(terms: Terms, side: Side, arguments: Sequence[Any], shapes: Shapes | None, start: int) -> Run:
    numbers = SymbolicNumbers(terms)
    program = Program(side.runner.module, numbers=numbers)
    steps = RESIDUE_STEPS if isinstance(terms, Residues) else STEPS
    token = RUNNING.set(terms)
    try:
        inputs = [
            value if spec.is_index and spec.shape is None else np.array(_as_symbols(numbers, value, spec.dtype))[()]
            for spec, value in zip(side.interface.inputs, arguments, strict=True)
        ]
        found = side.runner.run_on(program, side.name, side.interface, inputs, shapes, steps)
    except TooLong:
        raise TooManySteps(f"it takes more than {steps} steps on symbols") from None
    finally:
        RUNNING.reset(token)
    dtypes = [spec.dtype for spec in (*side.interface.outputs, *side.interface.written)]
    cells = (numbers.cells_of(np.asarray(x), d) for x, d in zip(found, dtypes, strict=True))
    results = [((x[start:] if start else x).copy(), d) for x, d in zip(cells, dtypes, strict=True)]
    return Run(terms, results, frozenset(numbers.assumed))


def _as_symbols(numbers: SymbolicNumbers, value: Any, dtype: np.dtype[Any]) -> Any:
    array = np.asarray(value)
    return array if array.dtype.names else packed(numbers.cells_of(array, dtype), dtype)


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


def _compare(terms: Terms, interface: Interface, expected: Results, found: Results, start: int) -> None:
    refinement = Refinement(terms)
    for name, (before, _), (after, _) in zip(_names(interface), expected, found, strict=True):
        take(before.size)
        for index, (old, new) in enumerate(zip(before.ravel().tolist(), after.ravel().tolist(), strict=True)):
            if refinement.holds(old, new):
                continue
            place = [int(n) for n in np.unravel_index(index, before.shape)] if before.ndim else []
            place[:1] = [n + start for n in place[:1]]
            inner = refinement.difference(old, new)
            function = terms.heads[inner.before].name
            # Of several terms in a sum, nobody knows which became which.
            lost = {function} & LIBRARY or (terms.names(inner.before) - terms.names(inner.after)) & LIBRARY
            if lost:
                names = ", ".join(sorted(lost))
                other = short_text(terms, inner.after)
                raise Unproved(f"{names} may come from any library, and is computed in another way: {other}")
            leaves = list(terms.leaves(inner.before, inner.after))
            elements = [terms.arguments[leaf] for leaf in leaves if terms.heads[leaf].name == ELEMENT]
            numbers = [terms.value(leaf) for leaf in leaves if terms.heads[leaf].name == CONSTANT]
            whole = TermDifference(
                f"{name}{place or ''}",
                first_difference(refinement, old, new),
                in_full(terms, old, new),
                tuple((argument, tuple(index)) for argument, *index in elements),
                tuple(numbers),
            )
            raise DifferentTerms(whole)
