"""Compiles the programs of lit tests with proofs, and prints the first one whose compilation is refuted."""

from __future__ import annotations

import argparse
import io
import sys
from collections.abc import Iterator, Sequence
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from time import monotonic

sys.path += [str(Path.cwd() / "tests" / "unit" / folder) for folder in ("reference", "support")]

from test_check_each import commands

from relex.tools.opt.relex_opt import main


def is_refuted(words: Sequence[str]) -> bool:
    """Return whether a program is found to change, rather than refused for another reason."""
    said = io.StringIO()
    with redirect_stdout(io.TextIOWrapper(io.BytesIO())), redirect_stderr(said):
        status = main([*words, "--check-each=proof,samples:1"])
    return status != 0 and "changes what" in said.getvalue()


def refuted(args: argparse.Namespace) -> Iterator[str]:
    """Yield the programs that are refuted, as long as there is time."""
    until = monotonic() + args.seconds
    for name in args.files:
        for number, words in enumerate(commands(Path(name))):
            if args.only in (None, number) and monotonic() < until and is_refuted(words):
                yield f"{name} {number}"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="+", help="lit tests")
    parser.add_argument("--only", type=int, help="the number of one command of a file")
    parser.add_argument("--seconds", type=float, default=600, help="after how long no other program begins")
    for found in refuted(parser.parse_args()):
        print(f"refuted: {found}", flush=True)
        break
