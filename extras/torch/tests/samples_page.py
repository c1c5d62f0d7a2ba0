"""The page `docs/torch-operators.md`: what became of the draws of each entry."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence

from op_samples import LEFT_OPEN, NOT_TRIED, ONLY_SAMPLES, OTHER_POSITIONS, OTHER_STRIDES, Finding

HEAD = """\
# PyTorch operators, one by one

Each entry of `op_db`, PyTorch's own list of its operators with samples for them: `make torch-samples` draws some of the
samples, compiles them with `torch.compile` and relex alone, and compares with PyTorch: values, element types, shapes,
strides, memory that results share with arguments and with each other, and errors. Element types are all that relex has;
tensors are contiguous, transposed, expanded, with gaps or after an offset; a third of the graphs have dynamic sizes;
each graph is called with the numbers of the sample, with NaN, infinities and zeros, with other integers, and with the
largest and smallest numbers. This page is written by `extras/torch/tests/torch_samples.py --write`.

*Refused* are graphs that end with an error that gives the reason; `torch.compile` leaves them to PyTorch. Where
everything is refused, the operator is in a [separate list](#not-imported).
"""

REFUSALS = 3
"""How many reasons are listed for an entry, the most frequent ones."""


def page(findings: Sequence[Finding]) -> str:
    """Return the text of the page."""
    by_entry: defaultdict[str, list[Finding]] = defaultdict(list)
    for finding in findings:
        by_entry[finding.draw.entry].append(finding)
    rows: list[str] = []
    missing: defaultdict[str, list[str]] = defaultdict(list)
    silent: defaultdict[str, list[str]] = defaultdict(list)
    for entry, found in sorted(by_entry.items()):
        tried = [finding for finding in found if finding.verdict != "skipped"]
        right = sum(finding.verdict == "right" for finding in tried)
        reasons = Counter(_reason(finding) for finding in tried if finding.verdict != "right")
        if not tried:
            silent[_plain(found[0].reason)].append(entry)
        elif not right:
            missing[reasons.most_common(1)[0][0]].append(entry)
        else:
            rows.append(f"| `{entry}` | {right} of {len(tried)} | {_shown(reasons)} |")
    total = Counter(finding.verdict for finding in findings)
    lines = [HEAD, f"Together {total['right']} samples are right and {total['refused']} are refused.", ""]
    lines += ["| entry | right | refused, because |", "|---|---|---|", *rows]
    lines += ["", "## Not imported", "", "| reason | entries |", "|---|---|", *_listed(missing)]
    lines += ["", "## Not compared", "", "| reason | entries |", "|---|---|", *_listed(silent)]
    lines += ["", "## What PyTorch leaves open", "", _OPEN, "", "| entries | what is not compared |", "|---|---|"]
    lines += [f"| {_names(names)} | {what} |" for what, names in _left_open().items()]
    return "\n".join([*lines, ""])


_OPEN = "PyTorch's kernels, what it traces, and what it compiles itself differ from each other here."


def _left_open() -> Mapping[str, Sequence[str]]:
    whats: defaultdict[str, list[str]] = defaultdict(list)
    for entry, why in LEFT_OPEN.items():
        whats[f"elements: {why}"].append(entry)
    for entry, why in ONLY_SAMPLES.items():
        whats[f"other numbers than the samples have: {why}"].append(entry)
    for entry, why in dict.fromkeys((entry, why) for (entry, _), why in NOT_TRIED.items()):
        whats[why].append(entry)
    for entry, why in OTHER_POSITIONS.items():
        whats[why].append(entry)
    for entry, why in OTHER_STRIDES.items():
        whats[f"strides: {why}"].append(entry)
    return whats


def _listed(groups: Mapping[str, Sequence[str]]) -> list[str]:
    ordered = sorted(groups.items(), key=lambda group: (-len(group[1]), group[0]))
    return [f"| {reason} | {_names(entries)} |" for reason, entries in ordered]


def _names(entries: Sequence[str]) -> str:
    return ", ".join(f"`{entry}`" for entry in entries)


def _shown(reasons: Counter[str]) -> str:
    shown = [f"{count}: {reason}" for reason, count in reasons.most_common(REFUSALS)]
    others = sum(reasons.values()) - sum(count for _, count in reasons.most_common(REFUSALS))
    return "; ".join([*shown, *([f"{others}: others"] if others else [])])


def _reason(finding: Finding) -> str:
    return "*it differs*" if finding.verdict == "wrong" else _plain(finding.reason)


def _plain(reason: str) -> str:
    """Return a reason without what is special about one graph: the operator that PyTorch makes of it, and sizes."""
    short = re.sub(r"^'[\w.]+': |^torch cannot record it: ", "", reason)
    short = re.sub(r" expression .*", " expression", short.partition(", found")[0].partition("; fix ")[0])
    short = re.sub(r"[s\d *+/()x-]*\bs\b[s\d *+/()x-]*", " ... ", short)
    return short.partition("; ")[0].removesuffix(": ... ").replace("|", "or").strip()[:120]
