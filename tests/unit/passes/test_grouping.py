"""Decisions of `fuse-ops` on random graphs."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from relex.dialects.tir import OpPattern
from relex.passes.fusion.grouping import Node, find_groups, post_dominators

MAX_SIZE = 6


@st.composite
def graphs(draw: st.DrawFn) -> list[Node]:
    """Nodes with up to three operands each."""
    nodes: list[Node] = []
    patterns = st.sampled_from([OpPattern.ELEMENTWISE, *OpPattern])
    for i in range(draw(st.integers(0, 25))):
        operands = draw(st.sets(st.integers(0, i - 1), max_size=3)) if i else set[int]()
        nodes.append(Node(draw(patterns), sorted(operands)))
    return nodes


def ways(users: list[list[int]], node: int, without: int | None) -> set[int]:
    """All that can be reached from a node, not through `without`."""
    found: set[int] = set()
    pending = [node]
    while pending:
        new = {user for user in users[pending.pop()] if user != without} - found
        found |= new
        pending.extend(new)
    return found


def users_of(nodes: list[Node]) -> list[list[int]]:
    return [[i for i, node in enumerate(nodes) if operand in node.operands] for operand in range(len(nodes))]


@given(graphs())
def test_post_dominators(nodes: list[Node]) -> None:
    users = users_of(nodes)
    ends = {i for i, others in enumerate(users) if not others}
    for node, found in enumerate(post_dominators(users)):
        on_all_ways = [d for d in sorted(ways(users, node, None)) if not ways(users, node, d) & ends - {d}]
        expected = on_all_ways[0] if on_all_ways else None
        assert found == expected


@settings(max_examples=150)
@given(graphs())
def test_groups_are_sound(nodes: list[Node]) -> None:
    groups = find_groups(nodes, MAX_SIZE)
    assert sorted(i for group in groups for i in group) == list(range(len(nodes)))
    place = {i: number for number, group in enumerate(groups) for i in group}
    for group in groups:
        assert group == sorted(group)
        assert len(group) <= MAX_SIZE
        patterns = [nodes[i].pattern for i in group]
        assert len(group) == 1 or OpPattern.OPAQUE not in patterns
        hard = [p for p in patterns if not p.is_at_most(OpPattern.INJECTIVE)]
        assert len(hard) <= 1
        # The order is one in which no group needs a later one, so none needs itself by way of others.
        assert all(place[operand] <= place[i] for i in group for operand in nodes[i].operands)
        # A reduction is worked on outside of its group.
        sums = {i for i in group if nodes[i].pattern is OpPattern.REDUCTION}
        assert not any(sums & set(nodes[i].operands) for i in group)


@settings(max_examples=150)
@given(graphs())
def test_groups_do_not_group_again(nodes: list[Node]) -> None:
    groups = find_groups(nodes, MAX_SIZE)
    place = {i: number for number, group in enumerate(groups) for i in group}
    order = list(OpPattern)
    contracted = [
        Node(
            max((nodes[i].pattern for i in group), key=order.index),
            sorted({place[operand] for i in group for operand in nodes[i].operands} - {number}),
            len(group),
        )
        for number, group in enumerate(groups)
    ]
    assert find_groups(contracted, MAX_SIZE) == [[i] for i in range(len(groups))]


def chain(*patterns: OpPattern) -> list[Node]:
    return [Node(pattern, [i - 1] if i else []) for i, pattern in enumerate(patterns)]


def test_what_joins() -> None:
    product, simple, injective, reduction = (
        OpPattern.OUT_ELEMENTWISE_FUSABLE,
        OpPattern.ELEMENTWISE,
        OpPattern.INJECTIVE,
        OpPattern.REDUCTION,
    )
    assert find_groups(chain(product, simple, simple, OpPattern.OPAQUE), 9) == [[0, 1, 2], [3]]
    assert find_groups(chain(product, simple, injective), 9) == [[0, 1], [2]]
    assert find_groups(chain(injective, simple, injective, injective), 9) == [[0, 1, 2, 3]]
    assert find_groups(chain(simple, reduction, simple), 9) == [[0, 1], [2]]
    assert find_groups(chain(product, simple, reduction), 9) == [[0, 1], [2]]
    assert find_groups(chain(simple, product), 9) == [[0], [1]]
    assert find_groups([], 9) == []


def test_a_long_chain_is_cut() -> None:
    groups = find_groups(chain(*[OpPattern.ELEMENTWISE] * 1000), 64)
    assert max(map(len, groups)) == 64
    assert len(groups) < 40
