"""Tensors of torch as arrays, and their element types."""

from __future__ import annotations

from typing import Any

import numpy as np
from xdsl.ir import Attribute

from relex.dialects.arrays import Array
from relex.dialects.dtypes import DTYPES, numpy_dtype
from relex.frontend.importing.values import refuse
from relex.frontend.torch.library import torch


def element_type_for(dtype: Any) -> Attribute:
    """Return the element type for one of torch."""
    name = str(dtype).removeprefix("torch.")
    if name not in DTYPES:
        refuse(f"elements of type {name}")
    return DTYPES[name]


def array_of(tensor: Any) -> Array:
    """Return the elements of a tensor, without a copy where torch has them in order."""
    data = tensor.detach().cpu().contiguous()
    element_type = element_type_for(data.dtype)
    dtype = numpy_dtype(element_type)
    if dtype.isbuiltin == 1:
        return data.numpy()
    integers = {1: torch.uint8, 2: torch.int16}[dtype.itemsize]
    bits: Array = data.view(integers).numpy()
    return bits.view(np.dtype(dtype))


def tensor_of(array: Array) -> Any:
    """Return the elements of an array as a tensor, which shares its memory."""
    if not array.size:
        # NumPy gives arrays without elements other strides than torch gives tensors.
        return torch.empty(array.shape, dtype=getattr(torch, array.dtype.name))
    if array.dtype.isbuiltin == 1:
        return torch.from_numpy(array)
    integers = {1: np.uint8, 2: np.int16}[array.dtype.itemsize]
    return torch.from_numpy(array.view(integers)).view(getattr(torch, array.dtype.name))
