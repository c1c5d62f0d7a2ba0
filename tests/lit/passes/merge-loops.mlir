// RUN: relex-opt %s -p merge-loops --split-input-file | filecheck %s
// RUN: relex-opt %s -p merge-loops,merge-loops --split-input-file | filecheck %s

// What follows a product is done as soon as an element is complete; blocks and their variables stay.
// CHECK-LABEL: tir.prim_func @dense_bias(
// CHECK-NEXT:    %zero = arith.constant
// CHECK-NEXT:    %P = tir.alloc_buffer
// CHECK-NEXT:    %one = arith.constant
// CHECK-NEXT:    tir.for %i @i, %j @j in (3, 4) {
// CHECK-NEXT:      tir.for %k @k in (5) {
// CHECK-NEXT:        tir.block @P (%vi: spatial<3> = %i, %vj: spatial<4> = %j, %vk: reduce<5> = %k) {
// CHECK:           tir.block @Y (%vi_1: spatial<3> = %i, %vj_1: spatial<4> = %j) {
// CHECK:           tir.block @Z (%vi_2: spatial<3> = %i, %vj_2: spatial<4> = %j) {
// CHECK:       }
tir.prim_func @dense_bias(%X: memref<3x5xf32>, %W: memref<4x5xf32>) outs(%Y: memref<3x4xf32>, %Z: memref<3x4xf32>) attributes {tir.noalias} {
  %zero = arith.constant 0.0 : f32
  %P = tir.alloc_buffer : memref<3x4xf32>
  tir.for %i @i, %j @j, %k @k in (3, 4, 5) {
    tir.block @P (%vi: spatial<3> = %i, %vj: spatial<4> = %j, %vk: reduce<5> = %k) {
      tir.init {
        memref.store %zero, %P[%vi, %vj] : memref<3x4xf32>
      }
      %p = memref.load %P[%vi, %vj] : memref<3x4xf32>
      %x = memref.load %X[%vi, %vk] : memref<3x5xf32>
      %w = memref.load %W[%vj, %vk] : memref<4x5xf32>
      %m = arith.mulf %x, %w : f32
      %s = arith.addf %p, %m : f32
      memref.store %s, %P[%vi, %vj] : memref<3x4xf32>
    }
  }
  %one = arith.constant 1.0 : f32
  tir.for %i @i1, %j @j1 in (3, 4) {
    tir.block @Y (%vi: spatial<3> = %i, %vj: spatial<4> = %j) {
      %p = memref.load %P[%vi, %vj] : memref<3x4xf32>
      %y = arith.addf %p, %one : f32
      memref.store %y, %Y[%vi, %vj] : memref<3x4xf32>
    }
  }
  tir.for %i @i2, %j @j2 in (3, 4) {
    tir.block @Z (%vi: spatial<3> = %i, %vj: spatial<4> = %j) {
      %p = memref.load %P[%vi, %vj] : memref<3x4xf32>
      %y = arith.mulf %p, %one : f32
      memref.store %y, %Z[%vi, %vj] : memref<3x4xf32>
    }
  }
}

// -----

// Rows at a time: the sum of a row is needed for all of its elements.
// CHECK-LABEL: tir.prim_func @rows(
// CHECK:         tir.for %i in (3) {
// CHECK-NEXT:      tir.for %j in (4) {
// CHECK-NEXT:        tir.block @E
// CHECK:           tir.for %k in (4) {
// CHECK-NEXT:        tir.block @S
// CHECK:           tir.for %j_1 in (4) {
// CHECK-NEXT:        tir.block @Y (%vi_2: spatial<3> = %i, %vj_1: spatial<4> = %j_1) {
tir.prim_func @rows(%X: memref<3x4xf32>) outs(%Y: memref<3x4xf32>) attributes {tir.noalias} {
  %zero = arith.constant 0.0 : f32
  %E = tir.alloc_buffer : memref<3x4xf32>
  %S = tir.alloc_buffer : memref<3xf32>
  tir.for %i, %j in (3, 4) {
    tir.block @E (%vi: spatial<3> = %i, %vj: spatial<4> = %j) {
      %x = memref.load %X[%vi, %vj] : memref<3x4xf32>
      %e = math.exp %x : f32
      memref.store %e, %E[%vi, %vj] : memref<3x4xf32>
    }
  }
  tir.for %i, %k in (3, 4) {
    tir.block @S (%vi: spatial<3> = %i, %vk: reduce<4> = %k) {
      tir.init {
        memref.store %zero, %S[%vi] : memref<3xf32>
      }
      %s = memref.load %S[%vi] : memref<3xf32>
      %e = memref.load %E[%vi, %vk] : memref<3x4xf32>
      %n = arith.addf %s, %e : f32
      memref.store %n, %S[%vi] : memref<3xf32>
    }
  }
  tir.for %i, %j in (3, 4) {
    tir.block @Y (%vi: spatial<3> = %i, %vj: spatial<4> = %j) {
      %e = memref.load %E[%vi, %vj] : memref<3x4xf32>
      %s = memref.load %S[%vi] : memref<3xf32>
      %y = arith.divf %e, %s : f32
      memref.store %y, %Y[%vi, %vj] : memref<3x4xf32>
    }
  }
}

// -----

// Loops that are split and parallel alike, and sizes that are known when it runs.
// CHECK-LABEL: tir.prim_func @parallel_loops(
// CHECK:         tir.for parallel %i in (%n) {
// CHECK-NEXT:      tir.block @T
// CHECK:           tir.block @Y
tir.prim_func @parallel_loops(%X: memref<?xf32>) outs(%T: memref<?xf32>, %Y: memref<?xf32>) attributes {tir.noalias} {
  %c0 = arith.constant 0 : index
  %n = memref.dim %X, %c0 : memref<?xf32>
  tir.for parallel %i in (%n) {
    tir.block @T (%v: spatial<%n> = %i) {
      %x = memref.load %X[%v] : memref<?xf32>
      memref.store %x, %T[%v] : memref<?xf32>
    }
  }
  %m = memref.dim %X, %c0 : memref<?xf32>
  tir.for parallel %i in (%m) {
    tir.block @Y (%v: spatial<%m> = %i) {
      %t = memref.load %T[%v] : memref<?xf32>
      memref.store %t, %Y[%v] : memref<?xf32>
    }
  }
}

// -----

// A neighbour is not complete yet,
// CHECK-LABEL: tir.prim_func @neighbours(
// CHECK:         tir.for %i in (8) {
// CHECK:         tir.for %i_1 in (7) {
// CHECK:         tir.for %i_2 in (7) {
// CHECK:         tir.for %i_3 in (8) {
tir.prim_func @neighbours(%X: memref<8xf32>) outs(%T: memref<8xf32>, %Y: memref<7xf32>, %Z: memref<7xf32>, %W: memref<8xf32>) attributes {tir.noalias} {
  %c1 = arith.constant 1 : index
  %c7 = arith.constant 7 : index
  tir.for %i in (8) {
    tir.block @T (%v: spatial<8> = %i) {
      %x = memref.load %X[%v] : memref<8xf32>
      memref.store %x, %T[%v] : memref<8xf32>
    }
  }
  // Fewer iterations.
  tir.for %i in (7) {
    tir.block @Y (%v: spatial<7> = %i) {
      %t = memref.load %T[%v] : memref<8xf32>
      memref.store %t, %Y[%v] : memref<7xf32>
    }
  }
  // The next element.
  tir.for %i in (7) {
    tir.block @Z (%v: spatial<7> = %i) {
      %p = arith.addi %v, %c1 : index
      %t = memref.load %T[%p] : memref<8xf32>
      memref.store %t, %Z[%v] : memref<7xf32>
    }
  }
  // The last element first.
  tir.for %i in (8) {
    tir.block @W (%v: spatial<8> = %i) {
      %p = arith.subi %c7, %v : index
      %t = memref.load %T[%p] : memref<8xf32>
      memref.store %t, %W[%v] : memref<8xf32>
    }
  }
}

// -----

// nor is a sum before its last step.
// CHECK-LABEL: tir.prim_func @along_the_sum(
// CHECK:         tir.for %k, %i in (4, 4) {
// CHECK:         tir.for %i_1 in (4) {
tir.prim_func @along_the_sum(%X: memref<4x4xf32>) outs(%Y: memref<4xf32>) attributes {tir.noalias} {
  %zero = arith.constant 0.0 : f32
  %S = tir.alloc_buffer : memref<4xf32>
  tir.for %k, %i in (4, 4) {
    tir.block @S (%v: spatial<4> = %i, %vk: reduce<4> = %k) {
      tir.init {
        memref.store %zero, %S[%v] : memref<4xf32>
      }
      %s = memref.load %S[%v] : memref<4xf32>
      %x = memref.load %X[%v, %vk] : memref<4x4xf32>
      %n = arith.addf %s, %x : f32
      memref.store %n, %S[%v] : memref<4xf32>
    }
  }
  tir.for %i in (4) {
    tir.block @Y (%v: spatial<4> = %i) {
      %s = memref.load %S[%v] : memref<4xf32>
      memref.store %s, %Y[%v] : memref<4xf32>
    }
  }
}

// -----

// Columns are complete when all rows are.
// CHECK-LABEL: tir.prim_func @transposed(
// CHECK:         tir.for %i, %j in (4, 4) {
// CHECK:         tir.for %i_1, %j_1 in (4, 4) {
tir.prim_func @transposed(%X: memref<4x4xf32>) outs(%T: memref<4x4xf32>, %Y: memref<4x4xf32>) attributes {tir.noalias} {
  tir.for %i, %j in (4, 4) {
    tir.block @T (%v: spatial<4> = %i, %w: spatial<4> = %j) {
      %x = memref.load %X[%v, %w] : memref<4x4xf32>
      memref.store %x, %T[%v, %w] : memref<4x4xf32>
    }
  }
  tir.for %i, %j in (4, 4) {
    tir.block @Y (%v: spatial<4> = %i, %w: spatial<4> = %j) {
      %t = memref.load %T[%w, %v] : memref<4x4xf32>
      memref.store %t, %Y[%v, %w] : memref<4x4xf32>
    }
  }
}

// -----

// What the second writes, the first may still read; without `tir.noalias` buffers may be one.
// CHECK-LABEL: tir.prim_func @in_place(
// CHECK:         tir.for %i in (4) {
// CHECK:         tir.for %i_1 in (4) {
tir.prim_func @in_place(%X: memref<4xf32>) outs(%T: memref<4xf32>, %Y: memref<4xf32>) {
  tir.for %i in (4) {
    tir.block @T (%v: spatial<4> = %i) {
      %x = memref.load %X[%v] : memref<4xf32>
      memref.store %x, %T[%v] : memref<4xf32>
    }
  }
  tir.for %i in (4) {
    tir.block @Y (%v: spatial<4> = %i) {
      %t = memref.load %T[%v] : memref<4xf32>
      memref.store %t, %Y[%v] : memref<4xf32>
    }
  }
}

// -----

// Products are left to a schedule: the second stays apart, and the first is not split for rows.
// CHECK-LABEL: tir.prim_func @products(
// CHECK:         tir.for %i, %j, %k in (3, 3, 3) {
// CHECK:         tir.for %i_1, %j_1, %k_1 in (3, 3, 3) {
// CHECK:         tir.for %i_2, %j_2 in (3, 9) {
tir.prim_func @products(%X: memref<3x3xf32>) outs(%P: memref<3x3xf32>, %Q: memref<3x3xf32>, %Y: memref<3x9xf32>) attributes {tir.noalias} {
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  tir.for %i, %j, %k in (3, 3, 3) {
    tir.block @P (%vi: spatial<3> = %i, %vj: spatial<3> = %j, %vk: reduce<3> = %k) {
      tir.init {
        memref.store %zero, %P[%vi, %vj] : memref<3x3xf32>
      }
      %p = memref.load %P[%vi, %vj] : memref<3x3xf32>
      %x = memref.load %X[%vi, %vk] : memref<3x3xf32>
      %w = memref.load %X[%vj, %vk] : memref<3x3xf32>
      %m = arith.mulf %x, %w : f32
      %s = arith.addf %p, %m : f32
      memref.store %s, %P[%vi, %vj] : memref<3x3xf32>
    }
  }
  tir.for %i, %j, %k in (3, 3, 3) {
    tir.block @Q (%vi: spatial<3> = %i, %vj: spatial<3> = %j, %vk: reduce<3> = %k) {
      tir.init {
        memref.store %zero, %Q[%vi, %vj] : memref<3x3xf32>
      }
      %p = memref.load %Q[%vi, %vj] : memref<3x3xf32>
      %x = memref.load %P[%vi, %vk] : memref<3x3xf32>
      %w = memref.load %X[%vj, %vk] : memref<3x3xf32>
      %m = arith.mulf %x, %w : f32
      %s = arith.addf %p, %m : f32
      memref.store %s, %Q[%vi, %vj] : memref<3x3xf32>
    }
  }
  tir.for %i, %j in (3, 9) {
    tir.block @Y (%vi: spatial<3> = %i, %vj: spatial<9> = %j) {
      %q = memref.load %Q[%vi, %c0] : memref<3x3xf32>
      memref.store %q, %Y[%vi, %vj] : memref<3x9xf32>
    }
  }
}

// -----

// Independent nests gain nothing; calls stay in between.
// CHECK-LABEL: tir.prim_func @independent(
// CHECK:         tir.for %i in (4) {
// CHECK:         tir.for %i_1 in (4) {
// CHECK:         tir.call
// CHECK:         tir.for %i_2 in (4) {
tir.prim_func @independent(%X: memref<4xf32>) outs(%T: memref<4xf32>, %Y: memref<4xf32>, %Z: memref<4xf32>) attributes {tir.noalias} {
  tir.for %i in (4) {
    tir.block @T (%v: spatial<4> = %i) {
      %x = memref.load %X[%v] : memref<4xf32>
      memref.store %x, %T[%v] : memref<4xf32>
    }
  }
  tir.for %i in (4) {
    tir.block @Y (%v: spatial<4> = %i) {
      %x = memref.load %X[%v] : memref<4xf32>
      memref.store %x, %Y[%v] : memref<4xf32>
    }
  }
  tir.call @other(%Y) : memref<4xf32>
  tir.for %i in (4) {
    tir.block @Z (%v: spatial<4> = %i) {
      %x = memref.load %Y[%v] : memref<4xf32>
      memref.store %x, %Z[%v] : memref<4xf32>
    }
  }
}
tir.prim_func private @other() outs(%Y: memref<4xf32>) {
}

// -----

// Elements in the middle of a buffer are told apart as well: each is used in the iteration that computes it.
// CHECK-LABEL: tir.prim_func @padded(
// CHECK:         tir.for %i in (4) {
// CHECK-NEXT:      tir.block @T
// CHECK:           tir.block @Y
// CHECK-NOT:     tir.for
tir.prim_func @padded(%X: memref<4xf32>) outs(%Y: memref<4xf32>) attributes {tir.noalias} {
  %c2 = arith.constant 2 : index
  %T = tir.alloc_buffer : memref<8xf32>
  tir.for %i in (4) {
    tir.block @T (%v: spatial<4> = %i) {
      %w = arith.addi %v, %c2 : index
      %x = memref.load %X[%v] : memref<4xf32>
      memref.store %x, %T[%w] : memref<8xf32>
    }
  }
  tir.for %i in (4) {
    tir.block @Y (%v: spatial<4> = %i) {
      %w = arith.addi %v, %c2 : index
      %x = memref.load %T[%w] : memref<8xf32>
      memref.store %x, %Y[%v] : memref<4xf32>
    }
  }
}

// -----

// Panels are packed apart from what reads them again and again.

// CHECK-LABEL: @panels
// CHECK: tir.for %{{.+}}, %{{.+}} in (4, 8) {
// CHECK: tir.block @pack
// CHECK: tir.for %{{.+}}, %{{.+}} in (4, 8) {
// CHECK: tir.block @use
tir.prim_func @panels(%X: memref<32xf32>) outs(%Y: memref<4x8xf32>) attributes {tir.noalias} {
  %c8 = arith.constant 8 : index
  %P = tir.alloc_buffer : memref<4x8xf32>
  tir.for %a, %b in (4, 8) {
    %0 = arith.muli %a, %c8 : index
    %1 = arith.addi %0, %b : index
    tir.block @pack (%v: spatial<32> = %1) {
      %x = memref.load %X[%v] : memref<32xf32>
      %panel = arith.divsi %v, %c8 : index
      %column = arith.remsi %v, %c8 : index
      memref.store %x, %P[%panel, %column] : memref<4x8xf32>
    }
  }
  tir.for %a, %b in (4, 8) {
    tir.block @use (%va: spatial<4> = %a, %vb: spatial<8> = %b) {
      %x = memref.load %P[%va, %vb] : memref<4x8xf32>
      memref.store %x, %Y[%va, %vb] : memref<4x8xf32>
    }
  }
}

// -----

// A condition that always holds: all of %T is read in every iteration.

// CHECK-LABEL: @always
// CHECK: tir.for
// CHECK:   tir.block @T
// CHECK: tir.for %{{.+}}, %{{.+}} in (4, 4) {
// CHECK:   scf.if
// CHECK:     tir.block @Y
tir.prim_func @always(%X: memref<4xf32>) outs(%Y: memref<4xf32>) attributes {tir.noalias} {
  %true = arith.constant true
  %zero = arith.constant 0.0 : f32
  %T = tir.alloc_buffer : memref<4xf32>
  tir.for %i in (4) {
    tir.block @T (%v: spatial<4> = %i) {
      %x = memref.load %X[%v] : memref<4xf32>
      %t = arith.addf %x, %x : f32
      memref.store %t, %T[%v] : memref<4xf32>
    }
  }
  tir.for %i, %k in (4, 4) {
    scf.if %true {
      tir.block @Y (%v: spatial<4> = %i, %vk: reduce<4> = %k) {
        tir.init {
          memref.store %zero, %Y[%v] : memref<4xf32>
        }
        %t = memref.load %T[%vk] : memref<4xf32>
        %y = memref.load %Y[%v] : memref<4xf32>
        %s = arith.addf %t, %y : f32
        memref.store %s, %Y[%v] : memref<4xf32>
      }
    }
  }
}

// -----

// Parts of the same results share loops that have enough iterations for threads.

// CHECK-LABEL: @parts
// CHECK:      tir.for %i in (16) {
// CHECK-NEXT:   tir.for %j in (4) {
// CHECK-NEXT:     tir.block @Y
// CHECK:        tir.for %k in (2) {
// CHECK-NEXT:     tir.block @Z
// CHECK-NOT:  tir.for %i
tir.prim_func @parts(%X: memref<16x6xf32>) outs(%Y: memref<16x6xf32>) attributes {tir.noalias} {
  %four = arith.constant 4 : index
  tir.for %i, %j in (16, 4) {
    tir.block @Y (%va: spatial<16> = %i, %vb: spatial<4> = %j) {
      %x = memref.load %X[%va, %vb] : memref<16x6xf32>
      memref.store %x, %Y[%va, %vb] : memref<16x6xf32>
    }
  }
  tir.for %i, %k in (16, 2) {
    tir.block @Z (%va: spatial<16> = %i, %vk: spatial<2> = %k) {
      %vb = arith.addi %vk, %four : index
      %x = memref.load %X[%va, %vb] : memref<16x6xf32>
      %y = arith.addf %x, %x : f32
      memref.store %y, %Y[%va, %vb] : memref<16x6xf32>
    }
  }
}

// -----

// Not so where they have few, nor where the same elements are stored in other iterations.

// CHECK-LABEL: @few
// CHECK:      tir.block @Y
// CHECK:      tir.for {{.*}} in (8, 2) {
// CHECK-NEXT:   tir.block @Z
tir.prim_func @few(%X: memref<8x6xf32>) outs(%Y: memref<8x6xf32>) attributes {tir.noalias} {
  %four = arith.constant 4 : index
  tir.for %i, %j in (8, 4) {
    tir.block @Y (%va: spatial<8> = %i, %vb: spatial<4> = %j) {
      %x = memref.load %X[%va, %vb] : memref<8x6xf32>
      memref.store %x, %Y[%va, %vb] : memref<8x6xf32>
    }
  }
  tir.for %i, %k in (8, 2) {
    tir.block @Z (%va: spatial<8> = %i, %vk: spatial<2> = %k) {
      %vb = arith.addi %vk, %four : index
      %x = memref.load %X[%va, %vb] : memref<8x6xf32>
      memref.store %x, %Y[%va, %vb] : memref<8x6xf32>
    }
  }
}

// -----

// CHECK-LABEL: @overwritten
// CHECK:      tir.for {{.*}} in (16, 2) {
// CHECK-NEXT:   tir.block @Y
// CHECK:      tir.for {{.*}} in (16, 2) {
// CHECK:        tir.block @Z
tir.prim_func @overwritten(%X: memref<16x2xf32>) outs(%Y: memref<16x2xf32>) attributes {tir.noalias} {
  %last = arith.constant 15 : index
  tir.for %i, %j in (16, 2) {
    tir.block @Y (%va: spatial<16> = %i, %vb: spatial<2> = %j) {
      %x = memref.load %X[%va, %vb] : memref<16x2xf32>
      memref.store %x, %Y[%va, %vb] : memref<16x2xf32>
    }
  }
  tir.for %i, %j in (16, 2) {
    %back = arith.subi %last, %i : index
    tir.block @Z (%va: spatial<16> = %back, %vb: spatial<2> = %j) {
      %x = memref.load %X[%va, %vb] : memref<16x2xf32>
      memref.store %x, %Y[%va, %vb] : memref<16x2xf32>
    }
  }
}
