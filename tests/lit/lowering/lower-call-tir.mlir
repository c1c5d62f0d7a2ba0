// RUN: relex-opt %s -p lower-call-tir | filecheck %s
// RUN: relex-opt %s -p lower-call-tir | relex-opt | filecheck %s
// RUN: relex-opt %s -p lower-call-tir --print-op-generic | relex-opt | filecheck %s

// CHECK: func.func private @library_env.relu_{{.*}}(memref<8xf32>, memref<8xf32>) -> () attributes {llvm.emit_c_interface, relex.library = "env.relu", relex.outputs = 1 : i64}

tir.prim_func @relu(%X: memref<8xf32>) outs(%Y: memref<8xf32>) attributes {tir.noalias} {
  %zero = arith.constant 0.0 : f32
  tir.for %i in (8) {
    tir.block @Y (%vi: spatial<8> = %i) {
      %x = memref.load %X[%vi] : memref<8xf32>
      %y = arith.maximumf %x, %zero : f32
      memref.store %y, %Y[%vi] : memref<8xf32>
    }
  }
}

tir.prim_func @two(%X: memref<8xf32>) outs(%Y: memref<8xf32>, %Z: memref<8xf32>) {
  tir.for %i in (8) {
    tir.block @Y (%vi: spatial<8> = %i) {
      %x = memref.load %X[%vi] : memref<8xf32>
      memref.store %x, %Y[%vi] : memref<8xf32>
      memref.store %x, %Z[%vi] : memref<8xf32>
    }
  }
}

// The last call writes into the output; only the value in between has its own memory, freed at the end.
// CHECK-LABEL: func.func @chain(%x: memref<8xf32>, %out: memref<8xf32>) attributes {llvm.emit_c_interface} {
func.func @chain(%x: tensor<8xf32>) -> tensor<8xf32> {
  %r = relex.dataflow -> tensor<8xf32> {
    // CHECK-NEXT: [[Y:%.+]] = memref.alloc() {alignment = 64 : i64} : memref<8xf32>
    // CHECK-NEXT: tir.call @relu(%x, [[Y]]) : memref<8xf32>, memref<8xf32>
    %y = relex.call_tir @relu(%x) : (tensor<8xf32>) -> tensor<8xf32>
    // CHECK-NEXT: tir.call @relu([[Y]], %out)
    %z = relex.call_tir @relu(%y) : (tensor<8xf32>) -> tensor<8xf32>
    relex.output %z : tensor<8xf32>
  }
  // CHECK-NEXT: memref.dealloc [[Y]] : memref<8xf32>
  // CHECK-NEXT: func.return
  func.return %r : tensor<8xf32>
}

// An argument, a constant and a second return of one value are copied.
// CHECK-LABEL: func.func @copies(
// CHECK-SAME:    %x: memref<8xf32>, %out0: memref<8xf32>, %out1: memref<8xf32>, %out2: memref<8xf32>, %out3: memref<2xf32>)
func.func @copies(%x: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<2xf32>) {
  // CHECK: tir.call @relu(%x, %out1)
  %y = relex.call_tir @relu(%x) : (tensor<8xf32>) -> tensor<8xf32>
  // CHECK: [[C:%.+]] = memref.get_global @[[NAME:constant_2xf32_[0-9a-f]+]] : memref<2xf32>
  %c = relex.constant dense<[1.0, 2.0]> : tensor<2xf32>
  // CHECK-DAG: "memref.copy"(%x, %out0)
  // CHECK-DAG: "memref.copy"(%out1, %out2)
  // CHECK-DAG: "memref.copy"([[C]], %out3)
  func.return %x, %y, %y, %c : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<2xf32>
}

// A call with several results, of which one is returned and one is not used.
// CHECK-LABEL: func.func @several
func.func @several(%x: tensor<8xf32>) -> tensor<8xf32> {
  // CHECK-NEXT: [[UNUSED:%.+]] = memref.alloc()
  // CHECK-NEXT: tir.call @two(%x, %out, [[UNUSED]])
  %y, %z = relex.call_tir @two(%x) : (tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>)
  func.return %y : tensor<8xf32>
}

// Private functions are called with buffers as well, and have no C interface.
// CHECK-LABEL: func.func private @group(%x: memref<8xf32> {relex.name = "data"}, %out: memref<8xf32>) attributes {relex.primitive} {
func.func private @group(%x: tensor<8xf32> {relex.name = "data"}) -> tensor<8xf32> attributes {relex.primitive} {
  %y = relex.call_tir @relu(%x) : (tensor<8xf32>) -> tensor<8xf32>
  func.return %y : tensor<8xf32>
}

// CHECK-LABEL: func.func @calls
func.func @calls(%x: tensor<8xf32>) -> tensor<8xf32> {
  // CHECK: func.call @group(%x, [[G:%.+]]) : (memref<8xf32>, memref<8xf32>) -> ()
  %g = relex.call @group(%x) : (tensor<8xf32>) -> tensor<8xf32>
  // CHECK: func.call @external([[G]], [[E:%.+]]) : (memref<8xf32>, memref<8xf32>) -> ()
  %e = func.call @external(%g) : (tensor<8xf32>) -> tensor<8xf32>
  // CHECK: [[A:%.+]] = memref.alloc()
  %a = relex.alloc_tensor : tensor<8xf32>
  // CHECK: tir.call @relu([[A]], %out)
  %r = relex.call_tir @relu(%a) : (tensor<8xf32>) -> tensor<8xf32>
  func.return %r : tensor<8xf32>
}

// CHECK: func.func private @external(memref<8xf32>, memref<8xf32>) -> ()
func.func private @external(tensor<8xf32>) -> tensor<8xf32>

// Functions without tensors stay as they are.
// CHECK-LABEL: func.func @scalar(%x: i32) -> i32 {
func.func @scalar(%x: i32) -> i32 {
  func.return %x : i32
}

// Equal constants are stored once.
// CHECK-LABEL: func.func @same_constant
func.func @same_constant() -> tensor<2xf32> {
  // CHECK: memref.get_global @[[NAME]] : memref<2xf32>
  %c = relex.constant dense<[1.0, 2.0]> : tensor<2xf32>
  func.return %c : tensor<2xf32>
}

// Library functions are declared, once for each name and types, and called.
// CHECK-LABEL: func.func @library
func.func @library(%x: tensor<8xf32>) -> tensor<8xf32> {
  // CHECK-NEXT: [[Y:%.+]] = memref.alloc()
  // CHECK-NEXT: func.call @[[RELU:library_env.relu_[0-9a-f]+]](%x, [[Y]]) : (memref<8xf32>, memref<8xf32>) -> ()
  // CHECK-NEXT: func.call @[[RELU]]([[Y]], %out) : (memref<8xf32>, memref<8xf32>) -> ()
  // CHECK-NEXT: func.call @[[LOG:library_a__name__[0-9a-f]+]]([[Y]]) : (memref<8xf32>) -> ()
  // CHECK-NEXT: memref.dealloc [[Y]]
  %y = relex.call_dps_packed "env.relu"(%x) : (tensor<8xf32>) -> tensor<8xf32>
  %z = relex.call_dps_packed "env.relu"(%y) : (tensor<8xf32>) -> tensor<8xf32>
  relex.call_dps_packed "a \"name\""(%y) {side_effects} : (tensor<8xf32>) -> ()
  func.return %z : tensor<8xf32>
}

// CHECK-LABEL: func.func @library_sizes
func.func @library_sizes(%x: tensor<?x2xf32>) -> (tensor<8xf32>, tensor<?xi1>) {
  %c0 = arith.constant 0 : index
  // CHECK: [[N:%.+]] = memref.dim
  %n = tensor.dim %x, %c0 : tensor<?x2xf32>
  // CHECK: [[U:%.+]] = memref.alloc([[N]]) {alignment = 64 : i64} : memref<?xi1>
  // CHECK-NEXT: func.call @[[TWO:library_env.two_[0-9a-f]+]](%x, %out0, [[U]]) : (memref<?x2xf32>, memref<8xf32>, memref<?xi1>) -> ()
  %y, %unused = relex.call_dps_packed "env.two"(%x) sizes(%n) : (tensor<?x2xf32>) -> (tensor<8xf32>, tensor<?xi1>)
  // CHECK-NEXT: func.call @[[ENV:library_env.relu_[0-9a-f]+]](%x, %out1) : (memref<?x2xf32>, memref<?xi1>) -> ()
  %z = relex.call_dps_packed "env.relu"(%x) sizes(%n) : (tensor<?x2xf32>) -> tensor<?xi1>
  func.return %y, %z : tensor<8xf32>, tensor<?xi1>
}

// Results that are no tensors stay results.
// CHECK-LABEL: func.func private @scalars
// CHECK-SAME: (%x: memref<?xf32>, %s: f32, %out: memref<?xf32>) -> (f32, index)
func.func private @scalars(%x: tensor<?xf32>, %s: f32) -> (f32, tensor<?xf32>, index) {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?xf32>
  // CHECK: "memref.copy"(%x, %out)
  // CHECK-NEXT: func.return %s, %n : f32, index
  func.return %s, %x, %n : f32, tensor<?xf32>, index
}

// CHECK-LABEL: func.func @calls_scalars
func.func @calls_scalars(%x: tensor<?xf32>, %s: f32) -> (tensor<?xf32>, index) {
  // CHECK: [[R:%.+]], [[N:%.+]] = func.call @scalars(%x, %s, %out) : (memref<?xf32>, f32, memref<?xf32>) -> (f32, index)
  // CHECK: func.return [[N]] : index
  %r, %y, %n = func.call @scalars(%x, %s) : (tensor<?xf32>, f32) -> (f32, tensor<?xf32>, index)
  func.return %y, %n : tensor<?xf32>, index
}

// CHECK-LABEL: func.func @assertions
// CHECK-SAME: (%c: memref<i1>, %i: memref<i64>)
func.func @assertions(%c: tensor<i1>, %i: tensor<i64>) {
  // CHECK-NEXT: [[HOLDS:%.+]] = memref.load %c[] : memref<i1>
  // CHECK-NEXT: cf.assert [[HOLDS]], "expected more"
  relex.assert %c, "expected more" : tensor<i1>
  // CHECK-NEXT: [[IN_RANGE:%.+]] = memref.load %c[] : memref<i1>
  // CHECK-NEXT: [[INDEX:%.+]] = memref.load %i[] : memref<i64>
  // CHECK-NEXT: func.call @relex_found_index([[INDEX]]) : (i64) -> ()
  // CHECK-NEXT: cf.assert [[IN_RANGE]], "expected indices from 0 to 9"
  relex.assert %c, "expected indices from 0 to 9" index %i : tensor<i1>, tensor<i64>
  func.return
}

// A result that takes the place of an argument is written there at the end, and what is returned of an argument before.
// CHECK-LABEL: func.func @replaced
// CHECK-SAME: (%x: memref<8xf32> {relex.inout}, %y: memref<8xf32> {relex.inout}, %out: memref<8xf32>)
// CHECK-NEXT: [[X:%.+]] = memref.alloc() {alignment = 64 : i64} : memref<8xf32>
// CHECK-NEXT: "memref.copy"(%x, [[X]])
// CHECK-NEXT: "memref.copy"(%x, %out)
// CHECK-NEXT: [[Y:%.+]] = memref.alloc() {alignment = 64 : i64} : memref<8xf32>
// CHECK-NEXT: "memref.copy"(%y, [[Y]])
// CHECK-NEXT: "memref.copy"([[Y]], %x)
// CHECK-NEXT: "memref.copy"([[X]], %y)
func.func @replaced(%x: tensor<8xf32> {relex.inout = 2 : i64}, %y: tensor<8xf32> {relex.inout = 0 : i64})
    -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) {
  func.return %x, %x, %y : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>
}

// A call writes to a copy.
// CHECK-LABEL: func.func @calls_replaced
// CHECK-SAME: (%x: memref<8xf32>, %y: memref<8xf32> {relex.inout}, %out0: memref<8xf32>, %out1: memref<8xf32>)
// CHECK:      "memref.copy"(%x, %out1)
// CHECK:      "memref.copy"(%y, %r)
// CHECK-NEXT: func.call @replaced(%out1, %r, %out0) : (memref<8xf32>, memref<8xf32>, memref<8xf32>) -> ()
// CHECK-NEXT: "memref.copy"(%r, %y)
func.func @calls_replaced(%x: tensor<8xf32>, %y: tensor<8xf32> {relex.inout = 0 : i64})
    -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) {
  %r:3 = func.call @replaced(%x, %y) : (tensor<8xf32>, tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>)
  func.return %r#0, %r#1, %r#2 : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>
}
