"""Vectorized loops compute what the same loops compute one iteration after the other, bit by bit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pytest
from xdsl.dialects import arith, scf
from xdsl.ir import Dialect, Operation, SSAValue
from xdsl.irdl import IRDLOperation, irdl_op_definition, operand_def, result_def, traits_def
from xdsl.traits import Pure

from relex.dialects import make_context, parse_module
from relex.dialects.relex.types import without_names
from relex.lowering import VectorizeLoopsPass
from relex.lowering.vectors.forms import SUBSTITUTES
from relex.lowering.vectors.lanes import LaneEmitter
from relex.runtime import Executable, build
from relex.runtime.executable import CompiledFunction

Array = np.ndarray[Any, np.dtype[Any]]

EXTENTS = (1, 2, 7, 16, 19)


@dataclass(frozen=True)
class Case:
    """A function of a loop of `{n}` iterations, whose kind is `{kind}`. `{name}` is its name."""

    text: str
    n: int = 16
    exact: bool = True

    def function(self, name: str, kind: str) -> str:
        return self.text.replace("{name}", name).replace("{kind}", kind).replace("{n}", str(self.n))


def elementwise(body: str, inputs: str = "f32", output: str = "f32", n: int = 16) -> Case:
    """`body` computes %y from %a, %b, ... of the types `inputs`."""
    names = list(zip("abcd", inputs.split(), strict=False))
    arguments = ", ".join(f"%{name.upper()}: memref<{n}x{t}>" for name, t in names)
    loads = "\n".join(f"%{name} = memref.load %{name.upper()}[%v] : memref<{n}x{t}>" for name, t in names)
    return Case(
        f"""
tir.prim_func @{{name}}({arguments}) outs(%Y: memref<{n}x{output}>) {{
  tir.for {{kind}} %i in ({n}) {{
    tir.block @Y (%v: spatial<{n}> = %i) {{
      {loads}
      {body}
      memref.store %y, %Y[%v] : memref<{n}x{output}>
    }}
  }}
}}""",
        n,
    )


COMPARISONS = "oeq ogt oge olt ole one ord ueq ugt uge ult ule une uno".split()
INTEGER_COMPARISONS = "eq ne slt sle sgt sge ult ule ugt uge".split()
UNARY = "absf exp log sqrt tanh erf floor".split()

CASES: dict[str, Case] = {
    **{f"extent_{n}": elementwise("%y = arith.mulf %a, %b : f32", "f32 f32", n=n) for n in EXTENTS},
    **{f"cmpf_{p}": elementwise(f"%y = arith.cmpf {p}, %a, %b : f32", "f32 f32", "i1", 36) for p in COMPARISONS},
    **{f"cmpi_{p}": elementwise(f"%y = arith.cmpi {p}, %a, %b : i32", "i32 i32", "i1") for p in INTEGER_COMPARISONS},
    **{f"math_{f}": elementwise(f"%y = math.{f} %a : f32", n=12) for f in UNARY},
    "cmpf_f64": elementwise("%y = arith.cmpf ole, %a, %b : f64", "f64 f64", "i1", 36),
    "select": elementwise(
        "%c = arith.cmpf ult, %a, %b : f64\n%y = arith.select %c, %a, %b : f64", "f64 f64", "f64", 36
    ),
    "select_i1": elementwise(
        "%q = arith.cmpf ult, %a, %b : f32\n%y = arith.select %q, %c, %d : i1", "f32 f32 i1 i1", "i1"
    ),
    "maximum": elementwise("%y = arith.maximumf %a, %b : f32", "f32 f32", n=36),
    "widened": elementwise("%y = arith.extf %a : f32 to f64", "f32", "f64"),
    "narrowed": elementwise("%y = arith.truncf %a : f64 to f32", "f64", "f32"),
    "from_integer": elementwise("%y = arith.sitofp %a : i32 to f32", "i32"),
    "from_bool": elementwise("%y = arith.uitofp %a : i1 to f32", "i1"),
    "to_integer": elementwise("%z = math.tanh %a : f32\n%y = arith.fptosi %z : f32 to i32", "f32", "i32", 6),
    "extended": elementwise("%y = arith.extsi %a : i8 to i64", "i8", "i64"),
    "truncated": elementwise("%y = arith.trunci %a : i64 to i8", "i64", "i8"),
    "divided": elementwise("%o = arith.constant 3 : i32\n%y = arith.divsi %a, %o : i32", "i32", "i32"),
    "bools": elementwise("%y = arith.xori %a, %b : i1", "i1 i1", "i1"),
    "bytes": elementwise("%y = arith.addi %a, %b : i8", "i8 i8", "i8", 19),
    "counted": elementwise("%z = arith.index_cast %v : index to i64\n%y = arith.sitofp %z : i64 to f32"),
    "constant": elementwise("%y = arith.constant 2.5 : f32"),
    "reversed": elementwise(
        """%e = arith.constant 15 : index
           %p = arith.subi %e, %v : index
           %y = memref.load %A[%p] : memref<16xf32>"""
    ),
    "halves": elementwise(
        """%two = arith.constant 2 : index
           %p = arith.floordivsi %v, %two : index
           %y = memref.load %A[%p] : memref<16xf32>"""
    ),
    "looked_up": elementwise(
        """%seven = arith.constant 7 : i32
           %m = arith.andi %b, %seven : i32
           %p = arith.index_cast %m : i32 to index
           %y = memref.load %A[%p] : memref<16xf32>""",
        "f32 i32",
    ),
    "choice": elementwise(
        """%five = arith.constant 5 : index
           %c = arith.cmpi sge, %v, %five : index
           %y = scf.if %c -> (f32) {
             %p = arith.subi %v, %five : index
             %z = memref.load %A[%p] : memref<16xf32>
             scf.yield %z : f32
           } else {
             %z = arith.negf %a : f32
             scf.yield %z : f32
           }"""
    ),
    "choice_by_value": elementwise(
        """%zero = arith.constant 0 : i32
           %c = arith.cmpi ne, %b, %zero : i32
           %y = scf.if %c -> (i32) {
             %z = arith.divsi %a, %b : i32
             scf.yield %z : i32
           } else {
             scf.yield %zero : i32
           }""",
        "i32 i32",
        "i32",
    ),
    "choice_same_place": elementwise(
        """%zero = arith.constant 0 : index
           %c = arith.cmpi sgt, %v, %zero : index
           %y = scf.if %c -> (f32) {
             %z = memref.load %A[%zero] : memref<16xf32>
             scf.yield %z : f32
           } else {
             %z = arith.constant 3.0 : f32
             scf.yield %z : f32
           }"""
    ),
    "guarded_lookup": elementwise(
        """%last = arith.constant 15 : index
           %c = arith.cmpi slt, %v, %last : index
           %y = scf.if %c -> (f32) {
             %two = arith.constant 2 : index
             %p = arith.floordivsi %v, %two : index
             %z = memref.load %A[%p] : memref<16xf32>
             scf.yield %z : f32
           } else {
             scf.yield %a : f32
           }"""
    ),
    "same_condition": elementwise(
        """%zero = arith.constant 0 : index
           %first = memref.load %B[%zero] : memref<16xi1>
           %y, %z = scf.if %first -> (f32, f32) {
             %q = arith.negf %a : f32
             %r = arith.constant 1.0 : f32
             scf.yield %q, %r : f32, f32
           } else {
             %r = arith.constant 2.0 : f32
             scf.yield %r, %r : f32, f32
           }""",
        "f32 i1",
    ),
    "same_condition_store": elementwise(
        """%zero = arith.constant 0 : index
           %y = arith.negf %a : f32
           %first = memref.load %B[%zero] : memref<16xi1>
           memref.store %a, %Y[%v] : memref<16xf32>
           scf.if %first {
             memref.store %y, %Y[%v] : memref<16xf32>
           }""",
        "f32 i1",
    ),
    "nested_conditions": Case(
        """
tir.prim_func @{name}(%A: memref<16xf32>, %B: memref<16xi1>, %C: memref<16xi1>) outs(%Y: memref<16xf32>) {
  tir.for {kind} %i in (16) {
    tir.block @Y (%v: spatial<16> = %i) {
      %a = memref.load %A[%v] : memref<16xf32>
      %b = memref.load %B[%v] : memref<16xi1>
      %c = memref.load %C[%v] : memref<16xi1>
      %n = arith.negf %a : f32
      %t = arith.addf %a, %a : f32
      memref.store %a, %Y[%v] : memref<16xf32>
      scf.if %b {
        scf.if %c {
          memref.store %n, %Y[%v] : memref<16xf32>
        } else {
          memref.store %t, %Y[%v] : memref<16xf32>
        }
      }
    }
  }
}"""
    ),
    "carried": elementwise(
        """%zero = arith.constant 0 : index
           %one = arith.constant 1 : index
           %four = arith.constant 4 : index
           %f = arith.constant 0.0 : f32
           %y = scf.for %k = %zero to %four step %one iter_args(%s = %f) -> (f32) {
             %x = memref.load %A[%k] : memref<16xf32>
             %p = arith.mulf %x, %b : f32
             %t = arith.addf %s, %p : f32
             scf.yield %t : f32
           }""",
        "f32 f32",
    ),
}


def tail(n: int) -> Case:
    """A loop that is longer than the buffer, in steps of 16."""
    return Case(
        f"""
tir.prim_func @{{name}}(%X: memref<{n}xf32>) outs(%Y: memref<{n}xf32>) {{
  %c16 = arith.constant 16 : index
  %n = arith.constant {n} : index
  tir.for %i, {{kind}} %l in ({-(-n // 16)}, 16) {{
    %a = arith.muli %i, %c16 : index
    %b = arith.addi %a, %l : index
    %c = arith.cmpi slt, %b, %n : index
    scf.if %c {{
      tir.block @Y (%v: spatial<{n}> = %b) {{
        %x = memref.load %X[%v] : memref<{n}xf32>
        %y = arith.addf %x, %x : f32
        memref.store %y, %Y[%v] : memref<{n}xf32>
      }}
    }}
  }}
}}"""
    )


CASES.update({f"tail_{n}": tail(n) for n in (1, 3, 15, 16, 17, 33)})


def every_second(kind: str, n: int, most: int) -> Case:
    """The elements of a row at even places, and `most` elements of the next row at odd ones."""
    return Case(
        f"""
tir.prim_func @{{name}}(%X: memref<{n}x{kind}>) outs(%Y: memref<2x{2 * n}x{kind}>) {{
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %two = arith.constant 2 : index
  %most = arith.constant {most} : index
  %c = arith.constant 3 : {kind}
  tir.for %r, %i in (2, {2 * n}) {{
    tir.block @Y_init (%vr: spatial<2> = %r, %v: spatial<{2 * n}> = %i) {{
      memref.store %c, %Y[%vr, %v] : memref<2x{2 * n}x{kind}>
    }}
  }}
  tir.for {{kind}} %i in ({n}) {{
    tir.block @Y (%v: spatial<{n}> = %i) {{
      %x = memref.load %X[%v] : memref<{n}x{kind}>
      %even = arith.muli %v, %two : index
      memref.store %x, %Y[%zero, %even] : memref<2x{2 * n}x{kind}>
      %odd = arith.addi %even, %one : index
      %is_stored = arith.cmpi slt, %v, %most : index
      scf.if %is_stored {{
        memref.store %x, %Y[%one, %odd] : memref<2x{2 * n}x{kind}>
      }}
    }}
  }}
}}""",
        n,
    )


for _kind in ("i8", "i32", "i64"):
    CASES.update({f"every_second_{n}_{_kind}": every_second(_kind, n, n // 2) for n in EXTENTS})


def fused(columns: int, divide: str, remainder: str) -> Case:
    """A matrix of 48 elements, read and written by the rows and columns behind one count of them."""
    shape = f"{48 // columns}x{columns}"
    return Case(
        f"""
tir.prim_func @{{name}}(%X: memref<{shape}xf32>) outs(%Y: memref<48xf32>, %Z: memref<{shape}xf32>) {{
  %columns = arith.constant {columns} : index
  %c8 = arith.constant 8 : index
  tir.for %i, {{kind}} %l in (6, 8) {{
    %a = arith.muli %i, %c8 : index
    %b = arith.addi %a, %l : index
    tir.block @Y (%v: spatial<48> = %b) {{
      %row = arith.{divide} %v, %columns : index
      %column = arith.{remainder} %v, %columns : index
      %x = memref.load %X[%row, %column] : memref<{shape}xf32>
      memref.store %x, %Y[%v] : memref<48xf32>
      memref.store %x, %Z[%row, %column] : memref<{shape}xf32>
    }}
  }}
}}""",
    )


CASES.update({f"fused_{n}": fused(n, "divui", "remui") for n in (1, 2, 4, 6, 8, 12, 16, 24, 48)})
CASES.update({f"fused_signed_{n}": fused(n, "floordivsi", "remsi") for n in (6, 8, 16)})


def reduction(combine: str, start: str, element: str, *, exact: bool = True, guard: bool = False, n: int = 16) -> Case:
    """The rows of a matrix, combined by an op on %y and %x; with `guard`, the first 12 elements of them."""
    before, behind = ("scf.if %c {", "}") if guard else ("", "")
    attribute = "relex.strict" if exact else ""
    return Case(
        f"""
tir.prim_func @{{name}}(%X: memref<3x{n}x{element}>) outs(%Y: memref<3x{element}>) attributes {{{attribute}}} {{
  %start = arith.constant {start} : {element}
  %limit = arith.constant 11 : index
  tir.for %i, {{kind}} %k in (3, {n}) {{
    tir.block @Y (%vi: spatial<3> = %i, %vk: reduce<{n}> = %k) {{
      tir.init {{ memref.store %start, %Y[%vi] : memref<3x{element}> }}
      %c = arith.cmpi sle, %vk, %limit : index
      {before}
      %x = memref.load %X[%vi, %vk] : memref<3x{n}x{element}>
      %y = memref.load %Y[%vi] : memref<3x{element}>
      %z = {combine} : {element}
      memref.store %z, %Y[%vi] : memref<3x{element}>
      {behind}
    }}
  }}
}}""",
        n,
        exact,
    )


REDUCTIONS = {
    "addf": ("arith.addf %y, %x", "0.0", "f32"),
    "addf_swapped": ("arith.addf %x, %y", "0.0", "f64"),
    "mulf": ("arith.mulf %y, %x", "1.0", "f32"),
    "maximumf": ("arith.maximumf %y, %x", "0xFF800000", "f32"),
    "minimumf": ("arith.minimumf %y, %x", "0x7F800000", "f32"),
    "maxnumf": ("arith.maxnumf %y, %x", "0xFF800000", "f32"),
    "minnumf": ("arith.minnumf %y, %x", "0x7F800000", "f32"),
    "addi": ("arith.addi %y, %x", "0", "i32"),
    "muli": ("arith.muli %y, %x", "1", "i64"),
    "maxsi": ("arith.maxsi %y, %x", "-2147483648", "i32"),
    "minsi": ("arith.minsi %y, %x", "2147483647", "i32"),
    "maxui": ("arith.maxui %y, %x", "0", "i8"),
    "minui": ("arith.minui %y, %x", "-1", "i8"),
    "andi": ("arith.andi %y, %x", "-1", "i32"),
    "ori": ("arith.ori %y, %x", "0", "i32"),
    "xori": ("arith.xori %y, %x", "0", "i32"),
    "bool_or": ("arith.ori %y, %x", "0", "i1"),
}

CASES.update({f"sum_{name}": reduction(*how) for name, how in REDUCTIONS.items()})
CASES.update({f"guarded_{name}": reduction(*how, guard=True) for name, how in REDUCTIONS.items()})
CASES["any_order"] = reduction("arith.addf %y, %x fastmath<reassoc>", "0.0", "f32", exact=False, n=33)
# What is read and what is written are the same element, though its index is computed twice.
CASES["index_computed_twice"] = Case(
    """
tir.prim_func @{name}(%X: memref<3x{n}xf32>) outs(%Y: memref<7xf32>) {
  %two = arith.constant 2 : index
  %zero = arith.constant 0.0 : f32
  tir.for %r in (7) {
    tir.block @Y_init (%v: spatial<7> = %r) {
      memref.store %zero, %Y[%v] : memref<7xf32>
    }
  }
  tir.for %r, {kind} %i in (3, {n}) {
    tir.block @Y (%v: spatial<3> = %r, %t: reduce<{n}> = %i) {
      %x = memref.load %X[%v, %t] : memref<3x{n}xf32>
      %read = arith.muli %v, %two : index
      %y = memref.load %Y[%read] : memref<7xf32>
      %z = arith.addf %y, %x fastmath<reassoc> : f32
      %written = arith.muli %v, %two : index
      memref.store %z, %Y[%written] : memref<7xf32>
    }
  }
}""",
    exact=False,
)


@cache
def program(names: tuple[str, ...]) -> Executable:
    functions = [CASES[name].function(f"{name}_{kind}", kind) for name in names for kind in ("serial", "vectorized")]
    return build("\n".join(functions).replace("serial %", "%"))


def example(shape: tuple[int, ...], dtype: np.dtype[Any], seed: int) -> Array:
    """Numbers of all kinds, each pair of special ones among them where there is place."""
    random = np.random.default_rng(seed)
    size = int(np.prod(shape))
    if dtype == np.bool_:
        return random.integers(0, 2, shape).astype(dtype)
    if dtype.kind == "i":
        values = random.integers(np.iinfo(dtype).min, np.iinfo(dtype).max, size, dtype=dtype, endpoint=True)
        values[1::5] = 0
        return values.reshape(shape)
    special = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-42], dtype)
    grid = np.repeat(special, 6) if seed % 2 else np.tile(special, 6)
    values = random.standard_normal(size).astype(dtype)
    if size >= 36:
        values[:36] = grid
    elif size >= 12:
        values[:6] = grid[6:12]
    return values.reshape(shape)


@pytest.mark.parametrize("name", CASES)
def test_computes_what_the_loop_computes(name: str, group: tuple[str, ...]) -> None:
    serial, vectorized = program(group)[f"{name}_serial"], program(group)[f"{name}_vectorized"]
    specs = serial.signature.inputs
    for seed in range(3):
        inputs = [example(without_names(s.shape), s.dtype, 3 * seed + i) for i, s in enumerate(specs)]
        for expected, found in zip(results(serial, inputs), results(vectorized, inputs), strict=True):
            if not CASES[name].exact:
                np.testing.assert_allclose(found, expected, rtol=1e-5)
                continue
            np.testing.assert_array_equal(found, expected)
            # The larger and the smaller number of two zeros may be either.
            if expected.dtype.kind == "f" and "num" not in name:
                numbers = ~np.isnan(expected)
                np.testing.assert_array_equal(np.signbit(found[numbers]), np.signbit(expected[numbers]))


def results(function: CompiledFunction, inputs: list[Array]) -> tuple[Array, ...]:
    given = function(*inputs)
    return given if len(function.signature.outputs) > 1 else (given,)


@irdl_op_definition
class Twice(IRDLOperation):
    """A number times two, computed by somebody else."""

    name = "other.twice"

    x = operand_def()
    y = result_def()

    traits = traits_def(Pure())
    assembly_format = "$x attr-dict `:` type($x) `->` type($y)"


@irdl_op_definition
class Count(IRDLOperation):
    """The same, and who knows what else."""

    name = "other.count"

    x = operand_def()
    y = result_def()

    assembly_format = "$x attr-dict `:` type($x) `->` type($y)"


FOREIGN = """
func.func @f(%X: memref<8xf32>, %Y: memref<8xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  scf.for %i = %c0 to %c8 step %c1 {
    %x = memref.load %X[%i] : memref<8xf32>
    %y = other.twice %x : f32 -> f32
    %z = arith.negf %y : f32
    memref.store %z, %Y[%i] : memref<8xf32>
  } {relex.vectorized}
  func.return
}
"""


def vectorized(text: str) -> list[Operation]:
    """The ops in a function after its loops have become vectors."""
    context = make_context()
    context.register_dialect("other", lambda: Dialect("other", [Twice, Count]))
    return list(VectorizeLoopsPass()(parse_module(text, context=context)).walk())


def types_of(ops: list[Operation], kind: type[Operation]) -> list[str]:
    return [str(op.results[0].type) for op in ops if isinstance(op, kind)]


def test_a_pure_op_of_others_is_computed_lane_by_lane() -> None:
    ops = vectorized(FOREIGN)
    assert types_of(ops, Twice) == ["f32"]
    assert types_of(ops, arith.NegfOp) == ["vector<8xf32>"]


def test_a_vector_form_of_others_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    def twice(op: Operation, values: Sequence[SSAValue], out: LaneEmitter) -> SSAValue:
        return out.add(Twice.create(operands=values, result_types=[values[0].type])).results[0]

    monkeypatch.setitem(SUBSTITUTES, Twice, twice)
    assert types_of(vectorized(FOREIGN), Twice) == ["vector<8xf32>"]


@pytest.mark.parametrize("op", ["other.count %x : f32 -> f32", "other.twice %X : memref<8xf32> -> f32"])
def test_a_loop_with_other_ops_of_others_stays(op: str) -> None:
    ops = vectorized(FOREIGN.replace("other.twice %x : f32 -> f32", op))
    assert types_of(ops, arith.NegfOp) == ["f32"]
    assert [inner.attributes for inner in ops if isinstance(inner, scf.ForOp)] == [{}]
