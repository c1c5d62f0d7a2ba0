"""Operators whose result sizes depend on elements of their operands."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.dialects.builtin import UnitAttr, f32, f64, i1, i32, i64
from xdsl.ir import Attribute
from xdsl.irdl import opt_prop_def, prop_def, result_def

from relex.dialects.arrays import Array, np
from relex.dialects.dtypes import NUMBERS, TensorConstr, tensor_operand_def
from relex.dialects.errors import InferenceError
from relex.dialects.relex.declared import declared
from relex.dialects.relex.operator import Exactness, Movement, Operand, Operator, SeveralResults
from relex.dialects.relex.properties import IntegerConstr, IntegersConstr, as_integer, as_integers, integer
from relex.dialects.relex.types import (
    Shape,
    SizedType,
    expect_element_type,
    expect_equal,
    normalize_axes,
    normalize_axis,
    rank_of,
    same_element_type,
    shape_str,
)
from relex.dialects.sizes import MAX_ARGUMENT_SIZE, at_most, count
from relex.dialects.sizes.late import data_size
from relex.dialects.tir.op_pattern import OpPattern


@declared
class NonzeroOp(Operator, exactness=Exactness.BITS, pattern=OpPattern.OPAQUE, counts=True):
    """
    The places of the elements that are not zero, in row-major order: a row for each, with its index in each dimension.
    NaN is not zero.

    ```mlir
    %y = relex.nonzero %x : (tensor<?x?xf32>) -> tensor<?x2xi64>
    ```
    """

    operand = tensor_operand_def()

    def __init__(self, operand: Operand):
        super().__init__(operand)

    @classmethod
    def infer(cls, operands: Sequence[SizedType], properties: Mapping[str, Attribute]) -> SizedType:
        (operand,) = operands
        if not operand.get_shape():
            raise InferenceError("expected a tensor of one dimension or more, found a scalar")
        return SizedType(i64, (data_size("rows"), len(operand.get_shape())))

    def evaluate(self, x: Array) -> Array:
        return np.stack(np.nonzero(x), -1).astype(np.int64)


@declared
class CompressOp(Movement, pattern=OpPattern.OPAQUE, counts=True):
    """
    The parts of the data along a dimension, by default all elements in row-major order, for which the condition holds.
    A condition that is shorter than the dimension holds for no further part.

    ```mlir
    %y = relex.compress %x, %c axis = 1 : (tensor<3x?xf32>, tensor<?xi1>) -> tensor<3x?xf32>
    %z = relex.compress %x, %d : (tensor<3x?xf32>, tensor<?xi1>) -> tensor<?xf32>
    ```
    """

    data = tensor_operand_def()
    condition = tensor_operand_def()
    axis = opt_prop_def(IntegerConstr)

    def __init__(self, data: Operand, condition: Operand, axis: int | None = None):
        super().__init__(data, condition, properties={"axis": axis})

    @classmethod
    def infer(cls, operands: Sequence[SizedType], properties: Mapping[str, Attribute]) -> SizedType:
        data, condition = operands
        expect_element_type(condition, (i1,), "a condition")
        shape, chosen = data.get_shape(), condition.get_shape()
        axis = _axis(properties, len(shape))
        available = count(shape) if axis is None else shape[axis]
        if len(chosen) != 1 or not at_most(chosen[0], available):
            raise InferenceError(
                f"expected a condition of rank 1 and at most {available} elements, found {shape_str(chosen)}"
            )
        kept = data_size("kept")
        return SizedType(data.element_type, (kept,) if axis is None else (*shape[:axis], kept, *shape[axis + 1 :]))

    @property
    def normal_axis(self) -> int | None:
        """The dimension, counted from the front; None if the data is taken as one row."""
        return _axis(self.properties, rank_of(self.data))

    def evaluate(self, x: Array, condition: Array) -> Array:
        return np.compress(condition, x, self.normal_axis)


def _axis(properties: Mapping[str, Attribute], rank: int) -> int | None:
    axis = properties.get("axis")
    return None if axis is None else normalize_axis(as_integer(axis), rank)


@declared
class RepeatOp(Movement, pattern=OpPattern.OPAQUE, counts=True):
    """
    Each part of the data along a dimension, by default the first, as often as a tensor of counts says. A negative count
    is an error.

    ```mlir
    %y = relex.repeat %x, %n : (tensor<3x?xf32>, tensor<3xi64>) -> tensor<?x?xf32>
    ```
    """

    data = tensor_operand_def()
    times = tensor_operand_def()
    axis = prop_def(IntegerConstr, default_value=integer(0))

    def __init__(self, data: Operand, times: Operand, axis: int = 0):
        super().__init__(data, times, properties={"axis": axis})

    @classmethod
    def infer(cls, operands: Sequence[SizedType], properties: Mapping[str, Attribute]) -> SizedType:
        data, times = operands
        expect_element_type(times, (i64,), "counts")
        shape, counts = data.get_shape(), times.get_shape()
        axis = normalize_axis(as_integer(properties["axis"]), len(shape))
        if len(counts) != 1:
            raise InferenceError(f"expected counts of rank 1, found {shape_str(counts)}")
        expect_equal(shape[axis], counts[0], "numbers of parts and of counts")
        return SizedType(data.element_type, (*shape[:axis], data_size("total"), *shape[axis + 1 :]))

    @property
    def normal_axis(self) -> int:
        """The dimension, counted from the front."""
        return normalize_axis(as_integer(self.axis), rank_of(self.data))

    def evaluate(self, x: Array, times: Array) -> Array:
        if np.any(times < 0):
            raise InferenceError(f"expected counts of 0 or more, found {times.min()}")
        if times.sum(dtype=np.float64) > MAX_ARGUMENT_SIZE:  # NumPy adds them in 64 bits, and writes elsewhere.
            raise InferenceError(f"expected a sum of counts of at most {MAX_ARGUMENT_SIZE}, found a larger one")
        return np.repeat(x, times, self.normal_axis)


@declared
class ArangeOp(Operator, exactness=Exactness.NUMBERS, pattern=OpPattern.OPAQUE, counts=True):
    """
    The numbers from a first one on, at equal distances, before the end. They are the first number plus multiples of the
    step; their number is the quotient of the length and the step, in f64 for floats, rounded up; 0 if that is negative.
    A step of 0 is an error, and so is a number that is no size.

    ```mlir
    %y = relex.arange %first, %end, %step : (tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<?xi64>
    ```
    """

    first = tensor_operand_def()
    end = tensor_operand_def()
    step = tensor_operand_def()

    def __init__(self, first: Operand, end: Operand, step: Operand):
        super().__init__(first, end, step)

    @classmethod
    def infer(cls, operands: Sequence[SizedType], properties: Mapping[str, Attribute]) -> SizedType:
        element_type = same_element_type(*operands)
        expect_element_type(operands[0], (f32, f64, i32, i64), "numbers")
        if any(operand.get_shape() for operand in operands):
            raise InferenceError(f"expected scalars, found {', '.join(map(str, operands))}")
        return SizedType(element_type, (data_size("length"),))

    def evaluate(self, first: Array, end: Array, step: Array) -> Array:
        exact = [float(x) if x.dtype.kind == "f" else int(x) for x in (first, end, step)]
        length = arange_length(*exact)
        if length is None:
            raise InferenceError(f"expected a number of elements, found {exact[0]} to {exact[1]} by {exact[2]}")
        return (first + np.arange(length).astype(first.dtype) * step).astype(first.dtype)


def arange_length(first: float, end: float, step: float) -> int | None:
    """Return how many numbers there are; None if that is no size."""
    if step == 0:
        return None
    length = -((first - end) // step) if isinstance(first, int) else np.ceil((end - first) / step)
    return max(int(length), 0) if -np.inf < length <= MAX_ARGUMENT_SIZE else None


@declared
class UniqueOp(SeveralResults, exactness=Exactness.BITS, pattern=OpPattern.OPAQUE, counts=True):
    """
    The different elements of a tensor of one dimension in ascending order; for each, the place of the first element
    that is equal to it, and how many are; and for each element of the operand, the place of its value in the result.
    All NaN are one element, the last. Of zeros that differ in sign, the first one counts.

    ```mlir
    %values, %first, %inverse, %counts = relex.unique %x
        : (tensor<?xf32>) -> (tensor<?xf32>, tensor<?xi64>, tensor<?xi64>, tensor<?xi64>)
    ```
    """

    operand = tensor_operand_def()
    first = result_def(TensorConstr)
    inverse = result_def(TensorConstr)
    numbers = result_def(TensorConstr)

    def __init__(self, operand: Operand):
        super().__init__(operand)

    @classmethod
    def infer_results(cls, operands: Sequence[SizedType], properties: Mapping[str, Attribute]) -> tuple[SizedType, ...]:
        (operand,) = operands
        expect_element_type(operand, NUMBERS, "operands")
        if len(operand.get_shape()) != 1:
            raise InferenceError(f"expected a tensor of one dimension, found {operand}")
        different = (data_size("different"),)
        places = SizedType(i64, different)
        return SizedType(operand.element_type, different), places, SizedType(i64, operand.get_shape()), places

    def evaluate_results(self, x: Array) -> tuple[Array, ...]:
        order = np.argsort(x, kind="stable")
        ordered = x[order]
        same = (ordered[1:] == ordered[:-1]) | ((ordered[1:] != ordered[1:]) & (ordered[:-1] != ordered[:-1]))
        starts = np.concatenate([np.ones(min(x.size, 1), bool), ~same])
        group = np.cumsum(starts) - 1
        inverse = np.empty(x.shape, np.int64)
        inverse[order] = group
        found = order[starts]
        return x[found], found.astype(np.int64), inverse, np.bincount(group, minlength=len(found)).astype(np.int64)


@declared
class DynamicStridedSliceOp(Movement, pattern=OpPattern.OPAQUE, counts=True):
    """
    A part of the data between places that are known at run time: for each dimension, or for those in `axes`, the first
    place, the place before which it ends, and the step. Negative places count from the end, and places out of range are
    clipped, as in NumPy. A step of 0 is an error.

    ```mlir
    %y = relex.dynamic_strided_slice %x, %begin, %end, %step
        : (tensor<3x?xf32>, tensor<2xi64>, tensor<2xi64>, tensor<2xi64>) -> tensor<?x?xf32>
    %z = relex.dynamic_strided_slice %x, %first, %last, %one axes = [1]
        : (tensor<3x?xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<3x?xf32>
    ```
    """

    data = tensor_operand_def()
    begin = tensor_operand_def()
    end = tensor_operand_def()
    step = tensor_operand_def()
    axes = opt_prop_def(IntegersConstr)

    def __init__(self, data: Operand, begin: Operand, end: Operand, step: Operand, axes: Sequence[int] | None = None):
        super().__init__(data, begin, end, step, properties={"axes": axes})

    @classmethod
    def infer(cls, operands: Sequence[SizedType], properties: Mapping[str, Attribute]) -> SizedType:
        data, *places = operands
        shape = data.get_shape()
        axes = _axes(properties, len(shape))
        for place in places:
            expect_element_type(place, (i64,), "places")
            if place.get_shape() != (len(axes),):
                raise InferenceError(f"expected {len(axes)} places, one for each dimension, found {place}")
        return SizedType(data.element_type, [data_size(f"d{d}") if d in axes else n for d, n in enumerate(shape)])

    @property
    def normal_axes(self) -> Shape:
        """The dimensions that the places are for, counted from the front."""
        return _axes(self.properties, rank_of(self.data))

    def evaluate(self, x: Array, begin: Array, end: Array, step: Array) -> Array:
        if np.any(step == 0):
            raise InferenceError("expected steps other than 0, found 0")
        parts = [slice(None)] * x.ndim
        for axis, *places in zip(self.normal_axes, begin.tolist(), end.tolist(), step.tolist(), strict=True):
            parts[axis] = slice(*places)
        return x[tuple(parts)]


def _axes(properties: Mapping[str, Attribute], rank: int) -> Shape:
    axes = properties.get("axes")
    return tuple(range(rank)) if axes is None else normalize_axes(as_integers(axes), rank)


MOST_SIZES = 63
"""NumPy's arrays have 64 dimensions at most."""


@declared
class AsSizesOp(Operator, exactness=Exactness.BITS, pattern=OpPattern.OPAQUE, counts=True):
    """
    A tensor without elements whose sizes after the first are the numbers of a tensor. Operators that take sizes of the
    tensors in `like` have results of these sizes. A number that is no size is an error.

    ```mlir
    %s = relex.as_sizes %n : (tensor<2xi64>) -> tensor<0x?x?xi1>
    %y = relex.reshape %x like(%s) shape = [-1, -1] sizes = ["like0_d1", "like0_d2"]
        : (tensor<?xf32>, tensor<0x?x?xi1>) -> tensor<?x?xf32>
    ```
    """

    numbers = tensor_operand_def()

    def __init__(self, numbers: Operand):
        super().__init__(numbers)

    @classmethod
    def infer(cls, operands: Sequence[SizedType], properties: Mapping[str, Attribute]) -> SizedType:
        (numbers,) = operands
        expect_element_type(numbers, (i64,), "numbers")
        (length,) = shape if len(shape := numbers.get_shape()) == 1 else (0,)
        if not isinstance(length, int) or not 0 < length <= MOST_SIZES:
            raise InferenceError(f"expected 1 to {MOST_SIZES} numbers in one dimension of known size, found {numbers}")
        return SizedType(i1, (0, *(data_size(f"d{d}") for d in range(length))))

    def evaluate(self, numbers: Array) -> Array:
        if wrong := [n for n in numbers.tolist() if not 0 <= n <= MAX_ARGUMENT_SIZE]:
            raise InferenceError(f"expected sizes from 0 to {MAX_ARGUMENT_SIZE}, found {wrong[0]}")
        return np.empty((0, *numbers.tolist()), bool)


@declared
class NonMaxSuppressionOp(Operator, exactness=Exactness.ROUNDED, pattern=OpPattern.OPAQUE, counts=True):
    """
    The best boxes of each class that overlap no better one: a row for each, with the numbers of its image, its class
    and its box; those with the largest scores first. A box counts if its score is larger than `least`, or if `least` is
    NaN; of each class of an image, `most` boxes at most. Two boxes overlap if what they share is larger than a part
    `overlap` of what they cover together. Boxes are two opposite corners, `[y, x, y, x]`; with `center`,
    `[x, y, width, height]` around a center.

    ```mlir
    %y = relex.non_max_suppression %boxes, %scores, %most, %overlap, %least
        : (tensor<1x?x4xf32>, tensor<1x3x?xf32>, tensor<i64>, tensor<f32>, tensor<f32>) -> tensor<?x3xi64>
    ```
    """

    boxes = tensor_operand_def()
    scores = tensor_operand_def()
    most = tensor_operand_def()
    overlap = tensor_operand_def()
    least = tensor_operand_def()
    center = opt_prop_def(UnitAttr)

    def __init__(
        self, boxes: Operand, scores: Operand, most: Operand, overlap: Operand, least: Operand, center: bool = False
    ):
        super().__init__(boxes, scores, most, overlap, least, properties={"center": center})

    @classmethod
    def infer(cls, operands: Sequence[SizedType], properties: Mapping[str, Attribute]) -> SizedType:
        boxes, scores, most, overlap, least = operands
        expect_element_type(SizedType(same_element_type(boxes, scores, overlap, least), ()), (f32, f64), "numbers")
        expect_element_type(most, (i64,), "a number of boxes")
        shape, classes = boxes.get_shape(), scores.get_shape()
        if len(shape) != 3 or shape[2] != 4 or len(classes) != 3:
            found = f"{shape_str(shape)} and {shape_str(classes)}"
            raise InferenceError(f"expected boxes of ?x?x4 and scores of ?x?x?, found {found}")
        expect_equal(shape[0], classes[0], "numbers of images")
        expect_equal(shape[1], classes[2], "numbers of boxes")
        if most.get_shape() or overlap.get_shape() or least.get_shape():
            raise InferenceError("expected scalars as number of boxes and as thresholds, found tensors with dimensions")
        return SizedType(i64, (data_size("selected"), 3))

    def evaluate(self, boxes: Array, scores: Array, most: Array, overlap: Array, least: Array) -> Array:
        rows: list[tuple[int, int, int]] = []
        for b, c in np.ndindex(*scores.shape[:2]):
            chosen: list[int] = []
            low, high = self._corners(boxes[b])
            # NaN counts as the largest score, and is no larger than the least one.
            order = np.lexsort((-scores[b, c], ~np.isnan(scores[b, c])))
            for box in order.tolist():
                if len(chosen) >= most or not (scores[b, c, box] > least or np.isnan(least)):
                    continue
                if not any(_overlap(low[[box, other]], high[[box, other]], overlap) for other in chosen):
                    chosen.append(box)
            rows += [(b, c, box) for box in chosen]
        return np.array(rows, np.int64).reshape(-1, 3)

    def _corners(self, boxes: Array) -> tuple[Array, Array]:
        first, second = boxes[:, :2], boxes[:, 2:]
        if self.center is not None:
            return first - second / 2, first + second / 2
        return np.minimum(first, second), np.maximum(first, second)


def _overlap(low: Array, high: Array, part: Array) -> bool:
    """Return whether two boxes share more than a part of what they cover together; boxes that share nothing do not."""
    sides: Array = np.maximum(high.min(0) - low.max(0), 0)
    areas: Array = (high - low).prod(axis=1)
    shared = sides.prod()
    return bool(shared > 0 and shared / (areas.sum() - shared) > part)
