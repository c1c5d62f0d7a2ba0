"""Uses of functions and globals by name."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, ModuleOp, StringAttr, SymbolRefAttr
from xdsl.ir import Attribute, Operation
from xdsl.utils.symbol_table import get_name_if_symbol


def symbols_used(op: Operation) -> Counter[str]:
    """How often `op` and the ops in it name each symbol."""
    return Counter(
        name
        for inner in op.walk()
        for attr in (*inner.properties.values(), *inner.attributes.values())
        for name in _named_in(attr)
    )


def _named_in(attr: Attribute) -> Iterator[str]:
    match attr:
        case SymbolRefAttr():
            yield attr.root_reference.data
        case ArrayAttr(data=parts):
            for part in parts:
                yield from _named_in(part)
        case DictionaryAttr(data=parts):
            for part in parts.values():
                yield from _named_in(part)
        case _:
            return


def erase_unused(module: ModuleOp, candidates: Iterable[Operation]) -> None:
    """Erase those of the candidates that are private and that nothing names, or only others that are erased."""
    uses = symbols_used(module)
    private = {name: op for op in candidates if (name := get_name_if_symbol(op)) is not None and _is_private(op)}
    pending = [name for name in private if not uses[name]]
    while pending:
        op = private.pop(pending.pop())
        for name, count in symbols_used(op).items():
            uses[name] -= count
            if not uses[name] and name in private:
                pending.append(name)
        op.detach()
        op.erase()


def _is_private(op: Operation) -> bool:
    return op.properties.get("sym_visibility") == StringAttr("private")
