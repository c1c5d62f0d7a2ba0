"""Compile, load and run programs, or interpret them as they are."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from relex.runtime.compilation import build as build
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
    "build": "relex.runtime.compilation",
    "interpret": "relex.runtime.interpreter.api",
}


def __getattr__(name: str) -> object:
    from importlib import import_module

    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
