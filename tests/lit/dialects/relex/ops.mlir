// RUN: RELEX_ROUNDTRIP
// RUN: RELEX_GENERIC_ROUNDTRIP
// RUN: xdsl-opt %s | filecheck %s
// RUN: relex-opt %s --print-op-generic | filecheck %s --check-prefix GENERIC

// CHECK-LABEL: func.func @elementwise
// GENERIC-LABEL: sym_name = "elementwise"
func.func @elementwise(%x: tensor<3x4xf32>, %y: tensor<4xf32>, %s: tensor<f32>) {
  // CHECK: relex.add %x, %y : (tensor<3x4xf32>, tensor<4xf32>) -> tensor<3x4xf32>
  // GENERIC: "relex.add"(%x, %y) : (tensor<3x4xf32>, tensor<4xf32>) -> tensor<3x4xf32>
  %0 = relex.add %x, %y : (tensor<3x4xf32>, tensor<4xf32>) -> tensor<3x4xf32>
  // CHECK-NEXT: relex.subtract %y, %x : (tensor<4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
  %1 = relex.subtract %y, %x : (tensor<4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
  // CHECK-NEXT: relex.multiply %x, %s : (tensor<3x4xf32>, tensor<f32>) -> tensor<3x4xf32>
  %2 = relex.multiply %x, %s : (tensor<3x4xf32>, tensor<f32>) -> tensor<3x4xf32>
  // CHECK-NEXT: relex.divide %s, %s : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %3 = relex.divide %s, %s : (tensor<f32>, tensor<f32>) -> tensor<f32>
  // CHECK-NEXT: relex.maximum %x, %x : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
  %4 = relex.maximum %x, %x : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
  // CHECK-NEXT: relex.minimum %x, %y {note = "kept"} : (tensor<3x4xf32>, tensor<4xf32>) -> tensor<3x4xf32>
  %5 = relex.minimum %x, %y {note = "kept"} : (tensor<3x4xf32>, tensor<4xf32>) -> tensor<3x4xf32>
  // CHECK-NEXT: relex.relu %x : (tensor<3x4xf32>) -> tensor<3x4xf32>
  %6 = relex.relu %x : (tensor<3x4xf32>) -> tensor<3x4xf32>
  // CHECK-NEXT: relex.ewise_fma %x, %y, %s : (tensor<3x4xf32>, tensor<4xf32>, tensor<f32>) -> tensor<3x4xf32>
  %7 = relex.ewise_fma %x, %y, %s : (tensor<3x4xf32>, tensor<4xf32>, tensor<f32>) -> tensor<3x4xf32>
  func.return
}

// A size of 1 broadcasts, also to 0; a size that is known at run time equals the other operand's size.
// CHECK-LABEL: func.func @broadcast
func.func @broadcast(%a: tensor<1x4xf64>, %b: tensor<0x1xf64>, %c: tensor<?x4xf64>, %d: tensor<?xf64>) {
  // CHECK: (tensor<1x4xf64>, tensor<0x1xf64>) -> tensor<0x4xf64>
  %0 = relex.add %a, %b : (tensor<1x4xf64>, tensor<0x1xf64>) -> tensor<0x4xf64>
  // CHECK-NEXT: (tensor<?x4xf64>, tensor<1x4xf64>) -> tensor<?x4xf64>
  %1 = relex.add %c, %a : (tensor<?x4xf64>, tensor<1x4xf64>) -> tensor<?x4xf64>
  // CHECK-NEXT: (tensor<?xf64>, tensor<1x4xf64>) -> tensor<1x4xf64>
  %2 = relex.add %d, %a : (tensor<?xf64>, tensor<1x4xf64>) -> tensor<1x4xf64>
  // CHECK-NEXT: (tensor<?x4xf64>, tensor<?xf64>) -> tensor<?x4xf64>
  %3 = relex.add %c, %d : (tensor<?x4xf64>, tensor<?xf64>) -> tensor<?x4xf64>
  // CHECK-NEXT: (tensor<?x4xf64>, tensor<0x1xf64>) -> tensor<0x4xf64>
  %4 = relex.add %c, %b : (tensor<?x4xf64>, tensor<0x1xf64>) -> tensor<0x4xf64>
  func.return
}

// Every element type, in an operator that takes it.
// CHECK-LABEL: func.func @element_types
func.func @element_types(%a: tensor<2xf16>, %b: tensor<2xbf16>, %c: tensor<2xf32>, %d: tensor<2xf64>,
                         %e: tensor<2xi1>, %f: tensor<2xi8>, %g: tensor<2xi32>, %h: tensor<2xi64>) {
  // CHECK: relex.divide %a, %a : (tensor<2xf16>, tensor<2xf16>) -> tensor<2xf16>
  %0 = relex.divide %a, %a : (tensor<2xf16>, tensor<2xf16>) -> tensor<2xf16>
  // CHECK-NEXT: relex.divide %b, %b : (tensor<2xbf16>, tensor<2xbf16>) -> tensor<2xbf16>
  %1 = relex.divide %b, %b : (tensor<2xbf16>, tensor<2xbf16>) -> tensor<2xbf16>
  // CHECK-NEXT: relex.divide %c, %c : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  %2 = relex.divide %c, %c : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  // CHECK-NEXT: relex.divide %d, %d : (tensor<2xf64>, tensor<2xf64>) -> tensor<2xf64>
  %3 = relex.divide %d, %d : (tensor<2xf64>, tensor<2xf64>) -> tensor<2xf64>
  // CHECK-NEXT: relex.add %e, %e : (tensor<2xi1>, tensor<2xi1>) -> tensor<2xi1>
  %4 = relex.add %e, %e : (tensor<2xi1>, tensor<2xi1>) -> tensor<2xi1>
  // CHECK-NEXT: relex.subtract %f, %f : (tensor<2xi8>, tensor<2xi8>) -> tensor<2xi8>
  %5 = relex.subtract %f, %f : (tensor<2xi8>, tensor<2xi8>) -> tensor<2xi8>
  // CHECK-NEXT: relex.subtract %g, %g : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi32>
  %6 = relex.subtract %g, %g : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi32>
  // CHECK-NEXT: relex.subtract %h, %h : (tensor<2xi64>, tensor<2xi64>) -> tensor<2xi64>
  %7 = relex.subtract %h, %h : (tensor<2xi64>, tensor<2xi64>) -> tensor<2xi64>
  func.return
}

// CHECK-LABEL: func.func @products
func.func @products(%x: tensor<2x3x4xf32>, %v: tensor<4xf32>, %w: tensor<5x4xf32>, %m: tensor<7x1x4x6xf32>,
                    %p: tensor<?x4xf32>, %q: tensor<5x?xf32>) {
  // CHECK: relex.dense %x, %w : (tensor<2x3x4xf32>, tensor<5x4xf32>) -> tensor<2x3x5xf32>
  %0 = relex.dense %x, %w : (tensor<2x3x4xf32>, tensor<5x4xf32>) -> tensor<2x3x5xf32>
  // CHECK-NEXT: relex.dense %v, %w : (tensor<4xf32>, tensor<5x4xf32>) -> tensor<5xf32>
  %1 = relex.dense %v, %w : (tensor<4xf32>, tensor<5x4xf32>) -> tensor<5xf32>
  // CHECK-NEXT: relex.dense %p, %q : (tensor<?x4xf32>, tensor<5x?xf32>) -> tensor<?x5xf32>
  %2 = relex.dense %p, %q : (tensor<?x4xf32>, tensor<5x?xf32>) -> tensor<?x5xf32>
  // CHECK-NEXT: relex.matmul %x, %m : (tensor<2x3x4xf32>, tensor<7x1x4x6xf32>) -> tensor<7x2x3x6xf32>
  %3 = relex.matmul %x, %m : (tensor<2x3x4xf32>, tensor<7x1x4x6xf32>) -> tensor<7x2x3x6xf32>
  // CHECK-NEXT: relex.matmul %v, %m : (tensor<4xf32>, tensor<7x1x4x6xf32>) -> tensor<7x1x6xf32>
  %4 = relex.matmul %v, %m : (tensor<4xf32>, tensor<7x1x4x6xf32>) -> tensor<7x1x6xf32>
  // CHECK-NEXT: relex.matmul %x, %v : (tensor<2x3x4xf32>, tensor<4xf32>) -> tensor<2x3xf32>
  %5 = relex.matmul %x, %v : (tensor<2x3x4xf32>, tensor<4xf32>) -> tensor<2x3xf32>
  // CHECK-NEXT: relex.matmul %v, %v : (tensor<4xf32>, tensor<4xf32>) -> tensor<f32>
  %6 = relex.matmul %v, %v : (tensor<4xf32>, tensor<4xf32>) -> tensor<f32>
  func.return
}

// CHECK-LABEL: func.func @alloc
func.func @alloc(%n: index, %m: index) {
  // CHECK-NEXT: relex.alloc_tensor : tensor<1x128xf32>
  %0 = relex.alloc_tensor : tensor<1x128xf32>
  // CHECK-NEXT: relex.alloc_tensor sizes(%n, %m) : tensor<?x3x?xi8>
  %1 = relex.alloc_tensor sizes(%n, %m) : tensor<?x3x?xi8>
  // CHECK-NEXT: relex.alloc_tensor {note} : tensor<f64>
  %2 = relex.alloc_tensor {note} : tensor<f64>
  func.return
}

// CHECK-LABEL: func.func @dataflow
// GENERIC-LABEL: sym_name = "dataflow"
func.func @dataflow(%x: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK-NEXT: %r, %s = relex.dataflow -> tensor<4xf32>, tensor<4xf32> {
  // GENERIC: "relex.dataflow"() ({
  %r, %s = relex.dataflow -> tensor<4xf32>, tensor<4xf32> {
    // CHECK-NEXT: %lv = relex.relu %x
    %lv = relex.relu %x : (tensor<4xf32>) -> tensor<4xf32>
    // CHECK-NEXT: relex.output %x, %lv : tensor<4xf32>, tensor<4xf32>
    // GENERIC: "relex.output"(%x, %lv) : (tensor<4xf32>, tensor<4xf32>) -> ()
    relex.output %x, %lv : tensor<4xf32>, tensor<4xf32>
  }
  // CHECK: relex.dataflow {
  // CHECK-NEXT: relex.output
  // CHECK-NEXT: } {note}
  relex.dataflow {
    relex.output
  } {note}
  // A dataflow block of pure ops is pure itself.
  // CHECK: %outer = relex.dataflow -> tensor<4xf32> {
  // CHECK-NEXT: %inner = relex.dataflow -> tensor<4xf32> {
  %outer = relex.dataflow -> tensor<4xf32> {
    %inner = relex.dataflow -> tensor<4xf32> {
      relex.output %s : tensor<4xf32>
    }
    relex.output %inner : tensor<4xf32>
  }
  func.return %outer : tensor<4xf32>
}

tir.prim_func private @linear(%X: memref<?x4xf32>, %W: memref<5x4xf32>)
    outs(%Y: memref<?x5xf32>, %Z: memref<5xf32>) {}
tir.prim_func private @nothing() {}

// CHECK-LABEL: func.func @call_tir
// GENERIC-LABEL: sym_name = "call_tir"
func.func @call_tir(%x: tensor<3x4xf32>, %d: tensor<?x4xf32>, %w: tensor<5x4xf32>, %n: index) {
  // CHECK-NEXT: relex.call_tir @linear(%x, %w) : (tensor<3x4xf32>, tensor<5x4xf32>) -> (tensor<3x5xf32>, tensor<5xf32>)
  // GENERIC: "relex.call_tir"(%x, %w) <{callee = @linear, operandSegmentSizes = array<i32: 2, 0>}>
  %0, %1 = relex.call_tir @linear(%x, %w)
      : (tensor<3x4xf32>, tensor<5x4xf32>) -> (tensor<3x5xf32>, tensor<5xf32>)
  // CHECK-NEXT: relex.call_tir @linear(%d, %w) sizes(%n) : (tensor<?x4xf32>, tensor<5x4xf32>) -> (tensor<?x5xf32>, tensor<5xf32>)
  // GENERIC: "relex.call_tir"(%d, %w, %n) <{callee = @linear, operandSegmentSizes = array<i32: 2, 1>}>
  %2, %3 = relex.call_tir @linear(%d, %w) sizes(%n)
      : (tensor<?x4xf32>, tensor<5x4xf32>) -> (tensor<?x5xf32>, tensor<5xf32>)
  // CHECK-NEXT: relex.call_tir @nothing() {note} : () -> ()
  relex.call_tir @nothing() {note} : () -> ()
  func.return
}

// CHECK-LABEL: func.func @call_dps_packed
// GENERIC-LABEL: sym_name = "call_dps_packed"
func.func @call_dps_packed(%x: tensor<?x4xf32>, %n: index) {
  // CHECK-NEXT: relex.call_dps_packed "env.relu"(%x) sizes(%n) : (tensor<?x4xf32>) -> tensor<?x4xf32>
  %0 = relex.call_dps_packed "env.relu"(%x) sizes(%n) : (tensor<?x4xf32>) -> tensor<?x4xf32>
  // CHECK-NEXT: relex.call_dps_packed "env.stats"(%x) : (tensor<?x4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  %1, %2 = relex.call_dps_packed "env.stats"(%x) : (tensor<?x4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  // CHECK-NEXT: relex.call_dps_packed "env.log"(%x) {side_effects} : (tensor<?x4xf32>) -> ()
  // GENERIC: "relex.call_dps_packed"(%x) <{{{.*}}side_effects{{.*}}}> : (tensor<?x4xf32>) -> ()
  relex.call_dps_packed "env.log"(%x) {side_effects} : (tensor<?x4xf32>) -> ()
  // CHECK-NEXT: relex.call_dps_packed "a \22name\22"() : () -> tensor<i1>
  %3 = relex.call_dps_packed "a \"name\""() : () -> tensor<i1>
  // CHECK-NEXT: relex.dataflow
  relex.dataflow {
    // CHECK-NEXT: relex.call_dps_packed "env.relu"
    %4 = relex.call_dps_packed "env.relu"(%x) sizes(%n) : (tensor<?x4xf32>) -> tensor<?x4xf32>
    relex.output
  }
  func.return
}

func.func private @fused(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) attributes {relex.primitive} {
  %0 = relex.relu %x : (tensor<4xf32>) -> tensor<4xf32>
  func.return %x, %0 : tensor<4xf32>, tensor<4xf32>
}

// CHECK-LABEL: func.func @call
func.func @call(%x: tensor<4xf32>) {
  // CHECK-NEXT: relex.call @fused(%x) : (tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  %0, %1 = relex.call @fused(%x) : (tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  func.return
}

// CHECK-LABEL: func.func @assert
func.func @assert(%c: tensor<i1>, %i: tensor<i64>) {
  // CHECK-NEXT: relex.assert %c, "expected \22positive\22 numbers" : tensor<i1>
  // GENERIC: "relex.assert"(%c) <{message = "expected \22positive\22 numbers"}> : (tensor<i1>) -> ()
  relex.assert %c, "expected \"positive\" numbers" : tensor<i1>
  // CHECK-NEXT: relex.assert %c, "expected indices from 0 to 9" index %i {mine = 1 : i64} : tensor<i1>, tensor<i64>
  // GENERIC: "relex.assert"(%c, %i) <{message = "expected indices from 0 to 9"}> {mine = 1 : i64} : (tensor<i1>, tensor<i64>) -> ()
  relex.assert %c, "expected indices from 0 to 9" index %i {mine = 1 : i64} : tensor<i1>, tensor<i64>
  func.return
}
