"""Steps that several rules take: they unroll the loops of a tile, and move the consumer of its results into a loop."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TypeVar

from xdsl.ir.affine import AffineExpr, AffineMap

from relex.dialects.errors import CompileError, fail
from relex.dialects.index.atoms import Remainder
from relex.dialects.index.expr import IndexExpr, atom_of, terms_of
from relex.passes.analysis.buffers import accesses_in, buffers_read, buffers_written, only_reader
from relex.passes.analysis.dependence import block_accesses
from relex.passes.analysis.loop_tree import function_of, loops_of, name_of_block
from relex.passes.analysis.tile_nests import MOST_WORDS
from relex.passes.cpu import cost
from relex.passes.cpu.reduction_nest import block_named, count, divisors, element_written, named, uses
from relex.passes.schedule import Block, Loop, Schedule


def unroll_in_tile(schedule: Schedule, block: Block, loops: Sequence[Loop], producer: Block) -> None:
    """Unroll loops of a block, given outermost first, that run once for each tile of the results of `producer`.

    Loops that index the tile always are: LLVM keeps a buffer in registers if all accesses to it are at constant places.
    The tile fits into the registers, so these loops are short. Other loops may have any number of iterations, such as
    the loop of a softmax over the terms, which are divided by their sum. They are unrolled from the innermost outwards
    as long as the code has no more than `cost.MAX_COPIES` copies of the block.
    """
    (tile,) = buffers_written(schedule.block_op(producer))
    accesses = block_accesses(schedule.block_op(block), tile)
    found = [schedule.loop_op(loop) for loop in loops]
    chosen = [loop for loop in found if any(uses(access, loop) for access in accesses)]
    for loop in reversed([loop for loop in found if loop not in chosen]):
        if count([*chosen, loop]) > cost.MAX_COPIES:
            break
        chosen.append(loop)
    for loop in map(named, chosen):
        schedule.unroll(loop)


def move_reader(schedule: Schedule, block: Block, loop: Loop) -> Block | None:
    """Move the only consumer of a block's results into a loop of the block, as an epilogue; return it if possible."""
    reader = only_reader(schedule.block_op(block))
    if reader is None:
        return None
    epilogue = block_named(reader)
    try:
        schedule.reverse_compute_at(epilogue, loop)
    except CompileError:
        return None  # The consumer needs more than a tile.
    return epilogue


def split_reader(schedule: Schedule, block: Block) -> None:
    """Split the loops of the only consumer of a block's results where it reads quotients and remainders of them, such
    as the group of a channel and its place in the group: then it can follow the loops of the block."""
    reader = only_reader(schedule.block_op(block))
    if reader is None:
        return
    (buffer,) = buffers_written(schedule.block_op(block))
    forms = [form for access in block_accesses(reader, buffer) for form in access.element]
    divisors = {atom.dividend: atom.divisor for form in forms if isinstance(atom := atom_of(form), Remainder)}
    split = [(named(loop), divisors.get(IndexExpr.of(loop.variable))) for loop in loops_of(reader)]
    if not any(divisor for _, divisor in split):
        return
    index, rank = buffers_read(reader).index(buffer), len(forms)
    for loop, divisor in split:
        if divisor:
            schedule.split(loop, [None, divisor])
    # The same layout in terms of the new loops.
    schedule.transform_layout(block_named(reader), ("read", index), AffineMap.identity(rank))


@dataclass(frozen=True)
class Nest:
    """A block. Derived classes have the loops around it by their role, each a loop or several."""

    block: Block

    followers: Sequence[Block] = field(default=(), kw_only=True)
    """Blocks that read what the only consumer of the results writes, and take part in what happens to it."""


NestT = TypeVar("NestT", bound=Nest)


def part(schedule: Schedule, nest: NestT, loop: Loop, multiple: int) -> NestT:
    """Let a nest, and the nest that consumes its results, run for as many iterations of a loop as are a multiple of a
    number. Return the nest for the remaining ones."""
    return _in_two_parts(schedule, nest, loop, lambda loops: schedule.partition(loops, multiple))


def dispatch(schedule: Schedule, nest: NestT, loop: Loop, deciding: Loop, least: int) -> NestT:
    """Make a second version of a nest, and of the nest that consumes its results, which does all iterations of a loop
    if another one has fewer than `least`. Return that version."""
    return _in_two_parts(schedule, nest, loop, lambda loops: schedule.dispatch(loops, deciding, least))


def _in_two_parts(
    schedule: Schedule, nest: NestT, loop: Loop, divide: Callable[[Sequence[Loop]], Sequence[Block]]
) -> NestT:
    block = nest.block
    try:
        reading = loop_of_reader(schedule, block, loop)
        reader = only_reader(schedule.block_op(block))
        consumer = block if reader is None else block_named(reader)
        others = [loop_of_reader(schedule, consumer, reading, follower) for follower in nest.followers]
        rest, *more = divide([loop, reading, *others])
    except CompileError:
        # The consumer needs more than a part of the results: they are copied part by part.
        schedule.cache_write(block, 0)
        nest = replace(nest, followers=())
        rest, *more = divide([loop, loop_of_reader(schedule, block, loop)])
    copies = dict(zip(schedule.get_loops(block), schedule.get_loops(rest), strict=True))
    loops = {role: found for role, found in vars(nest).items() if role not in ("block", "followers")}
    for role, found in loops.items():
        loops[role] = copies[found] if isinstance(found, Loop) else [copies[loop] for loop in found]
    return replace(nest, block=rest, followers=more[len(more) - len(nest.followers) :], **loops)


def parts(
    schedule: Schedule, nest: NestT, along: Callable[[NestT], Loop], sizes: Sequence[int], step: int = 1
) -> Iterator[tuple[NestT, int]]:
    """Yield a nest in parts along a loop, one for tiles of each of some sizes, that is, of `size // step` iterations;
    the last one has what is left."""
    *first, last = sizes
    for size in first:
        rest = part(schedule, nest, along(nest), size // step)
        yield nest, size
        nest = rest
    yield nest, last


def loop_of_reader(schedule: Schedule, block: Block, loop: Loop, by: Block | None = None) -> Loop:
    """Return the loop in the only consumer of a block's results, or in the given one, along which it follows the
    elements of a loop."""
    op = schedule.block_op(block)
    variable = next(found.variable for found in loops_of(op) if named(found) == loop)
    written = element_written(op)
    dimension = next((i for i, index in enumerate(written) if variable in terms_of(index)), None)
    if dimension is None:
        fail(op, f"expected {name_of_block(op)} to write elements along @{loop.label}")
    factor = terms_of(written[dimension])[variable]
    reader = only_reader(op) if by is None else schedule.block_op(by)
    reader = reader or fail(op, f"expected one block that reads what {name_of_block(op)} writes")
    (buffer,) = buffers_written(op)
    indices = [access.element[dimension] for access in block_accesses(reader, buffer)]
    loops = [found for found in loops_of(reader) if all(terms_of(i).get(found.variable) == factor for i in indices)]
    if not loops:
        name = name_of_block(op)
        fail(reader, f"expected {name_of_block(reader)} to iterate over what {name} writes along @{loop.label}")
    return named(loops[0])


def followers_of(schedule: Schedule, block: Block) -> list[Block]:
    """Return the blocks that read what the only consumer of a block's results writes, each element once."""
    reader = only_reader(schedule.block_op(block))
    if reader is None:
        return []
    (buffer,) = buffers_written(reader)
    accesses = [access for access in accesses_in(function_of(reader), buffer) if access.block is not reader]
    return [block_named(access.block) for access in accesses if len(loops_of(access.block)) == len(loops_of(reader))]


def move_followers(schedule: Schedule, followers: Sequence[Block], loop: Loop) -> list[Block]:
    """Move blocks that read what the epilogue of a tile writes to it; return those for which this is possible."""
    moved: list[Block] = []
    for follower in followers:
        with suppress(CompileError):
            schedule.reverse_compute_at(follower, loop)
            moved.append(follower)
    return moved


def can_follow(schedule: Schedule, block: Block, loops: Sequence[Loop]) -> bool:
    """Return whether the consumer of a block's results certainly has as many iterations of some loops, such as the
    rows, so that it can follow the block panel by panel."""
    if only_reader(schedule.block_op(block)) is None:
        return True  # It will be a copy of the results.
    try:
        readers = [loop_of_reader(schedule, block, loop) for loop in loops]
    except CompileError:
        return False
    return [schedule.loop_op(loop).extent for loop in readers] == [schedule.loop_op(loop).extent for loop in loops]


def move_consumer(schedule: Schedule, block: Block, loop: Loop) -> Block:
    """Move the only consumer of a block's results into a loop of the block, as an epilogue, or else a copy of the
    results to where they belong; return it."""
    epilogue = move_reader(schedule, block, loop)
    if epilogue is None:
        epilogue = schedule.cache_write(block, 0)
        schedule.reverse_compute_at(epilogue, loop)
    return epilogue


def multiply_tiles(schedule: Schedule, terms: Sequence[Loop], rows: Sequence[Loop], columns: Loop, by: str) -> None:
    """Compute the sums of a tile, whose rows are in some loops, by an instruction of a matrix unit, as many words of a
    row at a time as a tile holds and divide the last terms."""
    *others, last = terms
    step, words = schedule.split(last, [None, divisors(schedule.loop_op(last), MOST_WORDS)[-1]])
    schedule.reorder(*others, step, words, *rows, columns)
    schedule.tensorize([*others, step][0], by)


def put_columns_last(schedule: Schedule, block: Block, dimension: int) -> None:
    """Change the layout of the sums of a tile so that sums of neighbouring columns are contiguous."""
    rank = len(element_written(schedule.block_op(block)))
    indices = list(map(AffineExpr.dimension, range(rank)))
    indices.append(indices.pop(dimension))
    schedule.transform_layout(block, ("write", 0), AffineMap(rank, 0, tuple(indices)))


def put_columns_inside(schedule: Schedule, block: Block, follower: Block, tile_loop: Loop) -> None:
    """Make the loop along the columns the innermost loop of the block that consumes the sums of a tile."""
    reader = schedule.block_op(follower)
    (sums,) = buffers_written(schedule.block_op(block))
    index = next(access.element[-1] for access in block_accesses(reader, sums))
    loops = schedule.get_loops(follower)
    inside = loops[loops.index(tile_loop) + 1 :]
    inner = [loop for loop in loops_of(reader) if named(loop) in inside]
    columns = [loop for loop in inner if terms_of(index).get(loop.variable) == 1]
    order = [*(loop for loop in inner if loop not in columns), *columns]
    if order != inner:
        schedule.reorder(*map(named, order))
