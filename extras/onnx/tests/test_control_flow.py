"""Branches and loops that are decided at run time, against the reference implementation."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator

from relex.dialects import CompileError, RelexError
from relex.frontend.onnx import from_onnx
from relex.reference import interpret
from relex.runtime import build
from relex.runtime.sources import parse

FLOAT, INT64, BOOL = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL
Info = tuple[str, list[Any] | None, int]


def graph(name: str, nodes: list[Any], inputs: list[Info], outputs: list[Info], **weights: Any) -> onnx.GraphProto:
    def info(given: Info) -> onnx.ValueInfoProto:
        return helper.make_tensor_value_info(given[0], given[2], given[1])

    arrays = [onnx.numpy_helper.from_array(np.asarray(value), key) for key, value in weights.items()]
    return helper.make_graph(nodes, name, list(map(info, inputs)), list(map(info, outputs)), arrays)


def check(made: onnx.GraphProto, *feeds: dict[str, Any], rtol: float = 1e-4) -> str:
    """Compare a model with the reference implementation; return its program."""
    model = helper.make_model(made, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    program, reference = from_onnx(model), cast(Any, ReferenceEvaluator(model))
    for main in (interpret(program)["main"], build(program)["main"]):
        for feed in feeds:
            expected = reference.run(None, feed)
            found: Any = main(*(feed[i.name] for i in made.input))
            results = cast(Any, found if isinstance(found, tuple) else [found])
            for x, y in zip(results, expected, strict=True):
                np.testing.assert_allclose(x, y, rtol=rtol, atol=1e-5)
    return str(program)


def test_branch():
    def branch(name: str, operator: str) -> onnx.GraphProto:
        return graph(name, [helper.make_node(operator, ["x"], [f"{name}_y"])], [], [(f"{name}_y", ["n", 4], FLOAT)])

    nodes = [
        helper.make_node("Equal", ["rate", "k"], ["c"]),
        helper.make_node("If", ["c"], ["y"], then_branch=branch("a", "Relu"), else_branch=branch("b", "Neg")),
    ]
    made = graph("g", nodes, [("x", ["n", 4], FLOAT), ("rate", [], INT64)], [("y", ["n", 4], FLOAT)], k=np.int64(16000))
    x = np.linspace(-1, 1, 8, dtype=np.float32).reshape(2, 4)
    assert "scf.if" in check(made, *({"x": x, "rate": np.array(rate)} for rate in (16000, 8000)))


def doubling(condition: list[Any], *, outputs: int = 1) -> onnx.GraphProto:
    """A body that doubles what it carries; the result of the last of `condition` says whether it goes on."""
    nodes = [helper.make_node("Add", ["s", "s"], ["t"]), *condition, helper.make_node("Identity", ["t"], ["row"])]
    results: list[Info] = [("more", [], BOOL), ("t", ["n"], FLOAT), ("row", ["n"], FLOAT)]
    inputs: list[Info] = [("i", [], INT64), ("running", [], BOOL), ("s", ["n"], FLOAT)]
    return graph("body", nodes, inputs, results[: 1 + outputs], limit=np.float32(100))


SMALL = [
    helper.make_node("ReduceMax", ["t"], ["m"], keepdims=0),
    helper.make_node("Less", ["m", "limit"], ["more"]),
]
ALWAYS = [helper.make_node("Identity", ["running"], ["more"])]


@pytest.mark.parametrize("count", ["", "count"])
def test_loop_until_a_condition(count: str):
    node = helper.make_node("Loop", [count, "go", "x"], ["y"], body=doubling(SMALL))
    inputs: list[Info] = [("x", ["n"], FLOAT), ("go", [], BOOL), *([("count", [], INT64)] if count else [])]
    made = graph("g", [node], inputs, [("y", ["n"], FLOAT)])
    feeds = [
        {"x": np.array([1, first], np.float32), "go": np.array(go), **({"count": np.array(3)} if count else {})}
        for first in (2, 30, 300)
        for go in (True, False)
    ]
    assert "scf.while" in check(made, *feeds)


def test_loop_whose_condition_only_its_body_finds():
    node = helper.make_node("Loop", ["most", "go", "x"], ["y"], body=doubling(SMALL))
    made = graph("g", [node], [("x", ["n"], FLOAT)], [("y", ["n"], FLOAT)], most=np.int64(5), go=np.array(True))
    assert "scf.while" in check(made, *({"x": np.array([1, first], np.float32)} for first in (2, 30)))


def test_loop_whose_first_condition_is_known():
    node = helper.make_node("Loop", ["", "go", "s0", "x"], ["s", "y"], body=doubling_while_small())
    made = graph("g", [node], [("x", ["n"], FLOAT)], [("s", [], FLOAT), ("y", ["n"], FLOAT)], s0=np.float32(0), go=True)
    assert "scf.while" in check(made, *({"x": np.array([1, first], np.float32)} for first in (2, 30, 300)))


def doubling_while_small() -> onnx.GraphProto:
    """A body that doubles what it carries, until the largest element of the trip before was too large."""
    nodes = [
        helper.make_node("Less", ["s", "limit"], ["more"]),
        helper.make_node("ReduceMax", ["x"], ["most"], keepdims=0),
        helper.make_node("Add", ["x", "x"], ["t"]),
    ]
    inputs: list[Info] = [("i", [], INT64), ("running", [], BOOL), ("s", [], FLOAT), ("x", ["n"], FLOAT)]
    results: list[Info] = [("more", [], BOOL), ("most", [], FLOAT), ("t", ["n"], FLOAT)]
    return graph("body", nodes, inputs, results, limit=np.float32(100))


@pytest.mark.parametrize(("count", "go"), [("length", False), ("count", False), ("none", True)])
def test_rows_of_a_loop_without_trips(count: str, go: bool):
    nodes = [
        helper.make_node("Shape", ["x"], ["shape"]),
        helper.make_node("Squeeze", ["shape"], ["length"]),
        helper.make_node("Loop", [count, "go", "x"], ["y", "rows"], body=doubling(ALWAYS, outputs=2)),
    ]
    inputs: list[Info] = [("x", ["n"], FLOAT), ("count", [], INT64)]
    results: list[Info] = [("y", ["n"], FLOAT), ("rows", ["m", "n"], FLOAT)]
    made = graph("g", nodes, inputs, results, go=np.array(go), none=np.int64(0))
    program = from_onnx(helper.make_model(made, opset_imports=[helper.make_opsetid("", 17)], ir_version=8))
    x = np.arange(3, dtype=np.float32)
    for main in (interpret(program)["main"], build(program)["main"]):
        y, rows = main(x, np.array(2))
        np.testing.assert_array_equal(y, x)
        assert rows.shape == (0, 3)


def test_refusals_say_what_helps():
    node = helper.make_node("Loop", ["count", "", "x"], ["y", "rows"], body=doubling(ALWAYS, outputs=2))
    inputs: list[Info] = [("x", ["n"], FLOAT), ("count", [], INT64)]
    rows = graph("g", [node], inputs, [("y", ["n"], FLOAT), ("rows", ["m", "n"], FLOAT)])
    with pytest.raises(CompileError, match="whose number is known at run time; 'values' freezes an input"):
        check(rows)
    body = doubling(ALWAYS)
    body.node[0].CopyFrom(helper.make_node("Concat", ["s", "s"], ["t"], axis=0))
    node = helper.make_node("Loop", ["count", "", "x"], ["y"], body=body)
    with pytest.raises(CompileError, match=r"changes what it carries, n to 2 \* n; pad it to the largest size"):
        check(graph("g", [node], inputs, [("y", ["m"], FLOAT)]))


def test_rows_of_a_loop_over_a_size():
    nodes = [
        helper.make_node("Shape", ["x"], ["shape"]),
        helper.make_node("Squeeze", ["shape"], ["length"]),
        helper.make_node("Loop", ["length", "go", "x"], ["y", "rows"], body=doubling(ALWAYS, outputs=2)),
    ]
    results: list[Info] = [("y", ["n"], FLOAT), ("rows", ["n", "n"], FLOAT)]
    made = graph("g", nodes, [("x", ["n"], FLOAT)], results, go=np.array(True))
    assert "scf.for" in check(made, *({"x": np.arange(n, dtype=np.float32)} for n in (1, 4)))


@pytest.mark.parametrize("direction", [0, 1])
@pytest.mark.parametrize("axis", [0, 1])
def test_scan_of_dynamic_length(direction: int, axis: int):
    nodes = [helper.make_node("Add", ["s", "part"], ["t"]), helper.make_node("Relu", ["t"], ["row"])]
    body = graph("body", nodes, [("s", [3], FLOAT), ("part", [3], FLOAT)], [("t", [3], FLOAT), ("row", [3], FLOAT)])
    node = helper.make_node(
        "Scan",
        ["first", "x"],
        ["last", "y"],
        body=body,
        num_scan_inputs=1,
        scan_input_directions=[direction],
        scan_input_axes=[axis],
        scan_output_directions=[direction],
        scan_output_axes=[axis],
    )
    shape: list[Any] = ["t", 3] if axis == 0 else [3, "t"]
    made = graph("g", [node], [("first", [3], FLOAT), ("x", shape, FLOAT)], [("last", [3], FLOAT), ("y", shape, FLOAT)])
    rng = np.random.default_rng(0)
    feeds = list[dict[str, Any]]()
    for t in (1, 5):
        x = rng.standard_normal((t, 3) if axis == 0 else (3, t)).astype(np.float32)
        feeds.append({"first": np.zeros(3, np.float32), "x": x})
    program = from_onnx(helper.make_model(made, opset_imports=[helper.make_opsetid("", 17)], ir_version=8))
    assert "scf.for" in str(program)
    for main in (interpret(program)["main"], build(program)["main"]):
        for feed in feeds:
            rows = feed["x"] if axis == 0 else feed["x"].T
            sums = np.cumsum(rows[::-1] if direction else rows, 0)
            y = np.maximum(sums[::-1] if direction else sums, 0)
            last, found = main(feed["first"], feed["x"])
            np.testing.assert_allclose(last, sums[-1], rtol=1e-5, atol=1e-6)
            np.testing.assert_allclose(found, y if axis == 0 else y.T, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("operator", ["LSTM", "GRU", "RNN"])
@pytest.mark.parametrize("direction", ["forward", "reverse", "bidirectional"])
@pytest.mark.parametrize("has_lengths", [False, True])
def test_recurrent_layers_of_dynamic_length(operator: str, direction: str, has_lengths: bool):
    gates, directions = {"LSTM": 4, "GRU": 3, "RNN": 1}[operator], 1 + (direction == "bidirectional")
    rng, size = np.random.default_rng(0), 4
    weights = {
        "W": rng.standard_normal((directions, gates * size, 3)).astype(np.float32),
        "R": rng.standard_normal((directions, gates * size, size)).astype(np.float32),
        "B": rng.standard_normal((directions, 2 * gates * size)).astype(np.float32),
    }

    def made(length: Any) -> onnx.ModelProto:
        inputs = ["x", "W", "R", "B", "lengths" if has_lengths else ""]
        node = helper.make_node(operator, inputs, ["y", "last"], hidden_size=size, direction=direction)
        infos: list[Info] = [("x", [length, 2, 3], FLOAT)]
        infos += [("lengths", [2], TensorProto.INT32)] if has_lengths else []
        results: list[Info] = [("y", [length, directions, 2, size], FLOAT), ("last", [directions, 2, size], FLOAT)]
        return helper.make_model(
            graph("g", [node], infos, results, **weights),
            opset_imports=[helper.make_opsetid("", 17)],
            ir_version=8,
        )

    opened = from_onnx(made("t"))
    assert "scf.for" in str(opened)
    functions = [interpret(opened)["main"], build(opened)["main"]]
    for length in (1, 6):
        x = rng.standard_normal((length, 2, 3)).astype(np.float32)
        given = [x, np.array([length, 1], np.int32)] if has_lengths else [x]
        expected = build(from_onnx(made(length)))["main"](*given)
        for main in functions:
            for found, wanted in zip(main(*given), expected, strict=True):
                np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5)


def squeezing(limit: str) -> onnx.GraphProto:
    """A graph whose `If` squeezes the last dimension of 1, as exports of `torch.squeeze` do, and a use of the result
    that needs `limit` of two or three dimensions."""
    nodes = [
        helper.make_node("Shape", ["x"], ["shape"]),
        helper.make_node("Gather", ["shape", "two"], ["last"]),
        helper.make_node("Equal", ["last", "one"], ["is_one"]),
        helper.make_node(
            "If",
            ["is_one"],
            ["s"],
            then_branch=graph("then", [helper.make_node("Squeeze", ["x", "axes"], ["t"])], [], [("t", None, FLOAT)]),
            else_branch=graph("else", [helper.make_node("Identity", ["x"], ["e"])], [], [("e", None, FLOAT)]),
        ),
        helper.make_node("Transpose", ["s"], ["y"], perm=[1, 0] if limit == "two" else [2, 0, 1]),
    ]
    axes = {"two": np.int64(2), "one": np.int64(1), "axes": np.array([2])}
    return graph("g", nodes, [("x", ["n", 3, "m"], FLOAT)], [("y", None, FLOAT)], **axes)


@pytest.mark.parametrize(("limit", "right", "wrong"), [("two", 1, 4), ("three", 4, 1)])
def test_branch_that_the_rest_of_the_model_needs(limit: str, right: int, wrong: int):
    model = helper.make_model(squeezing(limit), opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    program = from_onnx(model)
    x = np.arange(2 * 3 * right, dtype=np.float32).reshape(2, 3, right)
    (expected,) = cast(Any, ReferenceEvaluator(model)).run(None, {"x": x})
    for main in (interpret(program)["main"], build(program)["main"]):
        np.testing.assert_array_equal(main(x), expected)
        with pytest.raises(RelexError, match=r"expected shape \(n, 3, 1\)|second branch of 'If' node to be taken"):
            main(np.zeros((2, 3, wrong), np.float32))


def test_no_branch_that_the_rest_of_the_model_needs():
    made = squeezing("two")
    made.node[-1].CopyFrom(helper.make_node("Transpose", ["s"], ["y"], perm=[3, 2, 1, 0]))
    with pytest.raises(CompileError, match="'Transpose' node") as caught:
        check(made)
    assert len(caught.value.diagnostics) == 1


def test_branch_that_cannot_be_imported():
    """What is missing in a branch is reported, and nothing of the condition."""
    unknown = graph("then", [helper.make_node("Unknown", ["x"], ["t"])], [], [("t", ["n"], FLOAT)])
    other = graph("else", [helper.make_node("Identity", ["x"], ["e"])], [], [("e", ["n"], FLOAT)])
    node = helper.make_node("If", ["c"], ["y"], then_branch=unknown, else_branch=other)
    made = graph("g", [node], [("c", [], BOOL), ("x", ["n"], FLOAT)], [("y", ["n"], FLOAT)])
    with pytest.raises(CompileError) as caught:
        from_onnx(helper.make_model(made, opset_imports=[helper.make_opsetid("", 17)], ir_version=8))
    assert [d.message for d in caught.value.diagnostics] == ["'Unknown' node: no such operator in version 17"]


def test_build_fixes_sizes_and_inputs(tmp_path: Path):
    made = graph(
        "g",
        [helper.make_node("Add", ["x", "y"], ["z"])],
        [("x", ["n"], FLOAT), ("y", ["n"], FLOAT)],
        [("z", None, FLOAT)],
    )
    path = tmp_path / "model.onnx"
    cast(Any, onnx).save(helper.make_model(made, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    main = build(path, shapes={"n": 2}, values={"y": np.array([1, 2], np.float32)})["main"]
    assert str(main.signature) == "main(x: 2 of f32) -> (result: 2 of f32)"
    np.testing.assert_array_equal(main(np.ones(2, np.float32)), [2, 3])
    with pytest.raises(RelexError, match="'shapes' expected names among n, x, y, found m"):
        parse(path, shapes={"m": 2})
    with pytest.raises(RelexError, match="expected 'values' with the path of a model"):
        build("func.func @f() { func.return }", values={"y": 1})
