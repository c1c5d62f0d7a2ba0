"""Every scalar op, one element after the other and as a vector, against native code and NumPy."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import product

import numpy as np
import pytest
from programs import Array, random_array
from xdsl.dialects import memref
from xdsl.ir import BlockArgument, Operation

from relex.dialects import parse_module
from relex.dialects.errors import ExecutionError
from relex.reference import interpret
from relex.reference.interpreter.program import SCALARS
from relex.runtime import Executable, build

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


def program(body: str, inputs: Sequence[str], output: str, name: str = "main") -> str:
    """A loop that computes `%r` of type `output` from `%x0`, `%x1`, ... for each element."""
    arguments = ", ".join(f"%X{i}: memref<{COUNT}x{t}>" for i, t in enumerate(inputs))
    loads = "\n".join(f"%x{i} = memref.load %X{i}[%v] : memref<{COUNT}x{t}>" for i, t in enumerate(inputs))
    return f"""
    tir.prim_func @{name}({arguments}) outs(%Y: memref<{COUNT}x{output}>) attributes {{tir.noalias}} {{
      tir.for %i in ({COUNT}) {{
        tir.block @Y (%v: spatial<{COUNT}> = %i) {{
          {loads}
          {body}
          memref.store %r, %Y[%v] : memref<{COUNT}x{output}>
        }}
      }}
    }}
    """


def both_ways(text: str, arguments: Sequence[Array]) -> Array:
    """The result of a program, which is the same for one element after the other and for a vector of all."""
    module = parse_module(text)
    found = interpret(module)["main"](*arguments)
    store = next(op for op in module.walk() if isinstance(op, memref.StoreOp))
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


@dataclass(frozen=True)
class Case:
    """An op on operands of these types: what `change` makes of some values. Results may differ by `rtol`, if it is
    not 0; then the signs of zeros are open as well."""

    body: str
    inputs: Sequence[str]
    output: str
    change: Callable[[list[Array]], list[Array]] = lambda arguments: arguments
    rtol: float = 0

    @property
    def arguments(self) -> list[Array]:
        rng = np.random.default_rng(0)
        return self.change([values(rng, kind) for kind in self.inputs])


def divisors(arguments: list[Array]) -> list[Array]:
    dividend, divisor = arguments
    divisor[(divisor == 0) | (divisor == -1)] = 3
    divisor[1::4] = divisor[1::4] % 7 + 1
    return [dividend, divisor]


def shifts(arguments: list[Array]) -> list[Array]:
    x, _ = arguments
    return [x, (np.arange(COUNT) % (8 * x.itemsize)).astype(x.dtype)]


def some_equal(arguments: list[Array]) -> list[Array]:
    arguments[1][20:40] = arguments[0][20:40]
    return arguments


def errors_of_products(arguments: list[Array]) -> list[Array]:
    """What is left of the last operands is the error of the product."""
    x, y, z = arguments
    z[30:] = (-x * y)[30:]
    return arguments


def scaled(arguments: list[Array]) -> list[Array]:
    arguments[0][9:20] *= 1000
    return arguments


def between(low: float, high: float) -> Callable[[list[Array]], list[Array]]:
    return lambda _: [np.random.default_rng(7).uniform(low, high, COUNT) * 0.99]


INTEGERS = ("i8", "i32", "i64")
FLOATS = ("f32", "f64")
CASTS = (
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
)


def cases() -> Iterator[Case]:
    for kind in FLOATS:
        eps = float(np.finfo(DTYPES[kind]).eps)
        for name in "addf subf mulf divf maximumf minimumf".split():
            yield Case(f"%r = arith.{name} %x0, %x1 : {kind}", [kind, kind], kind)
        for name in ("maxnumf", "minnumf"):
            yield Case(f"%r = arith.{name} %x0, %x1 : {kind}", [kind, kind], kind, rtol=eps)
        for name in "absf ceil floor round roundeven trunc sqrt".split():
            yield Case(f"%r = math.{name} %x0 : {kind}", [kind], kind, scaled)
        for name in "exp exp2 log log2 log10 sin cos tan tanh".split():
            yield Case(f"%r = math.{name} %x0 : {kind}", [kind], kind, rtol=4 * eps)
        yield Case(f"%r = math.fma %x0, %x1, %x2 : {kind}", [kind] * 3, kind, errors_of_products)
    for kind in ("i1", *INTEGERS):
        for name in "addi subi muli andi ori xori maxsi minsi maxui minui".split():
            yield Case(f"%r = arith.{name} %x0, %x1 : {kind}", [kind, kind], kind)
        for predicate in "eq ne slt sle sgt sge ult ule ugt uge".split():
            yield Case(f"%r = arith.cmpi {predicate}, %x0, %x1 : {kind}", [kind, kind], "i1")
    for kind in INTEGERS:
        for name in "divsi remsi floordivsi ceildivsi divui remui ceildivui".split():
            yield Case(f"%r = arith.{name} %x0, %x1 : {kind}", [kind, kind], kind, divisors)
        for name in "shli shrsi shrui".split():
            yield Case(f"%r = arith.{name} %x0, %x1 : {kind}", [kind, kind], kind, shifts)
        for name, half in product(("mulsi_extended", "mului_extended"), (0, 1)):
            body = f"%p:2 = arith.{name} %x0, %x1 : {kind}\n%zero = arith.constant 0 : {kind}\n"
            yield Case(body + f"%r = arith.addi %p#{half}, %zero : {kind}", [kind, kind], kind)
    for predicate in "false oeq ogt oge olt ole one ord ueq ugt uge ult ule une uno true".split():
        yield Case(f"%r = arith.cmpf {predicate}, %x0, %x1 : f32", ["f32", "f32"], "i1", some_equal)
    for name, source, target in CASTS:
        yield Case(f"%r = arith.{name} %x0 : {source} to {target}", [source], target)
    for target, width in (("i1", 1), ("i8", 8), ("i32", 32), ("i64", 64)):
        signed, unsigned = between(-(2.0 ** (width - 1)), 2.0 ** (width - 1)), between(0, 2.0**width)
        yield Case(f"%r = arith.fptosi %x0 : f64 to {target}", ["f64"], target, signed)
        yield Case(f"%r = arith.fptoui %x0 : f64 to {target}", ["f64"], target, unsigned)
    yield Case("%r = arith.select %x0, %x1, %x2 : f32", ["i1", "f32", "f32"], "f32")
    for exponent in ("0.5", "2.0", "-1.0", "3.0"):
        constant = f"%e = arith.constant {exponent} : f32\n"
        yield Case(constant + "%r = math.powf %x0, %e : f32", ["f32"], "f32", rtol=5e-7)
    yield Case("%r = math.powf %x0, %x1 : f64", ["f64", "f64"], "f64", rtol=1e-15)


CASES = list(cases())


@cache
def compiled(group: tuple[int, ...]) -> Executable:
    """Some cases in one program."""
    cases = ((i, CASES[i]) for i in group)
    return build("".join(program(case.body, case.inputs, case.output, f"f{i}") for i, case in cases))


@pytest.mark.parametrize("i", range(len(CASES)), ids=[case.body.split("%r = ")[-1] for case in CASES])
def test_scalar_ops(i: int, group: tuple[int, ...]) -> None:
    case = CASES[i]
    found = both_ways(program(case.body, case.inputs, case.output), case.arguments)
    native = compiled(group)[f"f{i}"](*case.arguments)
    if case.rtol:
        np.testing.assert_allclose(found, native, rtol=case.rtol)
        return
    np.testing.assert_array_equal(found, native)
    if found.dtype.kind == "f":
        numbers = ~np.isnan(native)
        np.testing.assert_array_equal(np.signbit(found[numbers]), np.signbit(native[numbers]))


def test_half_precision_rounds_every_step() -> None:
    rng = np.random.default_rng(13)
    x, y, z = (values(rng, "f16") for _ in range(3))
    text = program("%p = arith.mulf %x0, %x1 : f16\n%r = arith.addf %p, %x2 : f16", ["f16"] * 3, "f16")
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(both_ways(text, [x, y, z]), x * y + z)


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
