"""The node cases of the package onnx: what relex makes of each, against the checked-in table `node_suite.txt`.

    python extras/onnx/tests/node_suite.py                     # all by the interpreter
    python extras/onnx/tests/node_suite.py --native            # all compiled
    python extras/onnx/tests/node_suite.py --only test_conv    # those with this in their names
    python extras/onnx/tests/node_suite.py --update            # write the table anew

The table has the names of the cases below the reason that they are refused for, or below `passes`. Some pass only if
inputs such as a shape are given at import (`values=`), or how many elements a sequence has (`shapes=`): the names of
these inputs stand beside them, below `passes with values`.
"""

from __future__ import annotations

import argparse
import os
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import cache, partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any, cast

import ml_dtypes
import numpy as np
import onnx
from onnx import numpy_helper
from onnx.backend.test.case.test_case import TestCase
from onnx.backend.test.loader import load_model_tests

from relex.dialects.dtypes import is_sub_byte
from relex.dialects.errors import CompileError
from relex.frontend.onnx import from_onnx
from relex.reference import interpret
from relex.runtime import build

TABLE = Path(__file__).with_name("node_suite.txt")
PASSES = "passes"
WITH_VALUES = "passes with values"
NOT_NAMED = "no import for the operator"

Run = Callable[[Any], Mapping[str, Callable[..., Any]]]
"""What makes functions of a module: the compiler, or the interpreter."""

RUNS: dict[str, Run] = {"interpreted": interpret, "native": partial(build, cache=False)}


_EPSILON = {"float16": 2.0**-10, "bfloat16": 2.0**-7}


@cache
def cases() -> dict[str, TestCase]:
    """Return all cases by name. Making them takes seconds."""
    with warnings.catch_warnings(action="ignore"):
        return {case.name: case for case in load_model_tests(kind="node")}


def read_table() -> dict[str, tuple[str, list[str]]]:
    """Return for each case its heading in the table, and the inputs that are given at import."""
    found: dict[str, tuple[str, list[str]]] = {}
    heading = ""
    for line in TABLE.read_text(encoding="utf-8").splitlines():
        if line.startswith("["):
            heading = line.strip("[]")
        elif line and not line.startswith("#"):
            name, _, inputs = line.partition(": ")
            found[name] = heading, inputs.split()
    return found


def write_table(outcomes: Mapping[str, tuple[str, list[str]]]) -> None:
    """Write the table."""
    headings = sorted({heading for heading, _ in outcomes.values()}, key=lambda h: (not h.startswith(PASSES), h))
    lines = ["# What becomes of the node cases of onnx.backend.test; written by node_suite.py --update."]
    for heading in headings:
        lines += ["", f"[{heading}]"]
        chosen = sorted((name, inputs) for name, (found, inputs) in outcomes.items() if found == heading)
        lines += [f"{name}: {' '.join(inputs)}" if inputs else name for name, inputs in chosen]
    TABLE.write_text("\n".join([*lines, ""]), encoding="utf-8")


def outcome(case: TestCase, frozen: Sequence[str], run: Run) -> str:
    """Run a case with some inputs given at import: return `passes`, why it is refused, or how it is wrong."""
    model, inputs, expected = parts_of(case)
    named = dict(zip((i.name for i in model.graph.input), inputs, strict=False))
    lengths = {name: [np.shape(x) for x in named[name]] for name in frozen if isinstance(named[name], list)}
    values = {name: named[name] for name in frozen if name not in lengths}
    try:
        module = from_onnx(model, shapes=lengths, values=values)
        function = run(module)["main"]
    except CompileError as e:
        return reason(e)
    except Exception as e:
        return f"wrong: {type(e).__name__} at compile time: {e}"
    try:
        results = function(*_flat(array for name, array in named.items() if name not in values))
    except Exception as e:
        return f"wrong: {type(e).__name__}: {e}"
    found: list[Any] = [*results] if isinstance(results, tuple) else [results]
    expected = _flat(expected)
    if len(found) != len(expected):
        return f"wrong: expected {len(expected)} results, found {len(found)}"
    pairs = [(np.asarray(a), np.asarray(b)) for a, b in zip(found, expected, strict=True)]
    if case.name.startswith(("test_cast_FLOAT", "test_castlike_FLOAT")):
        pairs = [_inside(inputs[0], *pair) for pair in pairs]
    differences = (_difference(case, *pair) for pair in pairs)
    return next((f"wrong: {difference}" for difference in differences if difference), PASSES)


def _inside(x: Any, found: Any, expected: Any) -> tuple[Any, Any]:
    """Return what floats become that integers of fewer than 8 bits have. What others become depends on the version of
    ml_dtypes: the standard leaves it open."""
    if not is_sub_byte(found.dtype) or found.shape != expected.shape:
        return found, expected
    limits: Any = cast(Any, ml_dtypes).iinfo(found.dtype)
    numbers = np.trunc(x.astype(np.float64))
    are_there = (numbers >= float(limits.min)) & (numbers <= float(limits.max))
    return found[are_there], expected[are_there]


def reason(error: CompileError) -> str:
    """Return the first reason of a refusal, without the node that it is at."""
    message = error.diagnostics[0].message
    _, node, rest = message.partition("' node: ")
    operator = message[1:].partition("'")[0]
    rest = rest if node else message.removeprefix("input: ")
    if rest.startswith(NOT_NAMED):
        return f"{NOT_NAMED} {operator}"
    return rest.partition(", found")[0].partition(";")[0].replace(" in version ", " version ")


def parts_of(case: TestCase) -> tuple[onnx.ModelProto, list[Any], list[Any]]:
    """Return the model of a case, its inputs, and what it computes from them."""
    data: Any = case.data_sets
    inputs, expected = data[0]
    assert case.model is not None
    return case.model, list(map(_array, inputs)), list(map(_array, expected))


def _flat(values: Iterable[Any]) -> list[Any]:
    """Return tensors and the elements of sequences, without absent values."""
    found: list[Any] = []
    for value in values:
        if isinstance(value, list):
            found += cast("list[Any]", value)
        elif value is not None:
            found.append(value)
    return found


def _array(value: Any) -> Any:
    return numpy_helper.to_array(value) if isinstance(value, onnx.TensorProto) else value


def _difference(case: TestCase, found: Any, expected: Any) -> str:
    if found.dtype != expected.dtype or found.shape != expected.shape:
        return f"expected {expected.dtype}{list(expected.shape)}, found {found.dtype}{list(found.shape)}"
    # Floats of 16 bits: one rounding more or less.
    rtol = max(case.rtol, 2 * _EPSILON.get(found.dtype.name, 0))
    # Where large terms cancel, what is left of their rounding is as small as this.
    rounding = 4 * _largest(expected) * np.finfo(np.float32).eps if found.dtype == np.float32 else 0
    a, b = (x if x.dtype.kind in "biu" else x.astype(np.float64) for x in (found, expected))
    close = np.isclose(a, b, rtol, case.atol + rounding, equal_nan=True)
    if close.all():
        return ""
    first = tuple(int(i) for i in np.argwhere(~close)[0])
    return f"{(~close).sum()} of {close.size} elements differ; at {first} expected {b[first]}, found {a[first]}"


def _largest(array: Any) -> float:
    """Return the largest finite absolute value."""
    return float(np.abs(array[np.isfinite(array)]).max(initial=0))


OPEN = (
    "known at import",
    "known at run time",
    "expected a number of elements",
    "resized to",
    "iterations whose number is known at run time",
    "branch of 'If' node to be taken",
)
"""What messages say of models that inputs may help."""


def search(case: TestCase, run: Run) -> tuple[str, list[str]]:
    """Run a case; if it needs inputs at import, look for a smallest set of those that serves."""
    model, inputs, _ = parts_of(case)
    names = [i.name for i in model.graph.input]
    absent = [n for n, x in zip(names, inputs, strict=False) if x is None]
    found = outcome(case, absent, run)
    if not any(text in found for text in OPEN):
        return WITH_VALUES if absent and found == PASSES else found, absent
    small = [n for n, x in zip(names, inputs, strict=False) if isinstance(x, list) or np.ndim(x) <= 1]
    for frozen in (small[1:] if len(small) == len(names) > 1 else small, small):
        if outcome(case, frozen, run) == PASSES:
            for name in list(frozen):
                fewer = [other for other in frozen if other != name]
                if outcome(case, fewer, run) == PASSES:
                    frozen = fewer
            return WITH_VALUES, list(frozen)
    return found, []


def disagreements(names: Iterable[str], run: Run) -> Iterator[str]:
    """Yield how cases differ from the table."""
    table = read_table()
    with warnings.catch_warnings(action="ignore"):
        for name in names:
            heading, frozen = table.get(name, ("a line in the table", []))
            found = outcome(cases()[name], frozen, run)
            if found != (PASSES if frozen else heading):
                yield f"{name}: expected {heading}, found {found}"


def _parts(names: Sequence[str]) -> list[Sequence[str]]:
    return [names[i::128] for i in range(128)]


def _part(names: Sequence[str], run: str) -> list[str]:
    return list(disagreements(names, RUNS[run]))


def main() -> int:
    """Run the program."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--native", action="store_true", help="compile the cases")
    parser.add_argument("--update", action="store_true", help="write the table anew")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), metavar="N", help="processes (all processors)")
    parser.add_argument("--only", default="", metavar="TEXT", help="run the cases with this text in their names")
    options = parser.parse_args()
    run = RUNS["native" if options.native else "interpreted"]
    names = [name for name in cases() if options.only in name]
    if options.update:
        with warnings.catch_warnings(action="ignore"):
            searched = {name: search(cases()[name], run) for name in names}
        wrong = {name: heading for name, (heading, _) in searched.items() if heading.startswith("wrong")}
        old = {name: entry for name, entry in read_table().items() if name in cases()} if TABLE.exists() else {}
        write_table({**old, **{name: entry for name, entry in searched.items() if name not in wrong}})
        for name, heading in wrong.items():
            print(f"{name}: {heading}")
        print(Counter(heading.partition(":")[0] for heading, _ in searched.values()).most_common(4))
        return bool(wrong)
    found: list[str] = []
    with ProcessPoolExecutor(options.jobs, mp_context=get_context("fork")) as pool:
        for part in pool.map(partial(_part, run="native" if options.native else "interpreted"), _parts(names)):
            found += part
            print(*part, sep="\n", end="\n" if part else "", flush=True)
    counts = Counter(heading for name, (heading, _) in read_table().items() if name in names)
    print(f"{counts[PASSES]} pass, {counts[WITH_VALUES]} more with values, of {len(names)}; {len(found)} differ")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
