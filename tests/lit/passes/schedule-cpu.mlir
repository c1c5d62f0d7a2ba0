// RUN: relex-opt %s -p "set-target{triple=x86_64-unknown-linux-gnu cpu=skylake-avx512 features=+avx512f},schedule-cpu" --split-input-file | filecheck %s
// RUN: relex-opt %s -p "set-target{triple=riscv64-unknown-linux-gnu},schedule-cpu" --split-input-file | filecheck %s --check-prefix=OTHER

// RUN: env RELEX_OPT_FLAGS= relex-opt %s -p "set-target{triple=x86_64-unknown-linux-gnu cpu=skylake-avx512 features=+avx512f},schedule-cpu" --split-input-file --explain-schedule 2>&1 >/dev/null | filecheck %s --check-prefix=EXPLAIN
// RUN: env RELEX_OPT_FLAGS= relex-opt %s -p "set-target{triple=x86_64-unknown-linux-gnu cpu=skylake-avx512 features=+avx512f},schedule-cpu{explain=true}" --split-input-file 2>&1 >/dev/null | filecheck %s --check-prefix=EXPLAIN

// OTHER-NOT: vectorized

// EXPLAIN: schedule-cpu.mlir:{{[0-9]+}}:5: remark: 'tir.block' op @Y of @dense: tiles: 14 and 4 by 2 vectors of 16 elements
// EXPLAIN: note: skipped extremes: expected steps of @Y that may be done in any order, but 'arith.addf' lacks the flag 'reassoc'
// EXPLAIN: note: skipped dot-kernel: expected steps of @Y that may be done in any order, but 'arith.addf' lacks the flag 'reassoc'
// EXPLAIN: remark: 'tir.block' op @Z of @dense: scheduled already
// EXPLAIN: remark: 'tir.block' op @Y of @row_sum: left as it is
// EXPLAIN: note: skipped extremes: expected steps of @Y that may be done in any order, but 'arith.addf' lacks the flag 'reassoc'
// EXPLAIN: note: skipped dot-kernel: expected steps of @Y that may be done in any order, but 'arith.addf' lacks the flag 'reassoc'
// EXPLAIN: note: skipped tiles: expected a loop that uses the same elements of %X again
// EXPLAIN: remark: 'tir.block' op @Y of @few_rows: dot-kernel: 4 by 4 at a time, in 16 partial results each
// EXPLAIN: remark: 'tir.block' op @Y of @one_row: dot-kernel: left to LLVM
// EXPLAIN: remark: 'tir.block' op @Y of @maximum: extremes: floats as integers in the same order

// The weights go to panels, and the sums of a tile are made side by side; bias and relu are done in the tile. The last
// 4 rows go through two panels at the same time.

// CHECK-LABEL: @dense(
// CHECK: %W_local = tir.alloc_buffer : memref<4x784x32xf32>
// CHECK: tir.for %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, vectorized %{{.*}} in (4, 2, 49, 16, 16)
// CHECK: tir.block @W_local
// CHECK: tir.for %{{.*}}, %{{.*}} in (4, 18)
// CHECK-NEXT: tir.alloc_buffer : memref<14x32xf32>
// CHECK-NEXT: tir.for unrolled %{{.*}}, unrolled %{{.*}}, vectorized %{{.*}} in (14, 2, 16)
// CHECK: tir.block @Y_init
// CHECK: tir.for %{{.*}}, unrolled %{{.*}}, unrolled %{{.*}}, vectorized %{{.*}} in (784, 14, 2, 16)
// CHECK: tir.block @Y
// CHECK-NOT: scf.if
// CHECK: tir.for unrolled %{{.*}}, unrolled %{{.*}}, vectorized %{{.*}} in (14, 2, 16)
// CHECK: tir.block @Z
// CHECK: tir.for %{{.*}}, unrolled %{{.*}}, unrolled %{{.*}}, unrolled %{{.*}}, vectorized %{{.*}} in (784, 4, 2, 2, 16)
// CHECK: tir.block @Y_rest
// CHECK: tir.block @Z_rest
tir.prim_func @dense(%X: memref<256x784xf32>, %W: memref<128x784xf32>, %B: memref<128xf32>)
    outs(%Z: memref<256x128xf32>) attributes {tir.noalias} {
  %zero = arith.constant 0.0 : f32
  %Y = tir.alloc_buffer : memref<256x128xf32>
  tir.for %i, %j, %k in (256, 128, 784) {
    tir.block @Y (%vi: spatial<256> = %i, %vj: spatial<128> = %j, %vk: reduce<784> = %k) {
      tir.init {
        memref.store %zero, %Y[%vi, %vj] : memref<256x128xf32>
      }
      %y = memref.load %Y[%vi, %vj] : memref<256x128xf32>
      %x = memref.load %X[%vi, %vk] : memref<256x784xf32>
      %w = memref.load %W[%vj, %vk] : memref<128x784xf32>
      %p = arith.mulf %x, %w : f32
      %s = arith.addf %y, %p : f32
      memref.store %s, %Y[%vi, %vj] : memref<256x128xf32>
    }
  }
  tir.for %i, %j in (256, 128) {
    tir.block @Z (%vi: spatial<256> = %i, %vj: spatial<128> = %j) {
      %y = memref.load %Y[%vi, %vj] : memref<256x128xf32>
      %b = memref.load %B[%vj] : memref<128xf32>
      %s = arith.addf %y, %b : f32
      %z = arith.maximumf %s, %zero : f32
      memref.store %z, %Z[%vi, %vj] : memref<256x128xf32>
    }
  }
}

// -----

// Columns that stand side by side are read where they are, also for one row. A result of the function is copied from
// the tile.

// CHECK-LABEL: @side_by_side(
// CHECK-NOT: W_local
// CHECK: tir.for %{{.*}}, unrolled %{{.*}}, unrolled %{{.*}}, vectorized %{{.*}} in (256, 1, 8, 16)
// CHECK: memref.load %W[{{.*}}] : memref<256x128xf32>
// CHECK: tir.block @Y_local
tir.prim_func @side_by_side(%X: memref<1x256xf32>, %W: memref<256x128xf32>) outs(%Y: memref<1x128xf32>)
    attributes {tir.noalias} {
  %zero = arith.constant 0.0 : f32
  tir.for %i, %j, %k in (1, 128, 256) {
    tir.block @Y (%vi: spatial<1> = %i, %vj: spatial<128> = %j, %vk: reduce<256> = %k) {
      tir.init {
        memref.store %zero, %Y[%vi, %vj] : memref<1x128xf32>
      }
      %y = memref.load %Y[%vi, %vj] : memref<1x128xf32>
      %x = memref.load %X[%vi, %vk] : memref<1x256xf32>
      %w = memref.load %W[%vk, %vj] : memref<256x128xf32>
      %p = arith.mulf %x, %w : f32
      %s = arith.addf %y, %p : f32
      memref.store %s, %Y[%vi, %vj] : memref<1x128xf32>
    }
  }
}

// -----

// Columns at the edge compute more than is stored: the weights have room for that. The rows are 9 and 8.

// CHECK-LABEL: @edges(
// CHECK: %W_local = tir.alloc_buffer : memref<2x64x48xf32>
// CHECK-NOT: X_local
// CHECK: in (64, 9, 3, 16)
// CHECK: tir.block @Y (
// CHECK-NOT: scf.if
// CHECK: memref.load %X
// CHECK: scf.if
// CHECK-NEXT: tir.block @Y_local
// CHECK: in (64, 8, 3, 16)
// CHECK: tir.block @Y_rest (
tir.prim_func @edges(%X: memref<17x64xf32>, %W: memref<81x64xf32>) outs(%Y: memref<17x81xf32>)
    attributes {tir.noalias} {
  %zero = arith.constant 0.0 : f32
  tir.for %i, %j, %k in (17, 81, 64) {
    tir.block @Y (%vi: spatial<17> = %i, %vj: spatial<81> = %j, %vk: reduce<64> = %k) {
      tir.init {
        memref.store %zero, %Y[%vi, %vj] : memref<17x81xf32>
      }
      %y = memref.load %Y[%vi, %vj] : memref<17x81xf32>
      %x = memref.load %X[%vi, %vk] : memref<17x64xf32>
      %w = memref.load %W[%vj, %vk] : memref<81x64xf32>
      %p = arith.mulf %x, %w : f32
      %s = arith.addf %y, %p : f32
      memref.store %s, %Y[%vi, %vj] : memref<17x81xf32>
    }
  }
}

// -----

// A sum of rows has no columns that stand side by side: it is left alone.

// CHECK-LABEL: @row_sum(
// CHECK-NOT: vectorized
// CHECK: tir.for %i, %k in (64, 4096)
tir.prim_func @row_sum(%X: memref<64x4096xf32>) outs(%Y: memref<64xf32>) attributes {tir.noalias} {
  %zero = arith.constant 0.0 : f32
  tir.for %i, %k in (64, 4096) {
    tir.block @Y (%vi: spatial<64> = %i, %vk: reduce<4096> = %k) {
      tir.init {
        memref.store %zero, %Y[%vi] : memref<64xf32>
      }
      %y = memref.load %Y[%vi] : memref<64xf32>
      %x = memref.load %X[%vi, %vk] : memref<64x4096xf32>
      %s = arith.addf %y, %x : f32
      memref.store %s, %Y[%vi] : memref<64xf32>
    }
  }
}

// -----

// Few rows, and weights whose terms lie side by side: each sum in a vector of partial sums, 4 by 4 at the same time. What
// follows is done in vectors, after four such tiles.

// CHECK-LABEL: @few_rows(
// CHECK: tir.for %{{.*}}, %{{.*}} in (3, 8)
// CHECK-NEXT: %Y = tir.alloc_buffer : memref<4x16xf32>
// CHECK-NEXT: tir.for %{{.*}} in (4)
// CHECK-NEXT: %Y_rf = tir.alloc_buffer : memref<4x4x16xf32>
// CHECK: tir.for unrolled %{{.*}}, unrolled %{{.*}}, vectorized %{{.*}} in (4, 4, 16)
// CHECK: tir.for %{{.*}}, unrolled %{{.*}}, unrolled %{{.*}}, vectorized %{{.*}} in (49, 4, 4, 16)
// CHECK: tir.for unrolled %{{.*}}, unrolled %{{.*}} in (4, 4)
// CHECK: tir.block @Y_init
// CHECK: tir.for vectorized %{{.*}} in (16)
// CHECK: tir.block @Y
// CHECK: tir.for %{{.*}}, %{{.*}}, vectorized %{{.*}} in (4, 1, 16)
// CHECK: tir.block @Z
tir.prim_func @few_rows(%X: memref<12x784xf32>, %W: memref<128x784xf32>, %B: memref<128xf32>)
    outs(%Z: memref<12x128xf32>) attributes {tir.noalias} {
  %zero = arith.constant 0.0 : f32
  %Y = tir.alloc_buffer : memref<12x128xf32>
  tir.for %i, %j, %k in (12, 128, 784) {
    tir.block @Y (%vi: spatial<12> = %i, %vj: spatial<128> = %j, %vk: reduce<784> = %k) {
      tir.init {
        memref.store %zero, %Y[%vi, %vj] : memref<12x128xf32>
      }
      %y = memref.load %Y[%vi, %vj] : memref<12x128xf32>
      %x = memref.load %X[%vi, %vk] : memref<12x784xf32>
      %w = memref.load %W[%vj, %vk] : memref<128x784xf32>
      %p = arith.mulf %x, %w fastmath<contract> : f32
      %s = arith.addf %y, %p fastmath<reassoc> : f32
      memref.store %s, %Y[%vi, %vj] : memref<12x128xf32>
    }
  }
  tir.for %i, %j in (12, 128) {
    tir.block @Z (%vi: spatial<12> = %i, %vj: spatial<128> = %j) {
      %y = memref.load %Y[%vi, %vj] : memref<12x128xf32>
      %b = memref.load %B[%vj] : memref<128xf32>
      %s = arith.addf %y, %b : f32
      memref.store %s, %Z[%vi, %vj] : memref<12x128xf32>
    }
  }
}

// -----

// One row: no element is used again in a tile, and LLVM makes vectors of such sums as well.

// CHECK-LABEL: @one_row(
// CHECK-NOT: vectorized
// CHECK: tir.for %i, %j, %k in (1, 128, 784)
tir.prim_func @one_row(%X: memref<1x784xf32>, %W: memref<128x784xf32>) outs(%Y: memref<1x128xf32>)
    attributes {tir.noalias} {
  %zero = arith.constant 0.0 : f32
  tir.for %i, %j, %k in (1, 128, 784) {
    tir.block @Y (%vi: spatial<1> = %i, %vj: spatial<128> = %j, %vk: reduce<784> = %k) {
      tir.init {
        memref.store %zero, %Y[%vi, %vj] : memref<1x128xf32>
      }
      %y = memref.load %Y[%vi, %vj] : memref<1x128xf32>
      %x = memref.load %X[%vi, %vk] : memref<1x784xf32>
      %w = memref.load %W[%vj, %vk] : memref<128x784xf32>
      %p = arith.mulf %x, %w fastmath<contract> : f32
      %s = arith.addf %y, %p fastmath<reassoc> : f32
      memref.store %s, %Y[%vi, %vj] : memref<1x128xf32>
    }
  }
}

// -----

// Sums of columns that no vector divides, and what is divided by them. Nothing is copied for sums that use each element
// once, and only loops along a tile are unrolled: the one over 400 rows may have any number of iterations.

// CHECK-LABEL: @shares(
// CHECK-NOT: _local
// CHECK: tir.for %{{.+}}, unrolled %{{.+}}, unrolled %{{.+}}, vectorized %{{.+}} in (400, 1, 2, 16)
// CHECK: tir.for %{{.+}}, unrolled %{{.+}}, vectorized %{{.+}} in (400, 2, 16)
// CHECK-NOT: tir.for
tir.prim_func @shares(%X: memref<400x31xf32>) outs(%Z: memref<400x31xf32>) attributes {tir.noalias} {
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %Y = tir.alloc_buffer : memref<1x31xf32>
  tir.for %i, %j, %k in (1, 31, 400) {
    tir.block @Y (%vi: spatial<1> = %i, %vj: spatial<31> = %j, %vk: reduce<400> = %k) {
      tir.init {
        memref.store %zero, %Y[%vi, %vj] : memref<1x31xf32>
      }
      %y = memref.load %Y[%vi, %vj] : memref<1x31xf32>
      %x = memref.load %X[%vk, %vj] : memref<400x31xf32>
      %s = arith.addf %y, %x fastmath<reassoc> : f32
      memref.store %s, %Y[%vi, %vj] : memref<1x31xf32>
    }
  }
  tir.for %k, %j in (400, 31) {
    tir.block @Z (%vk: spatial<400> = %k, %vj: spatial<31> = %j) {
      %x = memref.load %X[%vk, %vj] : memref<400x31xf32>
      %y = memref.load %Y[%c0, %vj] : memref<1x31xf32>
      %q = arith.divf %x, %y : f32
      memref.store %q, %Z[%vk, %vj] : memref<400x31xf32>
    }
  }
}

// -----

// Maxima are found by integers, one for a row at a time, of which LLVM makes vectors.

// CHECK-LABEL: @maximum(
// CHECK: tir.for %[[I:.+]] @{{.+}} in (64)
// CHECK-NEXT: %[[BEST:.+]] = tir.alloc_buffer : memref<1xi32>
// CHECK-NEXT: tir.for %{{.+}} in (4096)
// CHECK: arith.maxsi
// CHECK-NEXT: memref.store %{{.+}}, %[[BEST]]
// CHECK: tir.block @Y_local
// CHECK: memref.load %[[BEST]]
// CHECK: memref.store %{{.+}}, %Y
tir.prim_func @maximum(%X: memref<64x4096xf32>) outs(%Y: memref<64xf32>) attributes {tir.noalias} {
  %least = arith.constant 0xFF800000 : f32
  tir.for %i, %k in (64, 4096) {
    tir.block @Y (%vi: spatial<64> = %i, %vk: reduce<4096> = %k) {
      tir.init {
        memref.store %least, %Y[%vi] : memref<64xf32>
      }
      %y = memref.load %Y[%vi] : memref<64xf32>
      %x = memref.load %X[%vi, %vk] : memref<64x4096xf32>
      %s = arith.maximumf %y, %x : f32
      memref.store %s, %Y[%vi] : memref<64xf32>
    }
  }
}

// -----

// Sums of columns: row by row, in the order that they had.

// CHECK-LABEL: @columns(
// CHECK: tir.for %[[J:.+]] @{{.+}} in (101)
// CHECK-NEXT: tir.block @Y_init (%{{.+}}: spatial<101> = %[[J]])
// CHECK: tir.for %[[K:.+]] @{{.+}}, %[[J:.+]] @{{.+}} in (50, 101)
// CHECK-NEXT: tir.block @Y (%{{.+}}: spatial<101> = %[[J]], %{{.+}}: reduce<50> = %[[K]])
// EXPLAIN: remark: 'tir.block' op @Y of @columns: column-sums: terms around @
tir.prim_func @columns(%X: memref<50x101xf32>) outs(%Y: memref<101xf32>) attributes {tir.noalias} {
  %zero = arith.constant 0.0 : f32
  tir.for %j, %k in (101, 50) {
    tir.block @Y (%vj: spatial<101> = %j, %vk: reduce<50> = %k) {
      tir.init {
        memref.store %zero, %Y[%vj] : memref<101xf32>
      }
      %y = memref.load %Y[%vj] : memref<101xf32>
      %x = memref.load %X[%vk, %vj] : memref<50x101xf32>
      %s = arith.addf %y, %x : f32
      memref.store %s, %Y[%vj] : memref<101xf32>
    }
  }
}

// -----

// Short rows are added up to one row.

// CHECK-LABEL: @short_rows(
// CHECK: tir.for %{{.+}} in (4)
// CHECK-NEXT: %Y_rf = tir.alloc_buffer : memref<28xf32>
// CHECK-NEXT: tir.for %{{.+}} in (28)
// CHECK: tir.for %{{.+}}, %{{.+}} in (30, 28)
// CHECK: tir.block @Y_rf
// CHECK: tir.for %{{.+}} in (28)
// CHECK: tir.block @Y
// EXPLAIN: remark: 'tir.block' op @Y of @short_rows: partial-rows: sums of rows of 28 terms
tir.prim_func @short_rows(%X: memref<4x30x28xf32>) outs(%Y: memref<4xf32>) attributes {tir.noalias} {
  %zero = arith.constant 0.0 : f32
  tir.for %j, %h, %w in (4, 30, 28) {
    tir.block @Y (%vj: spatial<4> = %j, %vh: reduce<30> = %h, %vw: reduce<28> = %w) {
      tir.init {
        memref.store %zero, %Y[%vj] : memref<4xf32>
      }
      %y = memref.load %Y[%vj] : memref<4xf32>
      %x = memref.load %X[%vj, %vh, %vw] : memref<4x30x28xf32>
      %s = arith.addf %y, %x fastmath<reassoc> : f32
      memref.store %s, %Y[%vj] : memref<4xf32>
    }
  }
}

// -----

// Squares, which are transposed in registers, and what they leave.

// CHECK-LABEL: @transpose(
// CHECK: tir.for %{{.+}}, %{{.+}}, %{{.+}}, vectorized %{{.+}} in (12, 12, 8, 8)
// CHECK: tir.for %{{.+}}, %{{.+}} in (4, 96)
// EXPLAIN: remark: 'tir.block' op @Y of @transpose: transpose: blocks of 8 by 8
tir.prim_func @transpose(%X: memref<96x100xf32>) outs(%Y: memref<100x96xf32>) attributes {tir.noalias} {
  tir.for %i, %j in (100, 96) {
    tir.block @Y (%vi: spatial<100> = %i, %vj: spatial<96> = %j) {
      %x = memref.load %X[%vj, %vi] : memref<96x100xf32>
      memref.store %x, %Y[%vi, %vj] : memref<100x96xf32>
    }
  }
}

// Strips, in which the other parts of lines are read while these are in the cache.

// CHECK-LABEL: @transpose_in_strips(
// CHECK: tir.for %{{.+}}, %{{.+}}, %{{.+}}, %{{.+}}, vectorized %{{.+}} in (5, 125, 25, 8, 8)
tir.prim_func @transpose_in_strips(%X: memref<1000x1000xf32>) outs(%Y: memref<1000x1000xf32>) attributes {tir.noalias} {
  tir.for %i, %j in (1000, 1000) {
    tir.block @Y (%vi: spatial<1000> = %i, %vj: spatial<1000> = %j) {
      %x = memref.load %X[%vj, %vi] : memref<1000x1000xf32>
      memref.store %x, %Y[%vi, %vj] : memref<1000x1000xf32>
    }
  }
}
