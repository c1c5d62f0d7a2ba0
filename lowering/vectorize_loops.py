"""Vectorization of marked loops."""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects import scf
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from relex.dialects.errors import fail
from relex.dialects.index.domains import constant_value
from relex.dialects.target.processors import Processor
from relex.dialects.target.target_attribute import processor_in
from relex.dialects.walks import walk
from relex.lowering.vectors import VECTORIZED_ATTR
from relex.lowering.vectors.forms import can_widen
from relex.lowering.vectors.transposes import transpose
from relex.lowering.vectors.widen import widen
from relex.passes.cpu import cost
from relex.passes.driver.base import RelexPass


class VectorizeLoopsPass(RelexPass):
    """
    Replaces each loop marked `relex.vectorized`, as `convert-tir-to-scf` marks `vectorized` ones, by ops on vectors
    with an element for each iteration.

    ```mlir
    scf.for %j = %c0 to %c16 step %c1 {
      %0 = memref.load %x[%i, %j] : memref<8x16xf32>
      %1 = arith.mulf %0, %a : f32
      memref.store %1, %y[%i, %j] : memref<8x16xf32>
    } {relex.vectorized}
    // vectorize-loops
    %0 = vector.load %x[%i, %c0] : memref<8x16xf32>, vector<16xf32>
    %1 = vector.broadcast %a : f32 to vector<16xf32>
    %2 = arith.mulf %0, %1 : vector<16xf32>
    vector.store %2, %y[%i, %c0] : memref<8x16xf32>, vector<16xf32>
    ```

    Ops of other packages that compute numbers from numbers take part, in the vector form registered with `vector_form`,
    or lane by lane. A loop with other foreign ops, which may do anything, stays as it is.

    Requires a constant extent of at most 256, and iterations without dependences other than reductions; violations are
    errors at the op. Different buffers are assumed not to alias: `vectorized` promises that.

    * Accesses with unit stride in the loop variable become vector accesses, masked under a condition, even through
      quotients and remainders of the index whose divisor is a multiple of the vector length. Uniform values are loaded
      once. A load that is in bounds whatever the condition says runs without it. Loads of every second element, without
      a mask, become two vector loads and a shuffle; on targets that deinterleave pairs, loads of even and of odd
      elements share the loads of the pairs. Other accesses are scalarized, except in copies into local buffers that
      read along the loop around this one: where both loops have as many iterations as a vector has elements, a square
      of elements is transposed by shuffles.
    * An element that all iterations update becomes a `vector.reduction`: in any order with `fastmath<reassoc>`, else in
      program order, so that results do not change.
    * A divergent condition becomes a mask; a uniform one stays a branch, and nested loops stay loops.

    A register-tiled kernel is this nest: a small buffer for the tile, allocated inside the loops over tiles; in it, a
    serial loop over the terms, an `unrolled` loop over the rows, an `unrolled` loop over the vectors of a row and a
    `vectorized` loop over the elements of a vector; then a nest of the same three loops that reads the tile, applies
    the epilogue and stores it. LLVM unrolls, and keeps the tile in registers, since by then every access to it is at a
    constant index. A tile of `R` rows and `V` vectors takes `R * V + V + 1` registers: of the 32 of AVX-512, 14 x 2 or
    6 x 4 are fast; of the 16 of AVX2, 6 x 2.

    ```
    tir.for %j, %i in (4, 18) {
      %acc = tir.alloc_buffer : memref<14x32xf32>
      tir.for %k, unrolled %r, unrolled %c, vectorized %l in (784, 14, 2, 16) {
        ... // acc[r, 16 c + l] += x[14 i + r, k] * w[j, k, 16 c + l], with fastmath<contract>
      }
      tir.for unrolled %r, unrolled %c, vectorized %l in (14, 2, 16) {
        ... // y[14 i + r, 32 j + 16 c + l] = max(acc[r, 16 c + l] + b[32 j + 16 c + l], 0)
      }
    }
    ```

    A condition around accesses to the tile does no harm: private buffers are read and written as whole vectors, and
    lanes that the condition excludes keep their old values.

    A horizontal sum of a vector is slow, so it is done once, after the loops: a serial loop adds to a buffer of about 8
    vectors by an `unrolled` and a `vectorized` loop; a similar pair of loops then adds these up to a buffer of one
    vector, and a `vectorized` loop reduces that.
    """

    name = "vectorize-loops"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        processor = processor_in(op)
        for loop in _marked_loops(op):
            _vectorize(loop, processor)


def _marked_loops(op: Operation) -> list[scf.ForOp]:
    return [o for o in walk(op) if type(o) is scf.ForOp and VECTORIZED_ATTR in o.attributes]


def _vectorize(loop: scf.ForOp, processor: Processor | None) -> None:
    length = _length(loop)
    del loop.attributes[VECTORIZED_ATTR]
    if length < 2 or any(map(_stays_scalar, walk(loop))):
        return
    if processor is None or not transpose(loop, length, processor.vector_bits):
        widen(loop, length, takes_pairs_apart=processor is not None and processor.takes_pairs_apart)


def _stays_scalar(op: Operation) -> bool:
    """Return whether an op is a foreign one that cannot be computed lane by lane."""
    return type(op).__module__.partition(".")[0] not in ("relex", "xdsl") and not can_widen(op)


def _length(loop: scf.ForOp) -> int:
    """The number of iterations of a loop to vectorize."""
    if _marked_loops(loop) != [loop]:
        fail(loop, "expected no vectorized loop inside of a vectorized one")
    start, end, step = (constant_value(bound) for bound in (loop.lb, loop.ub, loop.step))
    if start is None or end is None or step != 1 or loop.iter_args:
        fail(loop, "expected a vectorized loop with a constant extent")
    if (extent := end - start) > (most := cost.MAX_VECTOR_LENGTH):
        fail(loop, f"expected a vectorized loop of at most {most} iterations, found {extent}; split it")
    return end - start
