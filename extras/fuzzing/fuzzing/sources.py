"""The programs that a pass is tried on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from random import Random

from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import DiagnosticException

from relex.dialects.errors import RelexError
from relex.dialects.relex import Operator
from relex.dialects.tir import BlockOp, ForOp, PrimFuncOp
from relex.lowering import ConvertTirToScfPass, LegalizeOpsPass, LowerCallTirPass
from relex.passes import FuseOpsPass, RelexPass
from relex.passes.rewriting.outline import OutliningPass
from relex.passes.rewriting.patterns import Pattern
from relex.passes.rewriting.rewrite_rules import Rule, RulesPass
from relex.reference.fuzzing.examples import example_of
from relex.reference.fuzzing.focus import ops_named
from relex.reference.fuzzing.graph_functions import random_graph
from relex.reference.fuzzing.loop_functions import random_loops
from relex.reference.fuzzing.ordered import carried_loops, ordered_loops
from relex.reference.fuzzing.variants import has_unused_sizes, varied

LEVELS: dict[str, Sequence[RelexPass]] = {
    "graph": (),
    "loops": (LegalizeOpsPass(),),
    "fused": (FuseOpsPass(), LegalizeOpsPass()),
    "core": (LegalizeOpsPass(), LowerCallTirPass(), ConvertTirToScfPass()),
    "strict": (LegalizeOpsPass(strict=True),),
    "written": (),
    "converted": (ConvertTirToScfPass(),),
    "carried": (),
}
"""The passes that take a graph, or loops that do not come from operators, to a level."""


def written_loops(random: Random) -> ModuleOp:
    """Return a random loop function, most often one in which an order counts."""
    return (ordered_loops if random.random() < 0.7 else random_loops)(random)


LOOPS: dict[str, Callable[[Random], ModuleOp]] = {
    "written": written_loops,
    "converted": written_loops,
    "carried": carried_loops,
}
"""Makes the loops of levels at which there are no operators."""

FAMILIAR = 0.85
"""The probability of a level at which the pass has changed something before."""


@dataclass(frozen=True)
class SourceProgram:
    """A program, and the graph or the loops that it was lowered from."""

    module: ModuleOp
    level: str
    graph: ModuleOp

    @classmethod
    def at(cls, level: str, graph: ModuleOp) -> SourceProgram | None:
        """Return a graph at a level; None if it cannot be lowered to it."""
        module = lowered(graph, LEVELS[level])
        return cls(module, level, graph) if module is not None else None


@dataclass
class Programs:
    """Makes programs for a pass: variants of a given one; else of what its rules describe; else random graphs, at the
    levels at which the pass changes something."""

    p: ModulePass
    given: ModuleOp | None
    seed: int
    changed: Counter[str] = field(default_factory=Counter[str])
    """The number of programs of each level that the pass has changed."""

    def __post_init__(self) -> None:
        self._patterns = patterns_of(self.p)
        named = ops_named(self.p)
        self._kinds = [kind for kind in named if issubclass(kind, Operator)]
        is_on_loops = any(issubclass(kind, PrimFuncOp | ForOp | BlockOp) for kind in named)
        # A pass about operators is one on graphs, and a pass about loops one on loops, until it changes something else.
        likely = ["graph"] if self._kinds else ["written"] if is_on_loops else []
        self._levels = [*likely * 3, *LEVELS]

    def make(self, number: int) -> SourceProgram | None:
        """Return program number `number`; None if there is none."""
        random = Random(f"{self.seed} {number}")
        level = self._level(random, number)
        if self.given is not None:
            graph = varied(self.given, random, random.randint(1, 3)) if number else self.given
        elif self._patterns:
            pattern, rule = self._patterns[number % len(self._patterns)]
            graph = example_of(pattern, rule, random)
            graph = varied(graph, random, random.choice([0, 0, 1, 1, 2, 3])) if graph is not None else None
        elif level in LOOPS:
            graph = LOOPS[level](random)
        else:
            kinds = self._kinds if self._kinds and random.random() < 0.85 else ()
            graph = random_graph(random, kinds, dynamic=random.choice([0, 0, 0.3]))
            graph = varied(graph, random, random.choice([0, 1, 2]))
        if graph is None or (has_unused_sizes(graph) and graph is not self.given):
            return None
        return SourceProgram.at(level, graph)

    def _level(self, random: Random, number: int) -> str:
        """Return each level once, then those at which the pass has changed something, and now and then another."""
        if self.given is not None or self._patterns:
            return "graph"
        if number < len(self._levels):
            return self._levels[number]
        known = [level for level in LEVELS if self.changed[level]]
        return random.choice(known if known and random.random() < FAMILIAR else self._levels)


def lowered(module: ModuleOp, passes: Sequence[RelexPass]) -> ModuleOp | None:
    """Return the module that passes produce; None if they do not accept the given one."""
    try:
        for p in passes:
            module = p(module)
    except (RelexError, DiagnosticException):
        return None
    return module


def patterns_of(p: ModulePass) -> list[tuple[Pattern, Rule | None]]:
    """Return the patterns that a pass declares, each with its rule if there is one."""
    if isinstance(p, RulesPass):
        return [(rule.pattern, rule) for rule in p.rules]
    return [(p.pattern, None)] if isinstance(p, OutliningPass) else []


def rule_names(p: ModulePass) -> Iterator[str]:
    """Yield the names of the rules that a pass declares."""
    if isinstance(p, RulesPass):
        for rule in p.rules:
            yield rule.name or str(rule)
