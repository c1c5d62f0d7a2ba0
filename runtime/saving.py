"""Loading of saved executables."""

from __future__ import annotations

from os import PathLike

from relex.dialects.exceptions import RelexError
from relex.runtime.container import MappedFile, as_path, read_file
from relex.runtime.executable import Executable
from relex.runtime.program import CompiledProgram


def load(path: str | PathLike[str], *, mapped: bool = True) -> Executable:
    """Load an executable that `Executable.save` wrote. It contains native code: load only what you would run.

    The file stays mapped as long as the executable lives: to update it, save another one in its place. If it is
    overwritten in place, the next call with new shapes raises an error; calls before that may compute with wrong
    constants or crash the process. With `mapped=False`, constants are read into private memory, and later changes to
    the file do not matter.

    Raises `RelexError` for a file that is damaged, of another version, or for another machine, and `UnknownNameError`
    naming the library functions that it calls and that are not registered.
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
