"""The one verifier of relex: every mistake of a module, each at its place."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import Operation
from xdsl.traits import NoTerminator, SymbolOpInterface, SymbolTable
from xdsl.utils.exceptions import VerifyException

from relex.dialects.errors import CompileError, Diagnostic, WrongOp, add_source, diagnose, name_of, one_line


def verify_module(module: ModuleOp, text: str | None = None, line_offset: int = 0) -> None:
    """Verify every op of a module; raises one `CompileError` with a diagnostic for each op that is wrong.

    `text` is the source that the module was parsed from; with it, errors show the line.
    """
    diagnostics: list[Diagnostic] = []
    crashes: list[Diagnostic] = []
    order = {op: i for i, op in enumerate(module.walk())}
    for op in order:
        try:
            _verify_structure(op, order)
            op.verify(verify_nested_ops=False)
        except VerifyException as e:
            diagnostics.append(diagnose(e.op if isinstance(e, WrongOp) else op, one_line(e)))
        except Exception as e:
            # Verifiers may stumble over another op that is wrong: then what is said of that one is enough.
            crashes.append(diagnose(op, one_line(e)))
    if diagnostics or crashes:
        found = diagnostics or crashes
        raise CompileError(found if text is None else [add_source(d, text, line_offset) for d in found])


def _verify_structure(op: Operation, order: dict[Operation, int]) -> None:
    """What xDSL checks of whole regions only, or never: blocks have ops, values are defined before their use."""
    for region in op.regions:
        if len(region.blocks) == 1 and region.block.is_empty and not op.has_trait(NoTerminator):
            raise VerifyException("expected a terminator at the end of its block, found an empty block")
    if op.has_trait(SymbolTable):
        _verify_symbols(op)
    for operand in op.operands:
        if isinstance(owner := operand.owner, Operation) and _is_too_late(owner, op, order):
            raise VerifyException(f"expected operands that are defined before, found {name_of(operand)}")


def _is_too_late(definition: Operation, user: Operation, order: dict[Operation, int]) -> bool:
    """Whether a value is used before it is defined, or by the op that it comes from; between blocks nothing is said."""
    if definition.regions and definition.is_ancestor(user):
        return True
    block = definition.parent
    if block is None or isinstance(block.parent_op(), ModuleOp) or order.get(definition, -1) < order[user]:
        return False  # The order of ops in a module carries no meaning.
    return block.find_ancestor_op_in_block(user) is not None


def _verify_symbols(table: Operation) -> None:
    seen: set[str] = set()
    for op in (op for region in table.regions for block in region.blocks for op in block.ops):
        name = op.get_attr_or_prop("sym_name") if op.has_trait(SymbolOpInterface) else None
        if not isinstance(name, StringAttr):
            continue
        if name.data in seen:
            raise WrongOp(op, f"expected a symbol that is unique, found @{name.data} again")
        seen.add(name.data)
