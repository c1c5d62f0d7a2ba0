"""Sizes that programs multiply again and again: refused before they take long."""

from __future__ import annotations

import pytest

import relex
from relex.dialects.errors import CompileError, RangeError
from relex.dialects.sizes import IndexExpr, named


def squares(times: int) -> str:
    """A program of outer products of a tensor with itself, as one row each."""
    lines: list[str] = []
    for i in range(times):
        x, y = f"%x{i}" if i else "%x", f"%x{i + 1}"
        lines += [
            f"%a{i} = relex.expand_dims {x} axis = [1] : (tensor<?xf32>) -> tensor<?x1xf32>",
            f"%b{i} = relex.expand_dims {x} axis = [0] : (tensor<?xf32>) -> tensor<1x?xf32>",
            f"%c{i} = relex.multiply %a{i}, %b{i} : (tensor<?x1xf32>, tensor<1x?xf32>) -> tensor<?x?xf32>",
            f"{y} = relex.reshape %c{i} shape = [-1] : (tensor<?x?xf32>) -> tensor<?xf32>",
        ]
    body = "\n".join(lines)
    return f"func.func @main(%x: tensor<?xf32>) -> tensor<?xf32> {{\n{body}\nfunc.return %x{times} : tensor<?xf32>\n}}"


def test_programs_that_square_a_size():
    assert relex.build(squares(2))["main"].signature.outputs[0].shape is not None
    with pytest.raises(CompileError, match="expected a product of at most 64 sizes, found one of"):
        relex.build(squares(40))


def test_products_of_long_sums():
    total = sum((named(f"n{i}") for i in range(100)), start=0)
    assert isinstance(total, IndexExpr)
    with pytest.raises(RangeError, match="at most 4096 terms"):
        _ = total * total
