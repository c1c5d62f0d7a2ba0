"""Saved executables."""

from __future__ import annotations

from os import PathLike

from relex.dialects.exceptions import RelexError
from relex.runtime.container import MappedFile, as_path, read_file
from relex.runtime.executable import Executable
from relex.runtime.program import CompiledProgram


def load(path: str | PathLike[str], *, mapped: bool = True) -> Executable:
    """The executable that `Executable.save` wrote. It is native code: load only what you would run.

    The file is mapped, and stays so as long as the executable lives: to change it, save another one in its place. One
    that is overwritten in place is refused by the next call with new shapes; a call that comes earlier may compute
    with other constants, or end the process. Without `mapped`, constants are read into memory of this process, and
    nothing that happens to the file matters.

    Raises `RelexError` for a file that is damaged, of another version, or for another machine, and `UnknownNameError`
    that names the library functions that it calls and nobody has registered.
    """
    path = as_path(path)
    file = MappedFile(path) if mapped else None
    data = read_file(path) if file is None else file.data
    try:
        executable = Executable(CompiledProgram.unpack(data), check=file.expect_unchanged if file else None)
    except RelexError as e:
        raise type(e)(f"{path}: {e}") from e
    if file is not None:
        file.expect_unchanged()
    return executable
