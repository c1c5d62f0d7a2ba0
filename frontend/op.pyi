"""The operators as functions, for type checkers and editors: written by tests/typing/operators.py."""

from collections.abc import Callable, Sequence
from typing import TypeAlias

from xdsl.ir import Attribute

from relex.dialects.relex import Operator
from relex.frontend import op as _op
from relex.frontend.expressions import Call, Operand, Size

Shapes: TypeAlias = Sequence[Size] | Sequence[Sequence[Size]]

nn = _op

def abs(operand: Operand) -> Call:
    """Each element without its sign; the smallest integer stays as it is."""

def add(lhs: Operand, rhs: Operand) -> Call:
    """The sum of two tensors; on i1 the logical or."""

def alloc_tensor(shape: Sequence[Size], dtype: str = "float32") -> Call:
    """A new tensor of unspecified content: a side effect, outside of dataflow blocks."""

def argmax(operand: Operand, axis: int | None = None, keepdims: bool = False) -> Call:
    """
    The place of the first largest element along one dimension, or in the whole tensor in row-major order. The first NaN
    counts as largest.
    """

def astype(operand: Operand, dtype: Attribute | str) -> Call:
    """
    The elements as numbers of another type. Integers wrap around. Floats are rounded towards zero to integers; those
    beyond the range become its end, NaN becomes 0 (NumPy leaves both open). To i1 everything but zero is true.
    """

def avg_pool2d(
    data: Operand,
    pool_size: Sequence[int],
    strides: Sequence[int] = (1, 1),
    padding: Sequence[int] = (0, 0),
    dilation: Sequence[int] = (1, 1),
    count_include_pad: bool = False,
) -> Call:
    """
    The mean of each window. Padding counts, as zeros, only with `count_include_pad`; without, a window that sees
    nothing else has the mean of nothing, NaN. Floats only, as `relex.mean`.
    """

def batch_norm(
    data: Operand,
    gamma: Operand,
    beta: Operand,
    moving_mean: Operand,
    moving_var: Operand,
    axis: int = 1,
    epsilon: float = 1e-05,
) -> Call:
    """
    `(x - mean) / sqrt(variance + epsilon) * gamma + beta` with a mean and a variance that are known from training, all
    four with one number for each place along `axis`.
    """

def broadcast_to(operand: Operand, shape: Sequence[int]) -> Call:
    """
    The elements repeated along dimensions of size 1 and along new dimensions in front, as NumPy broadcasts. A size of
    -1 stays as the operand has it.
    """

def call(function: str, *args: Operand) -> Call:
    """A call of a function of the module by its name: of a fused group, another graph function, or a loop function."""

def call_dps_packed(
    name: str, args: Operand | Sequence[Operand], shape: Shapes, dtype: str = "float32", *, side_effects: bool = False
) -> Call:
    """A call of a library function by its name, with the shape or shapes of what it fills."""

def call_tir(function: str, args: Operand | Sequence[Operand], shape: Shapes, dtype: str = "float32") -> Call:
    """A call of a loop function by its name, with the shape or shapes of what it fills."""

def clip(operand: Operand, min: float | None = None, max: float | None = None) -> Call:
    """The elements held between two bounds, which have their type; a bound may be missing. NaN stays NaN."""

def concat(*tensors: Operand | Sequence[Operand], axis: int = 0) -> Call:
    """Tensors one behind the other along a dimension, by default the first; their other sizes are equal."""

def conv2d(
    data: Operand,
    weight: Operand,
    strides: Sequence[int] = (1, 1),
    padding: Sequence[int] = (0, 0),
    dilation: Sequence[int] = (1, 1),
    groups: int = 1,
) -> Call:
    """
    The convolution, as neural networks mean it (no flipping), of data `[N, C, H, W]` with a weight
    `[O, C / groups, h, w]`: `[N, O, H', W']`. Each group of output channels sees its group of input channels. `padding`
    is one number for all sides, two (top and bottom, left and right) or four (top, left, bottom, right).
    """

def dense(data: Operand, weight: Operand) -> Call:
    """A dense layer without bias: data `[..., K]` times the transpose of a weight `[N, K]` gives `[..., N]`."""

def divide(lhs: Operand, rhs: Operand) -> Call:
    """The quotient of two float tensors. Integers are refused: NumPy's result is a float, C's is truncated."""

def equal(lhs: Operand, rhs: Operand) -> Call:
    """Whether two elements are equal; +0 and -0 are, NaN is equal to nothing."""

def erf(operand: Operand) -> Call:
    """The error function."""

def ewise_fma(x: Operand, y: Operand, z: Operand) -> Call:
    """
    `x * y + z`, rounded after the product and after the sum, so that writing it for the two operators changes nothing.
    """

def exp(operand: Operand) -> Call:
    """The exponential function."""

def expand_dims(operand: Operand, axis: int | Sequence[int]) -> Call:
    """New dimensions of size 1, which are the dimensions `axis` of the result."""

def floor(operand: Operand) -> Call:
    """The largest whole number that is not larger than the element."""

def gelu(operand: Operand) -> Call:
    """`x` times the normal distribution up to it, exactly: `x / 2 * (1 + erf(x / sqrt(2)))`; NaN for minus infinity."""

def greater(lhs: Operand, rhs: Operand) -> Call:
    """Whether the first element is larger; never with NaN."""

def greater_equal(lhs: Operand, rhs: Operand) -> Call:
    """Whether the first element is not smaller; never with NaN."""

def layer_norm(
    data: Operand, gamma: Operand, beta: Operand, axes: Sequence[int] = (-1,), epsilon: float = 1e-05
) -> Call:
    """
    `(x - mean) / sqrt(variance + epsilon) * gamma + beta`, mean and variance taken over `axes`, by default the last
    dimension. `gamma` and `beta` have the sizes of those dimensions.
    """

def less(lhs: Operand, rhs: Operand) -> Call:
    """Whether the first element is smaller; never with NaN."""

def less_equal(lhs: Operand, rhs: Operand) -> Call:
    """Whether the first element is not larger; never with NaN."""

def log(operand: Operand) -> Call:
    """The natural logarithm; minus infinity for zero, NaN for what is below."""

def log_softmax(data: Operand, axis: int = -1) -> Call:
    """The logarithm of the softmax, computed as `x - max(x) - log(sum(exp(x - max(x))))`."""

def matmul(lhs: Operand, rhs: Operand) -> Call:
    """
    The matrix product, as NumPy's `@`: the last two dimensions are multiplied, those before broadcast, an operand of
    rank 1 is a row on the left and a column on the right.
    """

def max(operand: Operand, axis: int | Sequence[int] | None = None, keepdims: bool = False) -> Call:
    """The largest element; NaN where one is NaN. Refused where there are no elements to choose from."""

def max_pool2d(
    data: Operand,
    pool_size: Sequence[int],
    strides: Sequence[int] = (1, 1),
    padding: Sequence[int] = (0, 0),
    dilation: Sequence[int] = (1, 1),
) -> Call:
    """
    The largest element of each window; NaN where one is NaN. Padding never wins: where a window sees nothing else, the
    result is the smallest number of the type.
    """

def maximum(lhs: Operand, rhs: Operand) -> Call:
    """The larger of two elements; NaN where either is NaN. +0 counts as larger than -0."""

def mean(operand: Operand, axis: int | Sequence[int] | None = None, keepdims: bool = False) -> Call:
    """The sum divided by the number of elements; NaN for none. Integers are refused: NumPy's result is a float."""

def min(operand: Operand, axis: int | Sequence[int] | None = None, keepdims: bool = False) -> Call:
    """The smallest element; NaN where one is NaN. Refused where there are no elements to choose from."""

def minimum(lhs: Operand, rhs: Operand) -> Call:
    """The smaller of two elements; NaN where either is NaN. -0 counts as smaller than +0."""

def multiply(lhs: Operand, rhs: Operand) -> Call:
    """The product of two tensors; on i1 the logical and."""

def negative(operand: Operand) -> Call:
    """Each element with the other sign, NaN and zeros included; the smallest integer stays as it is. Not on i1."""

def not_equal(lhs: Operand, rhs: Operand) -> Call:
    """Whether two elements differ; NaN differs from everything."""

def of(kind: type[Operator]) -> Callable[..., Call]:
    """The function for an operator: tensors first, then what its class takes."""

def pad(operand: Operand, pad_width: Sequence[int], pad_value: float | None = None) -> Call:
    """
    The tensor with `pad_value`, by default 0, around it: `pad_width` has the widths before and behind each dimension.
    """

def permute_dims(operand: Operand, axes: Sequence[int] | None = None) -> Call:
    """
    The dimensions in another order: dimension `i` of the result is dimension `axes[i]` of the operand. By default the
    order is reversed.
    """

def power(lhs: Operand, rhs: Operand) -> Call:
    """
    The first tensor to the power of the second, both floats. Integers are refused: a negative exponent has no result.
    """

def relu(operand: Operand) -> Call:
    """The larger of each element and +0; NaN stays NaN."""

def reshape(operand: Operand, shape: Sequence[int]) -> Call:
    """
    The same elements in row-major order as a tensor of another shape. One size may be -1: it is what the others leave.
    """

def rsqrt(operand: Operand) -> Call:
    """One divided by the square root, both correctly rounded; infinite for zero, with its sign."""

def sigmoid(operand: Operand) -> Call:
    """The logistic function `1 / (1 + exp(-x))`."""

def silu(operand: Operand) -> Call:
    """`x * sigmoid(x)`, computed as `x / (1 + exp(-x))`; NaN for minus infinity."""

def softmax(data: Operand, axis: int = -1) -> Call:
    """
    `exp(x) / sum(exp(x))` along one dimension, computed on `x - max(x)`, so that nothing overflows. All NaN where one
    element is NaN or plus infinity, or all are minus infinity.
    """

def sqrt(operand: Operand) -> Call:
    """The square root, correctly rounded; NaN for what is below zero."""

def squeeze(operand: Operand, axis: int | Sequence[int] | None = None) -> Call:
    """Without the dimensions `axis`, whose size is 1; by default all that have size 1."""

def strided_slice(
    operand: Operand,
    axes: Sequence[int],
    begin: Sequence[int],
    end: Sequence[int],
    strides: Sequence[int] | None = None,
) -> Call:
    """
    Every `strides`-th element from `begin` to before `end` along each of `axes`, as Python's slices mean it: negative
    places count from the end, what lies outside is cut off, and a negative stride goes backwards.
    """

def subtract(lhs: Operand, rhs: Operand) -> Call:
    """The difference of two tensors; not on i1, as in NumPy."""

def sum(operand: Operand, axis: int | Sequence[int] | None = None, keepdims: bool = False) -> Call:
    """
    The sum, in the type of the elements: integers wrap around (NumPy widens them to 64 bits). The order of the
    additions is left open. Not on i1; `relex.astype` first says what to count in.
    """

def take(operand: Operand, indices: Operand, axis: int | None = None) -> Call:
    """
    The elements at some places along a dimension; the dimensions of `indices` take its place. Without `axis` the
    operand has one dimension. An index below 0 means 0 and one behind the end the last place, as in NumPy's mode
    `clip`: no index reads outside of the tensor, and negative ones do not count from the end.
    """

def tanh(operand: Operand) -> Call:
    """The hyperbolic tangent."""

def where(condition: Operand, x: Operand, y: Operand) -> Call:
    """The elements of one tensor where a condition holds, those of another where it does not."""
