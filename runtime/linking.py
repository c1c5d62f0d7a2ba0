"""Linking of machine code into this process: code of programs, and relex's own LLVM IR."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from importlib.resources import files
from itertools import count
from string import Template
from typing import TYPE_CHECKING

from relex.dialects.exceptions import RelexError, UnknownNameError
from relex.dialects.target.llvm_binding import llvm
from relex.runtime.builtin_code import initialize, machine_code

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Buffer = npt.NDArray[np.uint8]

_library_numbers = count()

_LIBRARIES = 32
"""Libraries per JIT. It keeps 9 kB of each that is unloaded; making a JIT takes as long as four loads."""


class LoadedCode:
    """Object code in memory, made by `link`. It is unloaded with the last reference to this object."""

    def __init__(self, library: llvm.ResourceTracker, functions: Iterable[str], constants: Iterable[Buffer]):
        self._library = library
        self._functions = frozenset(functions)
        self.constants = tuple(constants)
        """The buffers that the code reads."""

    def address(self, function: str) -> int:
        """Return the address of a function. Raises `UnknownNameError` if the code does not define it."""
        if function not in self._functions:
            known = ", ".join(sorted(self._functions)) or "none"
            raise UnknownNameError(f"unknown function '{function}'; the code defines: {known}")
        return self._library[function]


def link(
    parts: Sequence[bytes], symbols: Mapping[str, int], exports: Iterable[str], constants: Iterable[Buffer] = ()
) -> LoadedCode:
    """Link object files into this process, with the addresses of the symbols that they use. Raises `RelexError` if that
    fails."""
    library = llvm.JITLibraryBuilder().add_current_process()
    for part in parts:
        library.add_object_img(part)
    for name, address in symbols.items():
        library.import_symbol(name, address)
    for name in exports:
        library.export_symbol(name)
    number = next(_library_numbers)
    try:
        loaded = library.link(_jit(number // _LIBRARIES), f"relex.{number}")
    except RuntimeError as e:
        raise RelexError(f"cannot load object code: {str(e).strip()}") from e
    return LoadedCode(loaded, exports, constants)


def link_ir(text: str, exports: Iterable[str], symbols: Mapping[str, int] | None = None) -> LoadedCode:
    """Compile LLVM IR of relex for this process, unless that was done before, and link it."""
    return link((machine_code(text),), symbols or {}, exports)


def read_ir(package: str, file: str, **values: int) -> str:
    """Return LLVM IR from a file of a package, with `${name}` replaced by values."""
    return Template(files(package).joinpath(file).read_text(encoding="utf-8")).substitute(values)


@lru_cache(maxsize=1)
def _jit(number: int) -> llvm.LLJIT:
    """The JIT that is being filled. An earlier one lives as long as the code that it has loaded."""
    initialize()
    # JITLink keeps code close to its data wherever it places them, and reaches everything else through tables.
    return llvm.create_lljit_compiler(use_jit_link=True, suppress_errors=True)
