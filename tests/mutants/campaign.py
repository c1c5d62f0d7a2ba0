"""How far a campaign has come, and what became of each mutant."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

FILE = "campaign.json"

EQUIVALENT = Path(__file__).parent / "equivalent.txt"
"""Edits that change nothing, with the reason."""


@dataclass
class Verdict:
    """What became of a mutant."""

    number: int
    file: str
    line: int
    kind: str
    edit: str
    stage: str
    """What noticed it: `tests`, `fuzz` or `proof`; `survived` if nothing did, `same` if it changes nothing."""
    by: str = ""
    """The test or program that noticed; of a survivor, the first test that reaches the place."""
    seconds: float = 0.0


@dataclass
class Campaign:
    """The verdicts so far."""

    seed: int
    verdicts: list[Verdict] = field(default_factory=list[Verdict])
    sound: list[str] = field(default_factory=list[str])
    """Tests that noticed a mutant, and do not fail without one."""
    unsound: list[str] = field(default_factory=list[str])
    """Tests that fail without any mutant, too: what they noticed does not count."""

    def save(self, folder: Path) -> None:
        """Write the campaign into its folder."""
        folder.mkdir(parents=True, exist_ok=True)
        new = folder / f"{FILE}.new"
        new.write_text(json.dumps(asdict(self), indent=1))
        new.replace(folder / FILE)

    @classmethod
    def load(cls, folder: Path) -> Campaign:
        """Read the campaign of a folder."""
        found: dict[str, Any] = json.loads((folder / FILE).read_text())
        verdicts = [Verdict(**verdict) for verdict in found["verdicts"]]
        return cls(found["seed"], verdicts, found["sound"], found["unsound"])

    def verdict(self, number: int) -> Verdict | None:
        """Return the verdict on a mutant, if there is one."""
        return next((verdict for verdict in self.verdicts if verdict.number == number), None)

    def unchecked(self) -> list[str]:
        """Return the tests that noticed a mutant, and were not run without one yet."""
        found = (verdict.by for verdict in self.verdicts if verdict.stage == "tests")
        return sorted({name for name in found if name.startswith(("tests/", "extras/"))} - {*self.sound, *self.unsound})

    def check(self, unsound: Sequence[str]) -> None:
        """Take back the verdicts of tests that fail without a mutant, and believe the others."""
        self.sound += [name for name in self.unchecked() if name not in unsound]
        self.unsound += unsound
        self.verdicts = [verdict for verdict in self.verdicts if verdict.by not in unsound]

    def __str__(self) -> str:
        """A table of the mutants, and how many were noticed by what."""
        rows = [
            (str(v.number), f"{v.file}:{v.line}", v.kind, v.stage, v.by, v.edit)
            for v in sorted(self.verdicts, key=lambda verdict: verdict.number)
        ]
        widths = [max(map(len, column)) for column in list(zip(*rows, strict=True))[:5]]
        lines = ["  ".join([*map(str.ljust, row[:5], widths), row[5]]) for row in rows]
        counts = Counter(v.stage for v in self.verdicts)
        real = len(rows) - counts["same"]
        stages = ", ".join(
            f"{count} by {stage}" for stage, count in counts.items() if stage not in ("survived", "same")
        )
        killed = f"{real - counts['survived']} of {real} killed ({stages})"
        lines.append(f"seed {self.seed}: {killed}, {counts['same']} more change nothing")
        return "\n".join([*lines, *(f"survived: {v.file}:{v.line}: {v.edit}" for v in self.survivors)])

    @property
    def survivors(self) -> list[Verdict]:
        """The mutants that nothing noticed."""
        return [verdict for verdict in self.verdicts if verdict.stage == "survived"]

    @property
    def equivalent(self) -> list[Verdict]:
        """The mutants that change nothing."""
        return [verdict for verdict in self.verdicts if verdict.stage == "same"]


def equivalents() -> dict[tuple[str, str], str]:
    """Return why edits change nothing, by file and edit. The file has three lines for each."""
    blocks = [block.strip() for block in EQUIVALENT.read_text().split("\n\n")]
    found = [block.split("\n", 2) for block in blocks if block and not block.startswith("#")]
    return {(file, edit): " ".join(reason.split()) for file, edit, reason in found}
