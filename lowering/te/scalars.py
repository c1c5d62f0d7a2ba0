"""Scalar functions by name, and the `arith` and `math` ops that compute them for each kind of element type."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from xdsl.dialects import arith, math
from xdsl.dialects.builtin import (
    AnyFloat,
    DenseIntOrFPElementsAttr,
    IndexType,
    IntegerAttr,
    IntegerType,
    VectorType,
    i1,
    i64,
)
from xdsl.ir import Attribute, Operation, SSAValue

from relex.dialects.dtypes import SUB_BYTE, integer_limits, integer_splat, is_unsigned, record_of, storage_of
from relex.dialects.table import Table
from relex.dialects.tir import Dot2iOp, Dot2Op, Dot4Op
from relex.dialects.upstream.arith import RemFOp
from relex.dialects.upstream.attributes import float_attr
from relex.dialects.upstream.hints import isa

Builder = Callable[..., Operation]


@dataclass(frozen=True)
class Scalar:
    """The ops that compute a scalar function on floats, on integers and `index`, on i1, and on unsigned integers; None
    if there is none, or if it is the same for unsigned integers as for signed ones.

    The type of the last argument decides.
    """

    on_float: Builder | None = None
    on_integer: Builder | None = None
    on_bool: Builder | None = None
    on_unsigned: Builder | None = None

    def for_type(self, type: Attribute) -> Builder | None:
        """Return the builder for an element type, or None."""
        if isinstance(type, AnyFloat):
            return self.on_float
        if type == i1:
            return self.on_bool
        if is_unsigned(type) and self.on_unsigned is not None:
            return self.on_unsigned
        return self.on_integer if isinstance(type, IntegerType | IndexType) else None


def _comparison(on_float: str, on_integer: str, on_unsigned: str) -> Scalar:
    """Make a comparison from predicates of `arith.cmpf` and `arith.cmpi`. Booleans are compared as unsigned numbers."""
    signed, unsigned = (partial(arith.CmpiOp, arg=predicate) for predicate in (on_integer, on_unsigned))
    return Scalar(partial(arith.CmpfOp, arg=on_float), signed, unsigned, unsigned)


_FLOAT_FUNCTIONS = (
    *(math.CopySignOp, math.FloorOp, math.CeilOp, math.TruncOp, math.SqrtOp, math.ErfOp),
    *(math.ExpOp, math.Exp2Op, math.ExpM1Op, math.LogOp, math.Log1pOp, math.Log2Op, math.Log10Op),
    *(math.SinOp, math.CosOp, math.TanOp, math.AsinOp, math.AcosOp, math.AtanOp),
    *(math.SinhOp, math.CoshOp, math.TanhOp, math.AsinhOp, math.AcoshOp, math.AtanhOp),
)
"""The functions of floats that have the names of their ops."""

SCALARS = Table[str, Scalar]("scalars")
"""Scalar functions by name; other packages add theirs. On i1 they are NumPy's: `add` is or, `multiply` is and."""

SCALARS.update(
    {
        "add": Scalar(arith.AddfOp, arith.AddiOp, arith.OrIOp),
        "subtract": Scalar(arith.SubfOp, arith.SubiOp),
        "multiply": Scalar(arith.MulfOp, arith.MuliOp, arith.AndIOp),
        "divide": Scalar(arith.DivfOp),
        "maximum": Scalar(arith.MaximumfOp, arith.MaxSIOp, arith.OrIOp, arith.MaxUIOp),
        "minimum": Scalar(arith.MinimumfOp, arith.MinSIOp, arith.AndIOp, arith.MinUIOp),
        "floor_divide": Scalar(on_integer=arith.DivUIOp),
        "remainder": Scalar(on_integer=arith.RemUIOp),
        "trunc_divide": Scalar(on_integer=arith.DivSIOp, on_unsigned=arith.DivUIOp),
        "fmod": Scalar(RemFOp, arith.RemSIOp, on_unsigned=arith.RemUIOp),
        "bitwise_and": Scalar(None, arith.AndIOp, arith.AndIOp),
        "bitwise_or": Scalar(None, arith.OrIOp, arith.OrIOp),
        "bitwise_xor": Scalar(None, arith.XOrIOp, arith.XOrIOp),
        "left_shift": Scalar(on_integer=arith.ShLIOp),
        "right_shift": Scalar(on_integer=arith.ShRSIOp, on_unsigned=arith.ShRUIOp),
        "dot2": Scalar(on_integer=Dot2Op),
        "dot2i": Scalar(on_integer=Dot2iOp),
        "dot4": Scalar(on_integer=Dot4Op),
        "and": Scalar(on_bool=arith.AndIOp),
        "or": Scalar(on_bool=arith.OrIOp),
        "equal": _comparison("oeq", "eq", "eq"),
        "not_equal": _comparison("une", "ne", "ne"),
        "less": _comparison("olt", "slt", "ult"),
        "less_equal": _comparison("ole", "sle", "ule"),
        "greater": _comparison("ogt", "sgt", "ugt"),
        "greater_equal": _comparison("oge", "sge", "uge"),
        "select": Scalar(arith.SelectOp, arith.SelectOp, arith.SelectOp),
        "negative": Scalar(arith.NegfOp),
        "abs": Scalar(math.AbsFOp),
        "round": Scalar(math.RoundEvenOp),
        "power": Scalar(math.PowFOp, math.IPowIOp),
        **{op.name.removeprefix("math."): Scalar(op) for op in _FLOAT_FUNCTIONS},
    }
)


def build_scalar(
    function: str,
    args: Sequence[SSAValue],
    flags: arith.FastMathFlagsAttr | None = None,
    type: Attribute | None = None,
) -> Operation:
    """Build the op that applies a scalar function, with fast-math `flags` on floats. `type` is the element type of the
    last argument, if that is not the type of its value: unsigned integers are values of a signless type."""
    type = type or args[-1].type
    builder = SCALARS[function].for_type(type) if function in SCALARS else None
    if builder is None:
        raise ValueError(f"no scalar function '{function}' on {type}")
    op = builder(*args)
    if flags is not None and isinstance(type, AnyFloat):
        op.properties["fastmath"] = flags
    return op


def build_constant(value: float, type: Attribute) -> arith.ConstantOp:
    """Build a constant; of a vector type, a splat."""
    if isinstance(type, AnyFloat):
        return arith.ConstantOp(float_attr(float(value), type))
    is_vector = isinstance(type, VectorType)
    if is_vector and isa(type, VectorType[AnyFloat]):
        number = float_attr(float(value), type.element_type)
        return arith.ConstantOp(DenseIntOrFPElementsAttr.from_list(type, [number.value.data]))
    if is_vector and isa(type, VectorType[IntegerType | IndexType]):
        return arith.ConstantOp(integer_splat(type, int(value)))
    if not isa(type, IntegerType | IndexType):
        raise ValueError(f"no constants of {type}")
    low, high = integer_limits(type if isinstance(type, IntegerType) else i64)
    if not low <= value <= high or value != int(value):
        raise ValueError(f"expected a whole number from {low} to {high} for a constant of {type}, found {value}")
    stored = storage_of(type)
    assert isa(stored, IntegerType) or isinstance(stored, IndexType)
    number = int(value) & record_of(type).mask if type in SUB_BYTE else int(value)
    return arith.ConstantOp(IntegerAttr(number, stored, truncate_bits=True))


def build_conversion(value: SSAValue, new: Attribute, old: Attribute | None = None) -> Operation:
    """Build the op that converts a number to another type. A float must be in the range of an integer type. `old` is
    the element type of the number, if that is not the type of its value."""
    old, type = old or value.type, storage_of(new)
    if isinstance(old, AnyFloat) and isinstance(type, AnyFloat):
        return (arith.ExtFOp if old.bitwidth < type.bitwidth else arith.TruncFOp)(value, type)
    if isa(old, IntegerType) and isinstance(type, AnyFloat):
        return (arith.UIToFPOp if _is_never_negative(old) else arith.SIToFPOp)(value, type)
    if isinstance(old, AnyFloat) and isa(type, IntegerType):
        return (arith.FPToUIOp if is_unsigned(new) else arith.FPToSIOp)(value, type)
    if isa(old, IntegerType) and isa(type, IntegerType):
        if old.bitwidth > type.bitwidth:
            return arith.TruncIOp(value, type)
        if old.bitwidth == type.bitwidth:
            raise ValueError(f"{old} and {new} have the same bits")
        return (arith.ExtUIOp if _is_never_negative(old) else arith.ExtSIOp)(value, type)
    if i1 not in (old, type) and IndexType() in (old, type):
        return arith.IndexCastOp(value, type)
    raise ValueError(f"no conversion of {old} to {type}")


def _is_never_negative(t: Attribute) -> bool:
    return t == i1 or is_unsigned(t)
