// A program gives the same result on every level.

// RUN: python -c "import numpy as np; np.save('%t.x.npy', np.float32([[1, -2, 3]])); np.save('%t.w.npy', np.float32([[1, 2, 3], [4, 5, 6]]))"
// RUN: relex-run %s --input %t.x.npy --input %t.w.npy --level graph | filecheck %s
// RUN: relex-run %s --input %t.x.npy --input %t.w.npy --level loops | filecheck %s
// RUN: relex-run %s --input %t.x.npy --input %t.w.npy --level core --strict | filecheck %s
// RUN: relex-run %s --input %t.x.npy --input %t.w.npy --level native | filecheck %s
// RUN: relex-run %s --input %t.x.npy --input %t.w.npy --level loops --checked | filecheck %s
// RUN: relex-run %s --input %t.x.npy --input %t.w.npy --level core --checked | filecheck %s
// CHECK:     {{\[\[}} 6., 12.]]
// CHECK-NOT: {{.}}

// A checked run stops where two iterations of a parallel loop write one element.
// RUN: relex-run %s --entry last --input %t.w.npy --level loops | filecheck %s --check-prefix=LAST
// LAST: 6.
// RUN: not relex-run %s --entry last --input %t.w.npy --level loops --checked 2>&1 | filecheck %s --check-prefix=RACE
// RACE:      relex-run-level.mlir:{{[0-9]+}}:5: error: 'memref.store' op expected one iteration of the parallel loop in line {{[0-9]+}} to write an element, found %Y[] written at %j = 0 and at %j = 1
// RACE-NEXT: memref.store

// RUN: not relex-run %s --level machine 2>&1 | filecheck %s --check-prefix=LEVEL
// LEVEL: argument --level: invalid choice: 'machine'
// RUN: not relex-run %s --checked 2>&1 | filecheck %s --check-prefix=NATIVE
// NATIVE: relex-run: error: expected --level graph, loops or core with --checked: native code is not checked

func.func @main(%x: tensor<1x3xf32>, %w: tensor<2x3xf32>) -> tensor<1x2xf32> {
  %y = relex.dense %x, %w : (tensor<1x3xf32>, tensor<2x3xf32>) -> tensor<1x2xf32>
  %z = relex.relu %y : (tensor<1x2xf32>) -> tensor<1x2xf32>
  func.return %z : tensor<1x2xf32>
}

tir.prim_func @last(%X: memref<2x3xf32>) outs(%Y: memref<f32>) {
  %c1 = arith.constant 1 : index
  tir.for parallel %j in (3) {
    %x = memref.load %X[%c1, %j] : memref<2x3xf32>
    memref.store %x, %Y[] : memref<f32>
  }
}
