"""Rewritten functions that are remembered from one compilation to the next."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache
from typing import Protocol

from xdsl.dialects.builtin import ModuleOp
from xdsl.rewriter import Rewriter

from relex.dialects.errors import CompileError
from relex.dialects.fingerprint import fingerprint
from relex.dialects.parser import parse_module
from relex.dialects.symbols import symbols_used
from relex.dialects.tir import PrimFuncOp
from relex.dialects.upstream.printer import printed
from relex.dialects.walks import walk

UNCHANGED = ""
"""The text remembered for a function that was not changed."""


class TextStore(Protocol):
    """A store of texts, by the facts that they were made from."""

    def recall(self, *facts: str) -> str | None:
        """Return the text that the same compiler made from these facts; None if there is none."""
        ...

    def remember(self, text: str, *facts: str) -> None:
        """Keep the text made from these facts."""
        ...

    def is_of_use(self, function: PrimFuncOp) -> bool:
        """Return whether the rewritten text of a function would ever be looked up: making and printing it takes longer
        than many a rewrite."""
        ...


_MEMORY = ContextVar[TextStore | None]("memory", default=None)


@contextmanager
def remembering(memory: TextStore | None) -> Generator[None]:
    """Remember in `memory` what is rewritten in the `with` block."""
    token = _MEMORY.set(memory)
    try:
        yield
    finally:
        _MEMORY.reset(token)


def rewrite_once(function: PrimFuncOp, step: str, rewrite: Callable[[PrimFuncOp], object]) -> None:
    """Rewrite a loop function in its module by `rewrite`, which changes it in place or replaces it by one of the same
    name, or reuse the result for an equal function. The result may only depend on the function and `step`. The
    names of the function and of its arguments are kept."""
    if function.body.block.first_op is None:
        return  # Its code is known.
    memory, name = _MEMORY.get(), function.sym_name.data
    module = function.parent_op()
    has_module = isinstance(module, ModuleOp)
    if memory is None or not has_module or not memory.is_of_use(function) or name in symbols_used(function):
        rewrite(function)
        return
    facts = step, fingerprint([function], {name: ""})
    text = memory.recall(*facts)
    if text is None or not _is_replaced(function, text):
        rewrite(function)
        new = next(op for op in module.ops if isinstance(op, PrimFuncOp) and op.sym_name.data == name)
        is_same = new is function and fingerprint([function], {name: ""}) == facts[1]
        memory.remember(UNCHANGED if is_same else function_text(new), *facts)


def function_text(function: PrimFuncOp) -> str:
    """Return the exact text of a loop function."""
    return printed(function)


@lru_cache(maxsize=128)
def parsed_function(text: str) -> PrimFuncOp | None:
    """Return a function from its text, to be cloned; None if it cannot be read."""
    try:
        (function,) = parse_module(text, verify=False).ops
    except (CompileError, ValueError):
        return None
    return function if isinstance(function, PrimFuncOp) else None


def _is_replaced(function: PrimFuncOp, text: str) -> bool:
    """Replace a function by a remembered one. Returns False if it cannot be read."""
    if text == UNCHANGED:
        return True
    known = parsed_function(text)
    if known is None:
        return False
    new = known.clone()
    new.sym_name = function.sym_name
    for old_argument, argument in zip(function.args, new.args, strict=True):
        argument.name_hint = old_argument.name_hint
    for op in walk(new):
        op.location = function.location
    Rewriter.replace_op(function, new)
    return True
