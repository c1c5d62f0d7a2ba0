"""The one verifier of relex: every mistake of a module, each at its place."""

from __future__ import annotations

from collections.abc import Iterable

from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import Operation
from xdsl.traits import NoTerminator, SymbolOpInterface, SymbolTable
from xdsl.utils.exceptions import VerifyException

from relex.dialects.errors import (
    CompileError,
    Diagnostic,
    InternalError,
    WrongOp,
    add_source,
    describe,
    diagnose,
    expect_module,
    name_of,
    one_line,
)
from relex.dialects.upstream.dominance import Dominance
from relex.dialects.upstream.rules import check_upstream


def verify_module(module: ModuleOp, text: str | None = None, line_offset: int = 0) -> None:
    """Verify every op of a module; raises one `CompileError` with a diagnostic for each op that is wrong.

    `text` is the source that the module was parsed from; with it, errors show the line.
    """
    expect_module(module)
    diagnostics: list[Diagnostic] = []
    crashes: list[tuple[Diagnostic, Exception]] = []
    dominance = Dominance(module)
    for op in module.walk():
        try:
            _verify_structure(op, dominance)
            _verify_op(op)
            check_upstream(op)
        except VerifyException as e:
            diagnostics.append(diagnose(e.op if isinstance(e, WrongOp) else op, one_line(e)))
        except Exception as e:
            if type(e) is Exception:
                # Some of xDSL's verifiers raise no VerifyException.
                diagnostics.append(diagnose(op, one_line(e)))
            else:
                crashes.append((diagnose(op, f"internal error in its verifier: {describe(e)}"), e))

    def located(found: Iterable[Diagnostic]) -> list[Diagnostic]:
        return [d if text is None else add_source(d, text, line_offset) for d in found]

    if diagnostics:
        # Verifiers may stumble over another op that is wrong: then what is said of that one is enough.
        raise CompileError(located(diagnostics))
    if crashes:
        raise InternalError(located(d for d, _ in crashes)) from crashes[0][1]


def _verify_op(op: Operation) -> None:
    try:
        op.verify(verify_nested_ops=False)
    except Exception as e:
        # Said already, of the op inside.
        if "IsolatedFromAbove parent" not in str(e):
            raise


def _verify_structure(op: Operation, dominance: Dominance) -> None:
    """What xDSL checks of whole regions only, or never: blocks have ops, values are defined before their use."""
    for region in op.regions:
        if len(region.blocks) == 1 and region.block.is_empty and not op.has_trait(NoTerminator):
            raise VerifyException("expected a terminator at the end of its block, found an empty block")
    if op.has_trait(SymbolTable):
        _verify_symbols(op)
    for operand in op.operands:
        if not dominance.is_visible(operand, op):
            raise VerifyException(f"expected operands that are defined before, found {name_of(operand)}")


def _verify_symbols(table: Operation) -> None:
    seen: set[str] = set()
    for op in (op for region in table.regions for block in region.blocks for op in block.ops):
        name = op.get_attr_or_prop("sym_name") if op.has_trait(SymbolOpInterface) else None
        if not isinstance(name, StringAttr):
            continue
        if name.data in seen:
            raise WrongOp(op, f"expected a symbol that is unique, found @{name.data} again")
        seen.add(name.data)
