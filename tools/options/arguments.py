"""The options of relex-opt that xdsl-opt does not have, and their spellings in mlir-opt."""

from __future__ import annotations

import argparse
import re
from collections.abc import Collection, Container, Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

from xdsl.utils.arg_spec import ArgSpec

from relex.dialects.readers import known_suffixes
from relex.tools.options.pipelines import parse_pass_flag, parse_pass_pipeline, parse_passes
from relex.tools.shell.diagnostics import ToolError

DEFAULT_ELIDE = 16

APPLIED, REFUSED = "applied", "refused"
TEXT, JSON = "text", "json"

PASS_OPTIONS = ("passes", "print_ir_before", "print_ir_after", "help_pass", "fuzz_pass")
"""The options whose values are names of passes."""

HELP = {
    "frontend": "the format of the program, by the extension of such files; by default the format of the input file",
    "passes": "the passes to run, with their options: cse,b{x=1}; --list-passes prints their names",
    "verify_diagnostics": "check the errors, warnings and remarks against those that comments of the program expect, "
    "as mlir-opt does: '// expected-error {{text}}', also with @+1, @above, @below, @unknown or -re",
}
"""The help of options for which xDSL's own help describes xdsl-opt, or lists the names of 170 passes."""

CHOICES = {"frontend": known_suffixes}
"""What returns the values of options of xDSL, of which relex-opt takes no others."""

METAVARS = {"passes": "PASS,..."}
"""The placeholders for values in the help of options of xDSL."""

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

_LONG_OPTION = re.compile(r"--?(?P<text>(?P<name>[A-Za-z0-9][A-Za-z0-9_-]+)(=.*)?)", re.DOTALL)
_SEVERAL_WORDS = re.compile(r"-[a-z0-9]+(-[a-z0-9]+)+(=.*)?", re.DOTALL)
"""What is an option of mlir-opt with one dash: argparse would take `-test-x` for `-t est-x`, and `-outline-x` for `-o
utline-x`."""


Options = Mapping[str, Mapping[str, Any]]
"""The settings of options for argparse, by their names."""


def flag(text: str) -> dict[str, Any]:
    """Describe an option without a value; `text` is its help."""
    return {"action": "store_true", "help": text}


def value(shown: str, text: str, **more: Any) -> dict[str, Any]:
    """Describe an option with a value, which the help calls `shown`."""
    return {"metavar": shown, "help": text, **more}


def values(shown: str, text: str, **more: Any) -> dict[str, Any]:
    """Describe an option that may be given several times, as its help says at the end."""
    return value(shown, f"{text}; may be given several times", action="append", default=[], **more)


def add_options(parser: argparse._ActionsContainer, *tables: Options) -> None:  # pyright: ignore[reportPrivateUsage]
    """Add options to a parser or a group of one. An option with several names has these separated by commas."""
    for table in tables:
        for names, options in table.items():
            parser.add_argument(*names.split(", "), **options)


DEBUG: Options = {"--debug": flag("print a Python traceback with every error")}

METADATA: Options = {
    "--metadata": value(
        "FILE.npz|FILE.safetensors|FILE.pkl",
        "the constants that a script leaves out: arrays metadata_0, ..., or in a pickle also lists by key",
    ),
}

MODELS: Options = {
    "--shapes": values(
        "NAME=SIZE|NAME=SHAPE,...",
        "fix dynamic sizes of an .onnx file, by their names or by names of inputs: batch=4,seq=128 or "
        "x=1x3x224x224, with ? for a size that stays as it is",
    ),
    "--values": values(
        "NAME=VALUE",
        "make a constant of an input of an .onnx file: an .npy file, a number, or numbers like 1,8 for a list",
    ),
}

LOAD_PASSES: Options = {
    "--load-passes": value(
        "FILE.py",
        "add the passes that a Python file defines, what its UNIVERSE holds and what it adds to tables, such as "
        "legalizations. A pass with @extends_pipeline runs in the default compilation. May be given several times",
        action="append",
        default=[],
    ),
}

OBSERVING: Options = {
    "--trace-rules": {
        "choices": (APPLIED, REFUSED),
        "help": "print each rule that is applied, with the ops before and after; "
        f"--trace-rules={REFUSED} also prints rules that nearly apply, and why they do not",
    },
    "--statistics": value(
        f"{JSON}|FILE.json",
        "print the remarks of passes, and at the end their counters and how often each of their rules was applied "
        f"or refused; --statistics={JSON} prints all of it as JSON, --statistics=FILE.json writes it to a file",
    ),
    "--remarks": flag("print the remarks of passes"),
    "--timing": flag("print a table of where the time goes"),
    "--no-progress": flag(
        "do not show on terminals what takes longer than a second; RELEX_PROGRESS=0 in the environment does the same"
    ),
}
"""Options that show what passes do. Each has an optional value, for which the arguments are normalized first."""


def _names(text: str) -> list[str]:
    return [name for name in text.split(",") if name]


def _count(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"expected a number of rules, found '{text}'")
    return int(text)


_PASSES: Options = {
    "--pass-pipeline": value("TEXT", "passes as in MLIR: 'builtin.module(cse,b{x=1})'"),
    "--pass-flag": {"action": "append", "default": [], "dest": "pass_flags", "help": argparse.SUPPRESS},
    "--show-dialects": flag("print the names of all dialects and exit"),
    "--list-passes": flag("print the names of all passes and exit"),
    "--help-pass": value("NAME", "print what a pass does and its options, and exit"),
    "--new-pass": value("NAME", "write a package with a new pass and its tests, and exit"),
    "--dump-pass-pipeline": flag("print the pipeline that runs on stderr"),
    "--report-unsupported": flag(
        "only report every op that the pipeline (without one: the default compilation) cannot lower"
    ),
}

_WATCHING: Options = {
    "--print-ir-before": value(
        "PASS,...", "print the program before these passes; without a pass, before all", type=_names, default=[]
    ),
    "--print-ir-before-all": flag("print the program before every pass"),
    "--print-ir-after": value(
        "PASS,...", "print the program after these passes; without a pass, after all", type=_names, default=[]
    ),
    "--print-ir-after-all": flag("print the program after every pass"),
    "--print-ir-after-change": flag("print what passes change, as a diff"),
    "--print-ir-after-failure": flag("print after a pass that fails only"),
    "--dump-dir": value("DIR", "write the program after each pass to a file in DIR"),
    "--html": value("FILE.html", "write a page that shows the program before and after each pass, and more"),
    "--html-compare": value("OLD.html", "with --html: show this report of another run beside the one of this run"),
    "--explain-schedule": flag("print how each block is scheduled, and why"),
}

_CHECKING: Options = {
    "--check-each": value(
        "proof,seed:0,samples:3,seconds:60",
        "run every function before and after each pass on generated arguments, and compare the results; with "
        "'proof', first prove that they are equal for all values, for at most 'seconds' of a processor each; with "
        "'proof,terms', print terms that differ in full",
    ),
    "--verify-roundtrip": flag("print the program after each pass, read it back, and compare"),
    "--stop-after-rule": value(
        "N",
        "apply only the first N rules, as numbered by --trace-rules, and run no pass after the last of them",
        type=_count,
    ),
    "--bisect": flag("find the rule that changes a result (see --check-each) or breaks the program"),
    "--fuzz-pass": value(
        "NAME{...}",
        "only try a pass on generated programs, or on variants of a given one, and reduce the first it gets wrong",
    ),
    "--fuzz": value(
        "programs:100,seed:0,samples:1",
        "how many programs --fuzz-pass makes, from which seed, and how often each kind of numbers is drawn",
        default="",
    ),
}

_ELIDE: Options = {
    "--elide": value(
        "N",
        f"print constants of more than N elements (--elide alone: {DEFAULT_ELIDE}) as "
        "dense_resource<__elided__>; the text is for reading and does not parse",
        type=int,
    ),
}

_FAILING: Options = {
    "--pdb": flag("open Python's debugger where a pass raises an exception"),
    "--pass-pipeline-crash-reproducer": value(
        "FILE.mlir",
        "write the program before a pass that fails, with the command to run; without the option, only for "
        "internal errors, and beside the output or to a temporary folder",
    ),
    "--max-rewrites": value(
        "N", "how often a pass may apply one of its patterns before it is taken to never come to an end", type=int
    ),
    **DEBUG,
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options that xdsl-opt does not have."""
    add_options(parser, METADATA)
    add_options(parser.add_argument_group("models"), MODELS)
    every = "Every pass is also a flag: --cse, --relex-pipeline='to=core'."
    add_options(parser.add_argument_group("passes", every), _PASSES)
    names = "On stderr. MLIR's names --mlir-print-ir-... do as well."
    add_options(parser.add_argument_group("watching passes", names), _WATCHING, OBSERVING)
    add_options(
        parser.add_argument_group("checking passes", "What goes wrong is an error that names the pass."), _CHECKING
    )
    add_options(parser, _ELIDE, LOAD_PASSES)
    add_options(parser.add_argument_group("passes that fail"), _FAILING)


def add_common_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options that the tools other than `relex-opt` share, and make the parser raise `ToolError`."""
    from relex.tools.shell.version import VersionAction  # relex-opt has xDSL's option.

    parser.add_argument("--version", action=VersionAction)
    add_options(parser, DEBUG)
    raise_tool_errors(parser)


def normalize(args: Sequence[str], parser: argparse.ArgumentParser, passes: Collection[str] = ()) -> list[str]:
    """Rewrite arguments for a parser: mlir-opt's spellings, and a flag for each of `passes`."""
    names = {*passes, *(option.removeprefix("--") for option in _options_of(parser))}
    choices = {choice for action in parser._actions for choice in action.choices or ()}  # pyright: ignore[reportPrivateUsage]
    values = {*passes, *choices}
    flags = {option.removeprefix("--") for option in _options_of(parser, flags=True)}
    found: list[str] = []
    rest = [ours for arg in args if (ours := _in_our_spelling(arg, names, flags, values)) is not None]
    while rest:
        arg = rest.pop(0)
        if arg in _ALONE and rest and _is_value(rest[0]):
            found.append(f"{arg}={rest.pop(0)}")
        else:
            found.append(_normalize(arg, passes))
    return found


def parse(args: Sequence[str], parser: argparse.ArgumentParser) -> argparse.Namespace:
    """Parse the arguments of a tool whose options are not passes."""
    return parser.parse_args(normalize(args, parser))


def _in_our_spelling(arg: str, names: Container[str], flags: Container[str], values: Container[str]) -> str | None:
    """Return an argument as argparse needs it, with two dashes; None for one that has no effect. `flags` are the names
    that take no value; `values` may follow an option of one letter at once, as in `-pfuse-ops`."""
    option = _LONG_OPTION.fullmatch(arg)
    if option is None:
        return arg
    name, has_value, _ = option["text"].partition("=")
    if name in names and not (has_value and name in flags):
        return f"--{option['text']}"
    from relex.tools.options.mlir_opt import translated  # Most uses of the tools do not need it.

    ours = translated(option["text"])
    if ours is None:
        return None
    if ours == option["text"] and (_SEVERAL_WORDS.fullmatch(arg) is None or arg[2:] in values):
        return arg
    return f"--{ours}"


def _is_value(arg: str) -> bool:
    """Return whether an argument after an option with an optional value is that value, and not the input file."""
    return not arg.startswith("-") and not Path(arg).suffix and "/" not in arg and not Path(arg).exists()


def _normalize(arg: str, passes: Container[str]) -> str:
    option = _LONG_OPTION.fullmatch(arg)
    if option is not None and option["name"] in passes:
        return f"--pass-flag={option['text']}"
    return _ALONE.get(arg, arg)


def plugin_files(args: Sequence[str]) -> list[str]:
    """Return the files of `--load-passes`, which are needed before the other arguments are parsed."""
    parser = argparse.ArgumentParser(prog="relex-opt", add_help=False, allow_abbrev=False)
    add_options(parser, LOAD_PASSES)
    return parser.parse_known_args(args)[0].load_passes


def set_up(parser: argparse.ArgumentParser, passes: Collection[str]) -> None:
    """Set the name of the tool in a parser, and make it raise `ToolError`."""
    for action in parser._actions:  # pyright: ignore[reportPrivateUsage]
        action.help = HELP.get(action.dest, action.help)
        action.metavar = METAVARS.get(action.dest, action.metavar)
        if action.dest in CHOICES:
            action.choices = CHOICES[action.dest]()
    parser.prog = "relex-opt"
    parser.usage = "relex-opt [options] [file]"
    raise_tool_errors(parser, passes)


def raise_tool_errors(parser: argparse.ArgumentParser, passes: Collection[str] = ()) -> None:
    """Make a parser raise `ToolError`, with a suggestion for an unknown option that resembles a known one. `passes` are
    options that the parser itself does not know."""

    def fail(message: str) -> NoReturn:
        from relex.dialects.spelling import advice

        unknown = message.removeprefix("unrecognized arguments: ")
        name = unknown.split()[0].partition("=")[0]
        if unknown != message and not name.startswith("-"):
            raise ToolError(_one_too_many(name, passes))
        known = [*_options_of(parser), *(f"--{name}" for name in passes)] if name.startswith("-") else []
        raise ToolError(f"{message}; {advice(name, known, '--help shows all options')}")

    parser.error = fail


def _one_too_many(name: str, passes: Container[str]) -> str:
    """Return what is wrong with an argument after the last one that a tool takes."""
    if name.partition("{")[0] in passes:
        return f"found '{name}' apart from the other passes: they are separated by commas, without blanks"
    return f"expected one file, found '{name}' as well; run the tool for each file"


def _options_of(parser: argparse.ArgumentParser, *, flags: bool = False) -> list[str]:
    """Return the options of a parser that its help has; with `flags`, those without a value."""
    actions = [a for a in parser._actions if a.help is not argparse.SUPPRESS]  # pyright: ignore[reportPrivateUsage]
    actions = [a for a in actions if a.nargs == 0] if flags else actions
    return [option for action in actions for option in action.option_strings]


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
