"""Memref descriptors as values.

A descriptor is a struct of allocated pointer, aligned pointer, offset, sizes and strides. Here its fields are kept
apart, as the values they were made of, so that reading a field costs nothing and the struct is built only where one is
needed: for a block argument, a return value, or an op that is not converted.
"""

from __future__ import annotations

from collections.abc import Container, Iterable
from dataclasses import dataclass, replace

from xdsl.dialects import llvm, memref, vector
from xdsl.dialects.builtin import DenseArrayBase, IntegerAttr, MemRefType, i64
from xdsl.ir import Attribute, SSAValue

from relex.dialects.upstream.hints import isa
from relex.lowering.conversion import Conversion, Parts
from relex.lowering.llvm.types import LLVM_TYPES, PTR, constant, known_integer

Position = tuple[int, ...]
"""The position of a field in the struct."""

BASE: Position = (0,)
ALIGNED: Position = (1,)
OFFSET: Position = (2,)


def size_at(dim: int) -> Position:
    """The position of the size of dimension `dim`."""
    return (3, dim)


def stride_at(dim: int) -> Position:
    """The position of the stride of dimension `dim`."""
    return (4, dim)


def positions(rank: int) -> list[Position]:
    """The positions of all fields, in the order of the calling convention."""
    return [BASE, ALIGNED, OFFSET, *map(size_at, range(rank)), *map(stride_at, range(rank))]


def field_type(position: Position) -> Attribute:
    """The type of a field."""
    return PTR if position in (BASE, ALIGNED) else i64


def field_name(name: str | None, position: Position) -> str | None:
    """The name hint for a field of a memref called `name`; the aligned pointer keeps the name."""
    if name is None or position == ALIGNED:
        return name
    kind = ("base", "aligned", "offset", "size", "stride")[position[0]]
    return "_".join([name, kind + "".join(map(str, position[1:]))])


@dataclass(eq=False)
class Descriptor(Parts):
    """The descriptor that replaces the memref value `old`.

    It consists of `fields` (ints if known at compile time), or of the struct `joined`, or of both.
    """

    conversion: Conversion
    old: SSAValue
    fields: dict[Position, SSAValue | int]
    joined: SSAValue | None = None

    @classmethod
    def made_of(cls, conversion: Conversion, old: SSAValue, fields: Iterable[SSAValue | int]) -> Descriptor:
        """Return the descriptor that replaces `old`, given all of its fields in the order of `positions`."""
        assert isa(old.type, MemRefType)
        return cls(conversion, old, dict(zip(positions(old.type.get_num_dims()), fields, strict=True)))

    @classmethod
    def of(cls, conversion: Conversion, old: SSAValue) -> Descriptor:
        """Return the descriptor that replaces a memref value of the old program."""
        found = conversion.parts(old)
        if isinstance(found, Descriptor):
            return found
        struct = conversion.value(old)
        new = cls(conversion, old, _inserted_fields(struct), struct)
        conversion.set(old, new)
        return new

    def field(self, position: Position) -> SSAValue:
        """Return the value of a field, usable at the op that is being converted."""
        value = self.fields.get(position)
        if isinstance(value, int):
            return constant(self.conversion, value)
        if value is None:
            value = self.fields[position] = self._extract(position)
        return value

    def known(self, position: Position) -> SSAValue | int:
        """Return a field like `field`, but as an int if it is known at compile time."""
        value = self.fields.get(position)
        return value if isinstance(value, int) else self.field(position)

    def as_type(self, old: SSAValue) -> Descriptor:
        """Return a descriptor with the same fields for another memref value."""
        return replace(self, old=old, fields=dict(self.fields))

    def join(self) -> SSAValue:
        if self.joined is None:
            self.joined = self._build()
        return self.joined

    def _extract(self, position: Position) -> SSAValue:
        assert self.joined is not None
        extract = llvm.ExtractValueOp(DenseArrayBase.from_list(i64, position), self.joined, field_type(position))
        return self.conversion.add_after(self.joined, extract).res

    def _build(self) -> SSAValue:
        add_after = self.conversion.add_after
        struct = add_after(self.old, llvm.UndefOp(LLVM_TYPES.convert(self.old.type))).res
        for position, field in self.fields.items():
            value, last = field, struct
            if isinstance(value, int):
                value = last = add_after(struct, llvm.ConstantOp(IntegerAttr(value, i64), i64)).result
            struct = add_after(last, llvm.InsertValueOp(DenseArrayBase.from_list(i64, position), struct, value)).res
        return struct


def _inserted_fields(struct: SSAValue) -> dict[Position, SSAValue | int]:
    """The fields that `llvm.insertvalue` inserted into `struct` one by one."""
    fields: dict[Position, SSAValue | int] = {}
    while isinstance(insert := struct.owner, llvm.InsertValueOp):
        position = tuple(insert.position.get_values())
        if position in ((3,), (4,)):
            # All sizes or strides at once; fields inserted earlier may be overwritten.
            break
        fields.setdefault(position, insert.value)
        struct = insert.container
    return fields


def fields_used(argument: SSAValue) -> Container[Position]:
    """Return the fields of a memref argument that its function may use."""
    assert isa(argument.type, MemRefType)
    rank = argument.type.get_num_dims()
    used: set[Position] = set()
    for use in argument.uses:
        match use.operation:
            case memref.DimOp(index=index) if (dim := known_integer(index)) is not None:
                used.add(size_at(dim))
            case memref.LoadOp() | memref.StoreOp() | vector.LoadOp() | vector.StoreOp():
                used.update((ALIGNED, OFFSET, *map(stride_at, range(rank))))
            case vector.MaskedLoadOp() | vector.MaskedStoreOp():
                used.update((ALIGNED, OFFSET, *map(stride_at, range(rank))))
            case _:
                return positions(rank)
    return used
