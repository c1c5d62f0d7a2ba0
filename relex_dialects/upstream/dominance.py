"""Dominance: a value may be used only where its definition comes first on every path through the region."""

from __future__ import annotations

from bisect import bisect_left

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.traits import IsolatedFromAbove

from relex.dialects.walks import walk


class Dominance:
    """Dominance queries on the values of one module, valid as long as it does not change. Linear in its size."""

    def __init__(self, module: ModuleOp):
        self._order = {op: i for i, op in enumerate(walk(module))}
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
    blocks = reverse_postorder(region.blocks[0])
    dominators = _immediate_dominators(blocks)
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


def reverse_postorder(entry: Block) -> list[Block]:
    """Return the reachable blocks, each after at least one of its predecessors and after its dominators."""
    postorder: list[Block] = []
    seen: set[Block] = set()
    # A block is visited twice: its successors come in between.
    pending = [(entry, False)]
    while pending:
        block, is_done = pending.pop()
        if is_done:
            postorder.append(block)
        elif block not in seen:
            seen.add(block)
            pending += [(block, True), *((successor, False) for successor in _successors(block))]
    return postorder[::-1]


def _immediate_dominators(blocks: list[Block]) -> list[int]:
    """
    Return the number of each block's immediate dominator; the entry block's is itself.

    As Cooper, Harvey and Kennedy do: the nearest common dominator of all predecessors, until nothing changes.
    """
    numbers = {block: i for i, block in enumerate(blocks)}
    predecessors: list[set[int]] = [set() for _ in blocks]
    for i, block in enumerate(blocks):
        for successor in _successors(block):
            predecessors[numbers[successor]].add(i)
    dominators: dict[int, int] = {0: 0}
    changed = True
    while changed:
        changed = False
        for i in range(1, len(blocks)):
            # A block comes after its dominators: the last candidate is no dominator of the others.
            common = sorted(predecessors[i] & dominators.keys())
            while len(common) > 1:
                above = dominators[common.pop()]
                place = bisect_left(common, above)
                if common[place : place + 1] != [above]:
                    common.insert(place, above)
            changed = changed or dominators.get(i) != common[0]
            dominators[i] = common[0]
    return [dominators[i] for i in range(len(blocks))]
