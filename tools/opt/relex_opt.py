"""`relex-opt`: read MLIR text, a script or an ONNX model, run passes, print the result.

It takes the options of `xdsl-opt` and most options of `mlir-opt`. Unlike in `xdsl-opt`, errors name file, line and
column, and the exit code is 1.
"""

from __future__ import annotations

import argparse
import os
import re
import shlex
import sys
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from functools import partial
from io import BytesIO
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, cast, runtime_checkable

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute
from xdsl.passes import ModulePass, PassPipeline
from xdsl.universe import Universe
from xdsl.utils.arg_spec import ArgSpec, parse_spec
from xdsl.utils.exceptions import ShrinkException
from xdsl.utils.target import Target
from xdsl.xdsl_opt_main import xDSLOptMain

from relex.dialects.context import LazyContext
from relex.dialects.errors import CompileError, Diagnostic, InternalError
from relex.dialects.readers import known_suffixes
from relex.extras import find_part
from relex.lowering import PASSES as LOWERING_PASSES
from relex.passes import PASSES
from relex.passes.driver.activity import doing
from relex.passes.driver.progress_line import showing_progress
from relex.tools.opt.program_run import ProgramRun, Setup
from relex.tools.options.arguments import PASS_OPTIONS, add_arguments, normalize, pass_specs, plugin_files, set_up
from relex.tools.options.model_inputs import model_options
from relex.tools.options.pipelines import find_pass, instantiate, parse_passes, pipeline_text
from relex.tools.options.plugins import Plugins
from relex.tools.options.tracing_options import Observing
from relex.tools.shell.completion import add_completion
from relex.tools.shell.diagnostics import (
    Source,
    ToolError,
    parse_source,
    print_diagnostic,
    read_source,
    run_tool,
    stage,
    write_bytes,
)
from relex.tools.universe import get_all_targets

if TYPE_CHECKING:
    from relex.tools.opt.check_options import CheckOptions
    from relex.tools.options.instrumentation import ReportOfPasses

RELEX_PASSES = {**PASSES, **LOWERING_PASSES}
"""The passes of relex, which take precedence over xDSL's with the same name."""

FLAGS_VARIABLE = "RELEX_OPT_FLAGS"
"""The environment variable with arguments that precede all others."""

TIMING = re.compile(r"--?(mlir-)?timin?g?")
"""The option that measures everything else, and its abbreviations."""

SPLIT_MARKER = re.compile(r"^(?://|#) -----[ \t\r]*$", re.MULTILINE)


@runtime_checkable
class BinaryTarget(Protocol):
    """A target with binary output."""

    def emit_bytes(self, ctx: Context, module: ModuleOp) -> bytes:
        """Return the output for a module."""
        ...


class _Versions(str):
    """The output of `--version`, which is made when it is asked for."""

    def format(self, *_: object, **named: object) -> str:
        from relex.tools.shell.version import versions

        return versions()


class RelexOptMain(xDSLOptMain):
    """
    The tool, with the dialects, passes and targets of xDSL, relex and every other installed universe.

    Raises `ToolError` for wrong arguments. `run` prints the errors of an invalid program and then raises `SystemExit`.
    """

    version_format = _Versions()

    def __init__(self, args: Sequence[str]):
        # xDSL registers everything before it parses the arguments.
        self._plugins = Plugins.of(plugin_files(args))
        self._arguments = list(args)
        super().__init__("Runs passes of relex and xDSL on MLIR text.", self._arguments)

    def register_all_dialects(self) -> None:
        self.ctx = LazyContext()
        # xDSL looks up what is installed once for dialects, once for passes and once for targets.
        self._installed = Universe.get_multiverse()
        for name, factory in self._installed.all_dialects.items():
            self.ctx.register_dialect(name, factory)
        self._plugins.add_dialects(self.ctx)

    def register_all_passes(self) -> None:
        self.available_passes.update(self._installed.all_passes)
        self.available_passes.update(RELEX_PASSES)
        self._plugins.add_passes(self.available_passes)

    def register_all_targets(self) -> None:
        self.available_targets.update(self._installed.all_targets)
        self.available_targets.update(get_all_targets())
        self._plugins.add_targets(self.available_targets)

    def register_all_frontends(self) -> None:
        # xDSL uses only the names; `_parse` does the work.
        self.available_frontends.update(dict.fromkeys(known_suffixes(), lambda _: ModuleOp([])))

    def register_all_arguments(self, arg_parser: argparse.ArgumentParser) -> None:
        super().register_all_arguments(arg_parser)
        set_up(arg_parser, self.available_passes)
        add_arguments(arg_parser)
        names = {**dict.fromkeys(PASS_OPTIONS, self.available_passes), "target": self.available_targets}
        add_completion(arg_parser, lambda: names, self.available_passes)
        arg_parser.format_help = partial(self._help, arg_parser.format_help)
        # xDSL parses this list next. Only now are all passes registered, and with them the pass flags.
        self._arguments[:] = normalize(self._arguments, arg_parser, self.available_passes)

    def _help(self, format_help: Callable[[], str]) -> str:
        from relex.tools.opt.pass_help import passes_by_package

        return f"{format_help()}\n{passes_by_package({**RELEX_PASSES, **self._plugins.passes})}\n"

    def setup_pipeline(self) -> None:
        self.pipeline = PassPipeline(tuple(map(self._make_pass, pass_specs(self.args))))
        self.target = self._make_target(parse_spec(self.args.target))
        self._observing = Observing.of(self.args, self.args.stop_after_rule)
        if self.args.pdb and self.args.input_file in (None, "-"):
            raise ToolError("expected a file with --pdb, as the debugger reads standard input")
        self._metadata = self._read_metadata()
        self._setup = Setup(
            self.args, self.ctx, self.pipeline.passes, self._reader, self._observing, self._check(), self._make_report()
        )
        if self.args.bisect and self.args.stop_after_rule is not None:
            raise ToolError("expected --bisect or --stop-after-rule, found both")
        for name in (*self.args.print_ir_before, *self.args.print_ir_after):
            find_pass(name, self.available_passes)

    def _check(self) -> CheckOptions | None:
        if self.args.check_each is None:
            return None
        from relex.tools.opt.check_options import CheckOptions

        return CheckOptions.parse(self.args.check_each)

    def _make_report(self) -> ReportOfPasses | None:
        if self.args.html is None:
            if self.args.html_compare is not None:
                raise ToolError("expected --html FILE.html with --html-compare: there both reports go")
            return None
        if self.args.split_input_file:
            raise ToolError("expected one program for --html; it cannot be used with --split-input-file")
        return find_part("report-file")(self.args.html, self.args.html_compare)

    def _read_metadata(self) -> Mapping[str, Any]:
        if self.args.metadata is None:
            return {}
        from relex.dialects.array_files.array_files import load_arrays

        return load_arrays(self.args.metadata)

    def _make_pass(self, spec: ArgSpec) -> ModulePass:
        p = instantiate("pass", find_pass(spec.name, self.available_passes), spec)
        return self._plugins.extended(p)

    def _make_target(self, spec: ArgSpec) -> Target:
        factory = cast(Callable[[], type[Target]], self.available_targets[spec.name])
        target = instantiate("target", factory(), spec)
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
        # What most uses of the tool do not need is imported where it is used.
        if self.args.show_dialects:
            print(f"Available Dialects: {', '.join(sorted(self.ctx.registered_dialect_names))}")
            return
        if self.args.list_passes:
            from relex.tools.opt.pass_help import list_passes

            described = {**RELEX_PASSES, **self._plugins.passes}
            sys.stdout.write(list_passes(described, self.available_passes))
            return
        if self.args.help_pass is not None:
            from relex.tools.opt.pass_help import help_pass

            sys.stdout.write(help_pass(find_pass(self.args.help_pass, self.available_passes)))
            return
        if self.args.new_pass is not None:
            from relex.tools.opt.new_pass import new_pass

            sys.stdout.write(new_pass(self.args.new_pass, self.available_passes))
            return
        if self.args.fuzz_pass is not None:
            self._fuzz()
            return
        if self.args.dump_pass_pipeline:
            print(pipeline_text(self.pipeline.passes), file=sys.stderr)
        try:
            with showing_progress(not self.args.no_progress):
                self._run()
        except ShrinkException:
            print("Success, can shrink")
            return
        finally:
            self._observing.report()
        if self.args.shrink:
            print("Failure, can't shrink")
            sys.exit(1)

    def _run(self) -> None:
        """Process every program of the input, continuing after one with errors."""
        file_output = BytesIO()
        output = sys.stdout.buffer if self._to_stdout else file_output
        failed = False
        for i, source in enumerate(self._read_sources()):
            try:
                result = self._process(source, i)
            except CompileError as e:
                if self.args.debug:
                    raise
                print_diagnostic(e)
                failed = True
                continue
            output.write(b"// -----\n" + result if i > 0 and result else result)
            output.flush()
        if failed:
            sys.exit(1)
        if not self._to_stdout:
            write_bytes(self.args.output_file, file_output.getvalue())

    def _fuzz(self) -> None:
        """Try one pass on many programs. Without an input file they are all generated."""
        specs = parse_passes(self.args.fuzz_pass)
        if len(specs) != 1 or self.pipeline.passes:
            raise ToolError("expected --fuzz-pass with the name of one pass, and no other passes")
        loaded = [f"--load-passes={path}" for path in self.args.load_passes]
        folder = Path(self.args.dump_dir) if self.args.dump_dir is not None else None
        fuzz = find_part("fuzz-pass")(self._make_pass(specs[0]), self.args.fuzz, self.ctx, folder, loaded)
        program, source = None, None
        if self.args.input_file is not None:
            source = self._read_source()
            run = ProgramRun(self._setup, source)
            program = run.parse()
            run.verify(program)
        try:
            print(fuzz.run(program), end="")
        except CompileError as e:
            raise CompileError([source.show(d) for d in e.diagnostics] if source is not None else e.diagnostics) from e

    def _read_sources(self) -> list[Source]:
        source = self._read_source()
        if not self.args.split_input_file or source.data is not None:
            return [source]
        chunks = SPLIT_MARKER.split(source.text)
        offsets = accumulate((chunk.count("\n") for chunk in chunks[:-1]), initial=0)
        return [replace(source, text=chunk, line_offset=offset) for chunk, offset in zip(chunks, offsets, strict=True)]

    def _read_source(self) -> Source:
        return read_source(self.args.input_file, ", or -f with a format", self.args.frontend)

    def _reader(self, source: Source) -> Callable[[], ModuleOp]:
        options = model_options(self.args, source)
        return partial(parse_source, source, options, context=self.ctx, verify=False, params=self._metadata)

    def _process(self, source: Source, index: int) -> bytes:
        """Process program number `index` of the input, from text to output."""
        run = ProgramRun(self._setup, source, index)
        module: ModuleOp | None = None
        try:
            module = run.parse()
            shown = run.run(module)
            output = self._emit(module, source) if shown is None else shown
        except InternalError as e:
            raise InternalError([source.show(d) for d in e.diagnostics]) from e.__cause__
        except CompileError as e:
            error = CompileError([source.show(d) for d in e.diagnostics])
            if self.args.verify_diagnostics:
                return self._expect([*run.warnings, *error.diagnostics], source, b"")
            if self.args.parsing_diagnostics and module is None:
                return f"{error}\n".encode()
            raise error from e
        return self._expect(run.warnings, source, output) if self.args.verify_diagnostics else output

    def _expect(self, diagnostics: Sequence[Diagnostic], source: Source, output: bytes) -> bytes:
        """Return the output of a program, after checking its diagnostics against those expected by its comments."""
        from relex.tools.opt.verify_diagnostics import compare

        if differences := compare(source, diagnostics):
            raise CompileError(differences)
        return output

    def _emit(self, module: ModuleOp, source: Source) -> bytes:
        with doing("Output"), stage(f"target '{self.target.name}'", source):
            if isinstance(self.target, BinaryTarget):
                return self.target.emit_bytes(self.ctx, module)
            # xDSL's highlighting printer is for display and may round constants.
            if self.target.name == "mlir" and not self.args.syntax_highlight:
                return self._setup.as_text(module).encode()
            return self.output_resulting_program(module).encode()


def _timed(started: float | None) -> AbstractContextManager[None]:
    from relex.tools.options.instrumentation import Timing, timed

    return timed(Timing(started))


@contextmanager
def _verifying_again() -> Generator[None]:
    """Let attributes be verified again at the end: with `--disable-verify`, xDSL replaces what does so in all of the
    process."""
    usual = Attribute.__post_init__
    try:
        yield
    finally:
        Attribute.__post_init__ = usual


def main(args: Sequence[str] | None = None, started: float | None = None) -> int:
    """Run the tool on its arguments (the process's arguments by default) and return the exit code. `started` is when
    the process began to import the tool, on the clock `perf_counter`, if it did.

    Arguments in the environment variable `RELEX_OPT_FLAGS` precede all others.
    """
    given = sys.argv[1:] if args is None else args
    flags = {*os.environ.get(FLAGS_VARIABLE, "").split(), *given}

    def run() -> None:
        with _verifying_again(), _timed(started) if any(map(TIMING.fullmatch, flags)) else nullcontext():
            # Passes are imported when the arguments are parsed.
            RelexOptMain([*_environment_flags(), *given]).run()

    return run_tool("relex-opt", run, debug="--debug" in flags)


def _environment_flags() -> list[str]:
    text = os.environ.get(FLAGS_VARIABLE, "")
    try:
        return shlex.split(text)
    except ValueError as e:
        raise ToolError(f"cannot read {FLAGS_VARIABLE}: {e}, found {text!r}") from e
