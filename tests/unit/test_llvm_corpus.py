"""A corpus of programs, over ops and types: relex's conversions compute what MLIR's do, bit for bit.

Inputs are ordinary numbers and special ones. Where an op is undefined for an input, the input is not used.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

import numpy as np
import pytest
from native import DTYPES, Array, bits, call, compile_core, compile_core_by_mlir, needs_mlir, samples
from xdsl.passes import ModulePass

from relex.dialects.features import default_target, has_feature
from relex.lowering.llvm.convert_math_to_libm import ConvertMathToLibmPass
from relex.runtime.linking import LoadedCode

LANES = 4

HALF = ["f16"] if has_feature(default_target(), "f16c") else []
FLOATS = [*HALF, "f32", "f64"]
INTEGERS = ["i8", "i16", "i32", "i64", "index"]

Domain = Callable[[list[Array]], list[Array]]
"""Makes of any inputs inputs that an op is defined for."""


def anything(inputs: list[Array]) -> list[Array]:
    return inputs


@dataclass(frozen=True)
class Case:
    """An op applied to each element, or to vectors of elements; `%0`, `%1`, ... are its operands, `%r`... results."""

    name: str
    op: str
    inputs: list[str]
    outputs: list[str]
    vector: bool = False
    domain: Domain = anything
    names: list[str] = field(default_factory=lambda: ["r"])

    @property
    def program(self) -> str:
        """A function that takes the arrays of all operands and of all results."""
        width = LANES if self.vector else 1
        buffers = [(f"a{i}", kind) for i, kind in enumerate(self.inputs)]
        buffers += [(f"out{i}", kind) for i, kind in enumerate(self.outputs)]
        arguments = ", ".join(f"%{name}: memref<?x{kind}>" for name, kind in buffers)
        loads = "\n".join(f"    %{i} = {self._load(f'%a{i}', kind)}" for i, kind in enumerate(self.inputs))
        stores = "\n".join(
            f"    {self._store(f'%{name}', f'%out{i}', kind)}"
            for i, (name, kind) in enumerate(zip(self.names, self.outputs, strict=True))
        )
        return f"""
func.func @{self.name}({arguments}) {{
  %c0 = arith.constant 0 : index
  %step = arith.constant {width} : index
  %n = memref.dim %out0, %c0 : memref<?x{self.outputs[0]}>
  scf.for %i = %c0 to %n step %step {{
{loads}
    {", ".join(f"%{name}" for name in self.names)} = {self.op}
{stores}
  }}
  func.return
}}
"""

    def _load(self, buffer: str, kind: str) -> str:
        if self.vector:
            return f"vector.load {buffer}[%i] : memref<?x{kind}>, vector<{LANES}x{kind}>"
        return f"memref.load {buffer}[%i] : memref<?x{kind}>"

    def _store(self, value: str, buffer: str, kind: str) -> str:
        if self.vector:
            return f"vector.store {value}, {buffer}[%i] : memref<?x{kind}>, vector<{LANES}x{kind}>"
        return f"memref.store {value}, {buffer}[%i] : memref<?x{kind}>"

    def run(self, code: LoadedCode) -> list[Array]:
        inputs = self.domain([samples(kind, salt) for salt, kind in enumerate(self.inputs)])
        outputs = [np.zeros(len(inputs[0]), DTYPES[kind]) for kind in self.outputs]
        call(code, self.name, *inputs, *outputs)
        return outputs


# What ops are defined for


def divisors(inputs: list[Array]) -> list[Array]:
    """Without divisions by zero, and without the one that overflows."""
    a, b = inputs
    wrong = (b == 0) | ((a == np.iinfo(a.dtype).min) & (b == -1))
    return [a, np.where(wrong, np.array(3, b.dtype), b)]


def shifts(inputs: list[Array]) -> list[Array]:
    a, b = inputs
    return [a, b & np.array(8 * b.dtype.itemsize - 1, b.dtype)]


def within(low: float, high: float) -> Domain:
    def domain(inputs: list[Array]) -> list[Array]:
        (a,) = inputs
        with np.errstate(invalid="ignore"):
            return [np.where((a > low) & (a < high), a, np.array(2, a.dtype))]

    return domain


# The ops


def vector_of(kind: str, vector: bool) -> str:
    return f"vector<{LANES}x{kind}>" if vector else kind


def arith_cases() -> Iterator[Case]:
    for vector in (False, True):
        v = "v" if vector else "s"
        for kind in INTEGERS:
            t = vector_of(kind, vector)
            for op in "addi subi muli andi ori xori maxsi maxui minsi minui".split():
                yield Case(f"{op}_{kind}_{v}", f"arith.{op} %0, %1 : {t}", [kind, kind], [kind], vector)
            for op in "divsi divui remsi remui floordivsi ceildivsi ceildivui".split():
                yield Case(f"{op}_{kind}_{v}", f"arith.{op} %0, %1 : {t}", [kind, kind], [kind], vector, divisors)
            for op in "shli shrsi shrui".split():
                yield Case(f"{op}_{kind}_{v}", f"arith.{op} %0, %1 : {t}", [kind, kind], [kind], vector, shifts)
            for op in "mulsi_extended mului_extended".split():
                text = f"arith.{op} %0, %1 : {t}"
                yield Case(f"{op}_{kind}_{v}", text, [kind, kind], [kind, kind], vector, anything, ["r", "s"])
        for kind in FLOATS:
            t = vector_of(kind, vector)
            for op in "addf subf mulf divf maximumf minimumf maxnumf minnumf".split():
                yield Case(f"{op}_{kind}_{v}", f"arith.{op} %0, %1 : {t}", [kind, kind], [kind], vector)
            yield Case(f"negf_{kind}_{v}", f"arith.negf %0 : {t}", [kind], [kind], vector)
            number = f"i{8 * np.dtype(DTYPES[kind]).itemsize}"
            for a, b in ((kind, number), (number, kind)):
                text = f"arith.bitcast %0 : {vector_of(a, vector)} to {vector_of(b, vector)}"
                yield Case(f"bitcast_{a}_{b}_{v}", text, [a], [b], vector)
        for a, b in [("f32", "f64"), *[(half, "f32") for half in HALF]]:
            text = f"arith.extf %0 : {vector_of(a, vector)} to {vector_of(b, vector)}"
            yield Case(f"extf_{a}_{b}_{v}", text, [a], [b], vector)
            text = f"arith.truncf %0 : {vector_of(b, vector)} to {vector_of(a, vector)}"
            yield Case(f"truncf_{b}_{a}_{v}", text, [b], [a], vector)
    yield from scalar_arith_cases()


def scalar_arith_cases() -> Iterator[Case]:
    """What xDSL's dialect has on scalars alone."""
    for kind in INTEGERS:
        for predicate in "eq ne slt sle sgt sge ult ule ugt uge".split():
            yield Case(f"cmpi_{predicate}_{kind}", f"arith.cmpi {predicate}, %0, %1 : {kind}", [kind, kind], ["i1"])
        yield Case(f"select_{kind}", f"arith.select %0, %1, %2 : {kind}", ["i1", kind, kind], [kind])
    for kind in ("i8", "i16", "i32", "i64"):
        text = f"arith.addui_extended %0, %1 : {kind}, i1"
        yield Case(f"addui_extended_{kind}", text, [kind, kind], [kind, "i1"], names=["r", "s"])
    for kind in FLOATS:
        for predicate in "false oeq ogt oge olt ole one ord ueq ugt uge ult ule une uno true".split():
            yield Case(f"cmpf_{predicate}_{kind}", f"arith.cmpf {predicate}, %0, %1 : {kind}", [kind, kind], ["i1"])
        yield Case(f"select_{kind}", f"arith.select %0, %1, %2 : {kind}", ["i1", kind, kind], [kind])
    for a, b in [("i1", "i8"), ("i1", "i64"), ("i8", "i16"), ("i8", "i64"), ("i16", "i32"), ("i32", "i64")]:
        yield Case(f"extsi_{a}_{b}", f"arith.extsi %0 : {a} to {b}", [a], [b])
        yield Case(f"extui_{a}_{b}", f"arith.extui %0 : {a} to {b}", [a], [b])
        yield Case(f"trunci_{b}_{a}", f"arith.trunci %0 : {b} to {a}", [b], [a])
    for a in ["i1", "i8", "i16", "i32", "i64"]:
        yield Case(f"index_cast_{a}", f"arith.index_cast %0 : {a} to index", [a], ["index"])
        yield Case(f"index_uncast_{a}", f"arith.index_cast %0 : index to {a}", ["index"], [a])
        for kind in FLOATS:
            yield Case(f"sitofp_{a}_{kind}", f"arith.sitofp %0 : {a} to {kind}", [a], [kind])
            yield Case(f"uitofp_{a}_{kind}", f"arith.uitofp %0 : {a} to {kind}", [a], [kind])
    for kind in FLOATS:
        for a, size in (("i8", 8), ("i32", 32), ("i64", 64)):
            signed = within(-(2.0 ** min(size - 1, 14)), 2.0 ** min(size - 1, 14))
            unsigned = within(-1.0, 2.0 ** min(size, 15))
            yield Case(f"fptosi_{kind}_{a}", f"arith.fptosi %0 : {kind} to {a}", [kind], [a], domain=signed)
            yield Case(f"fptoui_{kind}_{a}", f"arith.fptoui %0 : {kind} to {a}", [kind], [a], domain=unsigned)


FUNCTIONS = (
    "absf acos asin atan ceil cos cosh exp exp2 expm1 floor log log10 log1p log2 round roundeven sin sinh sqrt tan tanh"
    " trunc"
).split()
LIBRARY_ONLY = "acosh asinh atanh cbrt erf".split()


def math_cases() -> Iterator[Case]:
    for vector in (False, True):
        v = "v" if vector else "s"
        for kind in FLOATS:
            t = vector_of(kind, vector)
            for op in [*FUNCTIONS, *LIBRARY_ONLY, "rsqrt"]:
                yield Case(f"{op}_{kind}_{v}", f"math.{op} %0 : {t}", [kind], [kind], vector)
            for op in ["atan2", "powf", *(["copysign"] if kind != "f16" else [])]:
                yield Case(f"{op}_{kind}_{v}", f"math.{op} %0, %1 : {t}", [kind, kind], [kind], vector)
            if kind != "f16":
                yield Case(f"fma_{kind}_{v}", f"math.fma %0, %1, %2 : {t}", [kind] * 3, [kind], vector)
        for kind in INTEGERS:
            t = vector_of(kind, vector)
            for op in "absi ctlz cttz ctpop".split():
                yield Case(f"{op}_{kind}_{v}", f"math.{op} %0 : {t}", [kind], [kind], vector)


def library_cases() -> Iterator[Case]:
    return (case for case in math_cases() if case.op.split()[0][5:] in [*FUNCTIONS, *LIBRARY_ONLY, "atan2", "powf"])


Some = Callable[[Iterable[Case], int], list[Case]]


def disagreements(cases: list[Case], passes: list[ModulePass], *mlir_passes: str) -> list[str]:
    """The cases that relex and MLIR compute differently."""
    assert len({case.name for case in cases}) == len(cases)
    text = "".join(case.program for case in cases)
    ours, theirs = compile_core(text, *passes), compile_core_by_mlir(text, *mlir_passes)
    return [case.name for case in cases if list(map(bits, case.run(ours))) != list(map(bits, case.run(theirs)))]


@needs_mlir
def test_arith(some: Some):
    assert disagreements(some(arith_cases(), 3), []) == []


@needs_mlir
def test_math(some: Some):
    assert disagreements(some(math_cases(), 2), []) == []


@needs_mlir
def test_math_by_the_c_library(some: Some):
    assert disagreements(some(library_cases(), 2), [ConvertMathToLibmPass()], "--convert-math-to-libm") == []


# Whole functions: a program, and the arguments of its function @f, the last of which it writes to


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


def agree(text: str, calls: list[list[Array | int]]) -> None:
    ours, theirs = compile_core(text), compile_core_by_mlir(text)
    for arguments in calls:
        results: list[list[bytes]] = []
        for code in (ours, theirs):
            copies = [a.copy() if isinstance(a, np.ndarray) else a for a in arguments]
            call(code, "f", *copies)
            results.append([bits(a) for a in copies if isinstance(a, np.ndarray)])
        assert results[0] == results[1], arguments


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


# Views of buffers

VIEWS = {
    "subview": """
  %v = memref.subview %x[%i, 1][%n, 3][2, 2] : memref<6x8xf32> to memref<?x3xf32, strided<[16, 2], offset: ?>>
  %w = "memref.cast"(%v) : (memref<?x3xf32, strided<[16, 2], offset: ?>>) -> memref<?x?xf32, strided<[?, ?], offset: ?>>
""",
    "subview of subview": """
  %u = memref.subview %x[1, %i][4, 5][1, 1] : memref<6x8xf32> to memref<4x5xf32, strided<[8, 1], offset: ?>>
  %v = memref.subview %u[%n, 0][2, 2][1, %n] : memref<4x5xf32, strided<[8, 1], offset: ?>>
    to memref<2x2xf32, strided<[8, ?], offset: ?>>
  %w = "memref.cast"(%v) : (memref<2x2xf32, strided<[8, ?], offset: ?>>) -> memref<?x?xf32, strided<[?, ?], offset: ?>>
""",
    "static subview": """
  %v = memref.subview %x[2, 1][3, 4][1, 2] : memref<6x8xf32> to memref<3x4xf32, strided<[8, 2], offset: 17>>
  %w = "memref.cast"(%v) : (memref<3x4xf32, strided<[8, 2], offset: 17>>) -> memref<?x?xf32, strided<[?, ?], offset: ?>>
""",
    "fewer dimensions": """
  %e = memref.expand_shape %x [[0, 1], [2]] output_shape [2, 3, 8] : memref<6x8xf32> into memref<2x3x8xf32>
  %v = memref.subview %e[%i, 0, 2][1, 3, 4][1, 1, 1] : memref<2x3x8xf32> to memref<3x4xf32, strided<[8, 1], offset: ?>>
  %w = "memref.cast"(%v) : (memref<3x4xf32, strided<[8, 1], offset: ?>>) -> memref<?x?xf32, strided<[?, ?], offset: ?>>
""",
    "collapse": """
  %c = memref.collapse_shape %x [[0, 1]] : memref<6x8xf32> into memref<48xf32>
  %e = memref.expand_shape %c [[0, 1]] output_shape [12, 4] : memref<48xf32> into memref<12x4xf32>
  %w = "memref.cast"(%e) : (memref<12x4xf32>) -> memref<?x?xf32, strided<[?, ?], offset: ?>>
""",
    "reinterpret": """
  %w = memref.reinterpret_cast %x to offset: [%i], sizes: [%n, 4], strides: [%n, 3]
    : memref<6x8xf32> to memref<?x4xf32, strided<[?, 3], offset: ?>>
""",
    "metadata": """
  %s = memref.subview %x[%i, 1][%n, 3][2, 2] : memref<6x8xf32> to memref<?x3xf32, strided<[16, 2], offset: ?>>
  %base, %o, %s0, %s1, %t0, %t1 = memref.extract_strided_metadata %s : memref<?x3xf32, strided<[16, 2], offset: ?>>
    -> memref<f32>, index, index, index, index, index
  %w = memref.reinterpret_cast %base to offset: [%o], sizes: [%s0, %s1], strides: [%t0, %t1]
    : memref<f32> to memref<?x?xf32, strided<[?, ?], offset: ?>>
""",
    "alignment": """
  %k = memref.assume_alignment %x, 4 : memref<6x8xf32>
  %w = "memref.cast"(%k) : (memref<6x8xf32>) -> memref<?x?xf32, strided<[?, ?], offset: ?>>
""",
}


@needs_mlir
@pytest.mark.parametrize("name", VIEWS)
def test_views(name: str):
    kind = "memref<?x4xf32, strided<[?, 3], offset: ?>>" if name == "reinterpret" else (
        "memref<?x?xf32, strided<[?, ?], offset: ?>>"
    )  # fmt: skip
    text = f"""
func.func @f(%x: memref<6x8xf32>, %i: index, %n: index, %out: memref<?x?xf32>) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
{VIEWS[name]}
  %rows = memref.dim %w, %c0 : {kind}
  %columns = memref.dim %w, %c1 : {kind}
  scf.for %a = %c0 to %rows step %c1 {{
    scf.for %b = %c0 to %columns step %c1 {{
      %v0 = memref.load %w[%a, %b] : {kind}
      memref.store %v0, %out[%a, %b] : memref<?x?xf32>
      memref.store %v0, %w[%a, %b] : {kind}
    }}
  }}
  func.return
}}"""
    x = np.arange(48, dtype=np.float32).reshape(6, 8)
    agree(text, [[x, i, n, np.zeros((12, 8), np.float32)] for i, n in [(0, 1), (1, 2), (0, 2)]])


@pytest.mark.parametrize("kind", ["f32", "i8", "index", "i1"])
def test_copies_with_gaps(kind: str):
    code = compile_core(
        """
func.func @f(%x: memref<?x?xKIND, strided<[?, ?], offset: ?>>, %y: memref<?x?xKIND, strided<[?, ?], offset: ?>>) {
  "memref.copy"(%x, %y) : (memref<?x?xKIND, strided<[?, ?], offset: ?>>,
    memref<?x?xKIND, strided<[?, ?], offset: ?>>) -> ()
  func.return
}
func.func @again(%x: memref<?xKIND, strided<[?]>>, %y: memref<?xKIND>) {
  "memref.copy"(%x, %y) : (memref<?xKIND, strided<[?]>>, memref<?xKIND>) -> ()
  func.return
}""".replace("KIND", kind)
    )
    whole = samples(kind, 0)[:60].reshape(6, 10)
    for view in (whole[1::2, ::3], whole[::-1, ::-1], whole.T, whole[:0], whole[:, :0]):
        out = np.zeros((2 * view.shape[0], 3 * view.shape[1]), view.dtype)
        call(code, "f", view, out[::2, ::3])
        assert np.array_equal(out[::2, ::3], view)
        assert not out[1::2].any()
    column = np.zeros(6, whole.dtype)
    call(code, "again", whole[:, 4], column)
    assert np.array_equal(column, whole[:, 4])


# Control flow and functions

COLLATZ = """
func.func @f(%n: index, %out: memref<?xindex>) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %two = arith.constant 2 : index
  %three = arith.constant 3 : index
  scf.for %start = %one to %n step %one {
    %end, %steps = scf.while (%i = %start, %s = %zero) : (index, index) -> (index, index) {
      %more = arith.cmpi ne, %i, %one : index
      scf.condition(%more) %i, %s : index, index
    } do {
    ^bb0(%j: index, %t: index):
      %rest = arith.remui %j, %two : index
      %odd = arith.cmpi ne, %rest, %zero : index
      %next = scf.if %odd -> (index) {
        %x = arith.muli %j, %three : index
        %y = arith.addi %x, %one : index
        scf.yield %y : index
      } else {
        %z = arith.divui %j, %two : index
        scf.yield %z : index
      }
      %u = arith.addi %t, %one : index
      scf.yield %next, %u : index, index
    }
    memref.store %steps, %out[%start] : memref<?xindex>
  }
  func.return
}"""

PARALLEL = """
func.func @f(%x: memref<?x?xf32>, %m: index, %n: index, %step: index, %out: memref<?xf32>) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %start = arith.constant 0.5 : f32
  %sum, %top = "scf.parallel"(%zero, %one, %m, %n, %step, %one, %start, %start)
      <{operandSegmentSizes = array<i32: 2, 2, 2, 2>}> ({
  ^bb0(%i: index, %j: index):
    %v = memref.load %x[%i, %j] : memref<?x?xf32>
    memref.store %start, %x[%i, %j] : memref<?x?xf32>
    "scf.reduce"(%v, %v) ({
    ^bb0(%lhs: f32, %rhs: f32):
      %s = arith.subf %rhs, %lhs : f32
      scf.reduce.return %s : f32
    }, {
    ^bb0(%lhs: f32, %rhs: f32):
      %s = arith.maximumf %lhs, %rhs : f32
      scf.reduce.return %s : f32
    }) : (f32, f32) -> ()
  }) : (index, index, index, index, index, index, f32, f32) -> (f32, f32)
  memref.store %sum, %out[%zero] : memref<?xf32>
  memref.store %top, %out[%one] : memref<?xf32>
  func.return
}"""

SWITCH = """
func.func @f(%i: index, %x: memref<?xf32>, %out: memref<?xf32>) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %flag = arith.index_cast %i : index to i32
  %a = memref.load %x[%zero] : memref<?xf32>
  %b = memref.load %x[%one] : memref<?xf32>
  cf.switch %flag : i32, [
    default: ^end(%a : f32),
    5: ^end(%b : f32),
    -7: ^twice(%a : f32),
    9: ^twice(%b : f32),
    11: ^end(%a : f32)
  ]
^twice(%v: f32):
  %w = arith.addf %v, %v : f32
  cf.br ^end(%w : f32)
^end(%r: f32):
  memref.store %r, %out[%zero] : memref<?xf32>
  func.return
}"""

INDEX_SWITCH = """
func.func @f(%i: index, %x: memref<?xi64>, %out: memref<?xi64>) {
  %zero = arith.constant 0 : index
  %v = memref.load %x[%zero] : memref<?xi64>
  %r = scf.index_switch %i -> i64
  case 2 {
    %a = arith.addi %v, %v : i64
    scf.yield %a : i64
  }
  case 5 {
    scf.yield %v : i64
  }
  default {
    %b = arith.muli %v, %v : i64
    scf.yield %b : i64
  }
  memref.store %r, %out[%zero] : memref<?xi64>
  func.return
}"""

RECURSION = """
func.func private @split(%n: i64, %x: f64) -> (i64, f64, vector<2xf64>) {
  %one = arith.constant 1 : i64
  %m = arith.subi %n, %one : i64
  %y = arith.addf %x, %x : f64
  %v = vector.broadcast %y : f64 to vector<2xf64>
  func.return %m, %y, %v : i64, f64, vector<2xf64>
}
func.func private @rise(%n: i64, %x: f64) -> f64 {
  %zero = arith.constant 0 : i64
  %done = arith.cmpi sle, %n, %zero : i64
  cf.cond_br %done, ^end(%x : f64), ^more
^more:
  %m, %y, %v = func.call @split(%n, %x) : (i64, f64) -> (i64, f64, vector<2xf64>)
  %w = vector.extract %v[1] : f64 from vector<2xf64>
  %z = func.call @rise(%m, %w) : (i64, f64) -> f64
  cf.br ^end(%z : f64)
^end(%r: f64):
  func.return %r : f64
}
func.func @f(%n: i64, %out: memref<?xf64>) {
  %zero = arith.constant 0 : index
  %x = memref.load %out[%zero] : memref<?xf64>
  %y = func.call @rise(%n, %x) : (i64, f64) -> f64
  memref.store %y, %out[%zero] : memref<?xf64>
  func.return
}"""

SCOPES = """
func.func @f(%n: index, %out: memref<?xindex>) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %size = arith.constant 100000 : index
  scf.for %i = %zero to %n step %one {
    %r = "memref.alloca_scope"() ({
      %a = memref.alloca(%size) : memref<?xindex>
      scf.for %j = %zero to %size step %one {
        memref.store %j, %a[%j] : memref<?xindex>
      }
      %x = memref.load %a[%i] : memref<?xindex>
      "memref.alloca_scope.return"(%x) : (index) -> ()
    }) : () -> index
    memref.store %r, %out[%i] : memref<?xindex>
  }
  func.return
}"""


@needs_mlir
def test_loops_and_branches():
    agree(COLLATZ, [[30, np.zeros(30, np.int64)], [0, np.zeros(1, np.int64)]])
    grid = samples("f32", 4)[:35].reshape(5, 7)
    calls: list[list[Array | int]] = [
        [grid, m, n, step, np.zeros(2, np.float32)] for m, n, step in [(5, 7, 1), (4, 3, 2), (0, 7, 1), (5, 1, 1)]
    ]
    agree(PARALLEL.replace("%x: memref<?x?xf32>", "%x: memref<?x?xf32>"), calls)
    floats, out = np.array([1.5, -2.25], np.float32), np.zeros(1, np.float32)
    agree(SWITCH, [[i, floats, out] for i in (5, -7, 9, 11, 0, 2**32 + 5)])
    agree(INDEX_SWITCH, [[i, np.array([7], np.int64), np.zeros(1, np.int64)] for i in (2, 5, 0, -1)])
    agree(RECURSION, [[n, np.array([0.75])] for n in (0, 1, 20)])


def test_scopes_give_their_stack_back():
    out = np.zeros(1000, np.int64)
    call(compile_core(SCOPES), "f", 1000, out)
    assert out.tolist() == list(range(1000))


# Powers with integers: MLIR's intrinsic calls a function that is not there


def test_powers_with_integers():
    kinds = ["f32", "f64"]
    cases = [
        Case(f"fpowi_{kind}_{v}", f"math.fpowi %0, %1 : {vector_of(kind, vector)}, {vector_of('i32', vector)}",
             [kind, "i32"], [kind], vector)
        for kind in kinds for v, vector in (("s", False), ("v", True))
    ]  # fmt: skip
    code = compile_core("".join(case.program for case in cases))
    bases = np.array([0.0, -0.0, 1.0, -1.0, 2.0, -0.5, 1.5, np.inf, -np.inf, np.nan, 3.0, 10.0])
    powers = np.array([0, 1, -1, 2, -2, 3, 7, -7, 31, -31, 2**31 - 1, -(2**31)], np.int32)
    a, b = (grid.ravel() for grid in np.meshgrid(bases, powers))
    for case in cases:
        x = a.astype(DTYPES[case.inputs[0]])
        out = np.empty_like(x)
        call(code, case.name, x, b, out)
        with np.errstate(all="ignore"):
            expected = np.power(x.astype(np.float64), b.astype(np.float64))
        assert np.allclose(out.astype(np.float64), expected.astype(x.dtype), rtol=1e-5, equal_nan=True), case.name


@needs_mlir
def test_integer_powers():
    def domain(inputs: list[Array]) -> list[Array]:
        base, power = inputs
        # An inverse of zero is undefined.
        return [np.where((base == 0) & (power < 0), np.array(1, base.dtype), base), power]

    cases: list[Case] = []
    for kind in ("i8", "i16", "i32", "i64"):
        for v, vector in (("s", False), ("v", True)):
            text = f"math.ipowi %0, %1 : {vector_of(kind, vector)}"
            cases.append(Case(f"ipowi_{kind}_{v}", text, [kind, kind], [kind], vector, domain))
    assert disagreements(cases, [], "--convert-math-to-funcs") == []
