"""Control flow, which is resolved at import: conditions and counts are known, or both branches are computed."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from relex.frontend import op
from relex.frontend.compositions.indexing import part_at, stacked
from relex.frontend.onnx import Computed, Known, OnnxNode, Tensor, imports, refuse
from relex.frontend.onnx.values import AnyValue

MAX_TRIPS = 10_000
"""The iterations at most of a loop that is unrolled."""


@imports("If")
def branch(node: OnnxNode, condition: Tensor) -> list[AnyValue]:
    """One branch if the condition is known. Else both, and a choice between the results: their checks count where the
    condition chooses them."""
    if isinstance(condition, Known):
        return node.run_graph(node.graph("then_branch" if condition.array.item() else "else_branch"), [])
    both: list[list[AnyValue]] = []
    for name, chosen in (("then_branch", condition), ("else_branch", op.logical_not(condition))):
        with node.builder.assuming(chosen):
            both.append(node.run_graph(node.graph(name), []))
    return [_either(node, condition, x, y) for x, y in zip(*both, strict=True)]


def _either(node: OnnxNode, condition: Tensor, x: AnyValue, y: AnyValue) -> AnyValue:
    if not isinstance(x, Known | Computed) or not isinstance(y, Known | Computed):
        refuse("a condition that is known at run time, between sequences; 'values' freezes an input")
    if node.shape(x) != node.shape(y):
        shapes = " and ".join(" x ".join(map(str, node.shape(z))) or "a scalar" for z in (x, y))
        refuse(f"a condition that is known at run time, between results of different shapes: {shapes}")
    return node.tensor(op.where(op.reshape(condition, []), x, y))


@imports("Loop")
def loop(node: OnnxNode, count: Tensor | None, condition: Tensor | None, *initial: AnyValue) -> list[AnyValue]:
    """The body as often as the loop runs, which is known."""
    body = node.graph("body")
    most = None if count is None else int(node.known_number(count, "a number of iterations"))
    running: AnyValue | None = condition
    state = list(initial)
    scanned: list[list[AnyValue]] = [[] for _ in range(len(body.output) - 1 - len(state))]
    trip = 0
    while (most is None or trip < most) and (running is None or _holds(running)):
        if trip == MAX_TRIPS:
            refuse(f"a loop of more than {MAX_TRIPS} iterations")
        inputs: list[AnyValue] = [
            Known(np.array(trip, np.int64)),
            Known(np.array(True)) if running is None else running,
            *state,
        ]
        outputs = node.run_graph(body, inputs)
        running = outputs[0]
        state = outputs[1 : 1 + len(state)]
        for parts, value in zip(scanned, outputs[1 + len(state) :], strict=True):
            parts.append(value)
        trip += 1
    return [*state, *(_stacked(node, parts, 0) for parts in scanned)]


def _holds(condition: AnyValue) -> bool:
    if not isinstance(condition, Known):
        refuse("a loop whose condition is known at run time; 'values' freezes an input")
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
    """A loop over a dimension of tensors, whose size is known."""
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
    length = node.static_shape(scanned[0])[axes[0]]
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
