"""Compile, load and run programs, or interpret them as they are."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from relex.runtime.compilation import build as build
    from relex.runtime.equivalence.check import NotEquivalentError as NotEquivalentError
    from relex.runtime.equivalence.check import check_equivalent as check_equivalent
    from relex.runtime.equivalence.check import check_pass as check_pass
    from relex.runtime.executable import CompiledFunction as CompiledFunction
    from relex.runtime.executable import Executable as Executable
    from relex.runtime.interpreter.api import Interpretation as Interpretation
    from relex.runtime.interpreter.api import InterpretedFunction as InterpretedFunction
    from relex.runtime.interpreter.api import interpret as interpret

_HOMES = {
    "CompiledFunction": "relex.runtime.executable",
    "Executable": "relex.runtime.executable",
    "Interpretation": "relex.runtime.interpreter.api",
    "InterpretedFunction": "relex.runtime.interpreter.api",
    "NotEquivalentError": "relex.runtime.equivalence.check",
    "build": "relex.runtime.compilation",
    "check_equivalent": "relex.runtime.equivalence.check",
    "check_pass": "relex.runtime.equivalence.check",
    "interpret": "relex.runtime.interpreter.api",
}


def __getattr__(name: str) -> object:
    from importlib import import_module

    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
