// RUN: relex-opt %s -p join-rows | filecheck %s
// RUN: relex-opt %s -p join-rows,join-rows | filecheck %s

module attributes {relex.target = {triple = "x86_64-unknown-linux-gnu", cpu = "znver3", features = ""}} {

// Elementwise operators follow, with other images, and with what is the same for all places. The view that a result is
// read by is undone for the next convolution.
// CHECK-LABEL: func.func @chain
// CHECK:         %[[X:.+]] = tensor.expand_shape {{.*}} output_shape [1, 8, 1, 256]
// CHECK:         relex.conv2d %[[X]], {{.*}} -> tensor<1x8x1x256xf32>
// CHECK-NEXT:    relex.add {{.*}} (tensor<1x8x1x256xf32>, tensor<8x1x1xf32>) -> tensor<1x8x1x256xf32>
// CHECK-NEXT:    %[[Y:.+]] = relex.add %{{.*}}, %[[X]] : (tensor<1x8x1x256xf32>, tensor<1x8x1x256xf32>)
// CHECK-NEXT:    relex.conv2d %[[Y]], {{.*}} -> tensor<1x8x1x256xf32>
// CHECK:         tensor.expand_shape {{.*}} output_shape [1, 8, 16, 16]
// CHECK-NEXT:    relex.max_pool2d
// CHECK-NOT:     tensor.{{[ce]}}
func.func @chain(%x: tensor<1x8x16x16xf32>, %w: tensor<8x8x1x1xf32>, %b: tensor<8x1x1xf32>) -> tensor<1x8x8x8xf32> {
  %0 = relex.conv2d %x, %w : (tensor<1x8x16x16xf32>, tensor<8x8x1x1xf32>) -> tensor<1x8x16x16xf32>
  %1 = relex.add %0, %b : (tensor<1x8x16x16xf32>, tensor<8x1x1xf32>) -> tensor<1x8x16x16xf32>
  %2 = relex.add %1, %x : (tensor<1x8x16x16xf32>, tensor<1x8x16x16xf32>) -> tensor<1x8x16x16xf32>
  %3 = relex.conv2d %2, %w : (tensor<1x8x16x16xf32>, tensor<8x8x1x1xf32>) -> tensor<1x8x16x16xf32>
  %4 = relex.max_pool2d %3 pool_size = [2, 2] strides = [2, 2] : (tensor<1x8x16x16xf32>) -> tensor<1x8x8x8xf32>
  func.return %4 : tensor<1x8x8x8xf32>
}

// As many rows as half of the second-level cache holds; the number of images may be dynamic.
// CHECK-LABEL: func.func @blocks
// CHECK:         %[[N:.+]] = tensor.dim %x
// CHECK:         tensor.expand_shape {{.*}} output_shape [%[[N]], 16, 7, 448, 16] {{.*}} into tensor<?x16x7x448x16xf32>
// CHECK:         relex.conv2d_blocked {{.*}} -> tensor<?x4x7x448x16xf32>
// CHECK:         into tensor<?x4x56x56x16xf32>
func.func @blocks(%x: tensor<?x16x56x56x16xf32>, %w: tensor<4x16x1x1x16x16xf32>) -> tensor<?x4x56x56x16xf32> {
  %0 = relex.conv2d_blocked %x, %w : (tensor<?x16x56x56x16xf32>, tensor<4x16x1x1x16x16xf32>) -> tensor<?x4x56x56x16xf32>
  func.return %0 : tensor<?x4x56x56x16xf32>
}

// Data without blocks has a dimension less.
// CHECK-LABEL: func.func @into_blocks
// CHECK:         relex.conv2d_blocked {{.*}} (tensor<1x3x1x64xf32>, tensor<1x3x1x1x1x8xf32>) -> tensor<1x1x1x64x8xf32>
func.func @into_blocks(%x: tensor<1x3x8x8xf32>, %w: tensor<1x3x1x1x1x8xf32>) -> tensor<1x1x8x8x8xf32> {
  %0 = relex.conv2d_blocked %x, %w : (tensor<1x3x8x8xf32>, tensor<1x3x1x1x1x8xf32>) -> tensor<1x1x8x8x8xf32>
  func.return %0 : tensor<1x1x8x8x8xf32>
}

// What stays: other windows, strides, padding, a single row, open rows; an operand that differs from place to place.
// CHECK-LABEL: func.func @others
// CHECK-NOT:     tensor.{{[ce]}}
// CHECK:         func.return
func.func @others(%x: tensor<1x4x8x8xf32>, %row: tensor<1x4x1x8xf32>, %open: tensor<1x4x?x8xf32>, %w: tensor<4x4x1x1xf32>,
                  %v: tensor<4x4x3x3xf32>)
    -> (tensor<1x4x6x6xf32>, tensor<1x4x4x4xf32>, tensor<1x4x10x10xf32>, tensor<1x4x1x8xf32>, tensor<1x4x?x8xf32>) {
  %0 = relex.conv2d %x, %v : (tensor<1x4x8x8xf32>, tensor<4x4x3x3xf32>) -> tensor<1x4x6x6xf32>
  %1 = relex.conv2d %x, %w strides = [2, 2] : (tensor<1x4x8x8xf32>, tensor<4x4x1x1xf32>) -> tensor<1x4x4x4xf32>
  %2 = relex.conv2d %x, %w padding = [1] : (tensor<1x4x8x8xf32>, tensor<4x4x1x1xf32>) -> tensor<1x4x10x10xf32>
  %3 = relex.conv2d %row, %w : (tensor<1x4x1x8xf32>, tensor<4x4x1x1xf32>) -> tensor<1x4x1x8xf32>
  %4 = relex.conv2d %open, %w : (tensor<1x4x?x8xf32>, tensor<4x4x1x1xf32>) -> tensor<1x4x?x8xf32>
  func.return %0, %1, %2, %3, %4
      : tensor<1x4x6x6xf32>, tensor<1x4x4x4xf32>, tensor<1x4x10x10xf32>, tensor<1x4x1x8xf32>, tensor<1x4x?x8xf32>
}

// CHECK-LABEL: func.func @by_place
// CHECK:         tensor.expand_shape {{.*}} output_shape [1, 4, 8, 8]
// CHECK-NEXT:    relex.multiply {{.*}} (tensor<1x4x8x8xf32>, tensor<8x8xf32>)
func.func @by_place(%x: tensor<1x4x8x8xf32>, %w: tensor<4x4x1x1xf32>, %p: tensor<8x8xf32>) -> tensor<1x4x8x8xf32> {
  %0 = relex.conv2d %x, %w : (tensor<1x4x8x8xf32>, tensor<4x4x1x1xf32>) -> tensor<1x4x8x8xf32>
  %1 = relex.multiply %0, %p : (tensor<1x4x8x8xf32>, tensor<8x8xf32>) -> tensor<1x4x8x8xf32>
  func.return %1 : tensor<1x4x8x8xf32>
}

// A group of operators that becomes one loop function has no views.
// CHECK-LABEL: func.func private @group
// CHECK-NOT:     tensor.{{[ce]}}
func.func private @group(%x: tensor<1x4x8x8xf32>, %w: tensor<4x4x1x1xf32>) -> tensor<1x4x8x8xf32>
    attributes {relex.primitive} {
  %0 = relex.conv2d %x, %w : (tensor<1x4x8x8xf32>, tensor<4x4x1x1xf32>) -> tensor<1x4x8x8xf32>
  func.return %0 : tensor<1x4x8x8xf32>
}
}
