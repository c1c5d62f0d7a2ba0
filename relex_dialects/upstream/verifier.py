"""The verifier: it reports every mistake of a module at its location."""

from __future__ import annotations

from collections.abc import Iterable

from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import Operation
from xdsl.traits import IsolatedFromAbove, NoTerminator, SymbolOpInterface, SymbolTable
from xdsl.utils.exceptions import VerifyException

from relex.dialects import errors
from relex.dialects.symbols import verify_unique
from relex.dialects.upstream.dominance import Dominance
from relex.dialects.upstream.rules import check_upstream
from relex.dialects.walks import walk


def verify_module(module: ModuleOp, text: str | None = None, line_offset: int = 0) -> None:
    """Verify every op of a module. Raises one `CompileError` with a diagnostic for each invalid op.

    `text` is the source that the module was parsed from; with it, errors show the line.
    """
    errors.expect_module(module)
    diagnostics: list[errors.Diagnostic] = []
    crashes: list[tuple[errors.Diagnostic, Exception]] = []
    dominance = Dominance(module)
    for op in walk(module):
        try:
            _verify_structure(op, dominance)
            _verify_op(op)
            check_upstream(op)
        except VerifyException as e:
            wrong = e.op if isinstance(e, errors.WrongOp) else op
            diagnostics.append(errors.diagnose(wrong, _message(e, wrong)))
        except Exception as e:
            # Some of xDSL's verifiers raise a plain Exception.
            if type(e) is Exception:
                diagnostics.append(errors.diagnose(op, _message(e, op)))
            else:
                crashes.append((errors.diagnose(op, f"internal error in its verifier: {errors.describe(e)}"), e))

    def located(found: Iterable[errors.Diagnostic]) -> list[errors.Diagnostic]:
        return [d if text is None else errors.add_source(d, text, line_offset) for d in found]

    if diagnostics:
        # A verifier may crash because another op is invalid: then the diagnostic of that op is enough.
        raise errors.CompileError(located(diagnostics))
    if crashes:
        raise errors.InternalError(located(d for d, _ in crashes)) from crashes[0][1]


def _message(error: Exception, op: Operation) -> str:
    # A number in an error of relex is one of the program.
    return (
        errors.one_line(error)
        if isinstance(error, errors.RelexError)
        else errors.with_dynamic_sizes(errors.one_line(error), op)
    )


def _verify_op(op: Operation) -> None:
    try:
        op.verify(verify_nested_ops=False)
    except Exception:
        if _is_isolated(op):
            raise


def _is_isolated(op: Operation) -> bool:
    """Return whether an op keeps what its trait `IsolatedFromAbove` promises. If it does not, that is reported at the
    nested op that uses a value from outside."""
    try:
        for trait in op.get_traits_of_type(IsolatedFromAbove):
            trait.verify(op)
    except Exception:
        return False
    return True


def _verify_structure(op: Operation, dominance: Dominance) -> None:
    """Check what xDSL checks only for whole regions, or never: terminators, unique symbols, and that definitions
    dominate uses."""
    for region in op.regions:
        if len(region.blocks) == 1 and region.block.is_empty and not op.has_trait(NoTerminator):
            raise VerifyException("expected a terminator at the end of its block, found an empty block")
    if op.has_trait(SymbolTable):
        _verify_symbols(op)
    for operand in op.operands:
        if not dominance.is_visible(operand, op):
            raise VerifyException(f"expected operands that are defined before, found {errors.name_of(operand)}")


def _verify_symbols(table: Operation) -> None:
    ops = (op for region in table.regions for block in region.blocks for op in block.ops)
    names = ((op, op.get_attr_or_prop("sym_name")) for op in ops if op.has_trait(SymbolOpInterface))
    verify_unique("symbol that is unique", ((op, name) for op, name in names if isinstance(name, StringAttr)))
