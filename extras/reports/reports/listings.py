"""The functions of a module as text for reading, with the place in the source that each line comes from."""

from __future__ import annotations

import operator
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache

from xdsl.dialects.builtin import LocationAttr, ModuleOp
from xdsl.ir import Operation

from relex.dialects.symbols import symbol_of
from relex.dialects.upstream.printer import ElidingPrinter, printed
from relex.tools.options.arguments import DEFAULT_ELIDE

_NESTED = re.compile(r'"(?:[^"\\]|\\.)*"|[()]|[^"()]+')
_LOC = " loc("
_FILE = re.compile(r'"((?:[^"\\]|\\.)*)":(\d+):(\d+)')


@dataclass(frozen=True)
class Listing:
    """Lines of text, and for each the place that it comes from, as `file:line:column`, or "" if that is unknown."""

    lines: tuple[str, ...]
    places: tuple[str, ...]


class Listings:
    """The listings of a module as it changes. Most passes leave most functions alone, and printing one takes far longer
    than seeing that nothing in it is new."""

    def __init__(self) -> None:
        self._known: dict[Operation, tuple[Sequence[object], Listing]] = {}

    def of(self, module: ModuleOp) -> dict[str, Listing]:
        """Return the listings of the ops of a module by symbol; an op without one has the name of its kind."""
        found: dict[str, Listing] = {}
        self._known = {op: self._listed(op) for op in module.ops}
        for op, (_, listing) in self._known.items():
            symbol = symbol_of(op) or f"({op.name})"
            names = (symbol, *(f"{symbol} {n}" for n in range(2, len(found) + 2)))
            found[next(name for name in names if name not in found)] = listing
        return found

    def _listed(self, op: Operation) -> tuple[Sequence[object], Listing]:
        parts = list(_parts(op))
        if (known := self._known.get(op)) is not None and len(known[0]) == len(parts):
            # What is compared is kept, so that no other object can be at the same address.
            if all(map(operator.is_, known[0], parts)):
                return known
        return parts, listing_of(op)


def _parts(op: Operation) -> Iterator[object]:
    """Yield all objects that the text of an op is made of."""
    for inner in op.walk():
        yield inner
        yield inner.location
        yield from inner.operands
        yield from inner.successors
        for attributes in (inner.properties, inner.attributes):
            yield from attributes
            yield from attributes.values()
        for region in inner.regions:
            for block in region.blocks:
                yield block
                yield from (part for value in block.args for part in (value, value.name_hint, value.type))
        for value in inner.results:
            yield value.type
            yield value.name_hint


def listing_of(op: Operation) -> Listing:
    """Return the listing of an op. Long constants are left out."""
    text = printed(op, ElidingPrinter, limit=DEFAULT_ELIDE, print_debuginfo=True)
    lines, places = zip(*map(_without_locations, text.splitlines()), strict=True)
    return Listing(lines, tuple(_with_openings(lines, places)))


def place_of(op: Operation) -> str:
    """Return the place that an op comes from, as `file:line:column`, or "" if that is unknown."""
    return _place_in(op.location)


@cache
def _place_in(location: LocationAttr) -> str:
    found = _FILE.search(str(location))
    return ":".join(found.groups()) if found else ""


def _without_locations(line: str) -> tuple[str, str]:
    """Return a line without its locations, and the place in the one that ends it or precedes a region: the op's place.
    Others are places of block arguments."""
    text, place, end = "", "", 0
    while (start := line.find(_LOC, end)) >= 0:
        text += line[end:start]
        end = _closing(line, start + len(_LOC))
        if line[end:].strip() in ("", "{"):
            place = line[start:end]
    found = _FILE.search(place)
    return text + line[end:], ":".join(found.groups()) if found else ""


def _closing(line: str, start: int) -> int:
    """Return the end of what is in parentheses from `start` on, the closing one included."""
    depth = 1
    for part in _NESTED.finditer(line, start):
        depth += {"(": 1, ")": -1}.get(part[0], 0)
        if depth == 0:
            return part.end()
    return len(line)


def _with_openings(lines: Sequence[str], places: Sequence[str]) -> Iterator[str]:
    """Yield the places of lines. The location of an op with regions is written at its end, and holds for all of its own
    lines, which are indented as much."""
    found = list(places)
    open_lines: dict[int, list[int]] = {}
    for number, line in enumerate(lines):
        indent = len(line) - len(line.lstrip())
        is_continued = line.lstrip().startswith("}")
        if not is_continued:
            open_lines[indent] = []
        own = open_lines.setdefault(indent, [])
        own.append(number)
        if is_continued and places[number]:
            for n in own:
                found[n] = places[number]
    return iter(found)
