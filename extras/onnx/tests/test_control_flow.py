"""Branches and loops that are decided at run time, against the reference implementation."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator
from xdsl.dialects.builtin import f32, i1

from relex.dialects import CompileError, RelexError
from relex.frontend.importing.builder import Builder
from relex.frontend.importing.regions import ShapesDifferError, branch
from relex.frontend.importing.values import Known
from relex.frontend.onnx import from_onnx
from relex.frontend.onnx.onnx_importer import OnnxImporter
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
    def taken(name: str, operator: str) -> onnx.GraphProto:
        return graph(name, [helper.make_node(operator, ["x"], [f"{name}_y"])], [], [(f"{name}_y", ["n", 4], FLOAT)])

    nodes = [
        helper.make_node("Equal", ["rate", "k"], ["c"]),
        helper.make_node("If", ["c"], ["y"], then_branch=taken("a", "Relu"), else_branch=taken("b", "Neg")),
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


def test_rows_of_a_loop_over_a_number_of_the_run():
    node = helper.make_node("Loop", ["count", "go", "x"], ["y", "rows"], body=doubling(ALWAYS, outputs=2))
    inputs: list[Info] = [("x", ["n"], FLOAT), ("count", [], INT64)]
    made = graph("g", [node], inputs, [("y", ["n"], FLOAT), ("rows", ["m", "n"], FLOAT)], go=np.array(True))
    x = np.array([1, 2, -3], np.float32)
    check(made, *({"x": x, "count": np.array(count)} for count in (3, 1)))
    main: Any = build(from_onnx(helper.make_model(made, opset_imports=[helper.make_opsetid("", 17)])))["main"]
    for count in (0, -2):
        y, rows = main(x, np.array(count))
        np.testing.assert_array_equal(y, x)
        assert rows.shape == (0, 3)


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


def diagnostics(nodes: list[Any], inputs: list[Info], outputs: list[Info], **weights: Any) -> list[Any]:
    """What is reported about a graph."""
    made = graph("g", nodes, inputs, outputs, **weights)
    with pytest.raises(CompileError) as caught:
        from_onnx(helper.make_model(made, opset_imports=[helper.make_opsetid("", 17)], ir_version=8))
    return caught.value.diagnostics


UNKNOWN = "'Unknown' node: no such operator in version 17"


def nested(depth: int, operator: str) -> onnx.GraphProto:
    """Branches in branches, of which the innermost have an operator."""
    if depth == 0:
        return graph("inner", [helper.make_node(operator, ["x"], ["t0"])], [], [("t0", None, FLOAT)])
    inner = helper.make_node("If", ["c"], [f"t{depth}"], then_branch=nested(depth - 1, operator), else_branch=ROWS)
    return graph("outer", [inner], [], [(f"t{depth}", None, FLOAT)])


ROWS = graph(
    "rows", [helper.make_node("Unsqueeze", ["x", "axes"], ["e"])], [], [("e", None, FLOAT)], axes=np.array([0])
)


@pytest.mark.parametrize("depth", [0, 1, 3])
def test_what_is_missing_in_nested_branches_is_told_once(depth: int):
    node = helper.make_node("If", ["c"], ["y"], then_branch=nested(depth, "Unknown"), else_branch=ROWS)
    found = diagnostics([node], [("c", [], BOOL), ("x", ["n"], FLOAT)], [("y", None, FLOAT)])
    assert [d.message for d in found] == [UNKNOWN]


@pytest.mark.parametrize("count", ["known", "dynamic"])
@pytest.mark.parametrize("is_used", [True, False])
def test_what_is_missing_in_a_loop_is_told_once(count: str, is_used: bool):
    body = doubling(ALWAYS)
    body.node.append(helper.make_node("Unknown", ["t"], ["u"]))
    body.output[1].name = "u" if is_used else "t"
    node = helper.make_node("Loop", ["count", "", "x"], ["y"], body=body)
    inputs: list[Info] = [("x", ["n"], FLOAT), *([("count", [], INT64)] if count == "dynamic" else [])]
    weights = {"count": np.int64(4)} if count == "known" else {}
    assert [d.message for d in diagnostics([node], inputs, [("y", None, FLOAT)], **weights)] == [UNKNOWN]


@pytest.mark.parametrize("length", [3, "n"])
def test_what_is_missing_in_a_scan_is_told_once(length: int | str):
    nodes = [helper.make_node("Add", ["s", "r"], ["t"]), helper.make_node("Unknown", ["t"], ["u"])]
    rows: list[Info] = [("s", [2], FLOAT), ("r", [2], FLOAT)]
    body = graph("body", nodes, rows, [("t", [2], FLOAT), ("u", [2], FLOAT)])
    node = helper.make_node("Scan", ["x", "xs"], ["y", "ys"], body=body, num_scan_inputs=1)
    inputs: list[Info] = [("x", [2], FLOAT), ("xs", [length, 2], FLOAT)]
    found = diagnostics([node], inputs, [("y", None, FLOAT), ("ys", None, FLOAT)])
    assert [d.message for d in found] == [UNKNOWN]


def squeezes(count: int, *after: Any) -> tuple[list[Any], list[Info]]:
    """Squeezed inputs, each by an `If` whose branches differ in rank, and nodes after them."""
    nodes: list[Any] = []
    for i in range(count):
        then = graph("then", [helper.make_node("Squeeze", [f"x{i}"], ["t"])], [], [("t", None, FLOAT)])
        other = graph("else", [helper.make_node("Identity", [f"x{i}"], ["e"])], [], [("e", None, FLOAT)])
        node = helper.make_node("If", [f"c{i}"], [f"s{i}"], f"If_{i}", then_branch=then, else_branch=other)
        nodes.append(node)
    inputs: list[Info] = []
    for i in range(count):
        inputs += [(f"x{i}", [1, 3], FLOAT), (f"c{i}", [], BOOL)]
    return [*nodes, *after], inputs


@pytest.fixture
def imports(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """One for each time that a model is imported."""
    found: list[int] = []

    def see(importer: OnnxImporter, *args: Any) -> Any:
        found.extend([1] if not importer.path else [])
        return run_graph(importer, *args)

    run_graph = OnnxImporter.run_graph
    monkeypatch.setattr(OnnxImporter, "run_graph", see)
    return found


@pytest.mark.parametrize("operand", ["z", "s7"])
def test_branches_are_no_way_out_for_an_unknown_operator(operand: str, imports: list[int]):
    nodes, inputs = squeezes(8, helper.make_node("Unknown", [operand], ["y"]))
    found = diagnostics(nodes, [*inputs, ("z", [2], FLOAT)], [("y", None, FLOAT)])
    assert [(d.message, d.notes) for d in found] == [(UNKNOWN, ())]
    assert len(imports) == 1


def test_branches_are_no_way_out_for_what_does_not_depend_on_them(imports: list[int]):
    nodes, inputs = squeezes(8, helper.make_node("Transpose", ["z"], ["y"], perm=[1, 0]))
    found = diagnostics(nodes, [*inputs, ("z", [2], FLOAT)], [("y", None, FLOAT)])
    assert len(found) == len(imports) == 1


def test_only_branches_that_a_problem_depends_on_are_tried_again(imports: list[int]):
    """And the message says which, and what helps."""
    nodes, inputs = squeezes(8, helper.make_node("Transpose", ["s1"], ["y"], perm=[2, 1, 0]))
    (found,) = diagnostics(nodes, inputs, [("y", None, FLOAT)])
    (note,) = found.notes
    assert note == (
        "'If_1' is assumed to take its first branch; 'shapes' or 'values' of what its condition depends on decide it"
    )
    assert len(imports) == 2


def test_branches_that_fit_are_found_among_many(imports: list[int]):
    """The second branches of two, one before and one after others."""
    uses = [helper.make_node("Transpose", [f"s{i}"], [f"y{i}"], perm=[1, 0]) for i in (1, 6)]
    nodes, inputs = squeezes(8, *uses, helper.make_node("Add", ["y1", "y6"], ["y"]))
    made = graph("g", nodes, inputs, [("y", None, FLOAT)])
    program = from_onnx(helper.make_model(made, opset_imports=[helper.make_opsetid("", 17)], ir_version=8))
    assert len(imports) <= 4
    x = {name: np.array(name == "c0") if kind == BOOL else np.ones((1, 3), np.float32) for name, _, kind in inputs}
    for i in (0, 2, 3, 4, 5, 7):
        x[f"c{i}"] = np.array(True)
    assert interpret(program)["main"](**x).shape == (3, 1)


def test_shapes_of_branches_are_data():
    builder = Builder("model.onnx")
    x = builder.add_argument("x", f32, [2, 3])
    condition = builder.add_argument("c", i1, [])
    with pytest.raises(ShapesDifferError, match="of different shapes, 2 x 3 and 3; give both the same") as caught:
        branch(builder, condition, lambda: [x], lambda: [Known(np.zeros(3, np.float32))])
    assert (caught.value.then.sizes, caught.value.otherwise.sizes) == ((2, 3), (3,))
    with pytest.raises(
        ShapesDifferError, match="of different shapes, 2 x 3 of f32 and 2 x 3 of i64; give both the same"
    ):
        branch(builder, condition, lambda: [x], lambda: [Known(np.zeros((2, 3), np.int64))])
