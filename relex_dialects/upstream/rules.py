"""Verification rules of upstream ops that MLIR has and xDSL's own verifiers omit.

Without them an invalid program would be miscompiled, or crash a pass.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from xdsl.dialects.builtin import StringAttr, SymbolRefAttr
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.traits import SymbolTable
from xdsl.utils.exceptions import VerifyException

from relex.dialects.errors import WrongOp


def check_upstream(op: Operation) -> None:
    """Apply the rule for ops like `op`, if there is one. Raises `VerifyException`."""
    if (rule := _RULES.get(op.name)) is not None:
        rule(op)


# Rules are looked up by op name and access ops dynamically, so that no dialect is imported before its use.


def _branch(op: Any) -> None:
    _check_successor(op, 0, op.arguments)


def _conditional_branch(op: Any) -> None:
    _check_successor(op, 0, op.then_arguments)
    _check_successor(op, 1, op.else_arguments)


def _switch(op: Any) -> None:
    for i, operands in enumerate((op.default_operands, *op.case_operand)):
        _check_successor(op, i, operands)


def _check_successor(op: Operation, index: int, operands: Sequence[SSAValue]) -> None:
    expected, found = op.successors[index].arg_types, [operand.type for operand in operands]
    if list(expected) != found:
        raise VerifyException(f"expected operands {_types(expected)} for successor {index}, found {_types(found)}")


def _if(op: Any) -> None:
    if op.output and not op.false_region.blocks:
        raise VerifyException("expected an else region, as there are results")
    for region in op.regions:
        _check_yield(region.blocks[0] if region.blocks else None, op.output.types)


def _while(op: Any) -> None:
    before, after = op.before_region.block, op.after_region.block
    _check_arguments(before, op.arguments.types)
    _check_arguments(after, op.res.types)
    _check_yield(after, op.arguments.types)
    condition = before.last_op
    if condition is None or condition.name != "scf.condition":
        raise VerifyException("expected 'scf.condition' at the end of its first region")
    if [operand.type for operand in condition.operands[1:]] != list(op.res.types):
        found = [operand.type for operand in condition.operands[1:]]
        raise WrongOp(
            condition, f"expected operands {_types(op.res.types)} behind the condition, found {_types(found)}"
        )


def _check_arguments(block: Block, types: Iterable[Attribute]) -> None:
    if list(block.arg_types) != list(types):
        raise VerifyException(f"expected block arguments {_types(types)}, found {_types(block.arg_types)}")


def _check_yield(block: Block | None, types: Iterable[Attribute]) -> None:
    """Check that a block that ends in `scf.yield` yields values of `types`."""
    terminator = block.last_op if block is not None else None
    if terminator is None or terminator.name != "scf.yield":
        return
    found = [operand.type for operand in terminator.operands]
    if found != list(types):
        raise WrongOp(terminator, f"expected operands {_types(types)}, found {_types(found)}")


def _get_global(op: Any) -> None:
    found = _symbol(op, op.properties["name"])
    if found.name != "memref.global":
        raise VerifyException(f"expected a 'memref.global', found '{found.name}'")
    if found.properties["type"] != op.memref.type:
        raise VerifyException(f"expected result type {found.properties['type']}, found {op.memref.type}")


def _address(op: Any) -> None:
    found = _symbol(op, op.global_name)
    if found.name not in ("llvm.func", "llvm.mlir.global"):
        raise VerifyException(f"expected an 'llvm.mlir.global' or 'llvm.func', found '{found.name}'")


def _symbol(op: Operation, name: Attribute) -> Operation:
    assert isinstance(name, StringAttr | SymbolRefAttr)
    found = SymbolTable.lookup_symbol(op, name)
    if found is None:
        raise VerifyException(f"expected a symbol that is defined, found {name}")
    return found


def _llvm_return(op: Any) -> None:
    function = op.parent_op()
    if function is None or function.name != "llvm.func":
        return
    expected = function.function_type.output
    types = [] if expected.name == "llvm.void" else [expected]
    if (found := [operand.type for operand in op.operands]) != types:
        raise VerifyException(f"expected operands {_types(types)}, found {_types(found)}")


def _types(types: Iterable[Attribute]) -> str:
    return f"({', '.join(map(str, types))})"


_RULES: dict[str, Callable[[Any], None]] = {
    "cf.br": _branch,
    "cf.cond_br": _conditional_branch,
    "cf.switch": _switch,
    "llvm.br": _branch,
    "llvm.cond_br": _conditional_branch,
    "llvm.mlir.addressof": _address,
    "llvm.return": _llvm_return,
    "memref.get_global": _get_global,
    "scf.if": _if,
    "scf.while": _while,
}
