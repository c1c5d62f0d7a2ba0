// The seeds' sequence on the perceptron whose dense layers a custom fusor has put into separate functions: operators
// to loop functions, then each group to one loop function.

// RUN: relex-opt %s -p legalize-ops -o %t.loops.mlir && filecheck %s --check-prefix=LOOPS --input-file %t.loops.mlir
// RUN: relex-opt %t.loops.mlir -p fuse-tir -o %t.fused.mlir && filecheck %s --check-prefix=FUSED --input-file %t.fused.mlir
// RUN: relex-opt %t.fused.mlir -p lower-call-tir,convert-tir-to-scf | filecheck %s --check-prefix=CORE

// The general fusor takes what the custom one left: the relu joins the dense layer before it.
// RUN: relex-opt %t.loops.mlir -p annotate-op-pattern,fuse-ops,fuse-tir | filecheck %s --check-prefix=BOTH

// LOOPS-LABEL: func.func @main(
// LOOPS:           %lv2 = relex.call @fused_dense_add0(%x, %w0, %b0)
// LOOPS-NEXT:      %lv3 = relex.call_tir @relu(%lv2)
// LOOPS-NEXT:      %lv6 = relex.call @fused_dense_add1(%lv3, %w1, %b1)
// LOOPS-LABEL: func.func private @fused_dense_add0(%x: tensor<1x784xf32>, %w: tensor<128x784xf32>, %b: tensor<128xf32>) -> tensor<1x128xf32> attributes {relex.primitive} {
// LOOPS-NEXT:      %lv1 = relex.call_tir @dense(%x, %w)
// LOOPS-NEXT:      %gv = relex.call_tir @add(%lv1, %b)
// LOOPS-LABEL: func.func private @fused_dense_add1(
// LOOPS-NEXT:      %lv1 = relex.call_tir @dense1(%x, %w)
// LOOPS-NEXT:      %gv = relex.call_tir @add1(%lv1, %b)
// LOOPS:       tir.prim_func private @relu(
// LOOPS:       tir.prim_func private @dense(
// LOOPS:       tir.prim_func private @add(
// LOOPS:       tir.prim_func private @dense1(
// LOOPS:       tir.prim_func private @add1(

// FUSED-LABEL: func.func @main(
// FUSED:           %lv2 = relex.call_tir @fused_dense_add0(%x, %w0, %b0) : (tensor<1x784xf32>, tensor<128x784xf32>, tensor<128xf32>) -> tensor<1x128xf32>
// FUSED-NEXT:      %lv3 = relex.call_tir @relu(%lv2)
// FUSED-NEXT:      %lv6 = relex.call_tir @fused_dense_add1(%lv3, %w1, %b1)
// FUSED-LABEL: tir.prim_func private @fused_dense_add0(%x: memref<1x784xf32>, %w: memref<128x784xf32>, %b: memref<128xf32>) outs(%add: memref<1x128xf32>) attributes {tir.noalias} {
// FUSED-NEXT:    %dense = tir.alloc_buffer : memref<1x128xf32>
// FUSED-NEXT:    tir.for %i0 @i0, %i1 @i1, %k @k in (1, 128, 784) {
// FUSED-NEXT:      tir.block @dense (%vi0: spatial<1> = %i0, %vi1: spatial<128> = %i1, %vk: reduce<784> = %k) {
// FUSED-NEXT:        tir.init {
// FUSED:             memref.load %dense[%vi0, %vi1]
// FUSED-NEXT:        memref.load %x[%vi0, %vk]
// FUSED-NEXT:        memref.load %w[%vi1, %vk]
// FUSED:             memref.store %{{.+}}, %dense[%vi0, %vi1]
// FUSED:         tir.for %i0_1 @i01, %i1_1 @i11 in (1, 128) {
// FUSED-NEXT:      tir.block @add (%vi0_1: spatial<1> = %i0_1, %vi1_1: spatial<128> = %i1_1) {
// FUSED-NEXT:        memref.load %dense[%vi0_1, %vi1_1]
// FUSED-NEXT:        memref.load %b[%vi1_1]
// FUSED:             memref.store %{{.+}}, %add[%vi0_1, %vi1_1]
// FUSED-LABEL: tir.prim_func private @fused_dense_add1(%x: memref<1x128xf32>, %w: memref<10x128xf32>, %b: memref<10xf32>) outs(%add: memref<1x10xf32>)
// FUSED-NEXT:    %dense = tir.alloc_buffer : memref<1x10xf32>
// FUSED-NOT:   @dense(
// FUSED-NOT:   @add(
// FUSED:       tir.prim_func private @relu(

// CORE-LABEL:  func.func @main(
// CORE:          func.call @fused_dense_add0(
// CORE:          func.call @relu(
// CORE:          func.call @fused_dense_add1(

// BOTH-LABEL:  func.func @main(
// BOTH:            %lv3 = relex.call_tir @fused_dense_add_relu(%x, %w0, %b0)
// BOTH-NEXT:       %lv6 = relex.call_tir @fused_dense_add1(%lv3, %w1, %b1)
// BOTH-NEXT:       relex.output %lv6

func.func @main(%x: tensor<1x784xf32>, %w0: tensor<128x784xf32>, %b0: tensor<128xf32>,
                %w1: tensor<10x128xf32>, %b1: tensor<10xf32>) -> tensor<1x10xf32> {
  %gv = relex.dataflow -> tensor<1x10xf32> {
    %lv2 = relex.call @fused_dense_add0(%x, %w0, %b0)
        : (tensor<1x784xf32>, tensor<128x784xf32>, tensor<128xf32>) -> tensor<1x128xf32>
    %lv3 = relex.relu %lv2 : (tensor<1x128xf32>) -> tensor<1x128xf32>
    %lv6 = relex.call @fused_dense_add1(%lv3, %w1, %b1)
        : (tensor<1x128xf32>, tensor<10x128xf32>, tensor<10xf32>) -> tensor<1x10xf32>
    relex.output %lv6 : tensor<1x10xf32>
  }
  func.return %gv : tensor<1x10xf32>
}
func.func private @fused_dense_add0(%x: tensor<1x784xf32>, %w: tensor<128x784xf32>, %b: tensor<128xf32>)
    -> tensor<1x128xf32> attributes {relex.primitive} {
  %lv1 = relex.dense %x, %w : (tensor<1x784xf32>, tensor<128x784xf32>) -> tensor<1x128xf32>
  %gv = relex.add %lv1, %b : (tensor<1x128xf32>, tensor<128xf32>) -> tensor<1x128xf32>
  func.return %gv : tensor<1x128xf32>
}
func.func private @fused_dense_add1(%x: tensor<1x128xf32>, %w: tensor<10x128xf32>, %b: tensor<10xf32>)
    -> tensor<1x10xf32> attributes {relex.primitive} {
  %lv1 = relex.dense %x, %w : (tensor<1x128xf32>, tensor<10x128xf32>) -> tensor<1x10xf32>
  %gv = relex.add %lv1, %b : (tensor<1x10xf32>, tensor<10xf32>) -> tensor<1x10xf32>
  func.return %gv : tensor<1x10xf32>
}
