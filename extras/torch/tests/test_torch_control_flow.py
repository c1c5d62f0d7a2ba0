"""`torch.cond` and `while_loop` of exported programs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from relex.frontend.torch import from_exported
from relex.reference import interpret
from relex.runtime import build

torch: Any = pytest.importorskip("torch")


class Branch(torch.nn.Module):
    def forward(self, x: Any) -> Any:
        def then(x: Any) -> Any:
            return x.sin() + 1, -x

        def otherwise(x: Any) -> Any:
            return x * 2, x.abs()

        return torch.cond(x.sum() > 0, then, otherwise, (x,))


class Loop(torch.nn.Module):
    def forward(self, x: Any) -> Any:
        def is_small(n: Any, x: Any) -> Any:
            return x.max() < 50

        def step(n: Any, x: Any) -> Any:
            return n + 1, x * 2 + 1

        return torch._higher_order_ops.while_loop(is_small, step, (torch.zeros((), dtype=torch.int64), x))


@pytest.mark.parametrize(("model", "op"), [(Branch(), "scf.if"), (Loop(), "scf.while")])
def test_results(model: Any, op: str):
    program = from_exported(torch.export.export(model, (torch.ones(3),)))
    assert op in str(program)
    for x in (torch.ones(3), torch.tensor([-9.0, 1.0, 2.0])):
        for main in (interpret(program)["main"], build(program)["main"]):
            for found, expected in zip(main(x.numpy()), model(x), strict=True):
                np.testing.assert_allclose(found, expected.numpy(), rtol=1e-6)


class Doubling(torch.nn.Module):
    def twice(self, x: Any) -> Any:
        return torch.cat([x, x])

    def double(self, x: Any) -> Any:
        return x * 2

    def forward(self, x: Any) -> Any:
        y = torch.cond(x.sum() > 0, self.twice, self.double, (x,))
        return y.exp().sum(0), y.reshape(-1, 1) + 1


def test_branches_of_different_sizes() -> None:
    program = from_exported(
        torch.export.export(Doubling(), (torch.ones(3),), dynamic_shapes=({0: torch.export.Dim("n")},))
    )
    for x in (torch.ones(3), torch.tensor([-9.0, 1.0])):
        for main in (interpret(program)["main"], build(program)["main"]):
            for found, expected in zip(main(x.numpy()), Doubling()(x), strict=True):
                np.testing.assert_allclose(found, expected.numpy(), rtol=1e-6, strict=True)
