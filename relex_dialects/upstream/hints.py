"""`isa` of xDSL, which asks whether something is of a type that may have parameters.

Modules that only read programs take it from xDSL: they ask seldom, and tools start sooner without this one.
"""

from __future__ import annotations

from functools import cache
from inspect import isclass
from types import GenericAlias
from typing import TYPE_CHECKING, Any, TypeGuard, TypeVar, get_origin

from xdsl.ir import Attribute
from xdsl.irdl import AttrConstraint, GenericData, ParametrizedAttribute, VerificationContext, irdl_to_attr_constraint
from xdsl.utils.exceptions import VerifyException
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
    constraint = _constraint(kind)
    if constraint is None:
        return xdsl_isa(arg, hint)
    try:
        constraint.verify(arg, VerificationContext())
    except VerifyException:
        return False
    return True


@cache
def _constraint(hint: Any) -> AttrConstraint[Attribute] | None:
    """Return what checks attributes with parameters, which xDSL makes again for each question; None for others."""
    kind = get_origin(hint)
    is_attribute = isclass(kind) and issubclass(kind, GenericData | ParametrizedAttribute)
    return irdl_to_attr_constraint(hint) if is_attribute else None
