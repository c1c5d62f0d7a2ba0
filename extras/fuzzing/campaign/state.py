"""Progress of a campaign."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from relex.tools.campaign.trial import TrialOutcome
from relex.tools.shell.diagnostics import ToolError, make_folder, write_bytes

FILE = "campaign.json"
"""The file in the folder of a campaign that it is resumed from."""

VERDICTS = ("right", "refused", "skipped", "wrong")


@dataclass
class State:
    """The seed of a campaign, the number of its next program, and the outcomes of those before it."""

    seed: int
    subjects: list[str]
    number: int = 0
    pending: list[int] = field(default_factory=list[int])
    """The numbers of programs that have begun, but whose outcome is not known: they are tried again."""
    seconds: float = 0.0
    counts: dict[str, dict[str, int]] = field(default_factory=dict[str, dict[str, int]])
    """The number of programs with each verdict, by subject."""
    reasons: Counter[str] = field(default_factory=Counter[str])
    """Why programs were refused or skipped, and how often."""
    examples: dict[str, int] = field(default_factory=dict[str, int])
    """The number of the first program with each of these reasons: a refusal may hide a mistake."""
    elements: Counter[str] = field(default_factory=Counter[str])
    """The number of elements of each operator's results that were checked, and of those that a check could decide."""
    findings: list[str] = field(default_factory=list[str])
    """The files of programs that were wrong."""

    def numbers(self) -> Iterator[int]:
        """Yield the numbers of the next programs, those that were begun before first."""
        yield from list(self.pending)
        while True:
            self.number += 1
            self.pending.append(self.number - 1)
            yield self.number - 1

    def add(self, outcome: TrialOutcome) -> None:
        """Count a program."""
        if outcome.number in self.pending:
            self.pending.remove(outcome.number)
        counts = self.counts.setdefault(outcome.subject, dict.fromkeys(VERDICTS, 0))
        counts[outcome.verdict] += 1
        if outcome.verdict in ("refused", "skipped"):
            reason = f"{outcome.subject}, {outcome.verdict}: {outcome.message[:160]}"
            self.reasons[reason] += 1
            self.examples.setdefault(reason, outcome.number)
        self.elements.update(outcome.counts)
        if outcome.path:
            self.findings.append(outcome.path)

    @property
    def programs(self) -> int:
        """The number of programs that were tried."""
        return sum(sum(counts.values()) for counts in self.counts.values())

    @property
    def wrong(self) -> int:
        """The number of programs that were wrong."""
        return sum(counts["wrong"] for counts in self.counts.values())

    def save(self, folder: Path) -> None:
        """Write the state into the folder of the campaign."""
        make_folder(folder)
        write_bytes(str(folder / FILE), json.dumps(vars(self), indent=1).encode())

    @classmethod
    def load(cls, folder: Path) -> State:
        """Read the state of a campaign. Raises `ToolError` if there is none."""
        try:
            found = cast("dict[str, Any]", json.loads((folder / FILE).read_text()))
            state = cls(**found)
            state.reasons = Counter(state.reasons)
            state.elements = Counter(state.elements)
        except (OSError, ValueError, TypeError) as e:
            raise ToolError(f"expected '{folder}' to have a campaign to resume: {e}") from e
        return state

    def __str__(self) -> str:
        """A table of the programs."""
        width = max(map(len, ["all", *self.counts]))
        lines = [f"{'':{width}}" + "".join(f"{verdict:>10}" for verdict in VERDICTS)]
        for name, counts in sorted(self.counts.items()):
            lines.append(f"{name:{width}}" + "".join(f"{counts[verdict]:10}" for verdict in VERDICTS))
        rate = self.programs / self.seconds if self.seconds else 0
        lines.append(f"{self.programs} programs in {self.seconds:.0f} seconds ({rate:.1f} a second), seed {self.seed}")
        lines += [f"{count:6} times {reason}" for reason, count in self.reasons.most_common(5)]
        lines += self._shares()
        return "\n".join([*lines, *(f"wrong: {path}" for path in self.findings)])

    def shares(self) -> dict[str, float]:
        """Return the share of decided elements by operator, the smallest first."""
        names = [
            key.removesuffix(" elements") for key, count in self.elements.items() if key.endswith(" elements") and count
        ]
        found = {name: self.elements[f"{name} decided"] / self.elements[f"{name} elements"] for name in names}
        return dict(sorted(found.items(), key=lambda item: item[1]))

    def _shares(self) -> list[str]:
        if not (shares := self.shares()):
            return []
        decided, every = (
            sum(count for key, count in self.elements.items() if key.endswith(end)) for end in (" decided", " elements")
        )
        least = ", ".join(f"{name} {share:.0%}" for name, share in list(shares.items())[:4])
        return [f"decided: {decided / every:.1%} of {every} elements in wider precision; least of {least}"]
