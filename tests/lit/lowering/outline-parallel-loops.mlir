// RUN: relex-opt %s -p outline-parallel-loops | filecheck %s
// RUN: relex-opt %s -p outline-parallel-loops --verify-roundtrip -o /dev/null
// RUN: relex-opt %s -p outline-parallel-loops,scf-parallel-for-to-nested-fors,convert-scf-to-cf,convert-to-llvm | filecheck %s --check-prefix=LLVM

// The call keeps the range, and passes what the body uses; constants are made once more. Buffers that lie apart outside
// lie apart inside. What an iteration makes on the stack or on the heap is made once in a call.
// CHECK-LABEL: func.func @rows(
// CHECK:      %shared = memref.alloca()
// CHECK:      func.call @rows_parallel(%c0, %n, %x, %shared, %f, %y) {relex.parallel} : (index, index, memref<?x4xf32>, memref<4xf32>, f32, memref<?x4xf32>) -> ()
// CHECK-NEXT: func.return
// CHECK-NEXT: }
// CHECK-NEXT: func.func private @rows_parallel(%first: index, %last: index, %x: memref<?x4xf32> {llvm.noalias}, %shared: memref<4xf32> {llvm.noalias}, %f: f32, %y: memref<?x4xf32>) {
// CHECK-NEXT:   %c1 = arith.constant 1 : index
// CHECK-NEXT:   %c0 = arith.constant 0 : index
// CHECK-NEXT:   memref.get_global
// CHECK:        %small = memref.alloca() : memref<4xf32>
// CHECK-NEXT:   %large = memref.alloc() : memref<4xf32>
// CHECK-NEXT:   scf.for %i = %first to %last step %c1 {
// CHECK-NOT:      alloc
// CHECK:          memref.store {{%.+}}, %y[%i, %c0]
// CHECK-NEXT:   }
// CHECK-NEXT:   memref.dealloc %large
// CHECK-NEXT:   func.return
"memref.global"() <{sym_name = "table", sym_visibility = "private", type = memref<4xf32>, initial_value = dense<1.0> : tensor<4xf32>, constant}> : () -> ()
func.func @rows(%x: memref<?x4xf32> {llvm.noalias}, %y: memref<?x4xf32>, %n: index, %f: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %shared = memref.alloca() : memref<4xf32>
  %table = "memref.get_global"() <{name = @table}> : () -> memref<4xf32>
  "scf.parallel"(%c0, %n, %c1) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
  ^bb0(%i: index):
    %small = memref.alloca() : memref<4xf32>
    %large = memref.alloc() : memref<4xf32>
    %0 = memref.load %x[%i, %c0] : memref<?x4xf32>
    %1 = memref.load %shared[%c0] : memref<4xf32>
    %2 = memref.load %table[%c0] : memref<4xf32>
    memref.store %0, %small[%c0] : memref<4xf32>
    memref.store %1, %large[%c0] : memref<4xf32>
    %3 = arith.addf %1, %2 : f32
    %4 = arith.addf %3, %f : f32
    memref.store %4, %y[%i, %c0] : memref<?x4xf32>
    memref.dealloc %large : memref<4xf32>
    scf.reduce
  }) : (index, index, index) -> ()
  func.return
}

// With steps, or several dimensions, the range is the range of the numbers of the iterations.
// CHECK-LABEL: func.func @steps(
// CHECK:      [[LENGTH:%.+]] = arith.subi %n, %m : index
// CHECK-NEXT: [[COUNT:%.+]] = arith.ceildivsi [[LENGTH]], %m : index
// CHECK:      func.call @steps_parallel({{%.+}}, [[COUNT]], %m, %x) {relex.parallel}
// CHECK:      scf.for %i = %first to %last step
// CHECK-NEXT:   [[SCALED:%.+]] = arith.muli %i, %m : index
// CHECK-NEXT:   [[I:%.+]] = arith.addi %m, [[SCALED]] : index
// CHECK-NEXT:   memref.load %x[[[I]]]
func.func @steps(%x: memref<?xf32>, %m: index, %n: index) {
  scf.parallel (%i) = (%m) to (%n) step (%m) {
    %0 = memref.load %x[%i] : memref<?xf32>
    %1 = arith.addf %0, %0 : f32
    memref.store %1, %x[%i] : memref<?xf32>
    scf.reduce
  }
  func.return
}

// A range of iterations that begins and ends within a row.
// CHECK-LABEL: func.func @matrix(
// CHECK:      [[ALL:%.+]] = arith.muli {{.*}} : index
// CHECK:      func.call @matrix_parallel({{.*}}, [[ALL]], %x) {relex.parallel}
// CHECK:      func.func private @matrix_parallel(
// CHECK:      [[FIRST_ROW:%.+]] = arith.divsi %first, [[SIZE:%.+]] : index
// CHECK-NEXT: [[MOST:%.+]] = arith.constant 63 : index
// CHECK-NEXT: [[UP:%.+]] = arith.addi %last, [[MOST]] : index
// CHECK-NEXT: [[LAST_ROW:%.+]] = arith.divsi [[UP]], [[SIZE]] : index
// CHECK-NEXT: scf.for %i = [[FIRST_ROW]] to [[LAST_ROW]] step
// CHECK-NEXT:   [[BEFORE:%.+]] = arith.muli %i, [[SIZE]] : index
// CHECK-NEXT:   [[START:%.+]] = arith.subi %first, [[BEFORE]] : index
// CHECK-NEXT:   [[END:%.+]] = arith.subi %last, [[BEFORE]] : index
// CHECK:        [[FIRST:%.+]] = arith.maxsi [[START]], {{.*}} : index
// CHECK-NEXT:   [[LAST:%.+]] = arith.minsi [[END]], [[SIZE]] : index
// CHECK-NEXT:   scf.for %j = [[FIRST]] to [[LAST]] step
// CHECK-NEXT:     memref.load %x[%i, %j]
func.func @matrix(%x: memref<?x64xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  scf.parallel (%i, %j) = (%c0, %c0) to (%n, %c64) step (%c1, %c1) {
    %0 = memref.load %x[%i, %j] : memref<?x64xf32>
    %1 = arith.addf %0, %0 : f32
    memref.store %1, %x[%i, %j] : memref<?x64xf32>
    scf.reduce
  }
  func.return
}

// Only the outermost loop is shared out; two loops get two names.
// CHECK-LABEL: func.func @nested(
// CHECK:      func.call @nested_parallel(
// CHECK-NEXT: func.call @nested_parallel1(
// CHECK-NEXT: func.return
// CHECK-NOT:  relex.parallel
func.func @nested(%x: memref<?x?xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  "scf.parallel"(%c0, %n, %c1) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
  ^bb0(%i: index):
    "scf.parallel"(%c0, %n, %c1) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
    ^bb0(%j: index):
      %0 = memref.load %x[%i, %j] : memref<?x?xf32>
      %1 = arith.addf %0, %0 : f32
      memref.store %1, %x[%i, %j] : memref<?x?xf32>
      scf.reduce
    }) : (index, index, index) -> ()
    scf.reduce
  }) : (index, index, index) -> ()
  "scf.parallel"(%c0, %n, %c1) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
  ^bb0(%i: index):
    func.call @inner(%x, %i) : (memref<?x?xf32>, index) -> ()
    scf.reduce
  }) : (index, index, index) -> ()
  func.return
}
func.func private @inner(%x: memref<?x?xf32>, %i: index) {
  func.return
}

// A result, and functions that are somewhere else: nothing changes.
// CHECK-LABEL: func.func @stays(
// CHECK: "scf.parallel"
// CHECK: "scf.parallel"
// CHECK-NOT: relex.parallel
func.func @stays(%x: memref<?xf32>, %n: index) -> f32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %sum = "scf.parallel"(%c0, %n, %c1, %zero) <{operandSegmentSizes = array<i32: 1, 1, 1, 1>}> ({
  ^bb0(%i: index):
    %0 = memref.load %x[%i] : memref<?xf32>
    scf.reduce(%0 : f32) {
    ^bb1(%a: f32, %b: f32):
      %1 = arith.addf %a, %b : f32
      scf.reduce.return %1 : f32
    }
  }) : (index, index, index, f32) -> f32
  "scf.parallel"(%c0, %n, %c1) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
  ^bb0(%i: index):
    func.call @goes_outside(%x) : (memref<?xf32>) -> ()
    scf.reduce
  }) : (index, index, index) -> ()
  func.return %sum : f32
}
func.func private @goes_outside(%x: memref<?xf32>) {
  func.call @outside(%x) : (memref<?xf32>) -> ()
  func.return
}
func.func private @outside(memref<?xf32>) -> ()

// The machine level passes what the body uses in a frame, which stands outside of loops. Offset and stride of the buffer
// are constants; nobody uses its size, nor the pointer that it was allocated at.
// CHECK-LABEL: func.func @in_a_loop(
// LLVM-LABEL: llvm.func @in_a_loop(
// LLVM-NEXT:    [[WORDS:%.+]] = llvm.mlir.constant(2) : i64
// LLVM-NEXT:    [[FRAME:%.+]] = llvm.alloca [[WORDS]] x i64
// LLVM:         llvm.insertvalue {{%f.*}}, {{%.+}}[0] : !llvm.struct<(f32, !llvm.ptr)>
// LLVM-NEXT:    [[ALL:%.+]] = llvm.insertvalue {{%.+}}, {{%.+}}[1]
// LLVM-NEXT:    llvm.store [[ALL]], [[FRAME]] : !llvm.struct<(f32, !llvm.ptr)>, !llvm.ptr
// LLVM:         [[CHUNK:%.+]] = llvm.mlir.addressof @in_a_loop_parallel_chunk : !llvm.ptr
// LLVM-NEXT:    llvm.call @_relex_parallel([[CHUNK]], [[FRAME]], {{%.+}}, {{%.+}}) : (!llvm.ptr, !llvm.ptr, i64, i64) -> ()
// LLVM-LABEL: llvm.func internal @in_a_loop_parallel_chunk(%{{.+}}: !llvm.ptr, %{{.+}}: i64, %{{.+}}: i64) {
// LLVM-NEXT:    [[BASE:%.+]] = llvm.mlir.zero : !llvm.ptr
// LLVM-NEXT:    [[ZERO:%.+]] = llvm.mlir.constant(0) : i64
// LLVM-NEXT:    [[STRIDE:%.+]] = llvm.mlir.constant(1) : i64
// LLVM:         llvm.call @in_a_loop_parallel({{%.+}}, {{%.+}}, {{%.+}}, [[BASE]], {{%.+}}, [[ZERO]], [[ZERO]], [[STRIDE]])
// LLVM-NEXT:    llvm.return
func.func @in_a_loop(%x: memref<?xf32>, %n: index, %f: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %k = %c0 to %n step %c1 {
    "scf.parallel"(%c0, %n, %c1) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
    ^bb0(%i: index):
      memref.store %f, %x[%i] : memref<?xf32>
      scf.reduce
    }) : (index, index, index) -> ()
  }
  func.return
}

// Fewer iterations than are worth sharing are run by the same function.
// CHECK-LABEL: func.func @from_on(
// CHECK:      %0 = arith.constant 100 : index
// CHECK-NEXT: %1 = arith.subi %n, %c0 : index
// CHECK-NEXT: %2 = arith.cmpi sge, %1, %0 : index
// CHECK-NEXT: scf.if %2 {
// CHECK-NEXT:   func.call @from_on_parallel(%c0, %n, %x) {relex.parallel} : (index, index, memref<?xf32>) -> ()
// CHECK-NEXT: } else {
// CHECK-NEXT:   func.call @from_on_parallel(%c0, %n, %x) : (index, index, memref<?xf32>) -> ()
// CHECK-NEXT: }
// CHECK-NOT:  relex.least
func.func @from_on(%x: memref<?xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  "scf.parallel"(%c0, %n, %c1) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
  ^bb0(%i: index):
    %0 = memref.load %x[%i] : memref<?xf32>
    %1 = arith.addf %0, %0 : f32
    memref.store %1, %x[%i] : memref<?xf32>
    scf.reduce
  }) {relex.least = 100 : index} : (index, index, index) -> ()
  func.return
}

// A function states an integer once, where all of it can use it; one that nobody uses is gone, and floats stay.
// CHECK-LABEL: func.func @stated_once(
// CHECK-NEXT:    [[ZERO:%.+]] = arith.constant 0 : index
// CHECK-NEXT:    func.call @stated_once_parallel([[ZERO]], %n, %x) {{.*}}
// CHECK-NEXT:    func.return
// CHECK-LABEL: func.func private @stated_once_parallel(
// CHECK-NEXT:    [[ONE:%.+]] = arith.constant 1 : index
// CHECK-NEXT:    [[ZERO:%.+]] = arith.constant 0 : index
// CHECK-NEXT:    scf.for [[I:%.+]] = %first to %last step [[ONE]] {
// CHECK-NEXT:      scf.for {{%.+}} = [[ZERO]] to [[ONE]] step [[ONE]] {
// CHECK-NEXT:        {{%.+}} = arith.addi [[I]], [[ONE]] : index
// CHECK-NEXT:        {{%.+}} = arith.constant -0.000000e+00 : f32
func.func @stated_once(%x: memref<?xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %again = arith.constant 0 : index
  "scf.parallel"(%c0, %n, %c1) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
  ^bb0(%i: index):
    scf.for %j = %again to %c1 step %c1 {
      %one = arith.constant 1 : index
      %next = arith.addi %i, %one : index
      %zero = arith.constant -0.0 : f32
      memref.store %zero, %x[%next] : memref<?xf32>
    }
    scf.reduce
  }) : (index, index, index) -> ()
  func.return
}
