"""A compiled program: all that an executable is made of, as plain values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from relex.dialects.machine import ObjectCode
from relex.runtime.callbacks import LibraryUse
from relex.runtime.signature import Signature


@dataclass(frozen=True)
class CompiledProgram:
    """Object code, how its functions are called, and the library functions that it calls.

    `reasons` say of other functions of the program why they cannot be called.
    """

    code: ObjectCode
    signatures: Mapping[str, Signature]
    libraries: tuple[LibraryUse, ...]
    reasons: Mapping[str, str]
