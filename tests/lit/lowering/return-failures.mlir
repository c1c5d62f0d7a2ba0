// RUN: relex-opt %s -p return-failures | filecheck %s
// RUN: relex-opt %s -p return-failures,return-failures | filecheck %s

// The note about an index is gone with its declaration.
// CHECK-NOT: relex_found_index
func.func private @relex_found_index(i64)

// CHECK-LABEL: func.func @main
// CHECK-SAME: -> (i64, i64) attributes {relex.signature = {{.*}}failures = [{message = "expected more"}, {message = "expected indices from 0 to 9", names_index = true}, {message = "before"}
func.func @main(%x: memref<8xf32>, %y: memref<8xf32>, %i: i64, %c: i1) attributes {relex.signature = {
    inputs = [{name = "x", shape = [8], element_type = "f32"}, {name = "y", shape = [8], element_type = "f32"},
              {name = "i", shape = [], element_type = "i64", is_scalar = true}, {name = "c", shape = [], element_type = "i1", is_scalar = true}],
    outputs = [], writes_inputs = true}} {
  // CHECK-NEXT: %a = memref.alloc()
  %a = memref.alloc() : memref<8xf32>
  // CHECK-NEXT: cf.cond_br %c, ^[[HOLDS:.+]], ^[[FIRST:.+]]
  // CHECK-NEXT: ^[[HOLDS]]:
  cf.assert %c, "expected more"
  // CHECK-NEXT: %b = memref.alloc()
  %b = memref.alloc() : memref<8xf32>
  // CHECK-NEXT: memref.dealloc %a
  memref.dealloc %a : memref<8xf32>
  // CHECK-NEXT: cf.cond_br %c, ^[[IN_RANGE:.+]], ^[[SECOND:.+]]
  // CHECK-NEXT: ^[[IN_RANGE]]:
  func.call @relex_found_index(%i) : (i64) -> ()
  cf.assert %c, "expected indices from 0 to 9"
  // CHECK-NEXT: %s, [[NUMBER:%.+]], [[INDEX:%.+]] = func.call @callee(%c) : (i1) -> (f32, i64, i64)
  // CHECK-NEXT: [[ZERO:%.+]] = arith.constant 0 : i64
  // CHECK-NEXT: [[SUCCEEDED:%.+]] = arith.cmpi eq, [[NUMBER]], [[ZERO]] : i64
  // CHECK-NEXT: cf.cond_br [[SUCCEEDED]], ^[[RETURNED:.+]], ^[[THIRD:.+]]
  // CHECK-NEXT: ^[[RETURNED]]:
  %s = func.call @callee(%c) : (i1) -> f32
  // CHECK-NEXT: func.call @innocent(%b)
  func.call @innocent(%b) : (memref<8xf32>) -> ()
  // CHECK-NEXT: memref.dealloc %b
  memref.dealloc %b : memref<8xf32>
  // CHECK: func.return %{{.+}}, %{{.+}} : i64, i64
  // CHECK-NEXT: ^[[FIRST]]:
  // CHECK-NEXT: [[ONE:%.+]] = arith.constant 1 : i64
  // CHECK-NEXT: memref.dealloc %a
  // CHECK-NEXT: [[NONE:%.+]] = arith.constant 0 : i64
  // CHECK-NEXT: func.return [[ONE]], [[NONE]] : i64, i64
  // CHECK-NEXT: ^[[SECOND]]:
  // CHECK-NEXT: [[TWO:%.+]] = arith.constant 2 : i64
  // CHECK-NEXT: memref.dealloc %b
  // CHECK-NEXT: func.return [[TWO]], %i : i64, i64
  // CHECK-NEXT: ^[[THIRD]]:
  // CHECK-NEXT: memref.dealloc %b
  // CHECK-NEXT: func.return [[NUMBER]], [[INDEX]] : i64, i64
  func.return
}

// CHECK-LABEL: func.func private @callee
// CHECK-SAME: (%c: i1) -> (f32, i64, i64)
func.func private @callee(%c: i1) -> f32 {
  %r = arith.constant 2.0 : f32
  cf.assert %c, "expected more"
  // CHECK: func.return %r, %{{.+}}, %{{.+}} : f32, i64, i64
  // CHECK: [[ONE:%.+]] = arith.constant 1 : i64
  // CHECK-NEXT: [[UNSPECIFIED:%.+]] = arith.constant 0.000000e+00 : f32
  // CHECK: func.return [[UNSPECIFIED]], [[ONE]], %{{.+}} : f32, i64, i64
  func.return %r : f32
}

// CHECK-LABEL: func.func private @innocent
// CHECK-SAME: (%x: memref<8xf32>) {
func.func private @innocent(%x: memref<8xf32>) {
  func.return
}

// Whoever calls a function without a signature does not ask whether it has failed.
// CHECK-LABEL: func.func @called_by_others(%c: i1) -> f32
func.func @called_by_others(%c: i1) -> f32 {
  // CHECK-NEXT: cf.assert %c, "expected more"
  cf.assert %c, "expected more"
  // CHECK-NEXT: func.call @of_others
  %r = func.call @of_others(%c) : (i1) -> f32
  func.return %r : f32
}

func.func private @of_others(%c: i1) -> f32 {
  %r = arith.constant 2.0 : f32
  // CHECK: cf.assert %c, "expected less"
  cf.assert %c, "expected less"
  func.return %r : f32
}

// A buffer that only one way allocates is not freed where both ways join; one in a loop is, if the iteration has it.
// CHECK-LABEL: func.func private @loop
func.func private @loop(%n: index, %c: i1, %d: i1) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  cf.br ^head(%zero : index)
^head(%i: index):
  // CHECK: cf.cond_br %c, ^{{.+}}, ^[[OUTSIDE:.+]]
  cf.assert %c, "before"
  %more = arith.cmpi slt, %i, %n : index
  cf.cond_br %more, ^body, ^end
^body:
  // CHECK: %t = memref.alloc()
  %t = memref.alloc() : memref<8xf32>
  // CHECK-NEXT: cf.cond_br %d, ^{{.+}}, ^[[INSIDE:.+]]
  cf.assert %d, "inside"
  memref.dealloc %t : memref<8xf32>
  %next = arith.addi %i, %one : index
  cf.br ^head(%next : index)
^end:
  func.return
  // CHECK: ^[[OUTSIDE]]:
  // CHECK-NOT: memref.dealloc
  // CHECK: func.return
  // CHECK-NEXT: ^[[INSIDE]]:
  // CHECK-NEXT: arith.constant
  // CHECK-NEXT: memref.dealloc %t
}

// Calls for parts of a range return nothing: they share a buffer.
// CHECK-LABEL: func.func private @parallel
// CHECK-SAME: -> (i64, i64)
func.func private @parallel(%n: index, %c: i1) {
  %zero = arith.constant 0 : index
  // CHECK-NEXT: [[RECORD:%.+]] = memref.alloca() : memref<1xi64>
  // CHECK: memref.store %{{.+}}, [[RECORD]][[[PLACE:%.+]]] : memref<1xi64>
  // CHECK-NEXT: func.call @part(%zero, %n, %c, [[RECORD]]) {relex.parallel} : (index, index, i1, memref<1xi64>) -> ()
  // CHECK-NEXT: [[NUMBER:%.+]] = memref.load [[RECORD]][[[PLACE]]] : memref<1xi64>
  // CHECK: arith.cmpi eq, [[NUMBER]]
  func.call @part(%zero, %n, %c) {relex.parallel} : (index, index, i1) -> ()
  func.return
}

// CHECK-LABEL: func.func private @part
// CHECK-SAME: (%first: index, %last: index, %c: i1, [[RECORD:%.+]]: memref<1xi64>) {
func.func private @part(%first: index, %last: index, %c: i1) {
  // CHECK-NEXT: cf.cond_br
  cf.assert %c, "in parallel"
  // CHECK: func.return
  // CHECK: memref.store %{{.+}}, [[RECORD]]
  // CHECK-NEXT: func.return
  func.return
}
