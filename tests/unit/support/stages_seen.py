"""A watcher that records what it is told of a compilation."""

from __future__ import annotations


class StagesSeen:
    """The stages of a compilation."""

    def __init__(self):
        self.parts: list[tuple[str, int, int]] = []
        """Of each part that began: the innermost stage, the parts before it, and the parts of the stage."""
        self.ended: list[tuple[str, ...]] = []
        """The stages that ended, each after those around it."""
        self._stages: list[str] = []

    def begin(self, stage: str) -> None:
        self._stages.append(stage)

    def reach(self, name: str, done: int, count: int) -> None:
        self.parts.append((self._stages[-1], done, count))

    def end(self) -> None:
        self.ended.append(tuple(self._stages))
        self._stages.pop()
