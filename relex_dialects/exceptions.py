"""The errors that concern no op of a program. What runs compiled code needs no others, and no xDSL.

`errors` has these and all others.
"""

from __future__ import annotations

from types import UnionType


class RelexError(Exception):
    """Base class of every error that relex raises on purpose."""


class ArityError(RelexError, TypeError):
    """A wrong number of arguments, or an argument name that does not exist."""


class DTypeError(RelexError, TypeError):
    """An argument of the wrong kind or element type."""


def wrong_kind(expected: str, found: object, where: str = "") -> DTypeError:
    """The error for an object of a type that is not taken: `pass 'cse' expected a module, found None`."""
    return DTypeError(f"{where} expected {expected}, found {kind_of(found)}".lstrip())


def expect_kind(value: object, kind: type | UnionType, expected: str, where: str = "") -> None:
    """Raise `DTypeError` for an object of another type than `kind`, which messages call `expected`."""
    if not isinstance(value, kind):
        raise wrong_kind(expected, value, where)


def kind_of(value: object) -> str:
    """What a message calls an object of a type that was not expected."""
    if value is None:
        return "None"
    if isinstance(value, type):
        return f"the class {_full_name(value)}"
    return _full_name(type(value))


def _full_name(cls: type) -> str:
    known_by_name = cls.__module__ in ("builtins", "__main__")
    return cls.__qualname__ if known_by_name else f"{cls.__module__}.{cls.__qualname__}"


class ShapeError(RelexError, ValueError):
    """An argument of the wrong rank or shape."""


class RangeError(RelexError, ValueError, OverflowError):
    """A number that a type does not have."""


class DuplicateError(RelexError, ValueError):
    """A second entry of a table for what has one."""


class OverlapError(RelexError, ValueError):
    """Arrays that share memory, where each needs memory of its own."""


class OutOfMemoryError(RelexError, MemoryError):
    """A call that needs more memory than there is."""


class UnknownNameError(RelexError, KeyError, ValueError):
    """A function, parameter or target that does not exist."""

    def __str__(self) -> str:
        # KeyError would print the repr of the message.
        return str(self.args[0])
