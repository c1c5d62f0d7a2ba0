"""Tensors of other libraries, by DLPack: also tensors of bf16 and floats of 8 bits, which NumPy does not read."""

from __future__ import annotations

import ctypes
from typing import Any, cast

from relex.dialects.arrays import Array, np
from relex.dialects.element_types import ELEMENTS, ElementType
from relex.dialects.exceptions import DTypeError, kind_of

UNSIGNED = 1
FLOATS = {4: "bf16", 10: "f8E4M3FN", 11: "f8E4M3FNUZ", 12: "f8E5M2", 13: "f8E5M2FNUZ"}
"""Element types by DLPack's codes."""

_name_of = ctypes.PYFUNCTYPE(ctypes.c_char_p, ctypes.py_object)(("PyCapsule_GetName", ctypes.pythonapi))
_address_in = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi)
)


class DLTensorHead(ctypes.Structure):
    """The head of a `DLTensor`."""

    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device", ctypes.c_int32 * 2),
        ("rank", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
    )


class VersionedHead(ctypes.Structure):
    """The head of a `DLManagedTensorVersioned`."""

    _fields_ = (
        ("version", ctypes.c_uint32 * 2),
        ("context", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
        ("flags", ctypes.c_uint64),
        ("tensor", DLTensorHead),
    )


def as_array(value: Any) -> Array:
    """Return an array that shares the memory of a NumPy array or of a tensor with DLPack, or holds the numbers that
    NumPy makes of anything else. Raises `DTypeError`."""
    is_array = isinstance(value, np.ndarray | np.generic)
    if hasattr(value, "__dlpack__") and not is_array:
        try:
            return from_dlpack(value)
        except Exception as e:  # Each library has its own.
            raise DTypeError(f"expected a DLPack tensor that NumPy can read, found {kind_of(value)}: {e}") from e
    return np.asarray(cast(Any, value))


def from_dlpack(tensor: Any) -> Array:
    """Return an array that shares the memory of a tensor. Raises `DTypeError` for a tensor whose elements are not in
    its memory, and what NumPy or the tensor's library raises."""
    if hasattr(tensor, "untyped_storage"):
        _expect_elements(tensor)
    try:
        return np.from_dlpack(tensor)
    except Exception:  # NumPy has no specific exception for a type that it lacks.
        integers = _Integers(tensor)
        array = np.from_dlpack(cast(Any, integers))
        return array if integers.element is None else array.view(integers.element.numpy)


def _expect_elements(tensor: Any) -> None:
    """Raise `DTypeError` for a tensor of PyTorch that DLPack passes on although its elements are not in its memory."""
    if tensor.is_neg():
        raise DTypeError("a view that negates its elements; x.resolve_neg() has them in memory")
    if not tensor.numel():
        return
    last = tensor.storage_offset() + sum((n - 1) * s for n, s in zip(tensor.shape, tensor.stride(), strict=True))
    if not tensor.data_ptr() or (last + 1) * tensor.element_size() > tensor.untyped_storage().nbytes():
        raise DTypeError(f"a storage that is too small for all elements of shape {tuple(tensor.shape)}")


class _Integers:
    """A tensor whose elements are read as integers of the same bits if NumPy does not have their type."""

    def __init__(self, tensor: Any):
        self._tensor = tensor
        self.element: ElementType | None = None
        """The type of the elements that are read as integers."""

    def __dlpack_device__(self) -> tuple[int, int]:
        return self._tensor.__dlpack_device__()

    def __dlpack__(self, **options: Any) -> object:
        capsule = self._tensor.__dlpack__(**options)
        head = tensor_in(capsule)
        element = ELEMENTS[FLOATS[head.code]] if head is not None and head.code in FLOATS else None
        if head is not None and element is not None and element.bits == head.bits:
            self.element = element
            # The capsule was made for this call: nothing else reads it.
            head.code = UNSIGNED
        return capsule


def tensor_in(capsule: object) -> DLTensorHead | None:
    """Return the head of the tensor that a capsule of DLPack holds, None for any other capsule."""
    match _name_of(capsule):
        case b"dltensor" as name:
            return DLTensorHead.from_address(_address_in(capsule, name))
        case b"dltensor_versioned" as name:
            return VersionedHead.from_address(_address_in(capsule, name)).tensor
        case _:
            return None


def is_versioned(tensor: Any) -> bool:
    """Return whether a tensor comes by version 1 of DLPack or a later one, which say whether its memory is
    read-only."""
    try:
        return _name_of(tensor.__dlpack__(max_version=(1, 0))) == b"dltensor_versioned"
    except TypeError:
        return False
