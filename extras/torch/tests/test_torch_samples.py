"""A few of PyTorch's own samples of its operators; `make torch-samples` tries more."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from relex.frontend import op

torch: Any = pytest.importorskip("torch", reason="PyTorch is not installed; make torch installs it")
pytest.importorskip("expecttest", reason="make torch installs it")
pytestmark = [
    pytest.mark.usefixtures("fresh"),
    pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning", "ignore::UserWarning"),
]

Rule = Callable[..., Any]
"""A rule of the importer."""

EVERY = 40
"""The entries of which one sample each is tried."""


def test_a_few_samples() -> None:
    from op_samples import draws, entries, tried

    infos = entries()
    findings = [tried(infos[name], draw) for name in [*infos][::EVERY] for draw in draws(name, infos[name], 1, 0)]
    assert not [finding for finding in findings if finding.verdict == "wrong"]
    assert sum(finding.verdict == "right" for finding in findings) > len(findings) / 3


def test_the_page_has_each_entry_once() -> None:
    from op_samples import DRAWN, draws, entries
    from torch_samples import PAGE

    text = PAGE.read_text(encoding="utf-8")
    listed: list[str] = re.findall(r"^\| `([\w.-]+)` \| \d+ of \d+ \|", text, re.MULTILINE)
    lists = text.partition("## Not imported")[2].partition("## What PyTorch leaves open")[0]
    listed += re.findall(r"`([\w.-]+)`", " ".join(re.findall(r"\|([^|]*) \|$", lists, re.MULTILINE)))
    assert sorted(listed) == sorted(name for name, info in entries().items() if draws(name, info, DRAWN, 0))


def _swapped(subtract: Rule, node: Any, x: Any, y: Any, *more: Any) -> Any:
    return subtract(node, y, x, *more)


def _without_nan(maximum: Rule, node: Any, x: Any, y: Any) -> Any:
    return op.where(op.greater(x, y), x, y)


def _first_axis(cumsum: Rule, node: Any, x: Any, axis: int, *more: Any) -> Any:
    return cumsum(node, x, 0, *more)


def _without_keepdim(total: Rule, node: Any, x: Any, axes: Any = None, keepdim: bool = False, *more: Any) -> Any:
    return total(node, x, axes, False, *more)


def _by_tanh(gelu: Rule, node: Any, x: Any, approximate: str) -> Any:
    return gelu(node, x, "tanh")


def _of_samples(variance: Rule, node: Any, x: Any, axes: Any = None, correction: Any = None, *more: Any) -> Any:
    return variance(node, x, axes, 0 if correction is None else correction, *more)


def _as_the_first(equal: Rule, node: Any, x: Any, y: Any) -> Any:
    first = node.element_type(x)
    return op.equal(node.typed(x, first), node.typed(y, first))


def _without_dtype(total: Rule, node: Any, x: Any, axes: Any = None, keepdim: bool = False, *more: Any) -> Any:
    return op.astype(op.sum(x, node.dimensions(axes, x), keepdim), node.result_type)


def _off_by_one(pad: Rule, node: Any, x: Any, widths: Any, *more: Any) -> Any:
    before, after, *others = widths
    return pad(node, x, [before + 1, after - 1, *others], *more)


MISTAKES: dict[str, tuple[str, str, Callable[..., Any]]] = {
    "wrong axis": ("cumsum", "aten.cumsum", _first_axis),
    "dropped attribute": ("sum", "aten.sum", _without_keepdim),
    "near relative": ("nn.functional.gelu", "aten.gelu", _by_tanh),
    "wrong default": ("var", "aten.var.correction", _of_samples),
    "wrong promotion": ("eq", "aten.eq", _as_the_first),
    "swapped operands": ("sub", "aten.sub", _swapped),
    "ignored dtype": ("sum", "aten.sum", _without_dtype),
    "NaN lost": ("maximum", "aten.maximum", _without_nan),
    "off-by-one padding": ("constant_pad_nd", "aten.constant_pad_nd", _off_by_one),
}
"""The entry, the rule and what is made of it."""


def is_found(entry: str) -> bool:
    """Return whether one of the draws of an entry that `make torch-samples` tries is wrong."""
    from op_samples import DRAWN, draws, entries, tried

    info = entries()[entry]
    return any(tried(info, draw).verdict == "wrong" for draw in draws(entry, info, DRAWN, 0))


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes_are_found(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from relex.frontend.torch import operators
    from relex.frontend.torch.import_table import IMPORTS

    assert operators  # Its modules make the entries of the table.
    entry, rule, mistaken = MISTAKES[name]
    wrong, find = partial(mistaken, IMPORTS[rule]), IMPORTS.get

    def get(key: str) -> Any:
        return wrong if key == rule else find(key)

    monkeypatch.setattr(IMPORTS, "get", get)
    assert is_found(entry)


@pytest.mark.parametrize("entry", ["t", "chunk"])
def test_views_as_copies_are_found(entry: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from relex.frontend.torch import dynamo
    from relex.frontend.torch.views import View

    def copies(results: Any, names: Any, bases: Any) -> list[View]:
        return [View(result, ()) for result in results]

    monkeypatch.setattr(dynamo, "views_of", copies)
    assert is_found(entry)
