"""Digests of functions: what counts, and what does not."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from effort import count_calls
from xdsl.dialects import test
from xdsl.dialects.builtin import IntegerType

from relex.dialects import parse_module
from relex.dialects.fingerprint import fingerprint

FUNCTION = """
func.func private @f(%x: memref<4xf32>, %i: index) -> f32 {
  %c = arith.constant 0x7FC00000 : f32
  %0 = memref.load %x[%i] : memref<4xf32>
  %1 = arith.addf %0, %c fastmath<reassoc,contract,nsz> : f32
  %b = arith.cmpf olt, %0, %1 : f32
  %2 = scf.if %b -> (f32) { scf.yield %1 : f32 } else { scf.yield %0 : f32 }
  %3 = func.call @g(%2) : (f32) -> f32
  func.return %3 : f32
}
func.func private @g(f32) -> f32
"""


def digest(text: str, names: dict[str, str] | None = None) -> str:
    return fingerprint([next(iter(parse_module(text).ops))], names)


@pytest.mark.parametrize(
    ("old", "new"),
    [("%x", "%given"), ("%1", "%sum"), ("\n", "\n\n"), ("@f", "@other")],
)
def test_names_and_places_do_not_count(old: str, new: str):
    assert digest(FUNCTION, {"f": "", "other": ""}) == digest(FUNCTION.replace(old, new), {"f": "", "other": ""})


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("@f", "@other"),
        ("@g", "@h"),
        ("memref<4xf32>", "memref<5xf32>"),
        ("0x7FC00000", "0x7FC00001"),
        ("0x7FC00000", "0.0"),
        ("reassoc,contract", "contract"),
        ("addf %0, %c", "addf %c, %0"),
        ("addf", "subf"),
        ("olt", "ole"),
        ("scf.yield %1", "scf.yield %0"),
        ("private @f(", 'private @f(%s: i64 {relex.name = "a"}, '),
    ],
)
def test_everything_else_counts(old: str, new: str):
    changed = FUNCTION.replace(old, new)
    assert changed != FUNCTION
    assert digest(FUNCTION) != digest(changed)


def test_it_is_the_same_in_every_process():
    code = "import sys; sys.path[:0] = sys.argv[1:]; from test_fingerprint import *; print(digest(FUNCTION))"
    for seed in "12":
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        command = [sys.executable, "-c", code, *sys.path]
        found = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        assert found.stdout.strip() == digest(FUNCTION)


def test_types_of_integers_are_printed_once() -> None:
    """The sign of an integer type is a member of an enumeration; a printer was made for each type."""
    op = test.TestOp(result_types=[IntegerType(8 + i) for i in range(100)])
    fingerprint([op])
    assert count_calls(lambda: fingerprint([op])) < 100 * 60
