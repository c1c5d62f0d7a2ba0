"""The grouping of a graph: the decisions of `fuse-ops`."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import reduce
from heapq import heapify, heappop, heappush
from itertools import islice

from relex.dialects.tir.op_pattern import OpPattern, widest
from relex.dialects.walks import reachable


@dataclass(frozen=True)
class Node:
    """A step of a program: a call, or any other op, which is opaque."""

    pattern: OpPattern
    operands: Sequence[int]
    """The nodes, all before this one, whose results it uses or after which it must stay."""
    size: int = 1
    """The number of loop functions that it stands for."""
    copied: Collection[int] = ()
    """The operands that are copies it need not have: it reads what they copy just as well, or better."""
    starts: bool = False
    """Whether its result is so much wider than its operand that it is best computed where it is used."""


def find_groups(nodes: Sequence[Node], max_size: int) -> list[list[int]]:
    """
    Return the nodes in groups, each in program order, and the groups in topological order.

    A group grows as long as its rules and `max_size` allow, in rounds in which the groups of the round before are the
    nodes: grouping the result again changes nothing.
    """
    groups = [[i] for i in range(len(nodes))]
    while len(joined := _in_order(nodes, _Round(nodes, max_size).run())) < len(nodes):
        groups = [sorted(i for node in group for i in groups[node]) for group in joined]
        nodes = _contract(nodes, joined)
    return [groups[i] for (i,) in joined]


def _contract(nodes: Sequence[Node], groups: Sequence[Sequence[int]]) -> list[Node]:
    """Return the groups as nodes, in their order."""
    place = {node: i for i, group in enumerate(groups) for node in group}
    return [
        Node(
            widest(nodes[node].pattern for node in group),
            sorted({place[operand] for node in group for operand in nodes[node].operands} - {i}),
            sum(nodes[node].size for node in group),
            starts=any(nodes[node].starts for node in group),
        )
        for i, group in enumerate(groups)
    ]


def _in_order(nodes: Sequence[Node], groups: Sequence[Sequence[int]]) -> list[Sequence[int]]:
    """Return the groups in topological order; ties are broken by the order of their last nodes."""
    place = {node: i for i, group in enumerate(groups) for node in group}
    needed = [{place[o] for node in group for o in nodes[node].operands} - {i} for i, group in enumerate(groups)]
    needing: list[list[int]] = [[] for _ in groups]
    for i, others in enumerate(needed):
        for other in others:
            needing[other].append(i)
    missing = [len(others) for others in needed]
    ready = [(group[-1], i) for i, group in enumerate(groups) if not missing[i]]
    heapify(ready)
    order: list[Sequence[int]] = []
    while ready:
        _, i = heappop(ready)
        order.append(groups[i])
        for other in needing[i]:
            missing[other] -= 1
            if not missing[other]:
                heappush(ready, (groups[other][-1], other))
    return order


class _Round:
    """
    One round of grouping.

    First, nodes join along post-dominators: the post-dominator of a node is the first one that all paths from it lead
    to. A node joins it together with everything in between, so that such a group has one result, and no path leads out
    of it and back in. What widens a result starts a group of what uses it. Then groups whose results have further users
    take in those.
    """

    def __init__(self, nodes: Sequence[Node], max_size: int):
        self._nodes = nodes
        self._max_size = max_size
        self._users: list[list[int]] = [[] for _ in nodes]
        for i, node in enumerate(nodes):
            for operand in node.operands:
                self._users[operand].append(i)
        self._group = list(range(len(nodes)))
        """The number of each node's group."""
        self._members: dict[int, list[int]] = {i: [i] for i in range(len(nodes))}

    def run(self) -> list[list[int]]:
        """Return the groups."""
        dominators = post_dominators(self._users)
        for turn in (_SIMPLE_OR_SUM, (OpPattern.INJECTIVE,)):
            for i, dominator in enumerate(dominators):
                if dominator is not None and self._nodes[i].pattern in turn:
                    self._join_dominator(i, dominator)
        self._join_users()
        return [sorted(members) for members in self._members.values()]

    def _join_dominator(self, node: int, dominator: int) -> None:
        if self._group[node] == self._group[dominator]:
            return
        if node in self._nodes[dominator].copied and self._users[node] == [dominator]:
            self._join([node, dominator], is_copy=True)
            return
        if self._nodes[dominator].starts:
            return
        limit, end = _LIMITS[self._nodes[node].pattern]
        if not self._nodes[dominator].pattern.is_at_most(end):
            return
        between = self._between(node, dominator)
        if between is not None and all(self._nodes[i].pattern.is_at_most(limit) for i in between):
            self._join([node, *between, dominator])

    def _between(self, node: int, dominator: int) -> set[int] | None:
        """Return the nodes on the paths from a node to its post-dominator; None if there are too many for a group."""
        reached = reachable(node, lambda n: [user for user in self._users[n] if user != dominator])
        found = set(islice(reached, 1, self._max_size + 2))
        return found if len(found) <= self._max_size else None

    def _join_users(self) -> None:
        """Let groups take in remaining simple users of their results, and reductions last."""
        levels = self._levels()
        for limit in (OpPattern.BROADCAST, OpPattern.REDUCTION):
            for group in levels:
                if group in self._members:
                    self._take_in_users(group, limit, levels)

    def _take_in_users(self, group: int, limit: OpPattern, levels: dict[int, int]) -> None:
        pending = sorted(self._users_of(group), reverse=True)
        seen = set(pending)
        while pending and self._pattern(group) not in _CLOSED:
            user = pending.pop()
            if not self._pattern(user).is_at_most(limit) or self._pattern(user) is OpPattern.INJECTIVE:
                continue
            others = {self._group[o] for i in self._members[user] for o in self._nodes[i].operands} - {user, group}
            # Groups of a lower level cannot depend on this one, so no path leads out of the group and back into it.
            # The group keeps its level, which stays below the levels of all groups that depend on it.
            if all(levels[other] < levels[group] for other in others) and self._join([group, user]):
                new = self._users_of(group) - seen
                seen |= new
                pending = sorted({*pending, *new}, reverse=True)

    def _users_of(self, group: int) -> set[int]:
        return {self._group[user] for i in self._members[group] for user in self._users[i]} - {group}

    def _levels(self) -> dict[int, int]:
        """Return a level for each group, higher than the levels of all groups that it depends on."""
        levels: dict[int, int] = {}
        for members in sorted(self._members.values(), key=max):
            group = self._group[members[0]]
            needed = {self._group[o] for i in members for o in self._nodes[i].operands} - {group}
            levels[group] = 1 + max((levels[other] for other in needed), default=0)
        return levels

    def _pattern(self, group: int) -> OpPattern:
        return widest(self._nodes[i].pattern for i in self._members[group])

    def _join(self, nodes: Sequence[int], *, is_copy: bool = False) -> bool:
        """Merge the groups of some nodes into the group of the first, which may be a copy that the others do not need;
        return False if this is refused."""
        numbers = list(dict.fromkeys(self._group[i] for i in nodes))
        members = [i for number in numbers for i in self._members[number]]
        patterns = [self._nodes[i].pattern for i in members]
        if not (is_copy or _fit_together(patterns)) or sum(self._nodes[i].size for i in members) > self._max_size:
            return False
        for number in numbers[1:]:
            for i in self._members.pop(number):
                self._group[i] = numbers[0]
        self._members[numbers[0]] = members
        return True


_CLOSED = (OpPattern.REDUCTION, OpPattern.OPAQUE)
"""Patterns of groups that take in no users of their results."""

_SIMPLE_OR_SUM = (OpPattern.ELEMENTWISE, OpPattern.BROADCAST, OpPattern.OUT_ELEMENTWISE_FUSABLE)
"""Patterns of nodes that join their post-dominators first."""

_LIMITS = {
    OpPattern.ELEMENTWISE: (OpPattern.INJECTIVE, OpPattern.REDUCTION),
    OpPattern.BROADCAST: (OpPattern.INJECTIVE, OpPattern.REDUCTION),
    OpPattern.INJECTIVE: (OpPattern.INJECTIVE, OpPattern.INJECTIVE),
    OpPattern.OUT_ELEMENTWISE_FUSABLE: (OpPattern.BROADCAST, OpPattern.BROADCAST),
}
"""For each pattern of nodes that join their post-dominator, the widest one that may lie between them, and the widest
one that the post-dominator may have."""


def _fit_together(patterns: Sequence[OpPattern]) -> bool:
    """Return whether nodes may form a group: at most one product or reduction, and around a product at most
    broadcasts."""
    sums = [p for p in patterns if p is OpPattern.OUT_ELEMENTWISE_FUSABLE]
    reductions = [p for p in patterns if p is OpPattern.REDUCTION]
    if OpPattern.OPAQUE in patterns or len(sums) + len(reductions) > 1:
        return False
    return not sums or all(p.is_at_most(OpPattern.BROADCAST) for p in patterns if p not in sums)


def post_dominators(users: Sequence[Sequence[int]]) -> list[int | None]:
    """Return for each node its post-dominator, the first node that all paths from it lead to; None if there is none.
    Users come after the nodes they use.

    The running time is linear up to a logarithm: paths up the tree of post-dominators are walked in jumps whose lengths
    only depend on the depth.
    """
    end = len(users)
    above = [end] * (end + 1)
    leaps = [end] * (end + 1)
    depths = [0] * (end + 1)

    def common(a: int, b: int) -> int:
        while a != b:
            if depths[a] < depths[b]:
                a, b = b, a
            if depths[a] > depths[b]:
                a = leaps[a] if depths[leaps[a]] >= depths[b] else above[a]
            elif leaps[a] != leaps[b]:
                a, b = leaps[a], leaps[b]
            else:
                a, b = above[a], above[b]
        return a

    for node in reversed(range(end)):
        parent = above[node] = reduce(common, users[node]) if users[node] else end
        depths[node] = depths[parent] + 1
        leap = leaps[parent]
        is_even = depths[parent] - depths[leap] == depths[leap] - depths[leaps[leap]]
        leaps[node] = leaps[leap] if is_even else parent
    return [None if parent == end else parent for parent in above[:end]]
