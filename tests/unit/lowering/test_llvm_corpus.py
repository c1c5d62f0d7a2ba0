"""A corpus of programs, over ops and types: relex's conversions compute what MLIR's do, bit for bit.

Inputs are ordinary numbers and special ones. Where an op is undefined for an input, the input is not used.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

import numpy as np
from native import DTYPES, Array, bits, call, compile_core, compile_core_by_mlir, needs_mlir, samples
from xdsl.passes import ModulePass

from relex.dialects.target.features import default_target, has_feature
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
    # MLIR makes of these a sum with 1, and `convert-to-llvm` of relex a call of the library.
    alike = (case for case in math_cases() if not case.name.startswith(("expm1", "log1p")))
    assert disagreements(some(alike, 2), []) == []


@needs_mlir
def test_math_by_the_c_library(some: Some):
    assert disagreements(some(library_cases(), 2), [ConvertMathToLibmPass()], "--convert-math-to-libm") == []


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
