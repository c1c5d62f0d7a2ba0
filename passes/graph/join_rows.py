"""Compute pointwise convolutions on images of long rows."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import prod

from xdsl.context import Context
from xdsl.dialects import tensor
from xdsl.dialects.builtin import DYNAMIC_INDEX, ArrayAttr, IntegerAttr, ModuleOp, TensorType, i64
from xdsl.ir import Block, Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from relex.dialects.dtypes import size_in_bytes
from relex.dialects.op_edits import index_constant, insert_before, with_types
from relex.dialects.relex import PRIMITIVE_ATTR, BlockedConvolution, ConstantOp, Conv2dOp, Elementwise
from relex.dialects.relex.types import Shape, shape_of, tensor_type
from relex.dialects.target.processors import Processor
from relex.dialects.target.target_attribute import processor_in
from relex.dialects.walks import walk
from relex.passes.cpu import cost
from relex.passes.driver.base import RelexPass


class JoinRowsPass(RelexPass):
    """
    Computes pointwise convolutions, those whose windows are single places next to each other, on images whose rows are
    joined: as many as half of the second-level cache holds. Tiles and vectors go on from row to row, so that fewer are
    left over. Elementwise operators follow. Where something else makes or needs an image, a view of its memory joins
    the rows, or parts them.

    ```mlir
    func.func @main(%x: tensor<1x8x16x16xf32>, %w: tensor<4x8x1x1xf32>) -> tensor<1x4x16x16xf32> {
      %0 = relex.conv2d %x, %w : (tensor<1x8x16x16xf32>, tensor<4x8x1x1xf32>) -> tensor<1x4x16x16xf32>
      %1 = relex.relu %0 : (tensor<1x4x16x16xf32>) -> tensor<1x4x16x16xf32>
      func.return %1 : tensor<1x4x16x16xf32>
    }
    // join-rows
    func.func @main(%x: tensor<1x8x16x16xf32>, %w: tensor<4x8x1x1xf32>) -> tensor<1x4x16x16xf32> {
      %a = tensor.collapse_shape %x [[0], [1], [2, 3]] : tensor<1x8x16x16xf32> into tensor<1x8x256xf32>
      %b = tensor.expand_shape %a [[0], [1], [2, 3]] output_shape [1, 8, 1, 256]
          : tensor<1x8x256xf32> into tensor<1x8x1x256xf32>
      %0 = relex.conv2d %b, %w : (tensor<1x8x1x256xf32>, tensor<4x8x1x1xf32>) -> tensor<1x4x1x256xf32>
      %1 = relex.relu %0 : (tensor<1x4x1x256xf32>) -> tensor<1x4x1x256xf32>
      %c = tensor.collapse_shape %1 [[0], [1], [2, 3]] : tensor<1x4x1x256xf32> into tensor<1x4x256xf32>
      %d = tensor.expand_shape %c [[0], [1], [2, 3]] output_shape [1, 4, 16, 16]
          : tensor<1x4x256xf32> into tensor<1x4x16x16xf32>
      func.return %d : tensor<1x4x16x16xf32>
    }
    ```
    """

    name = "join-rows"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        processor = processor_in(op)
        if processor is None:
            return
        images = _Images(processor)
        # Groups of operators that become one loop function have no views.
        for function in (f for f in op.ops if PRIMITIVE_ATTR not in f.attributes):
            for found in [*walk(function)]:
                images.visit(found)
        for old in reversed(images.replaced):
            Rewriter.erase_op(old)


@dataclass
class _Images:
    """The values whose rows are joined."""

    processor: Processor
    joined: dict[SSAValue, SSAValue] = field(default_factory=dict[SSAValue, SSAValue])
    """The values with joined rows, by the corresponding values of the program."""
    views: dict[tuple[SSAValue, Shape], SSAValue] = field(default_factory=dict[tuple[SSAValue, Shape], SSAValue])
    replaced: list[Operation] = field(default_factory=list[Operation])

    def visit(self, op: Operation) -> None:
        """Compute an operator with joined rows, or give it operands with the rows of the program."""
        if (sizes := self._sizes(op)) is not None:
            self._join(op, sizes)
            return
        for i, value in enumerate(op.operands):
            if value in self.joined:
                op.operands[i] = self._view(value, shape_of(value)[2:4])

    def _sizes(self, op: Operation) -> Shape | None:
        """Return the height and width of the images that an operator is computed on, if rows are joined."""
        if isinstance(op, Conv2dOp | BlockedConvolution):
            return _joined_sizes(op, self.processor)
        if not isinstance(op, Elementwise) or not _is_by_place(op):
            return None
        found = (shape_of(self.joined[value]) for value in op.operands if value in self.joined)
        return next((shape[2:4] for shape in found), None)

    def _join(self, op: Operation, sizes: Shape) -> None:
        result = op.results[0]
        old = tensor_type(result.type)
        operands = [self._view(value, sizes) if _is_image_of(op, value) else value for value in op.operands]
        kind = TensorType(old.element_type, _with_sizes(old.get_shape(), sizes))
        new = insert_before(op, with_types(op, operands, [kind]))
        new.results[0].name_hint = result.name_hint
        self.joined[result] = new.results[0]
        self.replaced.append(op)

    def _view(self, value: SSAValue, sizes: Shape) -> SSAValue:
        """Return a view of a value as images of a height and width."""
        source = self.joined.get(value, value)
        if shape_of(source)[2:4] == sizes:
            return source
        if (value, sizes) not in self.views:
            self.views[value, sizes] = _view_as(source, sizes)
        return self.views[value, sizes]


def _joined_sizes(op: Conv2dOp | BlockedConvolution, processor: Processor) -> Shape | None:
    """Return the height and width of the images that a convolution is computed on; None if rows are not joined."""
    data, weight = tensor_type(op.data.type), shape_of(op.weight)
    shape = data.get_shape()
    height, width = shape[2:4]
    if weight[2:4] != (1, 1):
        return None
    windows = op.windows(weight)
    if windows.strides != (1, 1) or any(windows.padding):
        return None
    if DYNAMIC_INDEX in shape[1:] or 0 in shape or min(height, width) < 2 or isinstance(op.data.owner, ConstantOp):
        return None
    row = prod(shape[1:]) // height * size_in_bytes(data.element_type)
    fitting = int(cost.L2_SIZES_OF_JOINED_ROWS * processor.l2_bytes) // row
    rows = max((n for n in range(1, min(height, fitting) + 1) if height % n == 0), default=1)
    return (height // rows, width * rows) if rows > 1 else None


def _is_by_place(op: Operation) -> bool:
    """Return whether an elementwise operator on images takes nothing that differs from place to place but images."""
    shape = shape_of(op.results[0])
    return len(op.results) == 1 and len(shape) in (4, 5) and all(_fits(value, shape) for value in op.operands)


def _fits(value: SSAValue, shape: Shape) -> bool:
    found = shape_of(value)
    places = ((1,) * (len(shape) - len(found)) + found)[2:4]
    return all(size == 1 for size in places) or (_has_places(value, shape) and not isinstance(value.owner, ConstantOp))


def _is_image_of(op: Operation, value: SSAValue) -> bool:
    """Return whether the rows of an operand are the rows of the result."""
    if isinstance(op, Conv2dOp | BlockedConvolution):
        return value is op.data
    return _has_places(value, shape_of(op.results[0]))


def _has_places(value: SSAValue, shape: Shape) -> bool:
    found = shape_of(value)
    return len(found) == len(shape) and found[2:4] == shape[2:4]


def _with_sizes(shape: Shape, sizes: Shape) -> Shape:
    return (*shape[:2], *sizes, *shape[4:])


def _view_as(value: SSAValue, sizes: Shape) -> SSAValue:
    """Return a view of images as images of another height and width, made right after them."""
    t = tensor_type(value.type)
    shape = t.get_shape()
    groups = ArrayAttr(
        ArrayAttr(IntegerAttr(d, i64) for d in group)
        for group in ([0], [1], [2, 3], *([d] for d in range(4, len(shape))))
    )
    flat = TensorType(t.element_type, (*shape[:2], prod(shape[2:4]), *shape[4:]))
    new = _with_sizes(shape, sizes)
    joined = tensor.CollapseShapeOp(operands=[value], result_types=[flat], properties={"reassociation": groups})
    ops: list[Operation] = [joined]
    dynamic_sizes: list[SSAValue] = []
    for d, size in enumerate(new):
        if size == DYNAMIC_INDEX:
            index = index_constant(d)
            ops += [index, dim := tensor.DimOp(value, index.result)]
            dynamic_sizes.append(dim.result)
    ops.append(tensor.ExpandShapeOp(joined.result, dynamic_sizes, groups, new, TensorType(t.element_type, new)))
    for op in ops:
        op.location = value.owner.location if isinstance(value.owner, Operation) else joined.location
    place = InsertPoint.at_start(value.owner) if isinstance(value.owner, Block) else InsertPoint.after(value.owner)
    Rewriter.insert_op(ops, place)
    return ops[-1].results[0]
