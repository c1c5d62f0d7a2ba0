// The rows of a matrix, as many as the product of two dynamic sizes, are found without looking at its columns.

// RUN: relex-opt %s -p legalize-ops | filecheck %s

// CHECK-LABEL: tir.prim_func private @reshape(
// CHECK-NEXT: %c0 = arith.constant 0 : index
// CHECK-NEXT: %x_d0 = memref.dim %x, %c0
// CHECK-NEXT: %c1 = arith.constant 1 : index
// CHECK-NEXT: %x_d1 = memref.dim %x, %c1
// CHECK: tir.block @reshape (%vi0: {{.*}}, %vi1: {{.*}}) {
// CHECK-NEXT: %[[outer:.*]] = arith.divui %vi0, %x_d1 : index
// CHECK-NEXT: %[[inner:.*]] = arith.remui %vi0, %x_d1 : index
// CHECK-NEXT: memref.load %x[%[[outer]], %[[inner]], %vi1] : memref<?x?x256xf32>
func.func @main(%x: tensor<?x?x256xf32>) -> tensor<?x256xf32> {
  %0 = relex.reshape %x shape = [-1, 256] : (tensor<?x?x256xf32>) -> tensor<?x256xf32>
  func.return %0 : tensor<?x256xf32>
}
