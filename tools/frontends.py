"""relex's readers of program files as frontends of xDSL's tools, for `xdsl-opt -f onnx model.onnx`."""

from __future__ import annotations

from dataclasses import dataclass
from types import new_class
from typing import IO, TYPE_CHECKING, ClassVar

from relex.dialects.errors import RelexError
from relex.dialects.readers import BINARY_READERS, read_bytes, read_text
from relex.dialects.upstream.versions import frontend_class

if TYPE_CHECKING:
    from xdsl.context import Context
    from xdsl.dialects.builtin import ModuleOp


def frontend(suffix: str) -> type:
    """Return the frontend for the suffix of program files, which is its name."""
    base = frontend_class()
    return new_class(
        f"{suffix.capitalize()}Frontend", (_Reading, base), exec_body=lambda body: body.update(name=suffix)
    )


@dataclass(frozen=True)
class _Reading:
    """What frontends do: read a file of the kind `name`. `module` is the name of one of several modules in it."""

    name: ClassVar[str]

    module: str | None = None

    def parse(self, ctx: Context, input: IO[bytes], input_name: str = "input") -> ModuleOp:
        """Return the module in a file. Raises `RelexError`."""
        data = input.read()
        if self.name not in BINARY_READERS:
            text = _decoded(data, input_name)
            return read_text(self.name, text, input_name, module=self.module, context=ctx, verify=False)
        if self.module is not None:
            raise RelexError(
                f"expected '{input_name}' without module={self.module}: *.{self.name} files hold one module"
            )
        return read_bytes(self.name, data, input_name)


def _decoded(data: bytes, name: str) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError as e:
        raise RelexError(f"cannot read '{name}': expected UTF-8 text, found byte 0x{data[e.start]:02x}") from e
