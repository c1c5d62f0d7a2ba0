"""Cache of kernels: one that was scheduled and compiled before, for any program, is only linked."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from hashlib import sha256
from threading import Lock
from typing import TypeVar

from xdsl.dialects.builtin import ModuleOp, StringAttr

from relex.dialects.dtypes import dense_integers
from relex.dialects.exceptions import RelexError
from relex.dialects.sizes.modules import keeping_sizes
from relex.dialects.target.features import module_target
from relex.dialects.target.machine import ObjectCode
from relex.dialects.tir import PrimFuncOp
from relex.lowering.kernels.alone import KernelGroup
from relex.lowering.kernels.loop_kernels import LoopFunction, LoopKernels, root_of
from relex.lowering.kernels.marks import ARGUMENTS_ATTR, KEY_ATTR, CompiledAs, mark_kernels, recipe_of
from relex.lowering.llvm.parts import compile_each
from relex.lowering.support.claims import Claims
from relex.passes.rewriting.memoize import remembering
from relex.runtime.compile_cache import CompileCache
from relex.runtime.container import pack, unpack

MEMORY_LIMIT = 2**26
"""The total size, in bytes, of the entries that are kept in memory."""

ENTRY_SIZE = 512
"""The bytes of an entry without its code or text: its key, its place in a dictionary, and Python's objects."""


@dataclass(frozen=True)
class Kernel:
    """The object code of a kernel: its symbol, the functions that it calls, and which arguments it takes of those that
    the function had at the machine level."""

    symbol: str
    arguments: tuple[int, ...]
    imports: tuple[str, ...]
    code: bytes

    def __len__(self) -> int:
        return len(self.code)


@dataclass(frozen=True)
class Text:
    """The text of a function that a pass has rewritten."""

    code: bytes

    def __len__(self) -> int:
        return len(self.code)


Entry = Kernel | Text | LoopFunction
CLAIMS = Claims()
"""What builds of this process compile, by the keys of entries."""

EntryT = TypeVar("EntryT", Kernel, Text, LoopFunction)
SUFFIXES: dict[type, str] = {Kernel: ".kernel", Text: ".function", LoopFunction: ".loops"}
"""The suffixes of files with each kind of entry."""


def _size_of(entry: Entry) -> int:
    return ENTRY_SIZE + len(entry)


class _Memory:
    """The most recently used entries in this process."""

    def __init__(self, limit: int):
        self.limit = limit
        self._lock = Lock()
        self._entries = OrderedDict[str, Entry]()
        self._size = 0

    def get(self, key: str) -> Entry | None:
        with self._lock:
            if (entry := self._entries.get(key)) is not None:
                self._entries.move_to_end(key)
            return entry

    def put(self, key: str, entry: Entry) -> None:
        with self._lock:
            if (old := self._entries.pop(key, None)) is not None:
                self._size -= _size_of(old)
            self._entries[key] = entry
            self._size += _size_of(entry)
            while self._size > self.limit:
                self._size -= _size_of(self._entries.popitem(last=False)[1])

    def clear(self) -> None:
        with self._lock:
            self._entries.clear()
            self._size = 0


MEMORY = _Memory(MEMORY_LIMIT)


class KernelCache:
    """Cache of what one compiler has made, in memory and, if there is one, in a folder."""

    def __init__(self, compiler: str, folder: CompileCache | None):
        self.compiler = compiler
        self._folder = folder

    def key(self, *facts: str) -> str:
        """Return the key of what is made from some facts."""
        return sha256("\n".join((self.compiler, *facts)).encode()).hexdigest()

    def get(self, kind: type[EntryT], key: str) -> EntryT | None:
        """Return the entry of a key, if there is an intact one."""
        entry = MEMORY.get(key)
        if entry is None and self._folder is not None:
            entry = self._folder.read(key, SUFFIXES[kind], partial(unpack, kind))
            if entry is not None:
                MEMORY.put(key, entry)
        return entry if isinstance(entry, kind) else None

    def put(self, entries: Mapping[str, Entry]) -> None:
        """Store entries; where that fails, they are made again the next time."""
        for key, entry in entries.items():
            MEMORY.put(key, entry)
        if self._folder is not None and entries:
            files = {f"{key}{SUFFIXES[type(entry)]}": pack(entry) for key, entry in entries.items()}
            with suppress(RelexError, OSError):
                self._folder.write(files)


class Kernels:
    """The kernels of one compilation."""

    def __init__(self, cache: KernelCache):
        self.cache = cache
        self._found: dict[str, Kernel] = {}
        """The kernels that the cache had, by symbol."""
        self._new: dict[str, Entry] = {}
        self._loops: LoopKernels | None = None
        self._forgotten: set[str] = set()

    def recall(self, *facts: str) -> str | None:
        """Return the text of a function that was rewritten before."""
        found = self.cache.get(Text, self.cache.key(*facts))
        return None if found is None else found.code.decode()

    def remember(self, text: str, *facts: str) -> None:
        """Keep the text of a function, when the program is compiled."""
        self._new[self.cache.key(*facts)] = Text(text.encode())

    def is_of_use(self, function: PrimFuncOp) -> bool:
        """Return whether a function may be rewritten again in a later compilation. If it has a recipe, its code is
        found before."""
        return recipe_of(function) is None

    @contextmanager
    def lowering(
        self, *facts: str, compile_ahead: Callable[[ModuleOp, Sequence[KernelGroup]], None] | None = None
    ) -> Generator[LoopKernels]:
        """Find kernels for a program that is lowered in the `with` block."""
        self._found.clear()
        self._loops = LoopKernels(facts, self._recall_loops, self._resolve, compile_ahead)
        with remembering(self), keeping_sizes():
            yield self._loops

    def forget(self, recipes: Iterable[str]) -> None:
        """Treat loop functions as unknown from now on, with their variants."""
        self._forgotten.update(map(root_of, recipes))

    def _recall_loops(self, recipe: str) -> LoopFunction | None:
        """Return the facts known about a loop function, if its code is cached."""
        if root_of(recipe) in self._forgotten:
            return None
        found = self.cache.get(LoopFunction, key_of_loops(self.cache, recipe))
        if found is None or (found.kernel and self.cache.get(Kernel, found.kernel) is None):
            return None
        return found

    def _resolve(self, recipe: str) -> CompiledAs | None:
        known = self._recall_loops(recipe)
        kernel = self.cache.get(Kernel, known.kernel) if known is not None and known.kernel else None
        if known is None or kernel is None:
            return None
        return replace(self._link(kernel), temporaries=known.temporaries)

    def _link(self, kernel: Kernel) -> CompiledAs:
        """Have the code of a kernel linked to the program."""
        self._found[kernel.symbol] = kernel
        return CompiledAs(kernel.symbol, kernel.arguments)

    def mark(self, module: ModuleOp) -> None:
        """Look for the kernels of a module at the core level, and leave out those that are found."""
        self._target = module_target(module)

        def find(described: str) -> tuple[str, CompiledAs | None]:
            key = self.cache.key(described, str(self._target))
            kernel = self.cache.get(Kernel, key)
            return key, None if kernel is None else self._link(kernel)

        if self._loops is None:
            mark_kernels(module, find)
            return
        recipes = self._loops.take_recipes(module)
        for recipe, known in self._loops.learn(mark_kernels(module, find), recipes).items():
            if known.kernel or self._recall_loops(recipe) is None:
                self._new[key_of_loops(self.cache, recipe)] = known

    def compile(self, modules: Sequence[ModuleOp]) -> Iterable[ObjectCode]:
        """Compile the kernels that were not found and keep their code; one that another build compiles is waited for.
        Returns all code that the program needs."""
        keys = {key for module in modules if (key := _key_of(module)) is not None}
        with CLAIMS.claimed(keys) as mine:
            codes = self._compile_each([module for module in modules if _key_of(module) not in keys - mine])
        CLAIMS.wait_for(keys)
        others = [module for module in modules if _key_of(module) in keys - mine]
        codes += self._compile_each([module for module in others if not self._finds(module)])
        compiled = {name for code in codes for name in code.functions}
        found = [kernel for symbol, kernel in self._found.items() if symbol not in compiled]
        return [*codes, *(ObjectCode((k.code,), (k.symbol,), k.imports, {}, self._target) for k in found)]

    def _compile_each(self, modules: Sequence[ModuleOp]) -> list[ObjectCode]:
        """Compile modules and keep their code, with what else is known by now."""
        codes = compile_each(modules)
        new = (_kernel(module, code) for module, code in zip(modules, codes, strict=True))
        self.cache.put(self._new | dict(filter(None, new)))
        return codes

    def _finds(self, module: ModuleOp) -> bool:
        """Have the code of a kernel's module linked if another build has compiled it."""
        kernel = self.cache.get(Kernel, _key_of(module) or "")
        if kernel is not None:
            self._link(kernel)
        return kernel is not None


def key_of_loops(cache: KernelCache, recipe: str) -> str:
    """Return the key of what is known about a loop function."""
    return cache.key("loops", recipe)


def _key_of(module: ModuleOp) -> str | None:
    """Return the key of the code of a kernel's module; None if it has none."""
    key = module.attributes.get(KEY_ATTR)
    return key.data if isinstance(key, StringAttr) else None


def _kernel(module: ModuleOp, code: ObjectCode) -> tuple[str, Kernel] | None:
    """Return the code of a kernel's module and its key; None if it has none."""
    key, places = _key_of(module), dense_integers(module.attributes.get(ARGUMENTS_ATTR))
    if key is None or places is None:
        return None
    return key, Kernel(code.functions[0], places, code.imports, code.code)
