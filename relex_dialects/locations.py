"""Source locations of ops that passes create."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from xdsl.dialects.builtin import (
    UNKNOWN_LOC,
    ArrayAttr,
    CallSiteLoc,
    FileLineColLoc,
    FusedLoc,
    LocationAttr,
    NameLoc,
    NoneAttr,
)
from xdsl.ir import Attribute, Operation


def fuse_locations(ops: Iterable[Operation]) -> LocationAttr:
    """Return the location of an op that stands for several: all their known locations, each once."""
    places = tuple(dict.fromkeys(place for op in ops for place in _parts(op.location)))
    match places:
        case ():
            return UNKNOWN_LOC
        case (place,):
            return place
        case _:
            return FusedLoc(places, NoneAttr())


def _parts(location: Attribute) -> Iterator[LocationAttr]:
    """Yield the known locations in a location: the parts of a fused one without metadata, else the location itself."""
    match location:
        case FusedLoc(metadata=NoneAttr(), locations=ArrayAttr(data=parts)):
            for part in parts:
                yield from _parts(part)
        case FusedLoc() | FileLineColLoc() | NameLoc() | CallSiteLoc():
            yield location
        case _:
            return
