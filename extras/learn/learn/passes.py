"""Passes as solutions: what they make of programs, and the programs that they are to leave alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.utils.arg_spec import ArgSpec

from relex.dialects.parser import parse_module
from relex.dialects.upstream.printer import printed
from relex.dialects.walks import walk
from relex.lowering.relex_pipeline import RelexPipelinePass
from relex.passes.driver.base import RelexPass
from relex.reference import check_pass
from relex.runtime.library import Function
from relex.tools.learn.grading import with_library
from relex.tools.options.pipelines import instantiate
from relex.tools.options.plugins import Plugins
from relex.tools.shell.diagnostics import ToolError


@dataclass(frozen=True)
class GradedCase:
    """A program, and how many ops of some kinds its `main` has after the pass. Without a kind, it is to stay as it
    is."""

    what: str
    text: str
    counts: Mapping[str, int] = field(default_factory=dict[str, int])
    kernels: int | None = None
    """How many kernels it has when it is compiled after the pass."""


@dataclass(frozen=True)
class PassAim:
    """What a pass is to do."""

    programs: Sequence[GradedCase]
    library: Mapping[str, Function] = field(default_factory=dict[str, Function])
    """The library functions that it may call."""


def graded_pass(file: Path, aim: PassAim) -> Iterator[str]:
    """Yield a line for each thing that is right. Raises `ToolError` or `CompileError` for the first that is not. Runs
    the file."""
    passes = Plugins.of([str(file)]).passes
    if len(passes) != 1:
        raise ToolError(f"expected one pass in {file}, found {len(passes)}: {', '.join(passes)}")
    [(name, factory)] = passes.items()
    solution = instantiate("pass", factory(), ArgSpec(name, {}))
    with with_library(aim.library):
        yield from _graded(solution, aim)


def _graded(solution: ModulePass, aim: PassAim) -> Iterator[str]:
    verdicts = Counter[str]()
    for program in aim.programs:
        module = parse_module(program.text)
        changed = _applied(solution, module)
        _expect(program, module, changed)
        if str(_applied(solution, changed)) != str(changed):
            raise ToolError(f"{program.what}: expected nothing to do for a second run, found changes")
        findings = check_pass(solution, module, proof=True).findings
        verdicts.update(finding.verdict.kind.value for finding in findings)
        if program.kernels is not None:
            yield _kernels(program, module, changed)
    yield f"the pass changes what it should, and nothing else: {len(aim.programs)} programs"
    shown = ", ".join(f"{count} {kind}" for kind, count in verdicts.items())
    yield f"results stay the same: {shown}"


def _applied(p: ModulePass, module: ModuleOp) -> ModuleOp:
    if not isinstance(p, RelexPass):
        raise ToolError(f"expected a RelexPass, found a {type(p).__name__}")
    return p(module)


def _main(module: ModuleOp) -> func.FuncOp:
    functions = [op for op in module.ops if isinstance(op, func.FuncOp) and op.sym_name.data == "main"]
    if not functions:
        raise ToolError("expected @main after the pass, found none")
    return functions[0]


def _expect(program: GradedCase, before: ModuleOp, after: ModuleOp) -> None:
    if not program.counts and str(before) != str(after):
        raise ToolError(f"{program.what}: expected no change, found\n{printed(_main(after))}")
    found = Counter(op.name for op in walk(_main(after)))
    for name, count in program.counts.items():
        if found[name] != count:
            raise ToolError(
                f"{program.what}: expected {count} '{name}' in @main, found {found[name]}:\n{printed(_main(after))}"
            )


def _kernels(program: GradedCase, before: ModuleOp, after: ModuleOp) -> str:
    first, then = (_calls(module) for module in (before, after))
    if then != program.kernels:
        raise ToolError(f"{program.what}: expected {program.kernels} kernels after the pass, found {then}")
    return f"{program.what}: {first} kernels before the pass, {then} after it"


def _calls(module: ModuleOp) -> int:
    compiled = RelexPipelinePass("loops")(module)
    return sum(op.name == "relex.call_tir" for op in walk(_main(compiled)))
