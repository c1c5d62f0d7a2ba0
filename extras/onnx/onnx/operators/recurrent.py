"""Recurrent networks, as one step after another: the length of the sequences is known at import."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from relex.frontend import op
from relex.frontend.compositions import activations
from relex.frontend.compositions.indexing import part_at, pieces, stacked
from relex.frontend.onnx import Node, Operand, Tensor, imports, refuse

Function = Callable[[Operand], Operand]
Step = Callable[[Operand, list[Operand]], list[Operand]]
"""From the projected input of a step and the state to the next state, whose first part is the output."""


def _activation(node: Node, number: int, default: str) -> Function:
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
class _Direction:
    """The parameters of one direction: weights of the inputs and of the state, biases of both, other weights."""

    weight: Operand
    recurrence: Operand
    bias: list[Operand] | None
    more: Operand | None


@dataclass
class _Inputs:
    """The inputs of a network; those that LSTM alone has are the last ones."""

    x: Tensor
    weight: Tensor
    recurrence: Tensor
    bias: Tensor | None = None
    lengths: Tensor | None = None
    initial: Tensor | None = None
    initial_cell: Tensor | None = None
    peepholes: Tensor | None = None


def _run(node: Node, inputs: _Inputs, gates: int, step: Callable[[_Direction, int], Step]) -> list[Operand]:
    """Run a network in each direction. Return the outputs of all steps, and the parts of the last states."""
    batch_first = bool(node.integer("layout"))
    x, bias, more = inputs.x, inputs.bias, inputs.peepholes
    initial = [inputs.initial, inputs.initial_cell][: 2 if node.proto.op_type == "LSTM" else 1]
    data: Operand = op.permute_dims(x, [1, 0, 2]) if batch_first else x
    length, batch, _ = node.shape(data)
    steps = node.closed(length, "sequences of dynamic length")
    directions, _, size = node.static_shape(inputs.recurrence)
    text = node.text("direction", "forward")
    outputs: list[Operand] = []
    finals: list[list[Operand]] = []
    for d in range(directions):
        places = range(steps)[::-1] if text == "reverse" or d == 1 else range(steps)
        biases = None if bias is None else pieces(part_at(bias, 0, d), [gates * size] * 2, 0)
        direction = _Direction(
            part_at(inputs.weight, 0, d),
            part_at(inputs.recurrence, 0, d),
            biases,
            None if more is None else part_at(more, 0, d),
        )
        state = [
            node.full([batch, size], 0.0, x.element_type)
            if start is None
            else part_at(op.permute_dims(start, [1, 0, 2]) if batch_first else start, 0, d)
            for start in initial
        ]
        projected = op.dense(data, direction.weight)
        columns, final = _steps(node, projected, places, inputs.lengths, step(direction, d), state)
        outputs.append(stacked(columns, 0))
        finals.append(final)
    joined = stacked(outputs, 1)
    last = [stacked(parts, 0) for parts in zip(*finals, strict=True)]
    if batch_first:
        return [op.permute_dims(joined, [2, 0, 1, 3]), *(op.permute_dims(state, [1, 0, 2]) for state in last)]
    return [joined, *last]


def _steps(
    node: Node, projected: Operand, places: Sequence[int], lengths: Tensor | None, step: Step, state: list[Operand]
) -> tuple[list[Operand], list[Operand]]:
    """Run all steps of one direction. After the end of a sequence its state stays, and its output is 0."""
    columns: list[Operand] = [0.0] * len(places)
    for place in places:
        new = [node.tensor(part) for part in step(part_at(projected, 0, place), state)]
        output: Operand = new[0]
        if lengths is not None:
            inside = op.expand_dims(op.greater(lengths, node.like(place, lengths)), 1)
            output = op.where(inside, new[0], node.like(0, new[0]))
            state = [op.where(inside, part, old) for part, old in zip(new, state, strict=True)]
        else:
            state = list(new)
        columns[place] = output
    return columns, state


def _clipped(node: Node, x: Operand) -> Operand:
    limit = node.attribute("clip")
    return x if limit is None else op.clip(x, -float(limit), float(limit))


def _with_bias(x: Operand, direction: _Direction) -> Operand:
    return x if direction.bias is None else op.add(x, op.add(*direction.bias))


@imports("RNN")
def rnn(node: Node, *inputs: Tensor) -> list[Operand]:
    """A simple recurrent network."""

    def step(direction: _Direction, number: int) -> Step:
        function = _activation(node, number, "Tanh")

        def run(projected: Operand, state: list[Operand]) -> list[Operand]:
            total = op.add(projected, op.dense(state[0], direction.recurrence))
            return [function(_clipped(node, _with_bias(total, direction)))]

        return run

    return _run(node, _Inputs(*inputs), 1, step)


@imports("GRU")
def gru(node: Node, *inputs: Tensor) -> list[Operand]:
    """Gated recurrent units: an update gate, a reset gate and the hidden state."""
    size = node.static_shape(inputs[2])[2]

    def step(direction: _Direction, number: int) -> Step:
        gate, hidden = _activation(node, 2 * number, "Sigmoid"), _activation(node, 2 * number + 1, "Tanh")
        outer, inner = pieces(direction.recurrence, [2 * size, size], 0)
        biases = [pieces(part, [size] * 3, -1) for part in direction.bias] if direction.bias is not None else None

        def run(projected: Operand, state: list[Operand]) -> list[Operand]:
            (old,) = state
            z, r, h = pieces(projected, [size] * 3, -1)
            recurrent_z, recurrent_r = pieces(op.dense(old, outer), [size] * 2, -1)
            z, r = op.add(z, recurrent_z), op.add(r, recurrent_r)
            if biases is not None:
                z, r = op.add(z, op.add(biases[0][0], biases[1][0])), op.add(r, op.add(biases[0][1], biases[1][1]))
                h = op.add(h, biases[0][2])
            update, reset = gate(_clipped(node, z)), node.tensor(gate(_clipped(node, r)))
            if node.integer("linear_before_reset"):
                linear: Operand = op.dense(old, inner)
                h = op.add(h, op.multiply(reset, linear if biases is None else op.add(linear, biases[1][2])))
            else:
                h = op.add(h, op.dense(op.multiply(reset, old), inner))
                h = h if biases is None else op.add(h, biases[1][2])
            kept = node.tensor(update)
            new = op.add(op.multiply(1.0 - kept, hidden(_clipped(node, h))), op.multiply(kept, old))
            return [new]

        return run

    return _run(node, _Inputs(*inputs), 3, step)


@imports("LSTM")
def lstm(node: Node, *inputs: Tensor) -> list[Operand]:
    """Long short-term memory: an input, an output and a forget gate, and a cell."""
    size = node.static_shape(inputs[2])[2]

    def step(direction: _Direction, number: int) -> Step:
        gate, cell, hidden = (
            _activation(node, 3 * number + i, name) for i, name in enumerate(("Sigmoid", "Tanh", "Tanh"))
        )
        peep = None if direction.more is None else pieces(direction.more, [size] * 3, -1)

        def run(projected: Operand, state: list[Operand]) -> list[Operand]:
            old, old_cell = state
            total = op.add(projected, op.dense(old, direction.recurrence))
            i, o, f, c = pieces(_with_bias(total, direction), [size] * 4, -1)
            if peep is not None:
                i, f = op.add(i, op.multiply(peep[0], old_cell)), op.add(f, op.multiply(peep[2], old_cell))
            entry = node.tensor(gate(_clipped(node, i)))
            kept = op.subtract(1.0, entry) if node.integer("input_forget") else gate(_clipped(node, f))
            new_cell = op.add(op.multiply(kept, old_cell), op.multiply(entry, cell(_clipped(node, c))))
            o = o if peep is None else op.add(o, op.multiply(peep[1], new_cell))
            return [op.multiply(gate(_clipped(node, o)), hidden(new_cell)), new_cell]

        return run

    return _run(node, _Inputs(*inputs), 4, step)
