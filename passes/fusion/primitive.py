"""Construction of functions that hold a group of operators and calls."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest

from xdsl.dialects.builtin import IndexType, TensorType, UnitAttr
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.dialects.tensor import DimOp
from xdsl.ir import Block, BlockArgument, Operation, Region, SSAValue

from relex.dialects.function_arguments import arguments
from relex.dialects.names import Names
from relex.dialects.relex import PRIMITIVE_ATTR, CallOp
from relex.dialects.tir.accesses import is_pure
from relex.dialects.upstream.hints import isa


class Primitive:
    """
    A function marked `relex.primitive` under construction. Operators and calls are copied into it; the tensors they
    need become arguments, and sizes are recomputed from these.
    """

    def __init__(self) -> None:
        self.inputs: list[SSAValue] = []
        """The values to call the function with."""
        self._block = Block()
        self._names = Names()
        self._inside: dict[SSAValue, SSAValue] = {}
        """Map values outside to those in the function."""

    def add(self, op: Operation, callee: Operation | None = None) -> None:
        """Add an operator, or a call of a loop function."""
        names = [parameter.name_hint for parameter in arguments(callee)] if callee is not None else []
        for operand, name in zip_longest(op.operands, names[: len(op.operands)]):
            self._take(operand, name)
        self._copy(op, self._inside)

    def add_group(self, call: CallOp, callee: Operation) -> None:
        """Add all ops of a group."""
        parameters = arguments(callee)
        for argument, parameter in zip(call.arguments, parameters, strict=True):
            self._take(argument, parameter.name_hint)
        inside = dict[SSAValue, SSAValue](zip(parameters, map(self._inside.__getitem__, call.arguments), strict=True))
        for op in callee.regions[0].block.ops:
            if not isinstance(op, ReturnOp):
                self._copy(op, inside)
                continue
            self._inside.update(zip(call.results, (inside[value] for value in op.operands), strict=True))

    def finish(self, outputs: Sequence[SSAValue]) -> FuncOp:
        """Return the function, without a name yet, with the given results of the added calls as its results."""
        self._block.add_op(ReturnOp(*(self._inside[value] for value in outputs)))
        types = self._block.arg_types, [value.type for value in outputs]
        function = FuncOp("", types, Region(self._block), visibility="private")
        function.attributes[PRIMITIVE_ATTR] = UnitAttr()
        return function

    def _take(self, value: SSAValue, name: str | None = None) -> None:
        """Make a value from outside available in the function."""
        if value in self._inside:
            return
        if isa(value.type, TensorType):
            argument = self._block.insert_arg(value.type, len(self._block.args))
            hint = value.name_hint or name
            argument.name_hint = self._names.fresh(hint) if hint else None
            self.inputs.append(value)
            self._inside[value] = argument
            return
        assert isinstance(value.owner, Operation)
        for operand in value.owner.operands:
            self._take(operand)
        self._copy(value.owner, self._inside)

    def _copy(self, op: Operation, inside: dict[SSAValue, SSAValue]) -> None:
        self._block.add_op(op.clone(inside))


def can_move(size: SSAValue) -> bool:
    """Return whether a size can be recomputed elsewhere from tensors alone."""
    if isinstance(size, BlockArgument) or not isinstance(size.owner, Operation) or not is_size(size.owner):
        return False
    return all(isinstance(operand.type, TensorType) or can_move(operand) for operand in size.owner.operands)


def is_size(op: Operation) -> bool:
    """Return whether an op computes sizes."""
    return isinstance(op, DimOp) or (
        is_pure(op) and not op.regions and all(isinstance(t, IndexType) for t in (*op.operand_types, *op.result_types))
    )


def meaning(function: FuncOp) -> object:
    """Return a key that is equal for functions that compute the same in the same way, whatever their names."""
    numbers: dict[SSAValue, int] = {}
    steps: list[object] = []
    for value in arguments(function):
        numbers[value] = len(numbers)
    for op in function.body.block.ops:
        for value in op.results:
            numbers[value] = len(numbers)
        properties = tuple(sorted((*op.properties.items(), *op.attributes.items()), key=lambda item: item[0]))
        steps.append((op.name, tuple(numbers[v] for v in op.operands), properties, tuple(op.result_types)))
    return function.function_type, tuple(steps)
