"""Loops and blocks: when an init runs, and that whole arrays give the bits of the walk through the iterations."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from programs import Array, interpreted, random_array

from relex.dialects import parse_module
from relex.dialects.errors import ExecutionError
from relex.lowering import ConvertTirToScfPass
from relex.passes import ApplySchedulePass
from relex.reference import interpret
from relex.reference.interpreter import loops, whole_array
from relex.runtime import build


def never(*_: object) -> None:
    """In place of what makes the whole-array step of a loop."""


@pytest.fixture
def taken(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Notes for each nest that could run on whole arrays whether it did. Small ones try as well."""
    found: list[bool] = []
    original = whole_array.WholeArrays.try_run

    def counted(self: Any, frame: Any) -> bool:
        found.append(original(self, frame))
        return found[-1]

    monkeypatch.setattr(whole_array, "FEWEST", 2)
    monkeypatch.setattr(whole_array.WholeArrays, "try_run", counted)
    return found


def walked(text: str, *arguments: Array) -> Any:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(loops, "whole_arrays", never)
        return interpret(text)["main"](*arguments)


def row_sums(loop_head: str, bindings: str, rows: int = 3, columns: int = 4) -> str:
    return f"""
    tir.prim_func @main(%X: memref<{rows}x{columns}xf32>) outs(%Y: memref<{rows}xf32>) {{
      %start = arith.constant 100.0 : f32
      %c2 = arith.constant 2 : index
      %c4 = arith.constant 4 : index
      {loop_head} {{
        {bindings} {{
          tir.init {{
            memref.store %start, %Y[%vi] : memref<{rows}xf32>
          }}
          %y = memref.load %Y[%vi] : memref<{rows}xf32>
          %x = memref.load %X[%vi, %vk] : memref<{rows}x{columns}xf32>
          %s = arith.addf %y, %x : f32
          memref.store %s, %Y[%vi] : memref<{rows}xf32>
        }}
      }}
    }}
    """


BOUND = "tir.block @Y (%vi: spatial<3> = %i, %vk: reduce<4> = %k)"
ORDERS = {
    "rows first": ("tir.for %i, %k in (3, 4)", BOUND),
    "columns first": ("tir.for %k, %i in (4, 3)", BOUND),
    "parallel rows": ("tir.for parallel %i, %k in (3, 4)", BOUND),
    "split columns": (
        "tir.for %i, %k0, %k1 in (3, 2, 2)",
        "%t = arith.muli %k0, %c2 : index\n%k = arith.addi %t, %k1 : index\n" + BOUND,
    ),
    "fused": (
        "tir.for %f in (12)",
        "%i = arith.divui %f, %c4 : index\n%k = arith.remui %f, %c4 : index\n" + BOUND,
    ),
    "backwards": (
        "tir.for %i, %j in (3, 4)",
        "%c3 = arith.constant 3 : index\n%k = arith.subi %c3, %j : index\n" + BOUND,
    ),
    "repeated": ("tir.for %again, %i, %k in (2, 3, 4)", BOUND),
}


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("checked", [False, True])
def test_init_runs_once_before_the_first_step(order: str, checked: bool) -> None:
    x = random_array(np.random.default_rng(0), "float32", (3, 4))
    wanted = np.full(3, 100, np.float32)
    for k in reversed(range(4)) if order == "backwards" else range(4):
        wanted = wanted + x[:, k]
    np.testing.assert_array_equal(interpret(row_sums(*ORDERS[order]), checked=checked)["main"](x), wanted)


@pytest.mark.parametrize("rows", [3, 30])
@pytest.mark.parametrize("order", ["rows first", "columns first"])
@pytest.mark.parametrize("checked", [False, True])
def test_init_runs_without_steps(rows: int, order: str, checked: bool) -> None:
    head = f"tir.for %i, %k in ({rows}, 0)" if order == "rows first" else f"tir.for %k, %i in (0, {rows})"
    block = f"tir.block @Y (%vi: spatial<{rows}> = %i, %vk: reduce<0> = %k)"
    found = interpret(row_sums(head, block, rows, 1), checked=checked)["main"](np.zeros((rows, 1), np.float32))
    np.testing.assert_array_equal(found, np.full(rows, 100, np.float32))


def test_init_of_a_fused_empty_reduction() -> None:
    text = row_sums(
        "tir.for %f in (0)",
        "%i = arith.divui %f, %c4 : index\n%k = arith.remui %f, %c4 : index\n%e = arith.addi %i, %c2 : index\n"
        "tir.block @Y (%vi: spatial<%c2> = %i, %vk: reduce<0> = %k)",
        columns=1,
    )
    x = np.zeros((3, 1), np.float32)
    np.testing.assert_array_equal(interpret(text)["main"](x)[:2], [100, 100])
    with pytest.raises(ExecutionError, match=r"'tir.block' op expected values to reduce over"):
        interpret(text.replace("spatial<%c2>", "spatial<%e>"))["main"](x)


@pytest.mark.parametrize("size", ["0", "%k"])
def test_init_of_a_split_empty_reduction(size: str) -> None:
    """The init does not run for iterations that a split adds, neither here nor after the lowering."""
    module = parse_module(f"""
    tir.prim_func @main(%X: memref<?xf32>) outs(%Y: memref<5xf32>) {{
      %c0 = arith.constant 0 : index
      %k = memref.dim %X, %c0 : memref<?xf32>
      %start = arith.constant 100.0 : f32
      tir.for %i @i, %j @j in (5, {size}) {{
        tir.block @Y (%vi: spatial<5> = %i, %vj: reduce<{size}> = %j) {{
          tir.init {{
            memref.store %start, %Y[%vi] : memref<5xf32>
          }}
          %x = memref.load %X[%vj] : memref<?xf32>
          memref.store %x, %Y[%vi] : memref<5xf32>
        }}
      }}
    }}
    schedule.sequence for @main {{
      schedule.split @i by [?, 4]
    }}
    """)
    scheduled, found = ApplySchedulePass()(module), np.zeros(5, np.float32)
    wanted = np.full(5, 100, np.float32)
    np.testing.assert_array_equal(interpret(scheduled)["main"](np.zeros(0, np.float32)), wanted)
    interpret(ConvertTirToScfPass()(scheduled))["main"](np.zeros(0, np.float32), found)
    np.testing.assert_array_equal(found, wanted)


def test_block_without_loops() -> None:
    text = """
    tir.prim_func @main(%X: memref<f32>) outs(%Y: memref<f32>) {
      %c0 = arith.constant 0 : index
      %start = arith.constant 100.0 : f32
      tir.block @Y (%k: reduce<1> = %c0) {
        tir.init {
          memref.store %start, %Y[] : memref<f32>
        }
        %y = memref.load %Y[] : memref<f32>
        %x = memref.load %X[] : memref<f32>
        %s = arith.addf %y, %x : f32
        memref.store %s, %Y[] : memref<f32>
      }
    }
    """
    for checked in (False, True):
        assert interpret(text, checked=checked)["main"](np.float32(5)) == 105


def test_init_that_computes_where_it_writes(taken: list[bool]) -> None:
    text = """
    tir.prim_func @main(%X: memref<20x3xf32>) outs(%Y: memref<20xf32>, %Z: memref<20xf32>) {
      %one = arith.constant 1.0 : f32
      %zero = arith.constant 0.0 : f32
      %last = arith.constant 19 : index
      tir.for %i, %k in (20, 3) {
        tir.block @Y (%v: spatial<20> = %i, %r: reduce<3> = %k) {
          tir.init {
            %w = arith.subi %last, %v : index
            memref.store %one, %Z[%w] : memref<20xf32>
            memref.store %zero, %Y[%v] : memref<20xf32>
          }
          %x = memref.load %X[%v, %r] : memref<20x3xf32>
          %y = memref.load %Y[%v] : memref<20xf32>
          %s = arith.addf %y, %x : f32
          memref.store %s, %Y[%v] : memref<20xf32>
        }
      }
    }
    """
    x = random_array(np.random.default_rng(2), "float32", (20, 3))
    y, z = interpret(text)["main"](x)
    np.testing.assert_array_equal(y, x[:, 0] + x[:, 1] + x[:, 2])
    np.testing.assert_array_equal(z, 1)
    assert taken == []


def copy_program(store: str, load: str = "%v", n: int = 20) -> str:
    return f"""
    tir.prim_func @main(%X: memref<{n}xf32>) outs(%Y: memref<{n}xf32>) {{
      %zero = arith.constant 0.0 : f32
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c2 = arith.constant 2 : index
      %last = arith.constant {n - 1} : index
      tir.for %i in ({n}) {{
        memref.store %zero, %Y[%i] : memref<{n}xf32>
      }}
      tir.for %i in ({n}) {{
        tir.block @Y (%v: spatial<{n}> = %i) {{
          {store}
          %old = memref.load %Y[{load}] : memref<{n}xf32>
          %x = memref.load %X[%v] : memref<{n}xf32>
          %y = arith.addf %x, %old : f32
          memref.store %y, %Y[%w] : memref<{n}xf32>
        }}
      }}
    }}
    """


X = random_array(np.random.default_rng(1), "float32", (20,))
SAME = "%w = arith.addi %v, %c0 : index"
DEPENDENT = {
    "collisions": copy_program("%w = arith.divui %v, %c2 : index", "%w"),
    "scan": copy_program(SAME + "\n%b = arith.subi %v, %c1 : index\n%p = arith.maxsi %b, %c0 : index", "%p"),
}


def test_backwards_copy_runs_on_whole_arrays(taken: list[bool]) -> None:
    text = copy_program("%w = arith.subi %last, %v : index", "%w")
    np.testing.assert_array_equal(interpret(text)["main"](X), X[::-1])
    assert taken
    assert all(taken)


@pytest.mark.parametrize("name", DEPENDENT)
def test_dependent_iterations_are_walked(name: str, taken: list[bool]) -> None:
    found = interpret(DEPENDENT[name])["main"](X)
    np.testing.assert_array_equal(found, walked(DEPENDENT[name], X))
    assert not any(taken)


def test_shared_memory_is_walked(taken: list[bool]) -> None:
    text = """
    tir.prim_func @main(%X: memref<20xf32>) outs(%Y: memref<20xf32>) {
      %one = arith.constant 1.0 : f32
      %c0 = arith.constant 0 : index
      memref.store %one, %Y[%c0] : memref<20xf32>
      tir.call @next(%Y, %Y) : memref<20xf32>, memref<20xf32>
    }
    tir.prim_func private @next(%X: memref<20xf32>) outs(%Y: memref<20xf32>) {
      %c1 = arith.constant 1 : index
      %c0 = arith.constant 0 : index
      tir.for %i in (20) {
        tir.block @Y (%v: spatial<20> = %i) {
          %b = arith.subi %v, %c1 : index
          %p = arith.maxsi %b, %c0 : index
          %x = memref.load %X[%p] : memref<20xf32>
          memref.store %x, %Y[%v] : memref<20xf32>
        }
      }
    }
    """
    np.testing.assert_array_equal(interpret(text)["main"](X), np.ones(20))
    assert taken == [False]


@st.composite
def blocks(draw: st.DrawFn) -> str:
    """A nest around one block with 1 or 2 spatial variables and up to 2 reduce variables, in any order of loops.

    Some of them write elements more than once, read what other iterations write, gather, or divide by 0.
    """
    spatial = draw(st.lists(st.integers(1, 5), min_size=1, max_size=2))
    reduce = draw(st.lists(st.integers(0, 4), max_size=2))
    extents = {f"s{i}": n for i, n in enumerate(spatial)} | {f"r{i}": n for i, n in enumerate(reduce)}
    order = draw(st.permutations(list(extents)))
    shape = "x".join(map(str, spatial))
    variables = ", ".join(
        f"%v{name}: {'spatial' if name[0] == 's' else 'reduce'}<{n}> = %{name}" for name, n in extents.items()
    )
    kind = draw(st.sampled_from(["f32", "i32"]))
    add, multiply = ("addf", "mulf") if kind == "f32" else ("addi", "muli")
    any_spatial = st.sampled_from([f"%vs{i}" for i in range(len(spatial))])
    place = draw(st.sampled_from(["plain", "half"])) if spatial[0] > 1 else "plain"
    index = ["%vs0" if place == "plain" else "%half", *(["%vs1"] if len(spatial) > 1 else [])]
    read = draw(st.sampled_from(["same", "first", "none"]))
    read_index = {"same": index, "first": ["%c0"] * len(spatial), "none": index}[read]
    steps = draw(st.lists(st.sampled_from([add, multiply, "gather", "reduce", "divide"]), min_size=1, max_size=4))
    body = [f"%a0 = memref.load %X[{draw(any_spatial)}] : memref<5x{kind}>"]
    for i, step in enumerate(steps):
        old, new = f"%a{i}", f"%a{i + 1}"
        other = draw(any_spatial)
        if step == "reduce" and reduce:
            other = draw(st.sampled_from([f"%vr{i}" for i in range(len(reduce))]))
        if step == "gather":
            body.append(f"%g{i} = memref.load %G[{other}] : memref<5xi64>")
            body.append(f"%n{i} = arith.index_cast %g{i} : i64 to index")
            other = f"%n{i}"
        body.append(f"%b{i} = memref.load %X[{other}] : memref<5x{kind}>")
        op = step if step in (add, multiply) else add
        if step == "divide":
            op = "divf" if kind == "f32" else "remsi"
        body.append(f"{new} = arith.{op} {old}, %b{i} : {kind}")
    result = f"%a{len(steps)}"
    if read != "none":
        body.append(f"%old = memref.load %Y[{', '.join(read_index)}] : memref<{shape}x{kind}>")
        body.append(f"%new = arith.{add} %old, {result} : {kind}")
        result = "%new"
    body.append(f"memref.store {result}, %Y[{', '.join(index)}] : memref<{shape}x{kind}>")
    half = "%half = arith.divui %vs0, %c2 : index" if place == "half" else ""
    init = f"tir.init {{ memref.store %zero, %Y[{', '.join(index)}] : memref<{shape}x{kind}> }}"
    has_init = bool(reduce) and place == "plain" and draw(st.booleans())
    lines = "\n          ".join(body)
    kinds = [draw(st.sampled_from(["", "parallel ", "unrolled "])) for _ in order]
    heads = ", ".join(f"{k}%{name}" for k, name in zip(kinds, order, strict=True))
    return f"""
    tir.prim_func @main(%X: memref<5x{kind}>, %G: memref<5xi64>) outs(%Y: memref<{shape}x{kind}>) {{
      %zero = arith.constant {"0.0" if kind == "f32" else 0} : {kind}
      %c0 = arith.constant 0 : index
      %c2 = arith.constant 2 : index
      tir.for {", ".join(f"%z{i}" for i in range(len(spatial)))} in ({", ".join(map(str, spatial))}) {{
        memref.store %zero, %Y[{", ".join(f"%z{i}" for i in range(len(spatial)))}] : memref<{shape}x{kind}>
      }}
      tir.for {heads} in ({", ".join(str(extents[name]) for name in order)}) {{
        tir.block @Y ({variables}) {{
          {init if has_init else ""}
          {half}
          {lines}
        }}
      }}
    }}
    """


@settings(max_examples=60)
@given(text=blocks(), seed=st.integers(0, 1000))
def test_whole_arrays_and_walk_agree(text: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    dtype = "float32" if "memref<5xf32>" in text else "int32"
    x = random_array(rng, dtype, (5,))
    if dtype == "float32":
        x[rng.integers(5)] = rng.choice([np.nan, np.inf, -0.0, 1e30, 1e-40])
    else:
        x[rng.integers(5)] = rng.choice([0, 1, 3, 7])
    gather = rng.integers(-1 if seed % 10 == 0 else 0, 5, 5)
    results: list[Any] = []
    for run in (interpret_small, walked):
        try:
            results.append(run(text, x, gather))
        except ExecutionError as e:
            results.append(str(e))
    fast, slow = results
    if isinstance(fast, str) or isinstance(slow, str):
        assert fast == slow
    else:
        np.testing.assert_array_equal(fast.view(np.uint32), slow.view(np.uint32))


def interpret_small(text: str, *arguments: Array) -> Any:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(whole_array, "FEWEST", 2)
        return interpret(text)["main"](*arguments)


@pytest.mark.parametrize("n", [1, 17])
def test_products_run_on_whole_arrays(n: int, taken: list[bool]) -> None:
    text = f"""
    func.func @main(%x: tensor<{n}x40xf32>, %w: tensor<5x40xf32>) -> tensor<{n}x5xf32> {{
      %y = relex.dense %x, %w : (tensor<{n}x40xf32>, tensor<5x40xf32>) -> tensor<{n}x5xf32>
      func.return %y : tensor<{n}x5xf32>
    }}
    """
    rng = np.random.default_rng(5)
    x, w = random_array(rng, "float32", (n, 40)), random_array(rng, "float32", (5, 40))
    np.testing.assert_array_equal(interpreted(text, "loops")["main"](x, w), build(text, strict=True)["main"](x, w))
    assert taken
    assert all(taken)


@pytest.mark.parametrize("seed", range(3))
def test_choices_between_values_run_on_whole_arrays(taken: list[bool], seed: int) -> None:
    """Each region runs for the iterations that choose it, so that no element out of bounds is read."""
    text = """
    tir.prim_func @main(%x: memref<4x5xf32>) outs(%y: memref<6x7xf32>) attributes {tir.noalias} {
      tir.for %i @i, %j @j in (6, 7) {
        tir.block @y (%vi: spatial<6> = %i, %vj: spatial<7> = %j) {
          %one = arith.constant 1 : index
          %five = arith.constant 5 : index
          %six = arith.constant 6 : index
          %a = arith.cmpi sge, %vi, %one : index
          %b = arith.cmpi slt, %vi, %five : index
          %c = arith.cmpi sge, %vj, %one : index
          %d = arith.cmpi slt, %vj, %six : index
          %e = arith.andi %a, %b : i1
          %f = arith.andi %c, %d : i1
          %g = arith.andi %e, %f : i1
          %v = scf.if %g -> (f32) {
            %r = arith.subi %vi, %one : index
            %s = arith.subi %vj, %one : index
            %w = memref.load %x[%r, %s] : memref<4x5xf32>
            %two = arith.constant 2.0 : f32
            %p = arith.mulf %w, %two : f32
            scf.yield %p : f32
          } else {
            %pad = arith.constant -1.0 : f32
            scf.yield %pad : f32
          }
          memref.store %v, %y[%vi, %vj] : memref<6x7xf32>
        }
      }
    }
    """
    x = random_array(np.random.default_rng(seed), "float32", (4, 5))
    y = interpret(text)["main"](x)
    assert taken == [True]
    assert np.array_equal(y, np.pad(x * 2, 1, constant_values=-1))


def dot_products(operands: str) -> str:
    """Return sums of products in a loop of two blocks, each of which has only the loop of its reduction."""
    return f"""
    tir.prim_func @main(%x: memref<3x50xf32>, %w: memref<3x50xf32>) outs(%y: memref<6xf32>) {{
      %zero = arith.constant 0.0 : f32
      %c2 = arith.constant 2 : index
      tir.for %a, %b in (3, 2) {{
        %sum = tir.alloc_buffer : memref<f32>
        tir.for %k in (50) {{
          tir.block @sum (%va: spatial<3> = %a, %vk: reduce<50> = %k) {{
            tir.init {{
              memref.store %zero, %sum[] : memref<f32>
            }}
            %s = memref.load %sum[] : memref<f32>
            %u = memref.load %x[%va, %vk] : memref<3x50xf32>
            %v = memref.load %w[%va, %vk] : memref<3x50xf32>
            %p = arith.mulf %u, %v : f32
            %t = arith.addf {operands} : f32
            memref.store %t, %sum[] : memref<f32>
          }}
        }}
        tir.block @y (%va: spatial<3> = %a, %vb: spatial<2> = %b) {{
          %s = memref.load %sum[] : memref<f32>
          %i = arith.muli %va, %c2 : index
          %j = arith.addi %i, %vb : index
          memref.store %s, %y[%j] : memref<6xf32>
        }}
      }}
    }}
    """


@pytest.mark.parametrize("operands", ["%s, %p", "%p, %s"])
@pytest.mark.parametrize("at_once", [7, 100])
def test_terms_of_one_sum_are_computed_at_once(
    operands: str, at_once: int, taken: list[bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(whole_array, "AT_ONCE", at_once)
    rng, text = np.random.default_rng(7), dot_products(operands)
    x, w = random_array(rng, "float32", (3, 50)), random_array(rng, "float32", (3, 50))
    np.testing.assert_array_equal(interpret(text)["main"](x, w), walked(text, x, w))
    assert taken == [True] * 6


def test_init_and_body_that_compute_one_index(taken: list[bool]) -> None:
    text = """
    tir.prim_func @main(%x: memref<20x3xf32>) outs(%y: memref<20xf32>) {
      %zero = arith.constant 0.0 : f32
      %last = arith.constant 19 : index
      tir.for %i, %k in (20, 3) {
        tir.block @y (%v: spatial<20> = %i, %r: reduce<3> = %k) {
          tir.init {
            %first = arith.subi %last, %v : index
            memref.store %zero, %y[%first] : memref<20xf32>
          }
          %j = arith.subi %last, %v : index
          %a = memref.load %x[%v, %r] : memref<20x3xf32>
          %s = memref.load %y[%j] : memref<20xf32>
          %t = arith.addf %s, %a : f32
          memref.store %t, %y[%j] : memref<20xf32>
        }
      }
    }
    """
    x = random_array(np.random.default_rng(8), "float32", (20, 3))
    np.testing.assert_array_equal(interpret(text)["main"](x), ((x[:, 0] + x[:, 1]) + x[:, 2])[::-1])
    assert taken == [True]
