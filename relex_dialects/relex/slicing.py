"""Concatenation, slicing, gathering and padding."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.ir import Attribute
from xdsl.irdl import opt_prop_def, prop_def

from relex.dialects.arrays import Array, np
from relex.dialects.dtypes import INTEGERS, tensor_operand_def, var_tensor_operand_def
from relex.dialects.errors import InferenceError
from relex.dialects.relex.declared import declared
from relex.dialects.relex.growth import grows_in_loop
from relex.dialects.relex.operator import AlongAxis, Movement, Operand, axis_of, moving, tensor_type
from relex.dialects.relex.properties import (
    IntegerConstr,
    IntegersConstr,
    ScalarConstr,
    TextsConstr,
    as_integers,
    expect_scalar,
    integer,
    integers,
    number,
)
from relex.dialects.relex.size_properties import names_of_sizes, parse_size, texts_of
from relex.dialects.relex.types import (
    Shape,
    SizedType,
    expect_element_type,
    expect_integers,
    merge,
    normalize_axes,
    same_element_type,
    shape_of,
    shape_str,
)
from relex.dialects.sizes import MAX_SIZE, Size, at_most, count, larger, smaller
from relex.dialects.tir.op_pattern import OpPattern

FAR = 2**40
"""A step that leads out of every tensor."""


@declared
class ConcatOp(Movement, AlongAxis):
    """
    The concatenation of tensors along a dimension, by default the first; their other sizes are equal.

    ```mlir
    %z = relex.concat %x, %y axis = 1 : (tensor<3x4xf32>, tensor<3x2xf32>) -> tensor<3x6xf32>
    ```
    """

    tensors = var_tensor_operand_def()
    axis = prop_def(IntegerConstr, default_value=integer(0))

    def __init__(self, *tensors: Operand, axis: int = 0):
        super().__init__(*tensors, properties={"axis": axis})

    @classmethod
    def infer(cls, operands: Sequence[SizedType], properties: Mapping[str, Attribute]) -> SizedType:
        if not operands:
            raise InferenceError("expected tensors to join, found none")
        element_type = same_element_type(*operands)
        shapes = [t.get_shape() for t in operands]
        if len({len(shape) for shape in shapes}) > 1:
            raise InferenceError(f"expected tensors of one rank, found {' and '.join(map(shape_str, shapes))}")
        axis = axis_of(properties, shapes[0])
        result = list(shapes[0])
        for shape in shapes[1:]:
            for place, size in enumerate(shape):
                if place != axis:
                    result[place] = merge(result[place], size, f"sizes of dimension {place}")
        lengths = [shape[axis] for shape in shapes]
        result[axis] = sum(lengths)
        return SizedType(element_type, result)

    @property
    def pattern(self) -> OpPattern:
        filled = [value for value in self.operands if shape_of(value)[self.normal_axis] != 0]
        return moving(in_order=len(filled) <= 1)

    @property
    def is_view(self) -> bool:
        """Whether the first operand grows in a loop, so that its rows may stay where they are."""
        return grows_in_loop(self)

    def evaluate(self, *operands: Array) -> Array:
        return np.concatenate(operands, axis=self.normal_axis)


@declared
class StridedSliceOp(Movement):
    """
    Every `strides`-th element from `begin` up to but excluding `end` along each of `axes`, as in Python's slices:
    negative positions count from the end, positions out of range are clipped, and a negative stride goes backwards.

    Positions that are known at run time are expressions in `begin_sizes` and `end_sizes`, one for each of the axes, or
    an empty text where `begin` or `end` has the position: of the operand's sizes `d0`, `d1`, ..., and the sizes of the
    tensors in `like`, as in `relex.reshape`. They count from the start, also negative ones, which are clipped to 0.

    ```mlir
    %y = relex.strided_slice %x axes = [0, 1] begin = [1, -1] end = [3, -9] strides = [1, -2]
        : (tensor<3x4xf32>) -> tensor<2x2xf32>
    %z = relex.strided_slice %x axes = [1] begin = [0] end = [2] : (tensor<3x4xf32>) -> tensor<3x2xf32>
    %w = relex.strided_slice %x like(%v) axes = [1] begin = [0] end = [0] end_sizes = ["like0_d0"]
        : (tensor<3x4xf32>, tensor<?xf32>) -> tensor<3x?xf32>
    ```
    """

    operand = tensor_operand_def()
    like = var_tensor_operand_def()
    axes = prop_def(IntegersConstr)
    begin = prop_def(IntegersConstr)
    end = prop_def(IntegersConstr)
    strides = opt_prop_def(IntegersConstr)
    begin_sizes = opt_prop_def(TextsConstr)
    end_sizes = opt_prop_def(TextsConstr)

    def __init__(
        self,
        operand: Operand,
        axes: Sequence[int],
        begin: Sequence[int],
        end: Sequence[int],
        strides: Sequence[int] | None = None,
        begin_sizes: Sequence[str] | None = None,
        end_sizes: Sequence[str] | None = None,
        like: Sequence[Operand] = (),
    ):
        properties = {"axes": axes, "begin": begin, "end": end, "strides": strides}
        open_ends = {"begin_sizes": begin_sizes, "end_sizes": end_sizes}
        super().__init__(operand, *like, properties={**properties, **open_ends})

    @classmethod
    def infer(cls, operands: Sequence[SizedType], properties: Mapping[str, Attribute]) -> SizedType:
        operand, *_ = operands
        shape = operand.get_shape()
        sizes = list(shape)
        for axis, part in _slices(properties, operands).items():
            *_, sizes[axis] = taken(part, shape[axis])
        return SizedType(operand.element_type, sizes)

    @property
    def is_static(self) -> bool:
        """True if no position depends on sizes."""
        return self.begin_sizes is None and self.end_sizes is None

    @property
    def slices(self) -> tuple[slice, ...]:
        """The slice along each dimension, if no position depends on sizes."""
        return self.slices_of([SizedType(t.element_type, t.get_shape()) for t in map(tensor_type, self.operand_types)])

    def slices_of(self, operands: Sequence[SizedType]) -> tuple[slice, ...]:
        """Return the slice along each dimension for operands of these sizes."""
        parts = _slices(self.properties, operands)
        return tuple(parts.get(axis, slice(None)) for axis in range(len(operands[0].get_shape())))

    @property
    def pattern(self) -> OpPattern:
        types = self.sized_operands()
        parts = map(taken, self.slices_of(types), types[0].get_shape())
        is_whole = shape_of(self.operand) == shape_of(self.result)
        return moving(in_order=is_whole and all(first == 0 and step == 1 for first, step, _ in parts))

    def evaluate(self, *operands: Array) -> Array:
        x = operands[0]
        return x[self.slices_of([SizedType(self.operand_types[i], array.shape) for i, array in enumerate(operands)])]


def _slices(properties: Mapping[str, Attribute], operands: Sequence[SizedType]) -> dict[int, slice]:
    """Return the slices by dimension. A position that depends on sizes is not negative."""
    rank, names = len(operands[0].get_shape()), names_of_sizes(operands)
    axes = as_integers(properties["axes"])
    count = len(axes)
    begin, end = (expect_integers(as_integers(properties[name]), name, count=count) for name in ("begin", "end"))
    strides = expect_integers(as_integers(properties.get("strides", integers([1] * count))), "strides", count=count)
    if 0 in strides:
        raise InferenceError("expected strides other than 0")
    begin, end = (
        [larger(parse_size(text, names), 0) if text else place for text, place in zip(texts, places, strict=True)]
        for places, texts in (
            (begin, texts_of(properties, "begin_sizes", count)),
            (end, texts_of(properties, "end_sizes", count)),
        )
    )
    return dict(zip(normalize_axes(axes, rank), map(slice, begin, end, strides), strict=True))


def taken(part: slice, size: Size) -> tuple[Size, int, Size]:
    """Return the position of the first element that a slice takes along a dimension, the step from one to the next, and
    the number of elements."""
    if part == slice(None):
        return 0, 1, size
    step = part.step
    low, high = (0, size) if step > 0 else (-1, size - 1)
    first, stop = _clipped(part.start, size, low, high), _clipped(part.stop, size, low, high)
    length = stop - first if step > 0 else first - stop
    if abs(step) >= FAR and not isinstance(size, int) and (abs(step) >= MAX_SIZE or at_most(size, abs(step))):
        # No second element is taken, and the sum below might overflow.
        return first, 1 if step > 0 else -1, smaller(larger(length, 0), 1)
    return first, step, larger((length + abs(step) - 1) // abs(step), 0)


def _clipped(place: Size, size: Size, low: Size, high: Size) -> Size:
    """Return a position in a dimension, counted from the end if it is negative, clipped to limits."""
    if not isinstance(place, int):
        return smaller(high, place)
    if place < 0:
        return low if place <= -MAX_SIZE else larger(size + place, low)
    return high if place >= MAX_SIZE else smaller(high, place)


@declared
class TakeOp(Movement, AlongAxis, pattern=OpPattern.OPAQUE):
    """
    The elements at the given positions along a dimension; the dimensions of `indices` replace that dimension. Without
    `axis` the operand has one dimension. Indices are clipped to the valid range, as in NumPy's mode `clip`: no index
    reads out of bounds, and negative ones do not count from the end.

    ```mlir
    %y = relex.take %x, %indices axis = 1 : (tensor<3x4xf32>, tensor<2x5xi64>) -> tensor<3x2x5xf32>
    %z = relex.take %v, %indices : (tensor<4xf32>, tensor<2x5xi64>) -> tensor<2x5xf32>
    ```
    """

    operand = tensor_operand_def()
    indices = tensor_operand_def()
    axis = opt_prop_def(IntegerConstr)

    def __init__(self, operand: Operand, indices: Operand, axis: int | None = None):
        super().__init__(operand, indices, properties={"axis": axis})

    @classmethod
    def infer(cls, operands: Sequence[SizedType], properties: Mapping[str, Attribute]) -> SizedType:
        operand, indices = operands
        expect_element_type(indices, INTEGERS, "indices")
        shape, places = operand.get_shape(), indices.get_shape()
        axis = axis_of(properties, shape)
        result = (*shape[:axis], *places, *shape[axis + 1 :])
        if not at_most(count(result), count(result) * shape[axis]):
            raise InferenceError(f"expected elements to take from, found none in {shape_str(shape)}")
        return SizedType(operand.element_type, result)

    def evaluate(self, x: Array, indices: Array) -> Array:
        axis = self.normal_axis
        # np.take's mode rejects an empty dimension even if nothing is taken from it.
        clipped = np.clip(as_places(indices), 0, max(x.shape[axis] - 1, 0))
        if x.shape[axis] == 0:
            return np.zeros((*x.shape[:axis], *indices.shape, *x.shape[axis + 1 :]), x.dtype)
        return np.take(x, clipped, axis=axis)


def as_places(indices: Array) -> Array:
    """Return indices as integers of 64 bits; those that are too large are the largest of these, beyond any size."""
    largest = min(np.iinfo(indices.dtype).max, np.iinfo(np.int64).max)
    return np.minimum(indices, largest).astype(np.int64)


@declared
class PadOp(Movement, script_namespace="nn"):
    """
    The tensor surrounded by `pad_value`, by default 0: `pad_width` has the widths before and after each dimension.

    ```mlir
    %y = relex.pad %x pad_width = [0, 0, 1, 2] : (tensor<3x4xf32>) -> tensor<3x7xf32>
    %z = relex.pad %x pad_width = [1, 1, 0, 0] pad_value = -1.0 : f32 : (tensor<3x4xf32>) -> tensor<5x4xf32>
    ```
    """

    operand = tensor_operand_def()
    pad_width = prop_def(IntegersConstr)
    pad_value = opt_prop_def(ScalarConstr)

    def __init__(self, operand: Operand, pad_width: Sequence[int], pad_value: float | None = None):
        super().__init__(operand, properties={"pad_width": pad_width, "pad_value": pad_value})

    @classmethod
    def infer(cls, operands: Sequence[SizedType], properties: Mapping[str, Attribute]) -> SizedType:
        (operand,) = operands
        shape = operand.get_shape()
        widths = expect_integers(as_integers(properties["pad_width"]), "widths", count=2 * len(shape), least=0)
        if "pad_value" in properties:
            expect_scalar(properties["pad_value"], operand)
        sizes = [before + size + after for size, before, after in zip(shape, widths[::2], widths[1::2], strict=True)]
        return SizedType(operand.element_type, sizes)

    @property
    def before(self) -> Shape:
        """The widths before each dimension."""
        return as_integers(self.pad_width)[::2]

    @property
    def after(self) -> Shape:
        """The widths after each dimension."""
        return as_integers(self.pad_width)[1::2]

    @property
    def value(self) -> float:
        """The value of the padding."""
        return 0 if self.pad_value is None else number(self.pad_value)

    @property
    def pattern(self) -> OpPattern:
        return moving(in_order=not any(as_integers(self.pad_width)))

    def evaluate(self, x: Array) -> Array:
        # np.pad does not accept scalars.
        shape = [sum(sizes) for sizes in zip(self.before, x.shape, self.after, strict=True)]
        result = np.full_like(x, self.value, shape=shape)
        result[tuple(slice(start, start + size) for start, size in zip(self.before, x.shape, strict=True))] = x
        return result
