"""
How much of the default compilation is proved: `proof_share.py SET...` compiles programs with proofs, and prints a table
of the passes. The sets are `operators` (the cases of `operator_cases`), `examples` (the programs of `examples` and
`docs`), `fuzzed:1000` (random programs of `relex-fuzz`; `--seed` draws others), `transformer-layer`, `resnet-block` and
`resnet50` (see `proof_models`), and files. `--why` adds a line for each function that is not proved. The cases are
found with `PYTHONPATH=tests/unit/support:tests/unit/end_to_end`.

`--record FILE` writes a line for each program when it is done, and takes what the file has already from there, so that
a long run may be stopped. `--limit 600` gives the proofs of a program ten minutes of a processor's time: what is left
then is only checked.
"""

from __future__ import annotations

import argparse
import json
import math
import re
import signal
import time
import warnings
from collections import Counter, defaultdict
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from random import Random
from typing import Any
from unittest.mock import patch

from operator_cases import CASES
from programs import operator_module, operator_of, tensor_of
from proof_models import MODELS
from xdsl.dialects.builtin import ModuleOp

from relex.dialects.errors import RelexError
from relex.lowering import RelexPipelinePass
from relex.reference import check_pass
from relex.reference.equivalence import check
from relex.reference.equivalence.proving import Proof
from relex.reference.equivalence.verdicts import Certainty
from relex.reference.fuzzing.structures import random_program
from relex.reference.proof.proof import prove
from relex.reference.proof.symbolic_numbers import Unproved
from relex.runtime.sources import read_program

ROOT = Path(__file__).parents[3]

Case = tuple[str, Callable[[], ModuleOp]]
"""The name of a program, and a function that makes it."""

BATCH, FEWER = "360", "4"
"""The batch of the test set in `examples`, and the one that is proved in its place: on symbols, a core-level run of 360
images takes more steps than a proof may. Loops over images are the outermost ones."""

KINDS = (Certainty.PROVED, Certainty.CHECKED, Certainty.OPEN)


@dataclass
class Share:
    """How many functions each pass changed, by verdict, and why some are not proved."""

    counts: dict[str, Counter[Certainty]] = field(
        default_factory=partial(defaultdict[str, Counter[Certainty]], Counter)
    )
    reasons: list[str] = field(default_factory=list[str])
    programs: int = 0
    seconds: float = 0.0

    def add(self, other: Share) -> None:
        """Add the share of other programs."""
        self.programs += other.programs
        self.reasons += other.reasons
        self.seconds += other.seconds
        for p, counts in other.counts.items():
            self.counts[p] += counts

    @property
    def total(self) -> Counter[Certainty]:
        """The sum over all passes."""
        return sum(self.counts.values(), Counter[Certainty]())

    def to_json(self) -> dict[str, Any]:
        """Return the share as JSON has it."""
        counts = {p: [counts[kind] for kind in KINDS] for p, counts in self.counts.items()}
        return {"programs": self.programs, "seconds": self.seconds, "counts": counts, "reasons": self.reasons}

    @classmethod
    def from_json(cls, found: dict[str, Any]) -> Share:
        """Return the share of what `to_json` returns."""
        share = cls(reasons=found["reasons"], programs=found["programs"], seconds=found["seconds"])
        for p, counts in found["counts"].items():
            share.counts[p] = Counter(dict(zip(KINDS, counts, strict=True)))
        return share


def cases(which: str, seed: int = 0, every: int = 1) -> Iterator[Case]:
    """Yield the programs of a set, or of a file; of the operators, only every `every`-th."""
    name, _, count = which.partition(":")
    if name == "operators":
        yield from (_operator(number) for number in range(0, len(CASES), every))
    elif name == "fuzzed":
        yield from ((f"fuzzed {n}", partial(_fuzzed, seed, n)) for n in range(int(count or 1000)))
    elif name == "examples":
        for path in sorted([*ROOT.glob("examples/**/*.mlir"), *ROOT.glob("examples/seeds/*.py")]):
            yield str(path.relative_to(ROOT)), partial(_example, path)
        for page in sorted(ROOT.glob("docs/**/*.md")):
            for number, text in enumerate(re.findall(r"^```mlir\n(.*?)^```$", page.read_text(), re.M | re.S)):
                yield f"{page.relative_to(ROOT)} {number}", partial(_read, text)
    elif name in MODELS:
        yield name, MODELS[name]
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


def _example(path: Path) -> ModuleOp:
    return _read(re.sub(rf"(?<!\d){BATCH}(?!\d)", FEWER, path.read_text()) if path.suffix == ".mlir" else path)


def _read(source: str | Path) -> ModuleOp:
    return read_program(source)[0]


@contextmanager
def limited(seconds: float) -> Generator[None]:
    """Limit the processor's time of all proofs in the body together: when it is up, functions are not proved."""
    end = time.process_time() + seconds

    def stop(*_: object) -> None:
        raise Unproved(f"its program takes more than {seconds:g} seconds")

    def prove_until_then(*args: Any) -> Proof:
        left = end - time.process_time()
        if left <= 0:
            stop()
        signal.setitimer(signal.ITIMER_PROF, max(left, 1e-3))
        try:
            return prove(*args)
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)

    handler = signal.signal(signal.SIGPROF, stop)
    try:
        with patch.object(check, "prove", prove_until_then):
            yield
    finally:
        signal.signal(signal.SIGPROF, handler)


def share_of(case: Case, to: str = "core", samples: int = 3, limit: float = 1e6) -> Share:
    """Return the share that is proved of a program. One that is no complete program, as in documentation, or that
    cannot be compiled, does not count."""
    warnings.simplefilter("ignore")
    name, make = case
    share = Share()
    start = time.process_time()
    try:
        pipeline = RelexPipelinePass(to=to)  # pyright: ignore[reportArgumentType]
        with limited(limit):
            report = check_pass(pipeline, make(), samples=samples, proof=True, seconds=math.inf)
    except RelexError as e:
        share.reasons.append(f"{name}: does not compile: {e}")
        return share
    finally:
        share.seconds = time.process_time() - start
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


def _text(counts: Counter[Certainty]) -> str:
    return " / ".join(f"{counts[kind]:,}" for kind in KINDS) if counts else ""


def shares_of(
    sets: Iterable[str],
    seed: int = 0,
    every: int = 1,
    to: str = "core",
    samples: int = 3,
    jobs: int = 1,
    limit: float = 1e6,
    record: Path | None = None,
) -> dict[str, Share]:
    """Return the share of each set. Programs that the file `record` has are taken from there, others are added."""
    known = _recorded(record)
    options = f"to {to}, {samples} samples, at most {limit:g} seconds, one of {every}"
    shares: dict[str, Share] = {}
    with ProcessPoolExecutor(jobs) as pool:
        for which in sets:
            # Operators have several cases of one name.
            wanted = {
                f"{case[0]}, {number} of {which.partition(':')[0]}, seed {seed}, {options}": case
                for number, case in enumerate(cases(which, seed, every))
            }
            work = partial(share_of, to=to, samples=samples, limit=limit)
            running = {pool.submit(work, case): key for key, case in wanted.items() if key not in known}
            for future in as_completed(running):
                key = running[future]
                known[key] = future.result()
                _add_to(record, key, known[key])
            shares[which] = Share()
            for key in wanted:
                shares[which].add(known[key])
    return shares


def _recorded(record: Path | None) -> dict[str, Share]:
    """Return what a file has. The last line of a run that was stopped may be cut: it goes."""
    if record is None or not record.exists():
        return {}
    whole = [line for line in record.read_text().splitlines(keepends=True) if line.endswith("\n")]
    record.write_text("".join(whole))
    return {entry["program"]: Share.from_json(entry) for entry in map(json.loads, whole)}


def _add_to(record: Path | None, key: str, share: Share) -> None:
    if record is not None:
        with record.open("a") as file:
            print(json.dumps({"program": key, **share.to_json()}), file=file)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sets", nargs="+", help="operators, examples, fuzzed:COUNT, names of models, or files")
    parser.add_argument("--seed", type=int, default=0, help="the seed of random programs")
    parser.add_argument("--every", type=int, default=1, help="take only every so manieth operator")
    parser.add_argument("--to", default="core", help="the level to compile to")
    parser.add_argument("--samples", type=int, default=3, help="how many samples to check what is not proved")
    parser.add_argument("--jobs", type=int, default=1, help="how many processes prove")
    parser.add_argument("--limit", type=float, default=1e6, help="how many seconds the proofs of a program may take")
    parser.add_argument("--record", type=Path, help="the file of what is known about each program")
    parser.add_argument("--why", action="store_true", help="say why functions are not proved")
    args = parser.parse_args()
    shares = shares_of(args.sets, args.seed, args.every, args.to, args.samples, args.jobs, args.limit, args.record)
    print(table(shares))
    print("\n".join(f"{name}: {share.seconds:.0f} seconds" for name, share in shares.items()))
    if args.why:
        print("\n".join(reason for share in shares.values() for reason in share.reasons))


if __name__ == "__main__":
    main()
