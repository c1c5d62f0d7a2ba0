"""`torch.compile(model, backend="relex")`."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
from importlib.metadata import entry_points
from typing import Any

import numpy as np
import pytest
from compiling import compiled, messages

from relex.frontend.torch.import_table import IMPORTS

torch: Any = pytest.importorskip("torch", reason="PyTorch is not installed; make torch installs it")
nn: Any = torch.nn
pytestmark = [
    pytest.mark.usefixtures("fresh"),
    pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning", "ignore::UserWarning"),
]


def small() -> Any:
    # Rows that the ReLU leaves near zero would be divided by the root of `eps`, and their errors with them.
    return nn.Sequential(nn.Linear(4, 3), nn.BatchNorm1d(3), nn.ReLU(inplace=True), nn.LayerNorm(3, eps=0.1)).eval()


def test_the_backend_is_found(caplog: pytest.LogCaptureFixture) -> None:
    if not entry_points(group="torch_dynamo_backends", name="relex"):
        pytest.skip("relex was installed before it had the entry point")
    model = small()
    x = torch.rand(2, 4)
    assert torch.allclose(torch.compile(model, backend="relex")(x), model(x), atol=1e-6)
    assert messages(caplog) == []


def test_sizes_stay_open(caplog: pytest.LogCaptureFixture) -> None:
    model = small()
    function = compiled(model, dynamic=True)
    for size in (2, 3, 7):
        x = torch.rand(size, 4)
        assert torch.allclose(function(x), model(x), atol=1e-6)
    assert messages(caplog) == []


def test_weights_that_change_are_seen_unless_they_are_frozen() -> None:
    model, x = small(), torch.rand(2, 4)
    live, frozen = compiled(model), compiled(model, options={"freeze": True})
    before = model(x)
    assert torch.allclose(live(x), before, atol=1e-6)
    assert torch.allclose(frozen(x), before, atol=1e-6)
    model[3].bias += 1
    assert torch.allclose(live(x), before + 1, atol=1e-6)
    assert torch.allclose(frozen(x), before, atol=1e-6)


def test_what_relex_lacks_is_run_by_torch(caplog: pytest.LogCaptureFixture) -> None:
    def wave(x: Any) -> Any:
        return torch.gcd(x, x + 2)

    x = torch.arange(4)
    with caplog.at_level(logging.WARNING, "relex.torch"):
        assert torch.allclose(compiled(wave)(x), wave(x))
    (message,) = messages(caplog)
    assert "is run by torch: " in message
    assert "'prims.gcd.default': " in message


def test_gradients_are_left_to_torch(caplog: pytest.LogCaptureFixture) -> None:
    model = small()
    with torch.enable_grad(), caplog.at_level(logging.WARNING, "relex.torch"):
        compiled(model)(torch.rand(2, 4)).sum().backward()
    assert model[0].weight.grad is not None
    assert "gradients are recorded; expected a call under torch.no_grad()" in messages(caplog)[0]


def test_graph_breaks_and_several_results() -> None:
    def broken(x: Any) -> Any:
        y = torch.relu(x)
        if y.sum() > 1:
            y = y * 2
        return x, y, y.shape[0] + 1, (y - 1).to(torch.bfloat16)

    x = torch.rand(3, 5)
    for found, wanted in zip(compiled(broken)(x), broken(x), strict=True):
        assert found == wanted if isinstance(wanted, int) else torch.equal(found, wanted)


def test_tensors_are_shared() -> None:
    from relex.frontend.torch.tensors import array_of, tensor_of

    x = torch.rand(3)
    array = array_of(x)
    array[0] = 5
    assert x[0] == 5
    tensor_of(array)[1] = 6
    assert x[1] == 6
    wide: Any = array_of(torch.ones(2, dtype=torch.bfloat16))
    assert tensor_of(wide).tolist() == [1, 1]
    assert np.shares_memory(tensor_of(wide).view(torch.int16).numpy(), wide)


def test_views_of_other_strides_are_inputs() -> None:
    x = torch.rand(4, 3)
    assert torch.allclose(compiled(torch.exp)(x.T), torch.exp(x.T))


def test_no_compiler_is_needed() -> None:
    code = (
        "import torch; from relex.frontend.torch.dynamo import relex\n"
        "f = torch.compile(lambda x: torch.relu(x) + 1, backend=relex)\n"
        "with torch.no_grad(): print(f(torch.tensor([-1.0, 2.0])).tolist())"
    )
    environment = {**os.environ, "PATH": "", "CC": "/none", "CXX": "/none"}
    result = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert (result.stdout, result.stderr) == ("[1.0, 3.0]\n", "")


def test_the_table_is_filled() -> None:
    assert len(IMPORTS) > 250
