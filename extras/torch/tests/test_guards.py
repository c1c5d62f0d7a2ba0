"""Conditions on sizes under which torch has exported a program."""

from __future__ import annotations

import io
from collections.abc import Sequence
from importlib import import_module
from typing import Any

import pytest

from relex.dialects.errors import CompileError, CompileWarning, ShapeError

torch: Any = pytest.importorskip("torch", reason="PyTorch is not installed; make torch installs it")
pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning", "ignore::UserWarning")


def check(model: Any, shapes: Any, examples: Sequence[Any], others: Sequence[Sequence[Any]]) -> str:
    """Export a model in two ways, save and load it, and compare which other arguments torch and relex take. Return the
    text of the module."""
    from relex.frontend.torch import from_exported
    from relex.runtime import build

    traced, exported = (
        torch.export.export(model, tuple(examples), dynamic_shapes=shapes, strict=strict) for strict in (True, False)
    )
    file = io.BytesIO()
    torch.export.save(exported, file)
    loaded = torch.export.load(io.BytesIO(file.getvalue()))
    mains = [build(from_exported(program))["main"] for program in (traced, exported, loaded)]
    expected, leaves = exported.module(), import_module("torch.utils._pytree").tree_leaves
    refused = 0
    for arguments in others:
        try:
            wanted = expected(*arguments)
        except AssertionError:
            refused += 1
            for main in mains:
                with pytest.raises(ShapeError, match=r"main\(\) expected"):
                    main(*leaves(arguments))
        else:
            for main in mains:
                torch.testing.assert_close(torch.from_numpy(main(*leaves(arguments))), wanted)
    assert 0 < refused < len(others)
    return str(from_exported(exported))


def ones(*sizes: int) -> list[Any]:
    return [torch.ones(size) for size in sizes]


class Doubled(torch.nn.Module):
    def forward(self, x: Any) -> Any:
        return x * 2


class Checked(torch.nn.Module):
    def forward(self, x: Any) -> Any:
        torch._check(x.shape[0] * 2 > 9)
        torch._check(x.shape[0] != 7)
        assert x.shape[0] % 3 != 2
        return x * 2


class Nested(torch.nn.Module):
    def forward(self, xs: Any, more: Any) -> Any:
        torch._check(xs[0].shape[0] > xs[1].shape[0] + 1)
        torch._check(more["Key"].shape[0] % 3 == 0)
        return xs[0].sum() + xs[1].sum() + more["Key"]


class Chosen(torch.nn.Module):
    def forward(self, x: Any, y: Any) -> Any:
        if x.shape[0] > y.shape[0] or y.shape[0] == 12:
            return y - 1
        return x[: y.shape[0] // 2] + 1


AUTO: Any = torch.export.Dim.AUTO


def test_bounds_of_dimensions() -> None:
    text = check(Doubled(), {"x": {0: torch.export.Dim("n", min=3, max=9)}}, ones(7), [ones(n) for n in (2, 3, 9, 10)])
    assert 'relex.requires = ["3 <= n", "n <= 9"]' in text


def test_conditions_that_a_model_checks() -> None:
    check(Checked(), {"x": {0: AUTO}}, ones(6), [ones(n) for n in (1, 4, 5, 6, 7, 8, 9)])


def test_inputs_in_lists_and_dictionaries() -> None:
    def arguments(*sizes: int) -> list[Any]:
        x, y, z = ones(*sizes)
        return [[x, y], {"Key": z}]

    shapes = {"xs": [{0: AUTO}, {0: AUTO}], "more": {"Key": {0: AUTO}}}
    check(Nested(), shapes, arguments(7, 3, 6), [arguments(*n) for n in ((7, 3, 6), (7, 6, 6), (9, 2, 4), (9, 2, 12))])


def test_conditions_of_the_branch_that_was_taken() -> None:
    sizes = [(5, 6), (5, 9), (6, 5), (5, 4), (5, 12), (3, 2)]
    check(Chosen(), {"x": {0: AUTO}, "y": {0: AUTO}}, ones(5, 8), [ones(*n) for n in sizes])


def test_sizes_that_are_given() -> None:
    from relex.frontend.torch import from_exported

    exported = torch.export.export(Checked(), tuple(ones(6)), dynamic_shapes={"x": {0: AUTO}})
    (name,) = (str(symbol) for symbol in exported.range_constraints)
    assert "relex.requires" not in str(from_exported(exported, shapes={name: 6}))
    with pytest.raises(CompileError, match="the sizes: expected"):
        from_exported(exported, shapes={name: 7})


def test_conditions_that_are_not_of_sizes() -> None:
    from relex.frontend.torch import from_exported

    exported = torch.export.export(Doubled(), tuple(ones(6)), dynamic_shapes={"x": {0: AUTO}})
    exported._guards_code = ["L['x'].stride()[0] == 1"]
    with pytest.warns(CompileWarning, match=r"calls do not check that L\['x'\].stride\(\)\[0\] == 1"):
        from_exported(exported)
