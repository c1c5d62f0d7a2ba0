// RUN: relex-opt %s -p scf-parallel-for-to-nested-fors | filecheck %s
// RUN: relex-opt %s -p scf-parallel-for-to-nested-fors,convert-scf-to-cf,convert-to-llvm -o /dev/null

// CHECK-LABEL: func.func @fill
func.func @fill(%m: memref<?x?xf32>, %n: index, %x: f32) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  // CHECK:      scf.for [[I:%.+]] = %zero to %n step %one {
  // CHECK-NEXT:   scf.for [[J:%.+]] = %one to %n step %n {
  // CHECK-NEXT:     memref.store %x, %m[[[I]], [[J]]] : memref<?x?xf32>
  // CHECK-NEXT:   }
  // CHECK-NEXT: }
  "scf.parallel"(%zero, %one, %n, %n, %one, %n) <{operandSegmentSizes = array<i32: 2, 2, 2, 0>}> ({
  ^bb0(%i: index, %j: index):
    memref.store %x, %m[%i, %j] : memref<?x?xf32>
    scf.reduce
  }) : (index, index, index, index, index, index) -> ()
  // CHECK-NEXT: func.return
  func.return
}

// CHECK-LABEL: func.func @reduce
func.func @reduce(%m: memref<?x?xf32>, %n: index) -> (f32, index) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %start = arith.constant 0.0 : f32
  // CHECK:      [[R:%.+]], [[S:%.+]] = scf.for [[I:%.+]] = %zero to %n step %one iter_args([[A:%.+]] = %start, [[B:%.+]] = %zero) -> (f32, index) {
  // CHECK-NEXT:   [[R1:%.+]], [[S1:%.+]] = scf.for [[J:%.+]] = %zero to %n step %one iter_args([[C:%.+]] = [[A]], [[D:%.+]] = [[B]]) -> (f32, index) {
  // CHECK-NEXT:     [[X:%.+]] = memref.load %m[[[I]], [[J]]] : memref<?x?xf32>
  // CHECK-NEXT:     [[E:%.+]] = arith.addf [[C]], [[X]] : f32
  // CHECK-NEXT:     [[F:%.+]] = arith.maxsi [[D]], [[J]] : index
  // CHECK-NEXT:     scf.yield [[E]], [[F]] : f32, index
  // CHECK-NEXT:   }
  // CHECK-NEXT:   scf.yield [[R1]], [[S1]] : f32, index
  // CHECK-NEXT: }
  // CHECK-NEXT: func.return [[R]], [[S]] : f32, index
  %sum, %last = "scf.parallel"(%zero, %zero, %n, %n, %one, %one, %start, %zero)
      <{operandSegmentSizes = array<i32: 2, 2, 2, 2>}> ({
  ^bb0(%i: index, %j: index):
    %x = memref.load %m[%i, %j] : memref<?x?xf32>
    "scf.reduce"(%x, %j) ({
    ^bb0(%lhs: f32, %rhs: f32):
      %s = arith.addf %lhs, %rhs : f32
      scf.reduce.return %s : f32
    }, {
    ^bb0(%lhs: index, %rhs: index):
      %s = arith.maxsi %lhs, %rhs : index
      scf.reduce.return %s : index
    }) : (f32, index) -> ()
  }) : (index, index, index, index, index, index, f32, index) -> (f32, index)
  func.return %sum, %last : f32, index
}
