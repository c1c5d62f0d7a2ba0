"""Graphs that hold tensors themselves, and change them: steps of optimizers."""

from __future__ import annotations

from typing import Any

import pytest
from compiling import compiled

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


def test_a_graph_that_relex_lacks_changes_its_tensors_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the attempt to compile it did."""
    from relex.frontend.torch.import_table import IMPORTS

    find = IMPORTS.get

    def get(key: str) -> Any:
        return None if key == "aten.addcdiv" else find(key)

    monkeypatch.setattr(IMPORTS, "get", get)
    torch.testing.assert_close(trained("AdamW", True), trained("AdamW", False))
