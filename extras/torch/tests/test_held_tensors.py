"""Graphs that hold tensors themselves, and change them: steps of optimizers."""

from __future__ import annotations

import logging
from typing import Any

import pytest
from compiling import compiled, messages

torch: Any = pytest.importorskip("torch", reason="PyTorch is not installed; make torch installs it")
optim: Any = torch.optim
pytestmark = [
    pytest.mark.usefixtures("fresh"),
    pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning", "ignore::UserWarning"),
]

OPTIMIZERS = {
    "SGD": {"lr": 0.1, "momentum": 0.9},
    "Adam": {"lr": 0.1, "amsgrad": True},
    "AdamW": {"lr": 0.1},
    "RMSprop": {"lr": 0.1, "momentum": 0.5},
    "RAdam": {"lr": 0.1},
    "Adamax": {"lr": 0.1},
}


def trained(name: str, is_compiled: bool) -> list[Any]:
    """Return parameters after some steps."""
    torch.manual_seed(0)
    parameters = [torch.nn.Parameter(torch.randn(sizes)) for sizes in ((3,), (2, 2))]
    optimizer = getattr(optim, name)(parameters, **OPTIMIZERS[name])
    step = compiled(optimizer.step) if is_compiled else optimizer.step
    for _ in range(4):
        for parameter in parameters:
            parameter.grad = torch.randn(parameter.shape)
        step()
    return [parameter.detach() for parameter in parameters]


@pytest.mark.usefixtures("all_by_relex")
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_steps_of_optimizers(name: str) -> None:
    torch.testing.assert_close(trained(name, True), trained(name, False))


def test_a_graph_that_relex_lacks_changes_its_tensors_once(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Whatever the attempt to compile it did."""
    from relex.frontend.torch import torch_importer

    def find(name: str) -> Any:
        return None if name.startswith("aten.sqrt") else find_import(name)

    find_import = torch_importer.find_import
    monkeypatch.setattr(torch_importer, "find_import", find)
    with caplog.at_level(logging.WARNING, "relex.torch"):
        found = trained("AdamW", True)
    assert any("aten.sqrt.default': no import" in message for message in messages(caplog))
    torch.testing.assert_close(found, trained("AdamW", False))
