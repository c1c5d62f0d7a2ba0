"""Machine code into this process: that of programs, and what relex itself has in LLVM IR."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from itertools import count

import llvmlite.binding as llvm
import numpy as np
import numpy.typing as npt

from relex.dialects.code_generator import optimize, parsed_ir
from relex.dialects.exceptions import RelexError, UnknownNameError

Buffer = npt.NDArray[np.uint8]

_library_numbers = count()

_LIBRARIES = 32
"""How many libraries a JIT takes. It keeps 9 kB of each that is unloaded; to make a JIT takes as long as four loads."""


class LoadedCode:
    """Object code in memory, made by `load`. It is unloaded when the last reference to this object goes."""

    def __init__(self, library: llvm.ResourceTracker, functions: Iterable[str], constants: Iterable[Buffer]):
        self._library = library
        self._functions = frozenset(functions)
        self.constants = tuple(constants)
        """What the code reads from."""

    def address(self, function: str) -> int:
        """The address of a function; raises `UnknownNameError` when the code does not define it."""
        if function not in self._functions:
            known = ", ".join(sorted(self._functions)) or "none"
            raise UnknownNameError(f"unknown function '{function}'; the code defines: {known}")
        return self._library[function]


def link(
    code: bytes, symbols: Mapping[str, int], exports: Iterable[str], constants: Iterable[Buffer] = ()
) -> LoadedCode:
    """Object code in this process, with the addresses of what it uses. Raises `RelexError` where there is no place."""
    library = llvm.JITLibraryBuilder().add_object_img(code).add_current_process()
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
    """LLVM IR, compiled for this process. Functions that say so are inlined; nothing else is optimized before code is
    made of it."""
    _initialize()
    target = llvm.Target.from_triple(llvm.get_process_triple())
    machine = target.create_target_machine(opt=2, reloc="pic", codemodel="default")
    with parsed_ir(text) as module:
        module.triple = machine.triple
        module.data_layout = str(machine.target_data)
        optimize(module, machine, 0)
        code = machine.emit_object(module)
    return link(code, symbols or {}, exports)


def _initialize() -> None:
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()


@lru_cache(maxsize=1)
def _jit(number: int) -> llvm.LLJIT:
    """The JIT that is filled at present. An earlier one ends with the last code that it has loaded."""
    _initialize()
    # JITLink keeps code and its data close together wherever it puts them, and reaches the rest through tables.
    return llvm.create_lljit_compiler(use_jit_link=True, suppress_errors=True)
