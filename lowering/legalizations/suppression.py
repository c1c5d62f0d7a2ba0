"""Non-maximum suppression: a loop over boxes, the best first, that selects those that no better one overlaps."""

from __future__ import annotations

from xdsl.dialects.builtin import IndexType, i64

from relex.dialects.relex import NonMaxSuppressionOp
from relex.lowering import te
from relex.lowering.legalizations.data_sizes import clipped, filling, inside, next_row, one
from relex.lowering.legalizations.heap import Heap
from relex.lowering.legalizations.legalization_table import CountAndFill, legalizes, result_shape
from relex.lowering.legalizations.scans import sort_key

Corners = tuple[te.PrimExpr, ...]
"""The lower and the upper corner of a box: y, x, y, x."""


@legalizes(NonMaxSuppressionOp)
def non_max_suppression(
    op: NonMaxSuppressionOp, boxes: te.Tensor, scores: te.Tensor, most: te.Tensor, overlap: te.Tensor, least: te.Tensor
) -> CountAndFill:
    """Legalize to a loop that takes the boxes of each class from a heap, the best first, and selects those that no
    better one overlaps, and to a list of them."""
    batches, classes, size = scores.shape

    def emit_selected(code: te.Code, out: te.Tensor) -> None:
        """Note the selected boxes of a class; -1 stands for none."""
        with code.block("selected", batches, classes) as (b, c):
            number, is_free = code.variable(i64, 0, "number"), code.variable(i64, 1, "is_free")
            kept = [code.buffer((size,), boxes.type, f"kept{d}") for d in range(4)]
            with code.loop(size) as k:
                code.store(out, (b, c, k), -1)
                for buffer in kept:  # No analysis can know that only those are read that were selected.
                    code.store(buffer, (k,), 0)
            heap = Heap(code, size, sort_key(scores[b, c, 0]).type)
            with code.loop(size) as k:
                score = scores[b, c, k]
                heap.append_if(
                    (score > least[()]) | te.not_equal(least[()], least[()]), sort_key(score), te.cast(k, i64)
                )
            heap.build()
            with code.loop_to(code.let(heap.count[()]), size, "candidate"):
                found = code.let(number[()])
                with code.when(found < most[()]):
                    box = clipped(heap.pop(), size)
                    own = tuple(map(code.let, _corners(op, boxes, b, box)))
                    code.store(is_free, (), 1)
                    with code.loop_to(found, size, "before") as j:  # Without a branch, so that LLVM vectorizes it.
                        is_hidden = _overlap(own, tuple(k[j] for k in kept), overlap[()])
                        code.store(
                            is_free, (), te.minimum(is_free[()], te.select(is_hidden, te.as_expr(0, i64), one()))
                        )
                    with code.when(te.equal(is_free[()], 1)), inside(code, te.cast(found, IndexType()), size) as at:
                        for buffer, corner in zip(kept, own, strict=True):
                            code.store(buffer, (at,), corner)
                        code.store(number, (), found + 1)
                        code.store(out, (b, c, at), te.cast(box, i64))

    selected = te.procedure(scores.shape, i64, [boxes, scores, most, overlap, least], emit_selected, "selected")
    axes = [te.reduce_axis(n, f"k{d}") for d, n in enumerate(scores.shape)]
    count = te.compute((), lambda *_: te.sum(te.select(selected[*axes] >= 0, one(), 0), axes), name="number")

    def fill(
        boxes: te.Tensor, scores: te.Tensor, most: te.Tensor, overlap: te.Tensor, least: te.Tensor, selected: te.Tensor
    ) -> te.Tensor:
        shape = result_shape(op, boxes, scores, most, overlap, least)

        def emit(code: te.Code, out: te.Tensor) -> None:
            with filling(code, out, "non_max_suppression") as row:
                with code.loops(*scores.shape) as (b, c, k), code.when(selected[b, c, k] >= 0):
                    with next_row(code, row, shape[0]) as at:
                        for d, number in enumerate((te.cast(b, i64), te.cast(c, i64), selected[b, c, k])):
                            code.store(out, (at, d), number)

        return te.procedure(shape, i64, [selected], emit, "non_max_suppression")

    return CountAndFill({"selected": count}, fill, [selected])


def _corners(op: NonMaxSuppressionOp, boxes: te.Tensor, b: te.PrimExpr, box: te.PrimExpr) -> Corners:
    """Return the lower and the upper corner of a box."""
    y, x, other_y, other_x = (boxes[b, box, d] for d in range(4))
    if op.center is not None:
        y, x, height, width = x, y, other_x, other_y
        return y - height / 2, x - width / 2, y + height / 2, x + width / 2
    return te.minimum(y, other_y), te.minimum(x, other_x), te.maximum(y, other_y), te.maximum(x, other_x)


def _overlap(box: Corners, other: Corners, least: te.PrimExpr) -> te.PrimExpr:
    """Return whether two boxes share more than a part of the area that they cover together."""
    (y, x, to_y, to_x), (v, u, to_v, to_u) = box, other
    height, width = (
        te.maximum(te.minimum(to, end) - te.maximum(p, q), 0)
        for to, end, p, q in ((to_y, to_v, y, v), (to_x, to_u, x, u))
    )
    shared = height * width
    areas = (to_y - y) * (to_x - x) + (to_v - v) * (to_u - u)
    return (shared > 0) & (shared / (areas - shared) > least)
