"""Attention whose masks hide whole rows, and the softmax of such rows."""

from __future__ import annotations

from collections.abc import Callable
from math import inf, nan
from typing import Any

import pytest
from compiling import compiled

torch: Any = pytest.importorskip("torch", reason="PyTorch is not installed; make torch installs it")
attend: Any = torch.nn.functional.scaled_dot_product_attention
pytestmark = [
    pytest.mark.usefixtures("fresh"),
    pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning", "ignore::UserWarning"),
]


class Attention(torch.nn.Module):
    def forward(self, q: Any, k: Any, v: Any, mask: Any) -> Any:
        return attend(q, k, v, attn_mask=mask)


def both(*inputs: Any) -> list[Callable[..., Any]]:
    """Return attention as `torch.compile` and `torch.export` import it."""
    from relex.frontend.torch import from_exported
    from relex.runtime import build

    main = build(from_exported(torch.export.export(Attention(), inputs)))["main"]
    return [compiled(Attention()), lambda *given: torch.from_numpy(main(*given))]


def operands(dtype: Any = torch.float32) -> list[Any]:
    return [torch.randn(2, 3, size, 8).to(dtype) for size in (5, 7, 7)]


def masks() -> tuple[Any, Any]:
    """A mask of booleans that hides two of five rows, and the same as numbers to add."""
    visible = torch.rand(5, 7) < 0.6
    visible[:, 1] = True
    visible[[0, 3]] = False
    return visible, torch.where(visible, 0.0, -inf)


def check(function: Callable[..., Any], *given: Any) -> Any:
    found, wanted = function(*given), attend(*given)
    torch.testing.assert_close(found, wanted, rtol=1e-5, atol=1e-5, equal_nan=True)
    return found


def test_rows_that_are_hidden_are_zero() -> None:
    q, k, v = operands()
    for mask in masks():
        for function in both(q, k, v, mask):
            assert not check(function, q, k, v, mask)[:, :, [0, 3]].any()
            # Another mask, for the same code.
            check(function, q, k, v, torch.zeros_like(mask))
            check(function, q, k, v, torch.ones_like(mask))


def test_nan_is_not_hidden() -> None:
    q, k, v = operands()
    for mask in masks():
        q[0, 0, 0, 3] = q[0, 1, 1, 2] = k[1, 2, 4, 0] = v[1, 0, 2, 5] = nan
        for function in both(q, k, v, mask):
            found = check(function, q, k, v, mask)
            # The query of a hidden row, a key that some rows do not see, and a value.
            assert found[0, 0, 0].isnan().all()
            assert found[1, 2].isnan().all()
            assert found[1, 0, :, 5].isnan().all()
            assert not found[0, 0, 1:].isnan().any()


def test_masks_of_each_batch_and_other_types() -> None:
    visible, added = masks()
    q, k, v = operands(torch.float64)
    check(compiled(Attention()), q, k, v, torch.stack([visible, ~visible])[:, None])
    q, k, v = operands(torch.float16)
    found, wanted = compiled(Attention())(q, k, v, added.half()), attend(q, k, v, added.half())
    torch.testing.assert_close(found, wanted, rtol=1e-2, atol=1e-2)
    assert not found[:, :, [0, 3]].any()


def test_scores_that_are_too_low_for_floats_are_hidden() -> None:
    q, k, v = torch.full((1, 1, 2, 4), 1e20), torch.full((1, 1, 3, 4), -1e20), torch.ones(1, 1, 3, 4)

    def plain_and_causal(*given: Any) -> list[Any]:
        return [attend(*given, is_causal=causal) for causal in (False, True)]

    for found in compiled(plain_and_causal)(q, k, v):
        assert torch.equal(found, torch.zeros(1, 1, 2, 4))


def test_softmax() -> None:
    x = torch.tensor([[0.5, 1.0], [-inf, -inf], [nan, -inf], [inf, 1.0], [-inf, 3.0]])

    def every(x: Any) -> list[Any]:
        rows = [f(x, axis) for f in (torch._safe_softmax, torch.softmax, torch.log_softmax) for axis in (0, 1)]
        return rows + [f(x[i, 0].double(), -1) for f in (torch._safe_softmax, torch.softmax) for i in range(4)]

    for found, wanted in zip(compiled(every)(x), every(x), strict=True):
        torch.testing.assert_close(found, wanted, equal_nan=True)


def test_masks_are_read_in_the_loops_of_attention() -> None:
    from relex.frontend.torch import from_exported
    from relex.lowering.relex_pipeline import RelexPipelinePass

    q, k, v = operands()
    for mask in masks():
        module = from_exported(torch.export.export(Attention(), (q, k, v, mask)))
        text = str(RelexPipelinePass("loops")(module))
        # The scale of the queries, and attention.
        assert text.count("tir.prim_func") == 2
