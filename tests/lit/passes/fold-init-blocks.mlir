// RUN: relex-opt %s -p fold-init-blocks --check-each --split-input-file | filecheck %s
// RUN: relex-opt %s -p fold-init-blocks,fold-init-blocks --split-input-file | filecheck %s

// CHECK-LABEL: @sum
// CHECK-NOT:     @zero
// CHECK:         tir.block @Y (%vi: spatial<8> = %i, %vk: reduce<4> = %k) {
// CHECK-NEXT:      tir.init {
// CHECK-NEXT:        memref.store %zero, %Y[%vi] : memref<8xf32>
// CHECK-NEXT:      }
// CHECK-NEXT:      %y = memref.load
tir.prim_func @sum(%X: memref<8x4xf32>) outs(%Y: memref<8xf32>) attributes {tir.noalias} {
  %zero = arith.constant 0.0 : f32
  tir.for %i in (8) {
    tir.block @zero (%vi: spatial<8> = %i) {
      memref.store %zero, %Y[%vi] : memref<8xf32>
    }
  }
  tir.for %i, %k in (8, 4) {
    tir.block @Y (%vi: spatial<8> = %i, %vk: reduce<4> = %k) {
      %y = memref.load %Y[%vi] : memref<8xf32>
      %x = memref.load %X[%vi, %vk] : memref<8x4xf32>
      %s = arith.addf %y, %x : f32
      memref.store %s, %Y[%vi] : memref<8xf32>
    }
  }
}

// -----

// In the loops around the reduction; with what is read elsewhere, in the reduction's own variables. What comes between
// has nothing to do with it.
// CHECK-LABEL: @in_loops
// CHECK:         tir.for %i
// CHECK:           tir.block @B
// CHECK-NOT:       @first
// CHECK:           tir.block @Y (%vi_1: spatial<8> = %i, %vk: reduce<4> = %k) {
// CHECK-NEXT:        tir.init {
// CHECK-NEXT:          %[[B:.+]] = memref.load %B[%vi_1] : memref<8xf32>
// CHECK-NEXT:          %[[N:.+]] = arith.negf %[[B]] : f32
// CHECK-NEXT:          memref.store %[[N]], %Y[%vi_1] : memref<8xf32>
tir.prim_func @in_loops(%X: memref<8x4xf32>, %B: memref<8xf32>) outs(%Y: memref<8xf32>, %Z: memref<8xf32>) attributes {tir.noalias} {
  tir.for %i in (8) {
    tir.block @first (%vi: spatial<8> = %i) {
      %b = memref.load %B[%vi] : memref<8xf32>
      %n = arith.negf %b : f32
      memref.store %n, %Y[%vi] : memref<8xf32>
    }
    tir.block @B (%vi: spatial<8> = %i) {
      %b = memref.load %B[%vi] : memref<8xf32>
      memref.store %b, %Z[%vi] : memref<8xf32>
    }
    tir.for %k in (4) {
      tir.block @Y (%vi: spatial<8> = %i, %vk: reduce<4> = %k) {
        %y = memref.load %Y[%vi] : memref<8xf32>
        %x = memref.load %X[%vi, %vk] : memref<8x4xf32>
        %s = arith.addf %y, %x : f32
        memref.store %s, %Y[%vi] : memref<8xf32>
      }
    }
  }
}

// -----

// Loops in other orders, dimensions of the same fixed index, sizes that are only known at run time, and a local buffer:
// nobody else can have it. Only the first of two reductions is initialized.
// CHECK-LABEL: @dynamic
// CHECK-NOT:     @zero
// CHECK:         tir.block @T (%vk: reduce<%n> = %k, %vj: spatial<4> = %j, %vi: spatial<%m> = %i) {
// CHECK-NEXT:      tir.init {
// CHECK-NEXT:        memref.store %zero, %T[%c0, %vi, %vj] : memref<1x?x4xf32>
// CHECK:         tir.block @more
// CHECK-NOT:       tir.init
tir.prim_func @dynamic(%X: memref<?x?xf32>) outs(%Y: memref<?x4xf32>) {
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %m = memref.dim %X, %c0 : memref<?x?xf32>
  %n = memref.dim %X, %c1 : memref<?x?xf32>
  %T = tir.alloc_buffer sizes(%m) : memref<1x?x4xf32>
  tir.for %j, %i in (4, %m) {
    tir.block @zero (%vj: spatial<4> = %j, %vi: spatial<%m> = %i) {
      memref.store %zero, %T[%c0, %vi, %vj] : memref<1x?x4xf32>
    }
  }
  tir.for %k, %i, %j in (%n, %m, 4) {
    tir.block @T (%vk: reduce<%n> = %k, %vj: spatial<4> = %j, %vi: spatial<%m> = %i) {
      %y = memref.load %T[%c0, %vi, %vj] : memref<1x?x4xf32>
      %x = memref.load %X[%vi, %vk] : memref<?x?xf32>
      %s = arith.addf %y, %x : f32
      memref.store %s, %T[%c0, %vi, %vj] : memref<1x?x4xf32>
    }
  }
  tir.for %k, %i, %j in (%n, %m, 4) {
    tir.block @more (%vk: reduce<%n> = %k, %vj: spatial<4> = %j, %vi: spatial<%m> = %i) {
      %y = memref.load %T[%c0, %vi, %vj] : memref<1x?x4xf32>
      %x = memref.load %X[%vi, %vk] : memref<?x?xf32>
      %s = arith.addf %y, %x : f32
      memref.store %s, %T[%c0, %vi, %vj] : memref<1x?x4xf32>
    }
  }
  tir.for %i, %j in (%m, 4) {
    tir.block @Y (%vi: spatial<%m> = %i, %vj: spatial<4> = %j) {
      %t = memref.load %T[%c0, %vi, %vj] : memref<1x?x4xf32>
      memref.store %t, %Y[%vi, %vj] : memref<?x4xf32>
    }
  }
}

// -----

// Fewer elements are updated than initialized.
// CHECK-LABEL: @fewer
// CHECK:         tir.block @zero
// CHECK-NOT:     tir.init
tir.prim_func @fewer(%X: memref<8x4xf32>) outs(%Y: memref<8xf32>) attributes {tir.noalias} {
  %zero = arith.constant 0.0 : f32
  tir.for %i in (8) {
    tir.block @zero (%vi: spatial<8> = %i) {
      memref.store %zero, %Y[%vi] : memref<8xf32>
    }
  }
  tir.for %i, %k in (7, 4) {
    tir.block @Y (%vi: spatial<7> = %i, %vk: reduce<4> = %k) {
      %y = memref.load %Y[%vi] : memref<8xf32>
      %x = memref.load %X[%vi, %vk] : memref<8x4xf32>
      %s = arith.addf %y, %x : f32
      memref.store %s, %Y[%vi] : memref<8xf32>
    }
  }
}

// -----

// The diagonal is updated, everything is initialized.
// CHECK-LABEL: @diagonal
// CHECK:         tir.block @zero
// CHECK-NOT:     tir.init
tir.prim_func @diagonal(%X: memref<8x4xf32>) outs(%Y: memref<8x8xf32>) attributes {tir.noalias} {
  %zero = arith.constant 0.0 : f32
  tir.for %i, %j in (8, 8) {
    tir.block @zero (%vi: spatial<8> = %i, %vj: spatial<8> = %j) {
      memref.store %zero, %Y[%vi, %vj] : memref<8x8xf32>
    }
  }
  tir.for %i, %k in (8, 4) {
    tir.block @Y (%vi: spatial<8> = %i, %vk: reduce<4> = %k) {
      %y = memref.load %Y[%vi, %vi] : memref<8x8xf32>
      %x = memref.load %X[%vi, %vk] : memref<8x4xf32>
      %s = arith.addf %y, %x : f32
      memref.store %s, %Y[%vi, %vi] : memref<8x8xf32>
    }
  }
}

// -----

// Somebody reads the zeros.
// CHECK-LABEL: @read_before
// CHECK:         tir.block @zero
// CHECK-NOT:     tir.init
tir.prim_func @read_before(%X: memref<8x4xf32>) outs(%Y: memref<8xf32>, %Z: memref<8xf32>) attributes {tir.noalias} {
  %zero = arith.constant 0.0 : f32
  tir.for %i in (8) {
    tir.block @zero (%vi: spatial<8> = %i) {
      memref.store %zero, %Y[%vi] : memref<8xf32>
    }
  }
  tir.for %i in (8) {
    tir.block @Z (%vi: spatial<8> = %i) {
      %y = memref.load %Y[%vi] : memref<8xf32>
      memref.store %y, %Z[%vi] : memref<8xf32>
    }
    tir.for %k in (4) {
      tir.block @Y (%vi: spatial<8> = %i, %vk: reduce<4> = %k) {
        %y = memref.load %Y[%vi] : memref<8xf32>
        %x = memref.load %X[%vi, %vk] : memref<8x4xf32>
        %s = arith.addf %y, %x : f32
        memref.store %s, %Y[%vi] : memref<8xf32>
      }
    }
  }
}

// -----

// Each step reads the zero of another element.
// CHECK-LABEL: @other_element
// CHECK:         tir.block @zero
// CHECK-NOT:     tir.init
tir.prim_func @other_element(%X: memref<8x4xf32>) outs(%Y: memref<8xf32>) attributes {tir.noalias} {
  %zero = arith.constant 0.0 : f32
  %c7 = arith.constant 7 : index
  tir.for %i in (8) {
    tir.block @zero (%vi: spatial<8> = %i) {
      memref.store %zero, %Y[%vi] : memref<8xf32>
    }
  }
  tir.for %i, %k in (8, 4) {
    tir.block @Y (%vi: spatial<8> = %i, %vk: reduce<4> = %k) {
      %y = memref.load %Y[%c7] : memref<8xf32>
      %x = memref.load %X[%vi, %vk] : memref<8x4xf32>
      %s = arith.addf %y, %x : f32
      memref.store %s, %Y[%vi] : memref<8xf32>
    }
  }
}

// -----

// What is read for the first value changes before the reduction.
// CHECK-LABEL: @changed
// CHECK:         tir.block @first
// CHECK-NOT:     tir.init
tir.prim_func @changed(%X: memref<8x4xf32>) outs(%Y: memref<8xf32>, %B: memref<8xf32>) attributes {tir.noalias} {
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f32
  tir.for %i in (8) {
    tir.block @B (%vi: spatial<8> = %i) {
      memref.store %one, %B[%vi] : memref<8xf32>
    }
  }
  tir.for %i in (8) {
    tir.block @first (%vi: spatial<8> = %i) {
      %b = memref.load %B[%vi] : memref<8xf32>
      memref.store %b, %Y[%vi] : memref<8xf32>
    }
  }
  tir.for %i in (8) {
    tir.block @B1 (%vi: spatial<8> = %i) {
      memref.store %zero, %B[%vi] : memref<8xf32>
    }
  }
  tir.for %i, %k in (8, 4) {
    tir.block @Y (%vi: spatial<8> = %i, %vk: reduce<4> = %k) {
      %y = memref.load %Y[%vi] : memref<8xf32>
      %x = memref.load %X[%vi, %vk] : memref<8x4xf32>
      %s = arith.addf %y, %x : f32
      memref.store %s, %Y[%vi] : memref<8xf32>
    }
  }
}

// -----

// Arguments may share memory: a sum could read what a later one has not set to zero yet.
// CHECK-LABEL: @may_alias
// CHECK:         tir.block @zero
// CHECK-NOT:     tir.init
tir.prim_func @may_alias(%X: memref<8xf32>) outs(%Y: memref<8xf32>) {
  %zero = arith.constant 0.0 : f32
  tir.for %i in (8) {
    tir.block @zero (%vi: spatial<8> = %i) {
      memref.store %zero, %Y[%vi] : memref<8xf32>
    }
  }
  tir.for %i, %k in (8, 8) {
    tir.block @Y (%vi: spatial<8> = %i, %vk: reduce<8> = %k) {
      %y = memref.load %Y[%vi] : memref<8xf32>
      %x = memref.load %X[%vk] : memref<8xf32>
      %s = arith.addf %y, %x : f32
      memref.store %s, %Y[%vi] : memref<8xf32>
    }
  }
}

// -----

// Each iteration of @s starts again; @r adds up over two loops, of which one is around both.
// CHECK-LABEL: @again
// CHECK:         tir.block @zero
// CHECK-NOT:     tir.init
// CHECK:         tir.block @zero_each
// CHECK-NOT:     tir.init
tir.prim_func @again(%X: memref<8x4xf32>) outs(%Y: memref<8xf32>, %Z: memref<8xf32>) attributes {tir.noalias} {
  %zero = arith.constant 0.0 : f32
  %c2 = arith.constant 2 : index
  tir.for %s in (3) {
    tir.for %i in (8) {
      tir.block @zero (%vi: spatial<8> = %i) {
        memref.store %zero, %Y[%vi] : memref<8xf32>
      }
    }
    tir.for %i, %k in (8, 4) {
      tir.block @Y (%vi: spatial<8> = %i, %vk: reduce<4> = %k) {
        %y = memref.load %Y[%vi] : memref<8xf32>
        %x = memref.load %X[%vi, %vk] : memref<8x4xf32>
        %s1 = arith.addf %y, %x : f32
        memref.store %s1, %Y[%vi] : memref<8xf32>
      }
    }
  }
  tir.for %r in (2) {
    tir.for %i in (8) {
      tir.block @zero_each (%vi: spatial<8> = %i) {
        memref.store %zero, %Z[%vi] : memref<8xf32>
      }
    }
    tir.for %i, %k in (8, 2) {
      %a = arith.muli %r, %c2 : index
      %b = arith.addi %a, %k : index
      tir.block @Z (%vi: spatial<8> = %i, %vk: reduce<4> = %b) {
        %y = memref.load %Z[%vi] : memref<8xf32>
        %x = memref.load %X[%vi, %vk] : memref<8x4xf32>
        %s1 = arith.addf %y, %x : f32
        memref.store %s1, %Z[%vi] : memref<8xf32>
      }
    }
  }
}

// -----

// Not for the loops that somebody has scheduled: vectorized ones, and a condition.
// CHECK-LABEL: @scheduled
// CHECK:         tir.block @zero
// CHECK-NOT:     tir.init
// CHECK:         tir.block @zero_some
// CHECK-NOT:     tir.init
tir.prim_func @scheduled(%X: memref<8x4xf32>) outs(%Y: memref<8xf32>, %Z: memref<8xf32>) attributes {tir.noalias} {
  %zero = arith.constant 0.0 : f32
  %c8 = arith.constant 8 : index
  tir.for vectorized %i in (8) {
    tir.block @zero (%vi: spatial<8> = %i) {
      memref.store %zero, %Y[%vi] : memref<8xf32>
    }
  }
  tir.for %i, %k in (8, 4) {
    tir.block @Y (%vi: spatial<8> = %i, %vk: reduce<4> = %k) {
      %y = memref.load %Y[%vi] : memref<8xf32>
      %x = memref.load %X[%vi, %vk] : memref<8x4xf32>
      %s = arith.addf %y, %x : f32
      memref.store %s, %Y[%vi] : memref<8xf32>
    }
  }
  tir.for %i in (9) {
    %inside = arith.cmpi slt, %i, %c8 : index
    scf.if %inside {
      tir.block @zero_some (%vi: spatial<8> = %i) {
        memref.store %zero, %Z[%vi] : memref<8xf32>
      }
    }
  }
  tir.for %i, %k in (8, 4) {
    tir.block @Z (%vi: spatial<8> = %i, %vk: reduce<4> = %k) {
      %y = memref.load %Z[%vi] : memref<8xf32>
      %x = memref.load %X[%vi, %vk] : memref<8x4xf32>
      %s = arith.addf %y, %x : f32
      memref.store %s, %Z[%vi] : memref<8xf32>
    }
  }
}

// -----

// A program that the default compilation has brought to this level is left as it is.
// CHECK-LABEL: @compiled
// CHECK:         tir.block @zero
// CHECK-NOT:     tir.init
tir.prim_func @compiled(%X: memref<8x4xf32>) outs(%Y: memref<8xf32>) attributes {tir.noalias, relex.signature = {inputs = [{name = "X", shape = [8 : i64, 4 : i64], element_type = "f32"}], outputs = [{name = "Y", shape = [8 : i64], element_type = "f32"}]}} {
  %zero = arith.constant 0.0 : f32
  tir.for %i in (8) {
    tir.block @zero (%vi: spatial<8> = %i) {
      memref.store %zero, %Y[%vi] : memref<8xf32>
    }
  }
  tir.for %i, %k in (8, 4) {
    tir.block @Y (%vi: spatial<8> = %i, %vk: reduce<4> = %k) {
      %y = memref.load %Y[%vi] : memref<8xf32>
      %x = memref.load %X[%vi, %vk] : memref<8x4xf32>
      %s = arith.addf %y, %x : f32
      memref.store %s, %Y[%vi] : memref<8xf32>
    }
  }
}
