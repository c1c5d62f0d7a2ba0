// RUN: relex-opt %s -p lower-call-tir,instrument-calls | filecheck %s
// RUN: relex-opt %s -p lower-call-tir,instrument-calls,convert-tir-to-scf --verify-roundtrip

// CHECK-LABEL: func.func @main(
func.func @main(%x: tensor<?xf32> {relex.dims = ["n"]}) -> (tensor<?xf32> {relex.dims = ["n"]}) {
  %zero = arith.constant 0 : index
  %n = tensor.dim %x, %zero : tensor<?xf32>
  // CHECK:      [[NUMBER:%.+]] = arith.constant 0 : i64
  // CHECK-NEXT: func.call @relex.record([[NUMBER]]) : (i64) -> ()
  // CHECK:      [[DIM:%.+]] = memref.dim %x, {{%.+}} : memref<?xf32>
  // CHECK-NEXT: [[SIZE:%.+]] = arith.index_cast [[DIM]] : index to i64
  // CHECK-NEXT: func.call @relex.record([[SIZE]]) : (i64) -> ()
  // CHECK:      func.call @relex.record
  // CHECK-NEXT: [[START:%.+]] = func.call @relex.clock() : () -> i64
  // CHECK-NEXT: tir.call @relu_loops(%x, [[Y:%.+]])
  // CHECK-NEXT: [[END:%.+]] = func.call @relex.clock() : () -> i64
  // CHECK-NEXT: func.call @relex.record([[START]]) : (i64) -> ()
  // CHECK-NEXT: func.call @relex.record([[END]]) : (i64) -> ()
  %y = relex.call_tir @relu(%x) sizes(%n) : (tensor<?xf32>) -> tensor<?xf32>
  // CHECK:      arith.constant 1 : i64
  // CHECK:      func.call @relex.clock
  // CHECK-NEXT: func.call @library_env.relu
  // CHECK-NEXT: func.call @relex.clock
  %z = relex.call_dps_packed "env.relu"(%y) sizes(%n) : (tensor<?xf32>) -> tensor<?xf32>
  func.return %z : tensor<?xf32>
}

// Calls of graph functions are not recorded, those inside of them are.
// CHECK-LABEL: func.func @outer(
// CHECK-NOT: relex.record
// CHECK: func.call @inner(
func.func @outer(%x: tensor<8xf32>) -> tensor<8xf32> {
  %y = func.call @inner(%x) : (tensor<8xf32>) -> tensor<8xf32>
  func.return %y : tensor<8xf32>
}
// CHECK-LABEL: func.func private @inner(
// CHECK: tir.call @private(
// CHECK-NEXT: func.call @relex.clock
func.func private @inner(%x: tensor<8xf32>) -> tensor<8xf32> {
  %y = relex.call_tir @private(%x) : (tensor<8xf32>) -> tensor<8xf32>
  func.return %y : tensor<8xf32>
}

// What calls a public loop function from outside goes through a function that records it.
// CHECK-LABEL: func.func @relu(
// CHECK-SAME: {llvm.emit_c_interface}
// CHECK: func.call @relex.clock
// CHECK-NEXT: tir.call @relu_loops(%
// CHECK-NEXT: func.call @relex.clock
// CHECK: tir.prim_func private @relu_loops(
tir.prim_func @relu(%X: memref<?xf32> {relex.dims = ["n"]}) outs(%Y: memref<?xf32> {relex.dims = ["n"]}) {
  %c0 = arith.constant 0 : index
  %n = memref.dim %X, %c0 : memref<?xf32>
  tir.for %i in (%n) {
    tir.block @Y (%vi: spatial<%n> = %i) {
      %x = memref.load %X[%vi] : memref<?xf32>
      %zero = arith.constant 0.0 : f32
      %y = arith.maximumf %x, %zero : f32
      memref.store %y, %Y[%vi] : memref<?xf32>
    }
  }
}

tir.prim_func private @private(%X: memref<8xf32>) outs(%Y: memref<8xf32>) {
  tir.for %i in (8) {
    tir.block @Y (%vi: spatial<8> = %i) {
      %x = memref.load %X[%vi] : memref<8xf32>
      memref.store %x, %Y[%vi] : memref<8xf32>
    }
  }
}

// CHECK: func.func private @relex.clock() -> i64
// CHECK: func.func private @relex.record(i64) -> ()
