"""Compiled programs: all that an executable is made of, as plain values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from relex.dialects.json_codec import Buffer
from relex.dialects.signature import Signature
from relex.dialects.sizes import names_in
from relex.dialects.target.machine import NEW_RESULT, ObjectCode
from relex.runtime.callbacks import LibraryUse
from relex.runtime.container import pack, unpack


@dataclass(frozen=True)
class CompiledProgram:
    """Object code, the signatures of its functions, and the library functions that it calls.

    `reasons` say why other functions of the program cannot be called.
    """

    code: ObjectCode
    signatures: Mapping[str, Signature]
    libraries: tuple[LibraryUse, ...]
    reasons: Mapping[str, str]

    def pack(self) -> list[Buffer]:
        """Return the contents of a file that holds the program, in pieces."""
        return pack(self)

    @classmethod
    def unpack(cls, data: memoryview) -> CompiledProgram:
        """Read a program from the contents of a file, without copying its constants.

        Raises `RelexError` for anything but what `pack` makes.
        """
        return unpack(cls, data, _problems)


def _problems(program: CompiledProgram) -> Iterator[str]:
    """Yield inconsistencies that no compiled program has and that would break its calls."""
    for name, signature in program.signatures.items():
        if name != signature.name or signature.symbol not in program.code.functions:
            yield f"expected code for '{name}'"
        yield from signature.problems()
        if NEW_RESULT not in program.code.imports:
            sizes = [size for i in signature.late for size in signature.outputs[i].shape]
            unknown = (size for size in sizes if not signature.names.keys() >= set(names_in(size)))
            yield from (f"expected sizes of arguments of '{name}', found {size}" for size in unknown)
    for use in program.libraries:
        if use.symbol not in program.code.imports:
            yield f"expected code that calls '{use.symbol}'"
        if any(rank < 0 for rank, _ in (*use.inputs, *use.outputs)):
            yield f"expected buffers for '{use.name}'"
