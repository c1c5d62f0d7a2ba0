"""Loops whose condition counts, `while i < n`: how often they run follows from where they start. TensorFlow's recurrent
layers become such loops."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from onnx import GraphProto, NodeProto, TensorProto, ValueInfoProto

from relex.dialects.dtypes import INTEGERS
from relex.dialects.sizes import Size, larger, smaller
from relex.frontend import op
from relex.frontend.onnx import Computed, Known, OnnxNode, Operand, Tensor

FLOATS_COUNT_TO = 2**24
"""The number that floats of 32 bits count to by ones."""

_KEPT = ("Identity", "Cast")
_WIDE = (TensorProto.FLOAT, TensorProto.DOUBLE, TensorProto.INT32, TensorProto.INT64)


def as_count(node: OnnxNode, x: Tensor) -> Size:
    """Return a number of iterations as a size: less than none are none."""
    (size,) = node.sizes(x if isinstance(x, Known) else op.maximum(x, 0), "a number of iterations")
    return size


class LoopBody:
    """The body of a `Loop`, as a graph of names."""

    def __init__(self, node: OnnxNode):
        self.node = node
        self.graph = node.graph("body")
        self.carried = [i.name for i in self.graph.input[2:]]
        self._made: dict[str, NodeProto] = {name: made for made in self.graph.node for name in made.output if name}

    def kept(self) -> list[int]:
        """Return which of the values that the loop carries no trip changes."""
        outputs = [o.name for o in self.graph.output[1:]]
        return [k for k, name in enumerate(self.carried) if self._source(outputs[k], ("Identity",)) == name]

    def trips(self, most: Tensor | None, condition: Tensor | None, initial: Sequence[Tensor]) -> Size | None:
        """Return how often the loop runs, None if its condition does more than to count. The program checks that the
        condition for the first trip is as those for later ones."""
        found: Size | None = None
        holds: list[Operand] = []
        for bound in [*self._bounds(self.graph.output[0].name, initial)]:
            if bound is None:
                return None
            left = self.node.tensor(op.subtract(bound.limit, self.node.like(bound.first, bound.limit)))
            size = larger(as_count(self.node, left), 0)
            found = size if found is None else smaller(found, size)
            holds.append(op.less(Known(0), Known(size)))
        assert found is not None
        if isinstance(condition, Computed):
            self._expect_as_later(condition, holds)
        else:
            found = larger(found, 1)
        # Exporters write the largest integer for any number.
        if most is not None and (_number(most) or 0) < 2**31 - 1:
            found = smaller(found, as_count(self.node, most))
        if any(made.op_type == "Cast" and _type_of(made) == TensorProto.FLOAT for made in self.graph.node):
            self.node.expect_at_least(FLOATS_COUNT_TO, found, "expected a loop of fewer iterations, counted in floats")
        return found

    def _expect_as_later(self, condition: Operand, holds: Sequence[Operand]) -> None:
        every = holds[0]
        for other in holds[1:]:
            every = op.logical_and(every, other)
        same = op.equal(op.reshape(condition, []), op.reshape(every, []))
        self.node.expect(same, "expected the condition for the first iteration to be as those for later ones")

    def _bounds(self, name: str, initial: Sequence[Tensor]) -> Iterator[_Bound | None]:
        """Yield the conditions for a next trip, None for one that does not count."""
        made = self._made.get(self._source(name, ("Identity",)))
        if made is None:
            yield None
        elif made.op_type == "And":
            for part in made.input:
                yield from self._bounds(part, initial)
        elif made.op_type not in ("Less", "Greater"):
            yield None
        else:
            low, high = made.input if made.op_type == "Less" else reversed(made.input)
            yield self._bound(self._source(low), self._source(high), initial)

    def _bound(self, counter: str, limit: str, initial: Sequence[Tensor]) -> _Bound | None:
        first = self._after_first(counter, initial)
        most = self._constant(limit, initial)
        if first is None or most is None or most.element_type not in INTEGERS:
            return None
        return _Bound(first - 1, most)

    def _after_first(self, name: str, initial: Sequence[Tensor]) -> int | None:
        """Return what a number that counts trips is in the first one, None for other names."""
        made = self._made.get(name)
        if made is None or made.op_type != "Add":
            return self._start(name, initial)
        for x, step in (made.input, reversed(made.input)):
            start, added = self._start(self._source(x), initial), _number(self._constant(step, initial))
            if start is not None and added is not None:
                return start + added
        return None

    def _start(self, name: str, initial: Sequence[Tensor]) -> int | None:
        """Return where a value starts that each trip adds 1 to."""
        if name == self.graph.input[0].name:
            return 0
        if name not in self.carried:
            return None
        k = self.carried.index(name)
        made = self._made.get(self._source(self.graph.output[1 + k].name, ("Identity",)))
        if made is None or made.op_type != "Add" or name not in made.input:
            return None
        (step,) = [x for x in made.input if x != name] or [""]
        return _number(initial[k]) if step and _number(self._constant(step, initial)) == 1 else None

    def _constant(self, name: str, initial: Sequence[Tensor]) -> Tensor | None:
        """Return a value that is the same in each trip, None if it is not known to be."""
        if name in self.carried:
            k = self.carried.index(name)
            return initial[k] if k in self.kept() else None
        if name == self.graph.input[0].name or name == self.graph.input[1].name:
            return None
        made = self._made.get(name)
        if made is not None and made.op_type != "Constant":
            return None
        alone = GraphProto(
            node=[] if made is None else [made],
            initializer=[tensor for tensor in self.graph.initializer if tensor.name == name],
            output=[ValueInfoProto(name=name)],
        )
        (value,) = self.node.run_graph(alone, [])
        return value if isinstance(value, Known | Computed) else None

    def _source(self, name: str, through: Sequence[str] = _KEPT) -> str:
        """Return the name of the value that one is a copy of, or the same number of another type."""
        while (made := self._made.get(name)) is not None and made.op_type in through:
            if made.op_type == "Cast" and _type_of(made) not in _WIDE:
                break
            name = made.input[0]
        return name


@dataclass(frozen=True)
class _Bound:
    """A condition that a number is below a limit. `first` is the number before the first trip."""

    first: int
    limit: Tensor


def _type_of(cast: NodeProto) -> int:
    """Return the element type that a `Cast` converts to."""
    return next((a.i for a in cast.attribute if a.name == "to"), 0)


def _number(x: Tensor | None) -> int | None:
    """Return an integer that is known at import."""
    if not isinstance(x, Known) or x.is_symbolic or x.array.size != 1 or x.array.dtype.kind not in "iu":
        return None
    number: Any = x.array.item()
    return int(number)
