"""Weights that take the place of arguments when a program is compiled."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from os import PathLike
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

from xdsl.dialects.builtin import ModuleOp

from relex.dialects.array_files.array_files import load_arrays
from relex.dialects.errors import RelexError, expect_kind
from relex.passes.graph.bind_params import BindParamsPass
from relex.runtime.compile_cache import CacheOption, CompileCache, find_cache, is_off, usable_cache
from relex.runtime.container import as_path

if TYPE_CHECKING:
    from relex.runtime.program import CompiledProgram

SLOW = 1.0
"""Seconds of a compilation from which on the program is kept."""

FOLDER = "weights"
"""The folder of programs with weights, in the folder of a cache."""

LIMIT = 2**34
"""Its capacity in bytes."""


@dataclass(frozen=True)
class Weights:
    """
    Arrays that take the place of arguments of a function with the same names: those in a `.safetensors`, `.npz` or
    `.pkl` file, or in a dictionary of arrays or of tensors with DLPack. Files are mapped into memory, where they allow
    it, and must stay as they are.
    """

    source: Mapping[str, Any] | str | PathLike[str]
    function: str = "main"

    @classmethod
    def of(cls, given: AnyWeights) -> Weights:
        """Return what the user has given as weights. Raises `DTypeError` for other objects."""
        if isinstance(given, Weights):
            return given
        expect_kind(given, str | PathLike | Mapping, "a dictionary of arrays or the path of a file as 'weights'")
        return cls(given)

    @property
    def file(self) -> Path | None:
        """The file that has them, if they are in one."""
        return None if isinstance(self.source, Mapping) else as_path(self.source)

    def bound(self, module: ModuleOp) -> ModuleOp:
        """Return a module whose function has them as constants. Raises what `bind-params` does."""
        arrays = self.source
        if not isinstance(arrays, Mapping):
            arrays = load_arrays(as_path(arrays), mapped=True, stays=True)
        return BindParamsPass(self.function, arrays)(module)


AnyWeights = Weights | Mapping[str, Any] | str | PathLike[str]
"""Weights, or what they are made of."""


def compiled_with(
    weights: Weights,
    module: ModuleOp,
    option: CacheOption,
    key_of: Callable[[ModuleOp], str | None],
    compile_module: Callable[[ModuleOp], CompiledProgram],
) -> CompiledProgram:
    """Return a module compiled with weights. A program that takes longer than a second is kept in the folder of the
    cache, unless that is off, and found again by its key and the state of the file of the weights: then its constants
    are mapped from there, whatever process has packed them. Contents of arrays are part of the key."""
    if (file := weights.file) is None:
        bound = weights.bound(module)
        return _kept(option, lambda: key_of(bound), lambda: compile_module(bound))
    before = _state_of(file)

    def key() -> str | None:
        known = key_of(module)
        return known and sha256("\n".join((known, weights.function, *before)).encode()).hexdigest()

    def compile_bound() -> CompiledProgram:
        compiled = compile_module(weights.bound(module))
        if _state_of(file) != before:
            raise RelexError(f"{file}: expected a file that stays as it is, found it changed meanwhile")
        return compiled

    return _kept(option, key, compile_bound)


def _state_of(file: Path) -> list[str]:
    """Return the place and the state of a file. Raises `RelexError` if it cannot be found."""
    try:
        status = file.stat()
    except (OSError, ValueError) as e:
        raise RelexError(f"cannot read '{file}': {(isinstance(e, OSError) and e.strerror) or e}") from e
    return [os.path.realpath(file), *map(str, (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns))]


def _kept(
    option: CacheOption, key: Callable[[], str | None], compile_bound: Callable[[], CompiledProgram]
) -> CompiledProgram:
    """Return a program from the cache, or compile it, and keep it there if that takes long."""
    cache = _folder(option)
    name = None if cache is None else key()
    if cache is None or name is None:
        return compile_bound()
    found = cache.get(name)
    # Compiling again reports a missing library function at its place in the program.
    if found is not None and not any(use.problem for use in found.libraries):
        return found
    started = perf_counter()
    found = compile_bound()
    if perf_counter() - started < SLOW:
        return found
    cache.put(name, found)
    return cache.get(name) or found


def _folder(option: CacheOption) -> CompileCache | None:
    """Return the cache of programs with weights; None if it is off or cannot be used."""
    cache = None if is_off(option) else find_cache(option) or usable_cache()
    with suppress(RelexError):
        return None if cache is None else CompileCache(cache.folder / FOLDER, LIMIT)
    return None
