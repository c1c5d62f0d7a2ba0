"""Compile, load and run programs."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from relex.runtime.compilation import build as build
    from relex.runtime.executable import CompiledFunction as CompiledFunction
    from relex.runtime.executable import Executable as Executable

_HOMES = {
    "CompiledFunction": "relex.runtime.executable",
    "Executable": "relex.runtime.executable",
    "build": "relex.runtime.compilation",
}


def __getattr__(name: str) -> object:
    from importlib import import_module

    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
