// RUN: relex-opt %s -p legalize-ops | filecheck %s
// RUN: relex-opt %s -p legalize-ops | relex-opt | filecheck %s
// RUN: relex-opt %s -p legalize-ops{strict=true} | filecheck %s --check-prefix=STRICT

// CHECK-LABEL: func.func @two_layers
func.func @two_layers(%x: tensor<3x5xf32>, %w: tensor<7x5xf32>, %b: tensor<7xf32>, %v: tensor<7x7xf32>)
    -> tensor<3x7xf32> {
  // CHECK: relex.call_tir @dense(%x, %w) : (tensor<3x5xf32>, tensor<7x5xf32>) -> tensor<3x7xf32>
  %0 = relex.dense %x, %w : (tensor<3x5xf32>, tensor<7x5xf32>) -> tensor<3x7xf32>
  // CHECK: relex.call_tir @add(
  %1 = relex.add %0, %b : (tensor<3x7xf32>, tensor<7xf32>) -> tensor<3x7xf32>
  // CHECK: relex.call_tir @relu(
  %2 = relex.relu %1 : (tensor<3x7xf32>) -> tensor<3x7xf32>
  // Another shape is another function, the same shapes are the same function.
  // CHECK: relex.call_tir @dense1(
  %3 = relex.dense %2, %v : (tensor<3x7xf32>, tensor<7x7xf32>) -> tensor<3x7xf32>
  // CHECK: relex.call_tir @add(
  %4 = relex.add %3, %b : (tensor<3x7xf32>, tensor<7xf32>) -> tensor<3x7xf32>
  func.return %4 : tensor<3x7xf32>
}

// A name that is taken is left alone.
// CHECK-LABEL: func.func @subtract
func.func @subtract(%x: tensor<i32>, %y: tensor<i32>) -> tensor<i32> {
  // CHECK: relex.call_tir @subtract1(
  %0 = relex.subtract %x, %y : (tensor<i32>, tensor<i32>) -> tensor<i32>
  func.return %0 : tensor<i32>
}

// Operators inside of dataflow blocks and fused groups are lowered as well.
// CHECK-LABEL: func.func private @group
func.func private @group(%x: tensor<2xf64>) -> tensor<2xf64> attributes {relex.primitive} {
  // CHECK: relex.dataflow
  %0 = relex.dataflow -> tensor<2xf64> {
    // CHECK: relex.call_tir @ewise_fma(
    %1 = relex.ewise_fma %x, %x, %x : (tensor<2xf64>, tensor<2xf64>, tensor<2xf64>) -> tensor<2xf64>
    relex.output %1 : tensor<2xf64>
  }
  func.return %0 : tensor<2xf64>
}

// CHECK-LABEL: func.func @matrices
func.func @matrices(%a: tensor<2x1x3x4xf32>, %b: tensor<5x4x6xf32>) -> tensor<2x5x3x6xf32> {
  // CHECK: relex.call_tir @matmul(
  %0 = relex.matmul %a, %b : (tensor<2x1x3x4xf32>, tensor<5x4x6xf32>) -> tensor<2x5x3x6xf32>
  func.return %0 : tensor<2x5x3x6xf32>
}

// CHECK-LABEL: func.func @logic
func.func @logic(%a: tensor<2xi1>) -> tensor<2xi1> {
  %0 = relex.multiply %a, %a : (tensor<2xi1>, tensor<2xi1>) -> tensor<2xi1>
  func.return %0 : tensor<2xi1>
}

// CHECK-LABEL: tir.prim_func private @dense(%x: memref<3x5xf32>, %w: memref<7x5xf32>)
// CHECK-SAME:    outs(%dense: memref<3x7xf32>) attributes {tir.noalias} {
// CHECK-NEXT:    tir.for %i0 @i0, %i1 @i1, %k @k in (3, 7, 5) {
// CHECK-NEXT:      tir.block @dense (%vi0: spatial<3> = %i0, %vi1: spatial<7> = %i1, %vk: reduce<5> = %k) {
// CHECK-NEXT:        tir.init {
// CHECK:               memref.store %{{.+}}, %dense[%vi0, %vi1] : memref<3x7xf32>
// CHECK-NEXT:        }
// CHECK-NEXT:        [[Y:%.+]] = memref.load %dense[%vi0, %vi1] : memref<3x7xf32>
// CHECK-NEXT:        [[X:%.+]] = memref.load %x[%vi0, %vk] : memref<3x5xf32>
// CHECK-NEXT:        [[W:%.+]] = memref.load %w[%vi1, %vk] : memref<7x5xf32>
// CHECK-NEXT:        [[P:%.+]] = arith.mulf [[X]], [[W]] fastmath<contract> : f32
// CHECK-NEXT:        [[S:%.+]] = arith.addf [[Y]], [[P]] fastmath<reassoc,contract> : f32
// CHECK-NEXT:        memref.store [[S]], %dense[%vi0, %vi1] : memref<3x7xf32>

// Only sums are loose: the addition of the bias is exact.
// CHECK-LABEL: tir.prim_func private @add(
// CHECK:         [[B:%.+]] = memref.load %b[%vi1] : memref<7xf32>
// CHECK-NEXT:    arith.addf %{{.+}}, [[B]] : f32

// CHECK-LABEL: tir.prim_func private @subtract1(%a: memref<i32>, %b: memref<i32>) outs(%subtract: memref<i32>)
// CHECK:         tir.block @subtract () {
// CHECK:           arith.subi

// CHECK-LABEL: tir.prim_func private @ewise_fma(
// CHECK:         arith.mulf %{{.+}}, %{{.+}} : f64
// CHECK-NEXT:    memref.load
// CHECK-NEXT:    arith.addf %{{.+}}, %{{.+}} : f64

// CHECK-LABEL: tir.prim_func private @matmul(
// CHECK:         tir.for %i0 @i0, %i1 @i1, %i2 @i2, %i3 @i3, %k @k in (2, 5, 3, 6, 4) {
// CHECK:         memref.load %a[%vi0, %{{.+}}, %vi2, %vk] : memref<2x1x3x4xf32>
// CHECK:         memref.load %b[%vi1, %vk, %vi3] : memref<5x4x6xf32>

// CHECK-LABEL: tir.prim_func private @multiply(
// CHECK:         arith.andi

// STRICT-NOT: fastmath
