"""Reports of compilations as HTML, in files and in notebooks."""

from __future__ import annotations

import html
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from relex.dialects.context import make_context
from relex.dialects.target.features import as_target
from relex.dialects.target.target_attribute import Target, get_target, set_target
from relex.lowering.llvm.assembly import lines_of_assembly
from relex.lowering.llvm.object_code import compile_to_assembly
from relex.lowering.relex_pipeline import pipeline
from relex.passes.driver.base import apply_pass
from relex.passes.driver.extension import AnyExtension
from relex.runtime.sources import AnyProgram, read_program, showing_source
from relex.tools.options.pipelines import explaining
from relex.tools.reports.comparison import make_comparison, read_page
from relex.tools.reports.listings import place_of
from relex.tools.reports.memory import Arena, MemoryPlan
from relex.tools.reports.page import make_page
from relex.tools.reports.recorder import PassStep, Recorder
from relex.tools.shell.diagnostics import compile_warnings, write_bytes

if TYPE_CHECKING:
    from relex.runtime.profile import Profile


@dataclass(frozen=True)
class CompilationReport:
    """
    The effects of passes on a program, as a page for browsers: `html` is its text, and Jupyter and marimo show it.

    The page is one file, which needs no network: passes with their times, the program before and after each, graphs,
    schedules with the rules that were refused, memory, assembly, and the times of calls if a profile was made.
    """

    name: str
    steps: Sequence[PassStep]
    plans: Sequence[MemoryPlan] = ()
    assembly: Mapping[str, str] = field(default_factory=dict[str, str])
    assembly_places: Mapping[str, Sequence[str]] = field(default_factory=dict[str, Sequence[str]])
    """For each line of the assembly of a function the place that it comes from, or ""."""
    sources: Mapping[str, str] = field(default_factory=dict[str, str])
    """The texts of files that locations name."""
    target: str = ""
    profile: Profile | None = None
    llvm_seconds: float = 0.0
    """The time that LLVM took to make the assembly."""

    @property
    def arenas(self) -> Sequence[Arena]:
        """The memory of functions, for the sizes of the measured call, if there was one."""
        sizes = {} if self.profile is None else {self.profile.function: self.profile.sizes}
        return [plan.at(sizes.get(plan.function, {})) for plan in self.plans]

    @property
    def html(self) -> str:
        """The page."""
        return make_page(self)

    def save(self, path: str | PathLike[str], *, beside: str | PathLike[str] | None = None) -> None:
        """Write the page to a file; beside another report that was saved, with what differs. Raises `RelexError` if
        that is not possible."""
        page = self.html if beside is None else make_comparison(read_page(Path(beside)), self.html)
        write_bytes(str(Path(path)), page.encode())

    def _repr_html_(self) -> str:
        style = "width: 100%; height: 45em; border: 1px solid #8888; border-radius: 6px"
        return f'<iframe srcdoc="{html.escape(self.html)}" style="{style}"></iframe>'

    def __repr__(self) -> str:
        return f"<report of {self.name}: {len(self.steps) - 1} passes>"


def report(
    program: AnyProgram,
    *,
    strict: bool = False,
    target: Target | str | None = None,
    passes: Iterable[AnyExtension] = (),
    approximate: bool = False,
) -> CompilationReport:
    """Compile a program, as `build` does with the same arguments, and return a report of it. Raises what `build`
    raises; nothing is run."""
    module, text = read_program(program)
    name = str(program) if isinstance(program, str | PathLike) and "\n" not in str(program) else ""
    with showing_source(text):
        machine = as_target(target)
        return report_of(
            module, text=text, name=name, strict=strict, target=machine, passes=passes, approximate=approximate
        )


def report_of(
    program: ModuleOp,
    *,
    text: str | None = None,
    name: str = "",
    strict: bool = False,
    target: Target | None = None,
    passes: Iterable[AnyExtension] = (),
    approximate: bool = False,
) -> CompilationReport:
    """Return the report of a module, which is not changed. `text` is what it was read from."""
    module = program.clone()
    if target is not None:
        set_target(module, target)
    recorder, context = Recorder(), make_context()
    recorder.start(module)
    with compile_warnings(recorder.remark):
        for p in (p for _, group in pipeline(strict=strict, passes=passes, approximate=approximate) for p in group):
            recorder.before(p, module)
            apply_pass(explaining(p), context, module)
            recorder.after(p, module)
    file = next((place.rsplit(":", 2)[0] for place in recorder.places), "")
    return finished(recorder, module, name or file, {file: text} if text else {})


def finished(recorder: Recorder, module: ModuleOp, name: str, sources: Mapping[str, str]) -> CompilationReport:
    """Return the report of what was recorded, with the module as it became. `sources` are the texts of files."""
    is_machine_code = all(op.name.startswith("llvm.") for op in module.ops) and not recorder.steps[-1].error
    start = perf_counter()
    numbers: dict[str, int] = {"": 0}

    def number_of(op: Operation) -> int:
        return numbers.setdefault(place_of(op), len(numbers))

    code = compile_to_assembly(module, embed_constants=False, line_of=number_of) if is_machine_code else ""
    assembly = lines_of_assembly(code)
    seconds = perf_counter() - start
    places = list(numbers)
    target = get_target(module)
    processor = target.cpu if target is not None else ""
    return CompilationReport(
        name or "a program",
        list(recorder.steps),
        list(recorder.plans),
        {name: "\n".join(line for line, _ in lines) for name, lines in assembly.items()},
        {name: [places[number] for _, number in lines] for name, lines in assembly.items()},
        sources,
        processor,
        llvm_seconds=seconds if assembly else 0.0,
    )
