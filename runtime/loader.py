"""Object code into this process."""

from __future__ import annotations

from functools import lru_cache
from itertools import count

import llvmlite.binding as llvm
import numpy as np
import numpy.typing as npt

from relex.dialects.errors import RelexError, UnknownNameError
from relex.dialects.target import Target
from relex.lowering.llvm.features import missing_features
from relex.lowering.llvm.object_code import ObjectCode
from relex.lowering.llvm.translate import CONSTANT_ALIGNMENT

_library_numbers = count()


class LoadedCode:
    """Object code in memory, ready to be called. It is unloaded when the last reference to this object goes.

    Raises `RelexError` when this machine cannot run the code, or when it needs a symbol that does not exist.
    """

    def __init__(self, code: ObjectCode):
        check_runs_here(code.target)
        self._constants = {name: _aligned_copy(data) for name, data in code.constants.items()}
        library = llvm.JITLibraryBuilder().add_object_img(code.code).add_current_process()
        for name, buffer in self._constants.items():
            library.import_symbol(name, buffer.ctypes.data)
        for name in code.functions:
            library.export_symbol(name)
        try:
            self._library = library.link(_jit(), f"relex.{next(_library_numbers)}")
        except RuntimeError as e:
            raise RelexError(f"cannot load object code: {str(e).strip()}") from e
        self._functions = frozenset(code.functions)

    def address(self, function: str) -> int:
        """The address of a function; raises `UnknownNameError` when the code does not define it."""
        if function not in self._functions:
            known = ", ".join(sorted(self._functions)) or "none"
            raise UnknownNameError(f"unknown function '{function}'; the code defines: {known}")
        return self._library[function]


@lru_cache(maxsize=64)
def check_runs_here(target: Target) -> None:
    """Raise `RelexError` unless this machine has every CPU feature that code for `target` may use."""
    host = _host()
    if target == host:
        return
    if _platform(target) != _platform(host):
        raise RelexError(f"code for '{target.triple}' cannot run on '{host.triple}'")
    if missing := missing_features(target, host):
        raise RelexError(f"code for cpu '{target.cpu}' needs what this machine lacks: {', '.join(sorted(missing))}")


def _platform(target: Target) -> tuple[str, str, str]:
    parts = llvm.get_triple_parts(target.triple)
    return parts.Arch, parts.OS, parts.ObjectFormat


@lru_cache(maxsize=1)
def _host() -> Target:
    return Target.host()


@lru_cache(maxsize=1)
def _jit() -> llvm.LLJIT:
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    # JITLink keeps code and its data close together wherever it puts them, and reaches the rest through tables.
    return llvm.create_lljit_compiler(use_jit_link=True, suppress_errors=True)


def _aligned_copy(data: bytes) -> npt.NDArray[np.uint8]:
    space = np.empty(len(data) + CONSTANT_ALIGNMENT, np.uint8)
    start = -space.ctypes.data % CONSTANT_ALIGNMENT
    buffer = space[start : start + len(data)]
    buffer[:] = np.frombuffer(data, np.uint8)
    return buffer
