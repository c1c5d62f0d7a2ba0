"""Ops that belong together as functions of their own: a pattern and a name make a pass."""

from __future__ import annotations

from abc import ABC
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, TensorType, UnitAttr
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Operation, SSAValue
from xdsl.traits import ConstantLike, is_side_effect_free

from relex.dialects.locations import fuse_locations
from relex.dialects.names import Names
from relex.dialects.relex import PRIMITIVE_ATTR, CallOp
from relex.passes.base import RelexPass
from relex.passes.support.patterns import Match, Pattern


class OutliningPass(RelexPass, ABC):
    """
    A pass that moves every match of a pattern into a function of its own and calls it from where the last op of the
    match stood. A subclass says what is matched and what the functions are called:

        @dataclass(frozen=True)
        class FuseDenseReluPass(OutliningPass):
            \"""Dense layers and their relu as one function.\"""

            name = "fuse-dense-relu"
            function_name = "fused_dense_relu"
            pattern = op(ReluOp, op(DenseOp, wildcard("x"), wildcard("w")))

    The functions are private, marked `relex.primitive`, and numbered in the order of the program: `fused_dense_relu0`,
    `fused_dense_relu1`, ... Their arguments are the values that the ops take from outside, each once, in the order of
    use, by the names of the pattern; constants are among them. Their results are those of the last op, and behind them
    the values that the pattern marks as `output()`.

    A match is left alone where it would change what the program does or how often: all its ops stand in one block,
    are pure and without regions, take and give tensors; what is no output is used inside only; and no op between them
    needs one of them and is needed by another. Each op gets into one function at most; matches that end last come
    first. Functions that are marked already are not looked into, so running the pass again changes nothing.
    """

    pattern: ClassVar[Pattern]
    function_name: ClassVar[str]

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        names = Names.of_symbols(op)
        for function in [f for f in op.ops if isinstance(f, FuncOp) and PRIMITIVE_ATTR not in f.attributes]:
            # A call may make way for matches that were none before; the first group of each round becomes one.
            while groups := find_groups(self.pattern, function):
                for group in groups:
                    # A group before this one may have become a call that stands in the way.
                    if (later := _needing(group)) is not None:
                        op.body.block.add_op(_outline(group, names.numbered(self.function_name), later))


@dataclass(frozen=True)
class Group:
    """Ops of one block that become a function."""

    ops: tuple[Operation, ...]
    """In the order of the block; the last one needs all others."""
    outputs: tuple[SSAValue, ...]
    """What is used outside, or may be."""
    names: Mapping[tuple[Operation, int], str]
    """Names for operands."""


def find_groups(pattern: Pattern, function: FuncOp) -> list[Group]:
    """The matches of a pattern that can become functions, in the order of the program."""
    order = {op: i for i, op in enumerate(function.walk())}
    groups: list[Group] = []
    taken: set[Operation] = set()
    for root in reversed(order):
        found = (_group(match, root, order) for match in pattern.matches(root))
        group = next((g for g in found if g is not None and taken.isdisjoint(g.ops) and _needing(g) is not None), None)
        if group is not None:
            groups.append(group)
            taken.update(group.ops)
    return groups[::-1]


def _group(match: Match, root: Operation, order: Mapping[Operation, int]) -> Group | None:
    """The ops of a match that become a function, if they can. Constants stay outside."""
    ops = sorted((op for op in match.ops if not op.has_trait(ConstantLike)), key=lambda op: order[op])
    if root not in ops or not all(op.parent is root.parent and _is_movable(op) for op in ops):
        return None
    inner = [value for op in ops if op is not root for value in op.results]
    outputs = [value for value in inner if value in match.outputs]
    if any(use.operation not in ops for value in inner if value not in match.outputs for use in value.uses):
        return None
    known = {value: name for name, value in reversed([*match.names.items()])}
    names = {(op, i): known[value] for op in ops for i, value in enumerate(op.operands) if value in known}
    return Group(tuple(ops), (*root.results, *outputs), names)


def _is_movable(op: Operation) -> bool:
    """Whether an op may stand in a function on tensors as well."""
    on_tensors = all(isinstance(value.type, TensorType) for value in (*op.operands, *op.results))
    return on_tensors and not op.regions and is_side_effect_free(op)


def _needing(group: Group) -> list[Operation] | None:
    """The ops among a group that need a part of it, and so must come behind all of it; None if they cannot."""
    if len(group.outputs) == len(group.ops[-1].results):
        return []
    *others, last = group.ops
    inside = set(group.ops)
    made: set[SSAValue] = set()
    later: list[Operation] = []
    for op in (*_between(others, last), last):
        if op in inside:
            made.update(op.results)
        elif any(value in made for inner in op.walk() for value in inner.operands):
            later.append(op)
            made.update(op.results)
    needed = {value.owner for op in group.ops for value in op.operands}
    return later if needed.isdisjoint(later) and all(map(is_side_effect_free, later)) else None


def _between(ops: Iterable[Operation], last: Operation) -> Sequence[Operation]:
    """Everything from the first of `ops` to before `last`."""
    missing = set(ops)
    found: list[Operation] = []
    op = last.prev_op
    while missing and op is not None:
        missing.discard(op)
        found.append(op)
        op = op.prev_op
    return found[::-1]


def _outline(group: Group, name: str, later: Sequence[Operation]) -> FuncOp:
    """Move a group into a function, and call it in its place, before the ops that must come `later`."""
    arguments = _arguments(group)
    types = [value.type for value in group.outputs]
    function = FuncOp(name, ([value.type for value in arguments], types), visibility="private")
    function.attributes[PRIMITIVE_ATTR] = UnitAttr()
    call = CallOp(name, list(arguments), types)
    function.location = call.location = fuse_locations(group.ops)
    _insert_behind(group.ops[-1], [call, *later])
    for value, result in zip(group.outputs, call.results, strict=True):
        value.replace_uses_with_if(result, lambda use: use.operation not in group.ops)
    body = function.body.block
    hints = Names()
    for parameter, hint in zip(body.args, arguments.values(), strict=True):
        parameter.name_hint = None if hint is None else hints.fresh(hint)
    inner = dict(zip(arguments, body.args, strict=True))
    for op in group.ops:
        op.detach()
        op.operands = [inner.get(value, value) for value in op.operands]
        body.add_op(op)
    body.add_op(ReturnOp(*group.outputs))
    return function


def _arguments(group: Group) -> dict[SSAValue, str | None]:
    """What a group takes from outside, in the order of use, with the names it gets there."""
    arguments: dict[SSAValue, str | None] = {}
    for op in group.ops:
        for i, value in enumerate(op.operands):
            if value.owner not in group.ops:
                arguments.setdefault(value, group.names.get((op, i), value.name_hint))
    return arguments


def _insert_behind(place: Operation, ops: Sequence[Operation]) -> None:
    """Put ops, in their order, behind another one; those that stand somewhere are moved."""
    for op in ops:
        if op.parent is not None:
            op.detach()
    if (block := place.parent) is not None:
        block.insert_ops_after(ops, place)
