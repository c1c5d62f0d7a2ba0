"""
Mistakes that other compilers made, with the numbers of their reports: relex does not make them.

A file has one program after the other: graphs in `graphs.mlir`, loop functions in `loops.mlir`, ONNX models in
`models.txt`, in the text format of the package onnx. In front of each are comments:

* `owner/repository#number: ...`, what was wrong there; the program itself is ours, and as small as possible;
* `NAME: EXPRESSION`, an argument, if random numbers will not do;
* `expect: EXPRESSION`, what the program computes of its arguments by NumPy, or several results;
* `refused: TEXT`, a part of the error that it is refused with;
* `passes: PIPELINE`, passes that leave its results as they are.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, cast
from zlib import crc32

import numpy as np
import pytest
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray
from onnx import ModelProto, checker, helper, parser
from xdsl.dialects.builtin import ModuleOp
from xdsl.transforms import get_all_passes

from relex.dialects import CompileError, parse_module
from relex.dialects.signature import TensorSpec
from relex.frontend.onnx import from_onnx
from relex.lowering import PASSES as LOWERING_PASSES
from relex.lowering.support.signatures import signatures
from relex.passes import PASSES, ApplySchedulePass, run_pass
from relex.reference import interpret
from relex.runtime import build
from relex.tools.options.pipelines import find_pass, instantiate, parse_passes

Array = NDArray[Any]

FOLDER = Path(__file__).parent
FILES = ("graphs.mlir", "loops.mlir", "models.txt")

ALL_PASSES = {**get_all_passes(), **PASSES, **LOWERING_PASSES}

REPORT = re.compile(r"^(?://|#) ((?:[\w.-]+/[\w.-]+#\d+(?:, )?)+): (.*)$")
FIELD = re.compile(r"^(?://|#) (\w+): (.*)$")


@dataclass(frozen=True)
class Replay:
    """A program, the reports of what was wrong with such a one, and what it computes."""

    reports: str
    what: str
    fields: Mapping[str, str]
    text: str

    @property
    def name(self) -> str:
        """The name of its function."""
        found = re.search(r"@(\w+)\(", self.text)
        return found[1] if found else "main"


@cache
def replays(name: str) -> list[Replay]:
    """Return the programs of a file."""
    found: list[Replay] = []
    for part in re.split(r"\n\n(?=// |# )", (FOLDER / name).read_text(encoding="utf-8"))[1:]:
        lines = part.splitlines()
        report = REPORT.match(lines[0])
        assert report, lines[0]
        fields = {match[1]: match[2] for line in lines[1:] if (match := FIELD.match(line))}
        text = "\n".join(line for line in lines if not line.startswith(("// ", "# ")))
        found.append(Replay(report[1], report[2], fields, text))
    return found


def cases(name: str) -> list[Any]:
    return [pytest.param(replay, id=replay.reports.replace(", ", "+")) for replay in replays(name)]


def conv2d(x: Array, w: Array) -> Array:
    """A convolution without padding, of one image after the other."""
    windows = sliding_window_view(x, w.shape[2:], (2, 3))
    return np.einsum("nchwij,ocij->nohw", windows, w)


def arguments(replay: Replay, module: ModuleOp) -> dict[str, Array]:
    """Return the arguments of a program by their names."""
    random = np.random.default_rng(crc32(replay.text.encode()))

    def argument(spec: TensorSpec) -> Array:
        dtype = spec.dtype
        if spec.name in replay.fields:
            return np.asarray(eval(replay.fields[spec.name], {"np": np})).astype(dtype)
        scale = 1 if dtype.kind == "f" else 4
        return np.asarray(random.normal(scale=scale, size=spec.shape_with({}))).astype(dtype)

    return {spec.name: argument(spec) for spec in signatures(module)[replay.name].inputs}


def expected(replay: Replay, given: Mapping[str, Array]) -> Sequence[Array]:
    """Return what a program must compute."""
    with np.errstate(all="ignore"):
        return arrays(eval(replay.fields["expect"], {"np": np, "conv2d": conv2d, **given}))


def arrays(results: Any) -> list[Array]:
    """Return one result, or several, as a list."""
    found: list[Any] = [*results] if isinstance(results, tuple) else [results]
    return [np.asarray(result) for result in found]


def check(replay: Replay, functions: Mapping[str, Any], given: Mapping[str, Array]) -> None:
    """Compare the results of a function with those that are expected: all but the rounding of floats, and the width of
    the integers that NumPy computes with."""
    with np.errstate(all="ignore"):
        found = arrays(functions[replay.name](**given))
    for a, b in zip(found, expected(replay, given), strict=True):
        assert a.shape == b.shape
        if a.dtype.kind == "f":
            epsilon = 16 * float(np.finfo(a.dtype).eps)
            np.testing.assert_allclose(a, b.astype(a.dtype), epsilon, epsilon)
        else:
            assert a.dtype == b.dtype or b.dtype == np.int64
            np.testing.assert_array_equal(a, b)


def check_module(replay: Replay, module: ModuleOp) -> None:
    """Check a program in a separate module: interpreted, and compiled, before and after its passes."""
    given = arguments(replay, module)
    check(replay, interpret(module), given)
    after = module
    for spec in parse_passes(replay.fields.get("passes", "canonicalize")):
        after = run_pass(instantiate("pass", find_pass(spec.name, ALL_PASSES), spec), after)
    check(replay, interpret(after), given)
    check(replay, build(after), given)


@cache
def graphs() -> tuple[ModuleOp, Mapping[str, Any], Mapping[str, Any]]:
    """All graphs, interpreted and compiled."""
    module = parse_module("\n".join(replay.text for replay in replays("graphs.mlir")), "graphs.mlir")
    return module, interpret(module), build(module)


@pytest.mark.parametrize("replay", cases("graphs.mlir"))
def test_graphs(replay: Replay) -> None:
    module, interpreted, compiled = graphs()
    given = arguments(replay, module)
    check(replay, interpreted, given)
    check(replay, compiled, given)


@pytest.mark.parametrize("replay", cases("loops.mlir"))
def test_loops(replay: Replay) -> None:
    module = parse_module(replay.text, "loops.mlir")
    if "refused" in replay.fields:
        with pytest.raises(CompileError, match=re.escape(replay.fields["refused"])):
            run_pass(ApplySchedulePass(), module)
    else:
        check_module(replay, module)


def model(text: str) -> ModelProto:
    """Return a model of the text of a graph."""
    made = helper.make_model(parser.parse_graph(text), opset_imports=[helper.make_opsetid("", 17)])
    cast(Any, checker).check_model(made)
    return made


@pytest.mark.parametrize("replay", cases("models.txt"))
def test_models(replay: Replay) -> None:
    if "refused" in replay.fields:
        with pytest.raises(CompileError, match=re.escape(replay.fields["refused"])):
            from_onnx(model(replay.text))
    else:
        check_module(replay, from_onnx(model(replay.text)))


def test_there_are_many() -> None:
    """Each program says what it computes, or why it is refused; names of graphs are their own."""
    found = [replay for name in FILES for replay in replays(name)]
    assert len({report for replay in found for report in replay.reports.split(", ")}) >= 120
    assert all(("expect" in replay.fields) != ("refused" in replay.fields) for replay in found)
    names = [replay.name for replay in replays("graphs.mlir")]
    assert len(set(names)) == len(names)
