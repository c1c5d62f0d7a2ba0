"""Where values may be used: behind their definition, on every way through the blocks of a region."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.traits import IsolatedFromAbove


class Dominance:
    """Answers for the values of one module, as long as it does not change. Linear in the size of the module."""

    def __init__(self, module: ModuleOp):
        self._order = {op: i for i, op in enumerate(module.walk())}
        self._trees: dict[Region, dict[Block, tuple[int, int]]] = {}

    def is_visible(self, value: SSAValue, user: Operation) -> bool:
        """Whether `user`, or an op around it, stands behind the definition of `value` whichever way it is reached."""
        owner = value.owner
        block = owner if isinstance(owner, Block) else owner.parent
        if block is None or block.parent is None:
            return False
        while user.parent is not None and user.parent.parent is not block.parent:
            around = user.parent_op()
            if around is None or around.has_trait(IsolatedFromAbove):
                return False
            user = around
        if user.parent is None:
            return False
        if user.parent is not block:
            return self._dominates(block, user.parent)
        # The order of ops in a module carries no meaning.
        if isinstance(owner, Block) or (isinstance(block.parent_op(), ModuleOp) and owner is not user):
            return True
        return self._order[owner] < self._order[user]

    def _dominates(self, block: Block, other: Block) -> bool:
        region = block.parent
        assert region is not None
        if region not in self._trees:
            self._trees[region] = _intervals(region)
        tree = self._trees[region]
        # What is never reached may use anything.
        if other not in tree:
            return True
        if block not in tree:
            return False
        (start, end), (place, _) = tree[block], tree[other]
        return start <= place < end


def _intervals(region: Region) -> dict[Block, tuple[int, int]]:
    """For each block that can be reached, its number in the dominator tree, and the first one behind those below it."""
    order = _reverse_postorder(region)
    parents = _immediate_dominators(order)
    children: dict[Block, list[Block]] = {block: [] for block in order}
    for block in order[1:]:
        children[parents[block]].append(block)
    sizes: dict[Block, int] = {}
    for block in reversed(order):
        sizes[block] = 1 + sum(sizes[child] for child in children[block])
    starts = {order[0]: 0}
    for block in order:
        place = starts[block] + 1
        for child in children[block]:
            starts[child] = place
            place += sizes[child]
    return {block: (starts[block], starts[block] + sizes[block]) for block in order}


def _successors(block: Block) -> list[Block]:
    last = block.last_op
    return [b for b in last.successors if b.parent is block.parent] if last is not None else []


def _reverse_postorder(region: Region) -> list[Block]:
    """The blocks that can be reached, each before those that only it leads to."""
    done: list[Block] = []
    seen = {region.blocks[0]}
    stack = [(region.blocks[0], iter(_successors(region.blocks[0])))]
    while stack:
        block, rest = stack[-1]
        following = next((b for b in rest if b not in seen), None)
        if following is None:
            done.append(block)
            stack.pop()
        else:
            seen.add(following)
            stack.append((following, iter(_successors(following))))
    return done[::-1]


def _immediate_dominators(order: list[Block]) -> dict[Block, Block]:
    """The last block that every way to a block passes, by the iteration of Cooper, Harvey and Kennedy."""
    number = {block: i for i, block in enumerate(order)}
    predecessors: dict[Block, list[Block]] = {block: [] for block in order}
    for block in order:
        for successor in _successors(block):
            predecessors[successor].append(block)
    parents = {order[0]: order[0]}
    changed = True
    while changed:
        changed = False
        for block in order[1:]:
            known = [b for b in predecessors[block] if b in parents]
            new = known[0]
            for other in known[1:]:
                new = _meet(new, other, parents, number)
            if parents.get(block) is not new:
                parents[block] = new
                changed = True
    return parents


def _meet(a: Block, b: Block, parents: dict[Block, Block], number: dict[Block, int]) -> Block:
    while a is not b:
        if number[a] > number[b]:
            a = parents[a]
        else:
            b = parents[b]
    return a
