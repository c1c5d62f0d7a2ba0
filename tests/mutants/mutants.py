"""
Mutation testing: are small mistakes in the compiler noticed?

    python tests/mutants/mutants.py --seed 1 --count 60

makes wrong edits, one at a time, in a copy of the checkout, and runs the tests of the edited file until one fails.
Edits that no test notices are tried on generated programs (`relex-fuzz`) for a minute, then on proofs
(`--check-each=proof`) of the programs of the lit tests. What survives is reported: a test is missing, or the edit
changes nothing, which `equivalent.txt` then explains.
"""

from __future__ import annotations

import argparse
import re
import signal
import sys
from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path
from random import SystemRandom
from time import monotonic
from typing import NoReturn

from campaign import FILE, Campaign, Verdict, equivalents
from covering import Covering
from draws import Draws, Mutant
from tree import PROBED, ROOT, Tests, Tree

from relex.tools.shell.progress_bar import with_progress

TOGETHER = 4
"""How many files of tests run in one process: it takes seconds to start."""


def make_parser() -> argparse.ArgumentParser:
    """Return the argument parser."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=60, help="how many edits (60)")
    parser.add_argument("--seed", type=int, help="where the edits come from (another one each time; it is printed)")
    parser.add_argument("--only", type=int, nargs="*", help="the numbers of the edits to try, of all")
    parser.add_argument("--files", nargs="*", default=[], help="the files to edit, such as 'passes/graph/*' (all)")
    parser.add_argument("--seconds", type=float, default=600, help="how long the tests of an edit may take (600)")
    parser.add_argument("--fuzz", type=float, default=1, help="minutes of generated programs for survivors (1)")
    parser.add_argument("--no-proof", action="store_true", help="leave the proofs out")
    parser.add_argument("--list", action="store_true", help="print the edits and their tests, and try none")
    parser.add_argument("--resume", action="store_true", help="continue the campaign in the folder")
    parser.add_argument("--output", type=Path, default=ROOT / "build" / "mutants", help="a folder (build/mutants)")
    return parser


class Trial:
    """Tries mutants in a tree."""

    def __init__(self, args: argparse.Namespace, campaign: Campaign):
        self.seconds: float = args.seconds
        self.minutes: float = args.fuzz
        self.proof = not args.no_proof
        self.campaign = campaign
        self.folder: Path = args.output
        self.tree = Tree(self.folder)
        self.covering = Covering(self.tree.root)
        self.draws = Draws(ROOT, args.files)
        self.equivalents = equivalents()

    def find(self, number: int) -> Mutant:
        """Return the mutant with a number."""
        for mutant in self.draws.draw(self.campaign.seed, number):
            if mutant.function or self.is_importable(mutant):
                return mutant
        raise ValueError("no edit can be imported")

    def is_importable(self, mutant: Mutant) -> bool:
        """Return whether Python can import the edited file."""
        module = self.covering.names[self.tree.root / mutant.file]
        with self.tree.edited(mutant.file, self.changed(mutant)):
            return self.tree.python("-c", f"import {module}", seconds=120).status == 0

    def changed(self, mutant: Mutant) -> bytes:
        """Return the edited file."""
        return mutant.edit.apply(self.draws.sources[mutant.file])

    def verdict(self, mutant: Mutant) -> Verdict:
        """Return what becomes of a mutant."""
        started = monotonic()
        edit = mutant.describe(self.draws.sources[mutant.file])
        verdict = Verdict(mutant.number, mutant.file, mutant.edit.line, mutant.edit.kind, edit, "survived")
        if reason := self.equivalents.get((mutant.file, edit)):
            verdict.stage, verdict.by = "same", reason
            return verdict
        until = started + self.seconds
        batches = self.batches(mutant)
        for stage, found in self.noticed(mutant, batches, until):
            if found is not None:
                verdict.stage, verdict.by = stage, found
                break
        else:
            verdict.by = self.reaching(mutant, batches, monotonic() + self.seconds / 2)
        verdict.seconds = round(monotonic() - started, 1)
        return verdict

    def batches(self, mutant: Mutant) -> list[Tests]:
        """Return the tests of the edited file, nearest first; lit tests, which are quick, before others."""
        found = self.covering.tests(self.tree.root / mutant.file, mutant.function)
        found.sort(key=lambda pair: (pair[0], pair[1].suffix == ".py"))
        batches: list[Tests] = []
        for _, group in groupby(found, key=lambda pair: (pair[0], pair[1].suffix)):
            names = [test.relative_to(self.tree.root).as_posix() for _, test in group]
            step = len(names) if names[0].endswith(".mlir") else TOGETHER
            batches += [Tests(tuple(names[i : i + step])) for i in range(0, len(names), step)]
        return batches

    def noticed(self, mutant: Mutant, batches: Sequence[Tests], until: float) -> Iterator[tuple[str, str | None]]:
        """Yield for each stage what notices the mutant, if anything does."""
        for tests in batches:
            if monotonic() < until:
                yield "tests", self.failing(mutant, tests, until)
        if self.minutes:
            yield "fuzz", self.fuzzed(mutant)
        if self.proof:
            yield "proof", self.refuted(mutant, batches)

    def failing(self, mutant: Mutant, tests: Tests, until: float) -> str | None:
        """Return the first test that fails with the mutant."""
        with self.tree.edited(mutant.file, self.changed(mutant)):
            return tests.run(self.tree, until - monotonic(), self.campaign.unsound)

    def check(self) -> None:
        """Run the tests that noticed mutants without any mutant."""
        names = self.campaign.unchecked()
        groups = [Tests(tuple(name for name in names if name.endswith(".mlir") == is_lit)) for is_lit in (True, False)]
        self.campaign.check([name for tests in groups for name in tests.all_failing(self.tree, 3600)])

    def fuzzed(self, mutant: Mutant) -> str | None:
        """Return the message of a generated program that the mutant makes wrong."""
        output = self.folder / "fuzz"
        words = ("-m", "relex.tools.campaign.relex_fuzz", "--output", output)
        with self.tree.edited(mutant.file, self.changed(mutant)):
            options = ("--minutes", str(self.minutes), "--jobs", "1", "--seed", str(mutant.number))
            ended = self.tree.python(*words, *options, seconds=60 * self.minutes + self.seconds)
        if ended.status == 0:
            return None
        if ended.status is None:
            return "time limit"
        found = re.search(r"^(\S+): (.*)\n  (\S+)$", ended.output, re.MULTILINE)
        if found and self.tree.python(*words, "--replay", found[3], seconds=self.seconds).status != 0:
            return None
        return f"{found[1]}: {found[2][:80]}" if found else ended.output.strip().splitlines()[-1][:80]

    def refuted(self, mutant: Mutant, batches: Sequence[Tests]) -> str | None:
        """Return the program of a lit test whose compilation is refuted with the mutant, and not without it."""
        near = [name for tests in batches if tests.is_lit for name in tests.names]
        words = (Path(__file__).with_name("prove.py"), f"--seconds={self.seconds / 4}", *near)
        with self.tree.edited(mutant.file, self.changed(mutant)):
            found = re.findall(r"^refuted: (.*)$", self.tree.python(*words, seconds=self.seconds).output, re.MULTILINE)
        if not found:
            return None
        name, number = found[0].split()
        alone = self.tree.python(*words[:1], f"--only={number}", name, seconds=self.seconds)
        return found[0] if alone.status == 0 and "refuted" not in alone.output else None

    def reaching(self, mutant: Mutant, batches: Sequence[Tests], until: float) -> str:
        """Return the first test that comes to the edited place, and does not notice."""
        probe = mutant.edit.probe(self.draws.sources[mutant.file], PROBED)
        with self.tree.edited(mutant.file, probe):
            for tests in batches:
                for name in tests.names:
                    if monotonic() < until and Tests((name,)).run(self.tree, until - monotonic()) is not None:
                        return f"reached by {name}"
        return "reached by no test"


def numbers(args: argparse.Namespace, campaign: Campaign) -> list[int]:
    """Return the numbers of the mutants to try: another one for each that changes nothing."""
    wanted = args.only if args.only is not None else range(args.count + len(campaign.equivalent))
    return [number for number in wanted if campaign.verdict(number) is None]


def show(trial: Trial, wanted: Sequence[int]) -> None:
    """Print mutants and their tests."""
    for number in wanted:
        mutant = trial.find(number)
        print(f"{number}: {mutant.file}:{mutant.edit.line}: {mutant.edit.kind}")
        print(f"   {mutant.describe(trial.draws.sources[mutant.file])}")
        print("   " + " ".join(name for tests in trial.batches(mutant)[:3] for name in tests.names[:6]))


def stop(*_: object) -> NoReturn:
    """End as after Ctrl-C: with what was started."""
    sys.exit(1)


def main(words: Sequence[str] | None = None) -> int:
    """Try mutants. The status is 1 if some survive."""
    args = make_parser().parse_args(words)
    signal.signal(signal.SIGTERM, stop)
    if args.resume and (args.output / FILE).exists():
        campaign = Campaign.load(args.output)
    else:
        campaign = Campaign(args.seed if args.seed is not None else SystemRandom().randrange(2**31))
    trial = Trial(args, campaign)
    wanted = numbers(args, campaign)
    if args.list:
        show(trial, wanted)
        return 0
    print(f"mutants --seed {campaign.seed}: {len(wanted)} edits", flush=True)
    while wanted:
        for number in with_progress(wanted, sys.stderr):
            verdict = trial.verdict(trial.find(number))
            campaign.verdicts.append(verdict)
            campaign.save(args.output)
            if verdict.stage == "survived":
                print(f"survived: {number}: {verdict.file}:{verdict.line}: {verdict.edit} ({verdict.by})", flush=True)
        trial.check()
        campaign.save(args.output)
        wanted = numbers(args, campaign)
    print(campaign)
    return int(bool(campaign.survivors))


if __name__ == "__main__":
    sys.exit(main())
