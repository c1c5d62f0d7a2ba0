"""Runs size inference on a function: what it states, its body, and what follows for those who call it."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import func
from xdsl.dialects.builtin import DYNAMIC_INDEX, IndexType, TensorType, i8
from xdsl.ir import Attribute, Operation, SSAValue

from relex.dialects.errors import fail
from relex.dialects.function_arguments import argument_names, arguments, replacements
from relex.dialects.index.expr import name_of_size, named, names_in
from relex.dialects.names import Names, identifier
from relex.dialects.sizes.analysis import SizeAnalysis
from relex.dialects.sizes.attributes import (
    FunctionSizes,
    signature_of,
    sizes_in_type,
    stated_arguments,
    stated_requirements,
    stated_results,
)
from relex.dialects.sizes.expressions import Size, Sizes
from relex.dialects.sizes.implied import in_any_run, needed
from relex.dialects.sizes.limits import Typed, bytes_of, limits
from relex.dialects.sizes.requirements import Requirement


class FunctionAnalysis(SizeAnalysis):
    """The analysis of one function, from its arguments to its results."""

    def run(self, *, body: bool = True) -> FunctionSizes:
        """Return the sizes of the function; without its body, as far as the program states them or types give them."""
        entered = self._enter()
        results = self._results() if body else [sizes_in_type(t) for t in signature_of(self._function).outputs]
        inputs, fixed = self._inputs(entered)
        given = list(zip(signature_of(self._function).inputs, inputs, strict=True))
        computed: dict[Typed, SSAValue] = {}
        for value, sizes in self.sizes_by_value().items():
            computed.setdefault((value.type, sizes), value)
        given += [(TensorType(i8, [DYNAMIC_INDEX]), (named(name),)) for name in self._late]
        limited = limits(given, computed)
        required = list(dict.fromkeys([*self._solver.left, *limited]))
        for requirement in [r for r in required if self.is_late(r.lhs, r.rhs)]:
            required.remove(requirement)
            owner = computed[limited[requirement]].owner if requirement in limited else None
            self._check(requirement, owner if isinstance(owner, Operation) else self._function)
        requirements = [*needed(required), *fixed]
        outputs = tuple(map(self._solver.solved, results))
        own = sum(self._bytes(t, sizes, requirements) for t, sizes in self._own_memory)
        memory = [own + size for size in self._solver.solved(self._memory_of_callees)]
        memory = [size for size in memory if not self.is_late(size)]
        found = FunctionSizes(inputs, outputs, tuple(requirements), tuple(dict.fromkeys(memory)))
        self._check_names(found)
        return found

    def _bytes(self, t: Attribute, sizes: Sizes, requirements: Sequence[Requirement]) -> Size:
        """Return how many bytes a tensor of the function needs, in a branch or not."""
        return bytes_of(t, [in_any_run(size, requirements) for size in self._solver.solved(sizes)])

    def _inputs(self, entered: Sequence[Sizes]) -> tuple[tuple[Sizes, ...], list[Requirement]]:
        """Return the sizes of the arguments, and the requirements that numbers among them are constants: their type
        cannot say so, as a tensor's type can."""
        inputs, fixed = list[Sizes](), list[Requirement]()
        for t, sizes in zip(signature_of(self._function).inputs, entered, strict=True):
            found = self._solver.solved(sizes)
            if t == IndexType() and isinstance(found[0], int) and name_of_size(sizes[0]) is not None:
                fixed.append(Requirement(sizes[0], "==", found[0]))
                found = sizes
            inputs.append(found)
        return tuple(inputs), fixed

    def _check_names(self, found: FunctionSizes) -> None:
        """Check that every name is the size of an argument, which determines its value in a run."""
        sizes = [size for of_one in found.arguments for size in of_one]
        sizes += [side for r in found.requirements for side in (r.lhs, r.rhs)]
        sources = found.sources
        for name in (name for size in sizes for name in names_in(size)):
            if name not in sources:
                fail(self._function, f"expected an argument with a size that is '{name}' alone, found none")

    def values(self) -> dict[SSAValue, Sizes]:
        """Return the sizes of all values, as far as they are known. That takes a fraction of the time of `run`, which
        decides which requirements follow from others."""
        self._enter()
        self._results()
        return self.sizes_by_value()

    def sizes_by_value(self) -> dict[SSAValue, Sizes]:
        """Return the sizes of all values that are known after a run."""
        return {value: self._solver.solved(sizes) for value, sizes in self._values.items()}

    def _enter(self) -> list[Sizes]:
        """Enter what the function states. Return the sizes of the arguments."""
        entered = self._enter_arguments()
        for requirement in stated_requirements(self._function):
            self.require(requirement)
        return entered

    def _enter_arguments(self) -> list[Sizes]:
        """Name each dynamic size of the arguments that has no name."""
        stated = stated_arguments(self._function)
        given = sorted({name for sizes in stated for size in sizes if size is not None for name in names_in(size)})
        for name in given:
            self._solver.name(name)
        names = self._names = Names(given)
        bases = argument_names(self._function) or [f"arg{i}" for i in range(len(stated))]
        entered: list[Sizes] = []
        for base, t, said in zip(bases, signature_of(self._function).inputs, stated, strict=True):
            places = enumerate(zip(sizes_in_type(t), said, strict=True))
            entered.append(tuple(self._first_size(names, f"{base}_d{d}", known, size) for d, (known, size) in places))
        self._entered = entered
        for argument, sizes in zip(arguments(self._function), entered, strict=False):
            self.set(argument, sizes)
        return entered

    def _first_size(self, names: Names, base: str, known: int, stated: Size | None) -> Size:
        if stated is not None or known != DYNAMIC_INDEX:
            return known if stated is None else stated
        return self._solver.name(names.fresh(identifier(base)))

    def _results(self) -> list[Sizes]:
        region = self._function.regions[0]
        if not region.blocks:
            return stated_results(self._function)
        for block in region.blocks:
            self.visit(block)
        self._op = region.blocks[-1].last_op or self._function
        if not isinstance(self._op, func.ReturnOp):
            return []
        results = [self.sizes(value) for value in self._op.arguments]
        for argument, number in replacements(self._function).items():
            for size, found in zip(self.sizes(arguments(self._function)[argument]), results[number], strict=True):
                self.require(Requirement(found, "==", size))
        return results
