"""Inputs of loop functions that are constants whenever the functions are called."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp, bf16
from xdsl.ir import SSAValue

from relex.dialects.relex import CallTirOp, ConstantOp
from relex.dialects.symbols import is_private, symbols_used
from relex.dialects.tir import PrimFuncOp


@dataclass(frozen=True)
class KnownCalls:
    """A loop function that can be called in no other way than by `calls`: its arguments may be changed in them."""

    func: PrimFuncOp
    calls: Sequence[CallTirOp]

    @property
    def constants(self) -> frozenset[int]:
        """The numbers of the inputs that are constants in each call, and that NumPy can hold."""
        return frozenset(
            i for i in range(self.func.num_inputs) if all(_is_constant(call.arguments[i]) for call in self.calls)
        )


def known_calls(module: ModuleOp) -> list[KnownCalls]:
    """The private loop functions of a module that graph functions call, and nothing else names."""
    calls: dict[str, list[CallTirOp]] = defaultdict(list)
    for op in module.walk():
        if isinstance(op, CallTirOp):
            calls[op.callee.root_reference.data].append(op)
    uses = symbols_used(module)
    functions = [op for op in module.ops if isinstance(op, PrimFuncOp) and is_private(op)]
    named = [(func, func.sym_name.data) for func in functions]
    return [KnownCalls(func, calls[name]) for func, name in named if name in calls and uses[name] == len(calls[name])]


def constant_of(value: SSAValue) -> ConstantOp:
    """The constant that a value is known to be."""
    assert isinstance(value.owner, ConstantOp)
    return value.owner


def _is_constant(value: SSAValue) -> bool:
    return isinstance(value.owner, ConstantOp) and value.owner.value.get_element_type() != bf16
