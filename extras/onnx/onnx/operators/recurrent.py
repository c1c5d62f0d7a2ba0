"""Recurrent networks: one step after another, or a loop over sequences of dynamic length."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from relex.dialects.sizes import Size
from relex.frontend import op
from relex.frontend.compositions import activations
from relex.frontend.compositions.indexing import part_at, pieces, stacked
from relex.frontend.importing.loops import Row, counted
from relex.frontend.importing.values import with_node
from relex.frontend.onnx import Known, OnnxNode, Operand, Tensor, refuse
from relex.frontend.onnx.import_table import row

Function = Callable[[Operand], Operand]
Step = Callable[[Operand, list[Operand]], list[Operand]]
"""From the projected input of a step and the state to the next state, whose first part is the output."""


def _activation(node: OnnxNode, number: int, default: str) -> Function:
    """Return an activation function by its number in the attributes."""
    names = node.texts("activations")
    name = (names[number] if number < len(names) else default).lower()
    alphas, betas = node.numbers("activation_alpha") or [], node.numbers("activation_beta") or []
    alpha = alphas[number] if number < len(alphas) else _ALPHA.get(name, 0.0)
    beta = betas[number] if number < len(betas) else _BETA.get(name, 0.0)
    if name not in _ACTIVATIONS:
        refuse(f"the activation function {name}", "activations")
    return partial(_ACTIVATIONS[name], alpha, beta)


_ACTIVATIONS: dict[str, Callable[[float, float, Operand], Operand]] = {
    "affine": lambda a, b, x: op.multiply(x, a) + b,
    "elu": lambda a, b, x: activations.elu(x, a),
    "hardsigmoid": lambda a, b, x: op.clip(op.multiply(x, a) + b, 0.0, 1.0),
    "leakyrelu": lambda a, b, x: activations.leaky_relu(x, a),
    "relu": lambda a, b, x: op.relu(x),
    "scaledtanh": lambda a, b, x: op.tanh(op.multiply(x, b)) * a,
    "sigmoid": lambda a, b, x: op.sigmoid(x),
    "softplus": lambda a, b, x: activations.softplus(x),
    "softsign": lambda a, b, x: activations.softsign(x),
    "tanh": lambda a, b, x: op.tanh(x),
    "thresholdedrelu": lambda a, b, x: op.where(op.greater(x, a), x, op.multiply(x, 0.0)),
}
_ALPHA = {"elu": 1.0, "hardsigmoid": 0.2, "leakyrelu": 0.01, "scaledtanh": 1.0, "thresholdedrelu": 1.0, "affine": 1.0}
_BETA = {"hardsigmoid": 0.5, "scaledtanh": 1.0}


@dataclass
class _Inputs:
    """The inputs of a network, or the parameters of one direction; those that LSTM alone has are the last ones."""

    x: Tensor
    weight: Tensor
    recurrence: Tensor
    bias: Tensor | None = None
    lengths: Tensor | None = None
    initial: Tensor | None = None
    initial_cell: Tensor | None = None
    peepholes: Tensor | None = None


@dataclass
class _Direction:
    """What is the same in all steps of one direction."""

    node: OnnxNode
    number: int
    size: int
    recurrence: Operand
    product: Function
    """From a state to its product with the recurrence."""
    biases: list[Operand] | None
    """Of the inputs, and of the state."""
    peepholes: Operand | None

    def activations(self, *defaults: str) -> list[Function]:
        """Return the activation functions, which attributes list for one direction after another."""
        return [_activation(self.node, len(defaults) * self.number + i, name) for i, name in enumerate(defaults)]

    def clipped(self, x: Operand) -> Operand:
        """Return the argument of an activation function, which an attribute may limit."""
        limit = self.node.attribute("clip")
        return x if limit is None else op.clip(x, -float(limit), float(limit))

    def parts(self, x: Operand, count: int) -> list[Operand]:
        """Return the parts of a row for each gate."""
        return pieces(x, [self.size] * count, -1)

    def total(self, projected: Operand, old: Operand) -> Operand:
        """Return the sum of the projected input, the projected state and both biases."""
        x = op.add(projected, self.product(old))
        return x if self.biases is None else op.add(x, op.add(*self.biases))


Products = Callable[[int], tuple[Function, Function]]
"""From the number of a direction to the products with its weight and its recurrence."""


UNROLLED = 16
"""The steps at most that are written one after another. A loop takes as long, and is compiled in a small part of the
time."""


def _run(
    gates: int,
    states: int,
    start: Callable[[_Direction], Step],
    node: OnnxNode,
    *given: Tensor,
    products: Products | None = None,
) -> list[Operand]:
    """Run a network in each direction. Return the outputs of all steps, and the parts of the last states."""
    inputs, batch_first = _Inputs(*given), node.flag("layout")

    def moved(x: Operand) -> Operand:
        return op.permute_dims(x, [1, 0, 2]) if batch_first else x

    data = moved(inputs.x)
    length, batch, _ = node.shape(data)
    directions, *sizes = node.static_shape(inputs.recurrence)
    size = min(sizes)
    outputs: list[Operand] = []
    finals: list[list[Operand]] = []
    for d in range(directions):
        is_reverse = d == 1 or node.text("direction", "forward") == "reverse"
        bias, peepholes = (None if x is None else part_at(x, 0, d) for x in (inputs.bias, inputs.peepholes))
        biases = None if bias is None else pieces(bias, [gates * size] * 2, 0)
        weight, recurrence = (part_at(x, 0, d) for x in (inputs.weight, inputs.recurrence))
        project, product = (partial(_dense, weight), partial(_dense, recurrence)) if products is None else products(d)
        step = start(_Direction(node, d, size, recurrence, product, biases, peepholes))
        state = [
            node.full([batch, size], 0.0, inputs.x.element_type) if x is None else part_at(moved(x), 0, d)
            for x in (inputs.initial, inputs.initial_cell)[:states]
        ]
        projected = project(data)
        if isinstance(length, int) and length <= UNROLLED:
            places = range(length)[::-1] if is_reverse else range(length)
            columns, final = _steps(node, projected, places, inputs.lengths, step, state)
            whole = stacked(columns, 0)
        else:
            whole, final = _loop(node, projected, length, is_reverse, inputs.lengths, step, state)
        outputs.append(whole)
        finals.append(final)
    joined, last = stacked(outputs, 1), [stacked(parts, 0) for parts in zip(*finals, strict=True)]
    return [op.permute_dims(joined, [2, 0, 1, 3]) if batch_first else joined, *map(moved, last)]


def _dense(weight: Operand, x: Operand) -> Operand:
    return op.dense(x, weight)


def _steps(
    node: OnnxNode, projected: Operand, places: Sequence[int], lengths: Tensor | None, step: Step, state: list[Operand]
) -> tuple[list[Operand], list[Operand]]:
    """Run all steps of one direction. After the end of a sequence its state stays, and its output is 0."""
    columns: list[Operand] = [0.0] * len(places)
    for place in places:
        columns[place], state = _step(node, part_at(projected, 0, place), Known(np.array(place)), lengths, step, state)
    return columns, state


def _step(
    node: OnnxNode, projected: Operand, place: Tensor, lengths: Tensor | None, step: Step, state: Sequence[Operand]
) -> tuple[Operand, list[Operand]]:
    """Run a step. Return its output, and the next state."""
    new = [node.tensor(part) for part in step(projected, [*state])]
    if lengths is None:
        return new[0], [*new]
    inside = op.expand_dims(op.greater(lengths, op.astype(place, dtype=lengths.element_type)), 1)
    output = op.where(inside, new[0], node.like(0, new[0]))
    return output, [op.where(inside, part, old) for part, old in zip(new, state, strict=True)]


def _loop(
    node: OnnxNode,
    projected: Operand,
    length: Size,
    is_reverse: bool,
    lengths: Tensor | None,
    step: Step,
    state: list[Operand],
) -> tuple[Operand, list[Operand]]:
    """Run all steps of one direction over sequences of many steps or of dynamic length, as a loop of the program."""

    def trip(i: Tensor, state: Sequence[Tensor]) -> tuple[list[Operand], list[Row]]:
        place = node.tensor(op.subtract(Known(np.asarray(length - 1)), i)) if is_reverse else i
        output, following = _step(node, op.take(rows, place, axis=0), place, lengths, step, state)
        return following, [Row(output, place)]

    rows = node.tensor(projected)
    *final, whole = counted(node.builder, length, trip, state)
    return whole, [*final]


def _rnn(direction: _Direction) -> Step:
    """Return the step of a simple recurrent network."""
    (function,) = direction.activations("Tanh")

    def run(projected: Operand, state: list[Operand]) -> list[Operand]:
        return [function(direction.clipped(direction.total(projected, state[0])))]

    return run


def _gru(direction: _Direction) -> Step:
    """Return the step of gated recurrent units: an update gate, a reset gate and the hidden state."""
    node, size, clipped = direction.node, direction.size, direction.clipped
    gate, hidden = direction.activations("Sigmoid", "Tanh")
    outer, inner = pieces(direction.recurrence, [2 * size, size], 0)
    biases = None if direction.biases is None else [direction.parts(part, 3) for part in direction.biases]

    def run(projected: Operand, state: list[Operand]) -> list[Operand]:
        old = state[0]
        z, r, h = direction.parts(projected, 3)
        recurrent_z, recurrent_r = direction.parts(op.dense(old, outer), 2)
        z, r = op.add(z, recurrent_z), op.add(r, recurrent_r)
        if biases is not None:
            z, r = op.add(z, op.add(biases[0][0], biases[1][0])), op.add(r, op.add(biases[0][1], biases[1][1]))
            h = op.add(h, biases[0][2])
        update, reset = gate(clipped(z)), node.tensor(gate(clipped(r)))
        if node.integer("linear_before_reset"):
            linear: Operand = op.dense(old, inner)
            h = op.add(h, op.multiply(reset, linear if biases is None else op.add(linear, biases[1][2])))
        else:
            h = op.add(h, op.dense(op.multiply(reset, old), inner))
            h = h if biases is None else op.add(h, biases[1][2])
        kept = node.tensor(update)
        return [op.add(op.multiply(1.0 - kept, hidden(clipped(h))), op.multiply(kept, old))]

    return run


def _lstm(direction: _Direction) -> Step:
    """Return the step of long short-term memory: an input, an output and a forget gate, and a cell."""
    node, clipped = direction.node, direction.clipped
    gate, cell, hidden = direction.activations("Sigmoid", "Tanh", "Tanh")
    peep = None if direction.peepholes is None else direction.parts(direction.peepholes, 3)

    def run(projected: Operand, state: list[Operand]) -> list[Operand]:
        old, old_cell = state
        i, o, f, c = direction.parts(direction.total(projected, old), 4)
        if peep is not None:
            i, f = op.add(i, op.multiply(peep[0], old_cell)), op.add(f, op.multiply(peep[2], old_cell))
        entry = node.tensor(gate(clipped(i)))
        kept = op.subtract(1.0, entry) if node.integer("input_forget") else gate(clipped(f))
        new_cell = op.add(op.multiply(kept, old_cell), op.multiply(entry, cell(clipped(c))))
        o = o if peep is None else op.add(o, op.multiply(peep[1], new_cell))
        return [op.multiply(gate(clipped(o)), hidden(new_cell)), new_cell]

    return run


row("RNN", partial(_run, 1, 1, _rnn), with_node)
row("GRU", partial(_run, 3, 1, _gru), with_node)
row("LSTM", partial(_run, 4, 2, _lstm), with_node)


def lstm(node: OnnxNode, products: Products, *given: Tensor) -> list[Operand]:
    """Run long short-term memory by given products."""
    return _run(4, 2, _lstm, node, *given, products=products)
