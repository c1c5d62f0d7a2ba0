"""What an import assumes of conditions: which branch is taken, where only one of them fits the rest of the model."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field

Path = tuple[str, ...]
"""The names of a node and of those around it."""


@dataclass
class Assumptions:
    """The assumptions of an import, in their order, and which values and problems depend on them."""

    made: dict[Path, bool] = field(default_factory=dict[Path, bool])
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

    def make(self, path: Path) -> bool:
        """Return what is assumed of the condition of a node."""
        self._used.add(path)
        return self.made.setdefault(path, True)

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
        """Return what to assume next: something else of the last of those conditions that was taken to hold and that
        problems depended on, now or before. None if that would be of no use."""
        rest = {} if self.is_hopeless else dict(self.made)
        while rest:
            path, holds = rest.popitem()
            if holds and path in self.blamed:
                return Assumptions({**rest, path: False}, set(self.blamed))
        return None


HELP = "'shapes' or 'values' of what its condition depends on decide it"


def _shown(path: Path, holds: bool) -> str:
    return f"'{'/'.join(path)}' is assumed to take its {'first' if holds else 'second'} branch"
