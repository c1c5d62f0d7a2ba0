"""Outlining: a pattern and a name make a pass that moves ops into separate functions."""

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
from relex.passes.driver.base import Level, RelexPass
from relex.passes.rewriting.patterns import Match, Pattern
from relex.passes.tracing import applying, current_trace, refuse


class OutliningPass(RelexPass, ABC):
    """
    A pass that moves every match of a pattern into a separate function, called in the place of the last op of the
    match. A subclass gives the pattern and the name of the functions:

        @dataclass(frozen=True)
        class FuseDenseReluPass(OutliningPass):
            \"""Dense layers and their relu as one function.\"""

            name = "fuse-dense-relu"
            function_name = "fused_dense_relu"
            pattern = op(ReluOp, op(DenseOp, wildcard("x"), wildcard("w")))

    The functions are private, marked `relex.primitive`, and numbered in program order: `fused_dense_relu0`,
    `fused_dense_relu1`, ... Their arguments are the values that the ops use from outside, constants included, each
    once, in order of use and with the names that the pattern gives. Their results are the results of the last op,
    followed by the values that the pattern marks as `output()`.

    A match is only outlined if that does not change what the program does, or how often:

    * its ops are in one block, pure and without regions, with tensors as operands and results;
    * values that are not outputs are used inside only;
    * no op between them depends on one of them while another depends on it.

    Each op ends up in one function at most; matches that end last take precedence. Functions that are already marked
    are skipped, so running the pass again changes nothing.
    """

    pattern: ClassVar[Pattern]
    function_name: ClassVar[str]
    works_on: ClassVar[Level | None] = "graph"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        names = Names.of_symbols(op)
        for function in [f for f in op.ops if isinstance(f, FuncOp) and PRIMITIVE_ATTR not in f.attributes]:
            # A call may enable new matches; at least the first group of each round becomes one.
            while groups := find_groups(self.pattern, function):
                for group in groups:
                    # A call made of an earlier group may be in the way.
                    if (later := _needing(group)) is not None:
                        with applying("outline", *group.ops) as made:
                            new, call = _outline(group, names.numbered(self.function_name), later)
                            op.body.block.add_op(new)
                            made(call)


@dataclass(frozen=True)
class Group:
    """Ops of one block that become a function."""

    ops: tuple[Operation, ...]
    """The ops in block order; the last one depends on all others."""
    outputs: tuple[SSAValue, ...]
    """The values that are, or may be, used outside."""
    names: Mapping[tuple[Operation, int], str]
    """Names for operands."""


def find_groups(pattern: Pattern, function: FuncOp) -> list[Group]:
    """Return the matches of a pattern that can become functions, in program order."""
    order = {op: i for i, op in enumerate(function.walk())}
    groups: list[Group] = []
    taken: set[Operation] = set()
    trace = current_trace()

    def first_group(root: Operation) -> Group | None:
        found = (_group(match, root, order) for match in pattern.matches(root))
        return next((g for g in found if g is not None and taken.isdisjoint(g.ops) and _needing(g) is not None), None)

    for root in reversed(order):
        group = first_group(root) if trace is None else trace.trying("outline", root, first_group)
        if group is not None:
            groups.append(group)
            taken.update(group.ops)
    return groups[::-1]


def _group(match: Match, root: Operation, order: Mapping[Operation, int]) -> Group | None:
    """Return the ops of a match as a group, if they can become a function. Constants stay outside."""
    ops = sorted((op for op in match.ops if not op.has_trait(ConstantLike)), key=lambda op: order[op])
    if root not in ops or not all(op.parent is root.parent and _is_movable(op) for op in ops):
        refuse("the ops are in several blocks, or have effects or regions")
        return None
    inner = [value for op in ops if op is not root for value in op.results]
    outputs = [value for value in inner if value in match.outputs]
    if any(use.operation not in ops for value in inner if value not in match.outputs for use in value.uses):
        refuse("a value is used outside of the match")
        return None
    known = {value: name for name, value in reversed([*match.names.items()])}
    names = {(op, i): known[value] for op in ops for i, value in enumerate(op.operands) if value in known}
    return Group(tuple(ops), (*root.results, *outputs), names)


def _is_movable(op: Operation) -> bool:
    """Return whether an op may be in a function on tensors."""
    on_tensors = all(isinstance(value.type, TensorType) for value in (*op.operands, *op.results))
    return on_tensors and not op.regions and is_side_effect_free(op)


def _needing(group: Group) -> list[Operation] | None:
    """Return the ops between the ops of a group that depend on it, and so must move after it; None if they cannot."""
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
    if needed.isdisjoint(later) and all(map(is_side_effect_free, later)):
        return later
    refuse("an op in between depends on one of the ops, and cannot move after them")
    return None


def _between(ops: Iterable[Operation], last: Operation) -> Sequence[Operation]:
    """Return all ops from the first of `ops` up to `last`, exclusive."""
    missing = set(ops)
    found: list[Operation] = []
    op = last.prev_op
    while missing and op is not None:
        missing.discard(op)
        found.append(op)
        op = op.prev_op
    return found[::-1]


def _outline(group: Group, name: str, later: Sequence[Operation]) -> tuple[FuncOp, CallOp]:
    """Move a group into a function, and call it in its place, before the ops that must come `later`. Return both."""
    arguments = _arguments(group)
    types = [value.type for value in group.outputs]
    function = FuncOp(name, ([value.type for value in arguments], types), visibility="private")
    function.attributes[PRIMITIVE_ATTR] = UnitAttr()
    call = CallOp(name, list(arguments), types)
    function.location = call.location = fuse_locations(group.ops)
    _insert_after(group.ops[-1], [call, *later])
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
    return function, call


def _arguments(group: Group) -> dict[SSAValue, str | None]:
    """Return the values that a group uses from outside, in order of use, with their names in the function."""
    arguments: dict[SSAValue, str | None] = {}
    for op in group.ops:
        for i, value in enumerate(op.operands):
            if value.owner not in group.ops:
                arguments.setdefault(value, group.names.get((op, i), value.name_hint))
    return arguments


def _insert_after(place: Operation, ops: Sequence[Operation]) -> None:
    """Insert ops in order after another one; ops that are in a block already are moved."""
    for op in ops:
        if op.parent is not None:
            op.detach()
    if (block := place.parent) is not None:
        block.insert_ops_after(ops, place)
