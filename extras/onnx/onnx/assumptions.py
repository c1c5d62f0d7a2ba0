"""What an import assumes of conditions: which branch is taken, where not both of them fit the rest of the model."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Literal

Path = tuple[str, ...]
"""The names of a node and of those around it."""

Choice = Literal["both branches", "first branch", "second branch"]
BOTH: Choice = "both branches"
FIRST: Choice = "first branch"
SECOND: Choice = "second branch"


@dataclass
class Assumptions:
    """The assumptions of an import, in their order, and which values and problems depend on them."""

    made: dict[Path, Choice] = field(default_factory=dict[Path, Choice])
    """What is assumed of conditions, by the nodes that ask."""
    blamed: set[Path] = field(default_factory=set[Path])
    """The nodes whose assumptions problems depend on, or depended on when something else was assumed."""
    is_hopeless: bool = False
    """True if there is a problem whatever is assumed."""
    _used: set[Path] = field(default_factory=set[Path])
    """The nodes whose assumptions the current node depends on."""
    _depth: int = 0
    """The number of nodes around each other that are imported."""
    _values: dict[int, tuple[object, frozenset[Path]]] = field(
        default_factory=dict[int, tuple[object, frozenset[Path]]]
    )

    def make(self, path: Path, first: Choice) -> Choice:
        """Return what is assumed of the condition of a node, in the beginning `first`."""
        self._used.add(path)
        return self.made.setdefault(path, first)

    @contextmanager
    def tracking(self) -> Generator[None]:
        """Track what a node depends on, which is imported in the `with` block: on what the node around it does, and on
        what its inputs do. The node around it depends on it in turn."""
        outer = self._used
        self._used = set(outer)
        self._depth += 1
        try:
            yield
        finally:
            self._depth -= 1
            if self._depth > 0:
                outer |= self._used
            self._used = outer

    def use(self, value: object) -> None:
        """The current node depends on a value."""
        if (found := self._values.get(id(value))) is not None:
            self._used |= found[1]

    def note(self, value: object) -> None:
        """A value is a result of the current node."""
        if self._used:
            self._values[id(value)] = value, frozenset(self._used)

    def forget(self) -> None:
        """Nothing of what the current node does depends on assumptions."""
        self._used.clear()

    def blame(self) -> tuple[str, ...]:
        """The current node has a problem. Returns what to say about it."""
        self.blamed |= self._used
        self.is_hopeless |= not self._used
        return tuple(f"{_shown(path, self.made[path])}; {HELP}" for path in self.made if path in self._used)

    def blame_all(self) -> None:
        """There is a problem that may depend on anything."""
        self.blamed |= self.made.keys()
        self.is_hopeless |= not self.made

    def others(self) -> Assumptions | None:
        """Return what to assume next: something else of the last of those conditions that not all is tried of and that
        problems depended on, now or before. None if that would be of no use."""
        rest = {} if self.is_hopeless else dict(self.made)
        while rest:
            path, choice = rest.popitem()
            if choice != SECOND and path in self.blamed:
                return Assumptions({**rest, path: FIRST if choice == BOTH else SECOND}, set(self.blamed))
        return None


HELP = "'shapes' or 'values' of what its condition depends on decide it"


def _shown(path: Path, choice: Choice) -> str:
    node = f"'{'/'.join(path)}'"
    return f"{node} gives other sizes by branch" if choice == BOTH else f"{node} is assumed to take its {choice}"
