"""Compile PyTorch's own samples of its operators, and compare them with PyTorch: `make torch-samples`.

`SAMPLES` is how many samples of each entry are drawn, or `all`. What was tried is kept in a file, and not tried again.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import warnings
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path

from op_samples import DTYPES, Draw, Finding, draws, entries, torch, tried

ALL = 4 * len(DTYPES)
"""Of so many draws of an entry, each of its element types is tried several times."""


def read(file: Path) -> dict[Draw, Finding]:
    """Return the findings in a file. A draw that was begun and did not end has stopped the process."""
    found: dict[Draw, Finding] = {}
    for line in file.read_text().splitlines() if file.exists() else ():
        stored = json.loads(line)
        finding = Finding(Draw(**stored["draw"]), stored["verdict"], stored["reason"])
        found[finding.draw] = finding
    return found


def table(findings: Sequence[Finding]) -> Iterator[str]:
    """Yield a line for each entry: how many draws are right of how many, and the reasons for others."""
    by_entry: dict[str, list[Finding]] = defaultdict(list)
    for finding in findings:
        by_entry[finding.draw.entry].append(finding)
    for entry, found in sorted(by_entry.items()):
        counts = Counter(f.verdict for f in found)
        refused = Counter(f.reason for f in found if f.verdict == "refused")
        parts = [f"right on {counts['right']} of {len(found) - counts['skipped']} samples"]
        parts += [f"refused: {n}, because {reason}" for reason, n in refused.items()]
        parts += [f"WRONG: {f.reason} ({f.draw})" for f in found if f.verdict == "wrong"]
        yield f"{entry}: {'; '.join(parts)}"


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--samples", default="3", help="how many samples of each entry, or `all`")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default="", help="a regular expression that the names of entries match")
    parser.add_argument("--findings", type=Path, default=Path("build/torch-samples.jsonl"))
    arguments = parser.parse_args()
    count = ALL if arguments.samples == "all" else int(arguments.samples)
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    arguments.findings.parent.mkdir(parents=True, exist_ok=True)
    infos, known = entries(), read(arguments.findings)
    names = [name for name in infos if re.search(arguments.only, name)]
    wanted = [draw for name in names for draw in draws(name, infos[name], count, arguments.seed)]
    with arguments.findings.open("a") as file, torch.no_grad():
        for draw in wanted:
            if draw in known:
                continue
            for finding in (Finding(draw, "wrong", "the process ended"), tried(infos[draw.entry], draw)):
                known[draw] = finding
                print(json.dumps(asdict(finding)), file=file, flush=True)
    findings = [known[draw] for draw in wanted]
    print("\n".join(table(findings)))
    print(", ".join(f"{n} {verdict}" for verdict, n in Counter(f.verdict for f in findings).most_common()))
    return any(f.verdict == "wrong" for f in findings)


if __name__ == "__main__":
    sys.exit(main())
