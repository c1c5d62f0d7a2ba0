"""Functions of lists of tensors: each that PyTorch has, as programs that call them are exported."""

from __future__ import annotations

from math import inf, nan
from typing import Any

import pytest

from relex.frontend.torch import from_exported
from relex.frontend.torch.decompositions import rules
from relex.runtime import build

torch: Any = pytest.importorskip("torch", reason="PyTorch is not installed; make torch installs it")
aten: Any = torch.ops.aten

OF_ONE = (
    "abs acos asin atan ceil clone cos cosh erf erfc exp expm1 floor frac lgamma log log10 log1p log2 max neg norm "
    "powsum reciprocal round rsqrt sigmoid sign sin sinh sqrt tan tanh trunc zero"
).split()
OF_TWO = "add clamp_max clamp_min copy div maximum minimum mm mul pow sub".split()
OF_THREE = "addcdiv addcmul lerp".split()


class Lists(torch.nn.Module):
    def forward(self, x: Any, y: Any) -> list[Any]:
        found: list[Any] = []
        for names, *lists in ((OF_ONE, [x, y]), (OF_TWO, [x, y], [y, x]), (OF_THREE, [x, y], [y, x], [x, x])):
            for name in names:
                found += getattr(aten, f"_foreach_{name}")(*lists)
        found += [*aten._foreach_lerp([x], [y], 0.25), *aten._foreach_addcdiv([x, y], [y, x], [x, x], [0.5, 2])]
        return [*found, *aten._foreach_powsum([x], 3, dtype=torch.float64), *aten._foreach_pow(2.0, [x, y])]


def test_all_have_rules() -> None:
    schemas: Any = torch._C._jit_get_all_schemas()
    wanted = {schema.name for schema in schemas if schema.name.startswith("aten::_foreach_")}
    found = {rule.name().partition(".")[0] for rule in rules()}
    assert {name for name in wanted if not name.endswith("_")} <= found


def test_as_torch_computes_them() -> None:
    x = torch.tensor([[0.25, 0.5, 2.5], [0.75, 0.5, 1.5], [0.75, 3.5, 0.125]])
    y = torch.tensor([[0.5, nan, -2.5], [inf, -0.5, 1.5], [0.0, 3.5, 0.125]])
    given = x, y
    compiled = build(from_exported(torch.export.export(Lists(), given)))["main"]
    found = [torch.from_numpy(part) for part in compiled(*(part.numpy() for part in given))]
    torch.testing.assert_close(found, Lists()(*given), equal_nan=True)
