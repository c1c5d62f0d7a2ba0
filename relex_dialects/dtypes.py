"""Element types, and conversions between dense attributes and NumPy arrays."""

from __future__ import annotations

import copyreg
import mmap
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cache, lru_cache
from io import BytesIO
from math import prod
from typing import TYPE_CHECKING, Any, cast

from xdsl.dialects import builtin
from xdsl.dialects.builtin import (
    AnyDenseElement,
    BytesAttr,
    CompileTimeFixedBitwidthType,
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    IndexType,
    IntegerType,
    MemRefType,
    NoneAttr,
    Signedness,
    TensorType,
    VectorType,
    i1,
)
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import (
    AnyAttr,
    AttrConstraint,
    AttrSetConstraint,
    EqAttrConstraint,
    ParamAttrConstraint,
    VarOperand,
    operand_def,
    var_operand_def,
)
from xdsl.utils.hints import isa

from relex.dialects.arrays import np
from relex.dialects.element_types import ELEMENTS, ElementType
from relex.dialects.exceptions import DTypeError

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]


MAPPED_BYTES = 2**16
"""The size of a constant from which on it is worth separate pages."""


def _type_of(element: ElementType) -> Attribute:
    if element.is_float:
        return getattr(builtin, element.name)
    return IntegerType(element.bits, Signedness.UNSIGNED if element.unsigned else Signedness.SIGNLESS)


_RECORDS: dict[Attribute, ElementType] = {_type_of(element): element for element in ELEMENTS.values()}

ui8 = IntegerType(8, Signedness.UNSIGNED)
"""What xDSL's `i8` is for signless bytes."""

ELEMENT_TYPES = tuple(_RECORDS)
"""Element types of tensors. Signless integers are interpreted as signed; i1 is NumPy's bool."""

FLOATS = tuple(t for t, element in _RECORDS.items() if element.is_float and element.bits > 8)
"""The floats that operators on floats take; floats of 8 bits are for storage, and converted."""
INTEGERS = tuple(t for t, e in _RECORDS.items() if not (e.is_float or e.is_bool or e.is_sub_byte))
NUMBERS = (*FLOATS, *INTEGERS)
"""All element types that operators on numbers take; i1 is none."""
SUB_BYTE = tuple(t for t, element in _RECORDS.items() if element.is_sub_byte)
"""Integers of fewer than 8 bits, which are for storage: operators move them and convert them."""

STORAGE_TYPES: dict[Attribute, Attribute] = {t: getattr(builtin, e.storage) for t, e in _RECORDS.items()}
"""The element types of the buffers that hold elements of tensors: integers without a sign, for those with one."""

BUFFER_TYPES = tuple(dict.fromkeys(STORAGE_TYPES.values()))
"""All element types of buffers."""

DTYPES = {element.dtype: t for t, element in _RECORDS.items()}
"""Element types by the names of their dtypes."""

ElementConstr = AttrSetConstraint.get(*ELEMENT_TYPES)
BufferElementConstr = AttrSetConstraint.get(*BUFFER_TYPES)
TensorConstr: AttrConstraint[TensorType] = ParamAttrConstraint(
    TensorType, (AnyAttr(), ElementConstr, EqAttrConstraint(NoneAttr()))
)
"""Tensors of these element types, without an encoding."""


def tensor_operand_def() -> SSAValue[TensorType]:
    """Declare an operand of tensor type. xDSL's `operand_def(TensorConstr)` does the same, but type checkers do not
    know then that the type of the value is a tensor type."""
    return cast(SSAValue[TensorType], operand_def(TensorConstr))


def var_tensor_operand_def() -> VarOperand[TensorType]:
    """Declare any number of operands of tensor type."""
    return cast(VarOperand[TensorType], var_operand_def(TensorConstr))


def record_of(element_type: Attribute) -> ElementType:
    """Return the record of an element type. Raises `DTypeError` for other types."""
    if element_type not in _RECORDS:
        raise DTypeError(f"expected an element type among {', '.join(ELEMENTS)}, found {element_type}")
    return _RECORDS[element_type]


def size_in_bytes(element_type: Attribute) -> int:
    """Return the size of an element of a buffer."""
    # xDSL knows none. Errors about programs that have them come later.
    if isinstance(element_type, builtin.Float80Type | builtin.Float128Type):
        return 16
    return element_type.compile_time_size if isinstance(element_type, CompileTimeFixedBitwidthType) else 8


def is_unsigned(t: Attribute) -> bool:
    """Return whether a type is a type of integers without negative numbers."""
    return isa(t, IntegerType) and t.signedness.data is Signedness.UNSIGNED


def is_emulated(t: Attribute) -> bool:
    """Return whether a type is one of floats that processors have no arithmetic for."""
    return t in _RECORDS and not _RECORDS[t].is_native


def is_sub_byte(dtype: np.dtype[Any]) -> bool:
    """Return whether a dtype is one of integers of fewer than 8 bits."""
    return dtype.name in DTYPES and DTYPES[dtype.name] in SUB_BYTE


def takes_whole_bytes(t: Attribute) -> bool:
    """Return whether elements of a machine type take whole bytes in buffers: an i1 takes one, other integers that fill
    none are packed."""
    return not isa(t, IntegerType) or t.width.data in (1, 8, 16, 32, 64)


def storage_of(t: Attribute) -> Attribute:
    """Return the element type of the buffers that hold elements of a type."""
    return STORAGE_TYPES.get(t, t)


@lru_cache(maxsize=1024)
def buffer_of(tensor: TensorType) -> MemRefType:
    """Return the type of the buffers that hold tensors of a type."""
    return MemRefType(storage_of(tensor.element_type), tensor.get_shape())


def integer_limits(element_type: Attribute) -> tuple[int, int]:
    """Return the smallest and the largest number of an integer type. Signless integers are signed, except i1, which is
    a boolean. Raises `ValueError` for other types."""
    if element_type == i1:
        return 0, 1
    if not isa(element_type, IntegerType):
        raise ValueError(f"expected a type with a smallest and a largest number, found {element_type}")
    if is_unsigned(element_type):
        return 0, (1 << element_type.bitwidth) - 1
    end = 1 << element_type.bitwidth - 1
    return -end, end - 1


def numpy_dtype(element_type: Attribute) -> np.dtype[Any]:
    """Return the NumPy dtype of an element type. Raises `DTypeError` for types that relex does not have, and for bf16
    without the package that has its dtype."""
    return record_of(element_type).numpy


def has_dtype(element_type: Attribute) -> bool:
    """Return whether there are NumPy arrays of an element type."""
    return element_type in _RECORDS and _RECORDS[element_type].has_dtype


@cache  # NumPy puts the name together each time.
def is_float_dtype(dtype: np.dtype[Any]) -> bool:
    """Return whether a dtype is one of floats, NumPy's or another."""
    return dtype.name in DTYPES and _RECORDS[DTYPES[dtype.name]].is_float


def converted(x: Array, dtype: np.dtype[Any]) -> Array:
    """Return numbers as numbers of a dtype. Floats that NumPy lacks are made by way of f32, as by compiled code, so
    that wider numbers are rounded twice. Versions of the extension differ in that."""
    by_f32 = is_float_dtype(dtype) and not _RECORDS[DTYPES[dtype.name]].in_numpy
    return (x.astype(np.float32) if by_f32 else x).astype(dtype)


def element_type_of(dtype: np.dtype[Any]) -> Attribute:
    """Return the element type of a NumPy dtype. Raises `DTypeError` if there is none."""
    if dtype.name not in DTYPES:
        raise DTypeError(f"expected a dtype among {', '.join(DTYPES)}, found {dtype.name}")
    return DTYPES[dtype.name]


def dense_from_array(array: Array) -> DenseIntOrFPElementsAttr:
    """Return a dense attribute with the elements of an array, in row-major order. An array that is a view of a whole
    `bytes` object, as `array_from_dense` returns, shares its bytes with the attribute."""
    element_type = element_type_of(array.dtype)
    if element_type == i1:
        # A bool array that views other memory may hold any byte.
        array = np.require(array, requirements="C").view(np.uint8) != 0
    elif element_type not in SUB_BYTE and (data := _viewed_bytes(array)) is not None:
        return dense_from_bytes(dense_type(element_type, array.shape), data)
    return mapped_dense(element_type, array.shape, lambda elements: np.copyto(elements, array))


def integer_splat(
    t: VectorType[IntegerType] | VectorType[IntegerType | IndexType], value: int
) -> DenseIntOrFPElementsAttr:
    """Return a vector of one integer, the same as if it were parsed: xDSL makes 255 of true."""
    dense = DenseIntOrFPElementsAttr.from_list(t, [value])
    return DenseIntOrFPElementsAttr(t, BytesAttr(dense_bytes(dense))) if t.element_type == i1 else dense


def filled_dense(
    element_type: Attribute, shape: Sequence[int], fill: Callable[[Array], None]
) -> DenseIntOrFPElementsAttr:
    """Return a dense attribute with the elements that `fill` writes into an array of the given shape, which it must not
    keep. There is only one copy of the elements at any time, which matters for hundreds of megabytes."""
    dtype = numpy_dtype(element_type).newbyteorder("<")
    # `getvalue` returns its bytes without a copy.
    buffer = BytesIO(bytes(prod(shape) * dtype.itemsize))
    with buffer.getbuffer() as memory:
        fill(np.ndarray(tuple(shape), dtype, memory))
    return dense_from_bytes(dense_type(element_type, shape), buffer.getvalue())


def mapped_dense(
    element_type: Attribute, shape: Sequence[int], fill: Callable[[Array], None]
) -> DenseIntOrFPElementsAttr:
    """Do what `filled_dense` does, in pages of memory: the loader, which aligns constants, need not copy them. Their
    bytes are a read-only view, which xDSL takes for `bytes`."""
    dtype = numpy_dtype(element_type).newbyteorder("<")
    size = prod(shape) * dtype.itemsize
    if size < MAPPED_BYTES or element_type in SUB_BYTE or element_type == i1:
        return filled_dense(element_type, shape, fill)
    memory = pages(size)
    fill(np.ndarray(tuple(shape), dtype, memory))
    return dense_from_bytes(dense_type(element_type, shape), cast(bytes, memoryview(memory).toreadonly()))


class Pages(mmap.mmap):
    """Memory of a constant, which nothing writes to once it is filled, or a mapped file that stays as it is, unlike
    others."""


def _reduced(view: memoryview) -> tuple[Any, tuple[bytes]]:
    """Pickle and copy what is in pages as `bytes`. Other views are refused, as Python does."""
    if not isinstance(view.obj, Pages):
        raise TypeError(f"cannot pickle {type(view).__name__!r} object")
    return bytes, (view.tobytes(),)


# Modules can be pickled and copied, with whatever constants.
copyreg.pickle(memoryview, _reduced)


def pages(size: int) -> Pages:
    """Return memory that nothing else uses, in large pages where the system has them, as for NumPy's arrays."""
    if sys.platform == "win32":
        return Pages(-1, size)
    memory = Pages(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    if sys.platform == "linux":
        with suppress(OSError):
            memory.madvise(mmap.MADV_HUGEPAGE)
    return memory


def dense_from_bytes(t: TensorType[AnyDenseElement], data: bytes) -> DenseIntOrFPElementsAttr:
    """Return a dense attribute with these elements. Of integers of fewer than 8 bits, all bits but the low ones are
    set as xDSL does, which reads whole bytes."""
    if t.element_type in SUB_BYTE:
        data = data.translate(_bytes_of_numbers(record_of(t.element_type)))
    return DenseIntOrFPElementsAttr(t, BytesAttr(data))


def dense_type(element_type: Attribute, shape: Sequence[int]) -> TensorType[AnyDenseElement]:
    """Return the type of a dense attribute."""
    return cast(TensorType[AnyDenseElement], TensorType(element_type, shape))


def _viewed_bytes(array: Array) -> bytes | None:
    """Return the bytes of a dense attribute that consist of exactly the array's elements in row-major order, if the
    array views such."""
    owner: object = array
    while isinstance(owner, np.ndarray):
        owner = cast(object, owner.base)
    if isinstance(owner, memoryview) and not (owner.readonly and isinstance(owner.obj, Pages)):
        return None
    if not isinstance(owner, bytes | memoryview):
        return None
    data = cast(bytes, owner)
    if len(data) != array.nbytes:
        return None
    return data if array.flags.c_contiguous and array.dtype == array.dtype.newbyteorder("<") else None


def array_from_dense(dense: DenseIntOrFPElementsAttr) -> Array:
    """Return the elements of a dense attribute as a read-only array, a view of its bytes."""
    dtype = numpy_dtype(dense.get_element_type())
    return np.frombuffer(dense_bytes(dense), dtype=dtype.newbyteorder("<")).reshape(dense.get_shape())


def dense_integers(attr: object) -> tuple[int, ...] | None:
    """Return the integers of an `array<i64: ...>`; None for any other attribute. `isa` takes 0.1 ms to tell them."""
    if not isinstance(attr, DenseArrayBase):
        return None
    array = cast("DenseArrayBase[Any]", attr)
    return tuple(array.iter_values()) if isinstance(array.elt_type, IntegerType) else None


def dense_bytes(dense: DenseIntOrFPElementsAttr) -> bytes:
    """Return the little-endian bytes of a dense attribute; for i1 0 and 1, where xDSL also has 255; for integers of
    fewer than 8 bits the number in the low bits, and 0 in the others."""
    data, element_type = dense.data.data, dense.get_element_type()
    if element_type in SUB_BYTE:
        return data.translate(bytes(i & record_of(element_type).mask for i in range(256)))
    return data.translate(_TRUTH) if element_type == i1 else data


def _bytes_of_numbers(element: ElementType) -> bytes:
    """Return a translation table from a byte with a number in its low bits to that number."""
    sign = 0 if element.unsigned else 1 << element.bits - 1
    return bytes((((i & element.mask) ^ sign) - sign) & 255 for i in range(256))


def repeats(data: bytes, element: bytes) -> bool:
    """Return whether data is a single element, over and over. Data of hundreds of megabytes is not copied."""
    part = bytes(element) * (1 << 12)
    return all(part.startswith(bytes(data[i : i + len(part)])) for i in range(0, len(data), len(part)))


_TRUTH = bytes([0, *[1] * 255])
"""Translation table from any byte of an i1 to 0 or 1."""
