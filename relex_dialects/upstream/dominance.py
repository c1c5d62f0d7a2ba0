"""Dominance: a value may be used only where its definition comes first on every path through the region."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.traits import IsolatedFromAbove


class Dominance:
    """Dominance queries on the values of one module, valid as long as it does not change. Linear in its size."""

    def __init__(self, module: ModuleOp):
        self._order = {op: i for i, op in enumerate(module.walk())}
        self._trees: dict[Region, dict[Block, tuple[int, int]]] = {}

    def is_visible(self, value: SSAValue, user: Operation) -> bool:
        """Return whether the definition of `value` dominates `user` or an op around it."""
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
        # Unreachable blocks may use anything.
        if other not in tree:
            return True
        if block not in tree:
            return False
        (start, end), (place, _) = tree[block], tree[other]
        return start <= place < end


def _intervals(region: Region) -> dict[Block, tuple[int, int]]:
    """Return the interval of each reachable block's subtree of the dominator tree: its own number, and the first after
    it."""
    blocks, parents = _depth_first(region)
    dominators = _immediate_dominators(blocks, parents)
    sizes = [1] * len(blocks)
    for i in reversed(range(1, len(blocks))):
        sizes[dominators[i]] += sizes[i]
    starts = [0] * len(blocks)
    free = [1] * len(blocks)
    for i in range(1, len(blocks)):
        above = dominators[i]
        starts[i] = free[above]
        free[above] += sizes[i]
        free[i] = starts[i] + 1
    return {block: (starts[i], starts[i] + sizes[i]) for i, block in enumerate(blocks)}


def _successors(block: Block) -> list[Block]:
    last = block.last_op
    return [b for b in last.successors if b.parent is block.parent] if last is not None else []


def _depth_first(region: Region) -> tuple[list[Block], list[int]]:
    """Return the reachable blocks in depth-first order, and for each the number of the block it was reached from."""
    entry = region.blocks[0]
    numbers = {entry: 0}
    parents = [0]
    stack = [(0, iter(_successors(entry)))]
    while stack:
        number, rest = stack[-1]
        following = next((b for b in rest if b not in numbers), None)
        if following is None:
            stack.pop()
            continue
        numbers[following] = len(parents)
        stack.append((len(parents), iter(_successors(following))))
        parents.append(number)
    return list(numbers), parents


def _immediate_dominators(blocks: list[Block], parents: list[int]) -> list[int]:
    """
    Return the number of each block's immediate dominator; that of the entry block is itself.

    Semidominators as in Lengauer and Tarjan, then the nearest common ancestor of each and the parent.
    """
    numbers = {block: i for i, block in enumerate(blocks)}
    predecessors: list[list[int]] = [[] for _ in blocks]
    for i, block in enumerate(blocks):
        for successor in _successors(block):
            predecessors[numbers[successor]].append(i)
    semi = list(range(len(blocks)))
    best = list(range(len(blocks)))
    linked: list[int | None] = [None] * len(blocks)

    def find_best(i: int) -> int:
        """Return the block with the least semidominator on the linked path above `i`, compressing the path."""
        path: list[int] = []
        above = linked[i]
        while above is not None and linked[above] is not None:
            path.append(i)
            i, above = above, linked[above]
        for below in reversed(path):
            if semi[best[i]] < semi[best[below]]:
                best[below] = best[i]
            linked[below] = linked[i]
            i = below
        return best[i]

    for i in reversed(range(1, len(blocks))):
        semi[i] = min(semi[find_best(p)] for p in predecessors[i])
        linked[i] = parents[i]
    dominators = parents.copy()
    for i in range(1, len(blocks)):
        while dominators[i] > semi[i]:
            dominators[i] = dominators[dominators[i]]
    return dominators
