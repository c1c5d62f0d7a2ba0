"""Sizes that are only known at run time, and conditions on them, as numbers of the program."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import pytest
from compiling import compiled

torch: Any = pytest.importorskip("torch", reason="PyTorch is not installed; make torch installs it")
pytestmark = [
    pytest.mark.usefixtures("fresh"),
    pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning", "ignore::UserWarning"),
]


def check(function: Callable[[Any], Any], *sizes: int) -> None:
    """Compare a function with torch for vectors of some sizes, compiled once for all of them."""
    fast = compiled(function, dynamic=True)
    for size in sizes:
        x = torch.arange(float(size)) + 1
        torch.testing.assert_close(fast(x), function(x))


CONDITIONS: dict[str, Callable[[Any], Any]] = {
    "gt": lambda x: x * (x.shape[0] > 4),
    "ge": lambda x: x * (x.shape[0] >= 5),
    "lt": lambda x: x + (x.shape[0] < 6),
    "le": lambda x: x.double() * (x.shape[0] <= 5),
    "eq": lambda x: x + (x.shape[0] == 5),
    "ne": lambda x: x.long() + (x.shape[0] != 5),
    "of two sizes": lambda x: x * (x[1:].shape[0] * 2 > x.shape[0] + 3),
    "and": lambda x: x * ((x.shape[0] > 4) & (x.shape[0] < 6)),
    "or": lambda x: x * ((x.shape[0] < 4) | (x.shape[0] % 3 == 0)),
    "not": lambda x: x * torch.sym_not(x.shape[0] > 4),
    "choice": lambda x: x * torch.sym_ite(x.shape[0] > 4, 3, 2),
    "mask": lambda x: (x > 1) & (x.shape[0] > 4),
    "compared": lambda x: (x == (x.shape[0] > 4), x.bool() == (x.shape[0] > 4)),
    "full": lambda x: torch.full_like(x, x.shape[0] > 4),
    "masked_fill": lambda x: x.masked_fill(x > 2, x.shape[0] > 4),
    "where": lambda x: torch.where(x > 2, x.shape[0] == 5, x),
    "tensor": lambda x: x + torch.tensor(x.shape[0] > 4),
    "results": lambda x: (x + 1, x.shape[0] > 4, x.shape[0] * 2, x.shape[0] > -1),
}


def test_conditions_are_numbers(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "relex.torch"):
        check(lambda x: {name: condition(x) for name, condition in CONDITIONS.items()}, 3, 5, 6, 1000)
    assert not [record for record in caplog.records if record.name == "relex.torch"]


def test_conditions_keep_their_types() -> None:
    def flags(x: Any) -> Any:
        return x + 1, x.shape[0] > 4, x.shape[0] > -1, x.shape[0]

    fast = compiled(flags, dynamic=True)
    assert [repr(found) for found in fast(torch.ones(5))[1:]] == ["True", "True", "5"]
    assert [repr(found) for found in fast(torch.ones(3))[1:]] == ["False", "True", "3"]


def test_differences_of_sizes_may_be_negative() -> None:
    check(lambda x: (x * (x.shape[0] - 10), x.long() + (7 - 2 * x.shape[0])), 3, 9, 10, 11, 1000)


def test_bits_of_sizes_are_left_to_torch(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "relex.torch"):
        check(lambda x: x * (x.shape[0] & 3), 3, 5, 6)
    assert "bits of a dynamic size" in caplog.text


def test_conditions_of_programs() -> None:
    from relex.frontend.torch import from_exported
    from relex.runtime import build

    class Model(torch.nn.Module):
        def forward(self, x: Any) -> Any:
            return x * (x.shape[0] > 4)

    rows = {"x": {0: torch.export.Dim("rows", min=2, max=1000)}}
    program = torch.export.export(Model(), (torch.ones(5),), dynamic_shapes=rows)
    main = build(from_exported(program))["main"]
    for size in (2, 4, 5, 17):
        x = torch.arange(float(size))
        assert torch.equal(torch.from_numpy(main(x)), Model()(x))
    fixed = build(from_exported(program, {"rows": 3}))["main"]
    assert fixed(torch.ones(3)).tolist() == [0, 0, 0]
