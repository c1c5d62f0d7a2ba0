// RUN: relex-opt %s --split-input-file --verify-diagnostics -p cse

func.func @sizes(%x: tensor<4x6xf32>) -> tensor<23xf32> {
  // expected-error@+1 {{expected size 24 of dimension 0 of tensor<23xf32>, found 23}}
  %0 = tensor.collapse_shape %x [[0, 1]] : tensor<4x6xf32> into tensor<23xf32>
  func.return %0 : tensor<23xf32>
}

// -----

func.func @open(%x: tensor<4x?xf32>) -> tensor<24xf32> {
  // expected-error@+1 {{expected size ? of dimension 0 of tensor<24xf32>, found 24}}
  %0 = tensor.collapse_shape %x [[0, 1]] : tensor<4x?xf32> into tensor<24xf32>
  func.return %0 : tensor<24xf32>
}

// -----

func.func @groups(%x: tensor<2x3x4x5xf32>) -> tensor<6x4xf32> {
  // expected-error@+1 {{expected 2 groups of the dimensions 0 to 3, in order, found [[0, 1], [2]]}}
  %0 = tensor.collapse_shape %x [[0, 1], [2]] : tensor<2x3x4x5xf32> into tensor<6x4xf32>
  func.return %0 : tensor<6x4xf32>
}

// -----

func.func @elements(%x: tensor<2x3xf32>) -> tensor<6xi32> {
  // expected-error@+1 {{expected elements of one type, found i32 and f32}}
  %0 = tensor.collapse_shape %x [[0, 1]] : tensor<2x3xf32> into tensor<6xi32>
  func.return %0 : tensor<6xi32>
}

// -----

func.func @buffer(%x: memref<6xf32>) {
  // expected-error@+1 {{expected size 8 of dimension 0 of memref<6xf32>, found 6}}
  %0 = memref.expand_shape %x [[0, 1]] output_shape [2, 4] : memref<6xf32> into memref<2x4xf32>
  func.return
}
