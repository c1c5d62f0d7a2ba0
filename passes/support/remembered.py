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
"""What is remembered of a function that stayed as it was."""


class Memory(Protocol):
    """Texts by what they were made of."""

    def recall(self, *facts: str) -> str | None:
        """Return the text that was made of these facts, by the same compiler; None if there is none."""
        ...

    def remember(self, text: str, *facts: str) -> None:
        """Keep what was made of these facts."""
        ...

    def is_of_use(self, function: PrimFuncOp) -> bool:
        """Return whether texts that a function is rewritten to would be asked for: to make and to print them takes
        longer than many a rewrite."""
        ...


_MEMORY = ContextVar[Memory | None]("memory", default=None)


@contextmanager
def remembering(memory: Memory | None) -> Generator[None]:
    """Remember in `memory` what is rewritten in the `with` block."""
    token = _MEMORY.set(memory)
    try:
        yield
    finally:
        _MEMORY.reset(token)


def rewrite_once(function: PrimFuncOp, step: str, rewrite: Callable[[PrimFuncOp], object]) -> None:
    """Rewrite a loop function in its module by `rewrite`, in place or by another one of its name, or as that was done
    before with an equal one. The result may depend on nothing but the function and what `step` tells. Names of the
    function and of its arguments stay."""
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
