"""`relex-opt --fuzz-pass`: a pass is tried on many programs."""

from __future__ import annotations

import shlex
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from relex.dialects.errors import DTypeError, add_source
from relex.dialects.parser import parse_module
from relex.dialects.upstream.printer import as_text
from relex.tools.options.arguments import parse_numbers
from relex.tools.shell.diagnostics import ToolError, make_folder, write_bytes

if TYPE_CHECKING:
    from relex.reference.fuzzing.fuzz import FuzzError, FuzzFinding


class NotTestedError(ToolError):
    """Raised when a pass changes none of the programs that it is tried on."""

    status = 2


@dataclass(frozen=True)
class FuzzOptions:
    """The options of `--fuzz`."""

    programs: int = 100
    seed: int = 0
    samples: int = 1

    @classmethod
    def parse(cls, text: str) -> FuzzOptions:
        """Read `programs:100,seed:0,samples:1`, each of which may be missing. Raises `ToolError`."""
        options = cls(**parse_numbers("--fuzz", text, ("programs", "seed", "samples")))
        for name, value in (("program", options.programs), ("sample", options.samples)):
            if not value:
                raise ToolError(f"expected --fuzz with one {name} or more, found 0")
        return options


def fuzz_pass(p: ModulePass, options: str, context: Context, folder: Path | None, arguments: Sequence[str]) -> FuzzPass:
    """Return what tries a pass; `options` are the value of `--fuzz`. Raises `ToolError` for wrong ones."""
    return FuzzPass(p, FuzzOptions.parse(options), context, folder, arguments)


@dataclass(frozen=True)
class FuzzPass:
    """Tries a pass, and writes the program that it gets wrong into a file."""

    p: ModulePass
    options: FuzzOptions
    context: Context
    folder: Path | None
    """Directory for the program; None for a temporary one."""
    arguments: Sequence[str]
    """The tool's arguments that the pass depends on."""

    def run(self, program: ModuleOp | None) -> str:
        """Return a report. Raises `FuzzError`, which names the file, for a mistake, and `NotTestedError` if no program
        tests the pass."""
        # Imported here, as other uses of the tool do not need them.
        from relex.reference.fuzzing.fuzz import FuzzFinding, find_mistake
        from relex.reference.fuzzing.trials import TrialSettings

        settings = TrialSettings(self.options.seed, self.options.samples)
        try:
            found = find_mistake(self.p, program, programs=self.options.programs, settings=settings)
        except DTypeError as e:
            raise ToolError(str(e)) from e
        if isinstance(found, FuzzFinding):
            raise self._error(found, program)
        if not found.is_tested:
            hint = "a larger number" if program is not None else "a program that it changes, or a larger number"
            raise NotTestedError(f"pass '{self.p.name}' was not tested: {found}\nnote: try it on {hint} of programs")
        return f"pass '{self.p.name}': {found}\n"

    def _error(self, finding: FuzzFinding, program: ModuleOp | None) -> FuzzError:
        """Return the error for a finding, located in the file that shows it: the given one, if it is small enough, or a
        new one."""
        from relex.reference.fuzzing.fuzz import FuzzError

        if program is not None and program.is_structurally_equivalent(finding.module):
            return FuzzError(replace(finding, module=program), ())
        path, command = self._write(finding)
        text = Path(path).read_text()
        module = parse_module(text, path, context=self.context)
        error = FuzzError(replace(finding, module=module), (f"the smallest program that shows it: {command}",))
        error.diagnostics = [add_source(d, text) for d in error.diagnostics]
        return error

    def _write(self, finding: FuzzFinding) -> tuple[str, str]:
        """Write the program of a finding. Return the path, and the command that shows the mistake again."""
        if self.folder is not None:
            make_folder(self.folder)
        folder = self.folder or Path(tempfile.mkdtemp(prefix="relex-fuzz-"))
        path = folder / f"{self.p.name}.{finding.failure.problem}.mlir"
        samples = f",samples:{self.options.samples}" if self.options.samples != 1 else ""
        fuzz = f"--fuzz=programs:1,seed:{self.options.seed + finding.number}{samples}"
        words = ["relex-opt", str(path), *self.arguments, f"--fuzz-pass={self.p.spec()}", fuzz]
        write_bytes(str(path), f"// {shlex.join(words)}\n{as_text(finding.module, self.context)}".encode())
        return str(path), shlex.join(words)
