"""`--verify-roundtrip` reads again what has changed, and sees what is lost wherever it is."""

from __future__ import annotations

from typing import Any

import pytest
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, ModuleOp, UnitAttr
from xdsl.dialects.func import FuncOp

from relex.dialects import CompileError, parse_module
from relex.dialects.context import make_context
from relex.lowering import LegalizeOpsPass
from relex.tools.opt import verify_roundtrip
from relex.tools.opt.verify_roundtrip import VerifyRoundtrip

TEXT = """
func.func @first(%x: tensor<2xf32>) -> tensor<2xf32> {
  func.return %x : tensor<2xf32>
}
func.func @second(%y: tensor<2xf32>) -> tensor<2xf32> {
  %0 = relex.add %y, %y : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  func.return %0 : tensor<2xf32>
}
"""


def functions(module: ModuleOp) -> list[FuncOp]:
    return [op for op in module.ops if isinstance(op, FuncOp)]


class Readings:
    """A program, and the texts that are parsed as passes change it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, text: str = TEXT):
        self.texts: list[str] = []
        self.module = parse_module(text)
        self._check = VerifyRoundtrip(make_context())
        monkeypatch.setattr(verify_roundtrip, "parse_module", self._parse)
        self._check.start(self.module)

    def _parse(self, text: str, *arguments: Any, **options: Any) -> ModuleOp:
        self.texts.append(text)
        return parse_module(text, *arguments, **options)

    def after_a_pass(self) -> list[str]:
        """The texts that are read now."""
        self.texts.clear()
        self._check.after(LegalizeOpsPass(), self.module)
        return self.texts


def test_functions_that_stay_are_not_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    readings = Readings(monkeypatch)
    first, second = functions(readings.module)
    assert readings.after_a_pass() == []
    for changed, stays in ((second, "@first"), (first, "@second")):
        changed.attributes["a"] = UnitAttr()
        [text] = readings.after_a_pass()
        assert changed.sym_name.data in text
        assert stays not in text
    first.detach()
    readings.module.body.block.add_op(first)
    readings.module.attributes["b"] = UnitAttr()
    [text] = readings.after_a_pass()
    assert "func.func" not in text
    assert "b" in text
    assert readings.after_a_pass() == []


@pytest.mark.parametrize("name", ["first", "second"])
def test_what_is_lost_is_seen(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Attributes without anything in them are not printed."""
    readings = Readings(monkeypatch)
    function = next(f for f in functions(readings.module) if f.sym_name.data == name)
    functions(readings.module)[0].attributes["a"] = UnitAttr()
    readings.after_a_pass()
    function.arg_attrs = ArrayAttr([DictionaryAttr({})])
    with pytest.raises(CompileError, match="found property 'arg_attrs' as nothing"):
        readings.after_a_pass()


def test_values_outside_of_functions_are_read_with_all(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "%0 = relex.constant dense<1.0> : tensor<2xf32>\n%1 = relex.exp %0 : (tensor<2xf32>) -> tensor<2xf32>"
    readings = Readings(monkeypatch, text)
    constant = next(iter(readings.module.ops))
    constant.attributes["a"] = UnitAttr()
    [text] = readings.after_a_pass()
    assert "relex.exp" in text
