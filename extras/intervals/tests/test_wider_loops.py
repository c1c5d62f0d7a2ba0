"""The oracle of ops on numbers: it agrees with ops that are right, and finds those that are a little wrong."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from xdsl.dialects import arith, math
from xdsl.dialects.builtin import AnyFloat, IndexType, f16, f32, f64, i1, i8, i32, i64
from xdsl.ir import Attribute, Operation
from xdsl.utils.test_value import create_ssa_value

from relex.dialects import parse_module
from relex.dialects.dtypes import numpy_dtype
from relex.dialects.upstream.arith import RemFOp
from relex.reference.interpreter import arith as arith_functions
from relex.reference.interpreter import math as math_functions
from relex.reference.interpreter.program import SCALARS
from relex.reference.intervals.domain import FUNCTIONS as ON_INTERVALS
from relex.reference.intervals.held_numbers import function_of, verdict_on
from relex.tools.campaign.subject import Case
from relex.tools.campaign.subjects.wider_loops import WiderLoopsSubject
from relex.tools.campaign.trial import try_number

FLOATS = (f16, f32, f64)
INTEGERS = (i1, i8, i32, i64, IndexType())
RNG = np.random.default_rng(0)

SHIFTS = (arith.ShLIOp, arith.ShRSIOp, arith.ShRUIOp)
DIVISIONS = (
    *(arith.DivSIOp, arith.RemSIOp, arith.FloorDivSIOp, arith.CeilDivSIOp),
    *(arith.DivUIOp, arith.RemUIOp, arith.CeilDivUIOp),
)
OF_INTEGERS = (
    *(arith.AddiOp, arith.SubiOp, arith.MuliOp, arith.AndIOp, arith.OrIOp, arith.XOrIOp),
    *(arith.MaxSIOp, arith.MinSIOp, arith.MaxUIOp, arith.MinUIOp, *SHIFTS, *DIVISIONS),
)
OF_TWO_FLOATS = (
    *(arith.AddfOp, arith.SubfOp, arith.MulfOp, arith.DivfOp, RemFOp, math.PowFOp, math.Atan2Op, math.CopySignOp),
    *(arith.MaximumfOp, arith.MinimumfOp, arith.MaxnumfOp, arith.MinnumfOp),
)
OF_ONE_FLOAT: list[type[Operation]] = [
    arith.NegfOp,
    *(kind for kind in math_functions.FUNCTIONS if kind.name.startswith("math.")),
]
CASTS = (
    *product((arith.ExtFOp, arith.TruncFOp), FLOATS, FLOATS),
    *product((arith.SIToFPOp, arith.UIToFPOp), (i1, i8, i32, i64), FLOATS),
    *product((arith.FPToSIOp, arith.FPToUIOp), FLOATS, (i8, i32, i64)),
    *product((arith.ExtSIOp, arith.ExtUIOp), (i1, i8), (i32, i64)),
    *product((arith.TruncIOp,), (i32, i64), (i1, i8)),
    *product((arith.IndexCastOp,), (i8, i64), (IndexType(),)),
)
CASES: list[tuple[type[Operation], Sequence[Attribute], Attribute]] = [
    *((kind, (t, t), t) for kind, t in product(OF_INTEGERS, INTEGERS) if t != i1 or kind not in (*SHIFTS, *DIVISIONS)),
    *((kind, (t, t), t) for kind, t in product(OF_TWO_FLOATS, FLOATS)),
    *((kind, (t,), t) for kind, t in product(OF_ONE_FLOAT, FLOATS) if kind not in (*OF_TWO_FLOATS, math.FmaOp)),
    *((math.FmaOp, (t, t, t), t) for t in FLOATS),
    *((math.AbsIOp, (t,), t) for t in (i8, i32, i64)),
    *((arith.SelectOp, (i1, t, t), t) for t in (f32, i32)),
    *((kind, (source,), target) for kind, source, target in CASTS),
]


def operand(t: Attribute, kind: type[Operation], place: int) -> Any:
    """Return numbers of a type, with those on which ops go wrong; those for which the op is defined."""
    if not isinstance(t, AnyFloat):
        dtype = numpy_dtype(i64 if t == IndexType() else t)
        if dtype == np.bool_:
            return RNG.random(400) < 0.5
        info = np.iinfo(dtype)
        numbers = RNG.choice([0, 1, 2, 3, 7, -1, -2, -5, info.min, info.max, info.min + 1, 100], 400).astype(dtype)
        if kind in SHIFTS and place:
            return (numbers % 8).astype(dtype)
        return np.where(numbers > -2, np.maximum(numbers, 1), numbers) if kind in DIVISIONS and place else numbers
    dtype = numpy_dtype(t)
    info = np.finfo(dtype)
    special = [0, -0.0, 1, -1, 0.5, 2.5, -1.5, 0.3, 3, np.inf, -np.inf, np.nan, info.max, info.tiny, info.eps, 127.7]
    return np.where(RNG.random(400) < 0.5, RNG.choice(np.array(special, dtype), 400), RNG.normal(0, 9, 400)).astype(
        dtype
    )


def made(kind: type[Operation], operands: Sequence[Attribute], result: Attribute) -> Operation:
    return kind.create(operands=[create_ssa_value(t) for t in operands], result_types=[result])


def check(op: Operation) -> float:
    """Return how many results of an op are decided; none may be wrong."""
    numbers = [operand(v.type, type(op), i) for i, v in enumerate(op.operands)]
    run: Any = SCALARS.find(op)(op)  # pyright: ignore
    make = function_of(op, run)
    assert make is not None
    with np.errstate(all="ignore"):
        verdict = verdict_on(op, make, numbers, run(*numbers))
    assert verdict.wrong is None, (op.name, op.operands[0].type, verdict)
    return verdict.decided / verdict.elements


def test_ops_are_right_and_decided():
    shares = {
        (kind.name, str(operands), str(result)): check(made(kind, operands, result)) for kind, operands, result in CASES
    }
    assert min(shares.values()) > 0.3, min(shares, key=shares.__getitem__)
    assert sum(shares.values()) / len(shares) > 0.9


@pytest.mark.parametrize("t", FLOATS)
def test_comparisons_of_floats(t: Attribute):
    for predicate in range(16):
        assert check(arith.CmpfOp(create_ssa_value(t), create_ssa_value(t), predicate)) == 1


@pytest.mark.parametrize("t", INTEGERS)
def test_comparisons_of_integers(t: Attribute):
    for predicate in range(10):
        assert check(arith.CmpiOp(create_ssa_value(t), create_ssa_value(t), predicate)) == 1


def test_ops_without_a_function():
    """All others of `arith` and `math` have one."""
    missing = {kind.name for kind in SCALARS if kind.name.startswith(("arith.", "math."))} - ON_INTERVALS.keys()
    assert missing - {"arith.cmpf", "arith.cmpi"} == {
        *("arith.addui_extended", "arith.mului_extended", "arith.mulsi_extended"),
        *("math.ctlz", "math.ctpop", "math.cttz", "math.fpowi", "math.ipowi"),
    }


PROGRAM = """
tir.prim_func @main(%X: memref<80xTYPE>, %Y: memref<80xTYPE>) outs(%Z: memref<80xTYPE>) attributes {tir.noalias} {
  %c = arith.constant 3 : i32
  tir.for %i in (80) {
    tir.block @Z (%vi: spatial<80> = %i) {
      %x = memref.load %X[%vi] : memref<80xTYPE>
      %y = memref.load %Y[%vi] : memref<80xTYPE>
      FORMULA
      memref.store %z, %Z[%vi] : memref<80xTYPE>
    }
  }
}
"""

FLOAT, SIGNED, FUNCTIONS = arith_functions.FLOAT_FUNCTIONS, arith_functions.SIGNED_FUNCTIONS, math_functions.FUNCTIONS


def _swapped(predicates: Sequence[Any], a: int, b: int) -> tuple[Any, ...]:
    other = {a: b, b: a}
    return tuple(predicates[other.get(i, i)] for i in range(len(predicates)))


def _rounding(target: Any, *, is_signed: bool) -> Callable[[Any], Any]:
    return lambda a: np.rint(a).astype(target.dtype)


TO_INTEGER = "%n = arith.fptosi %x : f32 to i32\n%z = arith.sitofp %n : i32 to f32"
COMPARED = "%b = arith.cmpf olt, %x, %y : f32\n%z = arith.select %b, %x, %y : f32"


def _cut(a: Any, b: Any) -> Any:
    return np.float64(np.float32(a) - np.float32(b))


def _larger(a: Any) -> Any:
    return np.exp(a) * np.float32(1.000002)


def _near(a: Any) -> Any:
    return np.tanh(a * 1.1283791671 + 0.1009 * a**3)


def _by_reciprocal(a: Any, b: Any) -> Any:
    return a * (1 / b)


def _rounded_twice(a: Any, b: Any, c: Any) -> Any:
    return a * b + c


def _upwards(a: Any) -> Any:
    return np.floor(a + np.float32(0.5))


def _without_sign(a: Any, n: Any) -> Any:
    return np.abs(a) >> n


MISTAKES: list[tuple[str, str, Any, Any, Any]] = [
    ("f32", "%z = arith.divf %x, %y : f32", FLOAT, arith.DivfOp, _by_reciprocal),
    ("f32", "%z = arith.maximumf %x, %y : f32", FLOAT, arith.MaximumfOp, np.fmax),
    ("f64", "%z = arith.subf %x, %y : f64", FLOAT, arith.SubfOp, _cut),
    ("f32", "%z = math.exp %x : f32", FUNCTIONS, math.ExpOp, _larger),
    ("f64", "%z = math.erf %x : f64", FUNCTIONS, math.ErfOp, _near),
    ("f32", "%z = math.fma %x, %y, %x : f32", FUNCTIONS, math.FmaOp, _rounded_twice),
    ("f32", "%z = math.roundeven %x : f32", FUNCTIONS, math.RoundEvenOp, _upwards),
    ("i32", "%z = arith.shrsi %x, %c : i32", SIGNED, arith.ShRSIOp, _without_sign),
    ("i32", "%z = arith.remsi %x, %c : i32", SIGNED, arith.RemSIOp, np.mod),
    ("f32", COMPARED, arith_functions, "FLOAT_PREDICATES", _swapped(arith_functions.FLOAT_PREDICATES, 4, 11)),
    ("f32", TO_INTEGER, arith_functions, "_round_towards_zero", _rounding),
]


@pytest.mark.parametrize(("t", "formula", "where", "what", "wrong"), MISTAKES)
def test_mistakes_are_found(t: str, formula: str, where: Any, what: Any, wrong: Any, monkeypatch: pytest.MonkeyPatch):
    """The subject of relex-fuzz finds ops that the interpreter computes in a slightly wrong way."""
    module = parse_module(PROGRAM.replace("TYPE", t).replace("FORMULA", formula))
    case = Case(module, {"seed": "0"})
    assert WiderLoopsSubject().check(case) is None
    if isinstance(what, str):
        monkeypatch.setattr(where, what, wrong)
    else:
        monkeypatch.setitem(where, what, wrong)
    assert "is interpreted in another way than in wider precision" in str(WiderLoopsSubject().check(case))


def test_programs(tmp_path: Path):
    """Random programs, as a campaign tries them: nothing is wrong."""
    outcomes = [try_number(0, number, ["wider-loops"], tmp_path) for number in range(12)]
    assert [outcome.message for outcome in outcomes if outcome.verdict == "wrong"] == []
    assert sum(outcome.verdict == "right" for outcome in outcomes) > 6
