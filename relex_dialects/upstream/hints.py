"""`isa` of xDSL, which asks whether something is of a type that may have parameters.

Modules that only read programs take it from xDSL: they ask seldom, and tools start sooner without this one.
"""

from __future__ import annotations

from inspect import isclass
from types import GenericAlias
from typing import TYPE_CHECKING, Any, TypeGuard, TypeVar

from xdsl.utils.hints import isa as xdsl_isa

if TYPE_CHECKING:
    from typing_extensions import TypeForm

T = TypeVar("T")


def isa(arg: Any, hint: TypeForm[T]) -> TypeGuard[T]:
    """Return whether `arg` is of the type `hint`. Most are classes without parameters: xDSL's function takes a dozen
    calls to find that out."""
    kind: Any = hint
    if isclass(kind) and not isinstance(kind, GenericAlias):
        return type(arg) is kind or isinstance(arg, kind)
    return xdsl_isa(arg, hint)
