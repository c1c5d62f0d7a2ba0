// RUN: relex-opt %s -p interchange-loops --check-each --split-input-file | filecheck %s
// RUN: relex-opt %s -p interchange-loops,interchange-loops --split-input-file | filecheck %s

// First the dimensions of the result, then those that only operands have, in their order.
// CHECK-LABEL: @conv
// CHECK:         tir.for %n, %c, %x, %r, %t in (2, 3, 6, 4, 5) {
// CHECK:           tir.block @Y (%vt: reduce<5> = %t, %vr: reduce<4> = %r, %vx: spatial<6> = %x, %vc: spatial<3> = %c, %vn: spatial<2> = %n) {
tir.prim_func @conv(%X: memref<2x4x10xf32>, %W: memref<3x4x5xf32>) outs(%Y: memref<2x3x6xf32>) attributes {tir.noalias} {
  %zero = arith.constant 0.0 : f32
  tir.for %t, %r, %x, %c, %n in (5, 4, 6, 3, 2) {
    tir.block @Y (%vt: reduce<5> = %t, %vr: reduce<4> = %r, %vx: spatial<6> = %x, %vc: spatial<3> = %c, %vn: spatial<2> = %n) {
      tir.init {
        memref.store %zero, %Y[%vn, %vc, %vx] : memref<2x3x6xf32>
      }
      %y = memref.load %Y[%vn, %vc, %vx] : memref<2x3x6xf32>
      %at = arith.addi %vx, %vt : index
      %a = memref.load %X[%vn, %vr, %at] : memref<2x4x10xf32>
      %w = memref.load %W[%vc, %vr, %vt] : memref<3x4x5xf32>
      %p = arith.mulf %a, %w fastmath<contract> : f32
      %s = arith.addf %y, %p fastmath<reassoc,contract> : f32
      memref.store %s, %Y[%vn, %vc, %vx] : memref<2x3x6xf32>
    }
  }
}

// -----

// Elementwise; a dimension of one fixed index has no loop. Loops of dynamic sizes.
// CHECK-LABEL: @transposed
// CHECK:         tir.for %i, %j in (%n, 4) {
// CHECK:           tir.block @Y
// CHECK:         tir.for %i_1, %j_1 in (%n, 4) {
// CHECK:           tir.block @Z
tir.prim_func @transposed(%X: memref<4x?xf32>) outs(%Y: memref<?x1x4xf32>, %Z: memref<?x4xf32>) attributes {tir.noalias} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %X, %c1 : memref<4x?xf32>
  tir.for %j, %i in (4, %n) {
    tir.block @Y (%vj: spatial<4> = %j, %vi: spatial<%n> = %i, %v1: spatial<1> = %c0) {
      %x = memref.load %X[%vj, %vi] : memref<4x?xf32>
      memref.store %x, %Y[%vi, %v1, %vj] : memref<?x1x4xf32>
    }
  }
  tir.for %i, %j in (%n, 4) {
    tir.block @Z (%vj: spatial<4> = %j, %vi: spatial<%n> = %i) {
      %x = memref.load %X[%vj, %vi] : memref<4x?xf32>
      memref.store %x, %Z[%vi, %vj] : memref<?x4xf32>
    }
  }
}

// -----

// The terms of a strict sum stay in their order, and so do the steps of a recurrence; loops of results change places.
// CHECK-LABEL: @strict
// CHECK:         tir.for %i, %k, %l in (5, 3, 4) {
// CHECK:           tir.block @Y
// CHECK:         tir.for %i_1, %k_1 in (5, 3) {
// CHECK:           tir.block @Z
tir.prim_func @strict(%X: memref<5x4x3xf32>) outs(%Y: memref<5xf32>, %Z: memref<5xf32>) attributes {tir.noalias} {
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  tir.for %k, %i, %l in (3, 5, 4) {
    tir.block @Y (%vk: reduce<3> = %k, %vi: spatial<5> = %i, %vl: reduce<4> = %l) {
      tir.init {
        memref.store %zero, %Y[%vi] : memref<5xf32>
      }
      %y = memref.load %Y[%vi] : memref<5xf32>
      %x = memref.load %X[%vi, %vl, %vk] : memref<5x4x3xf32>
      %s = arith.addf %y, %x : f32
      memref.store %s, %Y[%vi] : memref<5xf32>
    }
  }
  tir.for %k, %i in (3, 5) {
    tir.block @Z (%vk: reduce<3> = %k, %vi: spatial<5> = %i) {
      tir.init {
        memref.store %zero, %Z[%vi] : memref<5xf32>
      }
      %y = memref.load %Z[%vi] : memref<5xf32>
      %x = memref.load %X[%vi, %c0, %vk] : memref<5x4x3xf32>
      %p = arith.mulf %y, %x : f32
      %s = arith.addf %p, %x : f32
      memref.store %s, %Z[%vi] : memref<5xf32>
    }
  }
}

// -----

// Several blocks, split loops and scheduled loops: somebody chose their order.
// CHECK-LABEL: @chosen
// CHECK:         tir.for %j in (4) {
// CHECK-NEXT:      tir.for %i in (6) {
// CHECK:         tir.for %j_1, %i0, %i1 in (4, 2, 3) {
// CHECK:         tir.for %j_2, vectorized %i_2 in (4, 6) {
tir.prim_func @chosen(%X: memref<6x4xf32>) outs(%Y: memref<6x4xf32>, %Z: memref<6x4xf32>, %U: memref<6x4xf32>, %V: memref<4xf32>) attributes {tir.noalias} {
  %zero = arith.constant 0.0 : f32
  %c3 = arith.constant 3 : index
  tir.for %j in (4) {
    tir.for %i in (6) {
      tir.block @Y (%vj: spatial<4> = %j, %vi: spatial<6> = %i) {
        %x = memref.load %X[%vi, %vj] : memref<6x4xf32>
        memref.store %x, %Y[%vi, %vj] : memref<6x4xf32>
      }
    }
    tir.block @V (%vj: spatial<4> = %j) {
      memref.store %zero, %V[%vj] : memref<4xf32>
    }
  }
  tir.for %j, %i0, %i1 in (4, 2, 3) {
    %a = arith.muli %i0, %c3 : index
    %i = arith.addi %a, %i1 : index
    tir.block @Z (%vj: spatial<4> = %j, %vi: spatial<6> = %i) {
      %x = memref.load %X[%vi, %vj] : memref<6x4xf32>
      memref.store %x, %Z[%vi, %vj] : memref<6x4xf32>
    }
  }
  tir.for %j, vectorized %i in (4, 6) {
    tir.block @U (%vj: spatial<4> = %j, %vi: spatial<6> = %i) {
      %x = memref.load %X[%vi, %vj] : memref<6x4xf32>
      memref.store %x, %U[%vi, %vj] : memref<6x4xf32>
    }
  }
}
