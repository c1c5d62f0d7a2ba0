"""Steps of a compilation that need no more than one loop function, which other processes can do as well."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Block, Region

from relex.dialects.context import make_context
from relex.dialects.dtypes import dense_integers
from relex.dialects.target import processor_in
from relex.dialects.tir import PrimFuncOp
from relex.dialects.walks import walk
from relex.lowering.convert_tir_to_scf import ConvertTirToScfPass
from relex.lowering.llvm.add_packed_entries import AddPackedEntriesPass
from relex.lowering.llvm.parts import compile_each
from relex.lowering.llvm.pool_allocations import PoolAllocationsPass
from relex.lowering.llvm.split_kernels import SplitKernelsPass
from relex.lowering.memory.needs import MemoryNeeds
from relex.lowering.relex_pipeline import pipeline
from relex.lowering.support.kernels import ARGUMENTS_ATTR, RECIPE_ATTR, mark_kernels
from relex.lowering.support.workers import Trade
from relex.passes.activity import doing
from relex.passes.base import apply_pass
from relex.passes.loops.schedule_cpu import schedule_each
from relex.passes.support.remembered import exact_text, remembering

COMPILER = __file__
"""Tells whether another process has the same relex."""

SECONDS_PER_OP = 1e-3
"""What the steps for a loop function take for each of its ops, on a common machine."""


@dataclass(frozen=True)
class LoopJob:
    """A loop function to be worked on."""

    function: PrimFuncOp

    @property
    def seconds(self) -> float:
        """What the work is estimated to take."""
        return SECONDS_PER_OP * sum(1 for _ in walk(self.function))

    def module(self) -> ModuleOp:
        """Return a module of a copy of the function, for the same target."""
        old, function = self.function.parent_op(), self.function.clone()
        function.attributes.pop(RECIPE_ATTR, None)
        return ModuleOp([function], dict(old.attributes) if old is not None else {})

    def message(self, task: str, **options: Any) -> tuple[dict[str, Any], bytes]:
        """Return the message that has another process do a task."""
        return {"compiler": COMPILER, "task": task, **options}, exact_text(self.module()).encode()


@dataclass(frozen=True)
class CompiledLoops:
    """The code of a loop function.

    `described` is the fingerprint of the function at the core level, `temporaries` the memory in bytes that a call
    needs. The code has `symbol`, takes `arguments` of the function, and calls `imports`.
    """

    described: str
    symbol: str
    arguments: tuple[int, ...]
    temporaries: tuple[int, ...]
    imports: tuple[str, ...]
    code: bytes


def compile_loops(module: ModuleOp, *, strict: bool) -> CompiledLoops | None:
    """Compile the only loop function of a module, which is changed; None if it is not compiled on its own, but with
    those that call it."""
    function = module.body.block.first_op
    assert isinstance(function, PrimFuncOp)
    name = function.sym_name.data
    module.body.block.add_op(_caller(name, list(function.function_type.inputs)))
    context, levels = make_context(), dict(pipeline(strict=strict))
    begin = next(i for i, p in enumerate(levels["core"]) if isinstance(p, ConvertTirToScfPass))
    for p in levels["core"][begin:]:
        apply_pass(p, context, module)
    temporaries = tuple(size for size in MemoryNeeds(module).of(name) if isinstance(size, int))
    described = mark_kernels(module, lambda described: (described, None)).get(name)
    if described is None:
        return None
    machine = [p for p in levels["llvm"] if not isinstance(p, AddPackedEntriesPass)]
    for p in (*machine, PoolAllocationsPass(), SplitKernelsPass()):
        apply_pass(p, context, module)
    kernels = [op for op in module.ops if isinstance(op, ModuleOp)]
    if len(kernels) != 1 or (places := dense_integers(kernels[0].attributes.get(ARGUMENTS_ATTR))) is None:
        return None
    with doing("LLVM"):
        (code,) = compile_each(kernels)
    return CompiledLoops(described, code.functions[0], places, temporaries, code.imports, code.code)


def _caller(name: str, types: Sequence[Attribute]) -> func.FuncOp:
    block = Block(arg_types=types)
    block.add_ops([func.CallOp(name, list(block.args), []), func.ReturnOp()])
    return func.FuncOp("caller", (types, []), Region(block))


def compiling(*, strict: bool) -> Trade[LoopJob, CompiledLoops | None]:
    """Return how loop functions are compiled."""

    def read(facts: dict[str, Any], code: bytes) -> CompiledLoops | None:
        found = facts["found"]
        if found is None:
            return None
        arguments, temporaries, imports = (tuple(found[name]) for name in ("arguments", "temporaries", "imports"))
        return CompiledLoops(found["described"], found["symbol"], arguments, temporaries, imports, code)

    return Trade(
        lambda job: compile_loops(job.module(), strict=strict),
        lambda job: job.message("compile", strict=strict),
        read,
        lambda job: job.seconds,
    )


def scheduling(do: Callable[[LoopJob], str | None]) -> Trade[LoopJob, str | None]:
    """Return how loop functions are scheduled: `do` does so here. The result is the text of a function that others have
    scheduled, as `rewrite_once` remembers it."""

    def read(facts: dict[str, Any], text: bytes) -> str:
        if not facts["is_done"]:
            raise ValueError("expected a function that can be scheduled by itself")
        return text.decode()

    return Trade(do, lambda job: job.message("schedule"), read, lambda job: job.seconds)


class _LastText:
    """A memory of one text."""

    text: str | None = None

    def recall(self, *facts: str) -> str | None:
        """Nothing is known."""

    def remember(self, text: str, *facts: str) -> None:
        """Keep a text."""
        self.text = text

    def share(self, functions: Sequence[PrimFuncOp], step: str, rewrite: Callable[[PrimFuncOp], object]) -> set[str]:
        """Have nobody else rewrite functions."""
        return set()


Task = Callable[[ModuleOp, dict[str, Any]], tuple[dict[str, Any], bytes]]


def _schedule(module: ModuleOp, head: dict[str, Any]) -> tuple[dict[str, Any], bytes]:
    last, processor = _LastText(), processor_in(module)
    with remembering(last):
        if processor is not None:
            schedule_each([op for op in module.ops if isinstance(op, PrimFuncOp)], processor)
    return {"is_done": last.text is not None}, (last.text or "").encode()


def _compile(module: ModuleOp, head: dict[str, Any]) -> tuple[dict[str, Any], bytes]:
    if (found := compile_loops(module, strict=head["strict"])) is None:
        return {"found": None}, b""
    facts = asdict(found)
    code = facts.pop("code")
    return {"found": facts}, code


TASKS: dict[str, Task] = {"schedule": _schedule, "compile": _compile}
"""What a process does for another one: the answer to a message and the module in it."""
