"""Expansion of look-ups in tables into the instructions of the target."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from hashlib import sha256

from xdsl.context import Context
from xdsl.dialects import arith, llvm, memref, vector
from xdsl.dialects.builtin import (
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    IndexType,
    IntegerType,
    MemRefType,
    ModuleOp,
    StringAttr,
    SymbolRefAttr,
    UnitAttr,
    VectorType,
    f32,
    i8,
    i32,
    i64,
)
from xdsl.ir import Attribute, Operation, SSAValue

from relex.dialects.arrays import Array, np
from relex.dialects.dtypes import array_from_dense, dense_bytes, size_in_bytes
from relex.dialects.target.features import has_feature, module_target
from relex.dialects.target.processors import architecture_of
from relex.dialects.target.target_attribute import Target
from relex.dialects.tir import TableLookUpOp
from relex.dialects.upstream.hints import isa
from relex.dialects.walks import walk_of
from relex.lowering.conversion import Conversion, ConversionPass, ConversionTable, TypeConverter
from relex.lowering.llvm.intrinsics import call_intrinsic, mangled
from relex.lowering.llvm.types import NE
from relex.lowering.te.scalars import build_constant

EXPANSIONS = ConversionTable("expand-look-ups")
"""Conversion rules for look-ups."""


class ExpandLookUpsPass(ConversionPass):
    """
    Replaces `tir.look_up` on vectors by instructions that permute the elements of registers: `vpermi2b` and `vpermd` of
    AVX-512, `pshufb` and `vpermd` of AVX2, `tbl` of AArch64. Scalars, other vectors, and targets without such
    instructions read the table from memory; consecutive numbers are computed.

    ```mlir
    %y = tir.look_up %x in dense<[...]> : tensor<16xf32> : vector<16xi32> -> vector<16xf32>
    // expand-look-ups, for a target with AVX-512
    %table = arith.constant dense<[...]> : vector<16xi32>
    %bits = llvm.call_intrinsic "llvm.x86.avx512.permvar.si.512"(%table, %x)
        : (vector<16xi32>, vector<16xi32>) -> vector<16xi32>
    %y = vector.bitcast %bits : vector<16xi32> to vector<16xf32>
    ```
    """

    name = "expand-look-ups"

    table = EXPANSIONS
    types = TypeConverter("expand-look-ups types")

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if walk_of(op, TableLookUpOp):
            super().apply(ctx, op)


@EXPANSIONS.rule(TableLookUpOp)
def expand(op: TableLookUpOp, conversion: Conversion) -> None:
    """Replace a look-up in a vector by what the target does best, one of a scalar by a load."""
    out, places = _Emitter(conversion), op.operand
    if not isa(places.type, VectorType):
        conversion.replace(_load(out, places, op.table))
        return
    best = _best(op, module_target(conversion.module))
    if best is None and _are_consecutive(op.table):
        first = array_from_dense(op.table)[0]
        low = out.apply(arith.AndIOp, places, op.table.get_shape()[0] - 1)
        conversion.replace(out.add(llvm.SIToFPOp(out.apply(arith.AddiOp, low, int(first)), op.result.type)))
        return
    if best is None:
        elements = [_load(out, out.element(places, i), op.table) for i in range(_lanes(places))]
        conversion.replace(out.vector(elements, op.result.type))
        return
    found = best.in_parts(out, np.frombuffer(dense_bytes(op.table), f"<i{best.bits // 8}"), places)
    conversion.replace(found if found.type == op.result.type else out.add(vector.BitcastOp(found, op.result.type)))


class _Emitter:
    """Inserts ops in place of the one that is converted."""

    def __init__(self, conversion: Conversion):
        self.conversion = conversion

    def add(self, op: Operation) -> SSAValue:
        return self.conversion.add(op).results[0]

    def apply(self, kind: Callable[[SSAValue, SSAValue], Operation], value: SSAValue, number: int) -> SSAValue:
        """Apply an op to a value and a number."""
        return self.add(kind(value, self.add(build_constant(number, value.type))))

    def numbers(self, numbers: Array) -> SSAValue:
        """Return a vector of integers."""
        kind = VectorType(IntegerType(8 * numbers.itemsize), numbers.shape)
        return self.add(arith.ConstantOp(DenseIntOrFPElementsAttr.from_list(kind, numbers.tolist())))

    def call(self, name: str, *arguments: SSAValue, like: SSAValue) -> SSAValue:
        return self.add(call_intrinsic(name, arguments, [like.type]))

    def shuffle(self, first: SSAValue, second: SSAValue, lanes: Sequence[int]) -> SSAValue:
        assert isa(first.type, VectorType)
        kind = VectorType(first.type.element_type, [len(lanes)])
        return self.add(vector.ShuffleOp(first, second, DenseArrayBase.from_list(i64, lanes), result_type=kind))

    def element(self, vectors: SSAValue, lane: int) -> SSAValue:
        assert isa(vectors.type, VectorType)
        return self.add(vector.ExtractOp(vectors, [lane], vectors.type.element_type))

    def vector(self, elements: Sequence[SSAValue], kind: Attribute) -> SSAValue:
        """Return a vector of elements."""
        found = self.add(build_constant(0, kind))
        for lane, element in enumerate(elements):
            found = self.add(vector.InsertOp(element, found, [lane]))
        return found

    def select(self, places: SSAValue, bit: int, value: SSAValue, other: SSAValue) -> SSAValue:
        """Return elements of `value` where a bit of the places is 1, else elements of the other vector."""
        zero = self.add(build_constant(0, places.type))
        is_set = self.add(llvm.ICmpOp(self.apply(arith.AndIOp, places, bit), zero, NE))
        length = self.add(build_constant(_lanes(places), i32))
        return self.call(mangled("llvm.vp.select", value.type), is_set, value, other, length, like=value)


def _lanes(value: SSAValue) -> int:
    assert isa(value.type, VectorType)
    return value.type.get_shape()[0]


def _load(out: _Emitter, place: SSAValue, table: DenseIntOrFPElementsAttr) -> SSAValue:
    """Read a number of a table from memory."""
    kind = MemRefType(table.get_element_type(), table.get_shape())
    name = f"table_{sha256(dense_bytes(table)).hexdigest()[:16]}_{table.get_element_type()}"

    def make() -> Operation:
        private, constant = StringAttr("private"), UnitAttr()
        return memref.GlobalOp.get(StringAttr(name), kind, table, sym_visibility=private, constant=constant)

    out.conversion.declare(name, make)
    buffer = out.add(memref.GetGlobalOp(SymbolRefAttr(name), kind))
    if size_in_bytes(place.type) < size_in_bytes(i64):
        place = out.add(arith.ExtUIOp(place, i64))
    index = out.add(arith.IndexCastOp(out.apply(arith.AndIOp, place, table.get_shape()[0] - 1), IndexType()))
    return out.add(memref.LoadOp.get(buffer, [index]))


Permute = Callable[[_Emitter, Array, SSAValue], SSAValue]
"""Emits the look-up of the places in a register, of as many bits as the integers of the table."""


def _of_bytes(intrinsic: str, out: _Emitter, table: Array, places: SSAValue) -> SSAValue:
    """Look up in a table of 16 bytes, which each part of 16 bytes of a register has."""
    low = out.apply(arith.AndIOp, places, len(table) - 1)
    return out.call(intrinsic, out.numbers(np.tile(table, _lanes(places) // 16)), low, like=places)


def _of_words(intrinsic: str, out: _Emitter, table: Array, places: SSAValue) -> SSAValue:
    """Look up in a table that fills one register, or two."""
    lanes = _lanes(places)
    if lanes == len(table):
        places = _of_wide_shift(out, places)
    low, *high = (
        out.call(intrinsic, out.numbers(part), places, like=places) for part in np.split(table, len(table) // lanes)
    )
    return out.select(places, lanes, high[0], low) if high else low


def _of_wide_shift(out: _Emitter, places: SSAValue) -> SSAValue:
    """Return shifted places of which LLVM does not know that they were bytes: it would shift bytes and widen these, and
    widen the others as well, where the shift of wide ones is a single instruction."""
    shift = places.owner
    if not isinstance(shift, arith.ShRSIOp | arith.ShRUIOp):
        return places
    floats = VectorType(f32, [_lanes(places)])
    bits = out.add(vector.BitcastOp(shift.lhs, floats))
    kept = out.call(mangled("llvm.arithmetic.fence", floats), bits, like=bits)
    return out.add(type(shift)(out.add(vector.BitcastOp(kept, places.type)), shift.rhs))


def _of_small_numbers(out: _Emitter, table: Array, places: SSAValue) -> SSAValue:
    """Look up floats that are integers of 8 bits: bytes, which are converted."""
    lanes = _lanes(places)
    narrow = out.add(llvm.TruncOp(places, VectorType(i8, [lanes])))
    part = out.shuffle(narrow, narrow, [lane % lanes for lane in range(16)])
    found = _of_bytes("llvm.x86.ssse3.pshuf.b.128", out, table.view(np.float32).astype(np.int8), part)
    wide = out.add(llvm.SExtOp(out.shuffle(found, found, range(lanes)), places.type))
    return out.add(llvm.SIToFPOp(wide, VectorType(f32, [lanes])))


def _are_consecutive(table: DenseIntOrFPElementsAttr) -> bool:
    """Return whether numbers are floats that are integers of 8 bits, each larger by 1 than the one before."""
    return _are_small(table) and bool((np.diff(array_from_dense(table)) == 1).all())


def _are_small(table: DenseIntOrFPElementsAttr) -> bool:
    """Return whether numbers are floats of 32 bits that are integers of 8 bits; -0 is none."""
    if table.get_element_type() != f32:
        return False
    numbers = array_from_dense(table)
    with np.errstate(invalid="ignore"):
        return numbers.clip(-128, 127).astype(np.int8).astype(np.float32).tobytes() == numbers.tobytes()


def _of_halves(intrinsic: str, out: _Emitter, table: Array, places: SSAValue) -> SSAValue:
    """Look up in a table of four registers, by an instruction for two."""
    parts = [*map(out.numbers, np.split(table, 4))]
    low, high = (out.call(intrinsic, parts[i], places, parts[i + 1], like=places) for i in (0, 2))
    return out.select(places, 128, high, low)


def _of_sixteenths(intrinsic: str, out: _Emitter, table: Array, places: SSAValue) -> SSAValue:
    """Look up in a table of 256 bytes, by an instruction for 16 that gives 0 for negative places. So a result is the
    exclusive or of a byte for each 16 that the place has passed, which is the change from the 16 before."""
    copies, flipped = _lanes(places) // 16, out.apply(arith.XOrIOp, places, -128)
    low, high = (np.tile(half, copies) for half in _changes(table))
    return out.add(arith.XOrIOp(_passed(intrinsic, out, low, places), _passed(intrinsic, out, high, flipped)))


def _of_sixteenths_at_once(intrinsic: str, out: _Emitter, table: Array, places: SSAValue) -> SSAValue:
    """Do the same for half as many places as a register has: one half of it looks up the places below 128, the other
    one the places from 128 on."""
    lanes, flipped = _lanes(places), out.apply(arith.XOrIOp, places, -128)
    changes = np.concatenate([np.tile(half, lanes // 16) for half in _changes(table)], 1)
    found = _passed(intrinsic, out, changes, out.shuffle(places, flipped, range(2 * lanes)))
    low, high = (out.shuffle(found, found, range(first, first + lanes)) for first in (0, lanes))
    return out.add(arith.XOrIOp(low, high))


def _changes(table: Array) -> Array:
    """Return the changes from each 16 bytes to the next: 8 times for each half, from zeros on."""
    rows = table.reshape(2, 8, 16)
    return rows ^ np.concatenate([np.zeros_like(rows[:, :1]), rows[:, :-1]], 1)


def _passed(intrinsic: str, out: _Emitter, changes: Array, places: SSAValue) -> SSAValue:
    """Return the exclusive or of the changes that the places have passed, each of 16 bytes."""
    step = out.add(build_constant(16, places.type))
    found = out.add(build_constant(0, places.type))
    for change in changes:
        if change.any():
            byte = out.call(intrinsic, out.numbers(change), places, like=places)
            found = out.add(arith.XOrIOp(found, byte))
        places = out.call(mangled("llvm.ssub.sat", places.type), places, step, like=places)
    return found


def _of_quarters(out: _Emitter, table: Array, places: SSAValue) -> SSAValue:
    """Look up in a table of 256 bytes, by instructions for 64 that leave what other places have."""
    parts = [*map(out.numbers, np.split(table, 16))]
    found = out.call("llvm.aarch64.neon.tbl4.v16i8", *parts[:4], places, like=places)
    for first in (4, 8, 12):
        places = out.apply(arith.SubiOp, places, 64)
        found = out.call("llvm.aarch64.neon.tbx4.v16i8", found, *parts[first : first + 4], places, like=places)
    return found


def _of_words_in_bytes(out: _Emitter, table: Array, places: SSAValue) -> SSAValue:
    """Look up the four bytes of each of 16 words."""
    low = out.apply(arith.AndIOp, places, len(table) - 1)
    words = out.apply(arith.AddiOp, out.apply(arith.MuliOp, low, 0x04040404), 0x03020100)
    of_bytes = out.add(vector.BitcastOp(words, VectorType(i8, [16])))
    parts = [*map(out.numbers, np.split(table.view(np.int8), 4))]
    found = out.call("llvm.aarch64.neon.tbl4.v16i8", *parts, of_bytes, like=of_bytes)
    return out.add(vector.BitcastOp(found, places.type))


@dataclass(frozen=True)
class _Instruction:
    """An instruction for tables of `count` integers of some bits, on registers of `lanes`, of the processors with a
    feature."""

    architecture: str
    feature: str
    bits: int
    count: int
    lanes: int
    permute: Permute
    most: int = 2**31
    """The length of vectors beyond which another instruction is better."""
    takes: Callable[[DenseIntOrFPElementsAttr], bool] = lambda _: True
    """Whether the instruction can look up in a table."""

    def applies_to(self, op: TableLookUpOp, target: Target) -> bool:
        kinds = (op.operand.type, op.result.type)
        return (
            self.architecture == architecture_of(target.triple)
            and self.count == len(op.table)
            and all(isa(kind, VectorType) and _width(kind.element_type) == self.bits for kind in kinds)
            and _lanes(op.result) <= self.most
            and self.takes(op.table)
            and (not self.feature or has_feature(target, self.feature))
        )

    def in_parts(self, out: _Emitter, table: Array, places: SSAValue) -> SSAValue:
        """Look up in a vector of any length."""
        count = _lanes(places)
        if count == self.lanes:
            return self.permute(out, table, places)
        found: SSAValue | None = None
        for start in range(0, count, self.lanes):
            lanes = [min(lane, count - 1) for lane in range(start, start + self.lanes)]
            part = self.permute(out, table, out.shuffle(places, places, lanes))
            found = part if found is None else out.shuffle(found, part, range(min(start + self.lanes, count)))
        assert found is not None
        return found if _lanes(found) == count else out.shuffle(found, found, range(count))


_INSTRUCTIONS = (
    _Instruction("x86_64", "avx512vbmi", 8, 256, 64, partial(_of_halves, "llvm.x86.avx512.vpermi2var.qi.512")),
    _Instruction("x86_64", "avx2", 8, 256, 16, partial(_of_sixteenths_at_once, "llvm.x86.avx2.pshuf.b"), most=16),
    _Instruction("x86_64", "avx512bw", 8, 256, 64, partial(_of_sixteenths, "llvm.x86.avx512.pshuf.b.512")),
    _Instruction("x86_64", "avx2", 8, 256, 32, partial(_of_sixteenths, "llvm.x86.avx2.pshuf.b")),
    _Instruction("x86_64", "ssse3", 8, 256, 16, partial(_of_sixteenths, "llvm.x86.ssse3.pshuf.b.128")),
    _Instruction("aarch64", "", 8, 256, 16, _of_quarters),
    _Instruction("x86_64", "avx512f", 32, 16, 16, partial(_of_words, "llvm.x86.avx512.permvar.si.512")),
    _Instruction("x86_64", "avx2", 32, 16, 8, _of_small_numbers, takes=_are_small),
    _Instruction("x86_64", "avx2", 32, 16, 8, partial(_of_words, "llvm.x86.avx2.permd")),
    _Instruction("aarch64", "", 32, 16, 4, _of_words_in_bytes),
    _Instruction("x86_64", "avx512bw", 8, 16, 64, partial(_of_bytes, "llvm.x86.avx512.pshuf.b.512")),
    _Instruction("x86_64", "avx2", 8, 16, 32, partial(_of_bytes, "llvm.x86.avx2.pshuf.b")),
    _Instruction("x86_64", "ssse3", 8, 16, 16, partial(_of_bytes, "llvm.x86.ssse3.pshuf.b.128")),
    _Instruction("aarch64", "", 8, 16, 16, partial(_of_bytes, "llvm.aarch64.neon.tbl1.v16i8")),
)
"""The best ones first."""


def _best(op: TableLookUpOp, target: Target) -> _Instruction | None:
    """Return the instruction of a target for a look-up in a vector."""
    return next((instruction for instruction in _INSTRUCTIONS if instruction.applies_to(op, target)), None)


def _width(element_type: Attribute) -> int:
    return 8 * size_in_bytes(element_type)
