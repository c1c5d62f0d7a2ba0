"""Tensors in ONNX files: types, data in the file and beside it."""

from __future__ import annotations

import os
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
from onnx import SparseTensorProto, TensorProto, helper, numpy_helper
from xdsl.ir import Attribute

from relex.dialects.arrays import Array
from relex.dialects.dtypes import DTYPES
from relex.dialects.errors import RelexError
from relex.frontend.onnx.values import refuse

_BITS: dict[int, int] = {
    TensorProto.UINT4: 4,
    TensorProto.INT4: 4,
    TensorProto.FLOAT4E2M1: 4,
    TensorProto.UINT2: 2,
    TensorProto.INT2: 2,
}
"""The element types that are packed into bytes."""


def dtype_of(elem_type: int) -> np.dtype[Any]:
    """Return the NumPy dtype of an element type of ONNX."""
    if elem_type == TensorProto.STRING:
        refuse("strings")
    try:
        return helper.tensor_dtype_to_np_dtype(elem_type)
    except KeyError:
        raise RelexError(f"expected an element type of ONNX, found number {elem_type}") from None


def onnx_type(element_type: Attribute) -> int:
    """Return the element type of ONNX for one of relex."""
    (name,) = [name for name, t in DTYPES.items() if t == element_type]
    import ml_dtypes

    return helper.np_dtype_to_tensor_dtype(np.dtype(getattr(ml_dtypes, name, None) or name))


MOST = 1 << 24
"""The elements at most of a tensor that a file has in fewer numbers."""


def array_of(tensor: TensorProto | SparseTensorProto, folder: Path | None) -> Array:
    """Return the elements of a tensor. Data beside the model is read from files in `folder` only."""
    if isinstance(tensor, SparseTensorProto):
        return _dense(tensor, folder)
    shape = tuple(tensor.dims)
    if any(size < 0 for size in shape):
        raise RelexError(f"expected sizes of 0 or more, found {' x '.join(map(str, shape))}")
    dtype = dtype_of(tensor.data_type)
    if tensor.data_location == TensorProto.EXTERNAL:
        return _external(tensor, folder, _bytes(tensor, dtype, shape), dtype, shape)
    if tensor.HasField("raw_data"):
        expected = _bytes(tensor, dtype, shape)
        if len(tensor.raw_data) != expected:
            raise RelexError(f"expected {expected} bytes of data for {_shown(shape)}, found {len(tensor.raw_data)}")
        if tensor.data_type not in _BITS and dtype.isnative:
            # A view of the bytes: no copy.
            return np.frombuffer(tensor.raw_data, dtype).reshape(shape)
    else:
        found = _count(tensor)
        elements = prod(shape)
        per = 8 // _BITS[tensor.data_type] if tensor.data_type in _BITS else 1
        if found != -(-elements // per):
            raise RelexError(f"expected {elements} elements for {_shown(shape)}, found {found}")
    try:
        return numpy_helper.to_array(tensor)
    except (TypeError, ValueError) as e:
        raise RelexError(f"expected a tensor, found one that cannot be read: {e}") from e


def _dense(tensor: SparseTensorProto, folder: Path | None) -> Array:
    """Return the elements of a tensor whose file has those that are not 0, and their places: numbers in row-major
    order, or an index for each dimension."""
    shape, values, places = tuple(tensor.dims), array_of(tensor.values, folder), array_of(tensor.indices, folder)
    if any(size < 0 for size in shape) or prod(shape) > MOST:
        raise RelexError(f"expected a sparse tensor of at most {MOST} elements, found {_shown(shape)}")
    if places.ndim == 2:  # The check of the model has seen that they are in the tensor, one for each element.
        places = np.ravel_multi_index(tuple(places.T), shape)
    dense = np.zeros(prod(shape), values.dtype)
    dense[places] = values
    return dense.reshape(shape)


def _shown(shape: tuple[int, ...]) -> str:
    return f"shape {'x'.join(map(str, shape)) or 'scalar'}"


def _bytes(tensor: TensorProto, dtype: np.dtype[Any], shape: tuple[int, ...]) -> int:
    bits = _BITS.get(tensor.data_type, dtype.itemsize * 8)
    return -(-prod(shape) * bits // 8)


def _count(tensor: TensorProto) -> int:
    """Return the number of elements in the field of a tensor's element type."""
    field = helper.tensor_dtype_to_field(tensor.data_type)
    stored = len(getattr(tensor, field))
    return stored // 2 if tensor.data_type in (TensorProto.COMPLEX64, TensorProto.COMPLEX128) else stored


def _external(
    tensor: TensorProto, folder: Path | None, size: int, dtype: np.dtype[Any], shape: tuple[int, ...]
) -> Array:
    entries = {entry.key: entry.value for entry in tensor.external_data}
    location = entries.get("location", "")
    if folder is None:
        raise RelexError(
            f"expected the path of a file, as data is in another one, '{location}'; found a model in memory"
        )
    path = (folder / location).resolve()
    if not location or os.path.isabs(location) or not path.is_relative_to(folder.resolve()):
        raise RelexError(f"expected data in the folder of the model, found '{location}'")
    try:
        offset, length = int(entries.get("offset", "0")), int(entries.get("length", str(size)))
    except ValueError as e:
        raise RelexError(f"expected numbers for offset and length of the data in '{location}': {e}") from e
    if not path.is_file():
        raise RelexError(f"expected data in the file '{location}', found none of this name")
    if length != size or offset < 0 or offset + length > path.stat().st_size:
        found = f"{length} bytes at {offset} of {path.stat().st_size}"
        raise RelexError(f"expected {size} bytes for {_shown(shape)} in '{location}', found {found}")
    with path.open("rb") as file:
        file.seek(offset)
        data = file.read(length)
    if tensor.data_type in _BITS:
        inside = TensorProto(dims=tensor.dims, data_type=tensor.data_type, raw_data=data)
        return numpy_helper.to_array(inside)
    return np.frombuffer(data, dtype).reshape(shape)
