// RUN: relex-opt %s -p "set-target{triple=x86_64-unknown-linux-gnu cpu=x86-64-v3 features=+avx2},split-reductions" | filecheck %s
// RUN: relex-opt %s -p "set-target{triple=x86_64-unknown-linux-gnu cpu=x86-64-v3 features=+avx2},split-reductions,split-reductions" | filecheck %s
// RUN: relex-opt %s -p split-reductions | filecheck %s --check-prefix=UNKNOWN

// Without a target, nothing is known about times.
// UNKNOWN-NOT: tir.alloc_buffer

// One sum becomes sixteen, each a separate reduction.
// CHECK-LABEL: tir.prim_func @all(
// CHECK:         %Y_rf = tir.alloc_buffer : memref<16xf32>
// CHECK-NEXT:    tir.for %k0 @k_0, %k1 @k_1, %l @l in (16, 250, 1000) {
// CHECK-NEXT:      tir.block @Y_rf (%vk0: spatial<16> = %k0, %vk1: reduce<250> = %k1, %vl: reduce<1000> = %l) {
// CHECK-NEXT:        tir.init {
// CHECK-NEXT:          arith.constant -0.000000e+00 : f32
// CHECK-NEXT:          memref.store %{{.*}}, %Y_rf[%vk0] : memref<16xf32>
// CHECK:           memref.store %{{.*}}, %Y_rf[%vk0] : memref<16xf32>
// CHECK:         tir.for %k0_rf @k_0_rf in (16) {
// CHECK-NEXT:      tir.block @Y (%vk0_1: reduce<16> = %k0_rf) {
// CHECK-NEXT:        tir.init {
// CHECK-NOT:     tir.alloc_buffer
tir.prim_func @all(%X: memref<4000x1000xf32>) outs(%Y: memref<1xf32>) attributes {tir.noalias} {
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  tir.for %k @k, %l @l in (4000, 1000) {
    tir.block @Y (%v: spatial<1> = %c0, %vk: reduce<4000> = %k, %vl: reduce<1000> = %l) {
      tir.init {
        memref.store %zero, %Y[%v] : memref<1xf32>
      }
      %s = memref.load %Y[%v] : memref<1xf32>
      %x = memref.load %X[%vk, %vl] : memref<4000x1000xf32>
      %t = arith.addf %s, %x fastmath<reassoc> : f32
      memref.store %t, %Y[%v] : memref<1xf32>
    }
  }
}

// Columns: threads can share the rows of the matrix.
// CHECK-LABEL: tir.prim_func @columns(
// CHECK:         %Y_rf = tir.alloc_buffer : memref<16x1000xf32>
// CHECK-NEXT:    tir.for %k0 @k_0, %j @j, %k1 @k_1 in (16, 1000, 250) {
tir.prim_func @columns(%X: memref<4000x1000xf32>) outs(%Y: memref<1000xf32>) attributes {tir.noalias} {
  %zero = arith.constant 0.0 : f32
  tir.for %j @j, %k @k in (1000, 4000) {
    tir.block @Y (%vj: spatial<1000> = %j, %vk: reduce<4000> = %k) {
      tir.init {
        memref.store %zero, %Y[%vj] : memref<1000xf32>
      }
      %s = memref.load %Y[%vj] : memref<1000xf32>
      %x = memref.load %X[%vk, %vj] : memref<4000x1000xf32>
      %t = arith.addf %s, %x fastmath<reassoc> : f32
      memref.store %t, %Y[%vj] : memref<1000xf32>
    }
  }
}

// A vector times a matrix: each element of the matrix is used once.
// CHECK-LABEL: tir.prim_func @vector(
// CHECK:         %Y_rf = tir.alloc_buffer : memref<16x1x1000xf32>
// CHECK-NEXT:    tir.for %k0 @k_0, %i @i, %j @j, %k1 @k_1 in (16, 1, 1000, 250) {
tir.prim_func @vector(%V: memref<1x4000xf32>, %X: memref<4000x1000xf32>) outs(%Y: memref<1x1000xf32>) attributes {tir.noalias} {
  %zero = arith.constant 0.0 : f32
  tir.for %i @i, %j @j, %k @k in (1, 1000, 4000) {
    tir.block @Y (%vi: spatial<1> = %i, %vj: spatial<1000> = %j, %vk: reduce<4000> = %k) {
      tir.init {
        memref.store %zero, %Y[%vi, %vj] : memref<1x1000xf32>
      }
      %s = memref.load %Y[%vi, %vj] : memref<1x1000xf32>
      %v = memref.load %V[%vi, %vk] : memref<1x4000xf32>
      %x = memref.load %X[%vk, %vj] : memref<4000x1000xf32>
      %p = arith.mulf %v, %x : f32
      %t = arith.addf %s, %p fastmath<reassoc> : f32
      memref.store %t, %Y[%vi, %vj] : memref<1x1000xf32>
    }
  }
}

// Two rows, which both use each element.
// CHECK-LABEL: tir.prim_func @two_rows(
// CHECK-NOT:     tir.alloc_buffer
tir.prim_func @two_rows(%V: memref<2x4000xf32>, %X: memref<4000x1000xf32>) outs(%Y: memref<2x1000xf32>) attributes {tir.noalias} {
  %zero = arith.constant 0.0 : f32
  tir.for %i @i, %j @j, %k @k in (2, 1000, 4000) {
    tir.block @Y (%vi: spatial<2> = %i, %vj: spatial<1000> = %j, %vk: reduce<4000> = %k) {
      tir.init {
        memref.store %zero, %Y[%vi, %vj] : memref<2x1000xf32>
      }
      %s = memref.load %Y[%vi, %vj] : memref<2x1000xf32>
      %v = memref.load %V[%vi, %vk] : memref<2x4000xf32>
      %x = memref.load %X[%vk, %vj] : memref<4000x1000xf32>
      %p = arith.mulf %v, %x : f32
      %t = arith.addf %s, %p fastmath<reassoc> : f32
      memref.store %t, %Y[%vi, %vj] : memref<2x1000xf32>
    }
  }
}

// Rows, which threads can share as they are.
// CHECK-LABEL: tir.prim_func @rows(
// CHECK-NOT:     tir.alloc_buffer
tir.prim_func @rows(%X: memref<4000x1000xf32>) outs(%Y: memref<4000xf32>) attributes {tir.noalias} {
  %zero = arith.constant 0.0 : f32
  tir.for %j @j, %k @k in (4000, 1000) {
    tir.block @Y (%vj: spatial<4000> = %j, %vk: reduce<1000> = %k) {
      tir.init {
        memref.store %zero, %Y[%vj] : memref<4000xf32>
      }
      %s = memref.load %Y[%vj] : memref<4000xf32>
      %x = memref.load %X[%vj, %vk] : memref<4000x1000xf32>
      %t = arith.addf %s, %x fastmath<reassoc> : f32
      memref.store %t, %Y[%vj] : memref<4000xf32>
    }
  }
}

// A sum that keeps its order.
// CHECK-LABEL: tir.prim_func @ordered(
// CHECK-NOT:     tir.alloc_buffer
tir.prim_func @ordered(%X: memref<4000000xf32>) outs(%Y: memref<1xf32>) attributes {tir.noalias} {
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  tir.for %k @k in (4000000) {
    tir.block @Y (%v: spatial<1> = %c0, %vk: reduce<4000000> = %k) {
      tir.init {
        memref.store %zero, %Y[%v] : memref<1xf32>
      }
      %s = memref.load %Y[%v] : memref<1xf32>
      %x = memref.load %X[%vk] : memref<4000000xf32>
      %t = arith.addf %s, %x : f32
      memref.store %t, %Y[%v] : memref<1xf32>
    }
  }
}

// A short one.
// CHECK-LABEL: tir.prim_func @short(
// CHECK-NOT:     tir.alloc_buffer
tir.prim_func @short(%X: memref<4000xf32>) outs(%Y: memref<1xf32>) attributes {tir.noalias} {
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  tir.for %k @k in (4000) {
    tir.block @Y (%v: spatial<1> = %c0, %vk: reduce<4000> = %k) {
      tir.init {
        memref.store %zero, %Y[%v] : memref<1xf32>
      }
      %s = memref.load %Y[%v] : memref<1xf32>
      %x = memref.load %X[%vk] : memref<4000xf32>
      %t = arith.addf %s, %x fastmath<reassoc> : f32
      memref.store %t, %Y[%v] : memref<1xf32>
    }
  }
}
