"""Inputs of loop functions that are constants in every call."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import BlockArgument, SSAValue

from relex.dialects.dtypes import has_dtype
from relex.dialects.function_arguments import FINITE_ATTR, argument_attr
from relex.dialects.relex import CallTirOp, ConstantOp
from relex.dialects.symbols import is_private, symbols_called
from relex.dialects.tir import PrimFuncOp
from relex.dialects.walks import walk

CONSTANT_ATTR = "relex.constant"
"""Marks an input of a loop function that is a constant in every call, while the function is being scheduled."""


@dataclass(frozen=True)
class KnownCalls:
    """A loop function with all of its calls: since there are no others, its arguments may be changed."""

    func: PrimFuncOp
    calls: Sequence[CallTirOp]

    @property
    def constants(self) -> frozenset[int]:
        """The indices of the inputs that are constants in every call, of types that NumPy has."""
        return frozenset(
            i for i in range(self.func.num_inputs) if all(is_constant(call.arguments[i]) for call in self.calls)
        )


def known_calls(module: ModuleOp) -> list[KnownCalls]:
    """Return the private loop functions of a module that are referenced only by calls from graph functions."""
    calls: dict[str, list[CallTirOp]] = defaultdict(list)
    for op in walk(module):
        if type(op) is CallTirOp:
            calls[op.callee.root_reference.data].append(op)
    uses = symbols_called(module)
    functions = [op for op in module.ops if isinstance(op, PrimFuncOp) and is_private(op)]
    named = [(func, func.sym_name.data) for func in functions]
    return [KnownCalls(func, calls[name]) for func, name in named if name in calls and uses[name] == len(calls[name])]


def is_constant_input(value: SSAValue) -> bool:
    """Return whether a buffer is an input that is marked as constant."""
    return _is_marked(value, CONSTANT_ATTR)


def is_finite_input(value: SSAValue) -> bool:
    """Return whether a buffer is an input to which all calls pass finite numbers."""
    return _is_marked(value, FINITE_ATTR)


def constant_of(value: SSAValue) -> ConstantOp:
    """Return the constant that defines a value."""
    assert isinstance(value.owner, ConstantOp)
    return value.owner


def is_constant(value: SSAValue) -> bool:
    """Return whether a value is a constant of a type that NumPy has."""
    return isinstance(value.owner, ConstantOp) and has_dtype(value.owner.value.get_element_type())


def _is_marked(value: SSAValue, mark: str) -> bool:
    if not isinstance(value, BlockArgument):
        return False
    func = value.owner.parent_op()
    return isinstance(func, PrimFuncOp) and argument_attr(func, value.index, mark) is not None
