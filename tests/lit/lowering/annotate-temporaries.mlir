// RUN: relex-opt %s -p annotate-signatures,annotate-temporaries --split-input-file --verify-diagnostics | filecheck %s

// CHECK: func.func @main
// CHECK-SAME: temporaries = ["4 * n + 64"]
func.func @main(%x: memref<?xf32> {relex.dims = ["n"]}) {
  %c0 = arith.constant 0 : index
  %n = memref.dim %x, %c0 : memref<?xf32>
  %y = memref.alloc(%n) : memref<?xf32>
  %z = memref.alloc() : memref<16xf32>
  func.return
}

// CHECK: func.func @none
// CHECK-SAME: temporaries = [0 : i64]
func.func @none(%x: memref<4xf32>) {
  func.return
}

// What recursive calls need is unknown, of whichever function it is asked first.
// CHECK: func.func @even
// CHECK-SAME: temporaries = [4 : i64]
func.func @even(%x: memref<4xf32>) {
  %y = memref.alloc() : memref<1xf32>
  func.call @odd(%x) : (memref<4xf32>) -> ()
  func.return
}
// CHECK: func.func @odd
// CHECK-SAME: temporaries = [8 : i64]
func.func @odd(%x: memref<4xf32>) {
  %y = memref.alloc() : memref<2xf32>
  func.call @even(%x) : (memref<4xf32>) -> ()
  func.return
}
// CHECK: func.func @both
// CHECK-SAME: temporaries = [0 : i64, 4 : i64, 8 : i64]
func.func @both(%x: memref<4xf32>) {
  func.call @even(%x) : (memref<4xf32>) -> ()
  func.call @odd(%x) : (memref<4xf32>) -> ()
  func.return
}

// -----

// expected-error@+1 {{'func.func' op expected 'relex.signature' of 'main' with temporaries (64), found (8)}}
func.func @main(%x: memref<4xf32>) attributes {relex.signature = {inputs = [{name = "x", shape = [4 : i64], element_type = "f32"}], outputs = [], writes_inputs = true, temporaries = [8 : i64]}} {
  %y = memref.alloc() : memref<16xf32>
  func.return
}
