"""Branches and loops under construction."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

from xdsl.dialects import arith, scf, tensor
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    FileLineColLoc,
    IndexType,
    IntegerType,
    TensorType,
    i1,
    i64,
)
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.utils.hints import isa

from relex.dialects.errors import types_str
from relex.dialects.op_edits import index_constant
from relex.frontend.call_site import refuse, user_place
from relex.frontend.function_body import FunctionBody, RegionScope
from relex.frontend.graph_expressions import AnyOperand, Binding
from relex.frontend.graph_expressions import Tensor as AnyTensor

Values = AnyOperand | Sequence[AnyOperand]
"""One tensor of the program, or several."""


class RegionBuilder(ABC):
    """The branches and loops of a `BlockBuilder`. Functions of Python emit what is in them, each once."""

    @abstractmethod
    def _open_body(self) -> FunctionBody: ...

    def if_(self, condition: AnyOperand, then: Callable[[], Values], otherwise: Callable[[], Values]) -> Any:
        """Emit a branch: what `then` returns where the condition holds, and what `otherwise` returns where it does not.
        The condition is a boolean tensor without dimensions. Return a value, or a tuple if they return several."""
        place, body = user_place(), self._open_body()
        holds = _number(body, condition, i1, "a condition", place)
        scopes = [_run(body, Block(), place, lambda _, branch=branch: branch()) for branch in (then, otherwise)]
        (first, values), (second, others) = scopes
        types = [value.type for value in values]
        _end(body, first, values, types, place)
        _end(body, second, others, types, place)
        return _results(body, scf.IfOp(holds, types, Region(first.block), Region(second.block)), place)

    def for_(self, count: AnyOperand, trip: Callable[..., Values], *first: AnyTensor) -> Any:
        """Emit a loop of `count` trips, a number or an integer tensor without dimensions. `trip` gets the number of a
        trip, a tensor of int64, and what the loop carries: the tensors `first` in the first trip, what it has returned
        in others. Return what the last trip does, a value or a tuple."""
        place, body = user_place(), self._open_body()
        carried = [body.value(value, place) for value in first]
        zero, one = (_constant(body, number, place) for number in (0, 1))
        limit = _constant(body, count, place) if isinstance(count, int) else _index(body, count, place)
        types = [value.type for value in carried]
        block = Block(arg_types=[IndexType(), *types])

        def inside(scope: RegionScope) -> Values:
            number = _insert(body, arith.IndexCastOp(block.args[0], i64), place)
            i = _insert(body, tensor.FromElementsOp(number, result_type=TensorType(i64, [])), place)
            return trip(*(Binding(value, scope) for value in (i, *block.args[1:])))

        scope, values = _run(body, block, place, inside)
        _end(body, scope, values, types, place)
        return _results(body, scf.ForOp(zero, limit, one, carried, Region(block)), place)

    def while_(self, condition: Callable[..., AnyOperand], trip: Callable[..., Values], *first: AnyTensor) -> Any:
        """Emit a loop that goes on while `condition` holds of what it carries: the tensors `first` before the first
        trip, and what `trip` returns for them after that. Return what it carries at the end, a value or a tuple."""
        place, body = user_place(), self._open_body()
        carried = [body.value(value, place) for value in first]
        types = [value.type for value in carried]
        before, after = Block(arg_types=types), Block(arg_types=types)
        test, (holds, *_) = _run(
            body, before, place, lambda scope: [condition(*(Binding(value, scope) for value in before.args))]
        )
        with body.region(test):
            number = _number(body, holds, i1, "a condition", place)
            body.insert(scf.ConditionOp(number, *before.args), place)
        scope, values = _run(body, after, place, lambda scope: trip(*(Binding(v, scope) for v in after.args)))
        _end(body, scope, values, types, place)
        return _results(body, scf.WhileOp(carried, types, Region(before), Region(after)), place)


def _run(
    body: FunctionBody, block: Block, place: FileLineColLoc, emit: Callable[[RegionScope], Values]
) -> tuple[RegionScope, list[SSAValue]]:
    """Emit ops in a block. Return it, and the values that the function returns."""
    scope = RegionScope(block)
    with body.region(scope):
        found = emit(scope)
        return scope, [body.value(value, place) for value in (found if isinstance(found, Sequence) else [found])]


def _end(
    body: FunctionBody,
    scope: RegionScope,
    values: Sequence[SSAValue],
    types: Sequence[Attribute],
    place: FileLineColLoc,
) -> None:
    """End a region with values of these types, in which other sizes are known."""
    found = [value.type for value in values]
    if len(found) != len(types) or not all(map(_is_like, found, types)):
        refuse(f"expected the regions to give {types_str(types)}, found {types_str(found)}", place)
    with body.region(scope):
        same = [_as_type(body, value, t, place) for value, t in zip(values, types, strict=True)]
        body.insert(scf.YieldOp(*same), place)


def _as_type(body: FunctionBody, value: SSAValue, t: Attribute, place: FileLineColLoc) -> SSAValue:
    """Return a value of a type that is the same, apart from sizes that are only known at run time."""
    return value if value.type == t or not isa(t, TensorType) else _insert(body, tensor.CastOp(value, t), place)


def _is_like(found: Attribute, expected: Attribute) -> bool:
    """Return whether types are the same, apart from sizes that one of them leaves open."""
    if not isa(found, TensorType) or not isa(expected, TensorType) or found.element_type != expected.element_type:
        return found == expected
    pairs = zip(found.get_shape(), expected.get_shape(), strict=False)
    is_same_rank = found.get_num_dims() == expected.get_num_dims()
    return is_same_rank and all(a == b or DYNAMIC_INDEX in (a, b) for a, b in pairs)


def _results(body: FunctionBody, op: Operation, place: FileLineColLoc) -> Any:
    """Insert an op. Return its result, or a tuple of its results."""
    body.insert_checked(op, place)
    bindings = body.bindings(op.results)
    return bindings[0] if len(bindings) == 1 else tuple(bindings)


def _insert(body: FunctionBody, op: Operation, place: FileLineColLoc) -> SSAValue:
    body.insert(op, place)
    return op.results[0]


def _constant(body: FunctionBody, number: int, place: FileLineColLoc) -> SSAValue:
    return _insert(body, index_constant(number), place)


def _number(body: FunctionBody, x: AnyOperand, kind: Attribute | None, what: str, place: FileLineColLoc) -> SSAValue:
    """Return the number in a tensor without dimensions, of this type or any integer."""
    value = body.value(x, place)
    t: Attribute = value.type
    if isa(t, TensorType) and not t.get_shape():
        t = t.element_type
    if t != kind if kind is not None else not isa(t, IntegerType | IndexType):
        expected = "integers" if kind is None else str(kind)
        refuse(f"expected {what} that is a tensor of {expected} without dimensions, found {value.type}", place)
    return value if t == value.type else _insert(body, tensor.ExtractOp(value, (), t), place)


def _index(body: FunctionBody, count: AnyOperand, place: FileLineColLoc) -> SSAValue:
    value = _number(body, count, None, "a number of trips", place)
    return value if isinstance(value.type, IndexType) else _insert(body, arith.IndexCastOp(value, IndexType()), place)
