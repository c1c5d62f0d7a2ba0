"""The options of `relex-run`."""

from __future__ import annotations

import argparse
from typing import Literal, get_args

from relex.tools.arguments import add_load_passes, add_metadata, add_observing_arguments, raise_tool_errors
from relex.tools.completion import add_completion
from relex.tools.inputs import Input
from relex.tools.model_inputs import add_model_arguments
from relex.tools.version import VersionAction

Level = Literal["graph", "loops", "core", "native"]

FORMS = ("graph", "loops", "core", "llvm", "asm", "obj")
"""What `--emit` prints: the program at a level, LLVM IR, assembly, object code."""


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
    parser.add_argument("--version", action=VersionAction)
    parser.add_argument("--debug", action="store_true", help="print a Python traceback with every error")
    _add_calls(parser.add_argument_group("calls"))
    _add_programs(parser.add_argument_group("programs"))
    _add_compilation(parser.add_argument_group("compilation"))
    _add_files(parser.add_argument_group("other output"))
    _add_watching(parser.add_argument_group("watching", "On stderr, but for --html."))
    add_completion(parser)
    raise_tool_errors(parser)
    return parser


def _add_calls(group: argparse._ArgumentGroup) -> None:  # pyright: ignore[reportPrivateUsage]
    group.add_argument("--entry", default="main", metavar="NAME", help="the function to run (main)")
    group.add_argument(
        "--input",
        action="append",
        default=[],
        type=lambda text: (Input.read, text),
        dest="inputs",
        metavar="[NAME=]VALUE",
        help="an argument, in order or by name: an .npy file, or a number for a scalar; may be given several times",
    )
    group.add_argument(
        "--each",
        action="append",
        type=lambda text: (Input.read_series, text),
        dest="inputs",
        metavar="[NAME=]FILE.npy|FOLDER",
        help="like --input, but call the function once for each entry along the first axis of the array, or for each "
        ".npy file of the folder, in the order of their names; results are stacked along a new first axis",
    )
    group.add_argument(
        "--random",
        nargs="?",
        const="",
        metavar="NAME=SIZE,...",
        help="make up the arguments that are not given, the same ones each time; n=4 says how large sizes are that are "
        "open (16, or the next number that fits)",
    )
    group.add_argument(
        "--output",
        action="append",
        default=[],
        metavar="FILE.npy",
        help="save a result, in order, instead of printing it; may be given several times",
    )
    group.add_argument(
        "--benchmark",
        action="store_true",
        help="print how long calls take, instead of results: the median, percentiles, and the share of the least time "
        "that one core needs",
    )


def _add_programs(group: argparse._ArgumentGroup) -> None:  # pyright: ignore[reportPrivateUsage]
    group.add_argument(
        "--params",
        metavar="FILE.npz|FILE.safetensors|FILE.pkl",
        help="arrays to bind to parameters of the same names; metadata_0, ... are the constants a script leaves out",
    )
    add_metadata(group)
    add_model_arguments(group)
    group.add_argument(
        "--library",
        action="append",
        default=[],
        metavar="FILE.py",
        help="execute a Python file first, which registers library functions; may be given several times",
    )
    group.add_argument(
        "--trust-native",
        action="store_true",
        help="compile programs that are native code already, at the core and machine levels: they reach all memory. "
        "Buffers that are given no --input are made, and are the results; else all are",
    )


def _add_compilation(group: argparse._ArgumentGroup) -> None:  # pyright: ignore[reportPrivateUsage]
    add_load_passes(group)
    group.add_argument("--tuned", metavar="FILE.mlir", help="schedule loops as relex-tune found to be fastest")
    group.add_argument("--strict", action="store_true", help="keep the order and the roundings of plain loops in sums")
    group.add_argument(
        "--target",
        metavar="TRIPLE[:CPU[:FEATURES]]",
        help="compile for another machine, with --emit and --save FILE.o, or for fewer features of this one, as in "
        "host:haswell",
    )
    group.add_argument(
        "--cache",
        action="store_true",
        help="keep what is compiled, and take it from there the next time: in the folder that the environment variable "
        "RELEX_CACHE names, else ~/.cache/relex; with the variable set, that is so by default; "
        "RELEX_CACHE=off turns it off",
    )
    group.add_argument(
        "--level",
        choices=get_args(Level),
        default="native",
        help="lower the program to this level and interpret it there; native code is compiled (native)",
    )
    group.add_argument(
        "--checked",
        action="store_true",
        help="when interpreting, stop at races and at the use of freed memory, and fill fresh memory with NaN",
    )


def _add_files(group: argparse._ArgumentGroup) -> None:  # pyright: ignore[reportPrivateUsage]
    group.add_argument(
        "--save",
        metavar="FILE",
        help="save the compiled program instead of running it: FILE.relex is for relex-run and relex.load, "
        "FILE.o an object file for C and C++, with a header FILE.h beside it",
    )
    group.add_argument(
        "--threads",
        action="store_true",
        help="with --save FILE.o, also write relex_threads.o: C programs linked with it run parallel loops in threads",
    )
    group.add_argument(
        "--emit",
        choices=FORMS,
        help="print the program at a level, as LLVM IR, as assembly or as object code instead of running it, or write "
        "it to the file --output",
    )
    group.add_argument(
        "--dump-pass-pipeline",
        action="store_true",
        help="print the passes that run on stderr, as relex-opt -p takes them",
    )


def _add_watching(group: argparse._ArgumentGroup) -> None:  # pyright: ignore[reportPrivateUsage]
    group.add_argument(
        "--profile",
        action="store_true",
        help="run the function several times more, and print how long each of the calls in it takes",
    )
    group.add_argument(
        "--html",
        metavar="FILE.html",
        help="write a page that shows what each pass did, how loops were scheduled, and what --profile shows",
    )
    add_observing_arguments(group)
