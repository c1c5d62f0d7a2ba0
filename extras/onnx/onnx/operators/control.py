"""Control flow: resolved at import where conditions and counts are known, else branches and loops of the program."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.ir import Block

from relex.dialects.sizes import Size
from relex.frontend import op
from relex.frontend.compositions.indexing import part_at, stacked
from relex.frontend.importing import regions
from relex.frontend.onnx import Computed, Known, OnnxNode, Operand, Tensor, imports, refuse
from relex.frontend.onnx.values import AnyValue

MAX_TRIPS = 10_000
"""The iterations at most of a loop that is unrolled."""


@imports("If")
def branch(node: OnnxNode, condition: Tensor) -> list[AnyValue]:
    """One branch if the condition is known, else a branch of the program."""
    if isinstance(condition, Known):
        return node.run_graph(node.graph("then_branch" if condition.array.item() else "else_branch"), [])

    def run(name: str) -> list[Operand]:
        return [_expect_tensor(x) for x in node.run_graph(node.graph(name), [])]

    made = regions.branch(node.builder, condition, lambda: run("then_branch"), lambda: run("else_branch"))
    return [*made]


def _expect_tensor(x: AnyValue) -> Tensor:
    if not isinstance(x, Known | Computed):
        refuse("a condition that is known at run time, between sequences; 'values' freezes an input")
    return x


@imports("Loop")
def loop(node: OnnxNode, count: Tensor | None, condition: Tensor | None, *initial: AnyValue) -> list[AnyValue]:
    """The body as often as the loop runs, if that is known, else a loop of the program."""
    most = None if count is None else node.tensor(count)
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
        outputs = node.run_graph(body, [Known(np.array(trip, np.int64)), _TRUE if running is None else running, *state])
        running = outputs[0]
        state = outputs[1 : 1 + len(state)]
        for parts, value in zip(scanned, outputs[1 + len(state) :], strict=True):
            parts.append(value)
        trip += 1
    return [*state, *(_stacked(node, parts, 0) for parts in scanned)]


_TRUE = Known(np.array(True))
_NEEDS_COUNT = (
    "expected a number of iterations of which results are kept, known at import, found one of the program; 'values' "
    "freezes an input"
)


def _ends_at_run_time(
    node: OnnxNode, most: Tensor | None, condition: Tensor | None, initial: Sequence[AnyValue]
) -> bool:
    """Return whether it is known only when the program runs how often a loop runs."""
    if isinstance(most, Computed) or isinstance(condition, Computed):
        return True
    if most is not None and (most.is_symbolic or most.array.item() == 0):
        return most.is_symbolic
    if condition is not None and not condition.array.item():
        return False
    # The first trip, as a trial.
    goes_on = _TRUE if condition is None else condition
    with node.builder.region(Block()):
        outputs = node.run_graph(node.graph("body"), [Known(np.array(0, np.int64)), goes_on, *initial])
    return not isinstance(outputs[0], Known)


def _loop_of_program(
    node: OnnxNode, most: Tensor | None, condition: Tensor | None, initial: Sequence[Tensor]
) -> list[AnyValue]:
    body = node.graph("body")

    def run(i: Tensor, running: Tensor, state: Sequence[Tensor]) -> list[Tensor]:
        return [_expect_tensor(x) for x in node.run_graph(body, [i, running, *state])]

    if len(body.output) == 1 + len(initial):

        def trip(i: Tensor, running: Tensor, state: Sequence[Tensor]) -> tuple[list[Tensor], Tensor]:
            goes_on, *values = run(i, running, state)
            return values, goes_on

        return [*regions.conditional(node.builder, most, _TRUE if condition is None else condition, trip, initial)]
    if not isinstance(most, Known) or isinstance(condition, Computed):
        refuse(_NEEDS_COUNT)

    def counted(i: Tensor, state: Sequence[Tensor]) -> tuple[list[Tensor], list[regions.Row]]:
        goes_on, *values = run(i, _TRUE, state)
        if not isinstance(goes_on, Known) or not goes_on.array.item():
            refuse(_NEEDS_COUNT)
        return values[: len(initial)], [regions.Row(x, i) for x in values[len(initial) :]]

    return [*regions.counted(node.builder, node.known_size(most, "a number of iterations"), counted, initial)]


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
        outputs = node.run_graph(body, [*state, *parts])
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

    def trip(i: Tensor, state: Sequence[Tensor]) -> tuple[list[Tensor], list[regions.Row]]:
        other_end = node.tensor(op.subtract(Known(np.asarray(length - 1)), i))
        parts = [node.tensor(op.take(x, other_end if is_reverse else i, axis=axis)) for x, axis, is_reverse in scanned]
        outputs = [_expect_tensor(x) for x in node.run_graph(node.graph("body"), [*state, *parts])]
        values, rows = outputs[: len(state)], list[regions.Row]()
        for number, x in enumerate(outputs[len(state) :]):
            is_reverse = number < len(out_directions) and out_directions[number]
            axis = out_axes[number] % (node.rank(x) + 1)
            rows.append(regions.Row(x, other_end if is_reverse else i, axis))
        return values, rows

    return [*regions.counted(node.builder, length, trip, state)]
