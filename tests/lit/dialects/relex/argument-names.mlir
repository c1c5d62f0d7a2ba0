// RUN: RELEX_ROUNDTRIP
// RUN: RELEX_GENERIC_ROUNDTRIP

// Names of arguments outlive the printer, which numbers values of one stem.
// CHECK-LABEL: func.func @stems
// CHECK-SAME: (%w: tensor<f32> {relex.name = "w_1"}, %w_1: tensor<f32> {relex.name = "w"}, %x: tensor<f32>)
func.func @stems(%w_1: tensor<f32>, %w: tensor<f32>, %x: tensor<f32>) {
  func.return
}

// CHECK-LABEL: func.func @given
// CHECK-SAME: (%b: tensor<?xf32> {relex.dims = ["n"], relex.name = "bias"})
func.func @given(%b_7: tensor<?xf32> {relex.dims = ["n"], relex.name = "bias"}) {
  func.return
}

// CHECK-LABEL: tir.prim_func @loops
// CHECK-SAME: (%X: memref<4xf32> {relex.name = "X_0"}, %n: index) outs(%Y: memref<4xf32> {relex.name = "Y_0"})
tir.prim_func @loops(%X_0: memref<4xf32>, %n: index) outs(%Y_0: memref<4xf32>) {
}

// Nobody outside knows the arguments of private functions: they are named like values, also like values that passes
// make.
// CHECK-LABEL: tir.prim_func private @inner
// CHECK-SAME: (%X: memref<4xf32>, %X_1: memref<4xf32>) outs(%Y: memref<4xf32>)
tir.prim_func private @inner(%X: memref<4xf32>, %X_1: memref<4xf32>) outs(%Y_0: memref<4xf32>) {
}
