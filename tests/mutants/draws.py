"""Which edits are made: drawn from all places of the source by a seed."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path
from random import Random

from edits import KINDS, Edit, Source, edits

ROOMS = ("relex_dialects", "passes", "lowering", "runtime")
"""The folders of the source that are edited: what makes code of programs. What checks it is not."""

ONLY_SPEED = {
    "passes/cpu/cost.py": "the numbers of the cost model",
    "passes/cpu/cycles.py": "how long code takes",
    "passes/cpu/caches.py": "the processors whose choices are candidates",
    "runtime/gc_pause.py": "when memory of Python is collected",
    "relex_dialects/target/processors.py": "sizes of caches and registers",
}
"""Files whose mistakes make programs slower, and nothing else."""

ONLY_SHOWN = {
    "passes/driver/activity.py": "what the compiler is doing, on a terminal",
    "passes/driver/progress_line.py": "a bar on a terminal",
    "passes/tracing/__init__.py": "what rules did, for people",
    "passes/tracing/records.py": "what rules did, for people",
    "passes/tracing/trace.py": "what rules did, for people",
    "passes/driver/crashes.py": "what is said when the compiler fails",
    "runtime/profile.py": "calls, for people",
}
"""Files whose mistakes change what people read about a compilation, not what is compiled."""


@dataclass(frozen=True)
class Mutant:
    """An edit of a file. The place among the edits that were drawn is its number."""

    number: int
    file: str
    edit: Edit
    function: str
    """The text of the innermost function around the edit; of what runs when the file is imported there is none."""

    def describe(self, data: bytes) -> str:
        """Return what is changed, for a table."""
        return self.edit.describe(data)


class Draws:
    """All edits of some files."""

    def __init__(self, root: Path, patterns: Sequence[str] = ()):
        self.sources: dict[str, bytes] = {}
        self._places: defaultdict[tuple[str, str], list[tuple[str, Edit]]] = defaultdict(list)
        for room in ROOMS:
            for path in sorted((root / room).rglob("*.py")):
                name = path.relative_to(root).as_posix()
                if name in ONLY_SPEED | ONLY_SHOWN or (patterns and not any(fnmatch(name, p) for p in patterns)):
                    continue
                self.sources[name] = path.read_bytes()
                for edit in edits(self.sources[name]):
                    self._places[room, edit.kind].append((name, edit))

    def draw(self, seed: int, number: int) -> Iterator[Mutant]:
        """Yield edits to take as the one with a number: the first one that Python can import. Numbers go through the
        folders and the kinds of edits in turn, so that each is met equally often."""
        rooms = [room for room in ROOMS if any(room == met for met, _ in self._places)]
        of_room = number // len(rooms)
        wanted = rooms[number % len(rooms)], list(KINDS)[of_room % len(KINDS)]
        places = self._places[wanted] or [place for found in self._places.values() for place in found]
        for name, edit in Random(f"{seed} {number}").sample(places, len(places)):
            yield Mutant(number, name, edit, function_around(self.sources[name], edit))


def function_around(data: bytes, edit: Edit) -> str:
    """Return the text of the innermost function around an edit, if it is in one."""
    source = Source(data)
    spans = [source.span(node) for node in ast.walk(source.tree) if isinstance(node, ast.FunctionDef)]
    start, end = max((span for span in spans if span[0] < edit.start and edit.end <= span[1]), default=(0, 0))
    return data[start:end].decode()
