// RUN: relex-opt %s --load-passes %S/Inputs/my_legalizations.py -p legalize-ops | filecheck %s
// RUN: relex-opt %s --load-passes %S/Inputs/my_legalizations.py -p legalize-ops,legalize-ops | filecheck %s
// RUN: relex-opt %s -p legalize-ops | filecheck %s --check-prefix=TABLE

// What a file enters into the table comes in place of what was there, in fused groups as well; the rest stays.
// CHECK-LABEL: func.func @main
// CHECK-NEXT:    %0 = relex.call_tir @my_dense1(
// CHECK-NEXT:    %1 = relex.call_tir @my_dense1(
// CHECK-NEXT:    %2 = relex.call @group
// CHECK-NEXT:    %3 = relex.call_tir @add(
// CHECK-LABEL: func.func private @group
// CHECK:         relex.dataflow
// CHECK-NEXT:      relex.call_tir @my_dense2(
// CHECK-NEXT:      relex.call_tir @relu(
// CHECK-LABEL: func.func private @my_dense(
// CHECK-LABEL: tir.prim_func private @my_dense1(%x: memref<3x5xf32>, %w: memref<7x5xf32>) outs(%y: memref<3x7xf32>) {
// CHECK-NEXT:    %zero = arith.constant
// CHECK-NEXT:    tir.for %k, %j, %i in (5, 7, 3) {
// CHECK-LABEL: tir.prim_func private @add(
// CHECK-LABEL: tir.prim_func private @my_dense2(%x: memref<3x7xf32>
// CHECK-LABEL: tir.prim_func private @relu(%v: memref<3x7xf32>) outs(%leaky: memref<3x7xf32>)
// CHECK:         arith.select
// TABLE-NOT:     my_dense1
// TABLE-NOT:     leaky
func.func @main(%x: tensor<3x5xf32>, %w: tensor<7x5xf32>, %v: tensor<7x7xf32>) -> tensor<3x7xf32> {
  %0 = relex.dense %x, %w : (tensor<3x5xf32>, tensor<7x5xf32>) -> tensor<3x7xf32>
  %1 = relex.dense %x, %w : (tensor<3x5xf32>, tensor<7x5xf32>) -> tensor<3x7xf32>
  %2 = relex.call @group(%1, %v) : (tensor<3x7xf32>, tensor<7x7xf32>) -> tensor<3x7xf32>
  %3 = relex.add %0, %2 : (tensor<3x7xf32>, tensor<3x7xf32>) -> tensor<3x7xf32>
  func.return %3 : tensor<3x7xf32>
}
func.func private @group(%x: tensor<3x7xf32>, %w: tensor<7x7xf32>) -> tensor<3x7xf32> attributes {relex.primitive} {
  %r = relex.dataflow -> tensor<3x7xf32> {
    %0 = relex.dense %x, %w : (tensor<3x7xf32>, tensor<7x7xf32>) -> tensor<3x7xf32>
    %1 = relex.relu %0 : (tensor<3x7xf32>) -> tensor<3x7xf32>
    relex.output %1 : tensor<3x7xf32>
  }
  func.return %r : tensor<3x7xf32>
}
func.func private @my_dense()
