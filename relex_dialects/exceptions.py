"""Errors that do not refer to an op. The runtime needs only these, and no xDSL.

`errors` re-exports them next to all others.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import UnionType


class RelexError(Exception):
    """Base class of every error that relex raises on purpose."""


class ArityError(RelexError, TypeError):
    """A wrong number of arguments, or an unknown argument name."""


class DTypeError(RelexError, TypeError):
    """An argument of the wrong kind or element type."""


def wrong_kind(expected: str, found: object, where: str = "") -> DTypeError:
    """Return the error for an object of the wrong type: `pass 'cse' expected a module, found None`."""
    return DTypeError(f"{where} expected {expected}, found {kind_of(found)}".lstrip())


def expect_kind(value: object, kind: type | UnionType, expected: str, where: str = "") -> None:
    """Raise `DTypeError` unless `value` is an instance of `kind`, which messages call `expected`."""
    if not isinstance(value, kind):
        raise wrong_kind(expected, value, where)


def kind_of(value: object) -> str:
    """Describe an object of an unexpected type for messages."""
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
    """A number out of range for its type."""


class DuplicateError(RelexError, ValueError):
    """A second definition of something that must be defined once."""


class OverlapError(RelexError, ValueError):
    """Arrays that share memory although each must have its own."""


class OutOfMemoryError(RelexError, MemoryError):
    """A call that needs more memory than is available."""


class AssertionFailedError(RelexError, AssertionError, RuntimeError):
    """An assertion of a program that does not hold in a call."""


class IndexRangeError(RelexError, IndexError, RuntimeError):
    """An index among the elements of an argument, or computed from them, that is out of range."""


class MissingPackageError(RelexError, ImportError):
    """A package that is not installed, and that what was asked for needs."""


class UnknownNameError(RelexError, KeyError, ValueError):
    """A function, parameter or target that does not exist."""

    def __str__(self) -> str:
        # KeyError would show the repr of the message.
        return str(self.args[0])


@dataclass(frozen=True)
class AssertionRecord:
    """An assertion of a program: a call in which it does not hold ends with an error."""

    message: str
    names_index: bool = False
    """True if the error is about an index that is out of range, or a size, and names it."""
    is_of_sizes: bool = False
    """True if the error is about sizes that do not fit."""

    def error(self, index: int) -> RelexError:
        """Return the error of a call. `index` is used if the error names one."""
        if self.is_of_sizes:
            return ShapeError(f"{self.message}, found {index}")
        if self.names_index:
            return IndexRangeError(f"{self.message}, found {index}")
        return AssertionFailedError(self.message)
