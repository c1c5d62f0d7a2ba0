"""What is folded is what the program computes, to the bit."""

from __future__ import annotations

import gc
import struct
import sys
import tracemalloc
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import cycle, islice

import numpy as np
import pytest
from operator_cases import CASES
from operator_checks import all_of
from programs import Array, MakeOperator, operator_of, operator_program, random_array, tensor_of
from xdsl.dialects.builtin import ModuleOp, StringAttr, f32, f64, i1, i8, i32, i64
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.dialects.tensor import CastOp
from xdsl.ir import Operation
from xdsl.irdl import irdl_op_definition
from xdsl.utils.test_value import create_ssa_value

from relex.dialects import dtypes, make_context, parse_module, verify_module
from relex.dialects.dtypes import array_from_dense
from relex.dialects.errors import RelexError
from relex.dialects.relex import (
    ArangeOp,
    AsSizesOp,
    AstypeOp,
    ConstantOp,
    DenseOp,
    DequantizeBlocksOp,
    Elementwise,
    Exactness,
    NegativeOp,
    Operator,
    RandomBernoulliOp,
    RandomBitsOp,
    RandomUniformOp,
    ReluOp,
    UnaryElementwise,
)
from relex.lowering import RelexPipelinePass
from relex.passes import BindParamsPass, FoldConstantsPass
from relex.passes.rewriting import evaluation
from relex.runtime import build


def program(make: MakeOperator, operands: Sequence[Array]) -> ModuleOp:
    """A function @main that applies an operator to constants."""
    constants = [ConstantOp(array) for array in operands]
    op = make(*constants)
    function = FuncOp("main", ([], op.result_types))
    function.body.block.add_ops([*constants, op, ReturnOp(*op.results)])
    return ModuleOp([function])


def returned(module: ModuleOp) -> list[Array]:
    """The constants that @main returns."""
    (end,) = (op for op in module.walk() if isinstance(op, ReturnOp))
    # A result that was counted is cast to the type with a `?` that its users expect.
    owners = [(value.owner.source if isinstance(value.owner, CastOp) else value).owner for value in end.operands]
    return [array_from_dense(owner.value) for owner in owners if isinstance(owner, ConstantOp)]


def assert_same_bits(a: Array, b: Array) -> None:
    """Equal, zeros by their sign; of NaN any."""
    assert (a.dtype, a.shape) == (b.dtype, b.shape)
    np.testing.assert_array_equal(a, b)
    if a.dtype.kind == "f":
        np.testing.assert_array_equal(np.signbit(a) & ~np.isnan(a), np.signbit(b) & ~np.isnan(b))


@pytest.mark.parametrize(("make", "operands"), CASES)
def test_every_operator(make: MakeOperator, operands: Sequence[Array]) -> None:
    module = program(make, operands)
    (op,) = (op for op in module.walk() if isinstance(op, Operator))
    folded = FoldConstantsPass()(module)
    verify_module(folded)
    assert not any(isinstance(op, Operator) for op in folded.walk())
    for found, wanted in zip(returned(folded), op.evaluate_results(*operands), strict=True):
        assert_same_bits(found, np.asarray(wanted))


@pytest.mark.parametrize(("make", "operands"), CASES)
def test_strict_is_what_compiled_code_gives(make: MakeOperator, operands: Sequence[Array]) -> None:
    folded = FoldConstantsPass(strict=True)(program(make, operands))
    if any(isinstance(op, Operator) for op in folded.walk()):
        return
    compiled = build(operator_program(make, operands), strict=True)["main"](*operands)
    for found, wanted in zip(returned(folded), all_of(compiled), strict=True):
        assert_same_bits(found, wanted)


def test_an_operator_that_is_wrong_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """The interpreter says what is wrong with it, where it stands."""

    def evaluate(op: ReluOp, *operands: Array) -> Array:
        return operands[0][:1]

    monkeypatch.setattr(ReluOp, "evaluate", evaluate)
    module = program(ReluOp, [np.ones(3, np.float32)])
    assert str(FoldConstantsPass()(module)) == str(module)


DTYPES = ["float32", "float64", "int8", "int32", "int64", "bool"]
"""What operators are compiled for."""
NANS = {
    "float32": struct.pack("<6I", 0x7FC00000, 0xFFC00000, 0x7FC12345, 0xFFFABCDE, 0x7F800001, 0xFFA55555),
    "float64": struct.pack("<4Q", 0x7FF8 << 48, 0xFFF8 << 48, (0x7FF8 << 48) + 0x12345, (0xFFF0 << 48) + 1),
}
"""Of both signs, with payloads, quiet and signalling."""

CONVERSIONS = [partial(AstypeOp, dtype=t) for t in (f32, f64, i1, i8, i32, i64)]
OF_OWN_NUMBERS = (ArangeOp, AsSizesOp, DequantizeBlocksOp, RandomBernoulliOp, RandomBitsOp, RandomUniformOp)
"""Operators that refuse some of the numbers below, or take bytes or keys alone; their tests are in other files."""

EXACT_CASES = [
    *(
        (make, operands)
        for make, operands in CASES
        if operands and operator_of(make).EXACTNESS is not Exactness.ROUNDED and operator_of(make) not in OF_OWN_NUMBERS
    ),
    *((make, [np.zeros((3, 5), np.float32)]) for make in CONVERSIONS),
]


def awkward(dtype: str, shape: Sequence[int]) -> Array:
    """The ends of the range, zeros of both signs, denormals, numbers between two integers, infinities and NaNs."""
    kind, count = np.dtype(dtype), int(np.prod(shape))
    if kind.kind != "f":
        numbers = random_array(np.random.default_rng(1), dtype, (count,))
        edges = np.array([0, 1] if kind.kind == "b" else [np.iinfo(kind).min, np.iinfo(kind).max, -1, 0, 1], kind)
    else:
        info = np.finfo(kind)
        numbers = np.random.default_rng(1).standard_normal(count).astype(kind) * 50
        few = [np.inf, -np.inf, 0, -0.0, -0.5, 2.5, 1e9, 127.5, info.max, info.min, info.smallest_subnormal, info.tiny]
        with np.errstate(over="ignore"):
            edges = np.concatenate([np.frombuffer(NANS[dtype], kind), np.array(few).astype(kind)])
    mixed = np.stack([np.fromiter(islice(cycle(edges), count), kind, count), numbers], axis=1).reshape(-1)
    return mixed[:count].reshape(shape).copy()


def finite(dtype: str, shape: Sequence[int]) -> Array:
    x = awkward(dtype, shape)
    return np.where(np.isfinite(x), x, x.dtype.type(-3))


def positive(dtype: str, shape: Sequence[int]) -> Array:
    x = abs(finite(dtype, shape))
    return np.where(x == 0, x.dtype.type(1), x)


def variants(make: MakeOperator, operands: Sequence[Array], dtype: str) -> Iterator[list[Array]]:
    """Operands like a case's, but of another dtype, the worst ones first. Rows of elementwise operators are
    long enough for vectors and a rest."""
    own = {operand.dtype for operand in operands}
    replaced = np.dtype(np.float32) if np.float32 in own else operands[0].dtype
    scale = 7 if issubclass(operator_of(make), Elementwise) else 1
    for values in (awkward, finite, positive):
        shapes = [[size if size == 1 else scale * size for size in operand.shape] for operand in operands]
        dtypes = [dtype if operand.dtype == replaced else operand.dtype.name for operand in operands]
        yield [
            operand if operand.dtype != replaced and scale == 1 else values(name, shape)
            for operand, name, shape in zip(operands, dtypes, shapes, strict=True)
        ]


def takes(make: MakeOperator, operands: Sequence[Array]) -> bool:
    """Whether the operator takes operands like these."""
    try:
        make(*(create_ssa_value(tensor_of(array)) for array in operands))
    except RelexError:
        return False
    return True


def folded(make: MakeOperator, operands: Sequence[Array]) -> list[Array] | None:
    """What the default compilation makes of an operator on constants, however large; None if it stays."""
    module = FoldConstantsPass(strict=True, limit=2**20)(program(make, operands))
    if any(isinstance(op, Operator) for op in module.walk()):
        return None
    return returned(module)


@pytest.mark.sampled(every=6)
@pytest.mark.parametrize(("make", "operands"), EXACT_CASES)
def test_exact_operators_are_folded_to_the_bits_of_compiled_code(
    make: MakeOperator, operands: Sequence[Array], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(evaluation, "SLAB", 100)
    taken = {
        dtype: operand_sets
        for dtype in DTYPES
        if takes(make, (operand_sets := list(variants(make, operands, dtype)))[0])
    }
    assert taken
    module = ModuleOp([])
    for dtype, operand_sets in taken.items():
        (main,) = parse_module(operator_program(make, operand_sets[0])).ops
        main.detach()
        main.properties["sym_name"] = StringAttr(dtype)
        module.body.block.add_op(main)
    compiled = build(module)
    for dtype, operand_sets in taken.items():
        results = [(folded(make, variant), all_of(compiled[dtype](*variant))) for variant in operand_sets]
        for found, expected in results:
            if found is None:
                assert operator_of(make).EXACTNESS is Exactness.NUMBERS
                assert any(np.isnan(one).any() for one in expected)
                continue
            for one, other in zip(found, expected, strict=True):
                assert one.dtype == other.dtype
                assert one.shape == other.shape
                assert one.tobytes() == other.tobytes(), dtype
        assert any(found is not None for found, _ in results), dtype


@irdl_op_definition
class HalfOp(UnaryElementwise):
    """Half of each element: an operator of another package, which has no legalization."""

    name = "other.half"

    def evaluate(self, *operands: Array) -> Array:
        (x,) = operands
        return x * x.dtype.type(0.5)


def test_operators_of_others_declare_their_exactness(monkeypatch: pytest.MonkeyPatch) -> None:
    module = program(HalfOp, [np.ones(3, np.float32)])
    assert "other.half" not in str(FoldConstantsPass()(module))
    assert build(module)["main"]().tolist() == [0.5, 0.5, 0.5]
    with pytest.raises(RelexError, match="half"):
        build(module, strict=True)
    monkeypatch.setattr(HalfOp, "EXACTNESS", Exactness.NUMBERS)
    assert build(module, strict=True)["main"]().tolist() == [0.5, 0.5, 0.5]


def peak_of_folding(module: ModuleOp) -> int:
    """The most bytes that there are besides the module's, while it is folded in place."""
    with pytest.MonkeyPatch.context() as patch:
        # Pages are not traced.
        patch.setattr(dtypes, "MAPPED_BYTES", sys.maxsize)
        tracemalloc.start()
        FoldConstantsPass(strict=True).apply(make_context(), module)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    return peak


WEIGHT = 2**24


def test_what_is_replaced_goes_at_once() -> None:
    """A chain of operators on a constant needs no more memory than two of them."""
    gc.disable()
    try:
        weight = ConstantOp(np.ones((2**11, 2**11), np.float32))
        ops: list[Operation] = [weight]
        for _ in range(5):
            ops.append(NegativeOp(ops[-1]))
        function = FuncOp("main", ([], ops[-1].result_types))
        function.body.block.add_ops([*ops, ReturnOp(ops[-1])])
        assert peak_of_folding(ModuleOp([function])) < 2.5 * WEIGHT
    finally:
        gc.enable()


def test_work_counts_the_terms_of_products() -> None:
    """4 x 6 elements of 5 terms each, and what is read: 20 + 30 elements."""
    module = program(DenseOp, [np.ones((4, 5), np.float32), np.ones((6, 5), np.float32)])
    assert "dense %" in str(FoldConstantsPass(work=169)(module))
    assert "dense %" not in str(FoldConstantsPass(work=170)(module))


WEIGHTS = """
func.func @main(%x: tensor<1x65536xf32>) -> tensor<1x1xf32> {{
  %a = relex.constant dense<1.0> : tensor<f32>
  %0 = relex.broadcast_to %a shape = [1, 65536] : (tensor<f32>) -> tensor<1x65536xf32>
  %1 = relex.exp %0 : (tensor<1x65536xf32>) -> tensor<1x65536xf32>
  %2 = relex.broadcast_to %1 shape = [{rows}, 65536] : (tensor<1x65536xf32>) -> tensor<{rows}x65536xf32>
  %w = relex.strided_slice %2 axes = [0] begin = [0] end = [1] : (tensor<{rows}x65536xf32>) -> tensor<1x65536xf32>
  %y = relex.dense %x, %w : (tensor<1x65536xf32>, tensor<1x65536xf32>) -> tensor<1x1xf32>
  func.return %y : tensor<1x1xf32>
}}
"""


@pytest.mark.parametrize(("rows", "strict", "steps"), [(16, False, 0), (17, False, 4), (16, True, 4)])
def test_weights_are_computed_as_a_whole_or_not_at_all(rows: int, strict: bool, steps: int) -> None:
    """A step that gives more than 4 MiB, or that `strict` leaves to compiled code, leaves the others in the program."""
    folded = FoldConstantsPass(strict=strict)(parse_module(WEIGHTS.format(rows=rows)))
    left = [op for op in folded.walk() if isinstance(op, Operator) and not isinstance(op, DenseOp)]
    assert len(left) == steps


TRANSPOSED = """
func.func @main(%x: tensor<5x{K}xf32>, %w: tensor<{K}x{N}xf32>) -> tensor<5x{N}xf32> {{
  %t = relex.permute_dims %w : (tensor<{K}x{N}xf32>) -> tensor<{N}x{K}xf32>
  %y = relex.dense %x, %t : (tensor<5x{K}xf32>, tensor<{N}x{K}xf32>) -> tensor<5x{N}xf32>
  func.return %y : tensor<5x{N}xf32>
}}
"""


@pytest.mark.parametrize("shape", [(1, 1), (3, 17), (200, 64)])
def test_default_compilation_transposes_no_weight_in_calls(shape: tuple[int, int]) -> None:
    """A weight that is an argument is multiplied as it is, and a constant is transposed once: the results are equal."""
    rng = np.random.default_rng(0)
    x, w = rng.standard_normal((5, shape[0]), np.float32), rng.standard_normal(shape, np.float32)
    module = parse_module(TRANSPOSED.format(K=shape[0], N=shape[1]))
    assert "permute_dims" not in str(RelexPipelinePass("loops")(module))
    bound = BindParamsPass(params={"w": w})(module)
    assert "permute_dims" not in str(RelexPipelinePass("loops")(bound))
    assert "permute_dims" not in str(RelexPipelinePass("loops", strict=True)(bound))
    expected = build(module, strict=True)["main"](x, w)
    assert build(bound, strict=True)["main"](x).tobytes() == expected.tobytes()
    np.testing.assert_allclose(build(bound)["main"](x), expected, rtol=1e-5, atol=1e-5)
