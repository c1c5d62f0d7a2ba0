"""Programs that the pattern of a rule describes."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue

from relex.dialects.errors import RelexError
from relex.dialects.relex import Operator
from relex.dialects.relex.properties import python_value
from relex.passes.rewriting.patterns import Pattern, ResultPattern, attribute
from relex.passes.rewriting.rewrite_rules import Bindings, Rule
from relex.reference.fuzzing.graph_functions import DTYPES, Draw, Graph, Shape, returned_of

ATTEMPTS = 60
"""The number of attempts to make a program that the rule applies to."""


class PatternExamples:
    """Makes the values that a pattern describes in a graph. Wildcards are arguments, or sometimes constants."""

    def __init__(self, graph: Graph, draw: Draw):
        self._graph = graph
        self._draw = draw
        self._names: dict[str, SSAValue] = {}
        self._properties: dict[str, object] = {}
        self._shape = draw.shape() if draw.random.random() < 0.7 else draw.random.choice([(3, 3), (2, 3, 3), ()])
        self._alike = draw.random.random()

    def value(self, name: str | None) -> SSAValue:
        if name in self._names:
            return self._names[name]
        draw = self._draw
        dtype = draw.random.choice(DTYPES) if draw.random.random() < 0.05 else None
        value = draw.leaf(self._graph, draw.tensor(self._leaf_shape(), dtype))
        return value if name is None else self.name(name, value)

    def _leaf_shape(self) -> Shape:
        """Return the shape of a wildcard: the same for all in many programs, and related ones in others."""
        if self._draw.random.random() < 2 * self._alike:
            return self._shape
        return self._draw.related(self._shape)

    def name(self, name: str, value: SSAValue) -> SSAValue:
        return self._names.setdefault(name, value)

    def constant(self, number: float | None) -> SSAValue:
        array = self._draw.array(self._leaf_shape())
        return self._graph.constant(array if number is None else np.full(array.shape, number).astype(array.dtype))

    def choice(self, count: int) -> int:
        return self._draw.random.randrange(count)

    def operator(self, pattern: ResultPattern, operands: Sequence[SSAValue]) -> SSAValue:
        random = self._draw.random
        kind = random.choice(pattern.classes)
        if not issubclass(kind, Operator):
            raise RelexError(f"expected an operator, found '{kind.name}'")
        if not pattern.operands:
            value = self._draw.grow(self._graph, kind)
            if value is None:
                raise RelexError(f"no operands of '{kind.name}' were found")
            return value
        if pattern.any_order:
            operands = random.sample(operands, len(operands))
        named = {name: p.name for name, p in pattern.properties.items() if isinstance(p, attribute)}
        fixed = {name: p for name, p in pattern.properties.items() if name not in named}
        fixed |= {name: self._properties[n] for name, n in named.items() if n in self._properties}
        op = self._draw.operator(kind, operands, fixed, named)
        for name, n in named.items():
            self._properties.setdefault(n, python_value(op.properties.get(name)))
        return self._graph.add(op)


def example_of(pattern: Pattern, rule: Rule | None, random: Random) -> ModuleOp | None:
    """Return a program with a match of a pattern, and if possible one to which the rule applies; None if none was
    found."""
    last: ModuleOp | None = None
    for _ in range(ATTEMPTS):
        draw = Draw(random, dynamic=0.5 if random.random() < 0.25 else 0.0)
        graph = Graph()
        try:
            value = pattern.example(PatternExamples(graph, draw))
        except RelexError:
            continue
        root = value.owner
        module = graph.module([value, *(v for v in returned_of(random, graph.values) if v is not value)])
        if isinstance(root, Operation) and _applies(pattern, rule, root):
            return module
        last = module
    return last


def _applies(pattern: Pattern, rule: Rule | None, root: Operation) -> bool:
    try:
        return any(rule is None or rule.where(Bindings(match)) for match in pattern.matches(root))
    except Exception:  # The rule stumbles over the program: that is worth a trial.
        return True
