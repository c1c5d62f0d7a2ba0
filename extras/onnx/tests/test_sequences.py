"""Sequences and optional values as inputs and results of models, and between branches of the program."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from models import FLOAT, node, value
from onnx import ModelProto, TensorProto, helper

from relex.dialects.errors import CompileError
from relex.frontend.onnx import from_onnx
from relex.reference import interpret

ONE, TWO = np.array([1, 2, 3], np.float32), np.array([4, 5], np.float32)
ROW = helper.make_tensor_type_proto(FLOAT, ["n"])
ROWS = helper.make_sequence_type_proto(ROW)


def of(nodes: list[Any], inputs: list[Any], outputs: list[Any]) -> ModelProto:
    return helper.make_model(helper.make_graph(nodes, "net", inputs, outputs), ir_version=10)


def reversed_pair() -> ModelProto:
    """A model whose result has the first two elements of a sequence, the second one first, and the sum of both."""
    nodes = [
        helper.make_node("Constant", [], ["zero"], value_int=0),
        helper.make_node("Constant", [], ["one"], value_int=1),
        helper.make_node("SequenceAt", ["s", "zero"], ["a"]),
        helper.make_node("SequenceAt", ["s", "one"], ["b"]),
        helper.make_node("SequenceConstruct", ["b", "a"], ["r"]),
        helper.make_node("ConcatFromSequence", ["r"], ["c"], axis=0),
        node("SequenceLength", "s", "count"),
    ]
    inputs = [helper.make_value_info("s", ROWS)]
    outputs = [helper.make_value_info("r", ROWS), value("c", FLOAT, ["m"]), value("count", TensorProto.INT64, [])]
    return of(nodes, inputs, outputs)


@pytest.mark.parametrize("shapes", [{"s": 2}, {"s": [(3,), (2,)]}, {"s": [(None,), (2,)]}])
def test_an_argument_and_a_result_for_each_element(shapes: Any) -> None:
    """Sizes of elements differ, though the model has one name for them."""
    module = from_onnx(reversed_pair(), shapes=shapes)
    assert [f'relex.name = "s_{i}"' in str(module) for i in range(3)] == [True, True, False]
    b, a, both, count = interpret(module)["main"](ONE, TWO)
    for found, wanted in ((b, TWO), (a, ONE), (both, np.concatenate([TWO, ONE])), (count, np.array(2))):
        np.testing.assert_array_equal(found, wanted, strict=True)


def test_elements_that_are_given_at_import() -> None:
    both: Any = interpret(from_onnx(reversed_pair(), values={"s": [ONE, TWO]}))["main"]()[2]
    np.testing.assert_array_equal(both, np.concatenate([TWO, ONE]), strict=True)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({}, "input: expected a number of elements, found none; 'shapes' gives one, or a shape for each element"),
        ({"shapes": {"s": [(3, 1), (2,)]}}, r"expected a shape like \(s_0_d0\) in 'shapes', found \(3, 1\)"),
        ({"shapes": {"s": (3, 2)}}, r"expected a shape for each element in 'shapes', found \(3, 2\)"),
        ({"shapes": {"s": "n"}}, "expected a shape for each element in 'shapes', found n"),
        ({"shapes": {"s": -1}}, "expected 0 to 1000 elements, found -1"),
        ({"values": {"s": None}}, "expected a list of arrays in 'values', found NoneType"),
        ({"values": {"s": [ONE, None]}}, "expected elements of float32 in 'values', found object"),
        ({"shapes": {"s": 1}}, "expected a position in a sequence of 1, found 1"),
    ],
)
def test_what_is_refused(given: Any, message: str) -> None:
    with pytest.raises(CompileError, match=message):
        from_onnx(reversed_pair(), **given)


def maybe() -> ModelProto:
    """A model of an optional value, whose results are the value, and whether there is one."""
    inputs = [helper.make_value_info("x", helper.make_optional_type_proto(ROW))]
    outputs = [helper.make_value_info("y", inputs[0].type), value("has", TensorProto.BOOL, [])]
    return of([node("Identity", "x", "y"), node("OptionalHasElement", "x", "has")], inputs, outputs)


def test_values_that_are_there_or_not() -> None:
    """A result that is not there is left out."""
    y, has = interpret(from_onnx(maybe()))["main"](ONE)
    np.testing.assert_array_equal(y, ONE, strict=True)
    assert has
    absent: Any = interpret(from_onnx(maybe(), values={"x": None}))["main"]()
    np.testing.assert_array_equal(absent, np.array(False), strict=True)


def test_no_result_at_all() -> None:
    model = maybe()
    del model.graph.output[1], model.graph.node[1]
    with pytest.raises(CompileError, match="expected results, found only empty sequences and values that are absent"):
        from_onnx(model, values={"x": None})


def choice(*elements: str) -> ModelProto:
    """A model of a condition between the sequence of `a` and `b`, and a sequence of some of both."""
    kind = helper.make_value_info("r", ROWS)
    branches: dict[str, Any] = {
        name: helper.make_graph([helper.make_node("SequenceConstruct", list(given), ["r"])], name, [], [kind])
        for name, given in (("then_branch", ("a", "b")), ("else_branch", elements))
    }
    inputs = [value("holds", TensorProto.BOOL, []), value("a", FLOAT, ["n"]), value("b", FLOAT, ["n"])]
    nodes = [
        helper.make_node("If", ["holds"], ["s"], **branches),
        helper.make_node("ConcatFromSequence", ["s"], ["y"], axis=0),
    ]
    return of(nodes, inputs, [value("y", FLOAT, ["m"])])


@pytest.mark.parametrize("holds", [False, True])
def test_branches_of_sequences(holds: bool) -> None:
    found: Any = interpret(from_onnx(choice("b", "a")))["main"](np.array(holds), ONE, 2 * ONE)
    np.testing.assert_array_equal(found, np.concatenate([ONE, 2 * ONE][:: 1 if holds else -1]), strict=True)


def test_branches_of_other_lengths() -> None:
    with pytest.raises(
        CompileError, match="between sequences of different lengths or optional values; 'values' freezes an input"
    ):
        from_onnx(choice("b"))
