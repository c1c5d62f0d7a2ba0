"""Compute convolutions, and what is between them, with channels in blocks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import prod

from xdsl.context import Context
from xdsl.dialects.builtin import DYNAMIC_INDEX, AnyFloat, ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.utils.disjoint_set import DisjointSet

from relex.dialects.op_edits import insert_before, with_types
from relex.dialects.relex import AstypeOp, ConcatOp, ConstantOp, Conv2dOp, SubtractOp
from relex.dialects.relex.packed import BYTES
from relex.dialects.relex.properties import as_integer, as_integers
from relex.dialects.relex.types import is_bytes, shape_of, tensor_type
from relex.dialects.target.processors import Processor
from relex.dialects.target.target_attribute import processor_in
from relex.dialects.tir import Dot4Op
from relex.dialects.walks import walk
from relex.passes.analysis.tile_nests import MOST_WORDS, instruction_for
from relex.passes.cpu import cost
from relex.passes.driver.base import RelexPass
from relex.passes.graph.layout.channel_blocks import IN_BLOCKS, InBlocks, from_blocks
from relex.passes.graph.pack_bytes import can_pack
from relex.passes.rewriting.constants import erase_unused_constants
from relex.passes.rewriting.numerics import reassociates


class BlockChannelsPass(RelexPass):
    """
    Computes convolutions with constant weights with the channels of their results in blocks, of two vectors of the
    target or one, or of 64 bytes for tiles of these, which are contiguous: `[N, C / b, H, W, b]`. So the sums of a
    tile, of neighbouring places in neighbouring channels, are stored in vectors, and weights are read in order.
    Elementwise operators, `concat`, `batch_norm`, pools and means follow; where something else needs a result, it is
    brought into the usual order.

    Applies to convolutions

    * of a single group whose results reach another window or a mean, if vectors divide the channels, or few zeros fill
      the last block, which is then read in parts without them;
    * of several groups, if vectors divide the channels of each;
    * with a group for each channel of data in blocks;
    * of several groups whose rows of results do not fill vectors: always;
    * of images whose number, height and width may be dynamic.

    What else it does: two kinds of operands are brought into blocks.

    * Data with rows that are too short for vectors, or with windows that are too large to be written out: into blocks
      for the windows of each channel, with channels that have several results repeated.
    * Operands of a `concat` with others that are in blocks, for a convolution of both.

    Sums add up in another order, so `strict` compilation leaves out this pass.

    ```mlir
    func.func @main(%x: tensor<1x3x8x8xf32>) -> tensor<1x32x4x4xf32> {
      %w = relex.constant dense<0.5> : tensor<32x3x3x3xf32>
      %0 = relex.conv2d %x, %w padding = [1] : (tensor<1x3x8x8xf32>, tensor<32x3x3x3xf32>) -> tensor<1x32x8x8xf32>
      %1 = relex.relu %0 : (tensor<1x32x8x8xf32>) -> tensor<1x32x8x8xf32>
      %2 = relex.max_pool2d %1 pool_size = [2, 2] strides = [2, 2] : (tensor<1x32x8x8xf32>) -> tensor<1x32x4x4xf32>
      func.return %2 : tensor<1x32x4x4xf32>
    }
    // block-channels
    func.func @main(%x: tensor<1x3x8x8xf32>) -> tensor<1x32x4x4xf32> {
      %w = relex.constant dense<0.5> : tensor<1x3x3x3x1x32xf32>
      %0 = relex.conv2d_blocked %x, %w padding = [1]
          : (tensor<1x3x8x8xf32>, tensor<1x3x3x3x1x32xf32>) -> tensor<1x1x8x8x32xf32>
      %1 = relex.relu %0 : (tensor<1x1x8x8x32xf32>) -> tensor<1x1x8x8x32xf32>
      %2 = relex.max_pool3d %1 pool_size = [2, 2, 1] strides = [2, 2, 1]
          : (tensor<1x1x8x8x32xf32>) -> tensor<1x1x4x4x32xf32>
      %3 = relex.permute_dims %2 axes = [0, 1, 4, 2, 3] : (tensor<1x1x4x4x32xf32>) -> tensor<1x1x32x4x4xf32>
      %4 = relex.reshape %3 shape = [1, 32, 4, 4] : (tensor<1x1x32x4x4xf32>) -> tensor<1x32x4x4xf32>
      func.return %4 : tensor<1x32x4x4xf32>
    }
    ```
    """

    name = "block-channels"
    numerics = reassociates

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        processor = processor_in(op)
        if processor is None or not processor.vector_bits:
            return
        ops = list(walk(op))
        values = _ValuesInBlocks(_block_sizes(ops, processor))
        for found in ops:
            values.visit(found)
        constants = {value.owner for old in values.replaced for value in old.operands}
        for old in reversed(values.replaced):
            Rewriter.erase_op(old)
        erase_unused_constants(constants)


def _block_sizes(ops: Sequence[Operation], processor: Processor) -> dict[SSAValue, int]:
    """Return the values that are computed in blocks, and the sizes of these."""
    regions: DisjointSet[SSAValue] = DisjointSet()
    values: dict[SSAValue, None] = {}
    for op in ops:
        entry = IN_BLOCKS.find(op)
        if entry is None or entry.leaves or not _is_image(op.results[0]):
            continue
        if (alike := _alike(op, entry, processor)) is None:
            continue
        operands = [op.operands[i] for i in alike]
        result = op.results[0]
        inside = [value for value in operands if value in values]
        if len(inside) < len(operands) and not entry.enters(op, 8 * processor.line_bytes // _bits([result])):
            continue
        if not inside and not entry.slides:
            continue
        values[result] = None
        regions.add(result)
        for value in inside:
            regions.union_left(result, value)
    members: dict[SSAValue, list[SSAValue]] = {}
    for value in values:
        members.setdefault(regions.find(value), []).append(value)
    sizes: dict[SSAValue, int] = {}
    for region in members.values():
        size = _size(region, processor) if any(_is_worth_it(value, processor) for value in region) else None
        if size is None:
            size = _size_after_blocks(region, sizes, processor)
        if size is not None:
            sizes |= dict.fromkeys(region, size)
    return sizes


def _is_image(value: SSAValue) -> bool:
    """Return whether a value has the dimensions of images, with a number of channels that is known at compile time."""
    shape = shape_of(value)
    return len(shape) == 4 and shape[1] != DYNAMIC_INDEX


def _alike(op: Operation, entry: InBlocks, processor: Processor) -> Sequence[int] | None:
    """Return the indices of the operands with blocks like the result's; None if there can be no blocks, or none
    that divide the channels of a group."""
    lanes = processor.lanes(_bits([op.results[0]]))
    return None if any(count % lanes for count in entry.within(op)) else entry.alike(op)


def _is_worth_it(value: SSAValue, processor: Processor) -> bool:
    """Return whether windows slide over a value in blocks, the mean of its channels is taken, or it takes long to
    compute it in the usual order, or it sums up products of bytes, which are contiguous in blocks."""
    if isinstance(value.owner, Conv2dOp) and can_pack(value.owner):
        return True
    found = [(e, use.operation) for use in value.uses if not use.index and (e := IN_BLOCKS.find(use.operation))]
    follows = any((e.slides or e.leaves) and _alike(op, e, processor) is not None for e, op in found)
    return follows or _has_partial_vectors(value, processor)


def _has_partial_vectors(value: SSAValue, processor: Processor) -> bool:
    """Return whether a value is a convolution in groups, with enough products to make up for unblocking, that in the
    usual order would be computed in vectors along rows of images, although these do not fill them: weights of a group
    are packed for vectors along channels in blocks alone."""
    op, lanes = value.owner, processor.lanes(_bits([value]))
    if not isinstance(op, Conv2dOp) or as_integer(op.groups) == 1:
        return False
    _, channels, *window = shape_of(op.weight)
    strides = as_integers(op.strides)
    is_full = shape_of(value)[3] % lanes == 0 or prod(window) == 1
    return not (is_full and prod(strides) == 1) and channels * prod(window) > cost.COST_OF_UNBLOCKING * lanes


def _size(values: Sequence[SSAValue], processor: Processor) -> int | None:
    """Return the size of the blocks of some values that takes least time; None if there is none. It divides their
    channels, or some zeros fill the last block, which no convolution reads."""
    lanes = processor.lanes(_bits(values))
    joined = [part for value in values if isinstance(value.owner, ConcatOp) for part in value.owner.operands]
    channels = [shape_of(value)[1] for value in (*values, *joined)]
    may_fill = not any(isinstance(v.owner, ConcatOp) for v in values)
    within = [count for value in values for count in _within(value) if count % lanes == 0]
    sizes = [
        size
        for size in (*_row_of_a_tile(values, processor), 2 * lanes, lanes)
        if not any(count % size for count in within)
    ]
    fitting = [size for size in sizes if all(_fits(count, size, may_fill) for count in channels)]

    def time(size: int) -> float:
        more = cost.COST_OF_SINGLE_VECTORS if size == lanes else 0
        return (1 + more) * sum(count + -count % size for count in channels)

    return min(fitting, key=time, default=None)


def _row_of_a_tile(values: Sequence[SSAValue], processor: Processor) -> Sequence[int]:
    """Return the size of blocks whose words fill a row of a tile, if the target multiplies bytes in tiles and some
    values are such products; else nothing."""
    if instruction_for(Dot4Op, processor) is None:
        return ()
    multiplies = any(isinstance(value.owner, Conv2dOp) and can_pack(value.owner) for value in values)
    return (BYTES * MOST_WORDS,) if multiplies else ()


def _within(value: SSAValue) -> Sequence[int]:
    """Return numbers of channels that the blocks of a value must divide, if vectors do: the numbers of channels of
    groups."""
    op = value.owner
    own = entry.within(op)[:1] if isinstance(op, Operation) and (entry := IN_BLOCKS.find(op)) else ()
    readers = (use.operation for use in value.uses if not use.index)
    return [*own, *(count for reader in readers if (e := IN_BLOCKS.find(reader)) for count in e.within(reader)[1:])]


def _size_after_blocks(values: Sequence[SSAValue], sizes: Mapping[SSAValue, int], processor: Processor) -> int | None:
    """Return the size of the blocks of the results of a convolution, and what is computed from them, if it takes less
    time to fill the last block with zeros, and to bring the results into the usual order, than to do so with the data,
    which is in blocks and needed nowhere else; None if not."""
    found = [op for value in values if isinstance(op := value.owner, Conv2dOp)]
    if len(found) != 1 or any(isinstance(v.owner, ConcatOp) for v in values):
        return None
    (op,) = found
    if op.data not in sizes or not op.data.has_one_use() or as_integer(op.groups) != 1:
        return None
    lanes = processor.lanes(_bits(values))
    channels, data_channels, *window = shape_of(op.weight)
    zeros = -channels % lanes * data_channels * prod(window) / lanes
    is_worth_it = zeros + cost.COST_OF_UNBLOCKING * channels < cost.COST_OF_UNBLOCKING * data_channels
    return lanes if is_worth_it else None


def _bits(values: Sequence[SSAValue]) -> int:
    """Return the size of the widest floats among some values."""
    found = (tensor_type(value.type).element_type for value in values)
    return max((t.bitwidth for t in found if isinstance(t, AnyFloat)), default=32)


def _fits(channels: int, size: int, may_fill: bool) -> bool:
    missing = -channels % size
    return missing == 0 or (may_fill and missing <= cost.SHARE_OF_ZEROS * channels)


@dataclass
class _ValuesInBlocks:
    """Replaces values by such in blocks."""

    sizes: dict[SSAValue, int]
    blocked: dict[SSAValue, SSAValue] = field(default_factory=dict[SSAValue, SSAValue])
    again: dict[SSAValue, SSAValue] = field(default_factory=dict[SSAValue, SSAValue])
    """Values that are needed in the usual order as well, by what they were."""
    replaced: dict[Operation, None] = field(default_factory=dict[Operation, None])

    def visit(self, op: Operation) -> None:
        """Compute the result of an operator in blocks, or let it have its operands in the usual order."""
        entry = IN_BLOCKS.find(op)
        if entry is not None and (op.results[0] in self.sizes or self._leaves(op, entry)):
            self._replace(op, entry)
            return
        for i, value in enumerate(op.operands):
            if value in self.blocked:
                op.operands[i] = self._unblocked(value)

    def _leaves(self, op: Operation, entry: InBlocks) -> bool:
        return entry.leaves and op.operands[0] in self.blocked and entry.alike(op) is not None

    def _replace(self, op: Operation, entry: InBlocks) -> None:
        operands = [self.blocked.get(value, value) for value in op.operands]
        new = entry.make(op, operands, self.sizes.get(op.results[0], 1))
        result = new[-1].results[0]
        result.name_hint = op.results[0].name_hint
        insert_before(op, *new)
        if entry.leaves:
            op.results[0].replace_all_uses_with(result)
        else:
            self.blocked[op.results[0]] = result
        self.replaced[op] = None

    def _unblocked(self, value: SSAValue) -> SSAValue:
        """Return a value in the usual order, made once. Bytes are moved before they become wider."""
        if value not in self.again and (owner := _widens_bytes(value)) is not None:
            operands = [self._unblocked(v) if v in self.blocked else v for v in owner.operands]
            self.again[value] = insert_before(owner, with_types(owner, operands, owner.result_types)).results[0]
        if value not in self.again:
            source = self.blocked[value].owner
            assert isinstance(source, Operation)
            new = from_blocks(self.blocked[value], shape_of(value))
            for op in new:
                op.location = source.location
            Rewriter.insert_op(new, InsertPoint.after(source))
            self.again[value] = new[-1].results[0]
        return self.again[value]


def _widens_bytes(value: SSAValue) -> AstypeOp | SubtractOp | None:
    """Return the operator that makes wider numbers of bytes, or subtracts a constant from these; None for others."""
    match value.owner:
        case AstypeOp(operand=data) as op if is_bytes(data):
            return op
        case SubtractOp(lhs=lhs, rhs=zero) as op if isinstance(zero.owner, ConstantOp) and _widens_bytes(lhs):
            return op
        case _:
            return None
