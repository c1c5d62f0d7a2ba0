"""The arguments of primitives: as a schedule says them, as properties of an op, and as a primitive gets them; and the
names of what it creates."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from inspect import Parameter, Signature, signature
from typing import Any, TypeAlias

from xdsl.dialects.builtin import AffineMapAttr, IntegerAttr, StringAttr, SymbolRefAttr, i64
from xdsl.ir import Attribute
from xdsl.ir.affine import AffineExpr, AffineMap

from relex.dialects.errors import UnknownNameError, fail
from relex.dialects.names import Names
from relex.dialects.schedule import BufferRole, BufferRoleAttr
from relex.dialects.schedule.loop_primitives import factors_attr, factors_in
from relex.dialects.schedule.sequence import names_in, symbols
from relex.dialects.tir import BlockOp, ForOp, PrimFuncOp
from relex.passes.analysis.loop_tree import find_block, find_loop, structures_in


@dataclass(frozen=True)
class Block:
    """A block of a function, by name."""

    func: str
    name: str


@dataclass(frozen=True)
class Loop:
    """A loop of a function, by label."""

    func: str
    label: str


IndexMap: TypeAlias = AffineMap | Callable[..., tuple[AffineExpr | int, ...]]
"""New indices for old ones, as in `lambda n, k: (n // 16, k, n % 16)`."""


@dataclass(frozen=True)
class ArgumentKind:
    """A kind of argument. An argument `x` is usually the property `x` of the op."""

    write: Callable[[str, Any], Mapping[str, Attribute]]
    """Returns the properties for an argument of that name."""
    read: Callable[[Any, str, PrimFuncOp], Any]
    """Returns what the function of a primitive gets for an argument of that name."""


def _kind(
    to_attribute: Callable[[Any], Attribute], from_attribute: Callable[[Any, PrimFuncOp], object]
) -> ArgumentKind:
    return ArgumentKind(
        lambda name, value: {name: to_attribute(value)},
        lambda op, name, func: from_attribute(op.properties[name], func),
    )


KINDS: dict[Any, ArgumentKind] = {
    BlockOp: _kind(
        lambda block: SymbolRefAttr(block.name), lambda attr, func: find_block(func, attr.root_reference.data)
    ),
    ForOp: _kind(lambda loop: SymbolRefAttr(loop.label), lambda attr, func: find_loop(func, attr.root_reference.data)),
    Sequence[ForOp]: _kind(
        lambda loops: symbols(loop.label for loop in loops),
        lambda attr, func: [find_loop(func, label) for label in names_in(attr)],
    ),
    int: _kind(lambda number: IntegerAttr(number, i64), lambda attr, func: attr.value.data),
    str: _kind(StringAttr, lambda attr, func: attr.data),
    Sequence[int | None]: _kind(factors_attr, lambda attr, func: factors_in(attr)),
    tuple[str, int]: ArgumentKind(
        lambda name, buffer: {"role": BufferRoleAttr(_role(buffer[0])), "index": IntegerAttr(buffer[1], i64)},
        lambda op, name, func: (op.role.data, op.index.value.data),
    ),
    AffineMap: _kind(
        lambda index_map: AffineMapAttr(
            index_map if isinstance(index_map, AffineMap) else AffineMap.from_callable(index_map)
        ),
        lambda attr, func: attr.data,
    ),
}
"""The kinds of arguments, by the annotation of the parameter that gets them."""


@cache
def parameters_of(carry: Callable[..., Any]) -> Signature:
    """Return the signature of the function of a primitive."""
    return signature(carry, eval_str=True)


def annotation_of(parameter: Parameter) -> Any:
    """Return the type of what a parameter gets: a sequence where it takes any number of arguments."""
    several = parameter.kind is Parameter.VAR_POSITIONAL
    return Sequence[parameter.annotation] if several else parameter.annotation


def _role(text: str) -> BufferRole:
    if text not in list(BufferRole):
        raise UnknownNameError(f"expected 'read' or 'write', found '{text}'")
    return BufferRole(text)


class NewNames:
    """The names that a step of a schedule gives to what it creates, or fresh ones if it gives none."""

    def __init__(self, func: PrimFuncOp, given: Sequence[str] = ()):
        self.taken: list[str] = []
        """The names in use, names of blocks first."""
        self._func, self._given = func, given

    def take(self, blocks: Sequence[str] = (), loops: Sequence[str] = ()) -> tuple[list[str], list[str]]:
        """Return names for new blocks and loops; where none are given, fresh ones made from these."""
        structures = structures_in(self._func)
        block_names = Names(op.block_name.data for op in structures if type(op) is BlockOp)
        loop_names = Names(op.label.data for op in structures if type(op) is ForOp and op.label is not None)
        new_blocks = self._choose(block_names, blocks, self._given[: len(blocks)])
        new_loops = self._choose(loop_names, loops, self._given[len(blocks) :])
        self.taken = [*new_blocks, *new_loops]
        return new_blocks, new_loops

    def _choose(self, in_use: Names, derived: Sequence[str], given: Sequence[str]) -> list[str]:
        if not given:
            return [in_use.fresh(name) for name in derived]
        if len(given) != len(derived):
            fail(self._func, f"expected {len(derived)} new names, found {len(given)}")
        for name in given:
            if in_use.fresh(name) != name:
                fail(self._func, f"expected new names that are free, found @{name}")
        return list(given)
