"""Ops on whole vectors: relex's conversions compute what MLIR's do, bit for bit."""

from __future__ import annotations

import numpy as np
import pytest
from native import DTYPES, Array, agree, call, compile_core, needs_mlir, samples
from test_llvm_corpus import FLOATS, HALF, INTEGERS


def vector_program(body: str, arguments: str, kind: str, stored: str) -> str:
    """A function that computes `%r`, of type `stored`, and stores its bytes."""
    store = f"vector.store %r, %out[%c0] : memref<?x{kind}>, {stored}"
    if not stored.startswith("vector"):
        store = f"memref.store %r, %out[%c0] : memref<?x{kind}>"
    return f"""
func.func @f({arguments}, %out: memref<?x{kind}>) {{
  %c0 = arith.constant 0 : index
  {body}
  {store}
  func.return
}}"""


REDUCTIONS = {
    "float": "add mul minnumf maxnumf minimumf maximumf".split(),
    "integer": "add mul minui minsi maxui maxsi and or xor".split(),
}


@pytest.mark.sampled
@needs_mlir
@pytest.mark.parametrize("kind", ["i8", "i32", "i64", "index", *FLOATS])
@pytest.mark.parametrize("length", [1, 4, 7, 16])
def test_reductions(kind: str, length: int):
    combinations = REDUCTIONS["float" if kind.startswith("f") else "integer"]
    flags = ["", "fastmath<reassoc>"] if kind in ("f32", "f64") else [""]
    body = ["%v = vector.load %x[%c0] : memref<?xKIND>, vector<NxKIND>", "%a = memref.load %y[%c0] : memref<?xKIND>"]
    cases = [(c, acc, flag) for c in combinations for acc in ("", ", %a") for flag in flags]
    for i, (combination, acc, flag) in enumerate(cases):
        # Sums in any order, of numbers that have none to round off.
        source = "%small" if flag else "%v"
        body += [
            f"%i{i} = arith.constant {i} : index",
            f"%r{i} = vector.reduction <{combination}>, {source}{acc} {flag} : vector<NxKIND> into KIND",
            f"memref.store %r{i}, %out[%i{i}] : memref<?xKIND>",
        ]
    body.insert(2, "%small = vector.load %z[%c0] : memref<?xKIND>, vector<NxKIND>")
    text = "func.func @f(%x: memref<?xKIND>, %y: memref<?xKIND>, %z: memref<?xKIND>, %out: memref<?xKIND>) {\n"
    text += "  %c0 = arith.constant 0 : index\n  " + "\n  ".join(body) + "\n  func.return\n}"
    text = text.replace("KIND", kind).replace("vector<Nx", f"vector<{length}x")
    small = np.arange(1, length + 1).astype(DTYPES[kind]) % 3
    calls: list[list[Array | int]] = []
    for start in range(0, 200, length):
        x, y = samples(kind, 1)[start : start + length], samples(kind, 2)[start : start + 1]
        calls.append([x, y, small.astype(x.dtype), np.zeros(len(cases), DTYPES[kind])])
    agree(text, calls)


ELEMENTS = {
    "broadcast": ("%r = vector.broadcast %s : KIND to vector<4xKIND>", "vector<4xKIND>"),
    "broadcast one": ("%r = vector.broadcast %s : KIND to vector<1xKIND>", "vector<1xKIND>"),
    "broadcast vector": (
        "%o = vector.broadcast %s : KIND to vector<1xKIND>\n"
        "%r = vector.broadcast %o : vector<1xKIND> to vector<5xKIND>",
        "vector<5xKIND>",
    ),
    "extract": ("%r = vector.extract %v[2] : KIND from vector<4xKIND>", "KIND"),
    "extract dynamic": ("%r = vector.extract %v[%i] : KIND from vector<4xKIND>", "KIND"),
    "insert": ("%r = vector.insert %s, %v [3] : KIND into vector<4xKIND>", "vector<4xKIND>"),
    "insert dynamic": ("%r = vector.insert %s, %v [%i] : KIND into vector<4xKIND>", "vector<4xKIND>"),
    "shuffle": ("%r = vector.shuffle %v, %w [7, 0, 3, 3, 5] : vector<4xKIND>, vector<4xKIND>", "vector<5xKIND>"),
    "shuffle wide": ("%r = vector.shuffle %u, %v [1, 2, 5, 0] : vector<2xKIND>, vector<4xKIND>", "vector<4xKIND>"),
    "shuffle narrow": ("%r = vector.shuffle %v, %u [5, 4, 0] : vector<4xKIND>, vector<2xKIND>", "vector<3xKIND>"),
    "select": (
        "%zero = arith.constant 0 : index\n%c = arith.cmpi eq, %i, %zero : index\n"
        "%r = arith.select %c, %v, %w : vector<4xKIND>",
        "vector<4xKIND>",
    ),
    "fma": ("%r = vector.fma %v, %w, %v : vector<4xKIND>", "vector<4xKIND>"),
}


@pytest.mark.sampled(diagonals=2)
@needs_mlir
@pytest.mark.parametrize("kind", [*INTEGERS, *FLOATS])
@pytest.mark.parametrize("name", ELEMENTS)
def test_elements_of_vectors(name: str, kind: str):
    if name == "fma" and kind in INTEGERS:
        return
    body, stored = ELEMENTS[name]
    loads = """%v = vector.load %x[%c0] : memref<?xKIND>, vector<4xKIND>
  %w = vector.load %y[%c0] : memref<?xKIND>, vector<4xKIND>
  %u = vector.load %y[%c0] : memref<?xKIND>, vector<2xKIND>
  %s = memref.load %y[%c0] : memref<?xKIND>
  """
    text = vector_program(loads + body, "%x: memref<?xKIND>, %y: memref<?xKIND>, %i: index", kind, stored)
    x, y = samples(kind, 1), samples(kind, 2)
    agree(text.replace("KIND", kind), [[x, y, i, np.zeros(8, x.dtype)] for i in range(4)])


CONSTANTS = {
    "f32": ["dense<[1.5, 0x7FC00000, -0.0, 0xFF800000]>", "dense<0x7F800000>", "dense<0.1>"],
    "f64": ["dense<[1.5, 0x7FF8000000000000, -0.0, 4.9e-324]>", "dense<0.1>"],
    "i8": ["dense<[1, -128, 127, 0]>", "dense<-1>"],
    "i64": ["dense<[1, -9223372036854775808, 9223372036854775807, 0]>"],
    "index": ["dense<[1, -2, 3, 0]>", "dense<7>"],
    **({"f16": ["dense<[1.5, 0x7E00, -0.0, 0.1]>", "dense<0x7C00>"]} if HALF else {}),
}


@needs_mlir
@pytest.mark.parametrize("kind", CONSTANTS)
def test_constant_vectors(kind: str):
    for value in CONSTANTS[kind]:
        body = f"%r = arith.constant {value} : vector<4x{kind}>"
        agree(vector_program(body, "%n: index", kind, f"vector<4x{kind}>"), [[0, np.zeros(4, DTYPES[kind])]])


TRANSFERS = """
func.func @f(%x: memref<?x?xKIND>, %i: index, %j: index, %count: index, %pad: memref<1xKIND>, %out: memref<?x?xKIND>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %p = memref.load %pad[%c0] : memref<1xKIND>
  %mask = vector.create_mask %count : vector<8xi1>
  %a = vector.transfer_read %x[%i, %j], %p : memref<?x?xKIND>, vector<8xKIND>
  vector.transfer_write %a, %out[%c0, %j] : vector<8xKIND>, memref<?x?xKIND>
  %b = vector.transfer_read %x[%i, %j], %p, %mask : memref<?x?xKIND>, vector<8xKIND>
  vector.transfer_write %b, %out[%c1, %c0] : vector<8xKIND>, memref<?x?xKIND>
  %c = vector.transfer_read %x[%i, %c0], %p {in_bounds = [true]} : memref<?x?xKIND>, vector<8xKIND>
  vector.transfer_write %c, %out[%c2, %c1], %mask : vector<8xKIND>, memref<?x?xKIND>
  %s = vector.broadcast %p : KIND to vector<8xKIND>
  %d = vector.maskedload %x[%i, %c0], %mask, %s : memref<?x?xKIND>, vector<8xi1>, vector<8xKIND> into vector<8xKIND>
  vector.maskedstore %out[%c1, %c1], %mask, %d : memref<?x?xKIND>, vector<8xi1>, vector<8xKIND>
  func.return
}"""


@needs_mlir
@pytest.mark.parametrize("kind", ["i8", "i32", "index", *FLOATS])
def test_transfers_and_masks(kind: str):
    x = samples(kind, 0)[:36].reshape(4, 9)
    pad = samples(kind, 3)[:1]
    calls: list[list[Array | int]] = [
        [x, i, j, count, pad, np.zeros((3, 11), x.dtype)]
        for i, j, count in [(0, 0, 8), (1, 3, 0), (3, 8, 3), (2, 9, 5), (3, 11, 9), (0, 5, -1)]
    ]
    agree(TRANSFERS.replace("KIND", kind), calls)


def test_masks_of_any_count():
    code = compile_core("""
func.func @f(%n: index, %x: memref<?xi32>, %out: memref<?xi32>) {
  %c0 = arith.constant 0 : index
  %mask = vector.create_mask %n : vector<5xi1>
  %v = vector.load %x[%c0] : memref<?xi32>, vector<5xi32>
  vector.maskedstore %out[%c0], %mask, %v : memref<?xi32>, vector<5xi1>, vector<5xi32>
  func.return
}""")
    for count in [-(2**63), -(2**32) + 3, -1, 0, 1, 4, 5, 6, 2**31, 2**32, 2**63 - 1]:
        out = np.zeros(5, np.int32)
        call(code, "f", count, np.ones(5, np.int32), out)
        assert out.tolist() == [int(lane < count) for lane in range(5)]


def test_bools_are_bytes_in_memory():
    code = compile_core("""
func.func @f(%n: index, %x: memref<?xi1>, %out: memref<?xi1>) {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %mask = vector.create_mask %n : vector<8xi1>
  %v = vector.load %x[%c0] : memref<?xi1>, vector<8xi1>
  %w = vector.maskedload %x[%c8], %mask, %v : memref<?xi1>, vector<8xi1>, vector<8xi1> into vector<8xi1>
  vector.store %w, %out[%c0] : memref<?xi1>, vector<8xi1>
  vector.maskedstore %out[%c8], %mask, %v : memref<?xi1>, vector<8xi1>, vector<8xi1>
  func.return
}""")
    x = np.random.default_rng(0).random(16) < 0.5
    for n in range(9):
        out = np.zeros(16, np.bool_)
        call(code, "f", n, x, out)
        assert out[:8].tolist() == [*x[8 : 8 + n], *x[n:8]]
        assert out[8:].tolist() == [*x[:n], *[False] * (8 - n)]


def test_vectors_lie_at_any_address():
    code = compile_core("""
func.func @f(%x: memref<?xf32>, %out: memref<?xf32>) {
  %c0 = arith.constant 0 : index
  %v = vector.load %x[%c0] : memref<?xf32>, vector<16xf32>
  vector.store %v, %out[%c0] : memref<?xf32>, vector<16xf32>
  func.return
}
func.func @whole(%x: memref<?xvector<16xf32>>, %out: memref<?xvector<16xf32>>) {
  %c0 = arith.constant 0 : index
  %v = memref.load %x[%c0] : memref<?xvector<16xf32>>
  memref.store %v, %out[%c0] : memref<?xvector<16xf32>>
  func.return
}""")
    space = np.arange(64, dtype=np.float32)
    for function in ("f", "whole"):
        for start in range(16):
            out = np.zeros(48, np.float32)
            call(code, function, space[start:][:16], out[start:][:16])
            assert out[start : start + 16].tolist() == space[start : start + 16].tolist()


BITCASTS = [("vector<4xf32>", "f32", "vector<8xi16>", "i16"), ("vector<2xi64>", "i64", "vector<4xf32>", "f32"),
            ("vector<4xindex>", "index", "vector<4xindex>", "index")]  # fmt: skip


@needs_mlir
@pytest.mark.parametrize(("source", "kind", "target", "stored"), BITCASTS)
def test_bitcasts(source: str, kind: str, target: str, stored: str):
    body = f"""%v = vector.load %x[%c0] : memref<?x{kind}>, {source}
  %r = vector.bitcast %v : {source} to {target}"""
    out = np.zeros(16, DTYPES[stored])
    agree(vector_program(body, f"%x: memref<?x{kind}>", stored, target), [[samples(kind, 1), out]])
