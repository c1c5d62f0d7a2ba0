"""
How much of the default compilation is proved: `python tests/unit/proof_share.py` compiles every case of
`operator_cases`, and the programs that are named, with proofs, and prints a table of the passes. `--why` adds a line
for each function that is not proved.
"""

from __future__ import annotations

import argparse
import warnings
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator

from operator_cases import CASES
from programs import operator_module, operator_of, tensor_of
from xdsl.dialects.builtin import ModuleOp

from relex.dialects.errors import RelexError
from relex.lowering import RelexPipelinePass
from relex.reference import check_pass
from relex.reference.proof.verdicts import Kind
from relex.runtime.sources import read_program

Share = dict[str, Counter[Kind]]
"""How many functions each pass changed, by verdict."""


def programs(files: Iterable[str], every: int) -> Iterator[tuple[str, ModuleOp]]:
    """Yield the programs of files, and one of `every` so many cases of operators; without any if that is 0."""
    for file in files:
        yield file, read_program(file)[0]
    for make, operands in CASES[::every] if every else ():
        yield operator_of(make).name, operator_module(make, [tensor_of(x) for x in operands])


def share_of(given: Iterable[tuple[str, ModuleOp]], to: str = "core") -> tuple[Share, list[str]]:
    """Return the share that is proved of the programs, and why others are not."""
    share: Share = defaultdict(Counter)
    reasons: list[str] = []
    for name, module in given:
        try:
            report = check_pass(RelexPipelinePass(to=to), module, proof=True)  # pyright: ignore[reportArgumentType]
        except RelexError as e:
            reasons.append(f"{name}: {e}")
            share["(fails)"][Kind.OPEN] += 1
            continue
        for found in report.findings:
            share[found.pass_name][found.verdict.kind] += 1
            if found.verdict.kind in (Kind.CHECKED, Kind.OPEN):
                reasons.append(f"{name}: {found.pass_name}: {found.verdict}")
    return share, reasons


def table(share: Share) -> str:
    """Format a share as a table of Markdown."""
    kinds = (Kind.PROVED, Kind.CHECKED, Kind.OPEN)
    lines = [f"| pass | {' | '.join(kinds)} |", "|---|---|---|---|"]
    changed = {p: counts for p, counts in share.items() if any(counts[kind] for kind in kinds)}
    lines += [f"| `{p}` | {' | '.join(str(counts[kind]) for kind in kinds)} |" for p, counts in changed.items()]
    total = sum((counts for counts in changed.values()), Counter[Kind]())
    return "\n".join([*lines, f"| all | {' | '.join(str(total[kind]) for kind in kinds)} |"])


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="*", help="programs, besides the operators")
    parser.add_argument("--every", type=int, default=1, help="take only every so manieth operator; none for 0")
    parser.add_argument("--to", default="core", help="the level to compile to")
    parser.add_argument("--why", action="store_true", help="say why functions are not proved")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    share, reasons = share_of(programs(args.files, args.every), args.to)
    print(table(share))
    if args.why:
        print("\n".join(reasons))


if __name__ == "__main__":
    main()
