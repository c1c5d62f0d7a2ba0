// RUN: relex-opt %s -p trim-windows | filecheck %s
// RUN: relex-opt %s -p trim-windows,trim-windows | filecheck %s
// RUN: relex-opt %s -p trim-windows --check-each -o /dev/null
// RUN: relex-opt %s -p trim-windows --check-each=proof -o /dev/null

// One tap of nine reads data; the dilation of one tap does not count. The number of images is dynamic.
// CHECK-LABEL: func.func @center
// CHECK-NEXT:    %w = relex.constant dense<5.0> : tensor<1x1x1x1xf32>
// CHECK-NEXT:    relex.conv2d %x, %w : (tensor<?x1x4x4xf32>, tensor<1x1x1x1xf32>) -> tensor<?x1x4x4xf32>
func.func @center(%x: tensor<?x1x4x4xf32>) -> tensor<?x1x4x4xf32> {
  %w = relex.constant dense<[[[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 9.0]]]]> : tensor<1x1x3x3xf32>
  %0 = relex.conv2d %x, %w padding = [4, 5] dilation = [4, 5] : (tensor<?x1x4x4xf32>, tensor<1x1x3x3xf32>) -> tensor<?x1x4x4xf32>
  func.return %0 : tensor<?x1x4x4xf32>
}

// The padding that stays is no longer the same on both sides.
// CHECK-LABEL: func.func @before
// CHECK-NEXT:    %w = relex.constant dense<{{\[\[\[}}3, 4]]]> : tensor<1x1x2xi32>
// CHECK-NEXT:    relex.conv1d %x, %w padding = [1, 0] dilation = [3] : (tensor<2x1x4xi32>, tensor<1x1x2xi32>) -> tensor<2x1x2xi32>
func.func @before(%x: tensor<2x1x4xi32>) -> tensor<2x1x2xi32> {
  %w = relex.constant dense<[[[1, 2, 3, 4]]]> : tensor<1x1x4xi32>
  %0 = relex.conv1d %x, %w padding = [7, 0] dilation = [3] : (tensor<2x1x4xi32>, tensor<1x1x4xi32>) -> tensor<2x1x2xi32>
  func.return %0 : tensor<2x1x2xi32>
}

// A channel at a time, with strides that pass over data.
// CHECK-LABEL: func.func @strides
// CHECK:         relex.conv2d %x, %w strides = [3, 2] groups = 2 : (tensor<1x2x3x2xf64>, tensor<2x1x1x1xf64>) -> tensor<1x2x1x1xf64>
func.func @strides(%x: tensor<1x2x3x2xf64>) -> tensor<1x2x1x1xf64> {
  %w = relex.constant dense<0.1> : tensor<2x1x2x3xf64>
  %0 = relex.conv2d %x, %w strides = [3, 2] padding = [0, 2, 4, 2] dilation = [4, 2] groups = 2 : (tensor<1x2x3x2xf64>, tensor<2x1x2x3xf64>) -> tensor<1x2x1x1xf64>
  func.return %0 : tensor<1x2x1x1xf64>
}

// What stays: a weight from outside, a tap that makes NaN of padding, images of dynamic size, windows that read data
// with all taps, and windows that only read padding.
// CHECK-LABEL: func.func @others
// CHECK-COUNT-5: tensor<1x1x3xf32>) ->
func.func @others(%x: tensor<1x1x2xf32>, %y: tensor<1x1x?xf32>, %v: tensor<1x1x3xf32>)
    -> (tensor<1x1x2xf32>, tensor<1x1x2xf32>, tensor<1x1x?xf32>, tensor<1x1x2xf32>, tensor<1x1x1xf32>) {
  %w = relex.constant dense<0.5> : tensor<1x1x3xf32>
  %n = relex.constant dense<[[[0x7F800000, 0.5, 0.5]]]> : tensor<1x1x3xf32>
  %0 = relex.conv1d %x, %v padding = [2] dilation = [2] : (tensor<1x1x2xf32>, tensor<1x1x3xf32>) -> tensor<1x1x2xf32>
  %1 = relex.conv1d %x, %n padding = [2] dilation = [2] : (tensor<1x1x2xf32>, tensor<1x1x3xf32>) -> tensor<1x1x2xf32>
  %2 = relex.conv1d %y, %w padding = [2] dilation = [2] : (tensor<1x1x?xf32>, tensor<1x1x3xf32>) -> tensor<1x1x?xf32>
  %3 = relex.conv1d %x, %w padding = [1] : (tensor<1x1x2xf32>, tensor<1x1x3xf32>) -> tensor<1x1x2xf32>
  %4 = relex.conv1d %x, %w strides = [9] padding = [3, 0] : (tensor<1x1x2xf32>, tensor<1x1x3xf32>) -> tensor<1x1x1xf32>
  func.return %0, %1, %2, %3, %4 : tensor<1x1x2xf32>, tensor<1x1x2xf32>, tensor<1x1x?xf32>, tensor<1x1x2xf32>, tensor<1x1x1xf32>
}
