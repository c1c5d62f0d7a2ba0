"""The options of `relex-run`."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Literal, get_args

from relex.tools.options.arguments import (
    LOAD_PASSES,
    METADATA,
    MODELS,
    OBSERVING,
    Options,
    add_common_arguments,
    add_options,
    flag,
    value,
    values,
)
from relex.tools.run.first_passes import known_passes
from relex.tools.run.inputs import Input
from relex.tools.shell.completion import add_completion

Level = Literal["graph", "loops", "core", "native"]

FORMS = ("graph", "loops", "core", "llvm", "asm", "obj")
"""The forms that `--emit` prints: the program at a level, LLVM IR, assembly, object code."""


def _later(read: Callable[[str], Input]) -> Callable[[str], tuple[Callable[[str], Input], str]]:
    """Return a function that pairs the text of an input with its reader: files are read once all arguments are
    known."""
    return lambda text: (read, text)


_CALLS: Options = {
    "-e, --entry": value("NAME", "the function to run (main)", default="main"),
    "--input": values(
        "[NAME=]VALUE",
        "an argument, in order or by name: an .npy file, a list such as [1.5,2], or a number for a scalar",
        type=_later(Input.read),
        dest="inputs",
    ),
    "--each": value(
        "[NAME=]FILE.npy|FOLDER",
        "like --input, but call the function once for each entry along the first axis of the array, or for each "
        ".npy file of the folder, in the order of their names; results are stacked along a new first axis",
        action="append",
        type=_later(Input.read_series),
        dest="inputs",
    ),
    "--random": value(
        "NAME=SIZE,...",
        "generate the arguments that are not given, the same ones each time; n=4 sets the dynamic size n "
        "(by default 16, or the next number that fits)",
        nargs="?",
        const="",
    ),
    "--output": values("FILE.npy", "save a result, or then an argument that changes, in order, instead of printing it"),
    "--benchmark": flag(
        "print how long calls take, instead of results: the median, percentiles, and the share of the least time "
        "that one core needs"
    ),
}

_PROGRAMS: Options = {
    "--params": value(
        "FILE.npz|FILE.safetensors|FILE.pkl",
        "arrays to bind to parameters of the same names; metadata_0, ... are the constants a script leaves out. "
        "A program that takes long to compile with them is kept where kernels are",
    ),
    **METADATA,
    **MODELS,
    "--library": values("FILE.py", "execute a Python file first, which registers library functions"),
    "--trust-native": flag(
        "compile programs that are native code already, at the core and machine levels: they reach all memory. "
        "Buffers that are given no --input are made, and are the results; else all are"
    ),
}

_COMPILATION: Options = {
    "-p, --passes": value(
        "PASS,...", "run passes on the program first, as relex-opt does", dest="first_passes", default=""
    ),
    **LOAD_PASSES,
    "--tuned": value("FILE.mlir", "schedule loops as relex-tune found to be fastest"),
    "--strict": flag("keep the order and the roundings of plain loops in sums"),
    "--approximate": flag(
        "let convolutions take fewer products, whose rounding differs more than the rounding of sums in another order"
    ),
    "--precision": {
        "choices": ("f32", "bf16", "i8"),
        "help": "round operands of products and convolutions that have constant weights to bf16, or data of products "
        "with weights in blocks to i8 (f32: not at all)",
    },
    "--target": value(
        "TRIPLE[:CPU[:FEATURES]]",
        "compile for another machine, with --emit and --save FILE.o, or for fewer features of this one, as in "
        "host:haswell",
    ),
    "--cache": flag(
        "keep what is compiled, and take it from there the next time: in the folder that the environment variable "
        "RELEX_CACHE names, else ~/.cache/relex; with the variable set, that is so by default; "
        "RELEX_CACHE=off turns it off"
    ),
    "--level": {
        "choices": get_args(Level),
        "default": "native",
        "help": "lower the program to this level and interpret it there; native code is compiled (native)",
    },
    "--checked": flag(
        "when interpreting, stop at races and at the use of freed memory, and fill fresh memory with NaN"
    ),
}

_FILES: Options = {
    "--save": value(
        "FILE",
        "save the compiled program instead of running it: FILE.relex is for relex-run and relex.load, "
        "FILE.o an object file for C and C++, with a header FILE.h beside it",
    ),
    "--threads": flag(
        "with --save FILE.o, also write relex_threads.o: C programs linked with it run parallel loops in threads"
    ),
    "--emit": {
        "choices": FORMS,
        "help": "print the program at a level, as LLVM IR, as assembly or as object code instead of running it, or "
        "write it to the file --output",
    },
    "--dump-pass-pipeline": flag("print the passes that run on stderr, as relex-opt -p takes them"),
}

_WATCHING: Options = {
    "--profile": flag("run the function several times more, and print how long each of the calls in it takes"),
    "--html": value(
        "FILE.html", "write a page that shows what each pass did, how loops were scheduled, and what --profile shows"
    ),
    "--html-compare": value("OLD.html", "with --html: show this report of another run beside the one of this run"),
    **OBSERVING,
}


def make_parser() -> argparse.ArgumentParser:
    """Return the argument parser of the tool."""
    parser = argparse.ArgumentParser(
        prog="relex-run",
        usage="relex-run FILE [options]",
        description="Compiles or interprets a program and runs one of its functions on arrays from files. A function "
        "that gets none of its arguments is described instead.",
    )
    parser.add_argument(
        "file",
        metavar="FILE",
        help="an .mlir file, a .py file in TVMScript, an .onnx file, a .pt2 file of torch.export, or a .relex file "
        "that --save wrote, which is native code: run only those you trust; - reads MLIR from standard input",
    )
    add_common_arguments(parser)
    groups = {"calls": _CALLS, "programs": _PROGRAMS, "compilation": _COMPILATION, "other output": _FILES}
    for title, options in groups.items():
        add_options(parser.add_argument_group(title), options)
    add_options(parser.add_argument_group("watching", "On stderr, but for --html."), _WATCHING)
    add_completion(parser, lambda: {"first_passes": known_passes()})
    return parser
