"""Products of groups of matrices, as the experts of a mixture have them, beside torch's."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any

import numpy as np
import pytest
from compiling import compiled_alone

import relex
from relex.dialects.errors import RelexError
from relex.frontend.torch import from_exported

torch: Any = pytest.importorskip("torch", reason="PyTorch is not installed; make torch installs it")
pytestmark = [
    pytest.mark.usefixtures("fresh"),
    pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning", "ignore::UserWarning"),
]

SIZES = {
    "rows": ((6, 8), (3, 8, 16)),
    "columns": ((3, 5, 8), (8, 8)),
    "sums": ((8, 8), (8, 16)),
    "pairs": ((3, 5, 8), (3, 8, 16)),
}


def ends(*numbers: int) -> Any:
    return torch.tensor(numbers, dtype=torch.int32)


def grouped(x: Any, y: Any, ends: Any) -> Any:
    return torch.nn.functional.grouped_mm(x, y, offs=ends if x.dim() + y.dim() < 6 else None)


def by_loop(x: Any, y: Any, ends: Any) -> Any:
    """What transformers calls where torch cannot compile its own operator."""
    product, first = x.new_zeros(x.shape[0], y.shape[2]), 0
    for group, end in enumerate(ends.tolist()):
        product[first:end] = x[first:end] @ y[group]
        first = end
    return product


def shaped(x: Any, y: Any, offs: Any) -> Any:
    """Return what has the shape of the result."""
    return x.new_empty(x.shape[0], y.shape[2])


def fallback() -> Any:
    """Return the operator of transformers, which is made here unless that is imported."""
    if not hasattr(torch.ops.transformers, "grouped_mm_fallback"):
        library: Any = import_module("torch.library")
        schema, name = "(Tensor input, Tensor weight, Tensor offs) -> Tensor", "transformers::grouped_mm_fallback"
        library.custom_op(name, by_loop, mutates_args=(), schema=schema)
        library.register_fake(name, shaped)
    return torch.ops.transformers.grouped_mm_fallback


def drawn(*sizes: Sequence[int]) -> list[Any]:
    return [torch.randint(-3, 4, size).to(torch.bfloat16) for size in sizes]


@pytest.mark.parametrize("kind", SIZES)
@pytest.mark.parametrize("is_exported", [False, True])
def test_kinds(kind: str, is_exported: bool) -> None:
    x, y = drawn(*SIZES[kind])
    length = 6 if kind == "rows" else 8

    class Model(torch.nn.Module):
        def forward(self, *given: Any) -> Any:
            return grouped(*given)

    if is_exported:
        fast: Any = relex.build(from_exported(torch.export.export(Model(), (x, y, ends(2, 2, length)))))["main"]
    else:
        fast = compiled_alone(grouped, fullgraph=True)
    for given in (ends(2, 2, length), ends(0, 5, length), ends(length, length, length)):
        found, wanted = fast(x, y, given), grouped(x, y, given)
        # All sums are small integers.
        np.testing.assert_array_equal(np.asarray(found if is_exported else found.float(), np.float32), wanted.float())


def test_experts_of_dynamic_sizes() -> None:
    products = fallback()

    class Experts(torch.nn.Module):
        def forward(self, x: Any, y: Any, ends: Any) -> Any:
            return products(x, y, ends)

    given = (torch.randn(7, 8), torch.randn(3, 8, 5), ends(2, 2, 6))
    rows, groups = torch.export.Dim("rows"), torch.export.Dim("groups")
    program = torch.export.export(Experts(), given, dynamic_shapes=({0: rows}, {0: groups}, {0: groups}))
    main, fast = relex.build(from_exported(program))["main"], compiled_alone(products, fullgraph=True)
    for x, y, last in (given, (torch.randn(9, 8), torch.randn(4, 8, 5), ends(0, 4, 4, 9))):
        expected = by_loop(x, y, last)
        np.testing.assert_allclose(main(x, y, last), expected, 1e-5, 1e-6)
        torch.testing.assert_close(fast(x, y, last), expected)
    for wrong in (ends(2, 2, 8), ends(-1, 2, 3), ends(3, 2, 6)):
        with pytest.raises(RelexError, match="expected ascending ends of groups"):
            main(*given[:2], wrong)
