"""Operators that PyTorch has for floats alone. Its kernels refuse integers when they run, and no trace does before."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from relex.frontend.importing.values import refuse
from relex.frontend.torch.library import torch

FLOATS_ONLY = frozenset(
    "aten.frac aten.glu aten.hardshrink aten.huber_loss aten.im2col aten.log_sigmoid_forward aten.logaddexp "
    "aten.logaddexp2 aten.max_unpool2d aten.max_unpool3d aten.multi_margin_loss aten.multilabel_margin_loss_forward "
    "aten.nll_loss_forward aten.nll_loss2d_forward aten.prelu aten._prelu_kernel aten.round.decimals "
    "aten.smooth_l1_loss aten._softmax_backward_data".split()
)
"""Their names, or the names of their overloads."""


def expect_floats(target: Any, first: Any) -> None:
    """Refuse integers as the first operand of an operator that PyTorch has for floats alone."""
    name = str(target)
    if name not in FLOATS_ONLY and name.rpartition(".")[0] not in FLOATS_ONLY:
        return
    if isinstance(first, torch.Tensor) and not first.is_floating_point():
        refuse(f"expected floats, found {first.dtype}: PyTorch has no such kernel")


def for_floats(target: Any, rule: Callable[..., Any]) -> Callable[..., Any]:
    """Return a rule that expresses an operator by others, and refuses what the operator does not take."""

    def checked(*args: Any, **kwargs: Any) -> Any:
        expect_floats(target, args[0] if args else None)
        return rule(*args, **kwargs)

    return checked
