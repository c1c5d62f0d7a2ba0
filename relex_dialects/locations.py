"""Places in the program for ops that passes make."""

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
    """The place of an op that stands for several: all places of theirs that are known, each once."""
    places = tuple(dict.fromkeys(place for op in ops for place in _parts(op.location)))
    match places:
        case ():
            return UNKNOWN_LOC
        case (place,):
            return place
        case _:
            return FusedLoc(places, NoneAttr())


def _parts(location: Attribute) -> Iterator[LocationAttr]:
    """The known places in a place; of a fused one without metadata its parts."""
    match location:
        case FusedLoc(metadata=NoneAttr(), locations=ArrayAttr(data=parts)):
            for part in parts:
                yield from _parts(part)
        case FusedLoc() | FileLineColLoc() | NameLoc() | CallSiteLoc():
            yield location
        case _:
            return
