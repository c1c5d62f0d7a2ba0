"""
How much of the default compilation is proved: `python tests/unit/proof_share.py SET...` compiles programs with proofs,
and prints a table of the passes. The sets are `operators` (the cases of `operator_cases`), `examples` (the programs of
`examples` and `docs`), `fuzzed:1000` (random programs of `relex-fuzz`; `--seed` draws others), and files. `--why` adds
a line for each function that is not proved.
"""

from __future__ import annotations

import argparse
import re
import warnings
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from random import Random

from operator_cases import CASES
from programs import operator_module, operator_of, tensor_of
from xdsl.dialects.builtin import ModuleOp

from relex.dialects.errors import RelexError
from relex.lowering import RelexPipelinePass
from relex.reference import check_pass
from relex.reference.fuzzing.structures import random_program
from relex.reference.proof.verdicts import Kind
from relex.runtime.sources import read_program

ROOT = Path(__file__).parents[2]

Case = tuple[str, Callable[[], ModuleOp]]
"""The name of a program, and a function that makes it."""

KINDS = (Kind.PROVED, Kind.CHECKED, Kind.OPEN)


@dataclass
class Share:
    """How many functions each pass changed, by verdict, and why some are not proved."""

    counts: dict[str, Counter[Kind]] = field(default_factory=partial(defaultdict[str, Counter[Kind]], Counter))
    reasons: list[str] = field(default_factory=list[str])
    programs: int = 0

    def add(self, other: Share) -> None:
        """Add the share of other programs."""
        self.programs += other.programs
        self.reasons += other.reasons
        for p, counts in other.counts.items():
            self.counts[p] += counts

    @property
    def total(self) -> Counter[Kind]:
        """The sum over all passes."""
        return sum(self.counts.values(), Counter[Kind]())


def cases(which: str, seed: int = 0, every: int = 1) -> Iterator[Case]:
    """Yield the programs of a set, or of a file; of the operators, only one of `every` so many."""
    name, _, count = which.partition(":")
    if name == "operators":
        yield from (_operator(number) for number in range(0, len(CASES), every))
    elif name == "fuzzed":
        yield from ((f"fuzzed {n}", partial(_fuzzed, seed, n)) for n in range(int(count or 1000)))
    elif name == "examples":
        for path in sorted([*ROOT.glob("examples/**/*.mlir"), *ROOT.glob("examples/seeds/*.py")]):
            yield str(path.relative_to(ROOT)), partial(_read, path)
        for page in sorted(ROOT.glob("docs/**/*.md")):
            for number, text in enumerate(re.findall(r"^```mlir\n(.*?)^```$", page.read_text(), re.M | re.S)):
                yield f"{page.relative_to(ROOT)} {number}", partial(_read, text)
    else:
        yield which, partial(_read, which)


def _operator(number: int) -> Case:
    make, _ = CASES[number]
    return operator_of(make).name, partial(_operator_module, number)


def _operator_module(number: int) -> ModuleOp:
    make, operands = CASES[number]
    return operator_module(make, [tensor_of(x) for x in operands])


def _fuzzed(seed: int, number: int) -> ModuleOp:
    return random_program(Random(f"{seed} {number}"))


def _read(source: str | Path) -> ModuleOp:
    return read_program(source)[0]


def share_of(case: Case, to: str = "core", samples: int = 3) -> Share:
    """Return the share that is proved of a program. One that is no program of its own, as in documentation, or that
    cannot be compiled, does not count."""
    warnings.simplefilter("ignore")
    name, make = case
    share = Share()
    try:
        pipeline = RelexPipelinePass(to=to)  # pyright: ignore[reportArgumentType]
        report = check_pass(pipeline, make(), samples=samples, proof=True)
    except RelexError as e:
        share.reasons.append(f"{name}: does not compile: {e}")
        return share
    share.programs = 1
    for found in report.findings:
        if found.verdict.kind in KINDS:
            # All steps of schedules of a kind are counted together.
            _, is_step, step = found.pass_name.partition(": ")
            share.counts[step.split()[0] if is_step else found.pass_name][found.verdict.kind] += 1
        if found.verdict.kind in KINDS[1:]:
            share.reasons.append(f"{name}: {found.pass_name}: {found.verdict}")
    return share


def table(shares: dict[str, Share]) -> str:
    """Format shares as a table of Markdown: proved, checked and open functions for each pass and set."""
    passes = dict.fromkeys(p for share in shares.values() for p in share.counts)
    rows = [[f"`{p}`", *(_text(share.counts.get(p, Counter())) for share in shares.values())] for p in passes]
    rows.append(["all", *(_text(share.total) for share in shares.values())])
    rows.append(["programs", *(f"{share.programs:,}" for share in shares.values())])
    header = ["pass", *shares]
    return "\n".join(f"| {' | '.join(row)} |" for row in (header, ["---"] * len(header), *rows))


def _text(counts: Counter[Kind]) -> str:
    return " / ".join(f"{counts[kind]:,}" for kind in KINDS) if counts else ""


def shares_of(
    sets: Iterable[str], seed: int = 0, every: int = 1, to: str = "core", samples: int = 3, jobs: int = 1
) -> dict[str, Share]:
    """Return the share of each set."""
    shares: dict[str, Share] = {}
    with ProcessPoolExecutor(jobs) as pool:
        for name in sets:
            shares[name] = Share()
            for share in pool.map(partial(share_of, to=to, samples=samples), cases(name, seed, every)):
                shares[name].add(share)
    return shares


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sets", nargs="+", help="operators, examples, fuzzed:COUNT, or files")
    parser.add_argument("--seed", type=int, default=0, help="the seed of random programs")
    parser.add_argument("--every", type=int, default=1, help="take only every so manieth operator")
    parser.add_argument("--to", default="core", help="the level to compile to")
    parser.add_argument("--samples", type=int, default=3, help="how many samples to check what is not proved")
    parser.add_argument("--jobs", type=int, default=1, help="how many processes prove")
    parser.add_argument("--why", action="store_true", help="say why functions are not proved")
    args = parser.parse_args()
    shares = shares_of(args.sets, args.seed, args.every, args.to, args.samples, args.jobs)
    print(table(shares))
    if args.why:
        print("\n".join(reason for share in shares.values() for reason in share.reasons))


if __name__ == "__main__":
    main()
