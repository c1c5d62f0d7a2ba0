"""Digests of IR, equal for functions that only differ in names and locations."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping
from enum import Enum
from functools import cache
from hashlib import sha256
from typing import Any, cast

from xdsl.dialects.builtin import SymbolRefAttr
from xdsl.ir import Attribute, Block, Data, Operation, ParametrizedAttribute, SSAValue

from relex.dialects.symbols import symbol_of


def fingerprint(ops: Iterable[Operation], names: Mapping[str, str] | None = None) -> str:
    """Return a digest of functions and globals: their ops, types and attributes, and every bit of constants.

    Locations and the names of values do not count. Neither do the symbols that `names` maps: what stands for each
    counts in its place.
    """
    writer = _Writer(names or {})
    for op in ops:
        writer.write(op)
    return sha256("\n".join(writer.lines).encode()).hexdigest()


@cache
def _parameters_of(kind: type[Attribute]) -> tuple[str, ...] | None:
    """Return the names of the parameters of a class of attributes; None if it has none, but data."""
    if not issubclass(kind, ParametrizedAttribute):
        return None
    return tuple(name for name, _ in kind.get_irdl_definition().parameters)


@cache
def _shown(member: Enum, attr: Attribute) -> tuple[str, str]:
    """Return texts of a member of an enumeration, and of what it is in: each integer type has one, and a printer takes
    long to start."""
    return repr(member), str(attr)


class _Writer:
    """Writes ops as lines, with numbers for values and blocks."""

    def __init__(self, names: Mapping[str, str]):
        self.lines: list[str] = []
        self._names = names
        self._numbers: dict[SSAValue | Block, int] = {}
        self._written: dict[int, tuple[Attribute, str]] = {}
        """The texts of attributes, by identity: to hash one takes as long as to write it."""
        self._lists: dict[tuple[str | int, ...], str] = {}
        """The texts of all attributes of an op, by their names and identities: most ops have equal ones."""

    def write(self, op: Operation) -> None:
        """Write an op and all ops in it."""
        operands, successors, results = map(self._number, op.operands), map(self._number, op.successors), op.results
        self.lines.append(
            f"{op.name} {[*operands]} {[*successors]} {self._attributes(op)} "
            f"{[(self._number(value), self.text(value.type)) for value in results]}"
        )
        for region in op.regions:
            self.lines.append("{")
            for block in region.blocks:
                arguments = [(self._number(value), self.text(value.type)) for value in block.args]
                self.lines.append(f"^{self._number(block)} {arguments}")
                for inner in block.ops:
                    self.write(inner)
            self.lines.append("}")

    def _number(self, thing: SSAValue | Block) -> int:
        return self._numbers.setdefault(thing, len(self._numbers))

    def _attributes(self, op: Operation) -> str:
        names, attrs = (*op.attributes, *op.properties), (*op.attributes.values(), *op.properties.values())
        key = (op.name, *names, *map(id, attrs))
        known = self._lists.get(key)
        if known is None:
            # `text` keeps the attributes, and with them their identities.
            known = self._lists[key] = str(self._texts_of(op))
        return known

    def _texts_of(self, op: Operation) -> list[tuple[str, str]]:
        found = {key: self.text(attr) for attrs in (op.attributes, op.properties) for key, attr in attrs.items()}
        if "sym_name" in found and (name := symbol_of(op)) is not None:
            found["sym_name"] = self._names.get(name, name)
        return sorted(found.items())

    def text(self, attr: Attribute) -> str:
        """Return a text for an attribute, equal for no other one."""
        known = self._written.get(id(attr))
        if known is None:
            # Kept with the attribute, so that no other one gets its identity.
            known = self._written[id(attr)] = attr, f"{attr.name}:{self._contents(attr)!r}"
        return known[1]

    def _contents(self, attr: Attribute) -> object:
        if type(attr) is SymbolRefAttr:
            root = attr.root_reference.data
            return self._names.get(root, f"@{root}"), [part.data for part in attr.nested_references.data]
        if (names := _parameters_of(type(attr))) is not None:
            return [self.text(getattr(attr, name)) for name in names]
        known: Any = attr
        return self._exact(known.data, known) if isinstance(attr, Data) else str(attr)

    def _exact(self, data: Any, attr: Attribute) -> object:
        """Return something whose text tells all about the data of an attribute."""
        match data:
            case str():
                return str.__str__(data)  # the text of a member of an enumeration, as it is read back
            case int() | None:
                return data
            case float():
                return struct.pack("<d", data)
            case bytes():
                return sha256(data).hexdigest()
            case memoryview():
                return sha256(cast("memoryview[int]", data)).hexdigest()
            case tuple():
                parts = cast("tuple[Any, ...]", data)
                return [self.text(p) if isinstance(p, Attribute) else self._exact(p, attr) for p in parts]
            case frozenset():
                # Their own order is another one in each process.
                return sorted(repr(self._exact(part, attr)) for part in cast("frozenset[Any]", data))
            case Mapping():
                return sorted((key, self._exact(part, attr)) for key, part in cast("Mapping[str, Any]", data).items())
            case Attribute():
                return self.text(data)
            case Enum():
                return _shown(data, attr)
            case _:
                return repr(data), str(attr)
