"""Every scalar op, one element after the other and as a vector, against native code and NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from programs import Array, random_array
from xdsl.dialects import memref
from xdsl.ir import BlockArgument, Operation

from relex.dialects import parse_module
from relex.dialects.errors import ExecutionError
from relex.reference import interpret
from relex.reference.interpreter.program import SCALARS
from relex.runtime import build

DTYPES = {
    "i1": "bool",
    "i8": "int8",
    "i32": "int32",
    "i64": "int64",
    "f16": "float16",
    "f32": "float32",
    "f64": "float64",
}
COUNT = 64


def program(body: str, inputs: list[str], output: str) -> str:
    """A loop that computes `%r` of type `output` from `%x0`, `%x1`, ... for each element."""
    arguments = ", ".join(f"%X{i}: memref<{COUNT}x{t}>" for i, t in enumerate(inputs))
    loads = "\n".join(f"%x{i} = memref.load %X{i}[%v] : memref<{COUNT}x{t}>" for i, t in enumerate(inputs))
    return f"""
    tir.prim_func @main({arguments}) outs(%Y: memref<{COUNT}x{output}>) attributes {{tir.noalias}} {{
      tir.for %i in ({COUNT}) {{
        tir.block @Y (%v: spatial<{COUNT}> = %i) {{
          {loads}
          {body}
          memref.store %r, %Y[%v] : memref<{COUNT}x{output}>
        }}
      }}
    }}
    """


def both_ways(text: str, arguments: list[Array]) -> Array:
    """The result of a program, which is the same for one element after the other and for a vector of all."""
    found = interpret(text)["main"](*arguments)
    store = next(op for op in parse_module(text).walk() if isinstance(op, memref.StoreOp))
    rule, op = SCALARS.find(store.value.owner), store.value.owner
    assert isinstance(op, Operation)
    assert rule is not None
    buffers = [value.owner.memref for value in op.operands if isinstance(value.owner, memref.LoadOp)]
    if len(buffers) == len(op.operands):
        inputs = [arguments[buffer.index] for buffer in buffers if isinstance(buffer, BlockArgument)]
        with np.errstate(all="ignore"):
            vector = np.asarray(rule(op)(*inputs))
        np.testing.assert_array_equal(found.view(f"u{found.itemsize}"), vector.view(f"u{vector.itemsize}"))
    return found


def values(rng: np.random.Generator, kind: str) -> Array:
    """Random values with those in front that are special to the type."""
    dtype = np.dtype(DTYPES[kind])
    array = random_array(rng, dtype.name, (COUNT,))
    if dtype.kind == "f":
        array[:9] = rng.permutation([np.nan, np.inf, -np.inf, 0.0, -0.0, 0.5, -0.5, 1.5, -2.5])
    elif dtype.kind == "i":
        info = np.iinfo(dtype)
        array[:6] = rng.permutation([0, 1, -1, info.min, info.max, 2])
    return array


def compare(found: Array, wanted: Array) -> None:
    np.testing.assert_array_equal(found, wanted)
    if found.dtype.kind == "f":
        numbers = ~np.isnan(wanted)
        np.testing.assert_array_equal(np.signbit(found[numbers]), np.signbit(wanted[numbers]))


FLOAT_OPS = ("addf", "subf", "mulf", "divf", "maximumf", "minimumf", "maxnumf", "minnumf")
INTEGER_OPS = ("addi", "subi", "muli", "andi", "ori", "xori", "maxsi", "minsi", "maxui", "minui")
DIVISIONS = ("divsi", "remsi", "floordivsi", "ceildivsi", "divui", "remui", "ceildivui")


@pytest.mark.parametrize("kind", ["f32", "f64"])
@pytest.mark.parametrize("name", FLOAT_OPS)
def test_float_ops(name: str, kind: str) -> None:
    rng = np.random.default_rng(0)
    arguments = [values(rng, kind), values(rng, kind)]
    text = program(f"%r = arith.{name} %x0, %x1 : {kind}", [kind, kind], kind)
    found, native = both_ways(text, arguments), build(text)["main"](*arguments)
    if name in ("maxnumf", "minnumf"):
        np.testing.assert_array_equal(found, native)  # Which of two zeros is larger is left open.
    else:
        compare(found, native)


@pytest.mark.parametrize("kind", ["i1", "i8", "i32", "i64"])
@pytest.mark.parametrize("name", INTEGER_OPS)
def test_integer_ops(name: str, kind: str) -> None:
    rng = np.random.default_rng(1)
    arguments = [values(rng, kind), values(rng, kind)]
    text = program(f"%r = arith.{name} %x0, %x1 : {kind}", [kind, kind], kind)
    compare(both_ways(text, arguments), build(text)["main"](*arguments))


@pytest.mark.parametrize("kind", ["i8", "i32", "i64"])
@pytest.mark.parametrize("name", DIVISIONS)
def test_divisions(name: str, kind: str) -> None:
    rng = np.random.default_rng(2)
    dividend, divisor = values(rng, kind), values(rng, kind)
    divisor[(divisor == 0) | (divisor == -1)] = 3
    divisor[1::4] = divisor[1::4] % 7 + 1
    text = program(f"%r = arith.{name} %x0, %x1 : {kind}", [kind, kind], kind)
    compare(both_ways(text, [dividend, divisor]), build(text)["main"](dividend, divisor))


@pytest.mark.parametrize("kind", ["i8", "i32", "i64"])
@pytest.mark.parametrize("name", ["shli", "shrsi", "shrui"])
def test_shifts(name: str, kind: str) -> None:
    rng = np.random.default_rng(3)
    x = values(rng, kind)
    by = (np.arange(COUNT) % (8 * x.itemsize)).astype(x.dtype)
    text = program(f"%r = arith.{name} %x0, %x1 : {kind}", [kind, kind], kind)
    compare(both_ways(text, [x, by]), build(text)["main"](x, by))


@pytest.mark.parametrize("kind", ["i1", "i8", "i64"])
@pytest.mark.parametrize("predicate", ["eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge"])
def test_integer_comparisons(predicate: str, kind: str) -> None:
    rng = np.random.default_rng(4)
    arguments = [values(rng, kind), values(rng, kind)]
    text = program(f"%r = arith.cmpi {predicate}, %x0, %x1 : {kind}", [kind, kind], "i1")
    compare(both_ways(text, arguments), build(text)["main"](*arguments))


PREDICATES = "false oeq ogt oge olt ole one ord ueq ugt uge ult ule une uno true".split()


@pytest.mark.parametrize("predicate", PREDICATES)
def test_float_comparisons(predicate: str) -> None:
    rng = np.random.default_rng(5)
    arguments = [values(rng, "f32"), values(rng, "f32")]
    arguments[1][20:40] = arguments[0][20:40]
    text = program(f"%r = arith.cmpf {predicate}, %x0, %x1 : f32", ["f32", "f32"], "i1")
    compare(both_ways(text, arguments), build(text)["main"](*arguments))


@pytest.mark.parametrize(
    ("name", "source", "target"),
    [
        ("extf", "f32", "f64"),
        ("truncf", "f64", "f32"),
        ("sitofp", "i1", "f32"),
        ("uitofp", "i1", "f32"),
        ("sitofp", "i64", "f32"),
        ("uitofp", "i64", "f32"),
        ("uitofp", "i8", "f64"),
        ("extsi", "i1", "i32"),
        ("extui", "i1", "i32"),
        ("extsi", "i8", "i64"),
        ("extui", "i8", "i64"),
        ("trunci", "i64", "i8"),
        ("trunci", "i32", "i1"),
        ("bitcast", "f32", "i32"),
        ("bitcast", "i64", "f64"),
    ],
)
def test_casts(name: str, source: str, target: str) -> None:
    x = values(np.random.default_rng(6), source)
    text = program(f"%r = arith.{name} %x0 : {source} to {target}", [source], target)
    compare(both_ways(text, [x]), build(text)["main"](x))


@pytest.mark.parametrize("target", ["i1", "i8", "i32", "i64"])
@pytest.mark.parametrize("name", ["fptosi", "fptoui"])
def test_float_to_integer(name: str, target: str) -> None:
    width = 1 if target == "i1" else 8 * np.dtype(DTYPES[target]).itemsize
    low, high = (-(2.0 ** (width - 1)), 2.0 ** (width - 1)) if name == "fptosi" else (0.0, 2.0**width)
    x = np.random.default_rng(7).uniform(low, high, COUNT) * 0.99
    text = program(f"%r = arith.{name} %x0 : f64 to {target}", ["f64"], target)
    compare(both_ways(text, [x]), build(text)["main"](x))


def test_select() -> None:
    rng = np.random.default_rng(8)
    arguments = [values(rng, kind) for kind in ("i1", "f32", "f32")]
    text = program("%r = arith.select %x0, %x1, %x2 : f32", ["i1", "f32", "f32"], "f32")
    compare(both_ways(text, arguments), build(text)["main"](*arguments))


@pytest.mark.parametrize("kind", ["i8", "i32", "i64"])
@pytest.mark.parametrize("half", [0, 1])
@pytest.mark.parametrize("name", ["mulsi_extended", "mului_extended"])
def test_extended_products(name: str, half: int, kind: str) -> None:
    rng = np.random.default_rng(9)
    x, y = values(rng, kind), values(rng, kind)
    body = f"%p:2 = arith.{name} %x0, %x1 : {kind}\n%zero = arith.constant 0 : {kind}\n"
    text = program(body + f"%r = arith.addi %p#{half}, %zero : {kind}", [kind, kind], kind)
    compare(both_ways(text, [x, y]), build(text)["main"](x, y))


@pytest.mark.parametrize("name", ["absf", "ceil", "floor", "round", "roundeven", "trunc", "sqrt"])
@pytest.mark.parametrize("kind", ["f32", "f64"])
def test_exact_functions(name: str, kind: str) -> None:
    x = values(np.random.default_rng(10), kind)
    x[9:20] *= 1000
    text = program(f"%r = math.{name} %x0 : {kind}", [kind], kind)
    compare(both_ways(text, [x]), build(text)["main"](x))


@pytest.mark.parametrize("kind", ["f32", "f64"])
def test_fma_rounds_once(kind: str) -> None:
    rng = np.random.default_rng(11)
    x, y, z = (values(rng, kind) for _ in range(3))
    z[30:] = (-x * y)[30:]  # What is left is the error of the product.
    text = program(f"%r = math.fma %x0, %x1, %x2 : {kind}", [kind] * 3, kind)
    compare(both_ways(text, [x, y, z]), build(text)["main"](x, y, z))


FUNCTIONS = "exp exp2 log log2 log10 sin cos tan tanh".split()


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("kind", ["f32", "f64"])
def test_functions(name: str, kind: str) -> None:
    x = values(np.random.default_rng(12), kind)
    text = program(f"%r = math.{name} %x0 : {kind}", [kind], kind)
    found = both_ways(text, [x])
    np.testing.assert_allclose(found, build(text)["main"](x), rtol=4 * np.finfo(found.dtype).eps)


@pytest.mark.parametrize("exponent", ["0.5", "2.0", "-1.0", "3.0"])
def test_powers_of_one_exponent(exponent: str) -> None:
    x = values(np.random.default_rng(15), "f32")
    text = program(f"%e = arith.constant {exponent} : f32\n%r = math.powf %x0, %e : f32", ["f32"], "f32")
    found = both_ways(text, [x])
    np.testing.assert_allclose(found, build(text)["main"](x), rtol=5e-7)


def test_powers() -> None:
    rng = np.random.default_rng(16)
    x, y = values(rng, "f64"), values(rng, "f64")
    text = program("%r = math.powf %x0, %x1 : f64", ["f64", "f64"], "f64")
    found = both_ways(text, [x, y])
    np.testing.assert_allclose(found, build(text)["main"](x, y), rtol=4 * np.finfo(np.float64).eps)


def test_half_precision_rounds_every_step() -> None:
    rng = np.random.default_rng(13)
    x, y, z = (values(rng, "f16") for _ in range(3))
    text = program("%p = arith.mulf %x0, %x1 : f16\n%r = arith.addf %p, %x2 : f16", ["f16"] * 3, "f16")
    compare(both_ways(text, [x, y, z]), x * y + z)


def test_bits() -> None:
    x = values(np.random.default_rng(14), "i32")
    bits = [f"{int(v) & 0xFFFFFFFF:032b}" for v in x]
    expected = {
        "ctpop": [b.count("1") for b in bits],
        "ctlz": [len(b) - len(b.lstrip("0")) for b in bits],
        "cttz": [len(b) - len(b.rstrip("0")) for b in bits],
    }
    for name, counts in expected.items():
        found = both_ways(program(f"%r = math.{name} %x0 : i32", ["i32"], "i32"), [x])
        np.testing.assert_array_equal(found, counts)


@pytest.mark.parametrize(
    ("name", "a", "b", "message"),
    [
        ("divsi", 1, 0, "expected a divisor that is not 0"),
        ("remui", 1, 0, "expected a divisor that is not 0"),
        ("divsi", -128, -1, "expected a quotient of 8 bits, found -128 divided by -1"),
        ("shli", 1, 8, "expected to shift by less than 8 bits, found more"),
        ("shrui", 1, -1, "expected to shift by less than 8 bits, found more"),
    ],
)
def test_undefined_results(name: str, a: int, b: int, message: str) -> None:
    x, y = np.full(COUNT, 5, np.int8), np.full(COUNT, 2, np.int8)
    x[50], y[50] = a, b
    text = program(f"%r = arith.{name} %x0, %x1 : i8", ["i8", "i8"], "i8")
    with pytest.raises(ExecutionError, match=f"'arith.{name}' op {message}"):
        interpret(text)["main"](x, y)
