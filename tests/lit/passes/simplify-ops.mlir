// RUN: relex-opt %s -p simplify-ops | filecheck %s
// RUN: relex-opt %s -p simplify-ops,simplify-ops | filecheck %s

// A mask that hides nothing, as exporters write it.
// CHECK-LABEL: func.func @everything
// CHECK-NOT:     relex.where
// CHECK:         func.return %x
func.func @everything(%x: tensor<2x3xf32>, %y: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %true = relex.constant dense<true> : tensor<1x3xi1>
  %0 = relex.expand_dims %true axis = [0] : (tensor<1x3xi1>) -> tensor<1x1x3xi1>
  %1 = relex.reshape %0 shape = [1, 3] : (tensor<1x1x3xi1>) -> tensor<1x3xi1>
  %mask = relex.broadcast_to %1 shape = [2, 3] : (tensor<1x3xi1>) -> tensor<2x3xi1>
  %2 = relex.where %mask, %x, %y : (tensor<2x3xi1>, tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  func.return %2 : tensor<2x3xf32>
}

// A size that is not known may be one that broadcasts the other operand.
// CHECK-LABEL: func.func @unknown_size
// CHECK:         relex.multiply
func.func @unknown_size(%x: tensor<?xf32>, %y: tensor<?xf32>) -> tensor<?xf32> {
  %one = relex.constant dense<1.0> : tensor<1xf32>
  %0 = relex.broadcast_to %one like(%y) shape = [-1] sizes = ["like0_d0"] : (tensor<1xf32>, tensor<?xf32>) -> tensor<?xf32>
  %1 = relex.multiply %x, %0 : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
  func.return %1 : tensor<?xf32>
}

// A sum with a size that is not known, and a number that is, requires nothing of it.
// CHECK-LABEL: func.func @one_unknown_size
// CHECK:         func.return %x
func.func @one_unknown_size(%x: tensor<?xf32>) -> tensor<?xf32> {
  %one = relex.constant dense<1.0> : tensor<f32>
  %0 = relex.multiply %x, %one : (tensor<?xf32>, tensor<f32>) -> tensor<?xf32>
  func.return %0 : tensor<?xf32>
}

// Two sizes must be equal, even if the result is one of the operands, or nothing uses it.
// CHECK-LABEL: func.func @two_unknown_sizes
// CHECK:         [[W:%.+]] = relex.where
// CHECK:         relex.add
// CHECK-NEXT:    func.return [[W]]
func.func @two_unknown_sizes(%x: tensor<?xf32>, %y: tensor<?xf32>) -> tensor<?xf32> {
  %true = relex.constant dense<true> : tensor<i1>
  %0 = relex.where %true, %x, %y : (tensor<i1>, tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
  %1 = relex.add %x, %y : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
  func.return %0 : tensor<?xf32>
}

// Loops stay as they are.
// CHECK-LABEL: func.func @loops
// CHECK:         %unused = arith.constant
// CHECK:         arith.mulf
func.func @loops(%x: memref<4xf32>) {
  %unused = arith.constant 2.0 : f32
  %c0 = arith.constant 0 : index
  %one = arith.constant 1.0 : f32
  %0 = memref.load %x[%c0] : memref<4xf32>
  %1 = arith.mulf %0, %one : f32
  memref.store %1, %x[%c0] : memref<4xf32>
  func.return
}
