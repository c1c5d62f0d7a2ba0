"""Tensors whose elements are not in their memory as they are, in calls of programs: torch itself passes them on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import relex
from relex.dialects.errors import DTypeError

torch: Any = pytest.importorskip("torch", reason="PyTorch is not installed; make torch installs it")

PROGRAM = """
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = relex.add %x, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return %y : tensor<4xf32>
}
func.func @change(%x: tensor<4xf32> {relex.inout = 0 : i64}) -> tensor<4xf32> {
  %y = relex.add %x, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return %y : tensor<4xf32>
}
"""


def resized(size: int) -> Any:
    x = torch.ones(4)
    x.untyped_storage().resize_(size)
    return x


TENSORS: dict[str, tuple[Callable[[], Any], str]] = {
    "negated": (lambda: torch._neg_view(torch.ones(4)), "negates its elements"),
    "imaginary part": (lambda: torch.ones(4, dtype=torch.complex64).conj().imag, "negates its elements"),
    "zeros without memory": (lambda: torch._efficientzerotensor((4,)), "too small"),
    "shrunk": (lambda: resized(8), r"too small for all elements of shape \(4,\)"),
    "empty": (lambda: resized(0), "too small"),
}


@pytest.mark.parametrize("name", ["main", "change"])
@pytest.mark.parametrize("kind", TENSORS)
def test_elements_that_are_not_in_memory(kind: str, name: str) -> None:
    function = relex.build(PROGRAM)[name]
    make, message = TENSORS[kind]
    with pytest.raises(DTypeError, match=message):
        function(make())
    good = torch.arange(4.0)
    function(good)  # A later call may take another way.
    with pytest.raises(DTypeError, match=message):
        function(make())


def test_tensors_whose_elements_are_in_memory() -> None:
    function = relex.build(PROGRAM)["main"]
    for x in (torch.arange(4.0), torch.arange(8.0)[1::2], torch.ones(1).expand(4), torch._neg_view(-torch.ones(4)) + 1):
        assert function(x).tolist() == (x + x).tolist()
