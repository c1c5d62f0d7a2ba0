"""The operators as functions, for type checkers and editors: written by tests/typing/operators.py."""

from collections.abc import Callable, Sequence
from typing import TypeAlias

from xdsl.ir import Attribute

from relex.dialects import relex
from relex.frontend import op as _op
from relex.frontend.graph_expressions import AnyOperand as Operand
from relex.frontend.graph_expressions import Call, Size

Shapes: TypeAlias = Sequence[Size] | Sequence[Sequence[Size]]

nn = _op

def abs(operand: Operand) -> Call:
    """Each element without its sign; the smallest integer stays as it is."""

def acos(operand: Operand) -> Call:
    """The inverse cosine, from 0 to pi; NaN outside of -1 to 1."""

def acosh(operand: Operand) -> Call:
    """The inverse hyperbolic cosine, which is not negative; NaN below 1."""

def add(lhs: Operand, rhs: Operand) -> Call:
    """The sum of two tensors; on i1, logical or."""

def alloc_tensor(shape: Sequence[Size], dtype: str = "float32") -> Call:
    """Allocate an uninitialized tensor. This is a side effect, so it must be outside of dataflow blocks."""

def arange(first: Operand, end: Operand, step: Operand) -> Call:
    """
    The numbers from a first one on, at equal distances, before the end. They are the first number plus multiples of the
    step; their number is the quotient of the length and the step, in f64 for floats, rounded up; 0 if that is negative.
    A step of 0 is an error, and so is a number that is no size.
    """

def argmax(operand: Operand, axis: int | None = None, keepdims: bool = False, select_last_index: bool = False) -> Call:
    """
    The index of the first maximum along one dimension, or in the whole tensor in row-major order. The first NaN counts
    as the maximum. With `select_last_index`, it is the index of the last maximum, or NaN.
    """

def argmin(operand: Operand, axis: int | None = None, keepdims: bool = False, select_last_index: bool = False) -> Call:
    """
    The index of the first minimum along one dimension, or in the whole tensor in row-major order. The first NaN counts
    as the minimum. With `select_last_index`, it is the index of the last minimum, or NaN.
    """

def argsort(operand: Operand, axis: int = -1, descending: bool = False) -> Call:
    """
    The positions of the elements along a dimension, by default the last, in ascending order of the elements, or in
    descending order. Equal elements, among them zeros of either sign and NaN, keep their order. NaN counts as the
    largest number.
    """

def as_sizes(numbers: Operand) -> Call:
    """
    A tensor without elements whose sizes after the first are the numbers of a tensor. Operators that take sizes of the
    tensors in `like` have results of these sizes. A number that is no size is an error.
    """

def asin(operand: Operand) -> Call:
    """The inverse sine, from -pi/2 to pi/2; NaN outside of -1 to 1."""

def asinh(operand: Operand) -> Call:
    """The inverse hyperbolic sine."""

def assert_op(condition: Operand, message: str, index: Operand | None = None) -> Call:
    """
    Stop the program with an error unless a condition (a scalar i1) holds. With `index` (a scalar i64), it is an
    `IndexRangeError` that names it. An assertion is a side effect, so it must be outside of dataflow blocks.
    """

def astype(operand: Operand, dtype: Attribute | str) -> Call:
    """
    The elements converted to another type. Integers wrap around. Floats are rounded towards zero to integers and
    saturate at the ends of the range; NaN becomes 0 (NumPy specifies neither). To i1 everything but zero is true.
    """

def atan(operand: Operand) -> Call:
    """The inverse tangent, from -pi/2 to pi/2."""

def atanh(operand: Operand) -> Call:
    """The inverse hyperbolic tangent; infinite for -1 and 1, NaN beyond."""

def avg_pool1d(
    data: Operand,
    pool_size: Sequence[int],
    strides: Sequence[int] | None = None,
    padding: Sequence[int] | None = None,
    dilation: Sequence[int] | None = None,
    ceil_mode: bool = False,
    count_include_pad: bool = False,
) -> Call:
    """
    The mean of each window. Padding counts, as zeros, only with `count_include_pad`; without it, a window that contains
    nothing else yields NaN, the mean of no elements. Floats only, as for `relex.mean`. `padding` is one number for both
    sides, or two (left, right). With `ceil_mode`, windows that begin inside but do not fit count as well; what they
    lack never counts.
    """

def avg_pool2d(
    data: Operand,
    pool_size: Sequence[int],
    strides: Sequence[int] | None = None,
    padding: Sequence[int] | None = None,
    dilation: Sequence[int] | None = None,
    ceil_mode: bool = False,
    count_include_pad: bool = False,
) -> Call:
    """
    The mean of each window. Padding counts, as zeros, only with `count_include_pad`; without it, a window that contains
    nothing else yields NaN, the mean of no elements. Floats only, as for `relex.mean`. `padding` is one number for all
    sides, two (top and bottom, left and right) or four (top, left, bottom, right). With `ceil_mode`, windows that begin
    inside but do not fit count as well; what they lack never counts.
    """

def avg_pool3d(
    data: Operand,
    pool_size: Sequence[int],
    strides: Sequence[int] | None = None,
    padding: Sequence[int] | None = None,
    dilation: Sequence[int] | None = None,
    ceil_mode: bool = False,
    count_include_pad: bool = False,
) -> Call:
    """
    The mean of each window. Padding counts, as zeros, only with `count_include_pad`; without it, a window that contains
    nothing else yields NaN, the mean of no elements. Floats only, as for `relex.mean`. `padding` is one number for all
    sides, three (for both sides of each dimension) or six (before each dimension, then after each). With `ceil_mode`,
    windows that begin inside but do not fit count as well; what they lack never counts.
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
    `(x - mean) / sqrt(variance + epsilon) * gamma + beta` with the mean and variance from training; all four parameters
    have one element for each position along `axis`.
    """

def bitcast(operand: Operand, dtype: Attribute | str) -> Call:
    """The numbers of another type of the same width that have the same bits; not defined on i1."""

def bitwise_and(lhs: Operand, rhs: Operand) -> Call:
    """Bitwise and of integers; on i1, the logical operator."""

def bitwise_not(operand: Operand) -> Call:
    """The complement of each bit; on i1, logical not."""

def bitwise_or(lhs: Operand, rhs: Operand) -> Call:
    """Bitwise or of integers; on i1, the logical operator."""

def bitwise_xor(lhs: Operand, rhs: Operand) -> Call:
    """Bitwise exclusive or of integers; on i1, the logical operator."""

def block_digits(data: Operand, scales: Operand) -> Call:
    """The multiples of its scale, as bytes, to which `relex.round_blocks` rounds each number of a block."""

def block_scales(data: Operand, size: int) -> Call:
    """The scales of numbers in blocks along the last dimension, by which `relex.round_blocks` rounds them."""

def broadcast_to(operand: Operand, shape: Sequence[int | str], sizes: Sequence[str] | None = None) -> Call:
    """
    The elements repeated along dimensions of size 1 and along new leading dimensions, as NumPy broadcasts. A size of -1
    keeps the operand's size, unless `sizes` has an expression for it, as in `relex.reshape`: a size that is known only
    at run time broadcasts dimensions whose size is 1 in the type.
    """

def call(function: str, *args: Operand) -> Call:
    """Call a function of the module by name: a fused group, another graph function, or a loop function."""

def call_dps_packed(
    name: str, args: Operand | Sequence[Operand], shape: Shapes, dtype: str = "float32", *, side_effects: bool = False
) -> Call:
    """Call a library function by name, given the shape of its output or the shapes of its outputs."""

def call_tir(function: str, args: Operand | Sequence[Operand], shape: Shapes, dtype: str = "float32") -> Call:
    """Call a loop function by name, given the shape of its output or the shapes of its outputs."""

def ceil(operand: Operand) -> Call:
    """The smallest integer not below the element."""

def clip(operand: Operand, min: float | None = None, max: float | None = None) -> Call:
    """The elements clamped between two bounds of the same type, either of which may be missing. NaN stays NaN."""

def compress(data: Operand, condition: Operand, axis: int | None = None) -> Call:
    """
    The parts of the data along a dimension, by default all elements in row-major order, for which the condition holds.
    A condition that is shorter than the dimension holds for no further part.
    """

def concat(*tensors: Operand | Sequence[Operand], axis: int = 0) -> Call:
    """The concatenation of tensors along a dimension, by default the first; their other sizes are equal."""

def conv1d(
    data: Operand,
    weight: Operand,
    strides: Sequence[int] | None = None,
    padding: Sequence[int] | None = None,
    dilation: Sequence[int] | None = None,
    groups: int = 1,
) -> Call:
    """
    The convolution, as in neural networks (without flipping), of data `[N, C, W]` with a weight `[O, C / groups, w]`:
    `[N, O, W']`. Each group of output channels sees its group of input channels. `padding` is one number for both
    sides, or two (left, right).
    """

def conv1d_packed(
    data: Operand,
    weight: Operand,
    strides: Sequence[int] | None = None,
    padding: Sequence[int] | None = None,
    dilation: Sequence[int] | None = None,
    groups: int = 1,
) -> Call:
    """The convolution, as `relex.conv1d`, of unsigned bytes with signed ones, each packed along the input channels."""

def conv1d_transpose(
    data: Operand,
    weight: Operand,
    strides: Sequence[int] | None = None,
    padding: Sequence[int] | None = None,
    output_padding: Sequence[int] | None = None,
    dilation: Sequence[int] | None = None,
    groups: int = 1,
) -> Call:
    """
    The transpose of `relex.conv1d`, of data `[N, C, W]` with a weight `[C, O / groups, w]`: each element of the data
    adds its multiple of the weight to a window of the result, of which `padding` elements are then removed at the ends.
    `output_padding` more elements follow at the end of each dimension before that. The data stands between zeros, as in
    the padding of `relex.conv1d`: where these reach the result, it is NaN if the element of the weight is infinite or
    NaN.
    """

def conv2d(
    data: Operand,
    weight: Operand,
    strides: Sequence[int] | None = None,
    padding: Sequence[int] | None = None,
    dilation: Sequence[int] | None = None,
    groups: int = 1,
) -> Call:
    """
    The convolution, as in neural networks (without flipping), of data `[N, C, H, W]` with a weight
    `[O, C / groups, h, w]`: `[N, O, H', W']`. Each group of output channels sees its group of input channels. `padding`
    is one number for all sides, two (top and bottom, left and right) or four (top, left, bottom, right).
    """

def conv2d_blocked(
    data: Operand,
    weight: Operand,
    strides: Sequence[int] | None = None,
    padding: Sequence[int] | None = None,
    dilation: Sequence[int] | None = None,
    depthwise: bool = False,
    groups: int = 1,
) -> Call:
    """
    The convolution `relex.conv2d` of data `[N, C / c, H, W, c]`, whose channels are in blocks of `c`, with a weight
    `[O / o, C / groups / c, h, w, c, o]`: `[N, O / o, H', W', o]`. The numbers of a block are contiguous, as vectors
    need them, and in one group. If `c` is 1, the data may be `[N, C, H, W]`. With `depthwise`, each channel is
    convolved on its own, with a weight `[C / c, 1, h, w, 1, c]`, and data of unsigned bytes becomes numbers of the
    weight's type. `padding` is one number for all sides, two (top and bottom, left and right) or four (top, left,
    bottom, right).

    Without groups, the weight may have smaller blocks of input channels, whose size divides `c`, and fewer channels
    than the blocks of the data hold: the others, at the end of the last one, are not read.
    """

def conv2d_blocked_packed(
    data: Operand,
    weight: Operand,
    strides: Sequence[int] | None = None,
    padding: Sequence[int] | None = None,
    dilation: Sequence[int] | None = None,
    depthwise: bool = False,
    groups: int = 1,
) -> Call:
    """
    The convolution, as `relex.conv2d_blocked`, of unsigned bytes with signed ones, each packed along the input channels
    of a block. If a block is one word, the data may be `[N, C, H, W]`. Channels are not convolved on their own.
    """

def conv2d_blocked_pairs(
    data: Operand,
    weight: Operand,
    strides: Sequence[int] | None = None,
    padding: Sequence[int] | None = None,
    dilation: Sequence[int] | None = None,
    depthwise: bool = False,
    groups: int = 1,
) -> Call:
    """
    The convolution, as `relex.conv2d_blocked`, of numbers of bf16, packed in pairs along the input channels of a block.
    It is added up in f32. Numbers below 2**-126 may count as zeros. Channels are not convolved on their own.
    """

def conv2d_blocked_shorts(
    data: Operand,
    weight: Operand,
    strides: Sequence[int] | None = None,
    padding: Sequence[int] | None = None,
    dilation: Sequence[int] | None = None,
    depthwise: bool = False,
    groups: int = 1,
) -> Call:
    """
    The convolution, as `relex.conv2d_blocked`, of signed integers of 16 bits, packed in pairs along the input channels
    of a block. Channels are not convolved on their own.
    """

def conv2d_packed(
    data: Operand,
    weight: Operand,
    strides: Sequence[int] | None = None,
    padding: Sequence[int] | None = None,
    dilation: Sequence[int] | None = None,
    groups: int = 1,
) -> Call:
    """The convolution, as `relex.conv2d`, of unsigned bytes with signed ones, each packed along the input channels."""

def conv2d_transpose(
    data: Operand,
    weight: Operand,
    strides: Sequence[int] | None = None,
    padding: Sequence[int] | None = None,
    output_padding: Sequence[int] | None = None,
    dilation: Sequence[int] | None = None,
    groups: int = 1,
) -> Call:
    """
    The transpose of `relex.conv2d`, of data `[N, C, H, W]` with a weight `[C, O / groups, h, w]`: each element of the
    data adds its multiple of the weight to a window of the result, of which `padding` elements are then removed at the
    ends. `output_padding` more elements follow at the end of each dimension before that. The data stands between zeros,
    as in the padding of `relex.conv2d`: where these reach the result, it is NaN if the element of the weight is
    infinite or NaN.
    """

def conv3d(
    data: Operand,
    weight: Operand,
    strides: Sequence[int] | None = None,
    padding: Sequence[int] | None = None,
    dilation: Sequence[int] | None = None,
    groups: int = 1,
) -> Call:
    """
    The convolution, as in neural networks (without flipping), of data `[N, C, D, H, W]` with a weight
    `[O, C / groups, d, h, w]`: `[N, O, D', H', W']`. Each group of output channels sees its group of input channels.
    `padding` is one number for all sides, three (for both sides of each dimension) or six (before each dimension, then
    after each).
    """

def conv3d_packed(
    data: Operand,
    weight: Operand,
    strides: Sequence[int] | None = None,
    padding: Sequence[int] | None = None,
    dilation: Sequence[int] | None = None,
    groups: int = 1,
) -> Call:
    """The convolution, as `relex.conv3d`, of unsigned bytes with signed ones, each packed along the input channels."""

def conv3d_transpose(
    data: Operand,
    weight: Operand,
    strides: Sequence[int] | None = None,
    padding: Sequence[int] | None = None,
    output_padding: Sequence[int] | None = None,
    dilation: Sequence[int] | None = None,
    groups: int = 1,
) -> Call:
    """
    The transpose of `relex.conv3d`, of data `[N, C, D, H, W]` with a weight `[C, O / groups, d, h, w]`: each element of
    the data adds its multiple of the weight to a window of the result, of which `padding` elements are then removed at
    the ends. `output_padding` more elements follow at the end of each dimension before that. The data stands between
    zeros, as in the padding of `relex.conv3d`: where these reach the result, it is NaN if the element of the weight is
    infinite or NaN.
    """

def cos(operand: Operand) -> Call:
    """The cosine of an angle in radians; NaN for infinity."""

def cosh(operand: Operand) -> Call:
    """The hyperbolic cosine."""

def cumprod(operand: Operand, axis: int | None = None, exclusive: bool = False, reverse: bool = False) -> Call:
    """
    The product of all elements up to each one along a dimension, multiplied one after the other; integers wrap around.
    Without `axis` the operand has one dimension. With `exclusive`, the element itself does not count; with `reverse`,
    the products begin at the end.
    """

def cumsum(operand: Operand, axis: int | None = None, exclusive: bool = False, reverse: bool = False) -> Call:
    """
    The sum of all elements up to each one along a dimension, added one after the other; integers wrap around. Without
    `axis` the operand has one dimension. With `exclusive`, the element itself does not count; with `reverse`, the sums
    begin at the end.
    """

def dense(data: Operand, weight: Operand) -> Call:
    """A dense layer without bias: data `[..., K]` times the transpose of a weight `[N, K]` yields `[..., N]`."""

def dense_block_rows(data: Operand, weight: Operand, layout: str) -> Call:
    """
    A dense layer, as `relex.dense`, whose weight `[N, K]` is in blocks, as files and `relex.dequantize_blocks` have
    them. Rows of bytes are read as they are, and each number is unpacked and scaled in registers, as that operator does
    it.
    """

def dense_blocks(data: Operand, scales: Operand, digits: Operand, layout: str) -> Call:
    """
    A dense layer, as `relex.dense`, whose weight `[N, K]` is in blocks, as `relex.dequantize_blocks` takes them, but
    with the bytes of the scales and the bytes of the digits in separate tensors. The weight is unpacked in registers:
    digits, and `data` where there is a minimum, are added up for each group before they are scaled. So a result is
    infinite where one of these sums is, however small its scale.
    """

def dense_words(data: Operand, data_scales: Operand, scales: Operand, digits: Operand, layout: str, least: int) -> Call:
    """
    A dense layer, as `relex.dense_blocks`, of data in blocks of bytes, each with a scale: `relex.block_digits`, packed
    in words. Digits of the weight are unsigned, in words, too: a word has four of 8 bits, or eight of 4 bits, the first
    four in the low halves of its bytes; `least` is added to each. Products of a group of numbers are added up as
    integers, and then multiplied with both scales.

    Data may also be integers of 16 bits, two to a word. Then the even bytes of a word of digits are the first two of
    four, and the odd ones the others: both become integers of 16 bits by a mask.
    """

def dequantize_blocks(data: Operand, layout: str) -> Call:
    """
    The numbers in blocks of bytes along the last dimension, as f32. `layout` is the name of their layout: `Q4_0`,
    `Q4_1`, `Q5_0`, `Q5_1`, `Q8_0`, `Q4_K`, `Q5_K`, `Q6_K`, `IQ4_NL`, `IQ4_XS` or `MXFP4`, as in GGUF files; or, for
    unsigned numbers of 2, 4 or 8 bits in blocks of 16 to 256, a name such as `4_BITS_32_F16` or `4_BITS_32_F16_ZEROS`.
    """

def divide(lhs: Operand, rhs: Operand) -> Call:
    """The quotient of two float tensors. Integers are rejected: NumPy's result is a float, C's is truncated."""

def dynamic_strided_slice(
    data: Operand, begin: Operand, end: Operand, step: Operand, axes: Sequence[int] | None = None
) -> Call:
    """
    A part of the data between places that are known at run time: for each dimension, or for those in `axes`, the first
    place, the place before which it ends, and the step. Negative places count from the end, and places out of range are
    clipped, as in NumPy. A step of 0 is an error.
    """

def equal(lhs: Operand, rhs: Operand) -> Call:
    """Elementwise `==`; +0 equals -0, NaN is equal to nothing."""

def erf(operand: Operand) -> Call:
    """The error function."""

def ewise_fma(x: Operand, y: Operand, z: Operand) -> Call:
    """`x * y + z`, rounded after the product and after the sum, so that it equals the two separate operators."""

def exp(operand: Operand) -> Call:
    """The exponential function."""

def exp2(operand: Operand) -> Call:
    """Two to the power of each element."""

def expand_dims(operand: Operand, axis: int | Sequence[int]) -> Call:
    """The tensor with new dimensions of size 1, which become the dimensions `axis` of the result."""

def expm1(operand: Operand) -> Call:
    """`exp(x) - 1`, exact near zero as well."""

def floor(operand: Operand) -> Call:
    """The largest integer not above the element."""

def floor_divide(lhs: Operand, rhs: Operand) -> Call:
    """The quotient of integers, rounded down, as in Python. Of floats, take `relex.floor` of `relex.divide`."""

def floor_mod(lhs: Operand, rhs: Operand) -> Call:
    """
    The remainder of the quotient that is rounded down: it has the sign of the divisor, as in Python and NumPy. Of
    floats, it is NaN for a divisor of 0.
    """

def gather_elements(data: Operand, indices: Operand, axis: int = 0) -> Call:
    """
    For each element of `indices`, the element of the data at the same place, but at that index along one dimension, by
    default the first. A negative index counts from the end; indices still out of range are clipped.
    """

def gather_nd(data: Operand, indices: Operand, batch_dims: int = 0) -> Call:
    """
    For each list of indices in the last dimension of `indices`, the part of the data at these indices. The first
    `batch_dims` dimensions are common to both. A negative index counts from the end; indices still out of range are
    clipped.
    """

def gelu(operand: Operand) -> Call:
    """
    `x` times the cumulative normal distribution at `x`, the exact form `x / 2 * (1 + erf(x / sqrt(2)))`, with all its
    digits where the distribution is small; NaN for minus infinity.
    """

def greater(lhs: Operand, rhs: Operand) -> Call:
    """Elementwise `>`; false with NaN."""

def greater_equal(lhs: Operand, rhs: Operand) -> Call:
    """Elementwise `>=`; false with NaN."""

def iota(
    *like: Operand | Sequence[Operand],
    shape: Sequence[int | str],
    dtype: Attribute | str,
    axis: int = 0,
    sizes: Sequence[str] | None = None,
) -> Call:
    """
    The position of each element along the dimension `axis`, by default the first: 0, 1, 2, ... A size of -1 is given by
    an expression in `sizes`, of the sizes of the tensors in `like`: `like0_d1` is dimension 1 of the first one. Nothing
    else of these is used.
    """

def isfinite(operand: Operand) -> Call:
    """True for all but NaN and the infinities."""

def isinf(operand: Operand) -> Call:
    """True for infinity and minus infinity."""

def isnan(operand: Operand) -> Call:
    """True for NaN."""

def layer_norm(
    data: Operand, gamma: Operand, beta: Operand, axes: Sequence[int] = (-1,), epsilon: float = 1e-05
) -> Call:
    """
    `(x - mean) / sqrt(variance + epsilon) * gamma + beta`, with mean and variance over `axes`, by default the last
    dimension. `gamma` and `beta` have the sizes of those dimensions.
    """

def left_shift(lhs: Operand, rhs: Operand) -> Call:
    """
    The first integer shifted to the left by the second, filled with zeros. A count that is negative, or not below the
    width of the type, gives 0.
    """

def less(lhs: Operand, rhs: Operand) -> Call:
    """Elementwise `<`; false with NaN."""

def less_equal(lhs: Operand, rhs: Operand) -> Call:
    """Elementwise `<=`; false with NaN."""

def log(operand: Operand) -> Call:
    """The natural logarithm; minus infinity for zero, NaN for negative numbers."""

def log10(operand: Operand) -> Call:
    """The logarithm to base 10; minus infinity for zero, NaN for negative numbers."""

def log1p(operand: Operand) -> Call:
    """`log(1 + x)`, exact near zero as well; minus infinity for -1, NaN for smaller numbers."""

def log2(operand: Operand) -> Call:
    """The logarithm to base 2; minus infinity for zero, NaN for negative numbers."""

def log_softmax(data: Operand, axis: int = -1) -> Call:
    """The logarithm of the softmax, computed as `x - max(x) - log(sum(exp(x - max(x))))`."""

def logical_and(lhs: Operand, rhs: Operand) -> Call:
    """Logical and of booleans."""

def logical_not(operand: Operand) -> Call:
    """The opposite of each boolean."""

def logical_or(lhs: Operand, rhs: Operand) -> Call:
    """Logical or of booleans."""

def logical_xor(lhs: Operand, rhs: Operand) -> Call:
    """Logical exclusive or of booleans."""

def look_up(operand: Operand, table: Sequence[int]) -> Call:
    """
    A number in a table for each byte: the first one for the least byte, -128 or 0, the second one for the next byte,
    and so on. The last one is for all bytes that are larger, too.
    """

def match_sizes(operand: Operand, sizes: Sequence[int | str]) -> Call:
    """
    Name the sizes of a tensor, or state what they are: numbers, or expressions of sizes that have names. An empty
    text says nothing. A size that is another one in a run is an error. Shapes may have the names from here on, where
    the result is known.
    """

def matmul(lhs: Operand, rhs: Operand) -> Call:
    """
    The matrix product, as NumPy's `@`: the last two dimensions are multiplied, the leading ones broadcast, and an
    operand of rank 1 is a row on the left and a column on the right.
    """

def matmul_packed(lhs: Operand, rhs: Operand) -> Call:
    """
    The matrix product, as `relex.matmul`, of unsigned bytes with signed ones, each packed along the dimension that is
    summed.
    """

def matmul_pairs(lhs: Operand, rhs: Operand) -> Call:
    """
    The matrix product, as `relex.matmul`, of numbers of bf16, packed in pairs along the dimension that is summed. It is
    added up in f32. Numbers below 2**-126 may count as zeros.
    """

def matmul_shorts(lhs: Operand, rhs: Operand) -> Call:
    """
    The matrix product, as `relex.matmul`, of signed integers of 16 bits, packed in pairs along the dimension that is
    summed.
    """

def max(operand: Operand, axis: int | Sequence[int] | None = None, keepdims: bool = False) -> Call:
    """The maximum; NaN if an element is NaN. Rejected if there are no elements to choose from."""

def max_pool1d(
    data: Operand,
    pool_size: Sequence[int],
    strides: Sequence[int] | None = None,
    padding: Sequence[int] | None = None,
    dilation: Sequence[int] | None = None,
    ceil_mode: bool = False,
) -> Call:
    """
    The maximum of each window; NaN if an element is NaN. Padding never wins: a window that contains nothing else yields
    the lowest value of the type. `padding` is one number for both sides, or two (left, right). With `ceil_mode`,
    windows that begin inside but do not fit count as well.
    """

def max_pool1d_with_indices(
    data: Operand,
    pool_size: Sequence[int],
    strides: Sequence[int] | None = None,
    padding: Sequence[int] | None = None,
    dilation: Sequence[int] | None = None,
    ceil_mode: bool = False,
) -> Call:
    """
    The maximum of each window, as `relex.max_pool1d`, and its position in the data, counted in row-major order within
    the channel: the position of the first maximum, or of the first NaN. A window that only contains padding has the
    position -1.
    """

def max_pool2d(
    data: Operand,
    pool_size: Sequence[int],
    strides: Sequence[int] | None = None,
    padding: Sequence[int] | None = None,
    dilation: Sequence[int] | None = None,
    ceil_mode: bool = False,
) -> Call:
    """
    The maximum of each window; NaN if an element is NaN. Padding never wins: a window that contains nothing else yields
    the lowest value of the type. `padding` is one number for all sides, two (top and bottom, left and right) or four
    (top, left, bottom, right). With `ceil_mode`, windows that begin inside but do not fit count as well.
    """

def max_pool2d_with_indices(
    data: Operand,
    pool_size: Sequence[int],
    strides: Sequence[int] | None = None,
    padding: Sequence[int] | None = None,
    dilation: Sequence[int] | None = None,
    ceil_mode: bool = False,
) -> Call:
    """
    The maximum of each window, as `relex.max_pool2d`, and its position in the data, counted in row-major order within
    the channel: the position of the first maximum, or of the first NaN. A window that only contains padding has the
    position -1.
    """

def max_pool3d(
    data: Operand,
    pool_size: Sequence[int],
    strides: Sequence[int] | None = None,
    padding: Sequence[int] | None = None,
    dilation: Sequence[int] | None = None,
    ceil_mode: bool = False,
) -> Call:
    """
    The maximum of each window; NaN if an element is NaN. Padding never wins: a window that contains nothing else yields
    the lowest value of the type. `padding` is one number for all sides, three (for both sides of each dimension) or six
    (before each dimension, then after each). With `ceil_mode`, windows that begin inside but do not fit count as well.
    """

def max_pool3d_with_indices(
    data: Operand,
    pool_size: Sequence[int],
    strides: Sequence[int] | None = None,
    padding: Sequence[int] | None = None,
    dilation: Sequence[int] | None = None,
    ceil_mode: bool = False,
) -> Call:
    """
    The maximum of each window, as `relex.max_pool3d`, and its position in the data, counted in row-major order within
    the channel: the position of the first maximum, or of the first NaN. A window that only contains padding has the
    position -1.
    """

def maximum(lhs: Operand, rhs: Operand) -> Call:
    """The maximum of two elements; NaN if either is NaN. +0 is larger than -0."""

def mean(operand: Operand, axis: int | Sequence[int] | None = None, keepdims: bool = False) -> Call:
    """The sum divided by the number of elements; NaN for none. Integers are rejected: NumPy's result is a float."""

def min(operand: Operand, axis: int | Sequence[int] | None = None, keepdims: bool = False) -> Call:
    """The minimum; NaN if an element is NaN. Rejected if there are no elements to choose from."""

def minimum(lhs: Operand, rhs: Operand) -> Call:
    """The minimum of two elements; NaN if either is NaN. -0 is smaller than +0."""

def mod(lhs: Operand, rhs: Operand) -> Call:
    """
    The remainder of the quotient that is rounded towards zero: it has the sign of the dividend, as C's `%` and `fmod`.
    Of floats, it is NaN for a divisor of 0.
    """

def multiply(lhs: Operand, rhs: Operand) -> Call:
    """The product of two tensors; on i1, logical and."""

def negative(operand: Operand) -> Call:
    """
    Each element with its sign flipped, including NaN and zeros; the smallest integer stays as it is. Not defined on i1.
    """

def non_max_suppression(
    boxes: Operand, scores: Operand, most: Operand, overlap: Operand, least: Operand, center: bool = False
) -> Call:
    """
    The best boxes of each class that overlap no better one: a row for each, with the numbers of its image, its class
    and its box; those with the largest scores first. A box counts if its score is larger than `least`, or if `least` is
    NaN; of each class of an image, `most` boxes at most. Two boxes overlap if what they share is larger than a part
    `overlap` of what they cover together. Boxes are two opposite corners, `[y, x, y, x]`; with `center`,
    `[x, y, width, height]` around a center.
    """

def nonzero(operand: Operand) -> Call:
    """
    The places of the elements that are not zero, in row-major order: a row for each, with its index in each dimension.
    NaN is not zero.
    """

def not_equal(lhs: Operand, rhs: Operand) -> Call:
    """Elementwise `!=`; NaN differs from everything."""

def of(kind: type[relex.Operator]) -> Callable[..., Call]:
    """
    Return the function for an operator. It takes the tensors first, then the properties that the operator's class
    takes.
    """

def pack_bytes(data: Operand, axis: int) -> Call:
    """
    Words of four neighbouring bytes, or of two neighbouring numbers of bf16 or i16, along a dimension. The first one is
    in the low bits. Zeros fill the last word.
    """

def pad(operand: Operand, pad_width: Sequence[int], pad_value: float | None = None) -> Call:
    """
    The tensor surrounded by `pad_value`, by default 0: `pad_width` has the widths before and after each dimension.
    """

def permute_dims(operand: Operand, axes: Sequence[int] | None = None) -> Call:
    """
    The dimensions in another order: dimension `i` of the result is dimension `axes[i]` of the operand. By default the
    order is reversed.
    """

def power(lhs: Operand, rhs: Operand) -> Call:
    """
    The first tensor to the power of the second. Integers wrap around; with a negative exponent, the result is the
    reciprocal rounded towards zero: 1 or -1 for these two, else 0.
    """

def prod(operand: Operand, axis: int | Sequence[int] | None = None, keepdims: bool = False) -> Call:
    """The product, in the element type: integers wrap around. The product of no elements is 1. Not defined on i1."""

def random_bernoulli(key: Operand, probability: Operand, algorithm: str | None = None) -> Call:
    """
    True with the probability that each element says: where it is greater than the number of `relex.random_uniform` for
    the same key. NaN is never.
    """

def random_bits(
    key: Operand,
    shape: Sequence[int | str],
    dtype: Attribute | str,
    algorithm: str | None = None,
    sizes: Sequence[str] | None = None,
) -> Call:
    """
    Random bits, by a generator of Random123: the words of the blocks that `philox4x32-10` or `threefry2x32-20` makes of
    the counters 0, 1, 2, ..., in row-major order; a number of 64 bits is two of them, the lower one first. The key has
    two words. Four more, or two for `threefry2x32-20`, are the counter to begin with, of which the first two words
    count. The shape is given as for `relex.iota`.
    """

def random_categorical(key: Operand, logits: Operand, algorithm: str | None = None) -> Call:
    """
    A position along the last dimension, chosen with the probabilities whose logarithms are the elements there, up to a
    constant. The largest element is chosen after noise is added to each, from Gumbel's distribution; NaN counts as the
    largest.
    """

def random_normal(
    key: Operand,
    shape: Sequence[int | str],
    dtype: Attribute | str,
    algorithm: str | None = None,
    sizes: Sequence[str] | None = None,
) -> Call:
    """
    Random numbers from the normal distribution of mean 0 and variance 1, each of two uniform ones by the transform of
    Box and Muller. f16 and bf16 are rounded from f32.
    """

def random_uniform(
    key: Operand,
    shape: Sequence[int | str],
    dtype: Attribute | str,
    algorithm: str | None = None,
    sizes: Sequence[str] | None = None,
) -> Call:
    """
    Random numbers from 0 to 1, without 1, from the bits of `relex.random_bits` for the same key: multiples of 2 to the
    power of -24 for f32, -53 for f64, -11 for f16 and -8 for bf16, all equally likely.
    """

def relu(operand: Operand) -> Call:
    """The maximum of each element and +0; NaN stays NaN."""

def repeat(data: Operand, times: Operand, axis: int = 0) -> Call:
    """
    Each part of the data along a dimension, by default the first, as often as a tensor of counts says. A negative count
    is an error.
    """

def reshape(operand: Operand, shape: Sequence[int | str], sizes: Sequence[str] | None = None) -> Call:
    """
    The same elements in row-major order, with another shape. One size may be -1: it is inferred from the others.
    Further ones may be -1 if `sizes` has expressions for them, of the operand's sizes `d0`, `d1`, ..., and the sizes of
    the tensors in `like`: `like0_d1` is dimension 1 of the first one.
    """

def right_shift(lhs: Operand, rhs: Operand) -> Call:
    """
    The first integer shifted to the right by the second, filled with its sign. A count that is negative, or not below
    the width of the type, only leaves the sign: 0 or -1.
    """

def round(operand: Operand) -> Call:
    """The nearest integer; of two that are equally near, the even one, as in NumPy."""

def round_blocks(data: Operand, size: int) -> Call:
    """
    Numbers in blocks along the last dimension, each rounded to a multiple of its block's scale: the largest number of
    the block, without its sign, times `1 / 127`. Of two multiples that are equally near, the even one is taken. So a
    number is off by `1 / 254` of the largest one. A block with an infinite number or NaN becomes NaN.
    """

def rsqrt(operand: Operand) -> Call:
    """The reciprocal of the square root, both correctly rounded; infinite for zero, with its sign."""

def scatter_elements(
    data: Operand, indices: Operand, updates: Operand, axis: int = 0, reduction: str = "update"
) -> Call:
    """
    The data, in which each element of `updates` has been stored at its own place, but at the index of the same place in
    `indices` along one dimension, by default the first. Instead of storing it, `reduction` can combine it with the
    element there: `add`, `mul`, `max` or `min`. Updates take effect one after the other, in row-major order. A negative
    index counts from the end; updates still out of range have no effect.
    """

def scatter_nd(data: Operand, indices: Operand, updates: Operand, reduction: str = "update", axis: int = 0) -> Call:
    """
    The data, in which each part of `updates` has been stored at the list of indices in the last dimension of `indices`.
    The first of them counts along dimension `axis`, by default the first; the same indices hold for all that is before
    it. Instead of storing it, `reduction` can combine it with the elements there: `add`, `mul`, `max` or `min`. Updates
    take effect one after the other, in row-major order. A negative index counts from the end; updates still out of
    range have no effect.
    """

def sigmoid(operand: Operand) -> Call:
    """The logistic function `1 / (1 + exp(-x))`, computed as `exp(x) / (1 + exp(x))` below zero."""

def sign(operand: Operand) -> Call:
    """1 for positive elements, -1 for negative ones. Zeros and NaN stay as they are."""

def silu(operand: Operand) -> Call:
    """
    `x * sigmoid(x)`, computed as `x / (1 + exp(-x))`; NaN for minus infinity. Far below zero it is `x * exp(x)`, with
    the exponential as the square of one that is not too small for a float.
    """

def sin(operand: Operand) -> Call:
    """The sine of an angle in radians; NaN for infinity."""

def sinh(operand: Operand) -> Call:
    """The hyperbolic sine."""

def softmax(data: Operand, axis: int = -1, safe: bool = False) -> Call:
    """
    `exp(x) / sum(exp(x))` along one dimension, computed on `x - max(x)` to avoid overflow. All NaN if an element is NaN
    or plus infinity. Where all elements are minus infinity, as in a row that a mask hides, all NaN, or 0 if `safe`.
    """

def sort(operand: Operand, axis: int = -1, descending: bool = False) -> Call:
    """
    The elements along a dimension, by default the last, in ascending or descending order. Equal elements, among them
    zeros of either sign and NaN, keep their order. NaN counts as the largest number.
    """

def sqrt(operand: Operand) -> Call:
    """The square root, correctly rounded; NaN for negative numbers."""

def squeeze(operand: Operand, axis: int | Sequence[int] | None = None) -> Call:
    """The tensor without the dimensions `axis`, whose size is 1; by default without all dimensions of size 1."""

def strided_slice(
    operand: Operand,
    axes: Sequence[int],
    begin: Sequence[int | str],
    end: Sequence[int | str],
    strides: Sequence[int] | None = None,
    begin_sizes: Sequence[str] | None = None,
    end_sizes: Sequence[str] | None = None,
) -> Call:
    """
    Every `strides`-th element from `begin` up to but excluding `end` along each of `axes`, as in Python's slices:
    negative positions count from the end, positions out of range are clipped, and a negative stride goes backwards.

    Positions that are known at run time are expressions in `begin_sizes` and `end_sizes`, one for each of the axes, or
    an empty text where `begin` or `end` has the position: of the operand's sizes `d0`, `d1`, ..., and the sizes of the
    tensors in `like`, as in `relex.reshape`. They count from the start, also negative ones, which are clipped to 0.
    """

def subtract(lhs: Operand, rhs: Operand) -> Call:
    """The difference of two tensors; not defined on i1, as in NumPy."""

def sum(operand: Operand, axis: int | Sequence[int] | None = None, keepdims: bool = False) -> Call:
    """
    The sum, in the element type: integers wrap around (NumPy widens them to 64 bits). The order of the additions is
    unspecified. Not defined on i1; convert with `relex.astype` first.
    """

def take(operand: Operand, indices: Operand, axis: int | None = None) -> Call:
    """
    The elements at the given positions along a dimension; the dimensions of `indices` replace that dimension. Without
    `axis` the operand has one dimension. Indices are clipped to the valid range, as in NumPy's mode `clip`: no index
    reads out of bounds, and negative ones do not count from the end.
    """

def tan(operand: Operand) -> Call:
    """The tangent of an angle in radians; NaN for infinity."""

def tanh(operand: Operand) -> Call:
    """The hyperbolic tangent."""

def trunc(operand: Operand) -> Call:
    """The element without its fraction: the nearest integer towards zero."""

def trunc_divide(lhs: Operand, rhs: Operand) -> Call:
    """The quotient of integers, rounded towards zero, as in C."""

def unique(operand: Operand) -> Call:
    """
    The different elements of a tensor of one dimension in ascending order; for each, the place of the first element
    that is equal to it, and how many are; and for each element of the operand, the place of its value in the result.
    All NaN are one element, the last. Of zeros that differ in sign, the first one counts.
    """

def unpack_numbers(factors: Operand, digits: Operand, layout: str, columns: int) -> Call:
    """
    Numbers `[K, N]` in blocks, as `relex.dequantize_blocks` defines them. `factors` are the scales, and perhaps minima,
    that `relex.unpack_scales` returns, `digits` are bytes in panels `[panels, bytes, 32]` of 32 of the `columns`, of
    which the last panel may have more.
    """

def unpack_pairs(factors: Operand, digits: Operand, layout: str, columns: int) -> Call:
    """
    Words `[K / 2, N]` of two numbers of bf16 each, as `relex.matmul_pairs` multiplies them on the right: the numbers of
    `relex.unpack_numbers`, rounded.
    """

def unpack_scales(scales: Operand, layout: str) -> Call:
    """
    The scales of groups of numbers in blocks, and, for layouts that have them, minima after these, as f32 `[1 or 2,
    panels, groups, 32]`: of the bytes of scales in panels `[panels, bytes, 32]` of 32 columns.
    """

def where(condition: Operand, x: Operand, y: Operand) -> Call:
    """The elements of one tensor where a condition is true, the elements of another where it is false."""

def winograd_input_transform(data: Operand, tile: int = 4, padding: Sequence[int] | None = None) -> Call:
    """
    The data `[N, C / c, H, W, c]` of a convolution with windows of 3 by 3, whose channels are in blocks of `c`, as
    Winograd's minimal filtering multiplies it: `[(m + 2)**2, N * h * w, C]`, a row for each tile of `m` by `m` results,
    of which there are `h` by `w` in an image. If `c` is 1, the data may be `[N, C, H, W]`. `padding` is one number for
    all sides, two (top and bottom, left and right) or four (top, left, bottom, right); zeros fill the last tiles.

    `m`, the property `tile`, is 2 or 4.
    """

def winograd_output_transform(data: Operand, tile: int = 4, size: Sequence[int] = (), block: int = 1) -> Call:
    """
    The results of a convolution with windows of 3 by 3, from the products of its data and weight as Winograd's minimal
    filtering transforms them, `[(m + 2)**2, N * h * w, O]`: `[N, O / block, H, W, block]`, where `size` is `H` and
    `W`, and each row becomes a tile of `m` by `m` results. `m`, the property `tile`, is 2 or 4.
    """
