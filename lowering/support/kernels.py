"""Kernels: private functions that are compiled on their own, at the core level and at the machine level."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import ArrayAttr, DenseArrayBase, DictionaryAttr, IntegerType, StringAttr, i64
from xdsl.ir import Attribute, Operation
from xdsl.utils.hints import isa

from relex.dialects.symbols import is_private

KEY_ATTR = "relex.kernel"
"""On a kernel and on its module: the key under which its code is to be kept."""

COMPILED_ATTR = "relex.compiled"
"""On a kernel whose code is there already, a `CompiledAs`: its body does not count."""

ARGUMENTS_ATTR = "relex.arguments"
"""On the module of a kernel: the positions of the arguments that it takes, among those of the function that it was."""

_NOINLINE = StringAttr("noinline")


def is_kernel(function: Operation) -> bool:
    """Return whether a function is private, has a body, and is not to be inlined."""
    passthrough = function.attributes.get("passthrough")
    return (
        isa(passthrough, ArrayAttr[Attribute])
        and _NOINLINE in passthrough.data
        and is_internal(function)
        and bool(function.regions[0].blocks)
    )


def is_internal(op: Operation) -> bool:
    """Return whether a function or global cannot be named from outside its module, at any level."""
    linkage = getattr(op.properties.get("linkage"), "linkage", None)
    return is_private(op) or linkage in (StringAttr("internal"), StringAttr("private"))


@dataclass(frozen=True)
class CompiledAs:
    """The symbol of a kernel's code, and the positions of the arguments that it takes."""

    symbol: str
    arguments: tuple[int, ...]

    def mark(self, function: Operation) -> None:
        """State that the code of a function is there."""
        places = DenseArrayBase.from_list(i64, self.arguments)
        function.attributes[COMPILED_ATTR] = DictionaryAttr({"symbol": StringAttr(self.symbol), "arguments": places})

    @classmethod
    def of(cls, function: Operation) -> CompiledAs | None:
        """Return what a function states; None if its code is not there."""
        stated = function.attributes.get(COMPILED_ATTR)
        if not isinstance(stated, DictionaryAttr):
            return None
        symbol, places = stated.data.get("symbol"), stated.data.get("arguments")
        if not isinstance(symbol, StringAttr) or not isa(places, DenseArrayBase[IntegerType]):
            return None
        return cls(symbol.data, places.get_values())
