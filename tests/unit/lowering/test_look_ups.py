"""Look-ups in tables, on vectors of any length, for processors with different instructions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from relex.dialects import parse_module
from relex.dialects.target.features import used_features
from relex.dialects.target.machine import Target
from relex.lowering import ExpandLookUpsPass
from relex.passes import SetTargetPass
from relex.reference import interpret
from relex.runtime import build

X86, ARM = "x86_64-unknown-linux-gnu", "aarch64-unknown-linux-gnu"
TARGETS = [
    *(Target(X86, cpu) for cpu in ("x86-64", "nehalem", "haswell", "skylake-avx512", "icelake-server")),
    Target(ARM, "neoverse-n1"),
]
DTYPES = {"i8": np.int8, "i32": np.int32, "f32": np.float32}

LOOK_UP = """
func.func @main(%x: memref<{n}x{source}>, %y: memref<{n}x{target}>) {{
  %c0 = arith.constant 0 : index
  %0 = vector.load %x[%c0] : memref<{n}x{source}>, vector<{n}x{source}>
  %1 = tir.look_up %0 in dense<"0x{table}"> : tensor<{count}x{target}> : vector<{n}x{source}> -> vector<{n}x{target}>
  vector.store %1, %y[%c0] : memref<{n}x{target}>, vector<{n}x{target}>
  func.return
}}"""


def check(main: Any, table: Any, n: int, source: Any) -> None:
    """Look up all bytes, with other bits above them where numbers are wider."""
    places = np.arange(256 + n) % 256 + (0 if source == np.int8 else 256 * 1234)
    for start in range(0, 256, n):
        x = places[start : start + n].astype(source)
        y = np.zeros(n, table.dtype)
        main(x, y)
        np.testing.assert_array_equal(y, table[places[start : start + n] & (len(table) - 1)])


@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.cpu)
@pytest.mark.parametrize(
    ("source", "kind", "count", "step"),
    [
        *[("i8", "i8", 256, 37), ("i8", "i8", 256, 1), ("i8", "i8", 16, 37), ("i32", "i8", 16, 37)],
        *[("i32", "f32", 16, 37), ("i32", "f32", 16, 0.25), ("i32", "i32", 16, 2**20), ("i8", "f32", 256, 0.25)],
    ],
)
def test_vectors(source: str, kind: str, count: int, step: float, target: Target) -> None:
    host = Target.host()
    runs = target.triple.partition("-")[0] == host.triple.partition("-")[0] and used_features(target) <= host.enabled
    # Some of them are equal from 16 to 16.
    table = (np.arange(count) * step // (64 if step == 1 else 1) % 128 - 50).astype(DTYPES[kind])
    for n in (7, 16, 40):
        text = LOOK_UP.format(n=n, source=source, target=kind, count=count, table=table.tobytes().hex())
        expanded = ExpandLookUpsPass()(SetTargetPass(target.triple, target.cpu)(parse_module(text)))
        assert "tir.look_up" not in str(expanded)
        check(interpret(expanded)["main"], table, n, DTYPES[source])
        if runs:
            check(build(expanded)["main"], table, n, DTYPES[source])


def test_places_that_are_uniform_or_scalars() -> None:
    """What is not in vectors reads the table from memory."""
    table = np.arange(256, dtype=np.int64)[::-1].astype(np.int8)
    text = f"""
func.func @main(%x: i8) -> i8 {{
  %0 = tir.look_up %x in dense<"0x{table.tobytes().hex()}"> : tensor<256xi8> : i8 -> i8
  func.return %0 : i8
}}"""
    main, meaning = build(text)["main"], interpret(text)["main"]
    for x in range(-128, 128):
        assert main(x) == meaning(x) == table[x & 255]


@pytest.mark.parametrize("source", ["i8", "i16", "i32", "i64"])
@pytest.mark.parametrize("count", [16, 256])
def test_integers_that_are_larger_than_tables(count: int, source: str) -> None:
    """Their higher bits are ignored: none is outside of a table."""
    kind = np.dtype(source.replace("i", "int"))
    extremes = [np.iinfo(kind).min, -257, -256, -17, -1, 0, 15, 16, 127, 128, 255, 256, np.iinfo(kind).max]
    places = np.array([n for n in extremes if np.iinfo(kind).min <= n <= np.iinfo(kind).max], kind)
    table = np.arange(count, dtype=np.int64)
    n, data = len(places), table.tobytes().hex()
    vectors = LOOK_UP.format(n=n, source=source, target="i64", count=count, table=data)
    scalars = f"""
func.func @main(%x: {source}) -> i64 {{
  %0 = tir.look_up %x in dense<"0x{data}"> : tensor<{count}xi64> : {source} -> i64
  func.return %0 : i64
}}"""
    expected = table[places.astype(np.int64) & (count - 1)]
    for make in (build, interpret):
        y = np.zeros(n, np.int64)
        make(vectors)["main"](places, y)
        np.testing.assert_array_equal(y, expected)
        main = make(scalars)["main"]
        assert [main(int(x)) for x in places] == expected.tolist()


def test_tables_that_are_shorter_than_bytes() -> None:
    """All bytes after the last number of a table of `relex.look_up` have this one."""
    for dtype, low in (("ui8", 0), ("i8", -128)):
        x = np.arange(low, low + 256).astype(np.uint8 if dtype == "ui8" else np.int8)
        t = f"tensor<256x{dtype}>"
        for table in ([5], [1, 2, 3], list(range(100, 0, -1))):
            text = f"""
func.func @main(%x: {t}) -> {t} {{
  %0 = relex.look_up %x table = {table} : ({t}) -> {t}
  func.return %0 : {t}
}}"""
            expected = (table + [table[-1]] * 256)[:256]
            assert interpret(text)["main"](x).tolist() == build(text)["main"](x).tolist() == expected
