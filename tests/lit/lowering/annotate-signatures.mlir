// RUN: relex-opt %s -p annotate-signatures --split-input-file --verify-diagnostics | filecheck %s
// Signatures that are stated are checked, and stay.
// RUN: relex-opt %s -p annotate-signatures,annotate-signatures --split-input-file --verify-diagnostics | filecheck %s

// CHECK: func.func @main
// CHECK-SAME: attributes {relex.requires = ["1 <= n"], relex.signature = {inputs = [{name = "x", shape = ["n", 3 : i64], element_type = "f32"}, {name = "s", shape = [], element_type = "i64", is_scalar = true}], outputs = [{name = "result", shape = ["2 * n", 3 : i64], element_type = "f32"}], requirements = ["1 <= n"]}}
func.func @main(%x: tensor<?x3xf32> {relex.dims = ["n", ""]}, %s: i64) -> tensor<?x3xf32>
    attributes {relex.requires = ["1 <= n"]} {
  %y = relex.concat %x, %x axis = 0 : (tensor<?x3xf32>, tensor<?x3xf32>) -> tensor<?x3xf32>
  func.return %y : tensor<?x3xf32>
}

// CHECK: func.func private @helper(%x: tensor<2xf32>) -> tensor<2xf32> {
func.func private @helper(%x: tensor<2xf32>) -> tensor<2xf32> {
  func.return %x : tensor<2xf32>
}

// CHECK: tir.prim_func @copy
// CHECK-SAME: {relex.signature = {inputs = [{name = "X", shape = [2 : i64], element_type = "f32"}], outputs = [{name = "result", shape = [2 : i64], element_type = "f32"}]}}
tir.prim_func @copy(%X: memref<2xf32>) outs(%Y: memref<2xf32>) {
  memref.copy %X, %Y : memref<2xf32> to memref<2xf32>
}

// Functions on buffers write their arguments.
// CHECK: func.func @buffers
// CHECK-SAME: {relex.signature = {inputs = [{name = "a", shape = [2 : i64], element_type = "f32"}], outputs = [], writes_inputs = true}}
func.func @buffers(%a: memref<2xf32>) {
  func.return
}

// -----

// expected-error@+1 {{'func.func' op expected 'relex.signature' of 'main' with inputs (x: 2 of f32), found (x: 3 of f32)}}
func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> attributes {relex.signature = {inputs = [{name = "x", shape = [3 : i64], element_type = "f32"}], outputs = [{name = "result", shape = [2 : i64], element_type = "f32"}]}} {
  func.return %x : tensor<2xf32>
}

// -----

// Lowered from a function with a result: one of the buffers is for it.
// expected-error@+1 {{'func.func' op expected 'relex.signature' of 'main' with outputs (result: 2 of f32), found (result: 2 of f64)}}
func.func @main(%x: memref<2xf32>, %out: memref<2xf32>) attributes {relex.signature = {inputs = [{name = "x", shape = [2 : i64], element_type = "f32"}], outputs = [{name = "result", shape = [2 : i64], element_type = "f64"}]}} {
  func.return
}

// -----

// expected-error@+1 {{'func.func' op expected a function that can be called where it has 'relex.signature', found that it is private}}
func.func private @main(%x: tensor<2xf32>) attributes {relex.signature = {inputs = [], outputs = []}} {
  func.return
}

// -----

// expected-error@+1 {{'func.func' op cannot read 'relex.signature' of 'main': expected signature to have}}
func.func @main(%x: tensor<2xf32>) attributes {relex.signature = {arguments = []}} {
  func.return
}
