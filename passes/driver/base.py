"""The base class of relex passes, and helpers to run, verify and look up passes."""

from __future__ import annotations

import warnings
from abc import ABC
from collections.abc import Callable, Iterable, Sequence
from contextlib import nullcontext, suppress
from dataclasses import replace
from typing import Any, ClassVar, Literal, TypeVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass

from relex.dialects.context import make_context
from relex.dialects.errors import CompileError, InternalError, InvalidOutputError, expect_kind, expect_module
from relex.dialects.upstream.verifier import verify_module
from relex.passes.driver.activity import doing
from relex.passes.driver.running import running, watched
from relex.passes.rewriting.numerics import Numerics, exact
from relex.passes.tracing import current_trace
from relex.passes.tracing.trace import RulesStopped

Level = Literal["graph", "loops", "core", "llvm"]
"""A level of the IR, named after what its functions consist of."""

ModuleT = TypeVar("ModuleT", bound=ModuleOp)

SameCall = Callable[[Operation, Sequence[Any]], tuple[Sequence[Any], Sequence[Any]] | None]
"""Map a function and arguments for it to the arguments for the function before and after a pass; see `RelexPass`."""


class RelexPass(ModulePass, ABC):
    """A pass that can be called: `FuseOpsPass()(module)` returns a rewritten copy and leaves the module as it was."""

    works_on: ClassVar[Level | None] = None
    """The only level whose programs the pass changes, if there is just one: it has no place elsewhere in the
    compilation."""

    numerics: ClassVar[Numerics] = exact
    """The effect of the pass on the numbers that a program computes, enforced by `--check-each`."""

    max_rewrites: int | None = None
    """The number of times that each pattern may be applied before it counts as endless; by default 100 for each op, and
    at least 10,000."""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "apply" in vars(cls):
            cls.apply = watched(cls.apply)

    def __call__(self, module: ModuleT) -> ModuleT:
        return run_pass(self, module)

    def steps(self) -> Sequence[ModulePass]:
        """Return the passes that this pass is composed of, in order; empty if it does the work itself."""
        return ()

    def statistic(self, name: str, count: int = 1) -> None:
        """Add to a counter of this pass, which `relex-opt --statistics` prints: `self.statistic("hoisted")`."""
        if (trace := current_trace()) is not None:
            trace.count(self.name, name, count)

    def same_call(self, function: Operation, arguments: Sequence[Any]) -> tuple[Sequence[Any], Sequence[Any]] | None:
        """Return the arguments of a call of `function` before the pass, and the arguments of the call after it that
        gives the same results; None if there is no such call any more.

        To be overridden by passes that change the arguments of functions. `function` is taken from the module before
        the pass; `arguments` are arrays and numbers, generated to check the pass. Passes that are not a `RelexPass` may
        have this method too.
        """
        return arguments, arguments


def steps_of(p: ModulePass) -> Sequence[ModulePass]:
    """Return the passes that any xDSL pass is composed of, if it declares them."""
    return p.steps() if isinstance(p, RelexPass) else ()


def same_call_of(p: ModulePass) -> SameCall | None:
    """Return the `same_call` method of any xDSL pass; None if it has none, or only the one of `RelexPass`."""
    return None if getattr(type(p), "same_call", None) is RelexPass.same_call else getattr(p, "same_call", None)


def run_pass(p: ModulePass, module: ModuleT) -> ModuleT:
    """Run any xDSL pass on a copy of `module` and return the copy. Raises `DTypeError` if an argument is not a pass or
    not a module."""
    expect_kind(p, ModulePass, "a pass")
    expect_module(module, f"pass '{p.name}'")
    result = module.clone()
    # `Trace.stop_after` ends a pass early.
    with suppress(RulesStopped):
        apply_pass(p, make_context(), result)
    return result


def apply_pass(p: ModulePass, context: Context, module: ModuleOp, *, max_rewrites: int | None = None) -> None:
    """Run any xDSL pass on a module, in place, as a `RelexPass` runs (see `relex.passes.driver.running`), and attribute
    to it what is observed meanwhile."""
    trace = current_trace()
    with doing(p.name), running(p, module, max_rewrites), nullcontext() if trace is None else trace.running(p, module):
        watched(type(p).apply)(p, context, module)


def verify_after(p: ModulePass, module: ModuleOp) -> None:
    """Verify the output of a pass. Raises `InvalidOutputError`, which names the pass, because locations are the
    locations of the ops in its input."""
    try:
        verify_module(module)
    except CompileError as e:
        found = [replace(d, message=f"{d.message} after pass '{p.name}'") for d in e.diagnostics]
        kind = InternalError if isinstance(e, InternalError) else InvalidOutputError
        raise kind(found) from e.__cause__ or e


def verify_each(passes: Iterable[ModulePass], module: ModuleOp) -> None:
    """Run passes on a copy of a module and verify the output of each, stopping at the first that raises: used to find
    the culprit after a failure."""
    context, module = make_context(), module.clone()
    with warnings.catch_warnings(action="ignore"):
        for p in passes:
            try:
                p.apply(context, module)
            except Exception:
                return
            verify_after(p, module)
