"""Random models of one node of each operator, against the package onnx: some of what `make onnx-schemas` draws."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterable
from functools import partial, reduce
from typing import Any

import numpy as np
import pytest
from schema_draws import Draw, NotDrawn, Operator, operators
from schema_judges import compared
from schema_rules import RULES
from schemas import MORE, PAGE, RUNS, SOME, WRONG, Finding, tried

from relex.frontend import op
from relex.frontend.compositions import activations
from relex.frontend.importing.values import Known
from relex.frontend.onnx import operators as imported
from relex.frontend.onnx.import_table import IMPORTS

Rule = Callable[..., Any]
"""A rule of the importer."""

PARTS = 4

# It decides where the reference of the package onnx is wrong.
pytest.importorskip("onnxruntime")


def wrong(operator: Operator, numbers: Iterable[int], run: str) -> list[Finding]:
    with warnings.catch_warnings(action="ignore"):
        found = [tried(operator, number, RUNS[run]) for number in numbers]
    return [finding for finding in found if finding.verdict in WRONG]


def newest() -> Iterable[Operator]:
    """Each operator, in its newest version."""
    return {(operator.domain, operator.name): operator for operator in operators()}.values()


@pytest.mark.parametrize("part", range(PARTS))
def test_interpreted(part: int) -> None:
    """The first draws of each operator, of ordinary numbers, special ones, and dynamic sizes; of older versions special
    numbers or dynamic sizes, in turns."""
    new = set(newest())
    numbers = {operator: range(3) if operator in new else [1 + place % 2] for place, operator in enumerate(operators())}
    assert not [w for operator in list(numbers)[part::PARTS] for w in wrong(operator, numbers[operator], "interpreted")]


@pytest.mark.parametrize("part", range(2))
def test_compiled(part: int, some: Callable[[Iterable[Operator], int], list[Operator]]) -> None:
    """A draw of some operators, in their newest version."""
    assert not [w for operator in some(newest(), 5)[part::2] for w in wrong(operator, [3], "native")]


def test_each_import_is_drawn() -> None:
    """Each operator that has an import, and is the standard's, is drawn, or there is a reason why not."""
    assert imported
    names = {(operator.domain, operator.name) for operator in operators()}
    missing = {(domain, name) for domain, name, _ in IMPORTS} - names
    # Operators of ONNX Runtime have no schema in the package onnx, also one that it writes as if it were the
    # standard's; Scatter and Upsample are deprecated.
    without = {"Scatter", "SimplifiedLayerNormalization", "Upsample"}
    assert {name for domain, name in missing if domain != "com.microsoft"} <= without


def test_a_draw_is_a_function_of_its_number() -> None:
    for operator in (Operator("", "Conv", 11), Operator("", "Slice", 13), Operator("", "Where", 16)):
        one, same = (Draw(operator, 3, RULES) for _ in range(2))
        assert (one.text, one.model) == (same.text, same.model)
        for feed, again in zip(one.feeds, same.feeds, strict=True):
            for name, array in feed.items():
                np.testing.assert_array_equal(array, again[name])
        assert one.text != Draw(operator, 4, RULES).text


def test_what_differs_is_seen() -> None:
    drawn = (Draw(Operator("", "Add", 14), number, RULES) for number in range(20))
    draw = next(draw for draw in drawn if draw.dtype("A") == np.float32)
    ones = np.ones((2, 2), np.float32)
    for other in (ones * 1.001, ones.astype(np.float64), ones[:1], ones * np.nan):
        assert compared(draw, [[ones]] * len(draw.feeds), [[other]] * len(draw.feeds))
    assert not compared(draw, [[ones]] * len(draw.feeds), [[ones * np.float32(1 + 1e-7)]] * len(draw.feeds))


def _first_axis(rule: Rule, node: Any, x: Any, axis: Any) -> Any:
    return rule(node, x, Known(np.array(0)))


def _first_of_equal(rule: Rule, node: Any, x: Any) -> Any:
    return op.argmax(x, node.integer("axis"), node.flag("keepdims"))


def _by_tanh(rule: Rule, node: Any, x: Any) -> Any:
    return activations.gelu_by_tanh(x)


def _steeper(rule: Rule, node: Any, x: Any) -> Any:
    slope = node.number("alpha")
    return op.where(op.less(x, 0.0), op.multiply(x, 0.2 if np.isclose(slope, 0.01) else slope), x)


def _as_the_second(rule: Rule, node: Any, x: Any, y: Any) -> Any:
    return op.power(op.astype(x, node.element_type(y)), y)


def _swapped(rule: Rule, node: Any, x: Any, y: Any) -> Any:
    return rule(node, y, x)


def _without_type(rule: Rule, node: Any, x: Any) -> Any:
    return x


def _without_nan(rule: Rule, node: Any, x: Any, *others: Any) -> Any:
    return reduce(lambda y, z: op.where(op.greater(y, z), y, z), others, x)


def _off_by_one(rule: Rule, node: Any, x: Any, pads: Any = None, *more: Any) -> Any:
    if pads is None:
        return rule(node, x)
    before, after = np.split(pads.array, 2)
    return rule(node, x, Known(np.concatenate([before + 1, after - 1])), *more)


MISTAKES: dict[str, tuple[str, int, Callable[..., Any]]] = {
    "wrong axis": ("CumSum", 1, _first_axis),
    "dropped attribute": ("ArgMax", 1, _first_of_equal),
    "near relative": ("Gelu", 1, _by_tanh),
    "wrong default": ("LeakyRelu", 1, _steeper),
    "wrong promotion": ("Pow", 1, _as_the_second),
    "swapped operands": ("Sub", 1, _swapped),
    "ignored dtype": ("Cast", 1, _without_type),
    "NaN lost": ("Max", 1, _without_nan),
    "off-by-one padding": ("Pad", 1, _off_by_one),
}
"""The operator, the first version that its rule is for, and what is made of the rule."""


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes_are_found(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    operator, since, mistaken = MISTAKES[name]
    monkeypatch.setitem(IMPORTS, ("", operator, since), partial(mistaken, IMPORTS["", operator, since]))
    versions = [found for found in operators() if (found.domain, found.name) == ("", operator)]
    tried = (
        (version, number) for version in versions for number in range(SOME + MORE * len(version.schema.attributes))
    )
    assert any(wrong(version, [number], "interpreted") for version, number in tried)


def test_page() -> None:
    """The page has each operator once, in the table or among those that are not drawn."""
    text = PAGE.read_text(encoding="utf-8")
    rows = re.findall(r"^\| ([\w.]+) \| (\d+) of (\d+) \|", text, re.MULTILINE)
    listed = [name for name, _, _ in rows]
    idle = text.partition("## Not drawn")[2].partition("\n## ")[0]
    lines = re.findall(r"^\| [^|-].* \| (.*) \|$", idle, re.MULTILINE)[1:]
    listed += [name for names in lines for name in names.split(", ")]
    assert sorted(listed) == sorted({str(operator).rpartition("-")[0] for operator in operators()})
    with pytest.raises(NotDrawn):
        Draw(Operator("", "Loop", 13), 0, RULES)
