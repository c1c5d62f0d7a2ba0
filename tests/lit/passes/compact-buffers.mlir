// RUN: relex-opt %s -p compact-buffers | filecheck %s
// RUN: relex-opt %s -p compact-buffers,compact-buffers | filecheck %s

// A row, and an element, of what one iteration uses.
// CHECK-LABEL: tir.prim_func @rows(
// CHECK-NEXT:    %c0
// CHECK-NEXT:    %c0
// CHECK-NEXT:    tir.for %i @i in (64) {
// CHECK-NEXT:      %T = tir.alloc_buffer : memref<1x100xf32>
// CHECK:             memref.store %e, %T[%c0, %vj] : memref<1x100xf32>
// CHECK:           %S = tir.alloc_buffer : memref<1xf32>
tir.prim_func @rows(%X: memref<64x100xf32>) outs(%Y: memref<64x100xf32>) attributes {tir.noalias} {
  %T = tir.alloc_buffer : memref<64x100xf32>
  %S = tir.alloc_buffer : memref<64xf32>
  %c0 = arith.constant 0 : index
  tir.for %i @i in (64) {
    tir.for %j @j in (100) {
      tir.block @T (%vi: spatial<64> = %i, %vj: spatial<100> = %j) {
        %x = memref.load %X[%vi, %vj] : memref<64x100xf32>
        %e = math.exp %x : f32
        memref.store %e, %T[%vi, %vj] : memref<64x100xf32>
      }
    }
    tir.for %k @k in (100) {
      tir.block @S (%vi: spatial<64> = %i, %vk: reduce<100> = %k) {
        tir.init {
          %zero = arith.constant 0.0 : f32
          memref.store %zero, %S[%vi] : memref<64xf32>
        }
        %t = memref.load %T[%vi, %vk] : memref<64x100xf32>
        %s = memref.load %S[%vi] : memref<64xf32>
        %n = arith.addf %s, %t : f32
        memref.store %n, %S[%vi] : memref<64xf32>
      }
    }
    tir.for %j @j1 in (100) {
      tir.block @Y (%vi: spatial<64> = %i, %vj: spatial<100> = %j) {
        %t = memref.load %T[%vi, %vj] : memref<64x100xf32>
        %s = memref.load %S[%vi] : memref<64xf32>
        %y = arith.divf %t, %s : f32
        memref.store %y, %Y[%vi, %vj] : memref<64x100xf32>
      }
    }
  }
}

// Rows that would not fit on the stack.
// CHECK-LABEL: tir.prim_func @long_rows(
// CHECK:         %T = tir.alloc_buffer : memref<64x10000xf32>
// CHECK:           %S = tir.alloc_buffer : memref<1xf32>
tir.prim_func @long_rows(%X: memref<64x10000xf32>) outs(%Y: memref<64x10000xf32>) attributes {tir.noalias} {
  %T = tir.alloc_buffer : memref<64x10000xf32>
  %S = tir.alloc_buffer : memref<64xf32>
  %c0 = arith.constant 0 : index
  tir.for %i @i in (64) {
    tir.for %j @j in (10000) {
      tir.block @T (%vi: spatial<64> = %i, %vj: spatial<10000> = %j) {
        %x = memref.load %X[%vi, %vj] : memref<64x10000xf32>
        %e = math.exp %x : f32
        memref.store %e, %T[%vi, %vj] : memref<64x10000xf32>
      }
    }
    tir.for %k @k in (10000) {
      tir.block @S (%vi: spatial<64> = %i, %vk: reduce<10000> = %k) {
        tir.init {
          %zero = arith.constant 0.0 : f32
          memref.store %zero, %S[%vi] : memref<64xf32>
        }
        %t = memref.load %T[%vi, %vk] : memref<64x10000xf32>
        %s = memref.load %S[%vi] : memref<64xf32>
        %n = arith.addf %s, %t : f32
        memref.store %n, %S[%vi] : memref<64xf32>
      }
    }
    tir.for %j @j1 in (10000) {
      tir.block @Y (%vi: spatial<64> = %i, %vj: spatial<10000> = %j) {
        %t = memref.load %T[%vi, %vj] : memref<64x10000xf32>
        %s = memref.load %S[%vi] : memref<64xf32>
        %y = arith.divf %t, %s : f32
        memref.store %y, %Y[%vi, %vj] : memref<64x10000xf32>
      }
    }
  }
}

// Values carried from one iteration to the next.
// CHECK-LABEL: tir.prim_func @running_sum(
// CHECK-NEXT:    %S = tir.alloc_buffer : memref<1xf32>
// CHECK-NEXT:    %c0
tir.prim_func @running_sum(%X: memref<8xf32>) outs(%Y: memref<8xf32>) attributes {tir.noalias} {
  %S = tir.alloc_buffer : memref<1xf32>
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  memref.store %zero, %S[%c0] : memref<1xf32>
  tir.for %i in (8) {
    %x = memref.load %X[%i] : memref<8xf32>
    %s = memref.load %S[%c0] : memref<1xf32>
    %n = arith.addf %s, %x : f32
    memref.store %n, %S[%c0] : memref<1xf32>
    memref.store %n, %Y[%i] : memref<8xf32>
  }
}

// The iterations of a vectorized loop share a buffer with an element for each.
// CHECK-LABEL: tir.prim_func @vectorized(
// CHECK-NEXT:    %T = tir.alloc_buffer : memref<16xf32>
tir.prim_func @vectorized(%X: memref<16xf32>) outs(%Y: memref<16xf32>) attributes {tir.noalias} {
  %T = tir.alloc_buffer : memref<16xf32>
  tir.for vectorized %i in (16) {
    tir.block @T (%v: spatial<16> = %i) {
      %x = memref.load %X[%v] : memref<16xf32>
      memref.store %x, %T[%v] : memref<16xf32>
    }
    tir.block @Y (%v: spatial<16> = %i) {
      %t = memref.load %T[%v] : memref<16xf32>
      memref.store %t, %Y[%v] : memref<16xf32>
    }
  }
}
