"""Views of buffers: they share memory, compiled code makes the same of them, and they stay in their buffer."""

from __future__ import annotations

import numpy as np
import pytest
from native import Array, bits, call, compile_core

from relex.dialects.errors import ExecutionError
from relex.reference import interpret

CONSTANTS = "\n".join(f"%c{i} = arith.constant {i} : index" for i in (0, 1, 2, 3, 4, 6, 24)) + "\n"


def program(body: str) -> str:
    """Of a 4x6 buffer that is read and written."""
    return (
        f"func.func @main(%x: memref<4x6xf32>) {{\n{CONSTANTS}%one = arith.constant 1.0 : f32\n{body}\nfunc.return\n}}"
    )


def interpreted(body: str, *, checked: bool = True) -> Array:
    x = np.arange(24, dtype=np.float32).reshape(4, 6)
    interpret(program(body), checked=checked)["main"](x)
    return x


def copied(kind: str, dimensions: int) -> str:
    """Writes 1 at [1, ...] of the view %v, and twice what is read from there at [0, ...]."""
    zeros, ones = (", ".join([c] * dimensions) for c in ("%c0", "%c1"))
    return f"""
    memref.store %one, %v[{ones}] : {kind}
    %f = memref.load %v[{ones}] : {kind}
    %g = arith.addf %f, %f : f32
    memref.store %g, %v[{zeros}] : {kind}
    """


STRIDED = "strided<[?, ?], offset: ?>"
VIEWS: dict[str, str] = {
    "subview": "%v = memref.subview %x[1, 2] [2, 3] [1, 1] : memref<4x6xf32> to "
    "memref<2x3xf32, strided<[6, 1], offset: 8>>" + copied("memref<2x3xf32, strided<[6, 1], offset: 8>>", 2),
    "subview with steps": "%v = memref.subview %x[0, 1] [2, 2] [3, 2] : memref<4x6xf32> to "
    "memref<2x2xf32, strided<[18, 2], offset: 1>>" + copied("memref<2x2xf32, strided<[18, 2], offset: 1>>", 2),
    "subview at places that are computed": "%v = memref.subview %x[%c1, %c3] [%c2, 2] [%c2, 1] : memref<4x6xf32> to "
    "memref<?x2xf32, strided<[?, 1], offset: ?>>" + copied("memref<?x2xf32, strided<[?, 1], offset: ?>>", 2),
    "row": "%v = memref.subview %x[2, 0] [1, 6] [1, 1] : memref<4x6xf32> to memref<6xf32, strided<[1], offset: 12>>"
    + copied("memref<6xf32, strided<[1], offset: 12>>", 1),
    "column": "%v = memref.subview %x[0, 2] [4, 1] [1, 1] : memref<4x6xf32> to memref<4xf32, strided<[6], offset: 2>>"
    + copied("memref<4xf32, strided<[6], offset: 2>>", 1),
    "view of a view": "%u = memref.subview %x[1, 1] [3, 4] [1, 1] : memref<4x6xf32> to "
    "memref<3x4xf32, strided<[6, 1], offset: 7>>\n%v = memref.subview %u[1, 2] [2, 2] [1, 1] : "
    "memref<3x4xf32, strided<[6, 1], offset: 7>> to memref<2x2xf32, strided<[6, 1], offset: 15>>"
    + copied("memref<2x2xf32, strided<[6, 1], offset: 15>>", 2),
    "reinterpreted": '%v = "memref.reinterpret_cast"(%x) <{static_offsets = array<i64: 3>, '
    "static_sizes = array<i64: 6, 2>, static_strides = array<i64: 2, 7>, "
    'operandSegmentSizes = array<i32: 1, 0, 0, 0>}> : (memref<4x6xf32>) -> memref<6x2xf32, strided<[2, 7], offset: 3>>'
    + copied("memref<6x2xf32, strided<[2, 7], offset: 3>>", 2),
    "expanded": '%v = "memref.expand_shape"(%x) <{reassociation = [[0], [1, 2]], '
    "static_output_shape = array<i64: 4, 2, 3>}> : (memref<4x6xf32>) -> memref<4x2x3xf32>"
    + copied("memref<4x2x3xf32>", 3),
    "collapsed": '%v = "memref.collapse_shape"(%x) <{reassociation = [[0, 1]]}> : (memref<4x6xf32>) -> memref<24xf32>'
    + copied("memref<24xf32>", 1),
    "cast": '%v = "memref.cast"(%x) : (memref<4x6xf32>) -> memref<?x?xf32, strided<[?, ?], offset: ?>>'
    + copied("memref<?x?xf32, strided<[?, ?], offset: ?>>", 2),
}  # fmt: skip


@pytest.mark.parametrize("name", VIEWS)
def test_views(name: str) -> None:
    body = VIEWS[name]
    compiled = np.arange(24, dtype=np.float32).reshape(4, 6)
    call(compile_core(program(body)), "main", compiled)
    for checked in (False, True):
        assert bits(interpreted(body, checked=checked)) == bits(compiled)
    assert (compiled != np.arange(24).reshape(4, 6)).any()


def test_scopes_of_memory() -> None:
    body = """
    %s = "memref.alloca_scope"() ({
      %t = memref.alloca() : memref<2xf32>
      memref.store %one, %t[%c1] : memref<2xf32>
      %u = memref.load %t[%c1] : memref<2xf32>
      "memref.alloca_scope.return"(%u) : (f32) -> ()
    }) : () -> f32
    memref.store %s, %x[%c2, %c3] : memref<4x6xf32>
    """
    assert interpreted(body)[2, 3] == 1


def test_metadata_and_bytes() -> None:
    body = """
    %v = memref.subview %x[1, 2] [2, 3] [1, 1] : memref<4x6xf32> to memref<2x3xf32, strided<[6, 1], offset: 8>>
    %b, %o, %m:2, %s:2 = memref.extract_strided_metadata %v : memref<2x3xf32, strided<[6, 1], offset: 8>>
        -> memref<f32>, index, index, index, index, index
    %p = arith.index_cast %o : index to i32
    %q = arith.sitofp %p : i32 to f32
    memref.store %q, %b[] : memref<f32>
    %bytes = memref.alloc() : memref<32xi8>
    %w = memref.view %bytes[%c4][%c3] : memref<32xi8> to memref<?xf32>
    memref.store %one, %w[%c1] : memref<?xf32>
    %again = memref.view %bytes[%c4][] : memref<32xi8> to memref<2xf32>
    %r = memref.load %again[%c1] : memref<2xf32>
    memref.store %r, %x[%c0, %c1] : memref<4x6xf32>
    """
    np.testing.assert_array_equal(interpreted(body)[0, :2], [8, 1])


def test_offsets_count_from_the_beginning_of_a_view_of_bytes() -> None:
    body = """
    %bytes = memref.alloc() : memref<64xi8>
    %v = memref.view %bytes[%c4][%c3] : memref<64xi8> to memref<?xf32>
    memref.store %one, %v[%c2] : memref<?xf32>
    %u = "memref.cast"(%v) : (memref<?xf32>) -> memref<3xf32>
    %0 = memref.load %u[%c2] : memref<3xf32>
    memref.store %0, %x[%c0, %c0] : memref<4x6xf32>
    %b, %o, %m, %s = memref.extract_strided_metadata %u : memref<3xf32> -> memref<f32>, index, index, index
    %p = arith.index_cast %o : index to i32
    %q = arith.sitofp %p : i32 to f32
    memref.store %q, %x[%c0, %c1] : memref<4x6xf32>
    %r = memref.reinterpret_cast %u to offset: [2], sizes: [1], strides: [1]
        : memref<3xf32> to memref<1xf32, strided<[1], offset: 2>>
    %2 = memref.load %r[%c0] : memref<1xf32, strided<[1], offset: 2>>
    memref.store %2, %x[%c0, %c2] : memref<4x6xf32>
    """
    np.testing.assert_array_equal(interpreted(body)[0, :3], [1, 0, 1])


WRONG = {
    "access": (
        VIEWS["subview"] + "%e = memref.load %v[%c2, %c0] : memref<2x3xf32, strided<[6, 1], offset: 8>>",
        r"'memref.load' op expected index 0 of %v in 0..1, found 2",
    ),
    "subview": (
        f"%v = memref.subview %x[%c3, 0] [2, 6] [1, 1] : memref<4x6xf32> to memref<2x6xf32, {STRIDED}>",
        r"'memref.subview' op expected index 0 of %x in 0..3, found 3..4",
    ),
    "negative size": (
        "%m = arith.subi %c1, %c3 : index\n%v = memref.subview %x[0, 0] [%m, 6] [1, 1] : memref<4x6xf32> to "
        f"memref<?x6xf32, {STRIDED}>",
        r"'memref.subview' op expected sizes of 0 or more, found -2",
    ),
    "reinterpreted": (
        '%v = "memref.reinterpret_cast"(%x, %c24) <{static_offsets = array<i64: -9223372036854775808>, '
        "static_sizes = array<i64: 1>, static_strides = array<i64: 1>, operandSegmentSizes = array<i32: 1, 1, 0, 0>}> "
        ": (memref<4x6xf32>, index) -> memref<1xf32, strided<[1], offset: ?>>",
        r"expected a view of the 24 elements in the memory of %x, found 24..24",
    ),
    "cast": (
        f'%u = "memref.cast"(%x) : (memref<4x6xf32>) -> memref<?x?xf32, {STRIDED}>\n'
        f'%v = "memref.cast"(%u) : (memref<?x?xf32, {STRIDED}>) -> memref<?x?xf32, strided<[5, 1]>>',
        r"'memref.cast' op expected a buffer of type .*, found sizes \[4, 6\], strides \[6, 1\], offset 0",
    ),
    "freed": (
        "%t = memref.alloc() : memref<4x6xf32>\n%v = memref.subview %t[1, 0] [1, 6] [1, 1] : memref<4x6xf32> to "
        "memref<6xf32, strided<[1], offset: 6>>\nmemref.dealloc %t : memref<4x6xf32>\n"
        "%e = memref.load %v[%c0] : memref<6xf32, strided<[1], offset: 6>>",
        r"'memref.load' op expected memory that is in use, found %v, freed in line",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_views_stay_in_their_buffer(name: str) -> None:
    body, message = WRONG[name]
    with pytest.raises(ExecutionError, match=message):
        interpreted(body)


def parallel(body: str) -> str:
    return f"""
    %v = memref.subview %x[0, 1] [4, 5] [1, 1] : memref<4x6xf32> to memref<4x5xf32, strided<[6, 1], offset: 1>>
    "scf.parallel"(%c0, %c3, %c1) <{{operandSegmentSizes = array<i32: 1, 1, 1, 0>}}> ({{
    ^bb0(%i: index):
      {body}
      scf.reduce
    }}) : (index, index, index) -> ()
    """


RACES = {
    "two names for an element": (
        "memref.store %one, %x[%c0, %i] : memref<4x6xf32>\n"
        "memref.store %one, %v[%c0, %i] : memref<4x5xf32, strided<[6, 1], offset: 1>>",
        r"write an element, found %x\[0, 1\] written at %i = 0 and at %i = 1",
    ),
    "read what another wrote": (
        "memref.store %one, %v[%c0, %i] : memref<4x5xf32, strided<[6, 1], offset: 1>>\n"
        "%e = memref.load %x[%c0, %i] : memref<4x6xf32>",
        r"use an element that is written, found %x\[0, 1\] written at %i = 0 and read at %i = 1",
    ),
    "written after another read it": (
        "%e = memref.load %v[%c0, %i] : memref<4x5xf32, strided<[6, 1], offset: 1>>\n"
        "memref.store %e, %x[%c0, %i] : memref<4x6xf32>",
        r"use an element that is written, found %x\[0, 1\] read at %i = 0 and written at %i = 1",
    ),
    "own elements": (
        "%e = memref.load %v[%i, %c1] : memref<4x5xf32, strided<[6, 1], offset: 1>>\n"
        "memref.store %e, %x[%i, %c0] : memref<4x6xf32>",
        None,
    ),
}


@pytest.mark.parametrize("name", RACES)
def test_races(name: str) -> None:
    body, message = RACES[name]
    interpreted(parallel(body), checked=False)
    if message is None:
        interpreted(parallel(body))
        return
    with pytest.raises(ExecutionError, match=message):
        interpreted(parallel(body))
