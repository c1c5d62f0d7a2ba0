"""Control flow: resolved at import where conditions and counts are known, else branches and loops of the program."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice

import numpy as np
from xdsl.ir import Block

from relex.dialects.sizes import Size
from relex.frontend import op
from relex.frontend.compositions.indexing import part_at, stacked
from relex.frontend.importing.graph_importer import ReportedError
from relex.frontend.importing.loops import Row, conditional, counted
from relex.frontend.importing.regions import ShapesDifferError, branch, zeros
from relex.frontend.onnx import Computed, Known, OnnxNode, Operand, Tensor, imports, refuse
from relex.frontend.onnx.assumptions import BOTH, FIRST
from relex.frontend.onnx.operators.counting import LoopBody, as_count
from relex.frontend.onnx.tensors import dtype_of
from relex.frontend.onnx.values import AnyValue, Empty, Items, Missing, element_type_of, tensors_in

MAX_TRIPS = 10_000
"""The iterations at most of a loop that is unrolled."""


@imports("If")
def if_(node: OnnxNode, condition: Tensor) -> list[AnyValue]:
    """One branch if the condition is known, else a branch of the program. Where results differ in rank or type, or in
    sizes that the rest of the model has to know, one branch is assumed to be taken, for which that can be imported; the
    program asserts it."""
    if isinstance(condition, Known):
        return _taken(node, bool(condition.array.item()))

    lengths: list[list[int | None]] = []
    before = node.builder.state()

    def run(is_then: bool) -> list[Operand]:
        values = _taken(node, is_then)
        lengths.append([len(x.values) if isinstance(x, Items) else None for x in values])
        if any(isinstance(x, Empty) for x in values) or lengths[0] != lengths[-1]:
            refuse(
                "a condition that is known at run time, between sequences of different lengths or optional values; "
                "'values' freezes an input"
            )
        return [x for value in values for x in tensors_in(value)]

    try:
        both = branch(node.builder, condition, lambda: run(True), lambda: run(False), lambda: node.assume(BOTH) == BOTH)
        found = iter(both)
        return [next(found) if length is None else Items([*islice(found, length)]) for length in lengths[0]]
    except ShapesDifferError as e:
        node.builder.restore(before)
        assumed = node.assume(FIRST) == FIRST
        holds = op.reshape(condition if assumed else op.logical_not(condition), [])
        taken, other = e.shown if assumed else e.shown[::-1]
        message = f"expected the {'first' if assumed else 'second'} branch of {node.title} to be taken"
        node.builder.results(op.assert_op(holds, f"{message}: the result is {taken}, and {other} in the other one"))
        return _taken(node, assumed)


def _taken(node: OnnxNode, is_then: bool) -> list[AnyValue]:
    return _run(node, "then_branch" if is_then else "else_branch", [])


def _run(node: OnnxNode, name: str, inputs: Sequence[AnyValue]) -> list[AnyValue]:
    """Return the outputs of a graph in an attribute. Raises `ReportedError` if some could not be imported."""
    outputs = node.run_graph(node.graph(name), inputs)
    if any(isinstance(x, Missing) for x in outputs):
        raise ReportedError
    return outputs


def _expect_tensor(x: AnyValue) -> Tensor:
    if not isinstance(x, Known | Computed):
        refuse("a condition or number of trips that is known at run time, of sequences; 'values' freezes an input")
    return x


@imports("Loop")
def loop(node: OnnxNode, count: Tensor | None, condition: Tensor | None, *initial: AnyValue) -> list[AnyValue]:
    """The body as often as the loop runs, if that is known, else a loop of the program."""
    most = None if count is None else node.tensor(count)
    if isinstance(condition, Known) and not _holds(condition):
        most = _NO_TRIPS
    if _ends_at_run_time(node, most, condition, initial):
        return _loop_of_program(node, most, condition, [_expect_tensor(x) for x in initial])
    body = node.graph("body")
    limit = None if most is None else int(node.known_number(most, "a number of iterations"))
    running: AnyValue | None = condition
    state = list(initial)
    scanned: list[list[AnyValue]] = [[] for _ in range(len(body.output) - 1 - len(state))]
    trip = 0
    while (limit is None or trip < limit) and (running is None or _holds(running)):
        if trip == MAX_TRIPS:
            refuse(f"a loop of more than {MAX_TRIPS} iterations")
        inputs = [Known(np.array(trip, np.int64)), _TRUE if running is None else running, *state]
        outputs = _run(node, "body", inputs)
        running = outputs[0]
        if not isinstance(running, Known):
            # The first trips, whose state is known, do not tell what later ones find.
            return _loop_of_program(node, most, condition, [_expect_tensor(x) for x in initial])
        state = outputs[1 : 1 + len(state)]
        for parts, value in zip(scanned, outputs[1 + len(state) :], strict=True):
            parts.append(value)
        trip += 1
    if trip == 0 and scanned:
        return [*state, *_no_rows(node, initial)]
    return [*state, *(_stacked(node, parts, 0) for parts in scanned)]


_TRUE = Known(np.array(True))
_NO_TRIPS = Known(np.array(0, np.int64))


def _trial(node: OnnxNode, condition: Tensor | None, initial: Sequence[AnyValue]) -> list[AnyValue]:
    """Return what the first trip of a loop gives; no trip is emitted."""
    goes_on = _TRUE if condition is None else condition
    with node.builder.region(Block()):
        return _run(node, "body", [_NO_TRIPS, goes_on, *initial])


def _no_rows(node: OnnxNode, initial: Sequence[AnyValue]) -> list[Tensor]:
    """Return what a loop without trips stacks: tensors of the shape that a trip would give, without elements; if a trip
    could not run, as the model declares it."""
    before = node.builder.state()
    try:
        rows = [_expect_tensor(x) for x in _trial(node, None, initial)[1 + len(initial) :]]
        return [node.tensor(zeros((0, *x.sizes), x.element_type)) for x in rows]
    except ReportedError:
        declared = [info.type.tensor_type for info in node.graph("body").output[1 + len(initial) :]]
        if not all(t.elem_type and t.HasField("shape") for t in declared):
            raise
        node.builder.restore(before)
    shapes = [[0, *(d.dim_value for d in t.shape.dim)] for t in declared]
    types = [element_type_of(dtype_of(t.elem_type)) for t in declared]
    return [node.tensor(zeros(shape, t)) for shape, t in zip(shapes, types, strict=True)]


def _ends_at_run_time(
    node: OnnxNode, most: Tensor | None, condition: Tensor | None, initial: Sequence[AnyValue]
) -> bool:
    """Return whether it is known only when the program runs how often a loop runs."""
    if isinstance(most, Computed) or isinstance(condition, Computed):
        return True
    if most is not None and (most.is_symbolic or most.array.item() == 0):
        return most.is_symbolic
    return not isinstance(_trial(node, condition, initial)[0], Known)


def _loop_of_program(
    node: OnnxNode, most: Tensor | None, condition: Tensor | None, initial: Sequence[Tensor]
) -> list[AnyValue]:
    body = LoopBody(node)
    kept = {k: initial[k] for k in body.kept()}
    changed = [x for k, x in enumerate(initial) if k not in kept]
    rows = len(body.graph.output) - 1 - len(initial)

    def together(state: Sequence[Tensor]) -> list[Tensor]:
        """Return all that the loop carries: what no trip changes is known inside as it is outside."""
        rest = iter(state)
        return [kept[k] if k in kept else next(rest) for k in range(len(initial))]

    def run(i: Tensor, running: Tensor, state: Sequence[Tensor]) -> tuple[Tensor, list[Tensor], list[Row]]:
        """Return whether the loop goes on, what it carries, and the rows that a trip gives."""
        goes_on, *values = [_expect_tensor(x) for x in _run(node, "body", [i, running, *together(state)])]
        changing = [x for k, x in enumerate(values[: len(initial)]) if k not in kept]
        return goes_on, changing, [Row(x) for x in values[len(initial) :]]

    def counted_trip(i: Tensor, state: Sequence[Tensor]) -> tuple[list[Tensor], list[Row]]:
        goes_on, values, parts = run(i, _TRUE, state)
        if trips is None and not (isinstance(goes_on, Known) and goes_on.array.item()):
            raise _EndsBefore
        return values, parts

    # Rows of a loop that counts have their places before it runs.
    trips = body.trips(most, condition, initial) if rows else None
    if trips is not None or (rows and most is not None and not isinstance(condition, Computed)):
        before = node.builder.state()
        try:
            count = as_count(node, most) if trips is None and most is not None else trips
            assert count is not None
            found = counted(node.builder, count, counted_trip, changed)
            return [*together(found), *found[len(changed) :]]
        except _EndsBefore:
            node.builder.restore(before)
    found = conditional(node.builder, most, _TRUE if condition is None else condition, run, changed)
    return [*together(found), *found[len(changed) :]]


class _EndsBefore(Exception):
    """A condition may end a loop before all its trips."""


def _holds(condition: AnyValue) -> bool:
    assert isinstance(condition, Known)
    return bool(condition.array.item())


def _stacked(node: OnnxNode, parts: Sequence[AnyValue], axis: int) -> AnyValue:
    tensors = [part for part in parts if isinstance(part, Known | Computed)]
    if len(tensors) != len(parts) or not tensors:
        refuse("a loop without iterations that returns their results, or one that returns sequences of them")
    axis += node.rank(tensors[0]) + 1 if axis < 0 else 0
    return node.tensor(stacked(tensors, axis))


@imports("Scan")
def scan_with_batch(node: OnnxNode, *inputs: AnyValue | None) -> list[AnyValue]:
    """A loop over a dimension after the batch dimension: one loop for each element of the batch."""
    lengths, *rest = inputs
    if lengths is not None:
        refuse("lengths of sequences")
    tensors = [x for x in rest if isinstance(x, Known | Computed)]
    batch = range(node.static_shape(tensors[0])[0])
    runs = [_scan(node, [node.tensor(part_at(x, 0, i)) for x in tensors]) for i in batch]
    return [_stacked(node, list(results), 0) for results in zip(*runs, strict=True)]


@imports("Scan", since=9)
def scan(node: OnnxNode, *inputs: AnyValue) -> list[AnyValue]:
    """A loop over a dimension of tensors: a loop of the program if its size is not known."""
    return _scan(node, [x for x in inputs if isinstance(x, Known | Computed)])


def _scan(node: OnnxNode, inputs: Sequence[Tensor]) -> list[AnyValue]:
    """Run the loop. Before version 9 of the operator set, the only attribute for dimensions is `directions`."""
    body, scans = node.graph("body"), node.integer("num_scan_inputs")
    directions = node.integers("scan_input_directions") or node.integers("directions") or [0] * scans
    axes = node.integers("scan_input_axes") or [0] * scans
    out_directions = node.integers("scan_output_directions") or []
    out_axes = node.integers("scan_output_axes") or []
    state: list[AnyValue] = list(inputs[: len(inputs) - scans])
    scanned = inputs[len(inputs) - scans :]
    axes = [axis % node.rank(x) for axis, x in zip(axes, scanned, strict=True)]
    length = node.shape(scanned[0])[axes[0]]
    if not isinstance(length, int):
        places = out_axes or [0] * (len(body.output) - len(state)), out_directions
        return _scan_of_program(
            node, length, [*inputs[: len(state)]], [*zip(scanned, axes, directions, strict=True)], *places
        )
    if length > MAX_TRIPS:
        refuse(f"a loop of more than {MAX_TRIPS} iterations")
    columns: list[list[AnyValue]] = [[] for _ in range(len(body.output) - len(state))]
    for trip in range(length):
        parts: list[AnyValue] = []
        for x, axis, direction in zip(scanned, axes, directions, strict=True):
            parts.append(node.tensor(part_at(x, axis, length - 1 - trip if direction else trip)))
        outputs = _run(node, "body", [*state, *parts])
        state = outputs[: len(state)]
        for column, value in zip(columns, outputs[len(state) :], strict=True):
            column.append(value)
    results: list[AnyValue] = []
    for i, column in enumerate(columns):
        ordered = column[::-1] if i < len(out_directions) and out_directions[i] else column
        results.append(_stacked(node, ordered, out_axes[i] if i < len(out_axes) else 0))
    return [*state, *results]


def _scan_of_program(
    node: OnnxNode,
    length: Size,
    state: Sequence[Tensor],
    scanned: Sequence[tuple[Tensor, int, int]],
    out_axes: Sequence[int],
    out_directions: Sequence[int],
) -> list[AnyValue]:
    """Run a loop over a dimension of dynamic size. `scanned` are tensors with the dimension, and whether the loop
    starts at its end."""

    def trip(i: Tensor, state: Sequence[Tensor]) -> tuple[list[Tensor], list[Row]]:
        other_end = node.tensor(op.subtract(Known(np.asarray(length - 1)), i))
        parts = [node.tensor(op.take(x, other_end if is_reverse else i, axis=axis)) for x, axis, is_reverse in scanned]
        outputs = [_expect_tensor(x) for x in _run(node, "body", [*state, *parts])]
        values, rows = outputs[: len(state)], list[Row]()
        for number, x in enumerate(outputs[len(state) :]):
            is_reverse = number < len(out_directions) and out_directions[number]
            axis = out_axes[number] % (node.rank(x) + 1)
            rows.append(Row(x, other_end if is_reverse else None, axis))
        return values, rows

    return [*counted(node.builder, length, trip, state)]
