"""Equivalence of sizes: a function accepts and returns arrays of the same shapes before and after a pass."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from math import prod
from random import Random

from xdsl.dialects import func
from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Operation

from relex.dialects.errors import PassError
from relex.dialects.sizes import Requirement, Size, evaluate, name_of_size, named, names_in
from relex.dialects.sizes.attributes import FunctionSizes, has_unknown, signature_of
from relex.dialects.sizes.modules import ModuleSizes, sizes_at_entry
from relex.dialects.tir import PrimFuncOp
from relex.reference.equivalence.comparison import Mismatch
from relex.reference.equivalence.interface import Interface, late_results

Shapes = tuple[tuple[int, ...], ...]

_VALUES = (0, 1, 2, 3, 4, 5, 7, 8, 16, 17, 100)
"""Sizes to try, besides the numbers in requirements and their neighbours."""

_TRIES = 200
_LARGEST = 2**20
"""Larger numbers in requirements say that an index must hold a size: each level says that differently."""


def find_mismatch(before: Operation, after: Operation, interface: Interface) -> Mismatch | None:
    """Return the first call that is accepted before a pass and refused after it, or vice versa, or whose results get
    other shapes. `interface` is that before the pass.

    The requirements of a function on buffers are only partly known, and less so after its loops have changed: it may
    accept more calls, except those that the program declares invalid.
    """
    if not any(map(has_unknown, (*signature_of(before).inputs, *signature_of(after).inputs))):
        return None
    try:
        old = _Sizes.of(before, interface)
    except PassError:
        # Without a signature, it cannot be called.
        return None
    try:
        new = _Sizes.of(after, interface)
        stated = [_Sizes.of(function, interface, sizes_at_entry) for function in (before, after)]
    except PassError as e:
        return Mismatch("", "a function whose sizes follow from its arguments", e.diagnostics[0].message)
    found = _compare(interface, old.calls(), old, new)
    if found is None and _is_graph(before) and _is_graph(after):
        found = _compare(interface, new.calls(), old, new)
    if found is None and not _is_graph(before) and type(before) is type(after):
        # A pass may state what used to follow from accesses.
        found = _compare(interface, chain(stated[0].calls(), stated[1].calls()), *stated, implied=old)
    return found


def accepted_shapes(function: Operation, interface: Interface) -> list[Shapes]:
    """Return shapes of inputs that a function of dynamic sizes accepts, as far as some are found; first shapes of small
    arrays with elements."""
    if not any(has_unknown(sizes) for sizes in signature_of(function).inputs):
        return []
    try:
        sizes = _Sizes.of(function, interface)
    except PassError:
        return []
    calls = [shapes for shapes in sizes.calls() if sizes.has_results(shapes)]

    def order(shapes: Shapes) -> tuple[int, int, int]:
        numbers = list(chain.from_iterable(shapes))
        return numbers.count(0), numbers.count(1), sum(map(prod, shapes))

    return sorted(calls, key=order)


def enlarged(function: Operation, interface: Interface, arguments: Shapes, outputs: Shapes) -> Shapes:
    """Return shapes for the buffers that a function fills, given the shapes of its other arguments: `outputs`, enlarged
    to what the function requires of them."""
    try:
        return _Sizes.of(function, interface).enlarged(arguments, outputs)
    except PassError:
        return outputs


def _compare(
    interface: Interface, calls: Iterable[Shapes], before: _Sizes, after: _Sizes, implied: _Sizes | None = None
) -> Mismatch | None:
    if before == after:
        return None
    for arguments in calls:
        expected, found = before.results(arguments), after.results(arguments)
        if found is None and implied is not None:
            expected = implied.results(arguments)
        if not _agree(expected, found):
            return Mismatch(f"a call with {_named(interface, arguments)}", _text(expected), _text(found))
    return None


def _agree(expected: Sequence[tuple[int | None, ...]] | None, found: Sequence[tuple[int | None, ...]] | None) -> bool:
    """Return whether results have the same shapes, as far as both are known; None stands for a refused call."""
    if expected is None or found is None:
        return expected is found
    pairs = chain.from_iterable(zip(a, b, strict=True) for a, b in zip(expected, found, strict=True))
    return all(a == b or a is None or b is None for a, b in pairs)


def _named(interface: Interface, arguments: Shapes) -> str:
    given = zip(interface.inputs, arguments, strict=True)
    named = [
        f"%{spec.name} of shape {shape}" if spec.shape is not None else f"%{spec.name} = {shape[0]}"
        for spec, shape in given
        if shape
    ]
    return " and ".join(named)


def _text(results: Sequence[tuple[int | None, ...]] | None) -> str:
    if results is None:
        return "that it is refused"
    return f"results of shapes {', '.join(map(str, results))}" if results else "that it runs"


def _is_graph(function: Operation) -> bool:
    return isinstance(function, func.FuncOp) and not any(
        isinstance(t, MemRefType) for t in function.function_type.inputs
    )


@dataclass(frozen=True)
class _Sizes:
    """The sizes of a function whose first `count` arguments are inputs; the others are outputs that it fills."""

    sizes: FunctionSizes
    count: int
    outputs: tuple[tuple[Size, ...], ...]

    @classmethod
    def of(
        cls, function: Operation, interface: Interface, find: Callable[[Operation], FunctionSizes] | None = None
    ) -> _Sizes:
        """Compute the sizes of a function. Raises `PassError` if they do not follow from the sizes of the arguments."""
        is_known = _is_graph(function) or isinstance(function, PrimFuncOp)
        find = find or (ModuleSizes().of if is_known else sizes_at_entry)
        sizes = find(function)
        count = len(interface.inputs)
        late = late_results(function)
        filled = sizes.arguments[count:]
        is_lowered = bool(filled or late)
        arrays = [(i, s) for i, s in enumerate(sizes.results) if i in interface.filled]
        given = iter(filled if is_lowered else [s for _, s in arrays])
        ranks = [(i, len(spec.shape or ())) for i, spec in enumerate(interface.outputs)]
        unknown = {i: tuple(named(f"?{i}_{d}") for d in range(rank)) for i, rank in ranks if i in late}
        found = (unknown[i] if i in unknown else next(given, None) for i in interface.filled)
        return cls(sizes, count, tuple(size for size in found if size is not None))

    def calls(self) -> Iterator[Shapes]:
        """Yield the input shapes of calls that are accepted."""
        fixed = dict(self._fixed())
        names = [name for name, (i, _) in self.sizes.sources.items() if i < self.count and name not in fixed]
        values = sorted({*_VALUES, *self._limits()})
        rng = Random(0)
        tries = [(value,) * len(names) for value in values]
        tries += [tuple(rng.choices(values, k=len(names))) for _ in range(_TRIES)]
        for numbers in dict.fromkeys(tries):
            known = fixed | dict(zip(names, numbers, strict=True))
            inputs = self.sizes.arguments[: self.count]
            if all(set(names_in(size)) <= known.keys() for size in chain.from_iterable(inputs)):
                shapes = tuple(tuple(evaluate(size, known) for size in sizes) for sizes in inputs)
                if min(chain.from_iterable(shapes), default=0) >= 0 and self.results(shapes) is not None:
                    yield shapes

    def _fixed(self) -> Iterator[tuple[str, int]]:
        """Yield the names that stand for a number."""
        equal = [(r.lhs, r.rhs) for r in self.sizes.requirements if r.relation == "=="]
        for a, b in (*equal, *((b, a) for a, b in equal)):
            if (name := name_of_size(a)) is not None and isinstance(b, int):
                yield name, b

    def _limits(self) -> Iterator[int]:
        for side in (side for r in self.sizes.requirements for side in (r.lhs, r.rhs)):
            if isinstance(side, int) and 0 < side < _LARGEST:
                yield from (side - 1, side, side + 1)

    def enlarged(self, arguments: Shapes, outputs: Shapes) -> Shapes:
        """Return the shapes of outputs, enlarged where requirements say so."""
        known = {name: arguments[i][d] for name, (i, d) in self.sizes.sources.items() if i < self.count}
        names = [[name_of_size(size) for size in sizes] for sizes in self.outputs]
        dynamic_sizes: dict[str, int] = {}
        for name, n in zip(chain.from_iterable(names), chain.from_iterable(outputs), strict=True):
            if name is not None and name not in known:
                dynamic_sizes[name] = max(n, dynamic_sizes.get(name, 0))
        least = [(r.lhs, name_of_size(r.rhs)) for r in self.sizes.requirements if r.relation == "<="]
        for _ in least:  # Each size may follow from others.
            for size, name in least:
                if name in dynamic_sizes and (n := _value(size, known | dynamic_sizes)) is not None:
                    dynamic_sizes[name] = max(n, dynamic_sizes[name])
        return tuple(
            tuple(n if name is None else dynamic_sizes.get(name, n) for name, n in zip(row, shape, strict=True))
            for row, shape in zip(names, outputs, strict=True)
        )

    def has_results(self, arguments: Shapes) -> bool:
        """Return whether a call is accepted, and no size of its results is negative."""
        results = self.results(arguments)
        return results is not None and all(n is None or n >= 0 for shape in results for n in shape)

    def results(self, arguments: Shapes) -> list[tuple[int | None, ...]] | None:
        """Return the result shapes of a call, with None for sizes that do not follow; None for a refused call."""
        sources = self.sizes.sources.items()
        known = {name: arguments[i][d] for name, (i, d) in sources if i < self.count}
        for sizes, shape in zip(self.sizes.arguments, arguments, strict=False):
            if any(_value(size, known) not in (n, None) for size, n in zip(sizes, shape, strict=True)):
                return None
        if any(_holds(r, known) is False for r in self.sizes.requirements):
            return None
        return [tuple(_value(size, known) for size in sizes) for sizes in self.outputs]


def _value(size: Size, known: Mapping[str, int]) -> int | None:
    try:
        return evaluate(size, known)
    except KeyError:
        return None


def _holds(requirement: Requirement, known: Mapping[str, int]) -> bool | None:
    lhs, rhs = _value(requirement.lhs, known), _value(requirement.rhs, known)
    if lhs is None or rhs is None:
        return requirement.substitute(known).holds
    return Requirement(lhs, requirement.relation, rhs).holds
