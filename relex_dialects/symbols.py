"""Symbols: references to functions and globals by name, and their verification."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cache
from typing import Protocol, TypeVar, cast

from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    DictionaryAttr,
    IntegerAttr,
    ModuleOp,
    StringAttr,
    SymbolRefAttr,
)
from xdsl.ir import Attribute, Operation, ParametrizedAttribute, TypeAttribute
from xdsl.traits import SymbolOpInterface, SymbolTable, SymbolUserOpInterface
from xdsl.utils.exceptions import VerifyException

from relex.dialects.errors import WrongOp
from relex.dialects.table import is_own
from relex.dialects.walks import ancestors, walk

OpT = TypeVar("OpT", bound=Operation)


class _Caller(Protocol):
    def verify_callee(self) -> None: ...


class VerifiesCallee(SymbolUserOpInterface):
    """The trait of ops with a method `verify_callee`, which checks them against what their symbol refers to."""

    def verify(self, op: Operation) -> None:
        cast(_Caller, op).verify_callee()


def symbol_of(op: Operation) -> str | None:
    """Return the name by which symbols refer to an op, None if none can."""
    trait = op.get_trait(SymbolOpInterface)
    name = None if trait is None else trait.get_sym_attr_name(op)
    return None if name is None else name.data


_FOUND = "_relex_symbols"
"""The attribute of the object of an op with symbols that has those in it by name, as they were found last."""


def lookup(op: Operation, symbol: SymbolRefAttr) -> Operation | None:
    """Return the op that a symbol refers to at `op`, as `SymbolTable.lookup_symbol` does. It does not take longer in
    modules of many symbols, unless these change all the time."""
    table = next((scope for scope in (op, *ancestors(op)) if scope.has_trait(SymbolTable)), None)
    if table is None or symbol.nested_references.data:
        return SymbolTable.lookup_symbol(op, symbol)
    return named(table, symbol.root_reference.data)


def named(table: Operation, name: str) -> Operation | None:
    """Return the op of that name in an op with symbols, such as a module."""
    known = cast("dict[str, Operation]", vars(table).setdefault(_FOUND, {}))
    found = known.get(name)
    # It may have been removed or renamed since.
    if found is None or found.parent_op() is not table or symbol_of(found) != name:
        known.clear()
        for inner in table.regions[0].block.ops:
            if (inner_name := symbol_of(inner)) is not None:
                known.setdefault(inner_name, inner)
    return known.get(name)


def resolve(op: Operation, symbol: SymbolRefAttr, kind: type[OpT]) -> OpT:
    """Return the op that `symbol` refers to at `op`. Raises `VerifyException` unless it is a `kind`."""
    callee = lookup(op, symbol)
    if callee is None:
        raise VerifyException(f"expected a '{kind.name}' named {symbol}, found no such symbol")
    if not isinstance(callee, kind):
        raise VerifyException(f"expected {symbol} to be a '{kind.name}', found a '{callee.name}'")
    return callee


def verify_unique(what: str, names: Iterable[tuple[Operation, StringAttr]]) -> None:
    """Raise `VerifyException` at the first op that has the name of an earlier one."""
    seen: set[str] = set()
    for op, name in names:
        if name.data in seen:
            raise WrongOp(op, f"expected a {what}, found @{name.data} again")
        seen.add(name.data)


def symbols_used(op: Operation) -> Counter[str]:
    """Count the uses of each symbol in `op` and its nested ops. The steps of a schedule name loops and blocks of its
    function: these are no symbols."""
    used = Counter[str]()
    for inner in walk(op):
        # Most ops name nothing.
        for attr in (*inner.properties.values(), *inner.attributes.values()):
            if _may_name(type(attr)):
                used.update(_named_in(attr))
    for schedule in _schedules_in(op):
        used.subtract(name for step in schedule.regions[0].block.ops for name in _named_by(step))
    return +used


def symbols_called(module: ModuleOp) -> Counter[str]:
    """Count the uses of each symbol in a module, without those in schedules, which do not call the function that they
    are for."""
    used = symbols_used(module)
    for schedule in _schedules_in(module):
        used.subtract(_named_by(schedule))
    return +used


def _schedules_in(op: Operation) -> Iterator[Operation]:
    """Yield the sequences of a module, or the op itself if it is one."""
    ops = op.ops if isinstance(op, ModuleOp) else (op,)
    return (inner for inner in ops if inner.name == "schedule.sequence")


def erase_unused(module: ModuleOp, candidates: Iterable[Operation]) -> None:
    """Erase the private candidates that are unreachable from the rest of the module."""
    erase_unreachable(module, filter(is_private, candidates))


def erase_unreachable(module: ModuleOp, candidates: Iterable[Operation]) -> None:
    """Erase the candidates that are unreachable from the rest of the module."""
    private = {name: op for op in candidates if (name := symbol_of(op)) is not None}
    staying = set(module.ops) - set(private.values())
    pending = [*_named_by(module), *(name for op in staying for name in symbols_used(op))]
    while pending:
        op = private.pop(pending.pop(), None)
        if op is not None:
            pending.extend(symbols_used(op))
    for op in private.values():
        op.detach()
        op.erase()


def is_private(op: Operation) -> bool:
    """Return whether a function or global is private to its module."""
    return _visibility(op) == "private"


def is_public(op: Operation) -> bool:
    """Return whether a function or global is meant for all who use its module."""
    return _visibility(op) == "public"


def _visibility(op: Operation) -> str:
    stated = op.properties.get("sym_visibility")
    return stated.data if type(stated) is StringAttr else "public"


def _named_by(op: Operation) -> Iterator[str]:
    for attrs in (op.properties, op.attributes):
        for attr in attrs.values():
            if _may_name(type(attr)):
                yield from _named_in(attr)


_NAMELESS = (StringAttr, IntegerAttr, DenseArrayBase, DenseIntOrFPElementsAttr)
"""Frequent attributes that refer to no symbols."""


@cache
def _may_name(kind: type[Attribute]) -> bool:
    """Return whether attributes of a class may refer to symbols. Types do not, but perhaps types of other packages."""
    if not issubclass(kind, ParametrizedAttribute | ArrayAttr | DictionaryAttr) or issubclass(kind, _NAMELESS):
        return False
    return not (issubclass(kind, TypeAttribute) and is_own(kind.__module__))


def _named_in(attr: Attribute) -> Iterator[str]:
    match attr:
        case SymbolRefAttr():
            yield attr.root_reference.data
            return
        case ArrayAttr(data=parts) | ParametrizedAttribute(parameters=parts):
            inner = parts
        case DictionaryAttr(data=named):
            inner = named.values()
        case _:
            return
    for part in inner:
        if _may_name(type(part)):
            yield from _named_in(part)
