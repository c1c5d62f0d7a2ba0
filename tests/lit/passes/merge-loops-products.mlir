// Products of what another product computed, such as in attention.

// RUN: relex-opt %s -p "set-target{triple=x86_64-unknown-linux-gnu cpu=skylake-avx512 features=+avx512f},merge-loops,compact-buffers" | filecheck %s
// RUN: relex-opt %s -p "merge-loops,compact-buffers" | filecheck %s --check-prefix=ANY
// RUN: relex-opt %s -p "set-target{triple=x86_64-unknown-linux-gnu cpu=skylake-avx512 features=+avx512f},merge-loops,compact-buffers" --check-each > /dev/null

// A row of %S is used as soon as it is complete. What packs panels comes first. Without a target, nothing is known about
// caches.
// CHECK-LABEL: tir.prim_func @rows(
// CHECK-NOT:     memref<3x5x64xf32>
// CHECK:         tir.block @P
// CHECK:         tir.for %{{.+}} @b, %{{.+}} @i in (3, 5) {
// CHECK-NEXT:      %S = tir.alloc_buffer : memref<1x1x64xf32>
// CHECK-NEXT:      tir.for %{{.+}} @j, %{{.+}} @k in (64, 4) {
// CHECK:           tir.for %{{.+}} @l2, %{{.+}} @j2 in (4, 64) {
// ANY-LABEL:   tir.prim_func @rows(
// ANY:           tir.block @S
// ANY:           tir.block @P
// ANY:           tir.for %{{.+}} @b2, %{{.+}} @i2
tir.prim_func @rows(%A: memref<3x5x4xf32>, %B: memref<3x4x64xf32>, %C: memref<3x64x4xf32>) outs(%Z: memref<3x5x4xf32>) attributes {tir.noalias} {
  %c2 = arith.constant 2 : index
  %zero = arith.constant 0.0 : f32
  %S = tir.alloc_buffer : memref<3x5x64xf32>
  tir.for %b @b, %i @i, %j @j, %k @k in (3, 5, 64, 4) {
    tir.block @S (%vb: spatial<3> = %b, %vi: spatial<5> = %i, %vj: spatial<64> = %j, %vk: reduce<4> = %k) {
      tir.init {
        memref.store %zero, %S[%vb, %vi, %vj] : memref<3x5x64xf32>
      }
      %s = memref.load %S[%vb, %vi, %vj] : memref<3x5x64xf32>
      %x = memref.load %A[%vb, %vi, %vk] : memref<3x5x4xf32>
      %y = memref.load %B[%vb, %vk, %vj] : memref<3x4x64xf32>
      %p = arith.mulf %x, %y : f32
      %t = arith.addf %s, %p fastmath<reassoc> : f32
      memref.store %t, %S[%vb, %vi, %vj] : memref<3x5x64xf32>
    }
  }
  %P = tir.alloc_buffer : memref<2x3x64x2xf32>
  tir.for %h @h, %b @b1, %j @j1, %l @l in (2, 3, 64, 2) {
    %0 = arith.muli %h, %c2 : index
    %1 = arith.addi %0, %l : index
    tir.block @P (%vb: spatial<3> = %b, %vj: spatial<64> = %j, %v: spatial<4> = %1) {
      %x = memref.load %C[%vb, %vj, %v] : memref<3x64x4xf32>
      %panel = arith.divsi %v, %c2 : index
      %column = arith.remsi %v, %c2 : index
      memref.store %x, %P[%panel, %vb, %vj, %column] : memref<2x3x64x2xf32>
    }
  }
  tir.for %b @b2, %i @i2, %l @l2, %j @j2 in (3, 5, 4, 64) {
    tir.block @Z (%vb: spatial<3> = %b, %vi: spatial<5> = %i, %vl: spatial<4> = %l, %vj: reduce<64> = %j) {
      tir.init {
        memref.store %zero, %Z[%vb, %vi, %vl] : memref<3x5x4xf32>
      }
      %panel = arith.divsi %vl, %c2 : index
      %column = arith.remsi %vl, %c2 : index
      %z = memref.load %Z[%vb, %vi, %vl] : memref<3x5x4xf32>
      %x = memref.load %S[%vb, %vi, %vj] : memref<3x5x64xf32>
      %y = memref.load %P[%panel, %vb, %vj, %column] : memref<2x3x64x2xf32>
      %p = arith.mulf %x, %y : f32
      %t = arith.addf %z, %p fastmath<reassoc> : f32
      memref.store %t, %Z[%vb, %vi, %vl] : memref<3x5x4xf32>
    }
  }
}

