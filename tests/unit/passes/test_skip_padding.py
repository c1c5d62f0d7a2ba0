"""Sums without the terms that are products with padding, compared with all terms."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
from programs import Array
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass

from relex.dialects import parse_module
from relex.dialects.errors import CompileError
from relex.dialects.index.expr import IndexExpr
from relex.dialects.target.target_attribute import Target, set_target
from relex.dialects.tir import BlockOp, ForOp, LoopKind
from relex.frontend import BlockBuilder, Var, const, op
from relex.lowering.relex_pipeline import RelexPipelinePass, pipeline
from relex.passes import ApplyTuningPass
from relex.passes.analysis.loop_tree import guard_of, label_of, loops_of
from relex.passes.analysis.padding import Bound
from relex.passes.driver.base import run_pass
from relex.passes.schedule import Loop, Schedule
from relex.reference import check_pass, interpret
from relex.runtime import build

RNG = np.random.default_rng(0)
CONVOLVE: dict[int, Any] = {3: op.conv1d, 4: op.conv2d, 5: op.conv3d}


def numbers(shape: Sequence[int], dtype: str = "float32") -> Array:
    return RNG.standard_normal(shape).astype(dtype)


def network(sizes: Sequence[int | str], weight: Array, *, constant: bool = True, **options: Any) -> ModuleOp:
    """A convolution of data with a weight, a constant or another argument, and a maximum with zero."""
    builder = BlockBuilder()
    x, w = Var("x", tuple(sizes), str(weight.dtype)), Var("w", weight.shape, str(weight.dtype))
    with builder.function("main", [x] if constant else [x, w]):
        result = builder.emit(CONVOLVE[weight.ndim](x, const(weight) if constant else w, **options))
        builder.emit_func_output(builder.emit(op.relu(result)))
    return builder.get()


def scheduled(
    module: ModuleOp, cpu: str = "haswell", passes: Sequence[ModulePass] = (), *, strict: bool = False
) -> ModuleOp:
    """A program after the default schedule for a processor."""
    set_target(module, Target("x86_64-unknown-linux-gnu", cpu))
    for _, group in pipeline("loops", passes=passes, strict=strict):
        for p in group:
            module = run_pass(p, module)
    module.verify()
    return module


def is_skipped(module: ModuleOp, cpu: str = "haswell", passes: Sequence[ModulePass] = ()) -> bool:
    """Whether a block adds products under a condition, after the default schedule."""

    def multiplies(block: Operation) -> bool:
        return any(inner.name == "arith.mulf" for inner in block.walk())

    blocks = (o for o in scheduled(module, cpu, passes).walk() if isinstance(o, BlockOp))
    return any(guard_of(block) is not None and multiplies(block) for block in blocks)


def same_bits(one: object, other: object) -> bool:
    a, b = cast(Array, one), cast(Array, other)
    return np.array_equal(a, b, equal_nan=True) and np.array_equal(np.signbit(a), np.signbit(b))


def loops_of_taps(module: ModuleOp, *, strict: bool = False) -> list[tuple[str, ...]]:
    """The loops of each sum of products after the default schedule for AVX-512, from the blocks of channels on; those
    that are unrolled have a star."""
    found: list[tuple[str, ...]] = []
    for block in scheduled(module, "skylake-avx512", strict=strict).walk():
        if isinstance(block, BlockOp) and any(inner.name == "arith.mulf" for inner in block.walk()):
            labels = [f"{label_of(o)}{'*' * (o.kind.data is LoopKind.UNROLLED)}".strip("@") for o in loops_of(block)]
            starts = [i for i, label in enumerate(labels) if label.strip("*") in ("b", "c", "b_rest", "c_rest")]
            found.append(tuple(labels[min(starts, default=0) :]))
    return found


SHAPES: dict[str, tuple[Sequence[int], Sequence[int], dict[str, Any]]] = {
    "3x3": ((1, 32, 7, 7), (32, 32, 3, 3), {"padding": [1, 1]}),
    "one image of several": ((3, 16, 9, 10), (32, 16, 3, 3), {"padding": [1, 1]}),
    "one side": ((1, 16, 14, 14), (32, 16, 3, 3), {"padding": [2, 0, 0, 1]}),
    "more padding than taps": ((1, 32, 5, 6), (32, 32, 3, 3), {"padding": [4, 1]}),
    "strides": ((1, 16, 28, 28), (32, 16, 3, 3), {"padding": [1, 1], "strides": [2, 2]}),
    "dilation": ((1, 32, 9, 9), (32, 32, 3, 3), {"padding": [3, 3], "dilation": [3, 3]}),
    "both": ((1, 16, 26, 29), (32, 16, 4, 3), {"padding": [3, 2], "strides": [3, 2], "dilation": [2, 2]}),
    "columns of taps": ((1, 48, 11, 11), (48, 48, 7, 1), {"padding": [3, 0]}),
    "groups": ((1, 32, 8, 8), (64, 16, 5, 5), {"padding": [2, 2], "groups": 2}),
    "odd channels": ((1, 19, 8, 12), (37, 19, 3, 3), {"padding": [1, 1]}),
    "three dimensions": ((1, 16, 4, 5, 6), (32, 16, 3, 3, 3), {"padding": [1, 1, 1]}),
}


class TestConvolutions:
    @pytest.mark.sampled
    @pytest.mark.parametrize("cpu", ["haswell", "skylake-avx512"])
    @pytest.mark.parametrize("shape", SHAPES)
    def test_terms_are_skipped(self, shape: str, cpu: str) -> None:
        sizes, weight, options = SHAPES[shape]
        assert is_skipped(network(sizes, numbers(weight), **options), cpu)

    @pytest.mark.sampled(every=2)
    @pytest.mark.parametrize("dtype", ["float32", "float64"])
    @pytest.mark.parametrize("shape", SHAPES)
    def test_results_have_the_same_bits(self, shape: str, dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
        sizes, weight, options = SHAPES[shape]
        x, module = numbers(sizes, dtype), network(sizes, numbers(weight, dtype), **options)
        special = [0, -0.0, np.inf, 1e-40, -1e-40, -np.inf, np.nan]
        x.flat[RNG.choice(x.size, len(special), replace=False)] = special
        found = build(module)["main"](x)
        monkeypatch.setattr(Schedule, "skip_padding", lambda self, loop: None)  # pyright: ignore
        assert not is_skipped(module.clone())
        complete = build(module)["main"]
        assert same_bits(found, complete(x))
        finite = np.nan_to_num(x, posinf=1, neginf=-1)
        tolerance = 1e-4 if dtype == "float32" else 1e-10
        wanted = cast(Array, interpret(module)["main"](finite))
        np.testing.assert_allclose(cast(Array, complete(finite)), wanted, tolerance, tolerance)

    def test_checks_after_each_pass(self) -> None:
        """The weight of a loop function is finite after a pass has said so, whatever its calls before it may pass."""
        module = network((1, 8, 3, 4), numbers((16, 8, 3, 3)), padding=[1, 1])
        set_target(module, Target("x86_64-unknown-linux-gnu", "haswell"))
        check_pass(RelexPipelinePass(to="loops"), module)

    def test_schedules_that_were_measured(self, tmp_path: Path) -> None:
        """What is applied to one function leaves what is known about others."""
        file = tmp_path / "other.mlir"
        target = '{triple = "x86_64-unknown-linux-gnu", cpu = "haswell", features = ""}'
        file.write_text(f"""builtin.module attributes {{relex.target = {target}}} {{
          tir.prim_func @f(%X: memref<5xf32>) outs(%Y: memref<5xf32>) attributes {{tir.noalias}} {{
          }}
          schedule.sequence for @f {{
          }}
        }}""")
        module = network((1, 32, 7, 7), numbers((32, 32, 3, 3)), padding=[1, 1])
        assert is_skipped(module, passes=[ApplyTuningPass(str(file))])

    def test_taps_of_whole_rows_are_written_out(self) -> None:
        """With a loop inside, which comes after the taps if none does before."""
        sizes, shape, options = SHAPES["3x3"]
        main, rest = loops_of_taps(network(sizes, numbers(shape), **options))
        assert main[:5] == ("c", "s*", "r", "y_1*", "x*")
        assert rest[:5] == ("c_rest", "s_rest*", "r_rest", "y_rest_1*", "x_rest*")

    @pytest.mark.parametrize(("size", "loops"), [(7, ("b", "r", "s*", "c")), (2, ("b", "r*", "s*", "c"))])
    def test_channels_stay_inside_of_taps(self, size: int, loops: tuple[str, ...]) -> None:
        """Channels of a block come after the taps as they are. A tile may have all of a small image."""
        a, result = (f"tensor<1x2x{size}x{size}x{channels}xf32>" for channels in (16, 32))
        module = parse_module(f"""
        func.func @main(%x: {a}) -> {result} {{
          %w = relex.constant dense<0.5> : tensor<2x2x3x3x16x32xf32>
          %0 = relex.conv2d_blocked %x, %w padding = [1, 1] : ({a}, tensor<2x2x3x3x16x32xf32>) -> {result}
          func.return %0 : {result}
        }}""")
        assert loops in [found[:4] for found in loops_of_taps(module.clone())]
        x = numbers((1, 2, size, size, 16))
        wanted = cast(Array, interpret(module)["main"](x))
        np.testing.assert_allclose(cast(Array, build(module)["main"](x)), wanted, 1e-4, 1e-4)

    @pytest.mark.parametrize("special", [np.inf, -np.inf, np.nan])
    def test_weights_that_are_not_finite(self, special: float) -> None:
        """Their products with padding are NaN."""
        sizes, shape, options = SHAPES["3x3"]
        weight = numbers(shape)
        weight[3, 5, 0, 1] = special
        module = network(sizes, weight, **options)
        assert not is_skipped(module.clone())
        assert np.isnan(cast(Array, build(module)["main"](np.ones(sizes, np.float32)))[0, 3, 0]).all()

    def test_large_weights(self) -> None:
        """The sum of numbers that are finite may be infinite."""
        sizes, shape, options = SHAPES["3x3"]
        assert is_skipped(network(sizes, np.full(shape, 3e38, np.float32), **options))

    def test_weights_at_run_time(self) -> None:
        sizes, shape, options = SHAPES["3x3"]
        assert not is_skipped(network(sizes, numbers(shape), constant=False, **options))

    def test_open_sizes(self) -> None:
        """How much of an image is padding is not known; the number of images does not matter."""
        weight = numbers((32, 32, 3, 3))
        assert not is_skipped(network((1, 32, "h", "w"), weight, padding=[1, 1]))
        module = network(("n", 32, 6, 6), weight, padding=[1, 1])
        assert is_skipped(module.clone())
        for count in (0, 1, 3):
            x = numbers((count, 32, 6, 6))
            found = cast(Array, build(module)["main"](x))
            np.testing.assert_allclose(found, cast(Array, interpret(module)["main"](x)), 1e-4, 1e-4)


def padded_sum(*, finite: str = "{relex.finite}", outside: str = "%zero", at: str = "%vi, %vr") -> str:
    """A sum of three products at each place of a row, of which one is with padding at both ends."""
    return f"""
    tir.prim_func @f(%X: memref<5xf32>, %W: memref<3xf32> {finite})
        outs(%Y: memref<5xf32>) attributes {{tir.noalias}} {{
      %zero = arith.constant 0.0 : f32
      %one = arith.constant 1.0 : f32
      %c1 = arith.constant 1 : index
      %c2 = arith.constant 2 : index
      %c6 = arith.constant 6 : index
      %P = tir.alloc_buffer : memref<7xf32>
      tir.for %i @i1 in (7) {{
        tir.block @P (%vi: spatial<7> = %i) {{
          %from = arith.cmpi sge, %vi, %c1 : index
          %to = arith.cmpi slt, %vi, %c6 : index
          %inside = arith.andi %from, %to : i1
          %p = scf.if %inside -> (f32) {{
            %at = arith.subi %vi, %c1 : index
            %x = memref.load %X[%at] : memref<5xf32>
            scf.yield %x : f32
          }} else {{
            scf.yield {outside} : f32
          }}
          memref.store %p, %P[%vi] : memref<7xf32>
        }}
      }}
      tir.for %i @i, %r @r in (5, 3) {{
        tir.block @Y (%vi: spatial<5> = %i, %vr: reduce<3> = %r) {{
          tir.init {{
            memref.store %zero, %Y[%vi] : memref<5xf32>
          }}
          %y = memref.load %Y[%vi] : memref<5xf32>
          %at = arith.addi {at} : index
          %p = memref.load %P[%at] : memref<7xf32>
          %w = memref.load %W[%vr] : memref<3xf32>
          %product = arith.mulf %w, %p : f32
          %s = arith.addf %product, %y : f32
          memref.store %s, %Y[%vi] : memref<5xf32>
        }}
      }}
    }}
    """


def with_copy(source: str) -> str:
    """The sum, with a buffer `%C` that elements of another one, or its own, are copied to."""
    copied = f"""
      %C = tir.alloc_buffer : memref<3xf32>
      tir.for %c @c in (3) {{
        tir.block @C (%vc: spatial<3> = %c) {{
          %copied = memref.load {source}[%vc] : memref<3xf32>
          memref.store %copied, %C[%vc] : memref<3xf32>
        }}
      }}
      %P ="""
    return padded_sum().replace("%P =", copied)


class TestBounds:
    def test_shares(self) -> None:
        """Of loops of known numbers of iterations; other sums count as if they always held."""
        loops = [ForOp(5), ForOp(3), ForOp(2)]
        i, j, k = (IndexExpr.of(loop.variable) for loop in loops)
        assert Bound("sge", i + j - 1).share(loops) == 14 / 15
        assert Bound("slt", i * 2 + j - 9).share(loops) == 13 / 15
        assert Bound("sge", i // 2 + j - 1).share(loops) == 1
        assert Bound("sge", k - 1).share(loops[:2]) == 1
        assert Bound("sge", -1).share(loops) == 0


class TestPrimitive:
    def test_results(self) -> None:
        schedule = Schedule(parse_module(padded_sum()))
        block = schedule.get_block("Y")
        _, term = schedule.get_loops(block)
        schedule.decompose_reduction(block, schedule.get_loops(block)[0])
        schedule.skip_padding(term)
        x, w = numbers([5]), numbers([3])
        for program in (interpret(schedule.module, checked=True), build(schedule.module)):
            np.testing.assert_allclose(program["f"](x, w), np.convolve(x, w[::-1], "same"), rtol=1e-5)
        # Padding is not read: what an infinite weight makes of it is not seen.
        w[0] = np.inf
        assert not np.isnan(interpret(schedule.module)["f"](np.ones(5, np.float32), w)).any()

    @pytest.mark.parametrize(
        ("program", "loop", "message"),
        [
            (padded_sum(finite=""), "r", "expected @Y to add products of padding with numbers that are known to be"),
            (padded_sum(outside="%one"), "r", "expected @Y to add products of padding"),
            (padded_sum(), "i", "expected @r not to index the padded dimension that @i does"),
            (padded_sum(at="%vi, %c2"), "r", "expected @r to index a dimension of a buffer with padding"),
            (padded_sum(), "i1", "expected @P to add products of padding"),
        ],
    )
    def test_refusals(self, program: str, loop: str, message: str) -> None:
        schedule = Schedule(parse_module(program))
        if loop != "i1":
            schedule.decompose_reduction(schedule.get_block("Y"), schedule.get_loops(schedule.get_block("Y"))[0])
        with pytest.raises(CompileError, match=re.escape(message)):
            schedule.skip_padding(Loop("f", loop))

    @pytest.mark.parametrize(
        ("old", "new"),
        [
            ("memref.store %p, %P[%vi]", "memref.store %one, %P[%vi] : memref<7xf32>\nmemref.store %p, %P[%vi]"),
            ("%w = memref.load %W[%vr] : memref<3xf32>", "%w = memref.load %C[%vr] : memref<3xf32>"),
        ],
    )
    def test_contents_that_are_not_known(self, old: str, new: str) -> None:
        """Padding that is written twice, and a buffer that is copied to itself."""
        schedule = Schedule(parse_module(with_copy("%C").replace(old, new)))
        schedule.decompose_reduction(schedule.get_block("Y"), schedule.get_loops(schedule.get_block("Y"))[0])
        with pytest.raises(CompileError, match="expected @Y to add products of padding"):
            schedule.skip_padding(Loop("f", "r"))

    def test_weights_may_be_where_results_are(self) -> None:
        schedule = Schedule(parse_module(padded_sum()))
        schedule.decompose_reduction(schedule.get_block("Y"), schedule.get_loops(schedule.get_block("Y"))[0])
        other = Schedule(parse_module(str(schedule.module).replace("tir.noalias", "")))
        with pytest.raises(CompileError, match="expected @Y to add products of padding"):
            other.skip_padding(Loop("f", "r"))

    def test_copies_of_weights(self) -> None:
        text = with_copy("%W").replace("%w = memref.load %W", "%w = memref.load %C")
        schedule = Schedule(parse_module(text))
        schedule.decompose_reduction(schedule.get_block("Y"), schedule.get_loops(schedule.get_block("Y"))[0])
        schedule.skip_padding(Loop("f", "r"))
        assert guard_of(schedule.block_op(schedule.get_block("Y"))) is not None

    def test_the_init_is_elsewhere(self) -> None:
        schedule = Schedule(parse_module(padded_sum()))
        with pytest.raises(CompileError, match="expected the init of @Y to be elsewhere"):
            schedule.skip_padding(schedule.get_loops(schedule.get_block("Y"))[1])
