// A function that gets none of its arguments is described, and not even compiled.

// RUN: relex-run %s | filecheck %s
// CHECK:      main(x: 4x8 of f32, w: 2x8 of f32) -> (result: 4x2 of f32)
// CHECK-NEXT: a call: 128 floating-point operations, 192 B of arguments, 32 B of results
// CHECK-NEXT: arguments are given by --input, or made up by --random
// CHECK-NOT:  {{.}}

// RUN: relex-run %s --entry open | filecheck %s --check-prefix=OPEN
// OPEN:      open(x: (n, 3) of f32, i: i64) -> (result: (n, 3) of f32)
// OPEN-NEXT: a call with n=16: 48 floating-point operations, 200 B of arguments, 192 B of results
// OPEN-NEXT: arguments are given by --input, or made up by --random n=16
// OPEN-NOT:  {{.}}

// RUN: relex-run %s --entry none | filecheck %s --check-prefix=NONE
// NONE: [1., 2.]

// RUN: relex-run %s --save %t.relex && relex-run %t.relex | filecheck %s --check-prefix=SAVED
// SAVED:      main(x: 4x8 of f32, w: 2x8 of f32) -> (result: 4x2 of f32)
// SAVED-NEXT: a call: 192 B of arguments, 32 B of results
// SAVED-NEXT: arguments are given by --input, or made up by --random

func.func @main(%x: tensor<4x8xf32>, %w: tensor<2x8xf32>) -> tensor<4x2xf32> {
  %y = relex.dense %x, %w : (tensor<4x8xf32>, tensor<2x8xf32>) -> tensor<4x2xf32>
  func.return %y : tensor<4x2xf32>
}

func.func @open(%x: tensor<?x3xf32> {relex.dims = ["n", ""]}, %i: i64) -> (tensor<?x3xf32> {relex.dims = ["n", ""]}) {
  %y = relex.exp %x : (tensor<?x3xf32>) -> tensor<?x3xf32>
  func.return %y : tensor<?x3xf32>
}

func.func @none() -> tensor<2xf32> {
  %y = relex.constant dense<[1.0, 2.0]> : tensor<2xf32>
  func.return %y : tensor<2xf32>
}
