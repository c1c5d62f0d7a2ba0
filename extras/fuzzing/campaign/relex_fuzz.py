"""`relex-fuzz`: generated programs, each held to what must be true of it."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from random import SystemRandom
from time import monotonic

from relex.tools.options.arguments import add_common_arguments, parse
from relex.tools.shell.completion import add_completion
from relex.tools.shell.diagnostics import ToolError, run_tool
from relex.tools.shell.progress_bar import cells


def make_parser() -> argparse.ArgumentParser:
    """Return the argument parser of the tool."""
    parser = argparse.ArgumentParser(
        prog="relex-fuzz",
        description="Makes programs at random and checks what must be true of each: what levels, passes in any order, "
        "schedules, other calls, and other ways to write it compute, and that its texts are read back. One that is "
        "wrong is reduced and written into a file, which --replay tries again.",
    )
    parser.add_argument("--minutes", type=float, default=None, help="how long (5, if no number of programs is given)")
    parser.add_argument("--programs", type=int, help="how many programs")
    parser.add_argument("--seed", type=int, help="where the numbers come from (another one each time; it is printed)")
    parser.add_argument("--subjects", metavar="NAME,...", help="which properties to check (all): --list names them")
    parser.add_argument("--jobs", type=int, help="how many processes (one for each core)")
    parser.add_argument(
        "--output", metavar="FOLDER", default="fuzz", help="where the files are written that show what is wrong (fuzz)"
    )
    parser.add_argument("--resume", action="store_true", help="continue the campaign in the folder")
    parser.add_argument("--replay", metavar="FILE", help="try the program of a file that was written before")
    parser.add_argument("--list", action="store_true", help="list the subjects")
    add_common_arguments(parser)
    add_completion(parser, subjects)
    return parser


def subjects() -> Mapping[str, Iterable[str]]:
    """Return the names that options take."""
    from relex.tools.campaign.subject_table import SUBJECTS

    return {"subjects": SUBJECTS}


def run(args: argparse.Namespace) -> None:
    """Run the tool with parsed arguments."""
    from relex.tools.campaign.subject_table import SUBJECTS

    if args.list:
        for name, subject in SUBJECTS.items():
            print(f"{name:14}{' '.join((type(subject).__doc__ or '').split())}")
    elif args.replay:
        replay(args.replay)
    else:
        campaign(args)


def replay(path: str) -> None:
    """Try the program of a file. Raises `ToolError` if it is wrong."""
    from relex.tools.campaign.trial import read_case, try_case

    outcome = try_case(*read_case(path))
    if outcome.verdict == "wrong":
        raise ToolError(f"'{path}' is wrong: {outcome.message}")
    print(f"{path}: {outcome.verdict}{f', {outcome.message}' if outcome.message else ''}")


def campaign(args: argparse.Namespace) -> None:
    """Try programs for some time. Raises `ToolError` if one is wrong."""
    from relex.dialects.target.machine import usable_processors
    from relex.tools.campaign.state import State
    from relex.tools.campaign.workers import Setting, outcomes

    folder = Path(args.output)
    state = State.load(folder) if args.resume else new_state(args)
    if args.programs is not None and args.programs < 1:
        raise ToolError(f"expected --programs to be 1 or more, found {args.programs}")
    if args.minutes is not None and not args.minutes > 0:
        raise ToolError(f"expected --minutes to be more than 0, found {args.minutes:g}")
    minutes = 5.0 if args.minutes is None and args.programs is None else args.minutes
    begin, before = monotonic(), state.seconds
    until = begin + minutes * 60 if minutes is not None else float("inf")
    more = args.programs if args.programs is not None else float("inf")
    first = state.programs

    def numbers() -> Iterator[int]:
        for count, number in enumerate(state.numbers()):
            yield number
            if monotonic() >= until or count + 1 >= more:
                return

    def done() -> float:
        return max((monotonic() - begin) / (until - begin), (state.programs - first) / more)

    print(f"relex-fuzz --seed {state.seed}: {', '.join(state.subjects)}", flush=True)
    wrong = state.wrong
    try:
        setting = Setting(state.seed, state.subjects, folder)
        for outcome in outcomes(setting, numbers(), args.jobs or usable_processors()):
            state.add(outcome)
            state.seconds = before + monotonic() - begin
            show_progress(f"{cells(done())} {state.programs} programs, {state.wrong} wrong, {state.seconds:.0f} s")
            if outcome.verdict == "wrong":
                show_progress("")
                print(f"{outcome.subject}: {outcome.message}\n  {outcome.path}", flush=True)
            if state.programs % 20 == 0:
                state.save(folder)
    finally:
        show_progress("")
        state.save(folder)
    print(state)
    if state.wrong > wrong:
        raise ToolError(f"{state.wrong - wrong} programs are wrong")


def new_state(args: argparse.Namespace):
    """Return the state of a campaign that begins."""
    from relex.tools.campaign.state import State
    from relex.tools.campaign.subject_table import SUBJECTS

    names = args.subjects.split(",") if args.subjects else list(SUBJECTS)
    if unknown := [name for name in names if name not in SUBJECTS]:
        raise ToolError(f"expected --subjects from {', '.join(SUBJECTS)}, found '{unknown[0]}'")
    seed = args.seed if args.seed is not None else SystemRandom().randrange(2**31)
    if seed < 0:
        raise ToolError(f"expected --seed to be 0 or more, found {seed}")
    return State(seed, names)


def show_progress(text: str) -> None:
    """Replace the line at the bottom of a terminal."""
    if sys.stderr.isatty():
        sys.stderr.write(f"\r\x1b[K{text}")
        sys.stderr.flush()


def main(args: Sequence[str] | None = None) -> int:
    """Run the tool on its arguments (the process's arguments by default) and return the exit code."""
    args = sys.argv[1:] if args is None else args
    return run_tool("relex-fuzz", lambda: run(parse(args, make_parser())), debug="--debug" in args)


if __name__ == "__main__":
    sys.exit(main())
