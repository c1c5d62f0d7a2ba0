"""The page `docs/onnx-operators.md`: what became of the draws of each operator."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from typing import Protocol

from schema_rulings import RULINGS

HEAD = """\
# ONNX operators, one by one

Each operator of the standard, in each version of its definition from operator set 7 on, as random models of one node:
`make onnx-schemas` makes them from the operators' schemas, compiles them, and compares what relex computes with what
`onnx.reference` does, and ONNX Runtime where the reference has no result. Element types are all that a schema allows,
sizes are 0 to 5, in a quarter of the models dynamic, and two fifths of the data have NaN, infinities, -0.0, the largest
and the smallest numbers. This page is written by `extras/onnx/tests/schemas.py --write`.

A model is *right* if its results have the same numbers but for rounding, the same element types and shapes. Models that
nobody has a result for do not count as samples. *Refused* are models that end with an error that gives the reason.
"""

JUDGED = ("right", "by rule", "refused", "refused?", "differs", "broken")
"""The verdicts on models that somebody has a result for."""

REFUSALS = 3
"""How many reasons are listed for an operator, the most frequent ones."""


class Found(Protocol):
    """What became of a draw."""

    @property
    def operator(self) -> str: ...
    @property
    def verdict(self) -> str: ...
    @property
    def message(self) -> str: ...


def page(found: Iterable[Found]) -> str:
    """Return the text of the page."""
    by_operator: defaultdict[str, list[Found]] = defaultdict(list)
    for finding in found:
        by_operator[finding.operator.rpartition("-")[0]].append(finding)
    lines = [HEAD, "| operator | right | refused, because |", "|---|---|---|"]
    idle: defaultdict[str, list[str]] = defaultdict(list)
    lenient: list[str] = []
    for name, findings in sorted(by_operator.items()):
        counts = Counter(finding.verdict for finding in findings)
        if counts["not drawn"]:
            idle[findings[0].message].append(name)
            continue
        samples = sum(counts[verdict] for verdict in JUDGED)
        lines.append(f"| {name} | {counts['right'] + counts['by rule']} of {samples} | {_refusals(findings)} |")
        if counts["accepted"]:
            lenient.append(f"{name} ({counts['accepted']})")
    lines += ["", "## Not drawn", "", "Other tests are about these.", "", "| reason | operators |", "|---|---|"]
    lines += [f"| {reason} | {', '.join(names)} |" for reason, names in sorted(idle.items())]
    lines += ["", "## Where others compute something else", "", _RULINGS, "", "| operators | why relex is right |"]
    lines += ["|---|---|", *(f"| {', '.join(row.operators.split())} | {row.reason} |" for row in RULINGS)]
    lines += ["", "## Without a judge", "", _LENIENT, "", ", ".join(lenient) + "."]
    return "\n".join([*lines, ""])


_RULINGS = (
    "The text of the standard decides where the reference or ONNX Runtime differ from it, or leave out what it says."
)

_LENIENT = """\
Some models have a result by relex alone: the reference and ONNX Runtime have no such operator for their types, or shape
inference refuses what the text of the standard allows. How many of each:"""


def _refusals(findings: Sequence[Found]) -> str:
    reasons = Counter(_plain(finding.message) for finding in findings if finding.verdict.startswith("refused"))
    shown = [f"{count}: {reason}" for reason, count in reasons.most_common(REFUSALS)]
    others = sum(reasons.values()) - sum(count for _, count in reasons.most_common(REFUSALS))
    return "; ".join([*shown, *([f"{others}: others"] if others else [])])


def _plain(reason: str) -> str:
    """Return a reason without what is special about one model: its sizes, and the place."""
    short = re.sub(r"^'\w+' node (attribute )?('\w+': )?", "", reason).partition(", found")[0].partition("; ")[0]
    short = re.sub(r"[*\dn ]*n\d[ *\dn]*( <= .*)?", " ... ", short)
    return short.removesuffix(" ... ").removesuffix(":").replace("|", "or")[:110].strip()
