"""Compile, load and run programs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from relex.lazy import lazy_exports

if TYPE_CHECKING:
    from relex.runtime.c.export import build_object as build_object
    from relex.runtime.compilation import build as build
    from relex.runtime.compile_cache import CompileCache as CompileCache
    from relex.runtime.deadlines import deadline as deadline
    from relex.runtime.executable import CompiledFunction as CompiledFunction
    from relex.runtime.executable import Executable as Executable
    from relex.runtime.library import CFunction as CFunction
    from relex.runtime.library import c_function as c_function
    from relex.runtime.library import get_func as get_func
    from relex.runtime.library import register_func as register_func
    from relex.runtime.library import remove_func as remove_func
    from relex.runtime.loader import release_memory as release_memory
    from relex.runtime.profile import KernelCalls as KernelCalls
    from relex.runtime.profile import Profile as Profile
    from relex.runtime.saving import load as load
    from relex.runtime.threads.pool import get_threads as get_threads
    from relex.runtime.threads.pool import set_threads as set_threads
    from relex.runtime.weights import Weights as Weights
else:
    __getattr__, __dir__, __all__ = lazy_exports(__name__)
