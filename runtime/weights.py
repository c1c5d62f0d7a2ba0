"""Weights that take the place of arguments when a program is compiled."""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from os import PathLike
from time import perf_counter
from typing import TYPE_CHECKING, Any

from xdsl.dialects.builtin import ModuleOp

from relex.dialects.array_files.array_files import load_arrays
from relex.dialects.arrays import np
from relex.dialects.dlpack import as_array
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

    def bound(self, module: ModuleOp) -> ModuleOp:
        """Return a module whose function has them as constants. Raises what `bind-params` does."""
        arrays = self.source
        if not isinstance(arrays, Mapping):
            arrays = load_arrays(as_path(arrays), mapped=True, stays=True)
        return BindParamsPass(self.function, arrays)(module)

    @cached_property
    def identity(self) -> list[str]:
        """What identifies them: the place and the state of a file, or the contents of arrays. Raises `RelexError` for a
        file that cannot be found."""
        if isinstance(self.source, Mapping):
            return [self.function, *(f"{name} {_digest(value)}" for name, value in self.source.items())]
        return [self.function, *self._state_of_file()]

    def _state_of_file(self) -> list[str]:
        path = as_path(self.source)
        try:
            status = path.stat()
        except (OSError, ValueError) as e:
            raise RelexError(f"cannot read '{path}': {(isinstance(e, OSError) and e.strerror) or e}") from e
        state = status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns
        return [os.path.realpath(path), *map(str, state)]

    @contextmanager
    def unchanged(self) -> Generator[None]:
        """Raise `RelexError` if a file has changed in the `with` block, in which its contents are read."""
        before = self.identity
        yield
        if not isinstance(self.source, Mapping) and [self.function, *self._state_of_file()] != before:
            raise RelexError(f"{self.source}: expected a file that stays as it is, found it changed meanwhile")


AnyWeights = Weights | Mapping[str, Any] | str | PathLike[str]
"""Weights, or what they are made of."""


def _digest(value: Any) -> str:
    array = np.require(as_array(value), requirements="C")
    return f"{array.dtype} {array.shape} {sha256(array.view(np.uint8).data if array.size else b'').hexdigest()}"


def compiled_with(
    weights: Weights,
    option: CacheOption,
    key: Callable[[], str | None],
    compile_bound: Callable[[], CompiledProgram],
) -> CompiledProgram:
    """Return a program that is compiled with weights. One that takes longer than a second is kept in the folder of the
    cache, unless that is off, and found again by its key and by what identifies the weights: then its constants are
    mapped from there, whatever process has packed them."""
    cache = _folder(option)
    base = None if cache is None else key()
    if cache is None or base is None:
        with weights.unchanged():
            return compile_bound()
    name = sha256("\n".join((base, *weights.identity)).encode()).hexdigest()
    found = cache.get(name)
    if found is not None and not any(use.problem for use in found.libraries):
        return found
    started = perf_counter()
    with weights.unchanged():
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
