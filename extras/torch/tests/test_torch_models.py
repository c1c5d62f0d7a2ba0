"""Models of many kinds, from PyTorch to native code: what relex computes against PyTorch itself."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

from relex.frontend.torch import from_exported
from relex.reference import interpret
from relex.runtime import build

torch: Any = pytest.importorskip("torch", reason="PyTorch is not installed; make torch installs it")
pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning", "ignore::UserWarning")

ROOT = Path(__file__).parents[3]
MODELS = {file.stem: file for file in sorted((ROOT / "extras" / "torch" / "tests" / "models").glob("*.py"))}
TOLERANCE = 1e-5
COMPILED = (
    "convnext_block",
    "decoder_layer",
    "detection_head",
    "embedding_bag",
    "graph_network",
    "gru",
    "lenet",
    "mobile_block",
    "super_resolution",
    "wavenet",
)
"""Models that are compiled; the others, whose code takes longer to compile, are interpreted."""
OPEN = ("gpt", "resnet_block", "vit")
"""Models that are also exported with a dynamic batch: among others, they expand and fill tensors to its size."""


@pytest.fixture
def made(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> tuple[Any, Sequence[Any], Sequence[Any]]:
    monkeypatch.setattr(sys, "path", [str(ROOT), *sys.path])
    with torch.no_grad():
        return import_module("benchmarks.torch_models").make(MODELS[request.param], None)


def differences(found: Any, wanted: Sequence[Any]) -> list[float]:
    results: list[Any] = list(cast("tuple[Any]", found)) if isinstance(found, tuple) else [found]
    assert [x.shape for x in results] == [tuple(y.shape) for y in wanted]
    assert [x.dtype for x in results] == [y.detach().numpy().dtype for y in wanted]
    return [float(np.abs(x - y.detach().numpy(), dtype=np.float64).max()) for x, y in zip(results, wanted, strict=True)]


def test_there_are_twenty() -> None:
    assert len(MODELS) == 20


@pytest.mark.parametrize(("made", "name"), [(name, name) for name in MODELS], ids=MODELS, indirect=["made"])
def test_a_model(made: tuple[Any, Sequence[Any], Sequence[Any]], name: str) -> None:
    model, inputs, wanted = made
    module = from_exported(torch.export.export(model, tuple(inputs)))
    functions = build(module) if name in COMPILED else interpret(module)
    assert max(differences(functions["main"](*inputs), wanted)) < TOLERANCE


@pytest.mark.parametrize("made", OPEN, indirect=True)
def test_an_open_batch(made: tuple[Any, Sequence[Any], Sequence[Any]]) -> None:
    model, inputs, _ = made
    batch = torch.export.Dim("batch", max=100)
    program = torch.export.export(model, tuple(inputs), dynamic_shapes=tuple({0: batch} for _ in inputs))
    module = from_exported(program)
    assert 'relex.dims = ["batch"' in str(module)
    main = interpret(module)["main"]
    for size in (1, 5):
        # Torch takes a size of 1 for another kind of size, which an open one is not.
        more = [torch.cat([x] * 3)[:size] for x in inputs]
        with torch.no_grad():
            wanted = model(*more)
        assert max(differences(main(*more), [wanted])) < TOLERANCE
