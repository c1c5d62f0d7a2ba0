// Graphs in which other compilers, or their importers, were wrong. tests/replays/replays.py says how to read them.

// apache/tvm#13048: an integer became a boolean with all of its bits, and this a wrong integer again.
// x: [-1, 2, 0, 256]
// expect: (x != 0).astype("i4")
func.func @boolean_of_an_integer(%x: tensor<4xi64>) -> tensor<4xi32> {
  %0 = relex.astype %x dtype = i1 : (tensor<4xi64>) -> tensor<4xi1>
  %1 = relex.astype %0 dtype = i32 : (tensor<4xi1>) -> tensor<4xi32>
  func.return %1 : tensor<4xi32>
}

// microsoft/onnxruntime#11994: floats became booleans directly, although they were integers in between.
// x: [0.5, -0.9, 1.5, 0.0]
// expect: x.astype("i4") != 0
func.func @boolean_of_a_truncated_float(%x: tensor<4xf32>) -> tensor<4xi1> {
  %0 = relex.astype %x dtype = i32 : (tensor<4xf32>) -> tensor<4xi32>
  %1 = relex.astype %0 dtype = i1 : (tensor<4xi32>) -> tensor<4xi1>
  func.return %1 : tensor<4xi1>
}

// llvm/llvm-project#57951: a boolean became -1 where conversions and comparisons were folded into each other.
// x: [0, 1, 2]
// expect: x == 1
func.func @boolean_is_one(%x: tensor<3xi64>, %y: tensor<3xi64>) -> tensor<3xi1> {
  %0 = relex.astype %y dtype = i64 : (tensor<3xi64>) -> tensor<3xi64>
  %1 = relex.equal %0, %y : (tensor<3xi64>, tensor<3xi64>) -> tensor<3xi1>
  %2 = relex.astype %1 dtype = i8 : (tensor<3xi1>) -> tensor<3xi8>
  %3 = relex.astype %2 dtype = i64 : (tensor<3xi8>) -> tensor<3xi64>
  %4 = relex.equal %x, %3 : (tensor<3xi64>, tensor<3xi64>) -> tensor<3xi1>
  func.return %4 : tensor<3xi1>
}

// llvm/llvm-project#148795: two bitcasts were folded into their operand, whose type is another one.
// x: [1.0, -0.0, -2.5]
// expect: x.view("u4")
func.func @two_bitcasts(%x: tensor<3xf32>) -> tensor<3xui32> {
  %0 = relex.bitcast %x dtype = i32 : (tensor<3xf32>) -> tensor<3xi32>
  %1 = relex.bitcast %0 dtype = ui32 : (tensor<3xi32>) -> tensor<3xui32>
  func.return %1 : tensor<3xui32>
}

// apache/tvm#11895: the concatenation of one tensor was memory that nobody had written.
// expect: x
func.func @concat_of_one(%x: tensor<2x1xi64>) -> tensor<2x1xi64> {
  %0 = relex.concat %x axis = 1 : (tensor<2x1xi64>) -> tensor<2x1xi64>
  func.return %0 : tensor<2x1xi64>
}

// apache/tvm#11794, apache/tvm#13031: the position of the largest element of a broadcast did not fit its declared type.
// expect: np.argmax(np.broadcast_to(x, (4, 3)), 0)
func.func @argmax_of_a_broadcast(%x: tensor<1x3xi64>) -> tensor<3xi64> {
  %0 = relex.broadcast_to %x shape = [4, 3] : (tensor<1x3xi64>) -> tensor<4x3xi64>
  %1 = relex.argmax %0 axis = 0 : (tensor<4x3xi64>) -> tensor<3xi64>
  func.return %1 : tensor<3xi64>
}

// apache/tvm#13045: so it was where dimensions of size 1 went before the broadcast; it failed when it was run.
// expect: np.argmin(np.broadcast_to(x.reshape(3), (2, 5, 3)), 2)
func.func @argmin_of_a_broadcast(%x: tensor<1x3x1xf32>) -> tensor<2x5xi64> {
  %0 = relex.squeeze %x : (tensor<1x3x1xf32>) -> tensor<3xf32>
  %1 = relex.broadcast_to %0 shape = [2, 5, 3] : (tensor<3xf32>) -> tensor<2x5x3xf32>
  %2 = relex.argmin %1 axis = 2 : (tensor<2x5x3xf32>) -> tensor<2x5xi64>
  func.return %2 : tensor<2x5xi64>
}

// apache/tvm#11719: the schedule of softmax expected two dimensions.
// expect: np.exp(x) / np.exp(x).sum()
func.func @softmax_of_a_row(%x: tensor<7xf32>) -> tensor<7xf32> {
  %0 = relex.softmax %x : (tensor<7xf32>) -> tensor<7xf32>
  func.return %0 : tensor<7xf32>
}

// apache/tvm#11803: it was wrong for two dimensions along the first one.
// expect: np.exp(x) / np.exp(x).sum(0)
func.func @softmax_of_columns(%x: tensor<3x5xf32>) -> tensor<3x5xf32> {
  %0 = relex.softmax %x axis = 0 : (tensor<3x5xf32>) -> tensor<3x5xf32>
  func.return %0 : tensor<3x5xf32>
}

// apache/tvm#12001: its parallel loops were inside of other parallel loops.
// expect: (lambda e: np.maximum(e / e.sum(1, keepdims=True), 0.25))(np.exp(x))
func.func @softmax_in_the_middle(%x: tensor<2x3x4xf32>) -> tensor<2x3x4xf32> {
  %0 = relex.softmax %x axis = 1 : (tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
  %1 = relex.constant dense<0.25> : tensor<f32>
  %2 = relex.maximum %0, %1 : (tensor<2x3x4xf32>, tensor<f32>) -> tensor<2x3x4xf32>
  func.return %2 : tensor<2x3x4xf32>
}

// apache/tvm#9813: the channels of a convolution were in blocks, and argmin counted blocks.
// expect: np.argmin(conv2d(x, w), 1)
func.func @argmin_of_channels(%x: tensor<1x3x4x4xf32>, %w: tensor<16x3x1x1xf32>) -> tensor<1x4x4xi64> {
  %0 = relex.conv2d %x, %w : (tensor<1x3x4x4xf32>, tensor<16x3x1x1xf32>) -> tensor<1x16x4x4xf32>
  %1 = relex.argmin %0 axis = 1 : (tensor<1x16x4x4xf32>) -> tensor<1x4x4xi64>
  func.return %1 : tensor<1x4x4xi64>
}

// apache/tvm#10156: the layout of one operand of a sum was always taken for the layout of the other one.
// expect: conv2d(x, w) + b
func.func @row_of_pixels(%x: tensor<1x3x4x16xf32>, %w: tensor<16x3x1x1xf32>, %b: tensor<16xf32>) -> tensor<1x16x4x16xf32> {
  %0 = relex.conv2d %x, %w : (tensor<1x3x4x16xf32>, tensor<16x3x1x1xf32>) -> tensor<1x16x4x16xf32>
  %1 = relex.add %0, %b : (tensor<1x16x4x16xf32>, tensor<16xf32>) -> tensor<1x16x4x16xf32>
  func.return %1 : tensor<1x16x4x16xf32>
}

// apache/tvm#10690, apache/tvm#8759: a slice of channels in blocks took whole blocks, at other steps.
// expect: conv2d(x, w)[:, 1:-1:8]
func.func @slice_of_channels(%x: tensor<1x3x4x4xf32>, %w: tensor<32x3x1x1xf32>) -> tensor<1x4x4x4xf32> {
  %0 = relex.conv2d %x, %w : (tensor<1x3x4x4xf32>, tensor<32x3x1x1xf32>) -> tensor<1x32x4x4xf32>
  %1 = relex.strided_slice %0 axes = [1] begin = [1] end = [-1] strides = [8] : (tensor<1x32x4x4xf32>) -> tensor<1x4x4x4xf32>
  func.return %1 : tensor<1x4x4x4xf32>
}

// apache/tvm#10118: a tensor that two operators read in two layouts had only one.
// expect: conv2d(conv2d(x, w), v) + conv2d(x, w).mean(1, keepdims=True)
func.func @two_layouts(%x: tensor<1x3x4x4xf32>, %w: tensor<16x3x1x1xf32>, %v: tensor<16x16x1x1xf32>) -> tensor<1x16x4x4xf32> {
  %0 = relex.conv2d %x, %w : (tensor<1x3x4x4xf32>, tensor<16x3x1x1xf32>) -> tensor<1x16x4x4xf32>
  %1 = relex.conv2d %0, %v : (tensor<1x16x4x4xf32>, tensor<16x16x1x1xf32>) -> tensor<1x16x4x4xf32>
  %2 = relex.mean %0 axis = [1] keepdims : (tensor<1x16x4x4xf32>) -> tensor<1x1x4x4xf32>
  %3 = relex.add %1, %2 : (tensor<1x16x4x4xf32>, tensor<1x1x4x4xf32>) -> tensor<1x16x4x4xf32>
  func.return %3 : tensor<1x16x4x4xf32>
}

// apache/tvm#10528: the schedule of a convolution did not find its result after a squeeze.
// expect: conv2d(x, w)[0]
func.func @squeezed_convolution(%x: tensor<1x2x3x3xf32>, %w: tensor<4x2x3x3xf32>) -> tensor<4x1x1xf32> {
  %0 = relex.conv2d %x, %w : (tensor<1x2x3x3xf32>, tensor<4x2x3x3xf32>) -> tensor<1x4x1x1xf32>
  %1 = relex.squeeze %0 axis = [0] : (tensor<1x4x1x1xf32>) -> tensor<4x1x1xf32>
  func.return %1 : tensor<4x1x1xf32>
}

// apache/tvm#10336, apache/tvm#5505: x % 20 // 2 * 2 % 4 lost its quotient where a layout changed into another one.
// expect: x.transpose(0, 1, 4, 2, 3).reshape(2, 10, 2, 2, 2).transpose(0, 1, 3, 4, 2)
func.func @blocks_of_two(%x: tensor<2x5x2x2x4xf32>) -> tensor<2x10x2x2x2xf32> {
  %0 = relex.permute_dims %x axes = [0, 1, 4, 2, 3] : (tensor<2x5x2x2x4xf32>) -> tensor<2x5x4x2x2xf32>
  %1 = relex.reshape %0 shape = [2, 10, 2, 2, 2] : (tensor<2x5x4x2x2xf32>) -> tensor<2x10x2x2x2xf32>
  %2 = relex.permute_dims %1 axes = [0, 1, 3, 4, 2] : (tensor<2x10x2x2x2xf32>) -> tensor<2x10x2x2x2xf32>
  func.return %2 : tensor<2x10x2x2x2xf32>
}

// apache/tvm#12380: once it was fused, a product of f16 was not rounded where its operands were.
// expect: x * np.cos(x.astype("f4")).astype("f2").T
func.func @half_precision(%x: tensor<3x3xf16>) -> tensor<3x3xf16> {
  %0 = relex.cos %x : (tensor<3x3xf16>) -> tensor<3x3xf16>
  %1 = relex.permute_dims %0 : (tensor<3x3xf16>) -> tensor<3x3xf16>
  %2 = relex.multiply %x, %1 : (tensor<3x3xf16>, tensor<3x3xf16>) -> tensor<3x3xf16>
  func.return %2 : tensor<3x3xf16>
}

// apache/tvm#2486: the remainder of two constants was their product.
// expect: np.int32([2, 2, -1])
func.func @remainder_of_constants() -> tensor<3xi32> {
  %0 = relex.constant dense<[17, -13, -6]> : tensor<3xi32>
  %1 = relex.constant dense<[3, 5, -5]> : tensor<3xi32>
  %2 = relex.floor_mod %0, %1 : (tensor<3xi32>, tensor<3xi32>) -> tensor<3xi32>
  func.return %2 : tensor<3xi32>
}

// apache/tvm#2308: (10 x + 5) / 10 was x, which is wrong for negative x: quotients are truncated.
// x: [-3, -1, 0, 2]
// expect: np.trunc((10 * x + 5) / 10).astype("i4")
func.func @truncated_quotient(%x: tensor<4xi32>) -> tensor<4xi32> {
  %c10 = relex.constant dense<10> : tensor<i32>
  %c5 = relex.constant dense<5> : tensor<i32>
  %0 = relex.multiply %x, %c10 : (tensor<4xi32>, tensor<i32>) -> tensor<4xi32>
  %1 = relex.add %0, %c5 : (tensor<4xi32>, tensor<i32>) -> tensor<4xi32>
  %2 = relex.trunc_divide %1, %c10 : (tensor<4xi32>, tensor<i32>) -> tensor<4xi32>
  func.return %2 : tensor<4xi32>
}

// jax-ml/jax#9604: in a loop, quotients were truncated rather than rounded down.
// x: [2, -7, 7, -3]
// y: [-3, 2, 2, -3]
// expect: x // y
func.func @rounded_quotient(%x: tensor<4xi32>, %y: tensor<4xi32>) -> tensor<4xi32> {
  %0 = relex.floor_divide %x, %y : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi32>
  func.return %0 : tensor<4xi32>
}

// apache/tvm#17254, apache/tvm#17341: a group that took a value twice had two buffers for it.
// expect: (x - x.mean(1, keepdims=True)) / np.sqrt(x.var(1, keepdims=True) + np.float32(1e-5)) * g + g
func.func @one_value_twice(%x: tensor<3x8xf32>, %g: tensor<8xf32>) -> tensor<3x8xf32> {
  %0 = relex.layer_norm %x, %g, %g axes = [1] : (tensor<3x8xf32>, tensor<8xf32>, tensor<8xf32>) -> tensor<3x8xf32>
  func.return %0 : tensor<3x8xf32>
}

// apache/tvm#15205: the sum of a constant changed with the schedule.
// expect: np.float32(-32 * 64)
func.func @sum_of_a_constant() -> tensor<f32> {
  %0 = relex.constant dense<-32.0> : tensor<64xf32>
  %1 = relex.sum %0 : (tensor<64xf32>) -> tensor<f32>
  func.return %1 : tensor<f32>
}

// apache/tvm#15394: the value of a padding went through a narrower type, and became infinity.
// expect: np.pad(x, 1, constant_values=3e307)
func.func @large_padding(%x: tensor<3xf64>) -> tensor<5xf64> {
  %0 = relex.pad %x pad_width = [1, 1] pad_value = 3.0e307 : f64 : (tensor<3xf64>) -> tensor<5xf64>
  func.return %0 : tensor<5xf64>
}

// hidet-org/hidet#90: the code of minimum was the code of maximum.
// expect: np.minimum(x, y)
func.func @minimum(%x: tensor<5xf32>, %y: tensor<5xf32>) -> tensor<5xf32> {
  %0 = relex.minimum %x, %y : (tensor<5xf32>, tensor<5xf32>) -> tensor<5xf32>
  func.return %0 : tensor<5xf32>
}

// hidet-org/hidet#91: the minimum of f64 was computed in f32, from the largest number that f32 has.
// x: [1e300, 2e300]
// expect: np.float64(1e300)
func.func @minimum_of_doubles(%x: tensor<2xf64>) -> tensor<f64> {
  %0 = relex.min %x : (tensor<2xf64>) -> tensor<f64>
  func.return %0 : tensor<f64>
}

// hidet-org/hidet#103: a position had 32 bits, and could not be concatenated with numbers of 64.
// expect: np.concatenate([x, np.argmax(y, 0)])
func.func @positions_of_64_bits(%x: tensor<2xi64>, %y: tensor<5x5xf32>) -> tensor<7xi64> {
  %0 = relex.argmax %y axis = 0 : (tensor<5x5xf32>) -> tensor<5xi64>
  %1 = relex.concat %x, %0 axis = 0 : (tensor<2xi64>, tensor<5xi64>) -> tensor<7xi64>
  func.return %1 : tensor<7xi64>
}

// hidet-org/hidet#96: an argument that is a result as well was taken for something that the graph computes.
// expect: x, x + x, x
func.func @argument_as_result(%x: tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) {
  %0 = relex.add %x, %x : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  func.return %x, %0, %x : tensor<3xf32>, tensor<3xf32>, tensor<3xf32>
}

// microsoft/onnxruntime#13425: a weight that is a result was removed with the operators that read it.
// expect: np.float32([1, 2]), x + np.float32([1, 2])
func.func @constant_as_result(%x: tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>) {
  %0 = relex.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %1 = relex.add %x, %0 : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  func.return %0, %1 : tensor<2xf32>, tensor<2xf32>
}

// hidet-org/hidet#97: the limits of clip were lost when it was fused.
// x: [6.0, -6.0, 0.25]
// expect: np.clip(x + x, -1, 1) + np.float32(0.5)
func.func @fused_clip(%x: tensor<3xf32>) -> tensor<3xf32> {
  %0 = relex.add %x, %x : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  %1 = relex.clip %0 min = -1.0 : f32 max = 1.0 : f32 : (tensor<3xf32>) -> tensor<3xf32>
  %2 = relex.constant dense<0.5> : tensor<f32>
  %3 = relex.add %1, %2 : (tensor<3xf32>, tensor<f32>) -> tensor<3xf32>
  func.return %3 : tensor<3xf32>
}

// hidet-org/hidet#99: a quotient of five dimensions could not be fused with the minimum of two that it divides by.
// expect: x / y.min(0)
func.func @fused_minimum(%x: tensor<1x1x1x1x1xf32>, %y: tensor<2x2xf32>) -> tensor<1x1x1x1x2xf32> {
  %0 = relex.min %y axis = [0] : (tensor<2x2xf32>) -> tensor<2xf32>
  %1 = relex.divide %x, %0 : (tensor<1x1x1x1x1xf32>, tensor<2xf32>) -> tensor<1x1x1x1x2xf32>
  func.return %1 : tensor<1x1x1x1x2xf32>
}

// hidet-org/hidet#100: a sum of f16 was fused with what follows it although its code wrote to the result itself.
// x: (np.arange(72) % 5).reshape(9, 1, 4, 2)
// expect: np.maximum(x.sum(0, dtype="f4").astype("f2").reshape(1, 1, 2, 2, 2).transpose(0, 4, 2, 3, 1).reshape(1, 2, 2, 2) + y, 0)
func.func @fused_half_sum(%x: tensor<9x1x4x2xf16>, %y: tensor<1x2x1x1xf16>) -> tensor<1x2x2x2xf16> {
  %0 = relex.sum %x axis = [0] : (tensor<9x1x4x2xf16>) -> tensor<1x4x2xf16>
  %1 = relex.reshape %0 shape = [1, 1, 2, 2, 2] : (tensor<1x4x2xf16>) -> tensor<1x1x2x2x2xf16>
  %2 = relex.permute_dims %1 axes = [0, 4, 2, 3, 1] : (tensor<1x1x2x2x2xf16>) -> tensor<1x2x2x2x1xf16>
  %3 = relex.reshape %2 shape = [1, 2, 2, 2] : (tensor<1x2x2x2x1xf16>) -> tensor<1x2x2x2xf16>
  %4 = relex.add %3, %y : (tensor<1x2x2x2xf16>, tensor<1x2x1x1xf16>) -> tensor<1x2x2x2xf16>
  %5 = relex.relu %4 : (tensor<1x2x2x2xf16>) -> tensor<1x2x2x2xf16>
  func.return %5 : tensor<1x2x2x2xf16>
}

// pytorch/pytorch#93823: in a vector, the mask of a whole row was the mask of other elements.
// x: np.arange(64, dtype="f4").reshape(2, 4, 8)
// m: np.ones((2, 4, 1), bool)
// expect: np.zeros_like(x)
func.func @mask_of_rows(%x: tensor<2x4x8xf32>, %m: tensor<2x4x1xi1>) -> tensor<2x4x8xf32> {
  %0 = relex.constant dense<0.0> : tensor<f32>
  %1 = relex.where %m, %0, %x : (tensor<2x4x1xi1>, tensor<f32>, tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
  func.return %1 : tensor<2x4x8xf32>
}

// pytorch/pytorch#93374: a condition of one element chose the other operand where ranks differ.
// m: [[True]]
// expect: x
func.func @condition_of_one(%m: tensor<1x1xi1>, %x: tensor<5x7x3xf32>, %y: tensor<1x1xf32>) -> tensor<5x7x3xf32> {
  %0 = relex.where %m, %x, %y : (tensor<1x1xi1>, tensor<5x7x3xf32>, tensor<1x1xf32>) -> tensor<5x7x3xf32>
  func.return %0 : tensor<5x7x3xf32>
}

// pytorch/pytorch#93365: what was computed of a concatenation read it before it was written.
// expect: np.float32([[2, 3]] * 2), np.float32([[4, 9]] * 2)
func.func @concat_and_its_square() -> (tensor<2x2xf32>, tensor<2x2xf32>) {
  %0 = relex.constant dense<[[2.0, 3.0]]> : tensor<1x2xf32>
  %1 = relex.concat %0, %0 axis = 0 : (tensor<1x2xf32>, tensor<1x2xf32>) -> tensor<2x2xf32>
  %2 = relex.multiply %1, %1 : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  func.return %1, %2 : tensor<2x2xf32>, tensor<2x2xf32>
}

// pytorch/pytorch#93357: a concatenation with itself that was expanded had wrong elements.
// expect: np.concatenate([x, x]).reshape(1, 1, 1, 18)
func.func @expanded_concat(%x: tensor<9xi64>) -> tensor<1x1x1x18xi64> {
  %0 = relex.concat %x, %x axis = 0 : (tensor<9xi64>, tensor<9xi64>) -> tensor<18xi64>
  %1 = relex.broadcast_to %0 shape = [1, 1, 1, 18] : (tensor<18xi64>) -> tensor<1x1x1x18xi64>
  func.return %1 : tensor<1x1x1x18xi64>
}

// pytorch/pytorch#93372: a linear layer of a vector could not be compiled.
// expect: x @ w
func.func @vector_by_matrix(%x: tensor<5xf32>, %w: tensor<5x3xf32>) -> tensor<3xf32> {
  %0 = relex.matmul %x, %w : (tensor<5xf32>, tensor<5x3xf32>) -> tensor<3xf32>
  func.return %0 : tensor<3xf32>
}

// pytorch/pytorch#93377: an expanded tensor that was divided in place had wrong elements.
// expect: np.broadcast_to(x, (4, 3)) / y, x + x
func.func @quotient_of_an_expanded(%x: tensor<3xf32>, %y: tensor<4x3xf32>) -> (tensor<4x3xf32>, tensor<3xf32>) {
  %0 = relex.broadcast_to %x shape = [4, 3] : (tensor<3xf32>) -> tensor<4x3xf32>
  %1 = relex.divide %0, %y : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
  %2 = relex.add %x, %x : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  func.return %1, %2 : tensor<4x3xf32>, tensor<3xf32>
}

// pytorch/pytorch#183986: updates of an expanded tensor reached all of its rows, which shared their memory.
// expect: np.stack([x, y, x])
func.func @update_of_an_expanded(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<3x4xf32> {
  %0 = relex.broadcast_to %x shape = [3, 4] : (tensor<4xf32>) -> tensor<3x4xf32>
  %1 = relex.constant dense<1> : tensor<1x1xi64>
  %2 = relex.reshape %y shape = [1, 4] : (tensor<4xf32>) -> tensor<1x4xf32>
  %3 = relex.scatter_nd %0, %1, %2 : (tensor<3x4xf32>, tensor<1x1xi64>, tensor<1x4xf32>) -> tensor<3x4xf32>
  func.return %3 : tensor<3x4xf32>
}

// pytorch/pytorch#94055, pytorch/pytorch#93380: a negated integer or a position had another type than its loop expected.
// expect: np.minimum(y, np.argmax(x, 3).astype("i4")).min(3)
func.func @minimum_of_positions(%x: tensor<3x4x2x1xi32>, %y: tensor<2x2x1x4x1xi32>) -> tensor<2x2x3x2xi32> {
  %0 = relex.argmax %x axis = 3 : (tensor<3x4x2x1xi32>) -> tensor<3x4x2xi64>
  %1 = relex.astype %0 dtype = i32 : (tensor<3x4x2xi64>) -> tensor<3x4x2xi32>
  %2 = relex.minimum %y, %1 : (tensor<2x2x1x4x1xi32>, tensor<3x4x2xi32>) -> tensor<2x2x3x4x2xi32>
  %3 = relex.min %2 axis = [3] : (tensor<2x2x3x4x2xi32>) -> tensor<2x2x3x2xi32>
  func.return %3 : tensor<2x2x3x2xi32>
}

// pytorch/pytorch#93829, pytorch/pytorch#96604: -6 of 8 bits without a sign is 250, and was compared as -6.
// x: [6, 0, 252]
// expect: np.array([250, 0, 4], "u1"), np.array([False, True, False])
func.func @negated_byte(%x: tensor<3xui8>) -> (tensor<3xui8>, tensor<3xi1>) {
  %0 = relex.negative %x : (tensor<3xui8>) -> tensor<3xui8>
  %1 = relex.constant dense<4> : tensor<ui8>
  %2 = relex.less %0, %1 : (tensor<3xui8>, tensor<ui8>) -> tensor<3xi1>
  func.return %0, %2 : tensor<3xui8>, tensor<3xi1>
}

// pytorch/pytorch#161763: it became a negative float.
// expect: x + np.float32(249)
func.func @negated_byte_as_float(%x: tensor<3xf32>) -> tensor<3xf32> {
  %0 = relex.constant dense<7> : tensor<ui8>
  %1 = relex.negative %0 : (tensor<ui8>) -> tensor<ui8>
  %2 = relex.astype %1 dtype = f32 : (tensor<ui8>) -> tensor<f32>
  %3 = relex.add %x, %2 : (tensor<3xf32>, tensor<f32>) -> tensor<3xf32>
  func.return %3 : tensor<3xf32>
}

// pytorch/pytorch#187018: a byte was computed in a wider type, and its sum was the sum of negative numbers.
// x: [200, 200]
// expect: np.uint64(4 * 56)
func.func @sum_of_negated_bytes(%x: tensor<2xui8>) -> tensor<ui64> {
  %0 = relex.negative %x : (tensor<2xui8>) -> tensor<2xui8>
  %1 = relex.concat %0, %0 axis = 0 : (tensor<2xui8>, tensor<2xui8>) -> tensor<4xui8>
  %2 = relex.astype %1 dtype = ui64 : (tensor<4xui8>) -> tensor<4xui64>
  %3 = relex.sum %2 : (tensor<4xui64>) -> tensor<ui64>
  func.return %3 : tensor<ui64>
}

// pytorch/pytorch#98149: a power of bytes did not wrap around before the cosine.
// x: [4, 2]
// expect: np.cos(np.float32([0, 32]))
func.func @power_of_bytes(%x: tensor<2xui8>) -> tensor<2xf32> {
  %0 = relex.multiply %x, %x : (tensor<2xui8>, tensor<2xui8>) -> tensor<2xui8>
  %1 = relex.multiply %0, %0 : (tensor<2xui8>, tensor<2xui8>) -> tensor<2xui8>
  %2 = relex.multiply %1, %x : (tensor<2xui8>, tensor<2xui8>) -> tensor<2xui8>
  %3 = relex.astype %2 dtype = f32 : (tensor<2xui8>) -> tensor<2xf32>
  %4 = relex.cos %3 : (tensor<2xf32>) -> tensor<2xf32>
  func.return %4 : tensor<2xf32>
}

// pytorch/pytorch#95695: 3 was not less than 3.5, which became an integer.
// x: [3, 4]
// expect: np.array([False, True])
func.func @integer_and_float(%x: tensor<2xi64>) -> tensor<2xi1> {
  %0 = relex.astype %x dtype = f32 : (tensor<2xi64>) -> tensor<2xf32>
  %1 = relex.constant dense<3.5> : tensor<f32>
  %2 = relex.greater_equal %0, %1 : (tensor<2xf32>, tensor<f32>) -> tensor<2xi1>
  func.return %2 : tensor<2xi1>
}

// pytorch/pytorch#86556: the limits of clip became part of a convolution that others read as well.
// expect: np.maximum(conv2d(x, w), x), np.clip(conv2d(x, w), -1, 1)
func.func @clipped_and_not(%x: tensor<1x2x3x3xf32>, %w: tensor<2x2x1x1xf32>) -> (tensor<1x2x3x3xf32>, tensor<1x2x3x3xf32>) {
  %0 = relex.conv2d %x, %w : (tensor<1x2x3x3xf32>, tensor<2x2x1x1xf32>) -> tensor<1x2x3x3xf32>
  %1 = relex.maximum %0, %x : (tensor<1x2x3x3xf32>, tensor<1x2x3x3xf32>) -> tensor<1x2x3x3xf32>
  %2 = relex.clip %0 min = -1.0 : f32 max = 1.0 : f32 : (tensor<1x2x3x3xf32>) -> tensor<1x2x3x3xf32>
  func.return %1, %2 : tensor<1x2x3x3xf32>, tensor<1x2x3x3xf32>
}

// pytorch/pytorch#86527: so they did where factors of channels had been moved into its weights.
// expect: (lambda y: (np.clip(y, -1, 1), np.floor(y)))(conv2d(x * np.float32([2, 3]).reshape(2, 1, 1), np.float32([1, 4, 2, 8]).reshape(1, 2, 1, 2)))
func.func @scaled_and_clipped(%x: tensor<1x2x2x2xf32>) -> (tensor<1x1x2x1xf32>, tensor<1x1x2x1xf32>) {
  %f = relex.constant dense<[[[2.0]], [[3.0]]]> : tensor<2x1x1xf32>
  %w = relex.constant dense<[[[[1.0, 4.0]], [[2.0, 8.0]]]]> : tensor<1x2x1x2xf32>
  %0 = relex.multiply %x, %f : (tensor<1x2x2x2xf32>, tensor<2x1x1xf32>) -> tensor<1x2x2x2xf32>
  %1 = relex.conv2d %0, %w : (tensor<1x2x2x2xf32>, tensor<1x2x1x2xf32>) -> tensor<1x1x2x1xf32>
  %2 = relex.clip %1 min = -1.0 : f32 max = 1.0 : f32 : (tensor<1x1x2x1xf32>) -> tensor<1x1x2x1xf32>
  %3 = relex.floor %1 : (tensor<1x1x2x1xf32>) -> tensor<1x1x2x1xf32>
  func.return %2, %3 : tensor<1x1x2x1xf32>, tensor<1x1x2x1xf32>
}

// pytorch/pytorch#97807: a padding of a padding could not be compiled.
// expect: np.pad(np.pad(x, 1), 1, constant_values=2)
func.func @padding_of_a_padding(%x: tensor<3xf32>) -> tensor<7xf32> {
  %0 = relex.pad %x pad_width = [1, 1] : (tensor<3xf32>) -> tensor<5xf32>
  %1 = relex.pad %0 pad_width = [1, 1] pad_value = 2.0 : f32 : (tensor<5xf32>) -> tensor<7xf32>
  func.return %1 : tensor<7xf32>
}

// pytorch/pytorch#93351: a comparison of a padded tensor was wrong in the padding.
// expect: np.pad(x, 1, constant_values=1) > 0
func.func @compared_padding(%x: tensor<3xf32>) -> tensor<5xi1> {
  %0 = relex.pad %x pad_width = [1, 1] pad_value = 1.0 : f32 : (tensor<3xf32>) -> tensor<5xf32>
  %1 = relex.constant dense<0.0> : tensor<f32>
  %2 = relex.greater %0, %1 : (tensor<5xf32>, tensor<f32>) -> tensor<5xi1>
  func.return %2 : tensor<5xi1>
}

// pytorch/pytorch#93819: log_softmax with a padding around it could not be compiled.
// expect: np.pad(x - np.log(np.exp(x).sum(1, keepdims=True)), 1)
func.func @padded_log_softmax(%x: tensor<3x4xf32>) -> tensor<5x6xf32> {
  %0 = relex.log_softmax %x axis = 1 : (tensor<3x4xf32>) -> tensor<3x4xf32>
  %1 = relex.pad %0 pad_width = [1, 1, 1, 1] : (tensor<3x4xf32>) -> tensor<5x6xf32>
  func.return %1 : tensor<5x6xf32>
}

// pytorch/pytorch#93371: neither could the quotient of a transposed softmax.
// expect: (np.exp(x) / np.exp(x).sum(1, keepdims=True)).T / y
func.func @transposed_softmax(%x: tensor<3x4xf32>, %y: tensor<4x3xf32>) -> tensor<4x3xf32> {
  %0 = relex.softmax %x axis = 1 : (tensor<3x4xf32>) -> tensor<3x4xf32>
  %1 = relex.permute_dims %0 : (tensor<3x4xf32>) -> tensor<4x3xf32>
  %2 = relex.divide %1, %y : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
  func.return %2 : tensor<4x3xf32>
}

// pytorch/pytorch#93836: the negative of a linear layer could not be compiled.
// expect: (-x) @ w.T, -x
func.func @negated_rows(%x: tensor<2x5xf32>, %w: tensor<3x5xf32>) -> (tensor<2x3xf32>, tensor<2x5xf32>) {
  %0 = relex.negative %x : (tensor<2x5xf32>) -> tensor<2x5xf32>
  %1 = relex.dense %0, %w : (tensor<2x5xf32>, tensor<3x5xf32>) -> tensor<2x3xf32>
  func.return %1, %0 : tensor<2x3xf32>, tensor<2x5xf32>
}

// pytorch/pytorch#91420: a stable sort of an expanded tensor crashed.
// expect: np.broadcast_to(np.sort(x), (3, 5)), np.broadcast_to(np.argsort(x, kind="stable"), (3, 5))
func.func @sorted_broadcast(%x: tensor<5xf32>) -> (tensor<3x5xf32>, tensor<3x5xi64>) {
  %0 = relex.broadcast_to %x shape = [3, 5] : (tensor<5xf32>) -> tensor<3x5xf32>
  %1 = relex.sort %0 : (tensor<3x5xf32>) -> tensor<3x5xf32>
  %2 = relex.argsort %0 : (tensor<3x5xf32>) -> tensor<3x5xi64>
  func.return %1, %2 : tensor<3x5xf32>, tensor<3x5xi64>
}

// pytorch/pytorch#93384: the places of the maxima of windows could not be compiled.
// x: [[[1.0, 3.0, 3.0, 2.0]]]
// expect: np.float32([[[3, 3]]]), np.array([[[1, 2]]])
func.func @places_of_maxima(%x: tensor<1x1x4xf32>) -> (tensor<1x1x2xf32>, tensor<1x1x2xi64>) {
  %0, %1 = relex.max_pool1d_with_indices %x pool_size = [2] strides = [2] : (tensor<1x1x4xf32>) -> (tensor<1x1x2xf32>, tensor<1x1x2xi64>)
  func.return %0, %1 : tensor<1x1x2xf32>, tensor<1x1x2xi64>
}

// pytorch/pytorch#114229: the position of the largest element changed when the elements were a result as well.
// expect: np.argmax(x + y, 1), x + y
func.func @position_and_elements(%x: tensor<3x9xf32>, %y: tensor<9xf32>) -> (tensor<3xi64>, tensor<3x9xf32>) {
  %0 = relex.add %x, %y : (tensor<3x9xf32>, tensor<9xf32>) -> tensor<3x9xf32>
  %1 = relex.argmax %0 axis = 1 : (tensor<3x9xf32>) -> tensor<3xi64>
  func.return %1, %0 : tensor<3xi64>, tensor<3x9xf32>
}

// jax-ml/jax#4780: a product of NaN and 0 vanished.
// x: [1.0, float("nan")]
// expect: np.float32([1, np.nan])
func.func @nan_times_zero(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = relex.constant dense<0.0> : tensor<f32>
  %1 = relex.constant dense<1.0> : tensor<f32>
  %2 = relex.multiply %x, %0 : (tensor<2xf32>, tensor<f32>) -> tensor<2xf32>
  %3 = relex.add %2, %1 : (tensor<2xf32>, tensor<f32>) -> tensor<2xf32>
  func.return %3 : tensor<2xf32>
}

// jax-ml/jax#37919: the root of a square was the absolute value, also where the square is infinite.
// x: [3e38, -2.0]
// expect: np.float32([np.inf, 2])
func.func @root_of_a_square(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = relex.multiply %x, %x : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  %1 = relex.abs %0 : (tensor<2xf32>) -> tensor<2xf32>
  %2 = relex.sqrt %1 : (tensor<2xf32>) -> tensor<2xf32>
  func.return %2 : tensor<2xf32>
}

// jax-ml/jax#939: with fast arithmetic, a difference of infinities came to be in a sum of exponentials.
// x: [-1000.0, 0.0, 1000.0]
// expect: np.float32(1000)
func.func @log_of_a_sum(%x: tensor<3xf32>) -> tensor<f32> {
  %0 = relex.max %x : (tensor<3xf32>) -> tensor<f32>
  %1 = relex.subtract %x, %0 : (tensor<3xf32>, tensor<f32>) -> tensor<3xf32>
  %2 = relex.exp %1 : (tensor<3xf32>) -> tensor<3xf32>
  %3 = relex.sum %2 : (tensor<3xf32>) -> tensor<f32>
  %4 = relex.log %3 : (tensor<f32>) -> tensor<f32>
  %5 = relex.add %4, %0 : (tensor<f32>, tensor<f32>) -> tensor<f32>
  func.return %5 : tensor<f32>
}

// openxla/xla#44705, jax-ml/jax#38681: the exclusive or of two equal comparisons was no boolean any more, and NaN as a float.
// x: [0, 1, 2, 3]
// expect: np.zeros(4, "f4")
func.func @exclusive_or(%x: tensor<4xi32>) -> tensor<4xf32> {
  %0 = relex.constant dense<0> : tensor<i32>
  %1 = relex.not_equal %x, %0 : (tensor<4xi32>, tensor<i32>) -> tensor<4xi1>
  %2 = relex.not_equal %x, %0 : (tensor<4xi32>, tensor<i32>) -> tensor<4xi1>
  %3 = relex.logical_xor %1, %2 : (tensor<4xi1>, tensor<4xi1>) -> tensor<4xi1>
  %4 = relex.astype %3 dtype = f32 : (tensor<4xi1>) -> tensor<4xf32>
  %5 = relex.atan %4 : (tensor<4xf32>) -> tensor<4xf32>
  func.return %5 : tensor<4xf32>
}

// jax-ml/jax#39103: of many products with a small matrix, those at the end were wrong.
// x: np.stack([np.arange(1025.0), np.zeros(1025), np.zeros(1025)], 1)
// expect: np.arange(1025.0) ** 2
func.func @many_small_products(%x: tensor<1025x3xf64>) -> tensor<1025xf64> {
  %0 = relex.constant dense<[[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]> : tensor<3x3xf64>
  %1 = relex.dense %x, %0 : (tensor<1025x3xf64>, tensor<3x3xf64>) -> tensor<1025x3xf64>
  %2 = relex.multiply %1, %1 : (tensor<1025x3xf64>, tensor<1025x3xf64>) -> tensor<1025x3xf64>
  %3 = relex.sum %2 axis = [1] : (tensor<1025x3xf64>) -> tensor<1025xf64>
  func.return %3 : tensor<1025xf64>
}

// tensorflow/tensorflow#57759: a maximum of two tensors that broadcast in both directions had a wrong shape.
// expect: np.maximum(x, y)
func.func @maximum_both_ways(%x: tensor<3x1x2xf32>, %y: tensor<2x1x4x1xf32>) -> tensor<2x3x4x2xf32> {
  %0 = relex.maximum %x, %y : (tensor<3x1x2xf32>, tensor<2x1x4x1xf32>) -> tensor<2x3x4x2xf32>
  func.return %0 : tensor<2x3x4x2xf32>
}

// llvm/llvm-project#119852: a shift by all bits was another number once it was fused.
// x: [1, -1, 5]
// y: [32, 31, 40]
// expect: np.int32([0, -2**31, 0]), np.int32([0, -1, 0])
func.func @shift_by_all_bits(%x: tensor<3xi32>, %y: tensor<3xi32>) -> (tensor<3xi32>, tensor<3xi32>) {
  %0 = relex.left_shift %x, %y : (tensor<3xi32>, tensor<3xi32>) -> tensor<3xi32>
  %1 = relex.right_shift %x, %y : (tensor<3xi32>, tensor<3xi32>) -> tensor<3xi32>
  func.return %0, %1 : tensor<3xi32>, tensor<3xi32>
}

// llvm/llvm-project#218191: a count that fits 64 bits shifted a number that had been narrowed to 32.
// y: [32, 2]
// expect: np.int64([0, 1])
func.func @narrowed_shift(%y: tensor<2xi64>) -> tensor<2xi64> {
  %0 = relex.constant dense<63> : tensor<i64>
  %1 = relex.bitwise_and %y, %0 : (tensor<2xi64>, tensor<i64>) -> tensor<2xi64>
  %2 = relex.constant dense<4> : tensor<2xi64>
  %3 = relex.right_shift %2, %1 : (tensor<2xi64>, tensor<2xi64>) -> tensor<2xi64>
  func.return %3 : tensor<2xi64>
}

// llvm/llvm-project#119866: products of constants overflowed where they were folded.
// expect: np.int32([-2147483648])
func.func @product_of_constants() -> tensor<1xi32> {
  %0 = relex.constant dense<2147483647> : tensor<1xi32>
  %1 = relex.constant dense<-2147483648> : tensor<1xi32>
  %2 = relex.constant dense<-1> : tensor<1xi32>
  %3 = relex.multiply %0, %1 : (tensor<1xi32>, tensor<1xi32>) -> tensor<1xi32>
  %4 = relex.multiply %3, %2 : (tensor<1xi32>, tensor<1xi32>) -> tensor<1xi32>
  func.return %4 : tensor<1xi32>
}

// llvm/llvm-project#152077: a copy with two dimensions exchanged was merged with a product as if they were not.
// expect: x.transpose(0, 2, 1, 3) * y
func.func @exchanged_dimensions(%x: tensor<1x4x3x5xf32>, %y: tensor<1x1x4x5xf32>) -> tensor<1x3x4x5xf32> {
  %0 = relex.permute_dims %x axes = [0, 2, 1, 3] : (tensor<1x4x3x5xf32>) -> tensor<1x3x4x5xf32>
  %1 = relex.multiply %0, %y : (tensor<1x3x4x5xf32>, tensor<1x1x4x5xf32>) -> tensor<1x3x4x5xf32>
  func.return %1 : tensor<1x3x4x5xf32>
}

// microsoft/onnxruntime#12076: numbers beyond all integers were not their own floor.
// x: [1e20, -1e20, 2.5, -0.5]
// expect: np.floor(x)
func.func @floor_of_large(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = relex.floor %x : (tensor<4xf32>) -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}

// microsoft/onnxruntime#20606: a concatenation was overwritten while a later one still had to read it.
// expect: (lambda a: np.concatenate([a, np.tanh(a @ v), np.abs(a @ v)], 1))(np.concatenate([x, s], 1))
func.func @concat_of_a_concat(%x: tensor<4x3xf32>, %s: tensor<4x2xf32>, %v: tensor<5x2xf32>) -> tensor<4x9xf32> {
  %0 = relex.concat %x, %s axis = 1 : (tensor<4x3xf32>, tensor<4x2xf32>) -> tensor<4x5xf32>
  %1 = relex.matmul %0, %v : (tensor<4x5xf32>, tensor<5x2xf32>) -> tensor<4x2xf32>
  %2 = relex.tanh %1 : (tensor<4x2xf32>) -> tensor<4x2xf32>
  %3 = relex.abs %1 : (tensor<4x2xf32>) -> tensor<4x2xf32>
  %4 = relex.concat %0, %2, %3 axis = 1 : (tensor<4x5xf32>, tensor<4x2xf32>, tensor<4x2xf32>) -> tensor<4x9xf32>
  func.return %4 : tensor<4x9xf32>
}
