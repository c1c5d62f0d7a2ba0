"""What all passes of relex share."""

from __future__ import annotations

import warnings
from abc import ABC
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from importlib import import_module
from typing import Any

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass

from relex.dialects.context import make_context
from relex.dialects.errors import CompileError, Diagnostic, expect_kind, expect_module
from relex.dialects.upstream.verifier import verify_module

SameCall = Callable[[Operation, Sequence[Any]], tuple[Sequence[Any], Sequence[Any]] | None]
"""From a function and arguments for it to arguments for the function before and after a pass; see `RelexPass`."""


class RelexPass(ModulePass, ABC):
    """A pass that can be called: `FuseOpsPass()(module)` returns a rewritten copy and leaves the module as it was."""

    def __call__(self, module: ModuleOp) -> ModuleOp:
        return run_pass(self, module)

    def steps(self) -> Sequence[ModulePass]:
        """The passes that this one is made of, in order; none if it does its work itself."""
        return ()

    def same_call(self, function: Operation, arguments: Sequence[Any]) -> tuple[Sequence[Any], Sequence[Any]] | None:
        """For a pass that changes the arguments of functions: the arguments of a call of `function`, a function before
        the pass, and those of the call after it that gives the same results; None if there is no such call any more.
        `arguments` are arrays and numbers, generated to check the pass. Passes that are no `RelexPass` may have this
        method too."""
        return arguments, arguments

    def takes(self, op: Operation) -> bool:
        """Whether the pass replaces ops like `op` by others."""
        return False

    def refusals(self, module: ModuleOp, ops: Iterable[Operation]) -> list[Diagnostic]:
        """What the pass would say of those of `ops` that it cannot take down, seen before any pass has run."""
        return []


def steps_of(p: ModulePass) -> Sequence[ModulePass]:
    """The passes that any xDSL pass is made of, as far as it tells."""
    return p.steps() if isinstance(p, RelexPass) else ()


def same_call_of(p: ModulePass) -> SameCall | None:
    """How any xDSL pass changes the arguments of functions; None if it does not."""
    method = getattr(p, "same_call", None)
    return None if method is None or getattr(method, "__func__", None) is RelexPass.same_call else method


def run_pass(p: ModulePass, module: ModuleOp) -> ModuleOp:
    """Run any xDSL pass on a copy of `module` and return the copy. Raises `DTypeError` for what is neither."""
    expect_kind(p, ModulePass, "a pass")
    expect_module(module, f"pass '{p.name}'")
    _, result = p.apply_to_clone(make_context(), module)
    return result


def verify_after(p: ModulePass, module: ModuleOp) -> None:
    """Verify what a pass has left. The errors name the pass: their places are those of ops that it was given."""
    try:
        verify_module(module)
    except CompileError as e:
        found = [replace(d, message=f"{d.message} after pass '{p.name}'") for d in e.diagnostics]
        raise type(e)(found) from e.__cause__ or e


def verify_each(passes: Iterable[ModulePass], module: ModuleOp) -> None:
    """Run passes on a copy of a module and verify what each of them leaves, as far as they run: to find the one that is
    to blame when something has failed."""
    context, module = make_context(), module.clone()
    with warnings.catch_warnings(action="ignore"):
        for p in passes:
            try:
                p.apply(context, module)
            except Exception:
                return
            verify_after(p, module)


def lazy_passes(package: str, modules: dict[str, str]) -> dict[str, Callable[[], type[ModulePass]]]:
    """Factories for the passes of `package`, from pass name to class, each imported when first asked for.

    `modules` maps a pass name to the sub-package it lives in ("" for none). File and class carry the name of the pass:
    `fuse-ops` is the class `FuseOpsPass` in `fuse_ops.py`.
    """

    def factory(name: str, folder: str) -> Callable[[], type[ModulePass]]:
        return lambda: getattr(import_module(_module_of(package, folder, name)), class_name(name))

    return {name: factory(name, folder) for name, folder in modules.items()}


def pass_homes(package: str, modules: dict[str, str]) -> dict[str, str]:
    """The module of each of the classes that `lazy_passes` makes factories for, by the name of the class."""
    return {class_name(name): _module_of(package, folder, name) for name, folder in modules.items()}


def _module_of(package: str, folder: str, name: str) -> str:
    return ".".join(part for part in (package, folder, name.replace("-", "_")) if part)


def class_name(pass_name: str) -> str:
    """`fuse-ops` to `FuseOpsPass`."""
    return "".join(word.capitalize() for word in pass_name.split("-")) + "Pass"
