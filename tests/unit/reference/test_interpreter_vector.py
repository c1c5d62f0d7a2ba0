"""Vectors: the interpreter computes what compiled code does, and stops where an access leaves its buffer."""

from __future__ import annotations

import numpy as np
import pytest
from native import Array, bits, call, compile_core

from relex.dialects.errors import ExecutionError
from relex.reference import interpret

X = np.array([1.5, -0.0, np.nan, np.inf, -2.25, 0.0, 3.0, 1e-30], np.float32)
W = np.array([0.5, 2.0, 1.0, -1.0, 1e30, -0.0, 7.0, 3.0], np.float32)
N = np.array([3, -1, 127, -128, 0, 5, 2, -7], np.int8)


def program(body: str, *, inputs: str = "%x: memref<8xf32>, %w: memref<8xf32>", out: str = "memref<8xf32>") -> str:
    constants = "\n".join(f"%c{i} = arith.constant {i} : index" for i in (0, 1, 2, 3, 4, 5, 6, 8))
    constants += "\n%zero = arith.constant 0.0 : f32"
    return f"func.func @main({inputs}, %y: {out}) {{\n{constants}\n{body}\nfunc.return\n}}"


def both(text: str, inputs: list[Array], out: Array) -> Array:
    """What the interpreter computes, checked or not, if it is what compiled code does."""
    compiled = out.copy()
    call(compile_core(text), "main", *inputs, compiled)
    for checked in (False, True):
        interpreted = out.copy()
        interpret(text, checked=checked)["main"](*inputs, interpreted)
        assert bits(interpreted) == bits(compiled)
    return compiled


FOUR = "vector<4xf32>"
LOADS = (
    f"%a = vector.load %x[%c0] : memref<8xf32>, {FOUR}\n%b = vector.load %w[%c4] : memref<8xf32>, {FOUR}\n"
    f"%c = vector.load %x[%c3] : memref<8xf32>, {FOUR}\n"
)
STORE = f"\nvector.store %r, %y[%c2] : memref<8xf32>, {FOUR}"
LANES: dict[str, str] = {
    "load and store": f"%r = arith.addf %a, %b : {FOUR}",
    "constants": f"%k = arith.constant dense<[1.0, -2.0, 0.5, 4.0]> : {FOUR}\n%r = arith.mulf %k, %a : {FOUR}",
    "splat": f"%k = arith.constant dense<2.0> : {FOUR}\n%r = arith.divf %a, %k : {FOUR}",
    "fma": f"%r = vector.fma %b, %b, %a : {FOUR}",
    "broadcast": f"%s = memref.load %x[%c6] : memref<8xf32>\n%r = vector.broadcast %s : f32 to {FOUR}",
    "broadcast of one": f"%s = vector.load %x[%c6] : memref<8xf32>, vector<1xf32>\n"
    f"%r = vector.broadcast %s : vector<1xf32> to {FOUR}",
    "extract and insert": f"%s = vector.extract %a[3] : f32 from {FOUR}\n"
    f"%r = vector.insert %s, %b[1] : f32 into {FOUR}",
    "at a place that is computed": f"%s = vector.extract %a[%c2] : f32 from {FOUR}\n"
    f"%r = vector.insert %s, %b[%c0] : f32 into {FOUR}",
    "shuffle": f"%r = vector.shuffle %a, %b[7, 0, 3, 4] : {FOUR}, {FOUR}",
    "choice": f"%t = arith.constant true\n%r = arith.select %t, %a, %b : {FOUR}",
    "bits": f"%t = vector.bitcast %a : {FOUR} to vector<4xi32>\n%u = arith.addi %t, %t : vector<4xi32>\n"
    f"%r = vector.bitcast %u : vector<4xi32> to {FOUR}",
    "larger": f"%r = arith.maximumf %a, %c : {FOUR}",
    "function": f"%r = math.absf %a : {FOUR}",
    "masked": f"%m = vector.create_mask %c3 : vector<4xi1>\n"
    f"%r = vector.maskedload %x[%c5], %m, %b : memref<8xf32>, vector<4xi1>, {FOUR} into {FOUR}",
    "masked store": f"%m = vector.create_mask %c2 : vector<4xi1>\n"
    f"vector.maskedstore %w[%c6], %m, %a : memref<8xf32>, vector<4xi1>, {FOUR}\n%r = arith.negf %a : {FOUR}",
    "read behind the end": f'%r = "vector.transfer_read"(%x, %c6, %zero) <{{in_bounds = [false], '
    f"permutation_map = affine_map<(d0) -> (d0)>, operandSegmentSizes = array<i32: 1, 1, 1, 0>}}> : "
    f"(memref<8xf32>, index, f32) -> {FOUR}",
    "write behind the end": f'"vector.transfer_write"(%a, %w, %c6) <{{in_bounds = [false], '
    f"permutation_map = affine_map<(d0) -> (d0)>, operandSegmentSizes = array<i32: 1, 1, 1, 0>}}> : "
    f"({FOUR}, memref<8xf32>, index) -> ()\n%r = arith.addf %a, %b : {FOUR}",
}  # fmt: skip


@pytest.mark.parametrize("name", LANES)
def test_lanes(name: str) -> None:
    inputs = [X.copy(), W.copy()]
    found = both(program(LOADS + LANES[name] + STORE), inputs, np.full(8, 9, np.float32))
    np.testing.assert_array_equal(found[[0, 1, 6, 7]], 9)


REDUCTIONS = [
    *(("f32", kind) for kind in ("add", "mul", "maximumf", "minimumf", "maxnumf", "minnumf")),
    *(("i8", kind) for kind in ("add", "mul", "and", "or", "xor", "maxsi", "minsi", "maxui", "minui")),
]


@pytest.mark.parametrize("start", ["", ", %s"])
@pytest.mark.parametrize(("element", "kind"), REDUCTIONS)
def test_reductions(element: str, kind: str, start: str) -> None:
    body = f"%a = vector.load %x[%c0] : memref<8x{element}>, vector<8x{element}>\n"
    body += f"%s = memref.load %x[%c6] : memref<8x{element}>\n"
    body += f"%r = vector.reduction <{kind}>, %a{start} : vector<8x{element}> into {element}\n"
    body += f"memref.store %r, %y[] : memref<{element}>"
    text = program(body, inputs=f"%x: memref<8x{element}>", out=f"memref<{element}>")
    for values in (X, X[::-1], W) if element == "f32" else (N, N[::-1]):
        x = np.ascontiguousarray(values)
        both(text, [x], np.zeros((), x.dtype))


def test_vectors_of_more_dimensions() -> None:
    """Compiled code has none of these."""
    body = """
    %a = vector.load %x[%c1, %c1] : memref<3x4xf32>, vector<2x3xf32>
    %b = vector.broadcast %zero : f32 to vector<2x3xf32>
    %r = vector.extract %a[1] : vector<3xf32> from vector<2x3xf32>
    %s = vector.insert %r, %b[0] : vector<3xf32> into vector<2x3xf32>
    vector.store %s, %y[%c0, %c1] : memref<3x4xf32>, vector<2x3xf32>
    %m = vector.create_mask %c1, %c2 : vector<2x3xi1>
    %t = "vector.transfer_read"(%x, %c0, %c0, %zero, %m) <{in_bounds = [true, true],
        permutation_map = affine_map<(d0, d1) -> (d0, d1)>, operandSegmentSizes = array<i32: 1, 2, 1, 1>}>
        : (memref<3x4xf32>, index, index, f32, vector<2x3xi1>) -> vector<2x3xf32>
    %u = "vector.transfer_read"(%x, %c2, %c0, %zero) <{in_bounds = [true, false],
        permutation_map = affine_map<(d0, d1) -> (d1, d0)>, operandSegmentSizes = array<i32: 1, 2, 1, 0>}>
        : (memref<3x4xf32>, index, index, f32) -> vector<2x3xf32>
    vector.store %t, %z[%c0, %c0] : memref<4x3xf32>, vector<2x3xf32>
    vector.store %u, %z[%c2, %c0] : memref<4x3xf32>, vector<2x3xf32>
    """
    x = np.arange(12, dtype=np.float32).reshape(3, 4)
    text = program(body, inputs="%x: memref<3x4xf32>, %z: memref<4x3xf32>", out="memref<3x4xf32>")
    y, z = np.full((3, 4), 9, np.float32), np.zeros((4, 3), np.float32)
    interpret(text, checked=True)["main"](x, z, y)
    np.testing.assert_array_equal(y, [[9, *x[2, 1:4]], [9, 0, 0, 0], [9, 9, 9, 9]])
    np.testing.assert_array_equal(z, [[0, 1, 0], [0, 0, 0], [8, 0, 0], [9, 0, 0]])


WRONG = {
    "load": (f"%r = vector.load %x[%c5] : memref<8xf32>, {FOUR}", r"index 0 of %x in 0..7, found 8"),
    "store": (LOADS + f"vector.store %a, %y[%c6] : memref<8xf32>, {FOUR}", r"index 0 of %y in 0..7, found 8"),
    "masked": (
        LOADS + f"%m = vector.create_mask %c4 : vector<4xi1>\n"
        f"%r = vector.maskedload %x[%c5], %m, %b : memref<8xf32>, vector<4xi1>, {FOUR} into {FOUR}",
        r"index 0 of %x in 0..7, found 8",
    ),
    "transfer that is said to be in bounds": (
        f'%r = "vector.transfer_read"(%x, %c6, %zero) <{{in_bounds = [true], '
        f"permutation_map = affine_map<(d0) -> (d0)>, operandSegmentSizes = array<i32: 1, 1, 1, 0>}}> : "
        f"(memref<8xf32>, index, f32) -> {FOUR}",
        r"index 0 of %x in 0..7, found 8",
    ),
    "position": (LOADS + f"%r = vector.extract %a[%c4] : f32 from {FOUR}", r"a position in 0..3, found 4"),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
@pytest.mark.parametrize("checked", [False, True])
def test_accesses_stay_in_bounds(name: str, checked: bool) -> None:
    body, message = WRONG[name]
    with pytest.raises(ExecutionError, match=message):
        interpret(program(body), checked=checked)["main"](X.copy(), W.copy(), X.copy())


def test_races_of_vectors() -> None:
    body = (
        f"%a = vector.load %x[%c0] : memref<8xf32>, {FOUR}\n"
        + """
    "scf.parallel"(%c0, %c2, %c1) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
    ^bb0(%i: index):
      vector.store %a, %y[%i] : memref<8xf32>, vector<4xf32>
      scf.reduce
    }) : (index, index, index) -> ()
    """
    )
    interpret(program(body))["main"](X.copy(), W.copy(), X.copy())
    with pytest.raises(ExecutionError, match=r"found %y\[1\] written at %i = 0 and at %i = 1"):
        interpret(program(body), checked=True)["main"](X.copy(), W.copy(), X.copy())
