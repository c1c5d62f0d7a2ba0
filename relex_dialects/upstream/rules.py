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

from relex.dialects.errors import WrongOp, types_str
from relex.dialects.function_arguments import verify_replacements
from relex.dialects.table import Table

RULES = Table[str, Callable[[Any], None]]("rules of upstream ops")
"""By op name: rules access ops dynamically, so that no dialect is imported before its use."""


def check_upstream(op: Operation) -> None:
    """Apply the rule for ops like `op`, if there is one. Raises `VerifyException`."""
    if (rule := RULES.get(op.name)) is not None:
        rule(op)


@RULES.rule("func.func")
def _function(op: Any) -> None:
    verify_replacements(op)


@RULES.rule("cf.br", "llvm.br")
def _branch(op: Any) -> None:
    _check_successors(op, op.arguments)


@RULES.rule("cf.cond_br", "llvm.cond_br")
def _conditional_branch(op: Any) -> None:
    _check_successors(op, op.then_arguments, op.else_arguments)


@RULES.rule("cf.switch")
def _switch(op: Any) -> None:
    _check_successors(op, op.default_operands, *op.case_operand)


def _check_successors(op: Operation, *arguments: Sequence[SSAValue]) -> None:
    for i, (successor, operands) in enumerate(zip(op.successors, arguments, strict=False)):
        _check_types(op, successor.arg_types, [v.type for v in operands], f"operands {{}} for successor {i}")


def _check_types(
    op: Operation, types: Iterable[Attribute], found: Iterable[Attribute], what: str = "operands {}"
) -> None:
    """Check types of an op. In messages, the types replace `{}` in `what`."""
    if list(types) != list(found):
        raise WrongOp(op, f"expected {what.format(types_str(types))}, found {types_str(found)}")


@RULES.rule("scf.if")
def _if(op: Any) -> None:
    if op.output and not op.false_region.blocks:
        raise VerifyException("expected an else region, as there are results")
    for region in op.regions:
        _check_yield(region.blocks[0] if region.blocks else None, op.output.types)


@RULES.rule("scf.while")
def _while(op: Any) -> None:
    before, after = op.before_region.block, op.after_region.block
    _check_types(op, op.arguments.types, before.arg_types, "block arguments {}")
    _check_types(op, op.res.types, after.arg_types, "block arguments {}")
    _check_yield(after, op.arguments.types)
    condition = before.last_op
    if condition is None or condition.name != "scf.condition":
        raise VerifyException("expected 'scf.condition' at the end of its first region")
    _check_types(condition, op.res.types, condition.operand_types[1:], "operands {} after the condition")


def _check_yield(block: Block | None, types: Iterable[Attribute]) -> None:
    """Check that a block that ends in `scf.yield` yields values of `types`."""
    terminator = block.last_op if block is not None else None
    if terminator is not None and terminator.name == "scf.yield":
        _check_types(terminator, types, terminator.operand_types)


@RULES.rule("memref.collapse_shape", "memref.expand_shape", "tensor.collapse_shape", "tensor.expand_shape")
def _reshape(op: Any) -> None:
    # Imported here since it needs both dialects.
    from relex.dialects.upstream.reshapes import verify_groups

    verify_groups(op)


@RULES.rule("memref.get_global")
def _get_global(op: Any) -> None:
    found = _symbol(op, op.properties["name"])
    if found.name != "memref.global":
        raise VerifyException(f"expected a 'memref.global', found '{found.name}'")
    if found.properties["type"] != op.memref.type:
        raise VerifyException(f"expected result type {found.properties['type']}, found {op.memref.type}")


@RULES.rule("llvm.mlir.addressof")
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


@RULES.rule("llvm.return")
def _llvm_return(op: Any) -> None:
    function = op.parent_op()
    if function is None or function.name != "llvm.func":
        return
    expected = function.function_type.output
    _check_types(op, [] if expected.name == "llvm.void" else [expected], op.operand_types)
