"""Tensors of bf16, f16 and floats of 8 bits as arguments, weights and results."""

from __future__ import annotations

import logging
from typing import Any

import numpy as np
import pytest
from compiling import compiled

torch: Any = pytest.importorskip("torch", reason="PyTorch is not installed; make torch installs it")
pytest.importorskip("ml_dtypes")
nn: Any = torch.nn
pytestmark = [
    pytest.mark.usefixtures("fresh"),
    pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning", "ignore::UserWarning"),
]

SMALL = [getattr(torch, f"float8_{name}") for name in ("e4m3fn", "e4m3fnuz", "e5m2", "e5m2fnuz")]
HALF = [torch.bfloat16, torch.float16]


def test_arguments_and_results(caplog: pytest.LogCaptureFixture) -> None:
    def function(*given: Any) -> Any:
        return [(x.float() * 2, x.reshape(-1), (x.float() / 3).to(x.dtype)) for x in given]

    run = compiled(function, dynamic=True)
    with caplog.at_level(logging.WARNING, "relex.torch"):
        for x in (torch.rand(3, 5), torch.rand(4, 7).T, torch.rand(2, 8)[:, ::2]):
            given = [x.to(dtype) for dtype in (torch.bfloat16, torch.float8_e5m2)]
            for found, wanted in zip(sum(run(*given), ()), sum(function(*given), ()), strict=True):
                assert found.dtype == wanted.dtype
                assert torch.equal(found.float(), wanted.float())
    assert not [record for record in caplog.records if record.name == "relex.torch"]


@pytest.mark.parametrize("settings", [{}, {"options": {"freeze": True}}, {"dynamic": True}])
def test_models(settings: dict[str, Any]) -> None:
    model = nn.Sequential(nn.Linear(4, 3), nn.GELU(), nn.Linear(3, 2)).bfloat16().eval()
    run = compiled(model, **settings)
    for rows in (2, 1, 5):
        x = torch.randn(rows, 4).bfloat16()
        torch.testing.assert_close(run(x), model(x), rtol=2e-2, atol=2e-2)


def test_programs_take_tensors() -> None:
    from relex.frontend.torch import from_exported
    from relex.runtime import build

    model, x = nn.Linear(4, 3).bfloat16().eval(), torch.randn(2, 4).bfloat16()
    program = torch.export.export(model, (x,))
    main = build(from_exported(program))["main"]
    wanted = model(x).float().numpy()
    np.testing.assert_allclose(main(x).astype(np.float32), wanted, rtol=2e-2, atol=2e-2)
    np.testing.assert_array_equal(main(x.T.contiguous().T), main(x))
    run = build(from_exported(program, weights_as_arguments=True))["main"]
    np.testing.assert_array_equal(run(x, **{name: w.detach() for name, w in model.named_parameters()}), main(x))


def test_every_number_is_converted_as_in_torch() -> None:
    def narrowed(x: Any) -> Any:
        return [x.to(dtype) for dtype in (*SMALL, *HALF)]

    def widened(*given: Any) -> Any:
        return [x.float() for x in given]

    # All of bf16, which has numbers between and beyond floats of 8 bits.
    every = torch.arange(-(2**15), 2**15, dtype=torch.int32).to(torch.int16)
    bytes_ = torch.arange(256).to(torch.uint8)
    x = every.view(torch.bfloat16)
    small = [bytes_.view(dtype) for dtype in SMALL] + [every.view(dtype) for dtype in HALF]
    pairs = [*zip(compiled(widened)(*small), widened(*small), strict=True)]
    run = compiled(narrowed)
    for given in (x, x.float(), torch.arange(-600, 600)):
        pairs += zip(run(given), narrowed(given), strict=True)
    for found, wanted in pairs:
        assert found.dtype == wanted.dtype
        torch.testing.assert_close(found.float(), wanted.float(), rtol=0, atol=0, equal_nan=True)
