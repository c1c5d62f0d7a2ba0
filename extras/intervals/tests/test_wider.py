"""Operators on intervals: they agree with NumPy, and what is a little wrong is found there or by their loops."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import partial
from math import erf
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from operator_cases import CASES, NARROW
from programs import Array, MakeOperator, operator_module, operator_of, tensor_of
from xdsl.dialects.builtin import TensorType, f16, f32, i8
from xdsl.utils.test_value import create_ssa_value

from relex.dialects import parse_module, relex
from relex.dialects.dtypes import element_type_of
from relex.dialects.errors import InferenceError
from relex.dialects.relex.block_words import BlockDigitsOp, DenseWordsOp, RoundBlocksOp
from relex.dialects.relex.operator import Exactness, Operator
from relex.dialects.relex.packed import PairsProduct
from relex.dialects.relex.sliding_windows import Windows
from relex.lowering import LegalizeOpsPass
from relex.reference import NotEquivalentError, check_pass
from relex.reference.intervals.graphs import Agreement, judge, known_array, known_results
from relex.reference.intervals.numbers import Reals, format_of, round_to
from relex.tools.campaign.relex_fuzz import main
from relex.tools.campaign.state import State
from relex.tools.campaign.subject import Case, counting
from relex.tools.campaign.subjects import wider
from relex.tools.campaign.trial import TrialOutcome, try_case, try_number

RNG = np.random.default_rng(0)


def verdicts(make: MakeOperator, arrays: Sequence[Array]) -> list[Agreement]:
    """Return how an operator, as it defines itself, agrees with the oracle."""
    values = [create_ssa_value(TensorType(element_type_of(a.dtype), a.shape)) for a in arrays]
    op: Operator = make(*values)
    results = op.evaluate_results(*arrays)
    operands = [known_array(v, a) for v, a in zip(values, arrays, strict=True)]
    found = known_results(op, operands)
    signs = op.EXACTNESS is not Exactness.ROUNDED
    return [judge(known, array, signs=signs) for known, array in zip(found, results, strict=True)]


@pytest.mark.parametrize("dtype", ["", "float64"])
def test_operators_are_right_and_decided(dtype: str) -> None:
    """Nearly all elements of all operators are decided, and all are as they should be."""
    least = dict[str, float]()
    for make, operands in [*CASES, *NARROW]:
        if operator_of(make).COUNTS:
            continue  # How many results there are depends on elements.
        arrays = [a.astype(dtype) if dtype and a.dtype == np.float32 else a for a in operands]
        try:
            found = verdicts(make, arrays)
        except InferenceError:  # a bitcast to a type of another width
            continue
        for verdict in found:
            assert verdict.wrong is None, (make, verdict)
            least[str(make)] = verdict.decided / max(verdict.elements, 1)
    # Powers of integers are products in loops, and nothing on intervals; neither are words with two floats, and numbers
    # of blocks that are rounded to bytes.
    decided = {name: share for name, share in least.items() if share >= 0.7}
    undecided = (PairsProduct, RoundBlocksOp, BlockDigitsOp, DenseWordsOp)
    of_words = {str(make) for make, _ in CASES if issubclass(operator_of(make), undecided)}
    assert least.keys() - decided.keys() == {str(relex.PowerOp)} | of_words & least.keys()
    assert sum(decided.values()) / len(decided) > 0.999


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rounding(dtype: type[Any]) -> None:
    t = element_type_of(np.dtype(dtype))
    wide = np.longdouble if dtype is np.float64 else np.float64
    numbers = np.ldexp(RNG.standard_normal(2000), RNG.integers(-1080 if wide is np.longdouble else -160, 129, 2000))
    numbers = np.concatenate([numbers, [0.0, -0.0, np.inf, -np.inf, np.nan, 3.4028235677973366e38]]).astype(wide)
    with np.errstate(all="ignore"):
        expected = numbers.astype(dtype)
    np.testing.assert_array_equal(round_to(format_of(t), numbers), expected.astype(wide))


def test_rounding_of_halves_and_small_numbers() -> None:
    """f16 is the one whose ties and subnormal numbers are common."""
    numbers = np.arange(-70000, 70000) / 2**5 * np.float64(1)
    numbers = np.concatenate([numbers, numbers * 32, numbers * 2.0**-34])
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(round_to(format_of(f16), numbers), numbers.astype(np.float16).astype(float))


IMAGE = RNG.standard_normal((1, 2, 6, 5)).astype(np.float32)
ROWS = RNG.standard_normal((4, 9)).astype(np.float32)
WEIGHT = RNG.standard_normal((3, 2, 3, 3)).astype(np.float32)
NINE = RNG.standard_normal(9).astype(np.float32)
SMALL = (RNG.standard_normal((4, 9)) * 1e-2).astype(np.float32)
DEFINED = relex.AvgPool2dOp.evaluate
POOL = partial(relex.AvgPool2dOp, pool_size=[3, 3], padding=[1, 1])


def of_one(function: Callable[[Any], Array]) -> Callable[..., Array]:
    """Return what an operator of one operand might be."""

    def evaluate(self: Any, x: Array) -> Array:
        return function(x)

    return evaluate


def of_two(function: Callable[[Any, Any], Array]) -> Callable[..., Array]:
    """Return what an operator of two operands might be."""

    def evaluate(self: Any, x: Array, y: Array) -> Array:
        return function(x, y)

    return evaluate


def once_rounded(self: Any, x: Array, y: Array, z: Array) -> Array:
    return (x.astype(float) * y.astype(float) + z.astype(float)).astype(np.float32)


def padding_does_not_count(self: Any, x: Array) -> Array:
    return DEFINED(POOL(self.data), x)


def returning(value: object) -> Callable[..., object]:
    """Return a function that returns a value, whatever its arguments are."""

    def function(*_: object) -> object:
        return value

    return function


def without_last(x: Array) -> Array:
    """Return rows with a zero in place of the last element."""
    return np.concatenate([x[..., :-1], np.zeros_like(x[..., :1])], -1)


def wrong_epsilon(self: Any, x: Array, gamma: Array, beta: Array) -> Array:
    centred = x - x.mean(-1, keepdims=True)
    return centred / np.sqrt((centred**2).mean(-1, keepdims=True) + np.float32(1e-6)) * gamma + beta


def epsilon_outside(self: Any, x: Array, gamma: Array, beta: Array) -> Array:
    centred = x - x.mean(-1, keepdims=True)
    return centred / (np.sqrt((centred**2).mean(-1, keepdims=True)) + np.float32(1e-5)) * gamma + beta


def unbiased(self: Any, x: Array, gamma: Array, beta: Array) -> Array:
    centred = x - x.mean(-1, keepdims=True)
    variance = (centred**2).sum(-1, keepdims=True) / np.float32(x.shape[-1] - 1)
    return centred / np.sqrt(variance + np.float32(1e-5)) * gamma + beta


def gelu_by_tanh(self: Any, x: Array) -> Array:
    return (x / 2 * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))).astype(x.dtype)


def half_away(self: Any, x: Array) -> Array:
    return np.copysign(np.floor(np.abs(x) + np.float32(0.5)), x)


def cast_to_nearest(self: Any, x: Array) -> Array:
    return np.rint(x).astype(np.int8)


def in_f16(self: Any, x: Array) -> Array:
    return np.sum(x, axis=-1, dtype=np.float16).astype(x.dtype)


def one_after_the_other(self: Any, x: Array) -> Array:
    return np.cumsum(x, dtype=np.float16)[-1:].reshape(()).astype(x.dtype)


def all_padding_counts(self: Any, x: Array) -> Array:
    windows = Windows((3, 3), (1, 1), (1, 1, 1, 1), (1, 1))
    return windows.over(x, 0).sum((-1, -2)) / np.float32(9)


def flipped(self: Any, x: Array, weight: Array) -> Array:
    parts = self.windows(weight.shape).over(x, 0)
    return np.einsum("nchwij,ocij->nohw", parts, weight[..., ::-1, ::-1])


MISTAKES: dict[str, tuple[MakeOperator, list[Array], Callable[..., Array]]] = {
    "another epsilon": (partial(relex.LayerNormOp, axes=[1]), [SMALL, NINE, NINE], wrong_epsilon),
    "epsilon outside of the root": (partial(relex.LayerNormOp, axes=[1]), [SMALL, NINE, NINE], epsilon_outside),
    "n - 1 in place of n": (partial(relex.LayerNormOp, axes=[1]), [ROWS, NINE, NINE], unbiased),
    "padding counts": (POOL, [IMAGE], all_padding_counts),
    "padding does not count": (
        partial(POOL, count_include_pad=True),
        [IMAGE],
        padding_does_not_count,
    ),
    "a dropped term": (
        partial(relex.SumOp, axis=(1,)),
        [ROWS],
        of_one(lambda x: np.sum(without_last(x), axis=-1, dtype=x.dtype)),
    ),
    "a dropped product": (relex.DenseOp, [ROWS, ROWS], of_two(lambda x, w: without_last(x) @ w.T)),
    "a sum in f16": (partial(relex.SumOp, axis=(1,)), [ROWS], in_f16),
    "a sum of f16 that is rounded after each term": (
        relex.SumOp,
        [RNG.standard_normal(500).astype(np.float16)],
        one_after_the_other,
    ),
    "a softmax along another dimension": (
        relex.SoftmaxOp,
        [ROWS],
        of_one(lambda x: np.exp(x) / np.exp(x).sum(0, keepdims=True)),
    ),
    "gelu by tanh": (relex.GeluOp, [ROWS], gelu_by_tanh),
    "halves away from zero": (relex.RoundOp, [np.arange(-4, 5).astype(np.float32) / 2], half_away),
    "a conversion to the nearest integer": (partial(relex.AstypeOp, dtype=i8), [ROWS], cast_to_nearest),
    "a kernel that is flipped": (relex.Conv2dOp, [IMAGE, WEIGHT], flipped),
    "an inclusive sum": (
        partial(relex.CumsumOp, axis=1, exclusive=True),
        [ROWS],
        of_one(lambda x: np.cumsum(x, axis=1, dtype=x.dtype)),
    ),
    "an error function of 7 digits in f64": (
        relex.ErfOp,
        [ROWS.astype(np.float64)],
        of_one(lambda x: np.vectorize(erf)(x) * (1 + 1e-14)),
    ),
    "a product that is rounded once": (
        relex.EwiseFMAOp,
        [ROWS, ROWS, ROWS],
        once_rounded,
    ),
    "a quotient by a reciprocal": (relex.DivideOp, [ROWS, ROWS[::-1]], of_two(lambda x, y: x * (1 / y))),
    "a remainder rounded down": (
        relex.TruncDivideOp,
        [np.arange(-5, 5, dtype=np.int8), np.array(3, np.int8)],
        of_two(lambda x, y: x // y),
    ),
    "a maximum that forgets NaN": (
        relex.MaximumOp,
        [np.array([np.nan, 1], np.float32), np.array([0, np.nan], np.float32)],
        of_two(lambda x, y: np.fmax(x, y)),
    ),
    "a signed shift without a sign": (
        relex.RightShiftOp,
        [np.array([-8, 8], np.int8), np.array([1, 9], np.int8)],
        of_two(lambda x, y: x.view(np.uint8).__rshift__(y.view(np.uint8)).view(np.int8)),
    ),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_small_mistakes_are_found(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the definition of an operator: by its arithmetic on intervals, or by its loops, which are another one."""
    make, arrays, mistaken = MISTAKES[name]
    assert not is_found(make, arrays)
    values = [create_ssa_value(TensorType(element_type_of(a.dtype), a.shape)) for a in arrays]
    monkeypatch.setattr(type(make(*values)), "evaluate", mistaken)
    assert is_found(make, arrays)


def is_found(make: MakeOperator, arrays: Sequence[Array]) -> bool:
    """Return whether an operator computes something else than on intervals or than its loops do."""
    if any(verdict.wrong for verdict in verdicts(make, arrays)):
        return True
    try:
        check_pass(LegalizeOpsPass(), operator_module(make, [tensor_of(x) for x in arrays]))
    except NotEquivalentError:
        return True
    return False


def test_scattered_integers_are_indices() -> None:
    """What is known about integers stays numbers, also where they were scattered."""
    indices = np.array([1, 0], np.int64)
    values = [create_ssa_value(TensorType(element_type_of(indices.dtype), (2,))) for _ in range(3)]
    known = [known_array(value, indices) for value in values]
    (places,) = known_results(relex.ScatterElementsOp(values[0], values[1], values[2]), known)
    (found,) = known_results(relex.GatherElementsOp(values[0], values[1]), [known[0], places])
    assert judge(found, np.array([1, 0])) == Agreement(2, 2, None)


def test_powers_of_integers() -> None:
    """Intervals do not decide them: they are compared with Python, for all integers of 8 bits."""
    bases, exponents = np.meshgrid(np.arange(-128, 128, dtype=np.int8), np.arange(-128, 128, dtype=np.int8))
    op = relex.PowerOp(*(create_ssa_value(TensorType(i8, bases.shape)) for _ in range(2)))

    def power(x: int, y: int) -> int:
        if y >= 0:
            return (pow(x, y, 256) + 128) % 256 - 128
        return {1: 1, -1: 1 - 2 * (y % 2)}.get(x, 0)

    found: list[int] = op.evaluate(bases, exponents).reshape(-1).tolist()
    assert found == [power(x, y) for x, y in zip(bases.ravel().tolist(), exponents.ravel().tolist(), strict=True)]


@pytest.mark.parametrize("reduction", ["add", "mul", "max", "min"])
@pytest.mark.parametrize("dtype", [np.float32, np.int8, np.bool_])
def test_updates_are_combined(dtype: type[Any], reduction: str) -> None:
    """Several updates of one element, also of truth values, of which the sum is whether any is true."""
    arrays = [SMALL.astype(dtype), np.array([[0], [2], [0]]), ROWS[:3].astype(dtype)]
    (verdict,) = verdicts(partial(relex.ScatterNdOp, reduction=reduction), arrays)
    assert verdict == Agreement(36, 36, None)


def test_infinite_weights_of_transposed_convolutions() -> None:
    """They are multiplied by zeros around the data, too."""
    weight = np.array([[[np.inf, 1]]], np.float32)
    (verdict,) = verdicts(relex.Conv1dTransposeOp, [np.ones((1, 1, 3), np.float32), weight])
    assert verdict == Agreement(4, 4, None)


def test_what_bounds_do_not_decide() -> None:
    """A comparison that rounding may change is left open, and so is what depends on it."""
    fmt = format_of(f32)
    near = Reals(fmt, np.array([1.0, 1.0]), np.array([1.5, 1.5]), np.ones(2, np.bool_))
    values = [create_ssa_value(TensorType(f32, (2,))) for _ in range(2)]
    limits = known_array(values[1], np.array([1.25, 2.0], np.float32))
    (less,) = known_results(relex.LessOp(*values), [near, limits])
    assert less is not None
    assert less.known.tolist() == [False, True]
    assert judge(less, np.array([False, True])) == Agreement(1, 2, None)
    assert judge(less, np.array([False, False])).wrong == "expected 1 for result[1], found False"


PROGRAM = """
func.func @main(%x: tensor<3x4xf32>, %w: tensor<5x4xf32>) -> tensor<3x5xf32> {
  %0 = relex.exp %x : (tensor<3x4xf32>) -> tensor<3x4xf32>
  %1 = relex.dense %0, %w : (tensor<3x4xf32>, tensor<5x4xf32>) -> tensor<3x5xf32>
  %2 = relex.softmax %1 : (tensor<3x5xf32>) -> tensor<3x5xf32>
  func.return %2 : tensor<3x5xf32>
}
"""


def test_programs_and_what_is_decided(monkeypatch: pytest.MonkeyPatch) -> None:
    """Both what an operator is interpreted as and what compiled code makes of it are compared, and counted."""
    case = Case(parse_module(PROGRAM), {"strict": "", "seed": "0"})
    outcome = try_case("wider", case)
    assert outcome.verdict == "right"
    assert outcome.counts["relex.dense elements"] == 60
    assert outcome.counts["compiled code decided"] > 20
    state = State(0, ["wider"])
    state.add(outcome)
    assert state.shares()["relex.dense"] > 0.8
    assert "elements in wider precision" in str(state)
    with monkeypatch.context() as mistaken:
        mistaken.setattr(relex.DenseOp, "evaluate", of_two(lambda x, w: (x * np.float32(1.001)) @ w.T))
        outcome = try_case("wider", case)
    assert outcome.message.startswith("compiled code computes something else than in wider precision")
    monkeypatch.setattr(relex.ExpOp, "evaluate", of_one(lambda x: np.exp(x) * np.float32(1.001)))
    outcome = try_case("wider", case)
    assert outcome.message.startswith("'relex.exp' is interpreted in another way than in wider precision: expected a")


def test_a_finding_is_reduced_to_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    case = Case(parse_module(PROGRAM), {"strict": "", "seed": "0"})
    monkeypatch.setattr(wider.WiderSubject, "make", returning(case))
    with monkeypatch.context() as mistaken:
        mistaken.setattr(relex.DenseOp, "evaluate", of_two(lambda x, w: without_last(x) @ w.T))
        outcome = try_number(0, 0, ["wider"], tmp_path)
        assert main(["--replay", outcome.path]) == 1
    text = Path(outcome.path).read_text()
    assert re.findall(r"relex\.\w+", text.partition("func.func")[2]) == ["relex.dense"]
    assert main(["--replay", outcome.path]) == 0


def test_compiled_code_that_is_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    build = wider.build

    def mistaken(module: Any, **options: Any) -> Any:
        main = build(module, **options)["main"]

        class Mistaken:
            signature = main.signature

            def __call__(self, *arguments: Array) -> Array:
                return main(*arguments) * np.float32(1.00001)

        return {"main": Mistaken()}

    monkeypatch.setattr(wider, "build", mistaken)
    with counting() as counts:
        outcome = try_case("wider", Case(parse_module(PROGRAM), {"strict": "", "seed": "0"}))
    assert outcome.message.startswith(
        "compiled code computes something else than in wider precision: expected a number"
    )
    assert not counts


def test_an_oracle_that_decides_nothing_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wider, "difference_of", returning(0))
    outcome = try_case("wider", Case(parse_module(PROGRAM), {"strict": "", "seed": "0"}))
    assert outcome == TrialOutcome("wider", "skipped", "nothing is decided")
