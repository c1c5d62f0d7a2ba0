"""Arrays in memory-mapped archives of NumPy: ZIP files of which each member is an `.npy` file."""

from __future__ import annotations

import mmap
from collections import Counter
from math import prod
from pathlib import Path
from typing import Any, cast
from zipfile import ZIP_STORED, ZipFile, ZipInfo

from relex.dialects.arrays import Array, np
from relex.dialects.dtypes import Pages

_LOCAL_HEADER, _LENGTHS = 30, 26
"""The size of what precedes the name of a member in a ZIP file, and where in it the lengths of the name and of another
field are, of two bytes each."""

_SUFFIX = ".npy"


def map_arrays(file: str | Path, *, stays: bool = False) -> dict[str, Array]:
    """Return the arrays in a file as views of its contents, by name, which are read on demand: the file must not change
    meanwhile, and its checksums are not looked at. Arrays that are compressed, or at no address for their elements, are
    left out, and so is what is no array of numbers, and names that two members have. If the file `stays` as it is,
    constants may be views of it."""
    with Path(file).open("rb") as stream, ZipFile(stream) as archive:
        contents = (Pages if stays else mmap.mmap)(stream.fileno(), 0, access=mmap.ACCESS_READ)
        names = Counter(name.removesuffix(_SUFFIX) for name in archive.namelist())
        names.update(archive.namelist())  # A member may have the name of the array in another one.
        found = {
            name: _array(contents, info)
            for info in archive.infolist()
            if info.compress_type == ZIP_STORED and names[name := info.filename.removesuffix(_SUFFIX)] == 1
        }
    return {name: array for name, array in found.items() if array is not None}


def _array(contents: mmap.mmap, member: ZipInfo) -> Array | None:
    if not member.filename.endswith(_SUFFIX):
        return None
    lengths = contents[member.header_offset + _LENGTHS : member.header_offset + _LOCAL_HEADER]
    size = int.from_bytes(lengths[:2], "little") + int.from_bytes(lengths[2:], "little")
    start = member.header_offset + _LOCAL_HEADER + size
    contents.seek(start)
    readers = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
    read: Any = readers.get(np.lib.format.read_magic(cast(Any, contents)))
    if read is None:
        return None
    shape, in_columns, dtype = read(contents)
    begin, end = contents.tell(), start + member.file_size
    if dtype.hasobject or prod(shape) * dtype.itemsize != end - begin:
        return None
    found = np.frombuffer(memoryview(contents)[begin:end], dtype)
    found = found.reshape(shape[::-1]).T if in_columns else found.reshape(shape)
    return found if found.flags.aligned else None
