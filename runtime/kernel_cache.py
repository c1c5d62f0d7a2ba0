"""Cache of compiled kernels: a kernel that was compiled before, for any program, is only linked."""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from threading import Lock
from typing import cast

from xdsl.dialects.builtin import DenseArrayBase, IntegerType, ModuleOp, StringAttr
from xdsl.utils.hints import isa

from relex.dialects.exceptions import RelexError
from relex.dialects.features import module_target
from relex.dialects.json_codec import Buffer, Plain, from_plain, to_plain
from relex.dialects.machine import ObjectCode
from relex.lowering.llvm.parts import compile_each
from relex.lowering.support.kernels import ARGUMENTS_ATTR, KEY_ATTR, CompiledAs, mark_kernels
from relex.runtime.compile_cache import FOLDER_VARIABLE, OFF, CacheOption, CompileCache, default_folder
from relex.runtime.container import pack, unpack

MEMORY_LIMIT = 2**26
"""The code, in bytes, that is kept in memory."""

KERNEL = ".kernel"
"""The suffix of files with kernels."""


@dataclass(frozen=True)
class Kernel:
    """The object code of a kernel: its symbol, the functions that it calls, and which arguments it takes of those that
    the function had at the core level, where a buffer is several."""

    symbol: str
    arguments: tuple[int, ...]
    imports: tuple[str, ...]
    code: bytes

    def pack(self) -> list[Buffer]:
        """Return the contents of a file that holds the kernel, in pieces."""
        return pack(lambda store: to_plain(self, store))

    @classmethod
    def unpack(cls, data: memoryview) -> Kernel:
        """Read a kernel from the contents of a file. Raises `RelexError` for anything but what `pack` makes."""

        def read(index: Plain, fetch: Callable[[Plain], memoryview]) -> Kernel:
            return cast(Kernel, from_plain(cls, index, fetch))

        return unpack(data, read)


class _Memory:
    """The kernels that were used last in this process."""

    def __init__(self, limit: int):
        self.limit = limit
        self._lock = Lock()
        self._kernels = OrderedDict[str, Kernel]()
        self._size = 0

    def get(self, key: str) -> Kernel | None:
        with self._lock:
            if (kernel := self._kernels.get(key)) is not None:
                self._kernels.move_to_end(key)
            return kernel

    def put(self, key: str, kernel: Kernel) -> None:
        with self._lock:
            if key not in self._kernels:
                self._kernels[key] = kernel
                self._size += len(kernel.code)
            while self._size > self.limit:
                self._size -= len(self._kernels.popitem(last=False)[1].code)

    def clear(self) -> None:
        with self._lock:
            self._kernels.clear()
            self._size = 0


MEMORY = _Memory(MEMORY_LIMIT)


class KernelCache:
    """Kernels made by one compiler for one target, in memory and, if there is one, in a folder."""

    def __init__(self, compiler: str, folder: CompileCache | None):
        self._compiler = compiler
        self._folder = folder

    def key(self, *facts: str) -> str:
        """Return the key of a kernel that is fully described by some facts."""
        return sha256("\n".join((self._compiler, *facts)).encode()).hexdigest()

    def get(self, key: str) -> Kernel | None:
        """Return the kernel of a key, if there is an intact one."""
        kernel = MEMORY.get(key)
        if kernel is None and self._folder is not None:
            kernel = self._folder.read(key, KERNEL, Kernel.unpack)
            if kernel is not None:
                MEMORY.put(key, kernel)
        return kernel

    def put(self, kernels: Mapping[str, Kernel]) -> None:
        """Store kernels; where that fails, they are compiled again the next time."""
        for key, kernel in kernels.items():
            MEMORY.put(key, kernel)
        if self._folder is not None and kernels:
            with suppress(RelexError, OSError):
                self._folder.write({key: kernel.pack() for key, kernel in kernels.items()}, KERNEL)


class Kernels:
    """The kernels of one compilation."""

    def __init__(self, cache: KernelCache):
        self._cache = cache
        self._found: dict[str, ObjectCode] = {}
        """The code that the cache had, by symbol."""

    def mark(self, module: ModuleOp) -> None:
        """Look for the kernels of a module at the core level, and leave out those that are found."""
        target = module_target(module)

        def find(described: str) -> tuple[str, CompiledAs | None]:
            key = self._cache.key(described, str(target))
            kernel = self._cache.get(key)
            if kernel is None:
                return key, None
            self._found[kernel.symbol] = ObjectCode((kernel.code,), (kernel.symbol,), kernel.imports, {}, target)
            return key, CompiledAs(kernel.symbol, kernel.arguments)

        mark_kernels(module, find)

    def compile(self, modules: Sequence[ModuleOp]) -> Iterable[ObjectCode]:
        """Compile the kernels that were not found and keep their code. Returns all code that the program needs."""
        codes = [*compile_each(modules)]
        new = (_kernel(module, code) for module, code in zip(modules, codes, strict=True))
        self._cache.put(dict(filter(None, new)))
        compiled = {name for code in codes for name in code.functions}
        return [*codes, *(code for symbol, code in self._found.items() if symbol not in compiled)]


def _kernel(module: ModuleOp, code: ObjectCode) -> tuple[str, Kernel] | None:
    """Return the code of a kernel's module and its key; None if it has none."""
    key, places = module.attributes.get(KEY_ATTR), module.attributes.get(ARGUMENTS_ATTR)
    if not isinstance(key, StringAttr) or not isa(places, DenseArrayBase[IntegerType]):
        return None
    return key.data, Kernel(code.functions[0], places.get_values(), code.imports, code.code)


def find_folder(option: CacheOption, programs: CompileCache | None) -> CompileCache | None:
    """Return the folder to keep kernels in: that of the cache of programs, if there is one, else the default one. None
    if it cannot be used."""
    if programs is not None or is_off(option):
        return programs
    with suppress(RelexError, RuntimeError):
        return CompileCache(default_folder())
    return None


def is_off(option: CacheOption) -> bool:
    """Return whether nothing is to be kept, in memory either."""
    return option is False or (option in (None, True) and os.environ.get(FOLDER_VARIABLE) == OFF)
