"""The options of relex-opt beyond those of xdsl-opt, and their spellings in mlir-opt."""

from __future__ import annotations

import argparse
import re
from collections.abc import Container, Iterable, Sequence
from pathlib import Path
from typing import NoReturn

from xdsl.utils.arg_spec import ArgSpec

from relex.tools.diagnostics import ToolError
from relex.tools.model_inputs import add_model_arguments
from relex.tools.pipelines import parse_pass_flag, parse_pass_pipeline, parse_passes

DEFAULT_ELIDE = 16

APPLIED, REFUSED = "applied", "refused"
TEXT, JSON = "text", "json"

PASS_OPTIONS = ("passes", "print_ir_before", "print_ir_after", "help_pass", "fuzz_pass")
"""The options whose values are names of passes."""

HELP = {
    "passes": "the passes to run, with their options: cse,b{x=1}; --list-passes prints their names",
    "verify_diagnostics": "check the errors, warnings and remarks against those that comments of the program expect, "
    "as mlir-opt does: '// expected-error {{text}}', also with @+1, @above, @below, @unknown or -re",
}
"""The help of options of which xDSL says what xdsl-opt does, or lists the names of 170 passes."""

METAVARS = {"passes": "PASS,..."}
"""How options of xDSL show their values."""

_ALONE = {
    "--check-each": "--check-each=",
    "--elide": f"--elide={DEFAULT_ELIDE}",
    "--statistics": f"--statistics={TEXT}",
    "--trace-rules": f"--trace-rules={APPLIED}",
    "--print-ir-before": "--print-ir-before-all",
    "--print-ir-after": "--print-ir-after-all",
}
"""Options with an optional value, and the form without one: argparse would take the next argument, even the file, as
the value."""

_MLIR_PREFIX = re.compile(r"^--?mlir-(?=print-|timing|pass-pipeline-crash-reproducer)")
_MLIR_STATISTICS = re.compile(r"^--?mlir-pass-statistics(?==|$)")
_MLIR_ELIDE = re.compile(r"^--?mlir-elide-elementsattrs-if-larger(?==|$)")
_LONG_OPTION = re.compile(r"--?(?P<text>(?P<name>[A-Za-z0-9][A-Za-z0-9_-]+)(=.*)?)", re.DOTALL)


def normalize(args: Sequence[str], passes: Container[str]) -> list[str]:
    """Rewrite arguments for argparse: mlir-opt's spellings, and a flag for each of `passes`."""
    found: list[str] = []
    rest = list(map(_mlir_to_relex, args))
    while rest:
        arg = rest.pop(0)
        if arg in _ALONE and rest and _is_value(rest[0]):
            found.append(f"{arg}={rest.pop(0)}")
        else:
            found.append(_normalize(arg, passes))
    return found


def _is_value(arg: str) -> bool:
    """Return whether an argument after an option with an optional value is that value, and not the input file."""
    return not arg.startswith("-") and not Path(arg).suffix and "/" not in arg and not Path(arg).exists()


def _mlir_to_relex(arg: str) -> str:
    return _MLIR_STATISTICS.sub("--statistics", _MLIR_ELIDE.sub("--elide", _MLIR_PREFIX.sub("--", arg)))


def _normalize(arg: str, passes: Container[str]) -> str:
    option = _LONG_OPTION.fullmatch(arg)
    if option is not None and option["name"] in passes:
        return f"--pass-flag={option['text']}"
    return _ALONE.get(arg, arg)


def plugin_files(args: Sequence[str]) -> list[str]:
    """Return the files of `--load-passes`, which are needed before the other arguments are parsed."""
    parser = argparse.ArgumentParser(prog="relex-opt", add_help=False, allow_abbrev=False)
    add_load_passes(parser)
    return parser.parse_known_args(args)[0].load_passes


def add_load_passes(parser: argparse._ActionsContainer) -> None:  # pyright: ignore[reportPrivateUsage]
    """Add the option `--load-passes`."""
    parser.add_argument(
        "--load-passes",
        action="append",
        default=[],
        metavar="FILE.py",
        help="add the passes that a Python file defines, what its UNIVERSE holds and what it adds to tables, such as "
        "legalizations. A pass with @extends_pipeline runs in the default compilation. May be given several times",
    )


def add_observing_arguments(group: argparse._ActionsContainer) -> None:  # pyright: ignore[reportPrivateUsage]
    """Add the options. Each has an optional value, for which the arguments are normalized first."""
    group.add_argument(
        "--trace-rules",
        choices=(APPLIED, REFUSED),
        help="print each rule that is applied, with the ops before and after; "
        f"--trace-rules={REFUSED} also prints rules that nearly apply, and why they do not",
    )
    group.add_argument(
        "--statistics",
        metavar=f"{JSON}|FILE.json",
        help="print the remarks of passes, and at the end their counters and how often each of their rules was applied "
        f"or refused; --statistics={JSON} prints all of it as JSON, --statistics=FILE.json writes it to a file",
    )
    group.add_argument("--remarks", action="store_true", help="print the remarks of passes")
    group.add_argument("--timing", action="store_true", help="print a table of where the time goes")
    group.add_argument(
        "--no-progress",
        action="store_true",
        help="do not show on terminals what takes longer than a second; RELEX_PROGRESS=0 in the environment does the "
        "same",
    )


def _names(text: str) -> list[str]:
    return [name for name in text.split(",") if name]


def _count(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"expected a number of rules, found '{text}'")
    return int(text)


def set_up(parser: argparse.ArgumentParser, passes: Iterable[str]) -> None:
    """Set the name of the tool in a parser, and make it raise `ToolError`."""
    for action in parser._actions:  # pyright: ignore[reportPrivateUsage]
        action.help = HELP.get(action.dest, action.help)
        action.metavar = METAVARS.get(action.dest, action.metavar)
    parser.prog = "relex-opt"
    parser.usage = "relex-opt [options] [file]"
    raise_tool_errors(parser, passes)


def raise_tool_errors(parser: argparse.ArgumentParser, more: Iterable[str] = ()) -> None:
    """Make a parser raise `ToolError`, with a suggestion for an unknown option that resembles a known one. `more` are
    options that the parser itself does not know."""

    def fail(message: str) -> NoReturn:
        from difflib import get_close_matches

        unknown = message.removeprefix("unrecognized arguments: ").split()[0]
        actions = [a for a in parser._actions if a.help is not argparse.SUPPRESS]  # pyright: ignore[reportPrivateUsage]
        options = [option for action in actions for option in action.option_strings]
        known = [*options, *(f"--{name}" for name in more)]
        similar = get_close_matches(unknown.partition("=")[0], known, n=1)
        if unknown.startswith("-") and similar:
            raise ToolError(f"{message}; did you mean '{similar[0]}'?")
        raise ToolError(f"{message}; --help shows all options")

    parser.error = fail


def add_metadata(parser: argparse._ActionsContainer) -> None:  # pyright: ignore[reportPrivateUsage]
    """Add the option for the constants of scripts."""
    parser.add_argument(
        "--metadata",
        metavar="FILE.npz|FILE.safetensors|FILE.pkl",
        help="the constants that a script leaves out: arrays metadata_0, ..., or in a pickle also lists by key",
    )


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options that xdsl-opt does not have."""
    add_metadata(parser)
    add_model_arguments(parser.add_argument_group("models"))
    every = "Every pass is also a flag: --cse, --relex-pipeline='to=core'."
    _add_passes(parser.add_argument_group("passes", every))
    names = "On stderr. MLIR's names --mlir-print-ir-... do as well."
    _add_watching(parser.add_argument_group("watching passes", names))
    _add_checking(parser.add_argument_group("checking passes", "What goes wrong is an error that names the pass."))
    parser.add_argument(
        "--elide",
        type=int,
        metavar="N",
        help=f"print constants of more than N elements (--elide alone: {DEFAULT_ELIDE}) as "
        "dense_resource<__elided__>; the text is for reading and does not parse",
    )
    add_load_passes(parser)
    _add_failing(parser.add_argument_group("passes that fail"))


def _add_passes(group: argparse._ArgumentGroup) -> None:  # pyright: ignore[reportPrivateUsage]
    group.add_argument("--pass-pipeline", metavar="TEXT", help="passes as in MLIR: 'builtin.module(cse,b{x=1})'")
    group.add_argument("--pass-flag", action="append", default=[], dest="pass_flags", help=argparse.SUPPRESS)
    group.add_argument("--list-passes", action="store_true", help="print the names of all passes and exit")
    group.add_argument("--help-pass", metavar="NAME", help="print what a pass does and its options, and exit")
    group.add_argument("--new-pass", metavar="NAME", help="write a package with a new pass and its tests, and exit")
    group.add_argument("--dump-pass-pipeline", action="store_true", help="print the pipeline that runs on stderr")
    group.add_argument(
        "--report-unsupported",
        action="store_true",
        help="only report every op that the pipeline (without one: the default compilation) cannot lower",
    )


def _add_watching(group: argparse._ArgumentGroup) -> None:  # pyright: ignore[reportPrivateUsage]
    for when in ("before", "after"):
        group.add_argument(
            f"--print-ir-{when}",
            type=_names,
            default=[],
            metavar="PASS,...",
            help=f"print the program {when} these passes; without a pass, {when} all",
        )
        group.add_argument(f"--print-ir-{when}-all", action="store_true", help=f"print the program {when} every pass")
    group.add_argument("--print-ir-after-change", action="store_true", help="print what passes change, as a diff")
    group.add_argument("--print-ir-after-failure", action="store_true", help="print after a pass that fails only")
    group.add_argument("--dump-dir", metavar="DIR", help="write the program after each pass to a file in DIR")
    group.add_argument(
        "--html", metavar="FILE.html", help="write a page that shows the program before and after each pass, and more"
    )
    group.add_argument("--explain-schedule", action="store_true", help="print how each block is scheduled, and why")
    add_observing_arguments(group)


def _add_checking(group: argparse._ArgumentGroup) -> None:  # pyright: ignore[reportPrivateUsage]
    group.add_argument(
        "--check-each",
        metavar="proof,seed:0,samples:3",
        help="run every function before and after each pass on generated arguments, and compare the results; with "
        "'proof', first prove that they are equal for all values",
    )
    group.add_argument(
        "--certificate",
        metavar="FILE.json",
        help="write what --check-each=proof has proved, checked and left open, with hashes of the program",
    )
    group.add_argument(
        "--verify-certificate",
        metavar="FILE.json",
        help="run the passes of a certificate on the program again, and compare",
    )
    group.add_argument(
        "--verify-roundtrip", action="store_true", help="print the program after each pass, read it back, and compare"
    )
    group.add_argument(
        "--stop-after-rule",
        type=_count,
        metavar="N",
        help="apply only the first N rules, as numbered by --trace-rules, and run no pass after the last of them",
    )
    group.add_argument(
        "--bisect",
        action="store_true",
        help="find the rule that changes a result (see --check-each) or breaks the program",
    )
    group.add_argument(
        "--fuzz-pass",
        metavar="NAME{...}",
        help="only try a pass on generated programs, or on variants of a given one, and reduce the first it gets wrong",
    )
    group.add_argument(
        "--fuzz",
        metavar="programs:100,seed:0,samples:1",
        default="",
        help="how many programs --fuzz-pass makes, from which seed, and how often each kind of numbers is drawn",
    )


def _add_failing(group: argparse._ArgumentGroup) -> None:  # pyright: ignore[reportPrivateUsage]
    group.add_argument("--pdb", action="store_true", help="open Python's debugger where a pass raises an exception")
    group.add_argument(
        "--pass-pipeline-crash-reproducer",
        metavar="FILE.mlir",
        help="write the program before a pass that fails, with the command to run; without the option, only for "
        "internal errors, and beside the output or to a temporary folder",
    )
    group.add_argument(
        "--max-rewrites",
        type=int,
        metavar="N",
        help="how often a pass may apply one of its patterns before it is taken to never come to an end",
    )
    group.add_argument("--debug", action="store_true", help="print a Python traceback with every error")


def parse_numbers(option: str, text: str, names: Sequence[str]) -> dict[str, int]:
    """Read `seed:0,samples:3`, the value of an option, in which numbers may be missing. Raises `ToolError`."""
    numbers: dict[str, int] = {}
    for part in filter(None, text.split(",")):
        found = re.fullmatch(f"({'|'.join(names)}):([0-9]+)", part)
        if found is None or found[1] in numbers:
            raise ToolError(f"expected {option}={','.join(f'{name}:NUMBER' for name in names)}, found '{part}'")
        numbers[found[1]] = int(found[2])
    return numbers


def pass_specs(args: argparse.Namespace) -> list[ArgSpec]:
    """Return the requested passes. Raises `ToolError` if they are given in more than one way."""
    given = {
        "-p": args.passes,
        "--pass-pipeline": args.pass_pipeline,
        "flags like --" + "".join(args.pass_flags[:1]).partition("=")[0]: args.pass_flags,
    }
    ways = [way for way, value in given.items() if value]
    if len(ways) > 1:
        raise ToolError(f"expected passes to be given in one way, found {' and '.join(ways)}")
    if args.pass_pipeline is not None:
        return parse_pass_pipeline(args.pass_pipeline)
    if args.pass_flags:
        return [parse_pass_flag(flag) for flag in args.pass_flags]
    return parse_passes(args.passes)
