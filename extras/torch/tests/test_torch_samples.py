"""A few of PyTorch's own samples of its operators; `make torch-samples` tries more."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

torch: Any = pytest.importorskip("torch", reason="PyTorch is not installed; make torch installs it")
pytest.importorskip("expecttest", reason="make torch installs it")
pytestmark = [
    pytest.mark.usefixtures("fresh"),
    pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning", "ignore::UserWarning"),
]

EVERY = 20
"""The entries of which one sample each is tried."""


def test_a_few_samples() -> None:
    from op_samples import draws, entries, tried

    infos = entries()
    findings = [tried(infos[name], draw) for name in [*infos][::EVERY] for draw in draws(name, infos[name], 1, 0)]
    assert not [finding for finding in findings if finding.verdict == "wrong"]
    assert sum(finding.verdict == "right" for finding in findings) > len(findings) / 3


def _swapped(subtract: Callable[..., Any], node: Any, x: Any, y: Any, *more: Any) -> Any:
    return subtract(node, y, x, *more)


def _without_nan(maximum: Callable[..., Any], node: Any, x: Any, y: Any) -> Any:
    from relex.frontend import op

    return op.where(op.greater(x, y), x, y)


def _first_axis(cumsum: Callable[..., Any], node: Any, x: Any, axis: int, *more: Any) -> Any:
    return cumsum(node, x, 0, *more)


MISTAKES: dict[str, tuple[str, Callable[..., Any]]] = {
    "sub": ("aten.sub", _swapped),
    "maximum": ("aten.maximum", _without_nan),
    "cumsum": ("aten.cumsum", _first_axis),
}


@pytest.mark.parametrize("entry", MISTAKES)
def test_mistakes_are_found(entry: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from op_samples import draws, entries, tried

    from relex.frontend.torch.table import IMPORTS

    name, mistaken = MISTAKES[entry]
    wrong, find = partial(mistaken, IMPORTS[name]), IMPORTS.get

    def get(key: str) -> Any:
        return wrong if key == name else find(key)

    monkeypatch.setattr(IMPORTS, "get", get)
    info = entries()[entry]
    assert "wrong" in [tried(info, draw).verdict for draw in draws(entry, info, 3, 0)]
