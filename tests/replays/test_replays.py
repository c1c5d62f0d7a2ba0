"""Mistakes that other compilers made: relex does not make them, and would find the pass that does."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from typing import Any
from zlib import crc32

import numpy as np
import page
import pytest
from named_passes import is_named, own_passes
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray
from replays import FILES, Replay, model, replays
from xdsl.dialects.builtin import ModuleOp
from xdsl.transforms.canonicalize import CanonicalizePass

from relex.dialects import CompileError, parse_module
from relex.dialects.signature import TensorSpec
from relex.frontend.onnx import from_onnx
from relex.lowering.support.signatures import signatures
from relex.passes import ApplySchedulePass, run_pass
from relex.reference import interpret
from relex.runtime import build

Array = NDArray[Any]


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
    for p in own_passes(replay) or [CanonicalizePass()]:
        after = run_pass(p, after)
    check(replay, interpret(after), given)
    check(replay, build(after), given)


@cache
def graphs(texts: tuple[str, ...]) -> tuple[ModuleOp, Mapping[str, Any], Mapping[str, Any]]:
    """Graphs, interpreted and compiled."""
    module = parse_module("\n".join(texts), "graphs.mlir")
    return module, interpret(module), build(module)


@pytest.mark.parametrize("replay", cases("graphs.mlir"))
def test_graphs(replay: Replay, group: tuple[Replay, ...]) -> None:
    module, interpreted, compiled = graphs(tuple(other.text for other in group))
    given = arguments(replay, module)
    check(replay, interpreted, given)
    check(replay, compiled, given)


@pytest.mark.parametrize("replay", cases("loops.mlir"))
def test_loops(replay: Replay) -> None:
    if "refused" in replay.fields:
        with pytest.raises(CompileError, match=re.escape(replay.fields["refused"])):
            run_pass(ApplySchedulePass(), replay.module)
    else:
        check_module(replay, replay.module)


@pytest.mark.parametrize("replay", cases("models.txt"))
def test_models(replay: Replay) -> None:
    if "refused" in replay.fields:
        with pytest.raises(CompileError, match=re.escape(replay.fields["refused"])):
            from_onnx(model(replay.text))
    else:
        check_module(replay, replay.module)


def test_mistakes_would_be_found(some: Callable[[Iterable[Replay], int], list[Replay]]) -> None:
    """If the pass that a table names for a program had a mistake, the check of passes would name it."""
    found = [replay for name in FILES for replay in replays(name) if "expect" in replay.fields]
    assert [replay.reports for replay in some(found, 4) if not is_named(replay)] == []


def test_the_page_has_them_all() -> None:
    text = page.PAGE.read_text()
    assert page.with_table(text) == text, "run make replays"


def test_there_are_many() -> None:
    """Each program says what it computes, or why it is refused; names of graphs are their own."""
    found = [replay for name in FILES for replay in replays(name)]
    assert len({report for replay in found for report in replay.reports.split(", ")}) >= 120
    assert all(("expect" in replay.fields) != ("refused" in replay.fields) for replay in found)
    names = [replay.name for replay in replays("graphs.mlir")]
    assert len(set(names)) == len(names)
