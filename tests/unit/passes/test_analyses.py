"""Analyses are computed once, and again after whatever they may have read has changed."""

from __future__ import annotations

import inspect
from collections.abc import Callable

import pytest
from xdsl.dialects.builtin import FloatAttr, ModuleOp, StringAttr, TensorType, f32, f64
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation
from xdsl.rewriter import InsertPoint, Rewriter

from relex.dialects import parse_module
from relex.dialects.relex import AddOp, ClipOp, NegativeOp
from relex.passes.analysis import analysis, keeping

PROGRAM = """
func.func @main(%x: tensor<2xf32>, %y: tensor<2xf32>) -> tensor<2xf32> {
  %z = relex.dataflow -> tensor<2xf32> {
    %0 = relex.add %x, %y : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
    %1 = relex.clip %0 min = 1.0 : f32 : (tensor<2xf32>) -> tensor<2xf32>
    relex.output %1 : tensor<2xf32>
  }
  func.return %z : tensor<2xf32>
}
func.func @other(%x: tensor<2xf32>) -> tensor<2xf32> {
  func.return %x : tensor<2xf32>
}
"""


@pytest.fixture
def module() -> ModuleOp:
    return parse_module(PROGRAM)


def find(module: ModuleOp, kind: type[Operation]) -> Operation:
    return next(op for op in module.walk() if isinstance(op, kind))


class Counted:
    """An analysis that counts how often it is computed."""

    def __init__(self) -> None:
        self.computed = 0
        self.ask = analysis(self.compute)

    def compute(self, op: Operation) -> int:
        self.computed += 1
        return sum(1 for _ in op.walk())


def replace_operand(module: ModuleOp) -> None:
    add = find(module, AddOp)
    add.operands[0] = add.operands[1]


def set_property(module: ModuleOp) -> None:
    find(module, ClipOp).properties["min"] = FloatAttr(2.0, f32)


def set_attribute(module: ModuleOp) -> None:
    find(module, AddOp).attributes["note"] = StringAttr("new")


def insert_op(module: ModuleOp) -> None:
    add = find(module, AddOp)
    Rewriter.insert_op(NegativeOp(add), InsertPoint.after(add))


def move_op(module: ModuleOp) -> None:
    dataflow = find(module, AddOp).parent_op()
    assert dataflow is not None
    add = find(module, AddOp)
    add.detach()
    Rewriter.insert_op(add, InsertPoint.before(dataflow))


def change_type(module: ModuleOp) -> None:
    Rewriter.replace_value_with_new_type(find(module, ClipOp).results[0], TensorType(f64, [2]))


def change_argument(module: ModuleOp) -> None:
    function = find(module, FuncOp)
    Rewriter.replace_value_with_new_type(function.regions[0].block.args[0], TensorType(f64, [2]))


def swap_ops(module: ModuleOp) -> None:
    add = find(module, AddOp)
    Rewriter.insert_op(copy := AddOp(*add.operands), InsertPoint.before(add))
    copy.detach()
    Rewriter.insert_op(copy, InsertPoint.after(add))


CHANGES = [replace_operand, set_property, set_attribute, insert_op, move_op, change_type, change_argument, swap_ops]


@pytest.mark.parametrize("change", CHANGES)
def test_what_has_changed_is_computed_again(change: Callable[[ModuleOp], None], module: ModuleOp) -> None:
    counted = Counted()
    main, other = module.ops
    for function in (main, main, other, other, module, module):
        counted.ask(function)
    assert counted.computed == 3
    change(module)
    assert counted.ask(main) == sum(1 for _ in main.walk())
    assert counted.computed == 4
    counted.ask(other)
    assert counted.computed == 4
    counted.ask(module)
    assert counted.computed == 5


def test_names_and_copies(module: ModuleOp) -> None:
    main = find(module, FuncOp)
    counted = Counted()
    counted.ask(main)
    find(module, AddOp).results[0].name_hint = "sum"
    counted.ask(main)
    assert counted.computed == 1
    counted.ask(main.clone())
    assert counted.computed == 2


def test_keeping(module: ModuleOp) -> None:
    kept, lost = Counted(), Counted()
    main, other = module.ops
    for counted in (kept, lost):
        counted.ask(main)
    with keeping(module, kept.ask):
        set_attribute(module)
    assert kept.ask(main) == sum(1 for _ in main.walk())
    assert kept.computed == 1
    lost.ask(main)
    assert lost.computed == 2
    kept.ask(other)
    assert kept.computed == 2
    set_property(module)
    kept.ask(main)
    assert kept.computed == 3


def test_nothing_is_kept_after_an_exception(module: ModuleOp) -> None:
    counted = Counted()
    main = find(module, FuncOp)
    counted.ask(main)

    def stop() -> None:
        with keeping(module, counted.ask):
            set_attribute(module)
            raise ValueError("stop")

    with pytest.raises(ValueError, match="stop"):
        stop()
    counted.ask(main)
    assert counted.computed == 2


def test_an_analysis_is_the_function_it_is_made_of() -> None:
    @analysis
    def ops(op: Operation) -> int:
        """Count ops."""
        return sum(1 for _ in op.walk())

    assert inspect.getdoc(ops) == "Count ops."
    assert inspect.unwrap(ops).__name__ == "ops"
