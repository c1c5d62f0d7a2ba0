"""Which function reads a program, by the suffix of its file.

The readers of upper floors stand here by name, and are imported when a file asks for them.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Protocol

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from relex.dialects.parser import parse_module

if TYPE_CHECKING:
    from relex.dialects.dtypes import Array

READERS = {
    "mlir": "relex.dialects.readers:read_mlir",
    "py": "relex.frontend.script:parse_script",
}
"""From suffixes to functions, `module:name`; other packages add theirs."""


METADATA = "metadata_"
"""In front of the numbers of constants that a text leaves out: what `params` has them by."""


def is_metadata(name: str) -> bool:
    """Whether an array is a constant that a text leaves out, rather than the value of a parameter."""
    return name.removeprefix(METADATA).isdecimal() and name.startswith(METADATA)


class Reader(Protocol):
    """Reads text into a verified module; raises `CompileError`.

    `params` has arrays for constants that the text leaves out, as `metadata_0`; `line_offset` is added to every line
    number.
    """

    def __call__(
        self,
        text: str,
        name: str = "<string>",
        *,
        context: Context | None = None,
        params: Mapping[str, Array] | None = None,
        verify: bool = True,
        line_offset: int = 0,
    ) -> ModuleOp: ...


def find_reader(suffix: str) -> Reader:
    """The reader of files with a suffix. Raises `KeyError` for those that nothing reads."""
    module, _, name = READERS[suffix].partition(":")
    return getattr(import_module(module), name)


def read_mlir(
    text: str,
    name: str = "<string>",
    *,
    context: Context | None = None,
    params: Mapping[str, Array] | None = None,
    verify: bool = True,
    line_offset: int = 0,
) -> ModuleOp:
    """MLIR text, which holds all its constants."""
    return parse_module(text, name, context=context, verify=verify, line_offset=line_offset)
