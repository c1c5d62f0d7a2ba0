"""Which loops `share-loops` gives to threads, in the default compilation."""

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np
import pytest
from xdsl.dialects import arith, func
from xdsl.dialects.builtin import IndexType, IntegerAttr
from xdsl.rewriter import InsertPoint, Rewriter

from relex.dialects import parse_module
from relex.dialects.tir import ForOp, LoopKind
from relex.lowering import OutlineParallelLoopsPass
from relex.lowering.relex_pipeline import RelexPipelinePass
from relex.reference import interpret
from relex.runtime import build, get_threads, set_threads

TARGET = 'relex.target = {triple = "x86_64-linux-gnu", cpu = "x86-64-v4", features = "+avx512f"}'


def shared(text: str) -> list[int | None]:
    """The extents of the parallel loops."""
    module = RelexPipelinePass("loops")(parse_module(text))
    loops = [op for op in module.walk() if isinstance(op, ForOp) and op.kind.data is LoopKind.PARALLEL]
    return [loop.extent if isinstance(loop.extent, int) else None for loop in loops]


def dense(m: int | str, k: int, n: int) -> str:
    return f"""
    module attributes {{{TARGET}}} {{
      func.func @main(%x: tensor<{m}x{k}xf32>, %w: tensor<{n}x{k}xf32>) -> tensor<{m}x{n}xf32> {{
        %0 = relex.dense %x, %w : (tensor<{m}x{k}xf32>, tensor<{n}x{k}xf32>) -> tensor<{m}x{n}xf32>
        func.return %0 : tensor<{m}x{n}xf32>
      }}
    }}
    """


def unary(operator: str, shape: str, properties: str = "", weights: str = "") -> str:
    kinds = [f"tensor<{shape}xf32>", *[f"tensor<{weights}xf32>"] * (2 if weights else 0)]
    arguments = ", ".join(f"%{i}: {kind}" for i, kind in enumerate(kinds))
    names = ", ".join(f"%{i}" for i in range(len(kinds)))
    return f"""
    module attributes {{{TARGET}}} {{
      func.func @main({arguments}) -> {kinds[0]} {{
        %y = relex.{operator} {names} {properties} : ({", ".join(kinds)}) -> {kinds[0]}
        func.return %y : {kinds[0]}
      }}
    }}
    """


@pytest.mark.parametrize(
    ("shape", "is_shared"),
    [
        ((1024, 1024, 1024), True),
        ((2048, 784, 128), True),
        ((16, 784, 128), True),
        ((4, 784, 128), True),
        ((2, 128, 64), False),
    ],
)
def test_large_products_are_shared(shape: tuple[int, int, int], is_shared: bool) -> None:
    assert bool(shared(dense(*shape))) == is_shared


def test_panels_that_threads_pack_are_transposed_in_registers() -> None:
    """The range of a parallel loop is known where divisions by the width of a panel are simplified."""
    module = RelexPipelinePass("core")(parse_module(dense(1024, 1024, 1024)))
    (packs,) = [op for op in module.walk() if isinstance(op, func.FuncOp) and op.sym_name.data == "dense_parallel"]
    ops = [op.name for op in packs.walk()]
    assert "vector.store" in ops
    assert "memref.load" not in ops
    assert "arith.divsi" not in ops


def test_sizes_of_the_run() -> None:
    """The panels of large weights are shared; few panels together with the rows in each. So is the copy of rows that
    would evict each other, and so is the packing of panels."""
    assert shared(dense("?", 1024, 1024)) == [None, 32]
    assert shared(dense("?", 784, 128)) == [4, 4, None, 2, None, None, None]


@pytest.mark.parametrize(
    "text",
    [
        unary("exp", "1000x1000"),
        unary("softmax", "1000x1000", "axis = -1"),
        unary("layer_norm", "1000x1000", "axes = [-1] epsilon = 1.0e-5", weights="1000"),
    ],
)
def test_one_nest_is_shared_as_a_whole(text: str) -> None:
    """It has been merged before, and works in separate buffers."""
    assert len(shared(text)) == 1


def test_a_batch_of_open_size_is_shared_with_what_is_in_it() -> None:
    """It may be one: then there is nothing to share but the loops inside. Where these are one loop, it is shared."""
    assert shared(unary("softmax", "?x?x768", "axis = 1")) == [None, 6]
    assert shared(unary("layer_norm", "?x?x768", "axes = [-1] epsilon = 1.0e-5", weights="768")) == [None]
    kinds = "tensor<?x?x768xf32>, tensor<768x768xf32>"
    product = f"""
    module attributes {{{TARGET}}} {{
      func.func @main(%x: tensor<?x?x768xf32>, %w: tensor<768x768xf32>) -> tensor<?x?x768xf32> {{
        %y = relex.matmul %x, %w : ({kinds}) -> tensor<?x?x768xf32>
        func.return %y : tensor<?x?x768xf32>
      }}
    }}
    """
    assert [None, 24] in [shared(product)[i : i + 2] for i in range(3)]


SHAPES = [(3, 5, 2), (1, 1, 9), (2, 1, 1), (7, 1, 3), (0, 4, 2), (4, 0, 2), (5, 8, 1)]


@pytest.mark.sampled
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("is_open", [False, True])
def test_ranges_of_loops_that_are_shared_together(shape: tuple[int, int, int], is_open: bool) -> None:
    """They begin and end anywhere in the rows of three dimensions; together they are all iterations, each once."""
    kind = "memref<?x?x?xi32>" if is_open else f"memref<{'x'.join(map(str, shape))}xi32>"
    sizes = [
        f"memref.dim %Y, %i{i} : {kind}" if is_open else f"arith.constant {n} : index" for i, n in enumerate(shape)
    ]
    module = parse_module(f"""
    func.func @f(%Y: {kind}) {{
      %i0 = arith.constant 0 : index
      %i1 = arith.constant 1 : index
      %i2 = arith.constant 2 : index
      %one = arith.constant 1 : i32
      %a = {sizes[0]}
      %b = {sizes[1]}
      %c = {sizes[2]}
      scf.parallel (%i, %j, %k) = (%i0, %i0, %i0) to (%a, %b, %c) step (%i1, %i1, %i1) {{
        %0 = memref.load %Y[%i, %j, %k] : {kind}
        %1 = arith.addi %0, %one : i32
        memref.store %1, %Y[%i, %j, %k] : {kind}
        scf.reduce
      }}
      func.return
    }}
    """)
    for middle in range(prod(shape) + 1):
        outlined = OutlineParallelLoopsPass()(module)
        (call,) = [op for op in outlined.walk() if isinstance(op, func.CallOp)]
        first, other = arith.ConstantOp(IntegerAttr(middle, IndexType())), call.clone()
        Rewriter.insert_op([first, other], InsertPoint.before(call))
        other.operands[1] = call.operands[0] = first.result
        y = np.zeros(shape, np.int32)
        interpret(outlined)["f"](y)
        np.testing.assert_array_equal(y, np.ones(shape))


def test_few_and_many_rows_of_one_compilation() -> None:
    """The same function runs alone or in parts."""
    program = unary("exp", "?x100").replace(TARGET, "")
    function, before = build(program)["main"], get_threads()
    set_threads(3)
    for rows in (0, 1, 200, 5000):
        x = np.linspace(-1, 1, rows * 100, dtype=np.float32).reshape(rows, 100)
        np.testing.assert_allclose(function(x), np.exp(x), rtol=1e-6)
    set_threads(before)


@pytest.mark.parametrize("operator", ["exp", "relu"])
def test_small_work_is_not_shared(operator: str) -> None:
    assert shared(unary(operator, "100x100")) == []


@pytest.mark.parametrize(
    ("operator", "axis", "meaning"), [("sum", "", np.sum), ("max", "", np.max), ("mean", "axis = [0]", np.mean)]
)
def test_results_do_not_depend_on_the_number_of_threads(
    operator: str, axis: str, meaning: Callable[..., np.ndarray[Any, Any]]
) -> None:
    """Parts of a long reduction are computed by any thread, and combined in their order."""
    result = "tensor<700xf32>" if axis else "tensor<f32>"
    program = f"""
    func.func @main(%x: tensor<1600x700xf32>) -> {result} {{
      %y = relex.{operator} %x {axis} : (tensor<1600x700xf32>) -> {result}
      func.return %y : {result}
    }}
    """
    assert 16 in shared(program.replace("func.func", f"module attributes {{{TARGET}}} {{ func.func") + "}")
    x = np.random.default_rng(0).standard_normal((1600, 700), dtype=np.float32)
    function, before = build(program)["main"], get_threads()
    results: list[np.ndarray[Any, Any]] = []
    for threads in (1, 2, 5):
        set_threads(threads)
        results.append(function(x))
    set_threads(before)
    assert all((result == results[0]).all() for result in results)
    np.testing.assert_allclose(
        results[0], meaning(x.astype(np.float64), axis=0 if axis else None), rtol=1e-4, atol=1e-5
    )
