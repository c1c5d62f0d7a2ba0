"""Saved executables."""

from __future__ import annotations

from os import PathLike

from relex.dialects.exceptions import RelexError
from relex.runtime.container import as_path, map_file
from relex.runtime.executable import Executable
from relex.runtime.program import CompiledProgram


def load(path: str | PathLike[str]) -> Executable:
    """The executable that `Executable.save` wrote. It is native code: load only what you would run.

    The file is mapped, and stays so as long as the executable lives: to change it, save another one in its place.

    Raises `RelexError` for a file that is damaged, of another version, or for another machine, and `UnknownNameError`
    that names the library functions that it calls and nobody has registered.
    """
    path = as_path(path)
    data = map_file(path)
    try:
        return Executable(CompiledProgram.unpack(data))
    except RelexError as e:
        raise type(e)(f"{path}: {e}") from e
