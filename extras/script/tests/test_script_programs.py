"""Programs in TVMScript, in the spellings of several years, compiled and against NumPy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from programs import Array
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

from relex.dialects import CompileError
from relex.frontend.script import parse_script
from relex.passes import BindParamsPass
from relex.runtime import build
from relex.runtime.library import LIBRARY
from relex.tools.run.relex_run import main as relex_run

FOLDER = Path(__file__).with_name("script")

RNG = np.random.default_rng(0)
X = RNG.standard_normal((1, 784)).astype(np.float32)
W0 = RNG.standard_normal((128, 784)).astype(np.float32)
B0 = RNG.standard_normal(128).astype(np.float32)
W1 = RNG.standard_normal((10, 128)).astype(np.float32)
B1 = RNG.standard_normal(10).astype(np.float32)
A, B = RNG.standard_normal((2, 3, 4)).astype(np.float32)
ROW = RNG.standard_normal((1, 128)).astype(np.float32)

CONSTANTS: dict[str, Any] = {"metadata_0": W0, "metadata_1": B0, "metadata_2": W1, "metadata_3": B1}


def mlp(x: Array, w0: Array = W0, b0: Array = B0, w1: Array = W1, b1: Array = B1) -> Array:
    return np.maximum(x @ w0.T + b0, 0) @ w1.T + b1


def multiply_add(x: Array, y: Array) -> Array:
    return x * y + y


def sums_multiplied(x: Array, b: Array) -> Array:
    return (x + b) * (x + b + b)


def relu(x: Array) -> Array:
    return np.maximum(x, 0)


PROGRAMS: dict[str, tuple[Callable[..., Array], Sequence[Array]]] = {
    "mlp_subscript": (mlp, [X, W0, B0, W1, B1]),
    "mlp_cls": (mlp, [X, W0, B0, W1, B1]),
    "mlp_printed": (mlp, [X, W0, B0, W1, B1]),
    "mlp_graph_printed": (mlp, [X]),
    "mlp_fused_printed": (mlp, [X]),
    "mlp_tir_printed": (mlp, [X]),
    "mlp_final_printed": (mlp, [X]),
    "multiply_add": (multiply_add, [A, B]),
    "ewise_fma_printed": (multiply_add, [A, B]),
    "ewise_fma_unused_printed": (multiply_add, [A, B]),
    "new_mlp": (mlp, [X]),
    "new_groups": (sums_multiplied, [ROW, B0]),
    "new_two_blocks": (relu, [ROW]),
}

LIBRARY_PROGRAMS: dict[str, Sequence[Array]] = {
    "library_call_tir": [X, W0, B0, W1, B1],
    "library_call_dps_packed": [X, W0, B0, W1, B1],
    "mixture": [X, W0, B0, W1, B1],
    "bound_printed": [X],
}
"""Programs that call library functions, and their arguments."""

LIBRARY_CALLS = {
    "library_call_tir": ["env.linear", "env.relu", "env.linear"],
    "library_call_dps_packed": ["env.linear", "env.relu", "env.linear"],
    "mixture": ["env.relu", "env.linear"],
    "bound_printed": ["env.relu", "env.linear"],
}
"""Which they call, in order."""


def read(name: str, pixels: int = 784) -> ModuleOp:
    """A program, for images of this size."""
    path = FOLDER / f"{name}.py"
    constants = CONSTANTS | {"metadata_0": W0[:, :pixels]}
    return parse_script(path.read_text().replace("784", str(pixels)), str(path), params=constants)


def test_every_program_is_tested():
    assert {path.stem for path in FOLDER.glob("*.py")} == {*PROGRAMS, *LIBRARY_PROGRAMS}


@pytest.mark.parametrize("name", PROGRAMS)
def test_it_gives_what_numpy_gives(name: str):
    reference, inputs = PROGRAMS[name]
    found = build(read(name))["main"](*inputs)
    expected = reference(*inputs)
    assert (found.shape, found.dtype) == (expected.shape, expected.dtype)
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)


@pytest.fixture
def called(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The library functions that were called. Programs find them as long as the test runs."""
    names: list[str] = []

    def linear(x: Array, w: Array, b: Array, out: Array) -> None:
        names.append("env.linear")
        np.matmul(x, w.T, out=out)
        np.add(out, b, out=out)

    def relu(x: Array, out: Array) -> None:
        names.append("env.relu")
        np.maximum(x, 0, out=out)

    monkeypatch.setitem(LIBRARY, "env.linear", linear)
    monkeypatch.setitem(LIBRARY, "env.relu", relu)
    return names


@pytest.mark.parametrize("name", LIBRARY_PROGRAMS)
def test_it_calls_library_functions(name: str, called: list[str]):
    found = build(read(name))["main"](*LIBRARY_PROGRAMS[name])
    np.testing.assert_allclose(found, mlp(X), rtol=1e-4, atol=1e-4)
    assert called == LIBRARY_CALLS[name]


def test_parameters_of_library_functions_are_bound(called: list[str]):
    module = BindParamsPass("main", {"w0": W0, "b0": B0, "w1": W1, "b1": B1})(read("mixture"))
    np.testing.assert_allclose(build(module)["main"](X), mlp(X), rtol=1e-4, atol=1e-4)
    assert called == LIBRARY_CALLS["mixture"]


def test_a_library_function_that_is_missing():
    with pytest.raises(
        CompileError, match=r'mixture.py:39:\d+: error: expected a registered library function, found "env'
    ):
        build(FOLDER / "mixture.py")


def test_a_file_can_be_built():
    found = build(FOLDER / "mlp_subscript.py")["main"](X, W0, B0, W1, B1)
    np.testing.assert_allclose(found, mlp(X), rtol=1e-4, atol=1e-4)


def test_parameters_are_bound_by_name():
    module = BindParamsPass("main", {"w0": W0, "b0": B0, "w1": W1, "b1": B1})(read("mlp_cls"))
    np.testing.assert_allclose(build(module)["main"](X), mlp(X), rtol=1e-4, atol=1e-4)


def test_constants_that_are_not_printed_are_asked_for():
    path = FOLDER / "new_mlp.py"
    with pytest.raises(CompileError) as caught:
        parse_script(path.read_text(), str(path), params={"metadata_1": B0})
    assert [(d.line, d.column) for d in caught.value.diagnostics] == [(10, 72), (14, 72), (16, 65)]
    assert caught.value.diagnostics[0].message == (
        "metadata[\"ir.GenericConst\"][0] is not in the script; expected an array 'metadata_0' among the parameters"
    )


def test_constants_from_a_file(tmp_path: Path):
    np.savez(tmp_path / "params.npz", **CONSTANTS)
    np.save(tmp_path / "x.npy", X)
    arguments = ["--params", "params.npz", "--input", "x.npy", "--output", "y.npy"]
    paths = [str(tmp_path / part) if part.endswith(("npz", "npy")) else part for part in arguments]
    assert relex_run([str(FOLDER / "new_mlp.py"), *paths]) == 0
    np.testing.assert_allclose(np.load(tmp_path / "y.npy"), mlp(X), rtol=1e-4, atol=1e-4)


def test_constants_and_parameters_from_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    text = (FOLDER / "new_mlp.py").read_text().replace('metadata["ir.GenericConst"][3]', "b1")
    text = text.replace(
        'x: R.Tensor((1, 784), dtype="float32")', 'x: R.Tensor((1, 784), "float32"), b1: R.Tensor((10,), "float32")'
    )
    (tmp_path / "mlp.py").write_text(text)
    np.savez(tmp_path / "params.npz", b1=B1, **CONSTANTS)
    np.save(tmp_path / "x.npy", X)
    files = ["--params", str(tmp_path / "params.npz"), "--input", str(tmp_path / "x.npy")]
    assert relex_run([str(tmp_path / "mlp.py"), *files]) == 0, capsys.readouterr().err


def test_groups_are_private_functions():
    functions = {op.sym_name.data: op for op in read("new_groups").ops if isinstance(op, FuncOp)}
    group = functions["fused_add_twice"]
    assert "relex.primitive" in group.attributes
    assert group.sym_visibility is not None
    assert group.sym_visibility.data == "private"


def test_a_missing_library_function_is_named_where_it_is_called_first():
    with pytest.raises(CompileError) as caught:
        build(FOLDER / "library_call_dps_packed.py")
    assert [d.line for d in caught.value.diagnostics] == [17, 18]
