"""`relex-tune`: find faster schedules for a program by measuring."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path, PurePath
from time import monotonic

from relex.dialects.errors import CompileError
from relex.tools.options.arguments import MODELS, add_common_arguments, add_options, parse
from relex.tools.options.model_inputs import model_options
from relex.tools.shell.completion import add_completion
from relex.tools.shell.diagnostics import ToolError, parse_source, read_source, run_tool
from relex.tools.shell.progress_bar import with_progress


def make_parser() -> argparse.ArgumentParser:
    """Return the argument parser of the tool."""
    parser = argparse.ArgumentParser(
        prog="relex-tune",
        description="Measures schedules of each loop function of a program beside the default one, and writes those "
        "that are faster into a file, for apply-schedule, apply-tuning and build. Each of them is proved to use memory "
        "correctly, and compared with the default one on generated arguments.",
    )
    parser.add_argument("file", help="an .mlir, .py, .onnx or .pt2 file")
    parser.add_argument("--minutes", type=float, default=5.0, help="how long (5)")
    parser.add_argument(
        "--output", metavar="FILE.mlir", help="where the schedules are written (beside the program: NAME.tuned.mlir)"
    )
    parser.add_argument("--resume", action="store_true", help="continue with the file that was written before")
    parser.add_argument("--strict", action="store_true", help="tune the program as --strict compiles it")
    parser.add_argument("--approximate", action="store_true", help="tune the program as --approximate compiles it")
    add_options(parser, MODELS)
    add_common_arguments(parser)
    add_completion(parser)
    return parser


def run(args: argparse.Namespace) -> None:
    """Run the tool with parsed arguments."""
    from relex.dialects.target.target_attribute import get_target
    from relex.tools.tuning.record import Record
    from relex.tools.tuning.tuner import Tuned, Tuner, gains, loop_functions

    until = monotonic() + args.minutes * 60
    if not args.minutes > 0:
        raise ToolError(f"expected --minutes to be more than 0, found {args.minutes:g}")
    source = read_source(args.file)
    path = Path(args.output or PurePath(args.file).with_suffix(".tuned.mlir"))
    try:
        program = parse_source(source, model_options(args, source))
        module = loop_functions(program, strict=args.strict, approximate=args.approximate)
    except CompileError as e:
        raise CompileError([source.show(d) for d in e.diagnostics]) from e
    target = get_target(module)
    assert target is not None
    record = Record.load(path, target) if args.resume else Record(target)
    tuner = Tuner(module, record)
    tuned: list[Tuned] = []

    def is_time_left() -> bool:
        return monotonic() < until

    for func, calls in with_progress(tuner.pending(), sys.stderr):
        if not is_time_left():
            break
        tuned.append(tuner.tune(func, calls, is_time_left))
        record.save(path)
    print("\n".join(gains(tuned)))
    if tuner.left_out:
        print(f"{len(tuner.left_out)} loop functions were left out: their sizes are known at run time only")
    print(f"{path} has the schedules: relex-run --tuned {path} {args.file}")


def main(args: Sequence[str] | None = None) -> int:
    """Run the tool on its arguments (the process's arguments by default) and return the exit code."""
    args = sys.argv[1:] if args is None else args
    return run_tool("relex-tune", lambda: run(parse(args, make_parser())), debug="--debug" in args)


if __name__ == "__main__":
    sys.exit(main())
