"""`relex-opt`: read MLIR text, run passes, print the result.

It takes the options of `xdsl-opt`. What differs is what people see when something is wrong: errors name file, line and
column, and the exit code is 1.
"""

from __future__ import annotations

import argparse
import dataclasses
import inspect
import re
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from difflib import get_close_matches
from functools import partial
from importlib.metadata import version
from io import BytesIO, StringIO
from itertools import accumulate
from pathlib import PurePath
from typing import Protocol, TypeVar, cast, runtime_checkable

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, UnknownLoc
from xdsl.passes import ModulePass, PassPipeline
from xdsl.utils.arg_spec import ArgSpec, ArgSpecConvertible, parse_pipeline, parse_spec
from xdsl.utils.exceptions import ShrinkException
from xdsl.utils.target import Target
from xdsl.xdsl_opt_main import xDSLOptMain

from relex.dialects.errors import CompileError, Diagnostic, RelexError
from relex.dialects.parser import parse_module, verify_module
from relex.dialects.printer import ElidingPrinter, ExactPrinter
from relex.tools.diagnostics import InternalError, Source, ToolError, read_text, run_tool, stage, write_bytes
from relex.tools.universe import RELEX_UNIVERSE, get_all_targets

ConvertibleT = TypeVar("ConvertibleT", bound=ArgSpecConvertible)

SPLIT_MARKER = re.compile(r"^// -----[ \t\r]*$", re.MULTILINE)
DEFAULT_ELIDE = 16


@runtime_checkable
class BinaryTarget(Protocol):
    """A target whose output is no text."""

    def emit_bytes(self, ctx: Context, module: ModuleOp) -> bytes: ...


class RelexOptMain(xDSLOptMain):
    """
    The tool, with the dialects, passes and targets of xDSL, relex and every other universe that is installed.

    Raises `ToolError` for wrong arguments. `run` prints the mistakes of a wrong program and then raises `SystemExit`.
    """

    version_format = f"relex {version('relex')}, xdsl {{xdsl_version}}, llvmlite {version('llvmlite')}"

    def __init__(self, args: Sequence[str]):
        # argparse cannot tell `--elide FILE` from `--elide N`.
        args = [f"--elide={DEFAULT_ELIDE}" if arg == "--elide" else arg for arg in args]
        super().__init__("Runs passes of relex and xDSL on MLIR text.", args)

    def register_all_arguments(self, arg_parser: argparse.ArgumentParser) -> None:
        super().register_all_arguments(arg_parser)
        arg_parser.add_argument(
            "--elide",
            type=int,
            metavar="N",
            help=f"print constants of more than N elements (--elide alone: {DEFAULT_ELIDE}) as "
            "dense_resource<__elided__>; the text is for reading and does not parse",
        )
        arg_parser.add_argument("--list-passes", action="store_true", help="print the names of all passes and exit")
        arg_parser.add_argument("--debug", action="store_true", help="print a Python traceback with every error")

    def register_all_targets(self) -> None:
        super().register_all_targets()
        self.available_targets.update(get_all_targets())

    def setup_pipeline(self) -> None:
        self.pipeline = PassPipeline(tuple(self._make_pass(spec) for spec in parse_pipeline(self.args.passes)))
        self.target = self._make_target(parse_spec(self.args.target))

    def _make_pass(self, spec: ArgSpec) -> ModulePass:
        if spec.name not in self.available_passes:
            similar = get_close_matches(spec.name, self.available_passes, n=1)
            hint = f"did you mean '{similar[0]}'?" if similar else "--list-passes shows all of them"
            raise ToolError(f"unknown pass '{spec.name}'; {hint}")
        return _instantiate("pass", self.available_passes[spec.name](), spec)

    def _make_target(self, spec: ArgSpec) -> Target:
        factory = cast(Callable[[], type[Target]], self.available_targets[spec.name])
        target = _instantiate("target", factory(), spec)
        if self.args.elide is not None and spec.name != "mlir":
            raise ToolError(f"--elide shortens MLIR text; it cannot be used with target '{spec.name}'")
        if not isinstance(target, BinaryTarget):
            return target
        if self.args.split_input_file:
            raise ToolError(f"target '{spec.name}' holds one program; it cannot be used with --split-input-file")
        if self._to_stdout and sys.stdout.isatty():
            raise ToolError(f"target '{spec.name}' is not for a terminal; name a file with -o")
        return target

    @property
    def _to_stdout(self) -> bool:
        return self.args.output_file in (None, "-")

    def run(self) -> None:
        if self.args.list_passes:
            sys.stdout.write(self._describe_passes())
            return
        try:
            self._run()
        except ShrinkException:
            print("Success, can shrink")
            return
        if self.args.shrink:
            print("Failure, can't shrink")
            sys.exit(1)

    def _run(self) -> None:
        """Process every program of the input; a wrong one does not keep the next from being looked at."""
        file_output = BytesIO()
        output = sys.stdout.buffer if self._to_stdout else file_output
        failed = False
        for i, source in enumerate(self._read_sources()):
            try:
                result = self._process(source)
            except CompileError as e:
                if self.args.debug:
                    raise
                print(e, file=sys.stderr)
                failed = True
                continue
            output.write(b"// -----\n" + result if i > 0 else result)
            output.flush()
        if failed:
            sys.exit(1)
        if not self._to_stdout:
            write_bytes(self.args.output_file, file_output.getvalue())

    def _read_sources(self) -> list[Source]:
        name, text = read_text(self.args.input_file)
        extension = self.args.frontend or PurePath(name).suffix.removeprefix(".") or "mlir"
        if extension not in self.available_frontends:
            known = ", ".join(f".{e}" for e in self.available_frontends)
            raise ToolError(f"unknown file extension '.{extension}' of '{name}'; expected {known}, or -f with a format")
        if not self.args.split_input_file:
            return [Source(name, text)]
        chunks = SPLIT_MARKER.split(text)
        offsets = accumulate((chunk.count("\n") for chunk in chunks[:-1]), initial=0)
        return [Source(name, chunk, offset) for chunk, offset in zip(chunks, offsets, strict=True)]

    def _process(self, source: Source) -> bytes:
        """One program from text to output."""
        tolerated = self.args.parsing_diagnostics
        try:
            module = self._parse(source)
            tolerated = self.args.verify_diagnostics
            self._run_passes(module, source)
            return self._emit(module, source)
        except InternalError:
            raise
        except CompileError as e:
            error = CompileError([source.show(d) for d in e.diagnostics])
            if not tolerated:
                raise error from e
            return f"{error}\n".encode()

    def _parse(self, source: Source) -> ModuleOp:
        with stage("the parser", source):
            module = parse_module(
                source.text, source.name, context=self.ctx, verify=False, line_offset=source.line_offset
            )
        # Only a module that stands in the text has a place.
        if self.args.no_implicit_module and isinstance(module.location, UnknownLoc):
            raise CompileError(Diagnostic("expected one builtin.module around everything", source.name))
        return module

    def _run_passes(self, module: ModuleOp, source: Source) -> None:
        self._verify(module, source)
        for p in self.pipeline.passes:
            start = time.perf_counter()
            with stage(f"pass '{p.name}'", source):
                p.apply(self.ctx, module)
            if self.args.time_passes:
                print(f"{(time.perf_counter() - start) * 1e3:9.2f} ms  {p.name}", file=sys.stderr)
            self._verify(module, source, f" after pass '{p.name}'")
            if self.args.print_between_passes and p is not self.pipeline.passes[-1]:
                print(f"IR after {p.name}:\n{self._as_text(module)}\n\n", flush=True)

    def _verify(self, module: ModuleOp, source: Source, when: str = "") -> None:
        if self.args.disable_verify:
            return
        try:
            with stage(f"the verifier{when}", source):
                verify_module(module)
        except InternalError:
            raise
        except CompileError as e:
            raise CompileError([replace(d, message=d.message + when) for d in e.diagnostics]) from e

    def _emit(self, module: ModuleOp, source: Source) -> bytes:
        with stage(f"target '{self.target.name}'", source):
            if isinstance(self.target, BinaryTarget):
                return self.target.emit_bytes(self.ctx, module)
            # xDSL's highlighting printer is for the eyes and may round constants.
            if self.target.name == "mlir" and not self.args.syntax_highlight:
                return self._as_text(module).encode()
            return self.output_resulting_program(module).encode()

    def _as_text(self, module: ModuleOp) -> str:
        elide: int | None = self.args.elide
        text = StringIO()
        make_printer = ExactPrinter if elide is None else partial(ElidingPrinter, limit=elide)
        printer = make_printer(
            stream=text,
            print_generic_format=self.args.print_op_generic,
            print_properties_as_attributes=self.args.print_no_properties,
            print_debuginfo=self.args.print_debuginfo,
        )
        printer.print_op(module)
        printer.print_metadata(self.ctx.loaded_dialects)
        return text.getvalue() + "\n"

    def _describe_passes(self) -> str:
        """relex's passes with the first sentence of their documentation, then the names of all others."""
        own = RELEX_UNIVERSE.all_passes
        width = max(map(len, own), default=0)
        lines = [f"{name:{width}}  {_summary(own[name]())}" for name in sorted(own)]
        return "\n".join([*lines, "", *sorted(self.available_passes.keys() - own.keys())]) + "\n"


def _instantiate(kind: str, cls: type[ConvertibleT], spec: ArgSpec) -> ConvertibleT:
    """A pass or target with the options of its spec. Raises `ToolError` for an option that it does not have."""
    options = {field.name.replace("_", "-") for field in dataclasses.fields(cls) if field.init}
    for name in spec.parameters:
        if name.replace("_", "-") not in options:
            known = ", ".join(sorted(options)) or "none"
            raise ToolError(f"{kind} '{spec.name}' has no option '{name}'; its options: {known}")
    try:
        return cls.from_spec(spec)
    except (ValueError, RelexError) as e:
        raise ToolError(f"{kind} '{spec.name}': {e}") from e


def _summary(cls: type[ModulePass]) -> str:
    """The first sentence of a docstring."""
    text = " ".join((inspect.getdoc(cls) or "").split())
    sentence, end, _ = text.partition(". ")
    return sentence + end.strip()


def main(args: Sequence[str] | None = None) -> int:
    """Run the tool on its arguments (those of the process by default) and return the exit code."""
    args = sys.argv[1:] if args is None else args
    return run_tool("relex-opt", lambda: RelexOptMain(args).run(), debug="--debug" in args)
