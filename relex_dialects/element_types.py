"""Element types: one record for each, without xDSL, which executables run without."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

from relex.dialects.exceptions import DTypeError

if TYPE_CHECKING:
    import numpy as np

EXTENSION = "ml_dtypes"
"""The package with the types that NumPy lacks."""

MAX_SIZE = 2**63 - 1
"""The maximum size of a tensor, in each dimension and in bytes: the largest index."""


@dataclass(frozen=True)
class ElementType:
    """An element type of tensors. Integers are signed, unless they are `unsigned`; i1 is a boolean. Integers of fewer
    than 8 bits are for storage: each is in the low bits of a separate byte, whose other bits are not read."""

    name: str
    """The name of the type in MLIR."""

    dtype: str
    """The name in scripts, and the name of the dtype: NumPy's, or the extension's if the type is not `in_numpy`."""

    c_type: str
    """The type of elements in C; smaller floats than f32 are passed as their bits."""

    bits: int

    exponent_bits: int = 0
    """The number of bits of a float's exponent; 0 for integers and booleans."""

    in_numpy: bool = True
    """Whether NumPy has the type itself."""

    variant: str = ""
    """The encoding of a float, if it is not IEEE's: "fn" has no infinities, and NaN in place of its largest number;
    "fnuz" has NaN in place of -0 as well, and no other."""

    unsigned: bool = False
    """Whether it is an unsigned integer."""

    is_native: bool = True
    """Whether processors compute with it; operators on other types compute in f32, and round the result."""

    @property
    def has_dtype(self) -> bool:
        """Whether there are arrays of it in this Python."""
        try:
            return bool(self.numpy.itemsize)
        except DTypeError:
            return False

    @property
    def numpy(self) -> np.dtype[Any]:
        """The NumPy dtype. Raises `DTypeError` if the package that has it is not installed."""
        import numpy as np

        if self.in_numpy:
            return np.dtype(self.dtype)
        try:
            return np.dtype(getattr(import_module(EXTENSION), self.dtype))
        except (ImportError, AttributeError) as e:
            needed = f"the package {EXTENSION}" if isinstance(e, ImportError) else f"a newer {EXTENSION}"
            raise DTypeError(f"element type {self.name} has no NumPy equivalent without {needed}") from None

    @property
    def is_float(self) -> bool:
        """Whether it is a float."""
        return self.exponent_bits > 0

    @property
    def mask(self) -> int:
        """A number with all bits of the type set."""
        return (1 << self.bits) - 1

    @property
    def is_bool(self) -> bool:
        """Whether it is the type of booleans."""
        return self.bits == 1

    @property
    def is_sub_byte(self) -> bool:
        """Whether it is an integer of fewer than 8 bits."""
        return not self.is_float and 1 < self.bits < 8

    @property
    def storage(self) -> str:
        """The name of the type of buffers that hold such elements. There, integers are signless, as integers of `arith`
        are: only the ops on them are signed or unsigned. Integers of fewer than 8 bits are bytes."""
        return f"i{8 * self.size}" if self.unsigned or self.is_sub_byte else self.name

    @property
    def size(self) -> int:
        """The size of an element in bytes."""
        return -(-self.bits // 8)

    @property
    def fraction_bits(self) -> int:
        """The number of bits of a float's fraction, below the exponent."""
        return self.bits - self.exponent_bits - 1

    @property
    def exponent_bias(self) -> int:
        """The bias of a float's exponent."""
        return (1 << self.exponent_bits - 1) - (self.variant != "fnuz")

    @property
    def largest_bits(self) -> int:
        """The bits of the largest float; infinity, or NaN, comes next."""
        if self.variant:
            return (1 << self.bits - 1) - (2 if self.variant == "fn" else 1)
        return ((1 << self.exponent_bits) - 1 << self.fraction_bits) - 1

    @property
    def nan_bits(self) -> int:
        """The bits of a quiet NaN."""
        return self.largest_bits + 1 | (0 if self.variant else 1 << self.fraction_bits - 1)

    @property
    def digits(self) -> int:
        """The number of binary digits up to which all integers can be represented."""
        return self.fraction_bits + 1 if self.is_float else max(1, self.bits - (not self.unsigned))

    def holds(self, other: ElementType) -> bool:
        """Return whether this type can represent all numbers of another."""
        if self.unsigned and not (other.unsigned or other.is_bool):
            return False
        return other.exponent_bits <= self.exponent_bits and other.digits <= self.digits

    def bytes_of(self, number: float) -> bytes:
        """Return the bytes that represent a number. Floats are rounded, except that a bf16 must be exact. Raises
        `ValueError` or `OverflowError` if the type does not have the number."""
        if not self.is_float:
            if number != int(number) or (self.is_bool and number not in (0, 1)):
                raise ValueError(f"expected a number of {self.name}, found {number}")
            if self.is_sub_byte:
                if not -(1 << self.digits) * (not self.unsigned) <= number < 1 << self.digits:
                    raise OverflowError(f"expected a number of {self.name}, found {number}")
                return bytes([int(number) & self.mask])
            return int(number).to_bytes(self.size, "little", signed=not self.unsigned)
        if self.in_numpy:
            return struct.pack({2: "<e", 4: "<f", 8: "<d"}[self.size], float(number))
        if self.size == 1:
            return self.numpy.type(number).tobytes()
        upper = struct.pack("<f", float(number))
        if any(upper[:2]):
            raise ValueError(f"expected a number of {self.name}, found {number}")
        return upper[2:]

    def bits_of(self, number: float) -> int:
        """Return the bits that represent a number, as a signed integer."""
        return int.from_bytes(self.bytes_of(number), "little", signed=True)


ELEMENTS = {
    element.name: element
    for element in (
        ElementType("f16", "float16", "uint16_t", 16, exponent_bits=5, is_native=False),
        ElementType("bf16", "bfloat16", "uint16_t", 16, exponent_bits=8, is_native=False, in_numpy=False),
        ElementType("f32", "float32", "float", 32, exponent_bits=8),
        ElementType("f64", "float64", "double", 64, exponent_bits=11),
        ElementType("i1", "bool", "uint8_t", 1),
        ElementType("i8", "int8", "int8_t", 8),
        ElementType("i16", "int16", "int16_t", 16),
        ElementType("i32", "int32", "int32_t", 32),
        ElementType("i64", "int64", "int64_t", 64),
        *(ElementType(f"ui{bits}", f"uint{bits}", f"uint{bits}_t", bits, unsigned=True) for bits in (8, 16, 32, 64)),
        ElementType("f8E4M3FN", "float8_e4m3fn", "uint8_t", 8, 4, in_numpy=False, is_native=False, variant="fn"),
        ElementType("f8E4M3FNUZ", "float8_e4m3fnuz", "uint8_t", 8, 4, in_numpy=False, is_native=False, variant="fnuz"),
        ElementType("f8E5M2", "float8_e5m2", "uint8_t", 8, 5, in_numpy=False, is_native=False),
        ElementType("f8E5M2FNUZ", "float8_e5m2fnuz", "uint8_t", 8, 5, in_numpy=False, is_native=False, variant="fnuz"),
        *(ElementType(f"i{bits}", f"int{bits}", "int8_t", bits, in_numpy=False) for bits in (2, 4)),
        *(ElementType(f"ui{bits}", f"uint{bits}", "uint8_t", bits, in_numpy=False, unsigned=True) for bits in (2, 4)),
    )
}
"""All element types by name."""
