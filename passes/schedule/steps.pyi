"""The primitives as methods, for type checkers and editors: written by tests/typing/primitives.py."""

from collections.abc import Callable, Sequence
from typing import Any

from relex.dialects.schedule import PrimitiveOp
from relex.passes.schedule.arguments import Block, IndexMap, Loop

def add_method(op: type[PrimitiveOp], carry: Callable[..., Any]) -> None: ...

class Steps:
    def apply(self, func: str, op: PrimitiveOp) -> Any: ...
    def cache_read(self, block: Block, index: int) -> Block:
        """
        Let a block read a copy of the buffer that is number `index` among those it reads. The copy of `X` is made
        by a block `X_local` in loops `ax0`, `ax1`, ..., before all loops around the block. Return the block that
        makes the copy.
        """

    def cache_write(self, block: Block, index: int) -> Block:
        """
        Let a block write a new buffer instead of the one that is number `index` among those it writes. A block
        `Y_local` in loops `ax0`, `ax1`, ... copies it to `Y`, after all loops around the block. Return the block
        that copies it back.
        """

    def compact_buffer(self, block: Block, index: int) -> None:
        """
        Move a local buffer that a block writes into the innermost loop around all its uses, and shrink it to the
        footprint of one iteration. Blocks that index the buffer by values that vary outside of the loop are
        rebound, with one variable per loop.
        """

    def compute_at(self, block: Block, loop: Loop) -> None:
        """
        Move a block into a loop of its consumers: each iteration computes what it reads, in loops `ax0`, `ax1`,
        ...
        """

    def compute_inline(self, block: Block) -> None:
        """Compute the elements that a block writes where they are read, and remove the block and its buffer."""

    def decompose_reduction(self, block: Block, loop: Loop) -> Block:
        """
        Move the init of a block `Y` into a separate block `Y_init`, before a loop that holds the whole reduction.
        The new block gets copies of those loops, from that one inwards, that its variables need: `j` becomes
        `j_init`.
        """

    def dispatch(self, loops: Sequence[Loop], loop: Loop, least: int) -> list[Block]:
        """
        Make a second version of consecutive nests, whose loops have the same extent. At run time, all iterations
        of these loops are in the first version if `loop` has at least `least` iterations, and in the second one
        if it has fewer; loops of more than 32768 iterations may be divided between both. Names, local buffers and
        what is returned are as for `partition`.
        """

    def fuse(self, *loops: Loop) -> Loop:
        """Replace perfectly nested loops, outermost first, by a single loop: `i`, `j` become `i_j_fused`."""

    def order_as_integers(self, block: Block) -> None:
        """
        Let a block that computes the maximum or minimum of floats do so on integers, and store these in its
        buffer, which must be local. Other readers convert back to float. A local buffer that nothing else reads,
        such as a padded copy, holds integers, too: its elements are converted when they are written, not whenever
        they are read.
        """

    def pad(self, loop: Loop, multiple: int) -> None:
        """Round up the extent of a loop to a multiple of a number, and guard the blocks inside."""

    def parallel(self, loop: Loop) -> None:
        """Mark a loop as parallel: its iterations may run at the same time."""

    def partition(self, loops: Sequence[Loop], multiple: int) -> list[Block]:
        """
        Let loops with the same extent, in consecutive nests, run in two parts: first all nests for the largest
        number of iterations that is a multiple of `multiple`, then copies of the nests for the rest. The copy of
        a block `Y` is `Y_rest`, the copy of a loop `i` is `i_rest`. Local buffers of which every iteration uses
        its own elements are split as well. Return the blocks of the copies.
        """

    def prefetch(self, block: Block, index: int, loop: Loop, ahead: int) -> None:
        """
        Prefetch the buffer that is number `index` among those that a block reads, in a loop around the block:
        each iteration asks for the elements that are read `ahead` iterations later, a row of them if loops inside
        read several. Nothing is computed differently. It pays where elements come from memory, and the processor
        does not ask for them early enough by itself.
        """

    def reorder(self, *loops: Loop) -> None:
        """
        Put nested loops into the given order, outermost first. Loops between them that are not given stay in
        place.
        """

    def reverse_compute_at(self, block: Block, loop: Loop) -> None:
        """
        Move a block into a loop of its producers: each iteration consumes the elements that it has computed, in
        loops `ax0`, `ax1`, ... at the end of the loop.
        """

    def reverse_compute_inline(self, block: Block) -> None:
        """
        Let the elementwise producer of a block's input do the work of the block as well, and remove the block and
        the buffer between them.
        """

    def rfactor(self, block: Block, along: Loop, at: Loop) -> Block:
        """
        Let a block compute partial results in a loop `at` that holds the whole reduction, one for each iteration
        of `along` and of the spatial loops from `at` inwards. `Y_rf_init` initializes them before the loop,
        `Y_rf` does what the block did so far, and the block itself, after the loop, combines them with the
        result.
        """

    def skip_padding(self, loop: Loop) -> None:
        """
        Guard the sum of products in a loop, so that iterations of the loop are skipped in which one factor is
        padding, zeros around what another block has copied. The other factors are of inputs, or copies of them,
        that have the attribute `relex.finite`, which `annotate-finite` gives to constants without infinities and
        NaNs. Sums do not change, but for the sign of a zero.
        """

    def split(self, loop: Loop, factors: Sequence[int | None]) -> list[Loop]:
        """
        Split a loop into nested loops with the given extents; one factor may be None, and is inferred. If the
        product is not the extent, the blocks inside are guarded. `j` becomes `j_0`, `j_1`, ...
        """

    def tensorize(self, loop: Loop, by: str) -> None:
        """
        Mark a nest of loops to be computed by an instruction that multiplies tiles, one of `TILE_PRODUCTS`. The
        nest begins with the loop, and the innermost loops are over words, up to 16, rows, up to 32, and columns,
        up to 32. The block in it adds products of words of two buffers to a third one, and its init is elsewhere.
        Rows of the left buffer, rows of columns of the right one, and rows of sums are contiguous.
        """

    def transform_layout(self, block: Block, buffer: tuple[str, int], index_map: IndexMap) -> None:
        """
        Change the layout of a local buffer that a block uses: each element moves to where the map sends its
        indices. The new buffer is large enough for all these places. Sizes that are only known at run time must
        be sizes of dimensions that the map puts somewhere as they are. Blocks that address it by quotients or
        remainders of sums of loops are rebound, with one variable per loop, where that eliminates them.
        """

    def unguard(self, block: Block) -> None:
        """
        Remove the guard of a block whose additional iterations stay in bounds, and write separate elements.  No
        other block writes the additional elements, or none has before, so they had no defined contents.
        """

    def unroll(self, loop: Loop) -> None:
        """Mark a loop to be unrolled."""

    def vectorize(self, loop: Loop) -> None:
        """
        Mark a loop as vectorized: its iterations become the lanes of vectors. Their number must be known, and
        they must be independent, or steps of a reduction that may be reordered and whose init is elsewhere.
        """

    def zero_fill(self, block: Block) -> None:
        """
        Let a block store zeros, in place of what it computes, where its guard does not hold.  No other block
        writes the additional elements, so they had no defined contents.
        """
