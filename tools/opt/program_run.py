"""One program of the input of `relex-opt`: it is read, passes run on it, and their watchers are notified."""

from __future__ import annotations

import sys
import tempfile
import time
from argparse import Namespace
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext, redirect_stderr, redirect_stdout
from dataclasses import dataclass, field, replace
from functools import partial
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, UnknownLoc
from xdsl.passes import ModulePass

from relex.dialects.errors import CompileError, Diagnostic, InternalError
from relex.dialects.parser import verify_module
from relex.dialects.upstream.printer import ElidingPrinter, ExactPrinter, as_text
from relex.extras import find_part
from relex.passes.driver.activity import doing
from relex.tools.options.pipelines import explaining, flatten
from relex.tools.options.tracing_options import Observing
from relex.tools.shell.diagnostics import Source, ToolError, compile_warnings, make_folder, print_diagnostic, stage

if TYPE_CHECKING:
    from relex.tools.opt.check_options import CheckOptions
    from relex.tools.options.instrumentation import Instrumentation, ReportOfPasses


@dataclass(frozen=True)
class Setup:
    """The settings given by the arguments, the same for every program of the input."""

    args: Namespace
    context: Context
    passes: Sequence[ModulePass]
    reader: Callable[[Source], Callable[[], ModuleOp]]
    """Returns a function that reads a program, which need not be valid."""
    observing: Observing
    check: CheckOptions | None
    """The options of `--check-each`, if it is given."""
    report: ReportOfPasses | None

    def as_text(self, module: ModuleOp) -> str:
        """Return a program as MLIR text, printed as the arguments ask for."""
        elide: int | None = self.args.elide
        make_printer = partial(
            ExactPrinter if elide is None else partial(ElidingPrinter, limit=elide),
            print_generic_format=self.args.print_op_generic,
            print_properties_as_attributes=self.args.print_no_properties,
            print_debuginfo=self.args.print_debuginfo,
        )
        return as_text(module, self.context, make_printer)

    @property
    def arguments_of_passes(self) -> list[str]:
        """The arguments of the tool that passes depend on."""
        flags = ["allow_unregistered_dialect", "disable_verify"]
        given = [f"--{flag.replace('_', '-')}" for flag in flags if getattr(self.args, flag)]
        limit = [] if self.args.max_rewrites is None else [f"--max-rewrites={self.args.max_rewrites}"]
        return [*(f"--load-passes={path}" for path in self.args.load_passes), *given, *limit]


@dataclass
class ProgramRun:
    """A program on its way through the passes. Its errors and warnings are located in it, not yet in the file."""

    setup: Setup
    source: Source
    index: int = 0
    """The number of the program in the input."""
    warnings: list[Diagnostic] = field(default_factory=list[Diagnostic], init=False)
    """The warnings, if they are to be compared with comments in the program instead of printed."""
    _done: list[ModulePass] = field(default_factory=list[ModulePass], init=False)

    def __post_init__(self) -> None:
        self._args, self._report = self.setup.args, self.setup.report

    def parse(self) -> ModuleOp:
        """Read the program."""
        read = self.setup.reader(self.source)
        with doing("Parser"), stage("the parser", self.source), compile_warnings(self._warn):
            module = read()
        # Only a module written in the text has a location.
        if self._args.no_implicit_module and isinstance(module.location, UnknownLoc):
            raise CompileError(Diagnostic("expected one builtin.module around everything", self.source.name))
        return module

    def verify(self, module: ModuleOp, p: ModulePass | None = None) -> None:
        """Verify the input, or the result of a pass."""
        if self._args.disable_verify:
            return
        with doing("Verifier"), stage("the verifier", self.source):
            if p is None:
                verify_module(module)
            else:
                from relex.passes.driver.base import verify_after

                verify_after(p, module)

    def run(self, module: ModuleOp) -> bytes | None:
        """Run all passes, or do with them what the arguments ask for instead. Returns what is printed in place of the
        program, if anything is."""
        self.verify(module)
        if self._args.report_unsupported:
            return self._report_unsupported(module)
        if self._args.bisect:
            self._bisect(module)
            return None
        watchers = list(self._watchers())
        for watcher in watchers:
            watcher.start(module)
        self.setup.observing.restart()
        try:
            self._run_passes(self.setup.passes, module, watchers)
        except Exception as e:
            if self._report is not None:
                self._report.stopped(e)
            raise
        finally:
            if self._report is not None:
                self._report.write(module, self.source.name, self.source.text)
        for watcher in watchers:
            watcher.finish(module)
        return None

    def _bisect(self, module: ModuleOp) -> None:
        from relex.tools.opt.check_options import CheckOptions

        arguments = self.setup.arguments_of_passes
        bisection = find_part("bisection")(
            self.setup.context, self.setup.check or CheckOptions(), self._error_folder, self.source, arguments
        )
        count = bisection.run([step for p in self.setup.passes for step in flatten(p)], module)
        print_diagnostic(Diagnostic(f"nothing is wrong after {count} rules", self.source.name, severity="note"))

    def _report_unsupported(self, module: ModuleOp) -> bytes:
        from relex.lowering.conversion.unsupported import find_unsupported
        from relex.lowering.relex_pipeline import RelexPipelinePass

        passes = self.setup.passes or (RelexPipelinePass(),)
        with stage("the search for unsupported ops", self.source):
            problems = find_unsupported(self.setup.context, module, [step for p in passes for step in flatten(p)])
        if problems:
            raise CompileError(problems)
        return b"everything is supported\n"

    def _run_passes(self, passes: Sequence[ModulePass], module: ModuleOp, watchers: Sequence[Instrumentation]) -> bool:
        """Run passes in order; return False if the last of them has ended early, with `--stop-after-rule`."""
        return all(self._run_pass(p, module, watchers) for p in passes)

    def _run_pass(self, p: ModulePass, module: ModuleOp, watchers: Sequence[Instrumentation]) -> bool:
        from relex.passes.driver.base import steps_of

        for watcher in watchers:
            watcher.before(p, module)
        try:
            steps = steps_of(p)
            finished = self._run_passes(steps, module, watchers) if steps else self._run_step(p, module)
        except Exception:
            for watcher in watchers:
                watcher.failed(p, module)
            raise
        for watcher in watchers:
            watcher.after(p, module)
        return finished

    def _run_step(self, p: ModulePass, module: ModuleOp) -> bool:
        try:
            finished = self._apply(p, module)
            self.verify(module, p)
        except CompileError as e:
            from relex.passes.driver.crashes import crash_of

            is_crash = isinstance(e, InternalError) or (e.__cause__ is not None and crash_of(e.__cause__) is not None)
            if self._args.pass_pipeline_crash_reproducer is None and not is_crash:
                raise
            if (command := self._reproduce(p)) is None:
                raise
            *others, last = e.diagnostics
            raise type(e)([*others, replace(last, notes=(*last.notes, f"reproduced by: {command}"))]) from e.__cause__
        self._done.append(p)
        return finished

    def _apply(self, p: ModulePass, module: ModuleOp) -> bool:
        from relex.passes.driver.base import apply_pass
        from relex.passes.tracing.trace import RulesStopped

        show = self._warn
        if self._args.explain_schedule or self._report is not None:
            # Without --explain-schedule, only the report shows the decisions.
            p, given = explaining(p), p
            show = show if self._report is None or p is given or self._args.explain_schedule else self._report.remark
        start = time.perf_counter()
        finished = True
        shown = compile_warnings(show)
        with stage(f"pass '{p.name}'", self.source), shown, self._debugging():
            try:
                with self.setup.observing.observing(self._warn):
                    apply_pass(p, self.setup.context, module, max_rewrites=self._args.max_rewrites)
            except RulesStopped:
                finished = False
        if self._args.time_passes:
            print(f"{(time.perf_counter() - start) * 1e3:9.2f} ms  {p.name}", file=sys.stderr)
        return finished

    def _debugging(self) -> AbstractContextManager[None]:
        if not self._args.pdb:
            return nullcontext()
        from relex.tools.opt.debugger import debugging

        return debugging()

    def _warn(self, diagnostic: Diagnostic) -> None:
        if self._report is not None:
            self._report.remark(diagnostic)
        if self._args.verify_diagnostics:
            self.warnings.append(self.source.show(diagnostic))
        else:
            print_diagnostic(self.source.show(diagnostic))

    def _reproduce(self, p: ModulePass) -> str | None:
        """Write the program as it was before a pass that fails, and return the command that runs the pass on it; None
        if passes have left it in a state that cannot be printed."""
        from relex.tools.opt.reproducer import write_reproducer

        with redirect_stderr(StringIO()), redirect_stdout(StringIO()):
            try:
                # The passes are run again, so that nothing need be copied before each of them.
                module = self.parse()
                for done in self._done:
                    done.apply(self.setup.context, module)
                given = self._args.pass_pipeline_crash_reproducer
                number = f".{self.index}" if self._args.split_input_file else ""
                path = Path(given) if given is not None else self._error_folder() / f"{p.name}{number}.crash.mlir"
                return write_reproducer(path, module, self.setup.context, [p], self.setup.arguments_of_passes)
            except ToolError:
                raise
            except Exception:
                return None

    def _error_folder(self) -> Path:
        """Return the directory for programs that show errors: the one for other files of this run, or a temporary
        one."""
        folder, output = self._dump_folder(), Path(self._args.output_file or "-")
        # Nothing is written beside a device such as /dev/null.
        if folder is None and str(output) != "-" and (output.is_file() or not output.exists()):
            folder = output.parent
        if folder is None:
            return Path(tempfile.mkdtemp(prefix="relex-opt-"))
        make_folder(folder)
        return folder

    def _dump_folder(self) -> Path | None:
        if self._args.dump_dir is None:
            return None
        folder = Path(self._args.dump_dir)
        return folder / str(self.index) if self._args.split_input_file else folder

    # Modules that few runs need are imported only then.

    def _watchers(self) -> Iterator[Instrumentation]:
        if self._report is not None:
            # Its times end before the others begin.
            yield self._report
        yield from self._printing()
        if self._args.verify_roundtrip:
            from relex.tools.opt.verify_roundtrip import VerifyRoundtrip

            yield VerifyRoundtrip(self.setup.context)
        yield from self._checking()

    def _printing(self) -> Iterator[Instrumentation]:
        args, folder = self._args, self._dump_folder()
        asked = any(value for name, value in vars(args).items() if name.startswith("print_ir_"))
        if not asked and not args.print_between_passes and folder is None:
            return
        from relex.tools.options.instrumentation import DumpFiles, PrintBetween, PrintIr, Selection

        before = Selection(frozenset(args.print_ir_before), args.print_ir_before_all)
        after = Selection(frozenset(args.print_ir_after), args.print_ir_after_all)
        if not after and (args.print_ir_after_change or args.print_ir_after_failure):
            after = Selection(all=True)
        if before or after:
            yield PrintIr(self.setup.as_text, before, after, args.print_ir_after_change, args.print_ir_after_failure)
        if args.print_between_passes:
            yield PrintBetween(self.setup.as_text)
        if folder is not None:
            yield DumpFiles(folder, self.setup.as_text)

    def _checking(self) -> Iterator[Instrumentation]:
        if (options := self.setup.check) is None:
            return
        name, arguments = self._args.input_file or "<stdin>", self.setup.arguments_of_passes
        check = find_part("check-each")(options, self.setup.context, name, self._error_folder, arguments)
        if self._report is not None:
            check.report = self._report.checked
        yield check
