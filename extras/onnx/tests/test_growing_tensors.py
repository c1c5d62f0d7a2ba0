"""Branches whose results differ in size, and loops that change the sizes of what they carry, against ONNX Runtime."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from models import FLOAT, INT64, model, node, value
from onnx import GraphProto, ModelProto, TensorProto, helper, numpy_helper
from onnx_runtime import expect_as_onnx_runtime

from relex.dialects.errors import CompileError, RelexError
from relex.frontend.onnx import from_onnx
from relex.reference import interpret
from relex.runtime import build

BOOL = int(TensorProto.BOOL)
X = np.arange(1, 7, dtype=np.float32).reshape(3, 2)
TRIPS = (0, 1, 7)


def constant(array: Any, name: str) -> TensorProto:
    """Return a constant of a model."""
    return numpy_helper.from_array(np.asarray(array), name)


CONSTANTS = [
    constant(np.float32(100.5), "limit"),
    constant(True, "go"),
    constant([0], "axis"),
    constant(np.zeros((0, 2), np.float32), "none"),
    constant(0, "zero"),
    constant([-1], "end"),
]


def graph(name: str, nodes: Sequence[Any], inputs: Sequence[Any], outputs: Sequence[Any]) -> GraphProto:
    """Return the body of a loop, or a branch."""
    return helper.make_graph(nodes, name, inputs, outputs)


def choose(then: Sequence[Any], otherwise: Sequence[Any], after: Sequence[Any], rows: int | str = "n") -> ModelProto:
    """Return a model of an `If` whose branches make `t` and `e` of `x`, and of what comes after its result, `r`."""
    branches: dict[str, Any] = {
        "then_branch": graph("then", then, [], [value("t", FLOAT, None)]),
        "else_branch": graph("else", otherwise, [], [value("e", FLOAT, None)]),
    }
    made = helper.make_node("If", ["c"], ["r"], "choice", **branches)
    return _model([made, *after], [value("c", BOOL, []), value("x", FLOAT, [rows, 2])], ["y"])


def _model(nodes: Sequence[Any], inputs: Sequence[Any], outputs: Sequence[str]) -> ModelProto:
    used = {name for made in nodes for name in _names(made)}
    return model(nodes, inputs, outputs, [c for c in CONSTANTS if c.name in used], checked=False)


def _names(made: Any) -> set[str]:
    """Return the names that a node and those in its graphs read."""
    inner = [n for a in made.attribute if a.HasField("g") for n in a.g.node]
    return {*made.input}.union(*map(_names, inner))


DOUBLED = node("Concat", "x x", "t", axis=0)
KEPT = node("Relu", "x", "e")
FIRST_ROW = [node("Slice", "x zeros ones axes", "t")]
SLICE = [constant([number], name) for name, number in (("zeros", 0), ("ones", 1), ("axes", 0))]


def test_branches() -> None:
    made = choose([DOUBLED], [KEPT], [node("Exp", "r", "z"), node("Concat", "z x", "y", axis=0)])
    assert "scf.if" in str(from_onnx(made))
    expect_as_onnx_runtime(made, *({"c": np.array(c), "x": X[:n]} for c in (True, False) for n in (0, 3)), rtol=1e-5)


def test_branches_with_elements_of_the_run() -> None:
    """One of them finds a size out by itself; another one is the same in both."""
    some = [
        node("ReduceSum", "x end", "sums", keepdims=0),
        node("Less", "sums limit", "small"),
        node("Compress", "x small", "t", axis=0),
    ]
    made = choose(some, [KEPT], [node("MatMul", "r square", "y")])
    made.graph.initializer.append(constant(np.eye(2, dtype=np.float32), "square"))
    x = X * np.array([[50], [1], [50]], np.float32)
    expect_as_onnx_runtime(made, *({"c": np.array(c), "x": x} for c in (True, False)), rtol=1e-5)


def test_what_the_rest_requires_of_branches_is_checked() -> None:
    """The weights of a convolution fit one channel."""
    made = choose(FIRST_ROW, [KEPT], [node("Unsqueeze", "r axis", "z"), node("Conv", "z w", "y")])
    made.graph.initializer.extend([*SLICE, constant(np.full((4, 1, 1), 2, np.float32), "w")])
    program = from_onnx(made)
    for main in (interpret(program)["main"], build(program)["main"]):
        np.testing.assert_array_equal(main(np.array(True), X), np.broadcast_to(2 * X[:1], (1, 4, 2)))
        with pytest.raises(RelexError, match=r"'relex.conv1d' expected .* == 1, found 3"):
            main(np.array(False), X)


def test_a_branch_is_assumed_where_the_rest_needs_its_sizes() -> None:
    """How many elements a sequence has must be known."""
    rest = [node("SplitToSequence", "r", "rows", axis=0), node("ConcatFromSequence", "rows", "y", axis=1)]
    made = choose(FIRST_ROW, [KEPT], rest, rows=3)
    made.graph.initializer.extend(SLICE)
    program = from_onnx(made)
    for main in (interpret(program)["main"], build(program)["main"]):
        np.testing.assert_array_equal(main(np.array(True), X), X[:1])
        with pytest.raises(RelexError, match="expected the first branch of 'If' node 'choice' to be taken"):
            main(np.array(False), X)


def test_branches_of_different_ranks() -> None:
    """One is assumed; if neither fits, the error says which, and what helps."""
    flat = [node("ReduceSum", "x end", "t", keepdims=0)]
    made = choose(flat, [KEPT], [node("Transpose", "r", "y", perm=[2, 0, 1])])
    with pytest.raises(CompileError, match="'Transpose' node") as caught:
        from_onnx(made)
    (note,) = caught.value.diagnostics[0].notes
    assert note.startswith("'choice' is assumed to take its first branch; 'shapes' or 'values'")


MORE = [node("Concat", "s x", "t", axis=0)]
SMALL = [node("ReduceSum", "t", "sum", keepdims=0), node("Less", "sum limit", "more")]
ALWAYS = [node("Identity", "running", "more")]
ROWS = {
    "fixed": [node("Gather", "x zero", "row", axis=0)],
    "sums": [node("ReduceSum", "t axis", "row", keepdims=0)],
    "whole": [node("Exp", "x", "row")],
}
ROW_SHAPES = {"fixed": [2], "sums": [2]}


def growing(
    condition: Sequence[Any], *, count: str = "count", first: str = "x", rows: str = "", step: Sequence[Any] = MORE
) -> ModelProto:
    """Return a model of a loop whose trips make `t` of `s`, in the beginning `first`, and give rows."""
    outputs = [
        value("more", BOOL, []),
        value("t", FLOAT, None),
        *([value("row", FLOAT, ROW_SHAPES.get(rows))] if rows else []),
    ]
    inputs = [value("i", INT64, []), value("running", BOOL, []), value("s", FLOAT, None)]
    body = graph("body", [*step, *condition, *ROWS.get(rows, [])], inputs, outputs)
    go = "go" if condition is SMALL else ""
    results = ["y", "rows"] if rows else ["y"]
    made = helper.make_node("Loop", [count, go, first], results, "loop", body=body)
    given = [value("x", FLOAT, ["n", 2]), *([value("count", INT64, [])] if count == "count" else [])]
    return _model([made], given, results)


@pytest.mark.parametrize("rows", ["", *ROWS])
@pytest.mark.parametrize("first", ["x", "none"])
@pytest.mark.parametrize("condition", ["always", "small"])
@pytest.mark.sampled
def test_loops(rows: str, first: str, condition: str) -> None:
    """With as many trips as an argument says, or fewer, if a condition ends it before."""
    made = growing(ALWAYS if condition == "always" else SMALL, first=first, rows=rows)
    # Without trips, ONNX Runtime has no rows of 0 elements where a size is dynamic, relex none of that size.
    counts = TRIPS[rows == "whole" :]
    feeds = [{"x": X[:n], "count": np.array(trips)} for n in (1, 3) for trips in counts]
    expect_as_onnx_runtime(made, *feeds, rtol=1e-5)


def test_loop_without_a_limit() -> None:
    made = growing(SMALL, count="", rows="sums")
    assert "scf.while" in str(from_onnx(made))
    expect_as_onnx_runtime(made, *({"x": X[:n]} for n in (1, 3)), rtol=1e-5)


def test_loop_over_empty_tensors() -> None:
    made = growing(ALWAYS, rows="whole")
    expect_as_onnx_runtime(made, *({"x": X[:0], "count": np.array(trips)} for trips in TRIPS[1:]), rtol=1e-5)


def test_rows_that_only_a_trip_knows() -> None:
    """All rows are as long as the first one, which has the elements that are small."""
    step = [node("ReduceSum", "x end", "sums", keepdims=0), node("Less", "sums limit", "small"), *MORE]
    made = growing([*ALWAYS, node("Compress", "x small", "row", axis=0)], rows="own", step=step)
    x = X * np.array([[50], [1], [1]], np.float32)
    expect_as_onnx_runtime(made, *({"x": x, "count": np.array(trips)} for trips in (1, 7)), rtol=1e-5)
    main: Any = build(from_onnx(made))["main"]
    assert [result.shape for result in main(x, np.array(0))] == [(3, 2), (0, 0, 2)]


def test_loops_in_loops() -> None:
    """The inner one grows what the outer one has grown."""
    inner = graph(
        "inner",
        [node("Concat", "u v", "w", axis=0), node("Identity", "runs", "runs_on")],
        [value("j", INT64, []), value("runs", BOOL, []), value("u", FLOAT, None)],
        [value("runs_on", BOOL, []), value("w", FLOAT, None)],
    )
    step = [node("Relu", "s", "v"), helper.make_node("Loop", ["i", "", "v"], ["t"], body=inner)]
    made = growing(ALWAYS, step=step)
    expect_as_onnx_runtime(made, *({"x": X, "count": np.array(trips)} for trips in (0, 1, 4)), rtol=1e-5)


def test_loop_that_shrinks() -> None:
    """And branches that a trip decides on."""
    half = [node("Slice", "s zeros ends axes steps", "half")]
    branches: dict[str, Any] = {
        "then_branch": graph("then", half, [], [value("half", FLOAT, None)]),
        "else_branch": graph("else", [node("Neg", "s", "minus")], [], [value("minus", FLOAT, None)]),
    }
    step = [
        node("ReduceSum", "s", "of_all", keepdims=0),
        node("Less", "limit of_all", "large"),
        helper.make_node("If", ["large"], ["t"], **branches),
    ]
    made = growing(ALWAYS, step=step)
    numbers = {"zeros": 0, "ends": 1000, "axes": 0, "steps": 2}
    made.graph.initializer.extend(constant([number], name) for name, number in numbers.items())
    x = np.full((20, 2), 50, np.float32)
    expect_as_onnx_runtime(made, *({"x": x, "count": np.array(trips)} for trips in TRIPS), rtol=1e-5)


def test_what_no_trip_reads_may_be_empty() -> None:
    """A loop over the rows of a table without any."""
    step = [node("Gather", "x i", "row", axis=0), node("Add", "s row", "t")]
    inputs = [value("i", INT64, []), value("running", BOOL, []), value("s", FLOAT, [2])]
    outputs = [value("more", BOOL, []), value("t", FLOAT, [2]), value("row", FLOAT, [2])]
    body = graph("body", [*step, *ALWAYS], inputs, outputs)
    nodes = [
        node("Shape", "x", "shape"),
        node("Gather", "shape zero", "count"),
        helper.make_node("Loop", ["count", "", "first"], ["y", "rows"], body=body),
    ]
    for rows, sizes in (("n", (0, 1, 3)), (0, (0,))):
        made = _model(nodes, [value("x", FLOAT, [rows, 2])], ["y", "rows"])
        made.graph.initializer.append(constant(np.ones(2, np.float32), "first"))
        expect_as_onnx_runtime(made, *({"x": X[:n]} for n in sizes), rtol=1e-5)


def test_refusals_say_what_helps() -> None:
    deeper = growing(ALWAYS, step=[node("Unsqueeze", "s axis", "t")])
    with pytest.raises(CompileError, match="changes what it carries, n x 2 to 1 x n x 2; give both the same number of"):
        from_onnx(deeper)
    other = growing(ALWAYS, step=[node("Cast", "s", "t", to=INT64)])
    with pytest.raises(CompileError, match="n x 2 of f32 to n x 2 of i64; give both the same number of dimensions and"):
        from_onnx(other)


def test_what_follows_is_checked() -> None:
    made = growing(ALWAYS)
    made.graph.node.append(node("Add", "y x", "z"))
    made.graph.output[0].name = "z"
    program = from_onnx(made)
    for main in (interpret(program)["main"], build(program)["main"]):
        np.testing.assert_array_equal(main(X, np.array(0)), 2 * X)
        with pytest.raises(RelexError, match=r"'relex.add' expected .* == n, found 6"):
            main(X, np.array(1))
