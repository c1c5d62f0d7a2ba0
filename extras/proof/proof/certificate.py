"""
Certificates: what was proved, checked or left open about each pass of a run, with hashes of the program between passes.

A certificate is a record, not a proof by itself: to verify it, run the passes again on the same program, and compare.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

from relex.dialects.errors import RelexError
from relex.reference.equivalence.verdicts import Finding, Kind, Verdict

FORMAT = "relex certificate 1"

TRUSTED = (
    "the interpreter, which says what each op means",
    "the identities, chains and flags that docs/checking.md lists",
    "the hashing of terms, in Python's dictionaries",
    "where a proof may be wrong with some probability ('doubt'): that hashes of residues look random",
    "for passes that are checked: the samples, drawn from the seed",
    "from the LLVM dialect on: LLVM and the processor",
)
"""The parts that a proof relies on."""


class CertificateError(RelexError):
    """A certificate that cannot be read, or that does not hold."""


def hash_of(text: str) -> str:
    """Return the hash of a program's text."""
    return sha256(text.encode()).hexdigest()


@dataclass(frozen=True)
class Step:
    """A pass: the hashes of the text before and after it, and what is known about each public function."""

    name: str
    """The pass with its options, as in a pipeline."""
    before: str
    after: str
    findings: tuple[Finding, ...]
    schedule: tuple[Finding, ...] = ()
    """The findings about each step of the schedules that the pass applied."""


@dataclass
class Certificate:
    """The steps of a run."""

    version: str
    seed: int
    samples: int
    steps: list[Step] = field(default_factory=list[Step])

    @property
    def counts(self) -> Counter[Kind]:
        """The number of functions with each kind of verdict, over all passes."""
        return Counter(f.verdict.kind for step in self.steps for f in (*step.findings, *step.schedule))

    @property
    def summary(self) -> str:
        """The counts as text."""
        return ", ".join(f"{self.counts[kind]} {kind}" for kind in Kind)

    def to_json(self) -> str:
        """Return the text of a certificate."""
        data = {
            "format": FORMAT,
            "relex": self.version,
            "seed": self.seed,
            "samples": self.samples,
            "trusted": TRUSTED,
            "passes": [_step_data(step) for step in self.steps],
        }
        return json.dumps(data, indent=2) + "\n"

    @classmethod
    def from_json(cls, text: str) -> Certificate:
        """Read a certificate. Raises `CertificateError`."""
        try:
            data = json.loads(text)
            if data["format"] != FORMAT:
                raise CertificateError(f"expected '{FORMAT}', found {data['format']!r}")
            steps = [_step(step) for step in data["passes"]]
            return cls(str(data["relex"]), int(data["seed"]), int(data["samples"]), steps)
        except (ValueError, KeyError, TypeError, AttributeError) as e:
            raise CertificateError(f"expected a certificate, found {type(e).__name__}: {e}") from e

    def differences(self, again: Certificate) -> Iterator[str]:
        """Yield the claims of this certificate that another run did not confirm."""
        if [step.name for step in self.steps] != [step.name for step in again.steps]:
            yield "other passes ran"
            return
        if self.steps and self.steps[0].before != again.steps[0].before:
            yield "the program is another one"
            return
        for old, new in zip(self.steps, again.steps, strict=True):
            if old.after != new.after:
                yield f"the program after pass '{old.name}' is another one"
            yield from _weaker(old, new)
            if [f.verdict.kind for f in new.schedule] != [f.verdict.kind for f in old.schedule]:
                yield f"the steps of schedules in pass '{old.name}' are others, or not as sure"


def _weaker(old: Step, new: Step) -> Iterator[str]:
    known = {finding.function: finding for finding in new.findings}
    for finding in old.findings:
        name, found = finding.function, known.get(finding.function)
        if found is None or found.type != finding.type:
            yield f"@{name} of type {finding.type} is missing after pass '{old.name}'"
        elif found.verdict.is_worse_than(finding.verdict) or found.verdict.sizes != finding.verdict.sizes:
            yield f"@{name} after pass '{old.name}': expected {finding.verdict}, found {found.verdict}"


def _step_data(step: Step) -> dict[str, Any]:
    functions = {finding.function: _finding_data(finding) for finding in step.findings}
    schedule = [{"step": f.pass_name, "function": f.function, **_finding_data(f)} for f in step.schedule]
    data: dict[str, Any] = {"pass": step.name, "before": step.before, "after": step.after, "functions": functions}
    return {**data, "schedule": schedule} if schedule else data


def _finding_data(finding: Finding) -> dict[str, Any]:
    verdict = finding.verdict
    found = {"type": finding.type, "verdict": verdict.kind, "sizes": verdict.sizes}
    found |= {"indices": verdict.indices, "doubt": verdict.doubt, "why": verdict.why}
    return {key: value for key, value in found.items() if value}


def _step(data: dict[str, Any]) -> Step:
    findings = tuple(_finding(data["pass"], name, found) for name, found in data["functions"].items())
    schedule = tuple(_finding(step["step"], step["function"], step) for step in data.get("schedule", ()))
    return Step(data["pass"], data["before"], data["after"], findings, schedule)


def _finding(name: str, function: str, data: dict[str, Any]) -> Finding:
    known = {key: data[key] for key in ("why", "indices", "doubt") if key in data}
    verdict = Verdict(Kind(data["verdict"]), sizes=tuple(data.get("sizes", ())), **known)
    return Finding(name, function, data["type"], verdict)
