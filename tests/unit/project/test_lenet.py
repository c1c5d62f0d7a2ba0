"""`examples/lenet`: the network in NumPy and its gradients, the files, the demo, and the command-line tool."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from started import run_python

EXAMPLES = Path(__file__).parents[3] / "examples"
FOLDER = EXAMPLES / "lenet"


@pytest.fixture
def network(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(sys, "path", [str(FOLDER), str(EXAMPLES / "digits"), *sys.path])
    return import_module("network")


@pytest.fixture
def training(network: Any) -> Any:
    return import_module("training")


def run(*command: object, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run a command as users do: kernels that were compiled before are found."""
    environment = {**os.environ, **variables}
    del environment["RELEX_VERIFY"]
    return run_python(*map(str, command), env=environment)


def copy_examples(folder: Path) -> None:
    """The example, with the one that its images come from."""
    for name in ("lenet", "digits"):
        shutil.copytree(EXAMPLES / name, folder / name)


def test_weights_have_the_shapes_of_the_network(network: Any) -> None:
    with np.load(network.WEIGHTS) as file:
        assert set(file.files) == set(network.SHAPES)
    weights = network.load_weights()
    assert {name: array.shape for name, array in weights.items()} == network.SHAPES
    assert all(array.dtype == np.float32 and np.isfinite(array).all() for array in weights.values())
    assert network.WEIGHTS.stat().st_size < 100_000


def test_convolutions_and_pooling(network: Any) -> None:
    rng = np.random.default_rng(0)
    x, kernels = rng.normal(size=(2, 3, 4, 6)), rng.normal(size=(5, 3, 3, 3))
    found = network.convolve(x, kernels)
    assert found.shape == (2, 5, 4, 6)
    np.testing.assert_allclose(found[1, 2, 1, 3], (x[1, :, 0:3, 2:5] * kernels[2]).sum())
    np.testing.assert_allclose(found[1, 2, 0, 5], (x[1, :, 0:2, 4:6] * kernels[2][:, 1:, :2]).sum())
    np.testing.assert_array_equal(network.pool(x)[0, 0, 1, 2], x[0, 0, 2:4, 4:6].max())


def test_gradients(training: Any) -> None:
    """Against the change of the loss for small changes of a parameter."""
    rng: Any = np.random.default_rng(0)
    weights = {name: rng.normal(0, 0.3, shape) for name, shape in training.SHAPES.items()}
    x, labels = rng.random((3, 1, 8, 8)), np.array([1, 0, 7])
    _, slopes = training.loss_and_gradients(x, labels, weights)
    for name, array in weights.items():
        direction = rng.normal(size=array.shape)
        losses: list[float] = []
        for step in (1e-6, -1e-6):
            losses.append(training.loss_and_gradients(x, labels, {**weights, name: array + step * direction})[0])
        np.testing.assert_allclose((losses[0] - losses[1]) / 2e-6, (slopes[name] * direction).sum(), rtol=1e-5)


@pytest.mark.full
def test_the_script_makes_the_arrays_of_the_file(network: Any, tmp_path: Path) -> None:
    pytest.importorskip("sklearn", reason="the images to learn from are in scikit-learn")
    copy_examples(tmp_path)
    (tmp_path / "lenet" / "weights.npz").unlink()
    # Its products are so small that threads would only wait for each other.
    result = run(tmp_path / "lenet" / "training.py", OPENBLAS_NUM_THREADS="1")
    assert "360 test images, accuracy: 98.9 %" in result.stdout, result.stderr
    with np.load(tmp_path / "lenet" / "weights.npz") as made:
        for name, array in network.load_weights().items():
            np.testing.assert_array_equal(made[name], array, err_msg=name)


def test_no_prediction_hangs_on_rounding(network: Any) -> None:
    images, _, _ = network.load_digits()
    second, best = np.sort(network.reference(images, **network.load_weights()), axis=1)[:, -2:].T
    assert np.min(best - second) > 1e-3


def test_demo() -> None:
    result = run(FOLDER / "demo.py")
    assert result.returncode == 0, result.stderr
    assert result.stdout.count("accuracy: 98.9 %") == 2
    assert "this is a 6 (label: 6)" in result.stdout


def test_a_wrong_program_fails_loudly(tmp_path: Path) -> None:
    copy_examples(tmp_path)
    program = tmp_path / "lenet" / "lenet.mlir"
    program.write_text(program.read_text().replace("relex.max_pool2d", "relex.avg_pool2d"))
    result = run(tmp_path / "lenet" / "demo.py")
    assert result.returncode == 1
    assert "predictions differ from NumPy's" in result.stderr


@pytest.mark.parametrize(("function", "count"), [("main", 1), ("batch", 360)])
def test_the_tool_runs_it(network: Any, tmp_path: Path, function: str, count: int) -> None:
    images, _, _ = network.load_digits()
    np.save(tmp_path / "x.npy", images[:count])
    files = ("--params", network.WEIGHTS, "--input", tmp_path / "x.npy", "--output", tmp_path / "y.npy")
    result = run(
        "-c",
        "from relex.tools.run.relex_run import main; raise SystemExit(main())",
        FOLDER / "lenet.mlir",
        "--entry",
        function,
        *files,
    )
    assert result.returncode == 0, result.stderr
    expected = network.reference(images[:count], **network.load_weights())
    np.testing.assert_allclose(np.load(tmp_path / "y.npy"), expected, rtol=1e-4, atol=1e-4)
