"""Compile PyTorch's own samples of its operators, and compare them with PyTorch: `make torch-samples`.

`SAMPLES` is how many samples of each entry are drawn, or `all`. What was tried is kept in a file, and not tried again.
`--write` writes the table in `docs/torch-operators.md`.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import warnings
from collections import Counter
from dataclasses import asdict
from pathlib import Path

from op_samples import DRAWN, DTYPES, Draw, Finding, draws, entries, torch, tried
from samples_page import page

PAGE = Path(__file__).parents[3] / "docs" / "torch-operators.md"
ALL = 4 * len(DTYPES)
"""Of this number of draws of an entry, each of its element types is tried several times."""


def read(file: Path) -> dict[Draw, Finding]:
    """Return the findings in a file. A draw that was begun and did not end has stopped the process."""
    found: dict[Draw, Finding] = {}
    for line in file.read_text().splitlines() if file.exists() else ():
        stored = json.loads(line)
        finding = Finding(Draw(**stored["draw"]), stored["verdict"], stored["reason"])
        found[finding.draw] = finding
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--samples", default=str(DRAWN), help="how many samples of each entry, or `all`")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default="", help="a regular expression that the names of entries match")
    parser.add_argument("--findings", type=Path, default=Path("build/torch-samples.jsonl"))
    parser.add_argument("--write", action="store_true", help="write the page")
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
    for finding in findings:
        if finding.verdict == "wrong":
            print(f"{finding.draw}: {finding.reason}")
    if arguments.write:
        PAGE.write_text(page(findings), encoding="utf-8")
    print(", ".join(f"{n} {verdict}" for verdict, n in Counter(f.verdict for f in findings).most_common()))
    return any(f.verdict == "wrong" for f in findings)


if __name__ == "__main__":
    sys.exit(main())
