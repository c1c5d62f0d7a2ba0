"""Primitives that move, merge and split blocks, and introduce buffers for them."""

from __future__ import annotations

from xdsl.dialects.builtin import AffineMapAttr, FlatSymbolRefAttrConstr, IntegerAttr, i64
from xdsl.dialects.utils import EnumAttribute
from xdsl.ir import SpacedOpaqueSyntaxAttribute
from xdsl.irdl import irdl_attr_definition, irdl_op_definition, prop_def
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.str_enum import StrEnum

from relex.dialects.schedule.loop_primitives import LoopPrimitiveOp
from relex.dialects.schedule.sequence import NamingOp, PrimitiveOp


class BlockPrimitiveOp(PrimitiveOp):
    """A primitive on one block."""

    block = prop_def(FlatSymbolRefAttrConstr)

    assembly_format = "$block attr-dict"


class MovePrimitiveOp(BlockPrimitiveOp, LoopPrimitiveOp, NamingOp):
    """A primitive on one block and one loop."""

    assembly_format = "$block `at` $loop (`into` $into^)? attr-dict"


class BufferRole(StrEnum):
    """Selects among the buffers that a block reads, or those that it writes."""

    READ = "read"
    WRITE = "write"


@irdl_attr_definition
class BufferRoleAttr(EnumAttribute[BufferRole], SpacedOpaqueSyntaxAttribute):
    """The role of a buffer in a block."""

    name = "schedule.buffer_role"


class BufferPrimitiveOp(BlockPrimitiveOp):
    """A primitive on one of the buffers that a block reads, or writes, numbered in order of first access."""

    index = prop_def(IntegerAttr.constr(i64))

    def verify_(self) -> None:
        super().verify_()
        if self.index.value.data < 0:
            raise VerifyException(f"expected an index of 0 or more, found {self.index.value.data}")


@irdl_op_definition
class ComputeAtOp(MovePrimitiveOp):
    """
    Moves a block into a loop of its consumers: each iteration computes what it reads.

    ```mlir
    schedule.compute_at @T at @i_0 into [@ax0, @ax1]
    ```
    """

    name = "schedule.compute_at"


@irdl_op_definition
class ReverseComputeAtOp(MovePrimitiveOp):
    """
    Moves a block into a loop of its producers: each iteration consumes what it has computed.

    ```mlir
    schedule.reverse_compute_at @Z at @j_0 into [@ax0]
    ```
    """

    name = "schedule.reverse_compute_at"


@irdl_op_definition
class ComputeInlineOp(BlockPrimitiveOp):
    """
    Computes the elements of a block's buffer at their uses, and removes the block and its buffer.

    ```mlir
    schedule.compute_inline @T
    ```
    """

    name = "schedule.compute_inline"


@irdl_op_definition
class ReverseComputeInlineOp(BlockPrimitiveOp):
    """
    Merges a block into the producer of its input, and removes the block and the buffer between the two.

    ```mlir
    schedule.reverse_compute_inline @Z
    ```
    """

    name = "schedule.reverse_compute_inline"


@irdl_op_definition
class PrefetchReadsOp(BufferPrimitiveOp):
    """
    Prefetches, in each iteration of a loop, the elements of a buffer that a block reads some iterations later.

    ```mlir
    schedule.prefetch @Y read 1 at @k ahead 128
    ```
    """

    name = "schedule.prefetch"

    loop = prop_def(FlatSymbolRefAttrConstr)
    ahead = prop_def(IntegerAttr.constr(i64))

    assembly_format = "$block `read` $index `at` $loop `ahead` $ahead attr-dict"

    def verify_(self) -> None:
        super().verify_()
        if self.ahead.value.data < 1:
            raise VerifyException(f"expected to prefetch 1 iteration ahead or more, found {self.ahead.value.data}")


@irdl_op_definition
class CacheReadOp(BufferPrimitiveOp, NamingOp):
    """
    Makes a block read a copy of a buffer. A new block before the loops around the block makes the copy.

    ```mlir
    schedule.cache_read @Y read 1 into [@W_local, @ax0, @ax1]
    ```
    """

    name = "schedule.cache_read"

    assembly_format = "$block `read` $index (`into` $into^)? attr-dict"


@irdl_op_definition
class CacheWriteOp(BufferPrimitiveOp, NamingOp):
    """
    Makes a block write a new buffer. A new block after the loops around the block copies it to the original one.

    ```mlir
    schedule.cache_write @Y write 0 into [@Y_local, @ax0, @ax1]
    ```
    """

    name = "schedule.cache_write"

    assembly_format = "$block `write` $index (`into` $into^)? attr-dict"


@irdl_op_definition
class DecomposeReductionOp(MovePrimitiveOp):
    """
    Makes the init of a block a separate block, before a loop.

    ```mlir
    schedule.decompose_reduction @Y at @k into [@Y_init, @j_1_init]
    ```
    """

    name = "schedule.decompose_reduction"


@irdl_op_definition
class RfactorOp(BlockPrimitiveOp, NamingOp):
    """
    Makes a reduction compute partial results, one for each iteration of one of its loops (`along`). A new block after a
    loop around all of them (`at`) combines these.

    ```mlir
    schedule.rfactor @Y along @k_1 at @k_0 into [@Y_rf_init, @Y_rf, @k_1_init, @k_1_rf]
    ```
    """

    name = "schedule.rfactor"

    along = prop_def(FlatSymbolRefAttrConstr)
    at = prop_def(FlatSymbolRefAttrConstr)

    assembly_format = "$block `along` $along `at` $at (`into` $into^)? attr-dict"


@irdl_op_definition
class TransformLayoutOp(BufferPrimitiveOp):
    """
    Changes the layout of a local buffer: the element at the indices on the left of the map moves to those on the right.

    ```mlir
    schedule.transform_layout @W_local write 0 by affine_map<(n, k) -> (n floordiv 16, k, n mod 16)>
    ```
    """

    name = "schedule.transform_layout"

    role = prop_def(BufferRoleAttr)
    index_map = prop_def(AffineMapAttr)

    assembly_format = "$block $role $index `by` $index_map attr-dict"

    def verify_(self) -> None:
        super().verify_()
        if self.index_map.data.num_symbols:
            raise VerifyException("expected a map without symbols")


@irdl_op_definition
class CompactBufferOp(BufferPrimitiveOp):
    """
    Shrinks a local buffer, selected by the block that writes it, to the footprint of its uses in the loops around all
    of them, and moves its allocation into the innermost of these loops.

    ```mlir
    schedule.compact_buffer @Y write 0
    ```
    """

    name = "schedule.compact_buffer"

    assembly_format = "$block `write` $index attr-dict"


@irdl_op_definition
class UnguardOp(BlockPrimitiveOp):
    """
    Removes the condition around a block that is safe without it: all accesses stay in bounds, and nothing reads the
    additional elements that it writes.

    ```mlir
    schedule.unguard @Y
    ```
    """

    name = "schedule.unguard"


@irdl_op_definition
class ZeroFillOp(BlockPrimitiveOp):
    """
    Replaces the condition around a block that writes one element at a time: where it does not hold, zero is stored.
    These stores stay in bounds, and nothing else writes their elements.

    ```mlir
    schedule.zero_fill @W_local
    ```
    """

    name = "schedule.zero_fill"


@irdl_op_definition
class OrderAsIntegersOp(BlockPrimitiveOp):
    """
    Makes a block that computes the maximum or minimum of floats compare integers instead, which are in the same order.
    Its buffer, a local one, then holds integers.

    ```mlir
    schedule.order_as_integers @Y
    ```
    """

    name = "schedule.order_as_integers"
