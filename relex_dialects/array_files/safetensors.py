"""Arrays in files of the format safetensors: the length of a header, the header in JSON, the bytes of the arrays."""

from __future__ import annotations

import json
import mmap
from collections.abc import Mapping
from math import prod
from pathlib import Path
from typing import Any, cast

from relex.dialects.arrays import Array, np
from relex.dialects.dtypes import DTYPES, Pages, numpy_dtype
from relex.dialects.errors import RelexError

SUFFIX = ".safetensors"

_DTYPES = {
    "BOOL": "bool",
    "BF16": "bfloat16",
    **{f"F{bits}": f"float{bits}" for bits in (16, 32, 64)},
    **{f"I{bits}": f"int{bits}" for bits in (8, 16, 32, 64)},
    **{f"U{bits}": f"uint{bits}" for bits in (8, 16, 32, 64)},
}
"""Names of dtypes by the names of the format."""


def read_safetensors(file: str | Path, *, mapped: bool = False, stays: bool = False) -> dict[str, Array]:
    """Return the arrays in a file by name, as views of its contents; if `mapped`, the contents are memory-mapped, and
    read on demand: the file must not change meanwhile. If it `stays` as it is, constants may be views of it. Raises
    `RelexError` for one of another format."""
    data = _contents(Path(file), mapped=mapped, stays=stays)
    length = int.from_bytes(data[:8], "little")
    if len(data) < 8 or length > len(data) - 8:
        raise RelexError(f"expected a header of {length} bytes, found a file of {len(data)}")
    try:
        header: object = json.loads(bytes(data[8 : 8 + length]))
    except (ValueError, RecursionError) as e:
        raise RelexError(f"expected a header in JSON: {e}") from e
    if not isinstance(header, dict):
        raise RelexError("expected a header with the names of arrays")
    entries = cast("Mapping[str, Any]", header)
    return {name: _array(name, entry, data, 8 + length) for name, entry in entries.items() if name != "__metadata__"}


def _contents(file: Path, *, mapped: bool, stays: bool) -> memoryview:
    if not mapped or not file.stat().st_size:
        return memoryview(file.read_bytes())
    with file.open("rb") as stream:
        return memoryview((Pages if stays else mmap.mmap)(stream.fileno(), 0, access=mmap.ACCESS_READ))


def _array(name: str, entry: Any, data: memoryview, start: int) -> Array:
    try:
        kind, shape, (begin, end) = entry["dtype"], entry["shape"], entry["data_offsets"]
        sizes = [int(size) for size in shape]
        begin, end = int(begin), int(end)
    except (TypeError, ValueError, KeyError) as e:
        raise RelexError(f"expected dtype, shape and data_offsets of '{name}', found {entry}") from e
    if kind not in _DTYPES or _DTYPES[kind] not in DTYPES:
        raise RelexError(f"expected a dtype among {', '.join(_DTYPES)} for '{name}', found {kind}")
    dtype = numpy_dtype(DTYPES[_DTYPES[kind]])
    expected = prod(sizes) * dtype.itemsize
    if min(sizes, default=0) < 0 or not 0 <= begin <= end <= len(data) - start or end - begin != expected:
        raise RelexError(f"expected {expected} bytes for '{name}', found {begin} to {end} of {len(data) - start}")
    found = np.frombuffer(data[start + begin : start + end], dtype).reshape(sizes)
    return found if found.flags.aligned else found.copy()
