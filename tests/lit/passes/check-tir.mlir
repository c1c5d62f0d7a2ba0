// RUN: relex-opt %s --split-input-file --verify-diagnostics -p check-tir
// RUN: not relex-opt %s --split-input-file -p check-tir{undecided=error} 2>&1 | filecheck %s

// Right: a split loop with a guard, a sum, a local buffer, a window, elements that data picks from a range.

tir.prim_func @right(%X: memref<10x8xf32>, %P: memref<10xi64>) outs(%Y: memref<10xf32>, %Z: memref<9xf32>) {
  %zero = arith.constant 0.0 : f32
  %four = arith.constant 4 : index
  %ten = arith.constant 10 : index
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c9 = arith.constant 9 : index
  %T = tir.alloc_buffer : memref<10xf32>
  tir.for parallel %io, %ii, %k in (3, 4, 8) {
    %a = arith.muli %io, %four : index
    %i = arith.addi %a, %ii : index
    %inside = arith.cmpi slt, %i, %ten : index
    scf.if %inside {
      tir.block @T (%vi: spatial<10> = %i, %vk: reduce<8> = %k) {
        tir.init {
          memref.store %zero, %T[%vi] : memref<10xf32>
        }
        %t = memref.load %T[%vi] : memref<10xf32>
        %x = memref.load %X[%vi, %vk] : memref<10x8xf32>
        %s = arith.addf %t, %x : f32
        memref.store %s, %T[%vi] : memref<10xf32>
      }
    }
  }
  tir.for %i in (10) {
    tir.block @Y (%vi: spatial<10> = %i) {
      %p = memref.load %P[%vi] : memref<10xi64>
      %q = arith.index_cast %p : i64 to index
      %r = arith.maxsi %q, %c0 : index
      %s = arith.minsi %r, %c9 : index
      %t = memref.load %T[%s] : memref<10xf32>
      memref.store %t, %Y[%vi] : memref<10xf32>
    }
  }
  tir.for %i in (9) {
    tir.block @Z (%vi: spatial<9> = %i) {
      %j = arith.addi %vi, %c1 : index
      %a = memref.load %T[%vi] : memref<10xf32>
      %b = memref.load %T[%j] : memref<10xf32>
      %s = arith.addf %a, %b : f32
      memref.store %s, %Z[%vi] : memref<9xf32>
    }
  }
}

// -----

// Sizes of one name are equal.

tir.prim_func @named(%X: memref<?xf32> {relex.dims = ["n"]}) outs(%Y: memref<?xf32> {relex.dims = ["n"]}) {
  %c0 = arith.constant 0 : index
  %n = memref.dim %X, %c0 : memref<?xf32>
  tir.for %i in (%n) {
    %x = memref.load %X[%i] : memref<?xf32>
    memref.store %x, %Y[%i] : memref<?xf32>
  }
}

// -----

tir.prim_func @behind(%X: memref<2x12xf32>) outs(%Y: memref<2x12xf32>) {
  %c1 = arith.constant 1 : index
  %c12 = arith.constant 12 : index
  tir.for %i in (24) {
    %row = arith.divui %i, %c12 : index
    %column = arith.remui %i, %c12 : index
    tir.block @Y (%vi: spatial<2> = %row, %vj: spatial<12> = %column) {
      %next = arith.maxui %vj, %c1 : index
      %last = arith.addi %next, %c1 : index
      // expected-error@below {{'memref.load' op expected index 1 of %X in 0..11, found 12 at %i = 11}}
      %x = memref.load %X[%vi, %last] : memref<2x12xf32>
      memref.store %x, %Y[%vi, %vj] : memref<2x12xf32>
    }
  }
}

// -----

tir.prim_func @guard(%X: memref<10xf32>) outs(%Y: memref<10xf32>) {
  %four = arith.constant 4 : index
  %eleven = arith.constant 11 : index
  tir.for %io, %ii in (3, 4) {
    %a = arith.muli %io, %four : index
    %i = arith.addi %a, %ii : index
    %inside = arith.cmpi slt, %i, %eleven : index
    scf.if %inside {
      // expected-error@below {{'tir.block' op expected %vi in 0..9, found 10 at %io = 2, %ii = 2}}
      tir.block @Y (%vi: spatial<10> = %i) {
        %x = memref.load %X[%vi] : memref<10xf32>
        memref.store %x, %Y[%vi] : memref<10xf32>
      }
    }
  }
}

// -----

// Wrong for all sizes.

tir.prim_func @all_sizes(%X: memref<?xf32>) outs(%Y: memref<f32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %X, %c0 : memref<?xf32>
  tir.for %i in (%n) {
    %j = arith.addi %i, %c1 : index
    // expected-error@below {{'memref.load' op expected index 0 of %X in 0..size(%X, 0) - 1, found 1 at %i = 0, size(%X, 0) = 1}}
    %x = memref.load %X[%j] : memref<?xf32>
    memref.store %x, %Y[] : memref<f32>
  }
  %zero = arith.constant 0.0 : f32
  memref.store %zero, %Y[] : memref<f32>
}

// -----

tir.prim_func @some_sizes(%X: memref<?xf32>, %n: index) outs(%Y: memref<f32>) {
  %zero = arith.constant 0.0 : f32
  memref.store %zero, %Y[] : memref<f32>
  tir.for %i in (%n) {
    // expected-warning@below {{'memref.load' op cannot decide whether index 0 of %X stays in 0..size(%X, 0) - 1: that depends on %n, size(%X, 0)}}
    %x = memref.load %X[%i] : memref<?xf32>
  }
}
// CHECK: check-tir.mlir:{{.*}}: error: 'memref.load' op cannot decide whether index 0 of %X

// -----

tir.prim_func @data(%X: memref<8xf32>, %P: memref<8xi64>) outs(%Y: memref<8xf32>) {
  tir.for %i in (8) {
    tir.block @Y (%vi: spatial<8> = %i) {
      %p = memref.load %P[%vi] : memref<8xi64>
      %q = arith.index_cast %p : i64 to index
      // expected-warning@below {{cannot decide whether index 0 of %X stays in 0..7: that depends on %p}}
      %x = memref.load %X[%q] : memref<8xf32>
      memref.store %x, %Y[%vi] : memref<8xf32>
    }
  }
}

// -----

tir.prim_func @parallel_sum(%X: memref<8x4xf32>) outs(%Y: memref<8xf32>) {
  %zero = arith.constant 0.0 : f32
  tir.for %i, parallel %k in (8, 4) {
    tir.block @Y (%vi: spatial<8> = %i, %vk: reduce<4> = %k) {
      tir.init {
        memref.store %zero, %Y[%vi] : memref<8xf32>
      }
      %y = memref.load %Y[%vi] : memref<8xf32>
      %x = memref.load %X[%vi, %vk] : memref<8x4xf32>
      %s = arith.addf %y, %x : f32
      // expected-error-re@below {{expected one iteration of the parallel loop in line {{[0-9]+}} to use an element that is written, found %Y[0] written at %k = 0 and read at %k = 1}}
      memref.store %s, %Y[%vi] : memref<8xf32>
    }
  }
}

// -----

tir.prim_func @meeting(%X: memref<8xf32>) outs(%Y: memref<4xf32>) {
  %c4 = arith.constant 4 : index
  tir.for %i in (8) {
    tir.block @Y (%vi: spatial<8> = %i) {
      %j = arith.remui %vi, %c4 : index
      %x = memref.load %X[%vi] : memref<8xf32>
      // expected-error@below {{expected one value of the spatial variables of block @Y to write an element, found %Y[0] written at %vi = 0 and at %vi = 4}}
      memref.store %x, %Y[%j] : memref<4xf32>
    }
  }
}

// -----

// expected-error@below {{'tir.prim_func' op expected all of %Y to be written, found no write to %Y[7, 0]}}
tir.prim_func @missing_row(%X: memref<8x4xf32>) outs(%Y: memref<8x4xf32>) {
  tir.for %i, %j in (7, 4) {
    tir.block @Y (%vi: spatial<7> = %i, %vj: spatial<4> = %j) {
      %x = memref.load %X[%vi, %vj] : memref<8x4xf32>
      memref.store %x, %Y[%vi, %vj] : memref<8x4xf32>
    }
  }
}

// -----

tir.prim_func @too_early(%X: memref<8xf32>) outs(%Y: memref<8xf32>) {
  %c1 = arith.constant 1 : index
  %T = tir.alloc_buffer : memref<9xf32>
  tir.for %i in (8) {
    %j = arith.addi %i, %c1 : index
    %x = memref.load %X[%i] : memref<8xf32>
    memref.store %x, %T[%i] : memref<9xf32>
    // expected-error@below {{'memref.load' op expected %T to be written before it is read, found no write to %T[1] before it is read at %i = 0}}
    %t = memref.load %T[%j] : memref<9xf32>
    memref.store %t, %Y[%i] : memref<8xf32>
  }
}

// -----

tir.prim_func @maybe(%X: memref<8xf32>) outs(%Y: memref<8xf32>) {
  %zero = arith.constant 0.0 : f32
  %T = tir.alloc_buffer : memref<8xf32>
  tir.for %i in (8) {
    %x = memref.load %X[%i] : memref<8xf32>
    %positive = arith.cmpf ogt, %x, %zero : f32
    scf.if %positive {
      memref.store %x, %T[%i] : memref<8xf32>
    }
    // expected-warning@below {{cannot decide whether %T is written before it is read: that depends on %positive}}
    %t = memref.load %T[%i] : memref<8xf32>
    memref.store %t, %Y[%i] : memref<8xf32>
  }
}

// -----

tir.prim_func private @half() outs(%Y: memref<8xf32>) {
  %zero = arith.constant 0.0 : f32
  tir.for %i in (8) {
    memref.store %zero, %Y[%i] : memref<8xf32>
  }
}

tir.prim_func @calls() outs(%Y: memref<8xf32>) {
  tir.for parallel %i in (2) {
    // expected-error@below {{'tir.call' op expected one iteration of the parallel loop}}
    tir.call @half(%Y) : memref<8xf32>
  }
}

// -----

func.func private @env(memref<8xf32>)

tir.prim_func @strange() outs(%Y: memref<8xf32>) {
  %zero = arith.constant 0.0 : f32
  tir.for %i in (8) {
    memref.store %zero, %Y[%i] : memref<8xf32>
  }
  // expected-warning@below {{'func.call' op cannot decide what becomes of %Y: nothing says what the op does}}
  func.call @env(%Y) : (memref<8xf32>) -> ()
}
