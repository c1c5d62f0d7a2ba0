"""The errors that concern no op of a program. What runs compiled code needs no others, and no xDSL.

`errors` has these and all others.
"""

from __future__ import annotations


class RelexError(Exception):
    """Base class of every error that relex raises on purpose."""


class ArityError(RelexError, TypeError):
    """A wrong number of arguments, or an argument name that does not exist."""


class DTypeError(RelexError, TypeError):
    """An argument of the wrong kind or element type."""


class ShapeError(RelexError, ValueError):
    """An argument of the wrong rank or shape."""


class RangeError(RelexError, ValueError, OverflowError):
    """A number that a type does not have."""


class OverlapError(RelexError, ValueError):
    """Arrays that share memory, where each needs memory of its own."""


class OutOfMemoryError(RelexError, MemoryError):
    """A call that needs more memory than there is."""


class UnknownNameError(RelexError, KeyError, ValueError):
    """A function, parameter or target that does not exist."""

    def __str__(self) -> str:
        # KeyError would print the repr of the message.
        return str(self.args[0])
