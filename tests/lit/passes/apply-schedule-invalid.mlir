// RUN: relex-opt %s -p apply-schedule --split-input-file --verify-diagnostics

tir.prim_func @names(%X: memref<8xf32>) outs(%Y: memref<8xf32>) {
  tir.for %i @i in (8) {
    tir.block @Y (%vi: spatial<8> = %i) {
      %x = memref.load %X[%vi] : memref<8xf32>
      memref.store %x, %Y[%vi] : memref<8xf32>
    }
  }
}
schedule.sequence for @names {
  // expected-error @+1 {{'schedule.split' op expected a loop @j, found @i}}
  schedule.split @j by [?, 2]
}

// -----

tir.prim_func @free(%X: memref<8xf32>) outs(%Y: memref<8xf32>) {
  tir.for %i @i in (8) {
    tir.block @Y (%vi: spatial<8> = %i) {
      %x = memref.load %X[%vi] : memref<8xf32>
      memref.store %x, %Y[%vi] : memref<8xf32>
    }
  }
}
schedule.sequence for @free {
  // expected-error @+1 {{'schedule.split' op expected new names that are free, found @i}}
  schedule.split @i by [?, 2] into [@o, @i]
}

// -----

tir.prim_func @count(%X: memref<8xf32>) outs(%Y: memref<8xf32>) {
  tir.for %i @i in (8) {
    tir.block @Y (%vi: spatial<8> = %i) {
      %x = memref.load %X[%vi] : memref<8xf32>
      memref.store %x, %Y[%vi] : memref<8xf32>
    }
  }
}
schedule.sequence for @count {
  // expected-error @+1 {{'schedule.split' op expected 2 new names, found 1}}
  schedule.split @i by [?, 2] into [@o]
}

// -----

tir.prim_func @factors(%X: memref<8xf32>) outs(%Y: memref<8xf32>) {
  tir.for %i @i in (8) {
    tir.block @Y (%vi: spatial<8> = %i) {
      %x = memref.load %X[%vi] : memref<8xf32>
      memref.store %x, %Y[%vi] : memref<8xf32>
    }
  }
}
schedule.sequence for @factors {
  // expected-error @+1 {{'schedule.split' op expected factors of @i whose product is 8 or more, found 6}}
  schedule.split @i by [3, 2]
}

// -----

tir.prim_func @dynamic(%n: index, %X: memref<?xf32>) outs(%Y: memref<?xf32>) {
  tir.for %i @i in (%n) {
    tir.block @Y (%vi: spatial<%n> = %i) {
      %x = memref.load %X[%vi] : memref<?xf32>
      memref.store %x, %Y[%vi] : memref<?xf32>
    }
  }
}
schedule.sequence for @dynamic {
  // expected-error @+1 {{expected one factor of @i to be left open, as its extent is known at run time}}
  schedule.split @i by [3, 2]
}

// -----

tir.prim_func @kind(%X: memref<8xf32>) outs(%Y: memref<8xf32>) attributes {tir.noalias} {
  tir.for %i @i in (8) {
    tir.block @Y (%vi: spatial<8> = %i) {
      %x = memref.load %X[%vi] : memref<8xf32>
      memref.store %x, %Y[%vi] : memref<8xf32>
    }
  }
}
schedule.sequence for @kind {
  schedule.vectorize @i
  // expected-error @+1 {{expected @i to be a serial loop, found vectorized}}
  schedule.split @i by [?, 2]
}

// -----

tir.prim_func @statement(%X: memref<8xf32>) outs(%Y: memref<8xf32>) {
  tir.for %i @i in (8) {
    %x = memref.load %X[%i] : memref<8xf32>
    memref.store %x, %Y[%i] : memref<8xf32>
  }
}
schedule.sequence for @statement {
  // expected-error @+1 {{'schedule.pad' op expected only blocks in scheduled loops, found 'memref.load'}}
  schedule.pad @i to 3
}

// -----

tir.prim_func @one_version() outs(%Y: memref<8xf32>) {
  %zero = arith.constant 0.0 : f32
  tir.for %i @i in (8) {
    tir.block @Y (%vi: spatial<8> = %i) {
      memref.store %zero, %Y[%vi] : memref<8xf32>
    }
  }
}
schedule.sequence for @one_version {
  // expected-error @+1 {{'schedule.dispatch' op expected an extent of @i that is only known at run time, found 8}}
  schedule.dispatch [@i] on @i from 4
}

// -----

tir.prim_func @no_rest() outs(%Y: memref<8xf32>) {
  %zero = arith.constant 0.0 : f32
  tir.for %i @i in (8) {
    tir.block @Y (%vi: spatial<8> = %i) {
      memref.store %zero, %Y[%vi] : memref<8xf32>
    }
  }
}
schedule.sequence for @no_rest {
  // expected-error @+1 {{'schedule.partition' op expected the extent of @i to be above 4 and no multiple of it, found 8}}
  schedule.partition [@i] by 4
}

// -----

tir.prim_func @scan(%X: memref<8xf32>) outs(%Y: memref<8xf32>) attributes {tir.noalias} {
  %c7 = arith.constant 7 : index
  %T = tir.alloc_buffer : memref<8xf32>
  tir.for %i @i in (8) {
    tir.block @T (%vi: spatial<8> = %i) {
      %x = memref.load %X[%vi] : memref<8xf32>
      memref.store %x, %T[%vi] : memref<8xf32>
    }
  }
  tir.for %i @i1 in (8) {
    tir.block @Y (%vi: spatial<8> = %i) {
      %last = arith.subi %c7, %vi : index
      %t = memref.load %T[%last] : memref<8xf32>
      memref.store %t, %Y[%vi] : memref<8xf32>
    }
  }
}
schedule.sequence for @scan {
  // expected-error @+1 {{'schedule.partition' op expected each iteration of @i to use its own elements of %T}}
  schedule.partition [@i, @i1] by 3
}

// -----

tir.prim_func @extents() outs(%Y: memref<8xf32>, %Z: memref<7xf32>) attributes {tir.noalias} {
  %zero = arith.constant 0.0 : f32
  tir.for %i @i in (8) {
    tir.block @Y (%vi: spatial<8> = %i) {
      memref.store %zero, %Y[%vi] : memref<8xf32>
    }
  }
  tir.for %i @i1 in (7) {
    tir.block @Z (%vi: spatial<7> = %i) {
      memref.store %zero, %Z[%vi] : memref<7xf32>
    }
  }
}
schedule.sequence for @extents {
  // expected-error @+1 {{'schedule.partition' op expected @i1 to run as often as @i}}
  schedule.partition [@i, @i1] by 3
}

// -----

tir.prim_func @order() outs(%Y: memref<8xf32>, %Z: memref<8xf32>) attributes {tir.noalias} {
  %zero = arith.constant 0.0 : f32
  tir.for %i @i in (8) {
    tir.block @Y (%vi: spatial<8> = %i) {
      memref.store %zero, %Y[%vi] : memref<8xf32>
    }
  }
  tir.for %i @i1 in (8) {
    tir.block @Z (%vi: spatial<8> = %i) {
      memref.store %zero, %Z[%vi] : memref<8xf32>
    }
  }
}
schedule.sequence for @order {
  // expected-error @+1 {{'schedule.partition' op expected nests that follow each other, in their order}}
  schedule.partition [@i1, @i] by 3
}

// -----

tir.prim_func @between(%X: memref<8x8xf32>) outs(%Y: memref<8xf32>, %Z: memref<8x8xf32>) {
  tir.for %i @i in (8) {
    tir.block @Y (%vi: spatial<8> = %i) {
      %x = memref.load %X[%vi, %vi] : memref<8x8xf32>
      memref.store %x, %Y[%vi] : memref<8xf32>
    }
    tir.for %j @j in (8) {
      tir.block @Z (%vi: spatial<8> = %i, %vj: spatial<8> = %j) {
        %x = memref.load %X[%vi, %vj] : memref<8x8xf32>
        memref.store %x, %Z[%vi, %vj] : memref<8x8xf32>
      }
    }
  }
}
schedule.sequence for @between {
  // expected-error @+1 {{'schedule.fuse' op expected @j to be all that @i holds, found block @Y}}
  schedule.fuse [@i, @j]
}

// -----

tir.prim_func @fuse_empty(%X: memref<3x0xf32>) outs(%Y: memref<3xf32>) {
  %zero = arith.constant 0.0 : f32
  tir.for %i @i, %k @k in (3, 0) {
    tir.block @Y (%vi: spatial<3> = %i, %vk: reduce<0> = %k) {
      tir.init {
        memref.store %zero, %Y[%vi] : memref<3xf32>
      }
      %x = memref.load %X[%vi, %vk] : memref<3x0xf32>
      memref.store %x, %Y[%vi] : memref<3xf32>
    }
  }
}
schedule.sequence for @fuse_empty {
  // expected-error @+1 {{'schedule.fuse' op expected @k to have iterations, as others cannot be computed from none}}
  schedule.fuse [@i, @k]
}

// -----

tir.prim_func @apart(%X: memref<8xf32>) outs(%Y: memref<8xf32>, %Z: memref<8xf32>) {
  tir.for %i @i in (8) {
    tir.block @Y (%vi: spatial<8> = %i) {
      %x = memref.load %X[%vi] : memref<8xf32>
      memref.store %x, %Y[%vi] : memref<8xf32>
    }
  }
  tir.for %j @j in (8) {
    tir.block @Z (%vi: spatial<8> = %j) {
      %x = memref.load %X[%vi] : memref<8xf32>
      memref.store %x, %Z[%vi] : memref<8xf32>
    }
  }
}
schedule.sequence for @apart {
  // expected-error @+1 {{'schedule.reorder' op expected @j and @i to be perfectly nested}}
  schedule.reorder [@j, @i]
}

// -----

// The extent of one loop changes in another.

tir.prim_func @triangle(%n: index) outs(%Y: memref<8x8xf32>) {
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1 : index
  tir.for %i @i in (8) {
    %m = arith.addi %i, %one : index
    tir.for %j @j in (%m) {
      tir.block @Y (%vi: spatial<8> = %i, %vj: spatial<%n> = %j) {
        memref.store %zero, %Y[%vi, %vj] : memref<8x8xf32>
      }
    }
  }
}
schedule.sequence for @triangle {
  // expected-error @+1 {{'schedule.reorder' op expected the extent of @j not to change in @i}}
  schedule.reorder [@j, @i]
}

// -----

// A sum whose order is fixed.

tir.prim_func @strict(%X: memref<8xf32>) outs(%Y: memref<f32>) attributes {tir.noalias} {
  %zero = arith.constant 0.0 : f32
  tir.for %i @i, %j @j in (4, 2) {
    %k = arith.constant 2 : index
    %i2 = arith.muli %i, %k : index
    %ij = arith.addi %i2, %j : index
    tir.block @Y (%vk: reduce<8> = %ij) {
      tir.init {
        memref.store %zero, %Y[] : memref<f32>
      }
      %y = memref.load %Y[] : memref<f32>
      %x = memref.load %X[%vk] : memref<8xf32>
      %s = arith.addf %y, %x : f32
      memref.store %s, %Y[] : memref<f32>
    }
  }
}
schedule.sequence for @strict {
  // expected-error @+1 {{cannot reorder @i, @j: they carry the reduction @Y and 'arith.addf' lacks the flag 'reassoc', which 'annotate-fast-math' adds to reductions}}
  schedule.reorder [@j, @i]
}

// -----

// A recurrence: each element is read in the next iteration of @i.

tir.prim_func @recurrence() outs(%Y: memref<9x8xf32>) {
  %one = arith.constant 1 : index
  %seven = arith.constant 7 : index
  tir.for %i @i, %j @j in (8, 8) {
    tir.block @Y (%vi: spatial<8> = %i, %vj: spatial<8> = %j) {
      %back = arith.subi %seven, %vj : index
      %y = memref.load %Y[%vi, %back] : memref<9x8xf32>
      %next = arith.addi %vi, %one : index
      memref.store %y, %Y[%next, %vj] : memref<9x8xf32>
    }
  }
}
schedule.sequence for @recurrence {
  // expected-error @+1 {{cannot reorder @i, @j: they carry the reduction @Y and it is no sum, product, minimum or maximum}}
  schedule.reorder [@j, @i]
}

// -----

// What one block writes another one reads in a later iteration.

tir.prim_func @pair(%X: memref<8x8xf32>) outs(%Y: memref<8x8xf32>, %Z: memref<8x8xf32>) attributes {tir.noalias} {
  tir.for %i @i, %j @j in (8, 8) {
    tir.block @Y (%vi: spatial<8> = %i, %vj: spatial<8> = %j) {
      %x = memref.load %X[%vi, %vj] : memref<8x8xf32>
      memref.store %x, %Y[%vi, %vj] : memref<8x8xf32>
    }
    tir.block @Z (%vi: spatial<8> = %i, %vj: spatial<8> = %j) {
      %y = memref.load %Y[%vj, %vi] : memref<8x8xf32>
      memref.store %y, %Z[%vi, %vj] : memref<8x8xf32>
    }
  }
}
schedule.sequence for @pair {
  // expected-error @+1 {{cannot reorder @i, @j: @Y and @Z have a dependence through %Y}}
  schedule.reorder [@j, @i]
}

// -----

// Buffers that may share memory.

tir.prim_func @alias(%X: memref<8xf32>) outs(%Y: memref<8xf32>) {
  tir.for %i @i in (8) {
    tir.block @Y (%vi: spatial<8> = %i) {
      %x = memref.load %X[%vi] : memref<8xf32>
      memref.store %x, %Y[%vi] : memref<8xf32>
    }
  }
}
schedule.sequence for @alias {
  // expected-error @+1 {{'schedule.parallel' op expected iterations of @i that do not depend on each other, found elements of %X that @Y may touch in several}}
  schedule.parallel @i
}

// -----

tir.prim_func @reduction(%X: memref<8xf32>) outs(%Y: memref<f32>) {
  %zero = arith.constant 0.0 : f32
  tir.for %k @k in (8) {
    tir.block @Y (%vk: reduce<8> = %k) {
      tir.init {
        memref.store %zero, %Y[] : memref<f32>
      }
      %y = memref.load %Y[] : memref<f32>
      %x = memref.load %X[%vk] : memref<8xf32>
      %s = arith.addf %y, %x fastmath<reassoc> : f32
      memref.store %s, %Y[] : memref<f32>
    }
  }
}
schedule.sequence for @reduction {
  // expected-error @+1 {{'schedule.vectorize' op expected iterations of @k that do not depend on each other, found elements of %Y that @Y may touch in several}}
  schedule.vectorize @k
}

// -----

tir.prim_func @long(%X: memref<257xf32>) outs(%Y: memref<257xf32>) {
  tir.for %i @i in (257) {
    tir.block @Y (%vi: spatial<257> = %i) {
      %x = memref.load %X[%vi] : memref<257xf32>
      memref.store %x, %Y[%vi] : memref<257xf32>
    }
  }
}
schedule.sequence for @long {
  // expected-error @+1 {{'schedule.vectorize' op expected at most 256 iterations of @i, found 257; split it}}
  schedule.vectorize @i
}

// -----

tir.prim_func @open(%X: memref<?xf32>) outs(%Y: memref<?xf32>) {
  %c0 = arith.constant 0 : index
  %n = memref.dim %Y, %c0 : memref<?xf32>
  tir.for %i @i in (%n) {
    tir.block @Y (%vi: spatial<%n> = %i) {
      %x = memref.load %X[%vi] : memref<?xf32>
      memref.store %x, %Y[%vi] : memref<?xf32>
    }
  }
}
schedule.sequence for @open {
  // expected-error @+1 {{'schedule.vectorize' op expected at most 256 iterations of @i, found a number known at run time; split it}}
  schedule.vectorize @i
}

// -----

// A local buffer that every iteration uses anew.

tir.prim_func @scratch(%X: memref<8xf32>) outs(%Y: memref<8xf32>) attributes {tir.noalias} {
  %T = tir.alloc_buffer : memref<1xf32>
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  tir.for %i @i in (8) {
    tir.block @T (%vi: spatial<8> = %i) {
      %x = memref.load %X[%vi] : memref<8xf32>
      %place = arith.remsi %vi, %one : index
      memref.store %x, %T[%place] : memref<1xf32>
    }
    tir.block @Y (%vi: spatial<8> = %i) {
      %t = memref.load %T[%zero] : memref<1xf32>
      memref.store %t, %Y[%vi] : memref<8xf32>
    }
  }
}
schedule.sequence for @scratch {
  // expected-error @+1 {{expected iterations of @i that do not depend on each other, found elements of %T that @T may touch in several}}
  schedule.parallel @i
}

// -----

// Buffers by number.

tir.prim_func @no_buffer(%X: memref<8xf32>) outs(%Y: memref<8xf32>) attributes {tir.noalias} {
  %T = tir.alloc_buffer : memref<8xf32>
  tir.for %i @i in (8) {
    tir.block @T (%vi: spatial<8> = %i) {
      %x = memref.load %X[%vi] : memref<8xf32>
      memref.store %x, %T[%vi] : memref<8xf32>
    }
  }
  tir.for %j @j in (8) {
    tir.block @Y (%vi: spatial<8> = %j) {
      %t = memref.load %T[%vi] : memref<8xf32>
      memref.store %t, %Y[%vi] : memref<8xf32>
    }
  }
}
schedule.sequence for @no_buffer {
  // expected-error @+1 {{'schedule.cache_read' op expected @T to read 2 buffers or more, found %X}}
  schedule.cache_read @T read 1
}

// -----

tir.prim_func @no_block(%X: memref<8xf32>) outs(%Y: memref<8xf32>) attributes {tir.noalias} {
  %T = tir.alloc_buffer : memref<8xf32>
  tir.for %i @i in (8) {
    tir.block @T (%vi: spatial<8> = %i) {
      %x = memref.load %X[%vi] : memref<8xf32>
      memref.store %x, %T[%vi] : memref<8xf32>
    }
  }
  tir.for %j @j in (8) {
    tir.block @Y (%vi: spatial<8> = %j) {
      %t = memref.load %T[%vi] : memref<8xf32>
      memref.store %t, %Y[%vi] : memref<8xf32>
    }
  }
}
schedule.sequence for @no_block {
  // expected-error @+1 {{'schedule.compute_inline' op expected a block @S, found @T, @Y}}
  schedule.compute_inline @S
}

// -----

// What a caller sees stays.

tir.prim_func @output(%X: memref<8xf32>) outs(%Y: memref<8xf32>) attributes {tir.noalias} {
  %T = tir.alloc_buffer : memref<8xf32>
  tir.for %i @i in (8) {
    tir.block @T (%vi: spatial<8> = %i) {
      %x = memref.load %X[%vi] : memref<8xf32>
      memref.store %x, %T[%vi] : memref<8xf32>
    }
  }
  tir.for %j @j in (8) {
    tir.block @Y (%vi: spatial<8> = %j) {
      %t = memref.load %T[%vi] : memref<8xf32>
      memref.store %t, %Y[%vi] : memref<8xf32>
    }
  }
}
schedule.sequence for @output {
  // expected-error @+1 {{'schedule.compute_inline' op expected %Y to be a local buffer, found an argument of the function}}
  schedule.compute_inline @Y
}

// -----

tir.prim_func @inline_reduction(%X: memref<4x8xf32>) outs(%Y: memref<4xf32>, %Z: memref<4xf32>) attributes {tir.noalias} {
  %zero = arith.constant 0.0 : f32
  tir.for %i @i, %k @k in (4, 8) {
    tir.block @Y (%vi: spatial<4> = %i, %vk: reduce<8> = %k) {
      tir.init {
        memref.store %zero, %Y[%vi] : memref<4xf32>
      }
      %y = memref.load %Y[%vi] : memref<4xf32>
      %x = memref.load %X[%vi, %vk] : memref<4x8xf32>
      %s = arith.addf %y, %x : f32
      memref.store %s, %Y[%vi] : memref<4xf32>
    }
  }
  tir.for %j @j in (4) {
    tir.block @Z (%vi: spatial<4> = %j) {
      %y = memref.load %Y[%vi] : memref<4xf32>
      memref.store %y, %Z[%vi] : memref<4xf32>
    }
  }
}
schedule.sequence for @inline_reduction {
  // expected-error @+1 {{'schedule.compute_inline' op expected @Y to have spatial variables only, found a reduction}}
  schedule.compute_inline @Y
}

// -----

tir.prim_func @layout_of_argument(%X: memref<8xf32>) outs(%Y: memref<8xf32>) attributes {tir.noalias} {
  %T = tir.alloc_buffer : memref<8xf32>
  tir.for %i @i in (8) {
    tir.block @T (%vi: spatial<8> = %i) {
      %x = memref.load %X[%vi] : memref<8xf32>
      memref.store %x, %T[%vi] : memref<8xf32>
    }
  }
  tir.for %j @j in (8) {
    tir.block @Y (%vi: spatial<8> = %j) {
      %t = memref.load %T[%vi] : memref<8xf32>
      memref.store %t, %Y[%vi] : memref<8xf32>
    }
  }
}
schedule.sequence for @layout_of_argument {
  // expected-error @+1 {{'schedule.transform_layout' op expected %X to be a local buffer, found an argument of the function}}
  schedule.transform_layout @T read 0 by affine_map<(i) -> (i floordiv 2, i mod 2)>
}

// -----

// A size that is only known at run time is split.

tir.prim_func @layout_of_open_size(%X: memref<?x8xf32>) outs(%Y: memref<?x8xf32>) attributes {tir.noalias} {
  %c0 = arith.constant 0 : index
  %n = memref.dim %X, %c0 : memref<?x8xf32>
  %T = tir.alloc_buffer sizes(%n) : memref<?x8xf32>
  tir.for %i @i, %j @j in (%n, 8) {
    tir.block @T (%vi: spatial<%n> = %i, %vj: spatial<8> = %j) {
      %x = memref.load %X[%vi, %vj] : memref<?x8xf32>
      memref.store %x, %T[%vi, %vj] : memref<?x8xf32>
    }
  }
  tir.for %k @k, %l @l in (%n, 8) {
    tir.block @Y (%vi: spatial<%n> = %k, %vj: spatial<8> = %l) {
      %t = memref.load %T[%vi, %vj] : memref<?x8xf32>
      memref.store %t, %Y[%vi, %vj] : memref<?x8xf32>
    }
  }
}
schedule.sequence for @layout_of_open_size {
  schedule.transform_layout @T write 0 by affine_map<(i, j) -> (i, j mod 16)>
  // expected-error @+1 {{'schedule.transform_layout' op expected %T to have a shape that is known at compile time}}
  schedule.transform_layout @T write 0 by affine_map<(i, j) -> (i floordiv 2, i mod 2, j)>
}

// -----

// Two elements at one place, a place before the first, another number of indices.

tir.prim_func @layout_collision(%X: memref<8xf32>) outs(%Y: memref<8xf32>) attributes {tir.noalias} {
  %T = tir.alloc_buffer : memref<8xf32>
  tir.for %i @i in (8) {
    tir.block @T (%vi: spatial<8> = %i) {
      %x = memref.load %X[%vi] : memref<8xf32>
      memref.store %x, %T[%vi] : memref<8xf32>
    }
  }
  tir.for %j @j in (8) {
    tir.block @Y (%vi: spatial<8> = %j) {
      %t = memref.load %T[%vi] : memref<8xf32>
      memref.store %t, %Y[%vi] : memref<8xf32>
    }
  }
}
schedule.sequence for @layout_collision {
  // expected-error @+1 {{'schedule.transform_layout' op expected a map that puts each element of %T at a different place}}
  schedule.transform_layout @T write 0 by affine_map<(i) -> (i floordiv 2)>
}

// -----

tir.prim_func @layout_negative(%X: memref<8xf32>) outs(%Y: memref<8xf32>) attributes {tir.noalias} {
  %T = tir.alloc_buffer : memref<8xf32>
  tir.for %i @i in (8) {
    tir.block @T (%vi: spatial<8> = %i) {
      %x = memref.load %X[%vi] : memref<8xf32>
      memref.store %x, %T[%vi] : memref<8xf32>
    }
  }
  tir.for %j @j in (8) {
    tir.block @Y (%vi: spatial<8> = %j) {
      %t = memref.load %T[%vi] : memref<8xf32>
      memref.store %t, %Y[%vi] : memref<8xf32>
    }
  }
}
schedule.sequence for @layout_negative {
  // expected-error @+1 {{'schedule.transform_layout' op expected a map to places from 0 on, found -1}}
  schedule.transform_layout @T write 0 by affine_map<(i) -> (i - 1)>
}

// -----

tir.prim_func @layout_rank(%X: memref<8xf32>) outs(%Y: memref<8xf32>) attributes {tir.noalias} {
  %T = tir.alloc_buffer : memref<8xf32>
  tir.for %i @i in (8) {
    tir.block @T (%vi: spatial<8> = %i) {
      %x = memref.load %X[%vi] : memref<8xf32>
      memref.store %x, %T[%vi] : memref<8xf32>
    }
  }
  tir.for %j @j in (8) {
    tir.block @Y (%vi: spatial<8> = %j) {
      %t = memref.load %T[%vi] : memref<8xf32>
      memref.store %t, %Y[%vi] : memref<8xf32>
    }
  }
}
schedule.sequence for @layout_rank {
  // expected-error @+1 {{'schedule.transform_layout' op expected a map of 1 indices, as %T has, found 2}}
  schedule.transform_layout @T write 0 by affine_map<(i, j) -> (j, i)>
}

// -----

tir.prim_func @at_own_loop(%X: memref<8xf32>) outs(%Y: memref<8xf32>) attributes {tir.noalias} {
  %T = tir.alloc_buffer : memref<8xf32>
  tir.for %i @i in (8) {
    tir.block @T (%vi: spatial<8> = %i) {
      %x = memref.load %X[%vi] : memref<8xf32>
      memref.store %x, %T[%vi] : memref<8xf32>
    }
  }
  tir.for %j @j in (8) {
    tir.block @Y (%vi: spatial<8> = %j) {
      %t = memref.load %T[%vi] : memref<8xf32>
      memref.store %t, %Y[%vi] : memref<8xf32>
    }
  }
}
schedule.sequence for @at_own_loop {
  // expected-error @+1 {{'schedule.compute_at' op expected @T to stand outside of @i}}
  schedule.compute_at @T at @i
}

// -----

tir.prim_func @at_before(%X: memref<8xf32>) outs(%Y: memref<8xf32>) attributes {tir.noalias} {
  %T = tir.alloc_buffer : memref<8xf32>
  tir.for %i @i in (8) {
    tir.block @T (%vi: spatial<8> = %i) {
      %x = memref.load %X[%vi] : memref<8xf32>
      memref.store %x, %T[%vi] : memref<8xf32>
    }
  }
  tir.for %j @j in (8) {
    tir.block @Y (%vi: spatial<8> = %j) {
      %t = memref.load %T[%vi] : memref<8xf32>
      memref.store %t, %Y[%vi] : memref<8xf32>
    }
  }
}
schedule.sequence for @at_before {
  // expected-error @+1 {{'schedule.compute_at' op expected @Y to stand before @i}}
  schedule.compute_at @Y at @i
}

// -----

tir.prim_func @reverse_behind(%X: memref<8xf32>) outs(%Y: memref<8xf32>) attributes {tir.noalias} {
  %T = tir.alloc_buffer : memref<8xf32>
  tir.for %i @i in (8) {
    tir.block @T (%vi: spatial<8> = %i) {
      %x = memref.load %X[%vi] : memref<8xf32>
      memref.store %x, %T[%vi] : memref<8xf32>
    }
  }
  tir.for %j @j in (8) {
    tir.block @Y (%vi: spatial<8> = %j) {
      %t = memref.load %T[%vi] : memref<8xf32>
      memref.store %t, %Y[%vi] : memref<8xf32>
    }
  }
}
schedule.sequence for @reverse_behind {
  // expected-error @+1 {{'schedule.reverse_compute_at' op expected @T to stand after @j}}
  schedule.reverse_compute_at @T at @j
}

// -----

tir.prim_func @at_parallel(%X: memref<8xf32>) outs(%Y: memref<8xf32>) attributes {tir.noalias} {
  %T = tir.alloc_buffer : memref<8xf32>
  tir.for %i @i in (8) {
    tir.block @T (%vi: spatial<8> = %i) {
      %x = memref.load %X[%vi] : memref<8xf32>
      memref.store %x, %T[%vi] : memref<8xf32>
    }
  }
  tir.for %j @j in (8) {
    tir.block @Y (%vi: spatial<8> = %j) {
      %t = memref.load %T[%vi] : memref<8xf32>
      memref.store %t, %Y[%vi] : memref<8xf32>
    }
  }
}
schedule.sequence for @at_parallel {
  schedule.parallel @j
  // expected-error @+1 {{'schedule.compute_at' op expected @j to be a serial loop, found parallel}}
  schedule.compute_at @T at @j
}

// -----

// The sum of no terms is 0, which a loop without iterations would not copy.

tir.prim_func @no_terms(%X: memref<4x0xf32>) outs(%Y: memref<4xf32>) attributes {tir.noalias} {
  %zero = arith.constant 0.0 : f32
  tir.for %i @i, %k @k in (4, 0) {
    tir.block @Y (%vi: spatial<4> = %i, %vk: reduce<0> = %k) {
      tir.init {
        memref.store %zero, %Y[%vi] : memref<4xf32>
      }
      %y = memref.load %Y[%vi] : memref<4xf32>
      %x = memref.load %X[%vi, %vk] : memref<4x0xf32>
      %s = arith.addf %y, %x : f32
      memref.store %s, %Y[%vi] : memref<4xf32>
    }
  }
}
schedule.sequence for @no_terms {
  schedule.cache_write @Y write 0 into [@Z]
  // expected-error @+1 {{'schedule.reverse_compute_at' op expected @k to have iterations, found none}}
  schedule.reverse_compute_at @Z at @k
}

// -----

// An element is not finished before all of @k is done.

tir.prim_func @unfinished(%X: memref<4x8xf32>) outs(%Y: memref<4xf32>, %Z: memref<4xf32>) attributes {tir.noalias} {
  %zero = arith.constant 0.0 : f32
  tir.for %i @i, %k @k in (4, 8) {
    tir.block @Y (%vi: spatial<4> = %i, %vk: reduce<8> = %k) {
      tir.init {
        memref.store %zero, %Y[%vi] : memref<4xf32>
      }
      %y = memref.load %Y[%vi] : memref<4xf32>
      %x = memref.load %X[%vi, %vk] : memref<4x8xf32>
      %s = arith.addf %y, %x : f32
      memref.store %s, %Y[%vi] : memref<4xf32>
    }
  }
  tir.for %j @j in (4) {
    tir.block @Z (%vi: spatial<4> = %j) {
      %y = memref.load %Y[%vi] : memref<4xf32>
      memref.store %y, %Z[%vi] : memref<4xf32>
    }
  }
}
schedule.sequence for @unfinished {
  // expected-error @+1 {{'schedule.reverse_compute_at' op expected elements of %Y to be computed in one iteration of @k, found several}}
  schedule.reverse_compute_at @Z at @k
}

// -----

tir.prim_func @no_init(%X: memref<4x8xf32>) outs(%Y: memref<4xf32>, %Z: memref<4xf32>) attributes {tir.noalias} {
  %zero = arith.constant 0.0 : f32
  tir.for %i @i, %k @k in (4, 8) {
    tir.block @Y (%vi: spatial<4> = %i, %vk: reduce<8> = %k) {
      tir.init {
        memref.store %zero, %Y[%vi] : memref<4xf32>
      }
      %y = memref.load %Y[%vi] : memref<4xf32>
      %x = memref.load %X[%vi, %vk] : memref<4x8xf32>
      %s = arith.addf %y, %x : f32
      memref.store %s, %Y[%vi] : memref<4xf32>
    }
  }
  tir.for %j @j in (4) {
    tir.block @Z (%vi: spatial<4> = %j) {
      %y = memref.load %Y[%vi] : memref<4xf32>
      memref.store %y, %Z[%vi] : memref<4xf32>
    }
  }
}
schedule.sequence for @no_init {
  // expected-error @+1 {{'schedule.decompose_reduction' op expected @Z to have an init, found none}}
  schedule.decompose_reduction @Z at @j
}

// -----

tir.prim_func @decompose_inside(%X: memref<4x8xf32>) outs(%Y: memref<4xf32>, %Z: memref<4xf32>) attributes {tir.noalias} {
  %zero = arith.constant 0.0 : f32
  tir.for %i @i, %k @k in (4, 8) {
    tir.block @Y (%vi: spatial<4> = %i, %vk: reduce<8> = %k) {
      tir.init {
        memref.store %zero, %Y[%vi] : memref<4xf32>
      }
      %y = memref.load %Y[%vi] : memref<4xf32>
      %x = memref.load %X[%vi, %vk] : memref<4x8xf32>
      %s = arith.addf %y, %x : f32
      memref.store %s, %Y[%vi] : memref<4xf32>
    }
  }
  tir.for %j @j in (4) {
    tir.block @Z (%vi: spatial<4> = %j) {
      %y = memref.load %Y[%vi] : memref<4xf32>
      memref.store %y, %Z[%vi] : memref<4xf32>
    }
  }
}
schedule.sequence for @decompose_inside {
  schedule.reorder [@k, @i]
  // expected-error @+1 {{'schedule.decompose_reduction' op expected the loops of the reduction @Y to be inside @i, found @k around it}}
  schedule.decompose_reduction @Y at @i
}

// -----

tir.prim_func @decompose_elsewhere(%X: memref<4x8xf32>) outs(%Y: memref<4xf32>, %Z: memref<4xf32>) attributes {tir.noalias} {
  %zero = arith.constant 0.0 : f32
  tir.for %i @i, %k @k in (4, 8) {
    tir.block @Y (%vi: spatial<4> = %i, %vk: reduce<8> = %k) {
      tir.init {
        memref.store %zero, %Y[%vi] : memref<4xf32>
      }
      %y = memref.load %Y[%vi] : memref<4xf32>
      %x = memref.load %X[%vi, %vk] : memref<4x8xf32>
      %s = arith.addf %y, %x : f32
      memref.store %s, %Y[%vi] : memref<4xf32>
    }
  }
  tir.for %j @j in (4) {
    tir.block @Z (%vi: spatial<4> = %j) {
      %y = memref.load %Y[%vi] : memref<4xf32>
      memref.store %y, %Z[%vi] : memref<4xf32>
    }
  }
}
schedule.sequence for @decompose_elsewhere {
  // expected-error @+1 {{'schedule.decompose_reduction' op expected @Y to be inside @j}}
  schedule.decompose_reduction @Y at @j
}

// -----

// A loop that drives the place and the sum.

tir.prim_func @decompose_both(%X: memref<4x8xf32>) outs(%Y: memref<4xf32>, %Z: memref<4xf32>) attributes {tir.noalias} {
  %zero = arith.constant 0.0 : f32
  tir.for %i @i, %k @k in (4, 8) {
    tir.block @Y (%vi: spatial<4> = %i, %vk: reduce<8> = %k) {
      tir.init {
        memref.store %zero, %Y[%vi] : memref<4xf32>
      }
      %y = memref.load %Y[%vi] : memref<4xf32>
      %x = memref.load %X[%vi, %vk] : memref<4x8xf32>
      %s = arith.addf %y, %x : f32
      memref.store %s, %Y[%vi] : memref<4xf32>
    }
  }
  tir.for %j @j in (4) {
    tir.block @Z (%vi: spatial<4> = %j) {
      %y = memref.load %Y[%vi] : memref<4xf32>
      memref.store %y, %Z[%vi] : memref<4xf32>
    }
  }
}
schedule.sequence for @decompose_both {
  schedule.fuse [@i, @k]
  // expected-error @+1 {{'schedule.decompose_reduction' op expected @i_k_fused to drive either spatial or reduce variables of @Y, found both}}
  schedule.decompose_reduction @Y at @i_k_fused
}

// -----

tir.prim_func @two_writers(%X: memref<4x8xf32>) outs(%Y: memref<4xf32>, %Z: memref<4xf32>) attributes {tir.noalias} {
  %zero = arith.constant 0.0 : f32
  tir.for %i @i, %k @k in (4, 8) {
    tir.block @Y (%vi: spatial<4> = %i, %vk: reduce<8> = %k) {
      tir.init {
        memref.store %zero, %Y[%vi] : memref<4xf32>
      }
      %y = memref.load %Y[%vi] : memref<4xf32>
      %x = memref.load %X[%vi, %vk] : memref<4x8xf32>
      %s = arith.addf %y, %x : f32
      memref.store %s, %Y[%vi] : memref<4xf32>
    }
  }
  tir.for %j @j in (4) {
    tir.block @Z (%vi: spatial<4> = %j) {
      %y = memref.load %Y[%vi] : memref<4xf32>
      memref.store %y, %Z[%vi] : memref<4xf32>
    }
  }
}
schedule.sequence for @two_writers {
  schedule.decompose_reduction @Y at @k
  // expected-error @+1 {{'schedule.cache_write' op expected @Y alone to write %Y, found @Y_init as well}}
  schedule.cache_write @Y write 0
}

// -----

tir.prim_func @cache_write_inside(%X: memref<4x8xf32>) outs(%Y: memref<4xf32>, %Z: memref<4xf32>) attributes {tir.noalias} {
  %zero = arith.constant 0.0 : f32
  tir.for %i @i, %k @k in (4, 8) {
    tir.block @Y (%vi: spatial<4> = %i, %vk: reduce<8> = %k) {
      tir.init {
        memref.store %zero, %Y[%vi] : memref<4xf32>
      }
      %y = memref.load %Y[%vi] : memref<4xf32>
      %x = memref.load %X[%vi, %vk] : memref<4x8xf32>
      %s = arith.addf %y, %x : f32
      memref.store %s, %Y[%vi] : memref<4xf32>
    }
  }
  tir.for %j @j in (4) {
    tir.block @Z (%vi: spatial<4> = %j) {
      %y = memref.load %Y[%vi] : memref<4xf32>
      memref.store %y, %Z[%vi] : memref<4xf32>
    }
  }
}
schedule.sequence for @cache_write_inside {
  schedule.reverse_compute_at @Z at @i
  // expected-error @+1 {{'schedule.cache_write' op expected %Y to be read after the loops around @Y, found @Z in them}}
  schedule.cache_write @Y write 0
}

// -----

tir.prim_func @no_shared_loop(%X: memref<8xf32>) outs(%Y: memref<8xf32>) attributes {tir.noalias} {
  %T = tir.alloc_buffer : memref<8xf32>
  tir.for %i @i in (8) {
    tir.block @T (%vi: spatial<8> = %i) {
      %x = memref.load %X[%vi] : memref<8xf32>
      memref.store %x, %T[%vi] : memref<8xf32>
    }
  }
  tir.for %j @j in (8) {
    tir.block @Y (%vi: spatial<8> = %j) {
      %t = memref.load %T[%vi] : memref<8xf32>
      memref.store %t, %Y[%vi] : memref<8xf32>
    }
  }
}
schedule.sequence for @no_shared_loop {
  // expected-error @+1 {{'schedule.compact_buffer' op expected all uses of %T in one loop, inside of its scope}}
  schedule.compact_buffer @T write 0
}

// -----

tir.prim_func @no_condition(%X: memref<8xf32>) outs(%Y: memref<8xf32>) attributes {tir.noalias} {
  %T = tir.alloc_buffer : memref<8xf32>
  tir.for %i @i in (8) {
    tir.block @T (%vi: spatial<8> = %i) {
      %x = memref.load %X[%vi] : memref<8xf32>
      memref.store %x, %T[%vi] : memref<8xf32>
    }
  }
  tir.for %j @j in (8) {
    tir.block @Y (%vi: spatial<8> = %j) {
      %t = memref.load %T[%vi] : memref<8xf32>
      memref.store %t, %Y[%vi] : memref<8xf32>
    }
  }
}
schedule.sequence for @no_condition {
  // expected-error @+1 {{'schedule.unguard' op expected a condition around @T, found none}}
  schedule.unguard @T
}

// -----

tir.prim_func @no_condition_to_fill(%X: memref<8xf32>) outs(%Y: memref<8xf32>) attributes {tir.noalias} {
  %T = tir.alloc_buffer : memref<8xf32>
  tir.for %i @i in (8) {
    tir.block @T (%vi: spatial<8> = %i) {
      %x = memref.load %X[%vi] : memref<8xf32>
      memref.store %x, %T[%vi] : memref<8xf32>
    }
  }
  tir.for %j @j in (8) {
    tir.block @Y (%vi: spatial<8> = %j) {
      %t = memref.load %T[%vi] : memref<8xf32>
      memref.store %t, %Y[%vi] : memref<8xf32>
    }
  }
}
schedule.sequence for @no_condition_to_fill {
  // expected-error @+1 {{'schedule.zero_fill' op expected a condition around @T, found none}}
  schedule.zero_fill @T
}

// -----

tir.prim_func @zeros_out_of_range(%X: memref<8xf32>) outs(%Y: memref<8xf32>) attributes {tir.noalias} {
  %T = tir.alloc_buffer : memref<8xf32>
  tir.for %i @i in (8) {
    tir.block @T (%vi: spatial<8> = %i) {
      %x = memref.load %X[%vi] : memref<8xf32>
      memref.store %x, %T[%vi] : memref<8xf32>
    }
  }
  tir.for %j @j in (8) {
    tir.block @Y (%vi: spatial<8> = %j) {
      %t = memref.load %T[%vi] : memref<8xf32>
      memref.store %t, %Y[%vi] : memref<8xf32>
    }
  }
}
schedule.sequence for @zeros_out_of_range {
  schedule.split @i by [?, 3]
  // expected-error @+1 {{'schedule.zero_fill' op expected @T to stay in %T without its condition}}
  schedule.zero_fill @T
}

// -----

tir.prim_func @zeros_in_output(%X: memref<8xf32>) outs(%Y: memref<8xf32>) attributes {tir.noalias} {
  tir.for %i @i in (8) {
    tir.block @Y (%vi: spatial<8> = %i) {
      %x = memref.load %X[%vi] : memref<8xf32>
      memref.store %x, %Y[%vi] : memref<8xf32>
    }
  }
}
schedule.sequence for @zeros_in_output {
  schedule.split @i by [?, 3]
  // expected-error @+1 {{'schedule.zero_fill' op expected @Y to stay in %Y without its condition}}
  schedule.zero_fill @Y
}

// -----

tir.prim_func @zeros_of_reduction(%X: memref<8x8xf32>) outs(%Y: memref<8xf32>) attributes {tir.noalias} {
  %T = tir.alloc_buffer : memref<8xf32>
  %zero = arith.constant 0.0 : f32
  tir.for %i @i, %k @k in (8, 8) {
    tir.block @T (%vi: spatial<8> = %i, %vk: reduce<8> = %k) {
      tir.init {
        memref.store %zero, %T[%vi] : memref<8xf32>
      }
      %t = memref.load %T[%vi] : memref<8xf32>
      %x = memref.load %X[%vi, %vk] : memref<8x8xf32>
      %s = arith.addf %t, %x : f32
      memref.store %s, %T[%vi] : memref<8xf32>
    }
  }
  tir.for %j @j in (8) {
    tir.block @Y (%vi: spatial<8> = %j) {
      %t = memref.load %T[%vi] : memref<8xf32>
      memref.store %t, %Y[%vi] : memref<8xf32>
    }
  }
}
schedule.sequence for @zeros_of_reduction {
  schedule.split @k by [?, 3]
  // expected-error @+1 {{'schedule.zero_fill' op expected @T not to be a reduction}}
  schedule.zero_fill @T
}

// -----

tir.prim_func @zeros_of_two(%X: memref<8xf32>) outs(%Y: memref<8xf32>) attributes {tir.noalias} {
  %T = tir.alloc_buffer : memref<9x2xf32>
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  tir.for %i @i in (8) {
    tir.block @T (%vi: spatial<8> = %i) {
      %x = memref.load %X[%vi] : memref<8xf32>
      memref.store %x, %T[%vi, %zero] : memref<9x2xf32>
      memref.store %x, %T[%vi, %one] : memref<9x2xf32>
    }
  }
  tir.for %j @j in (8) {
    tir.block @Y (%vi: spatial<8> = %j) {
      %t = memref.load %T[%vi, %one] : memref<9x2xf32>
      memref.store %t, %Y[%vi] : memref<8xf32>
    }
  }
}
schedule.sequence for @zeros_of_two {
  schedule.split @i by [?, 3]
  // expected-error @+1 {{'schedule.zero_fill' op expected @T to store one element, at its end}}
  schedule.zero_fill @T
}

// -----

tir.prim_func @out_of_range(%X: memref<8xf32>) outs(%Y: memref<8xf32>) attributes {tir.noalias} {
  %T = tir.alloc_buffer : memref<8xf32>
  tir.for %i @i in (8) {
    tir.block @T (%vi: spatial<8> = %i) {
      %x = memref.load %X[%vi] : memref<8xf32>
      memref.store %x, %T[%vi] : memref<8xf32>
    }
  }
  tir.for %j @j in (8) {
    tir.block @Y (%vi: spatial<8> = %j) {
      %t = memref.load %T[%vi] : memref<8xf32>
      memref.store %t, %Y[%vi] : memref<8xf32>
    }
  }
}
schedule.sequence for @out_of_range {
  schedule.split @i by [?, 3]
  // expected-error @+1 {{'schedule.unguard' op expected @T to stay in %X without its condition}}
  schedule.unguard @T
}

// -----

// What is loaded beyond the condition may be any number: it is no index.
tir.prim_func @any_number(%X: memref<5xf32>, %P: memref<12xi64>) outs(%Y: memref<10xf32>) attributes {tir.noalias} {
  %T = tir.alloc_buffer : memref<12xf32>
  tir.for %i @i in (10) {
    tir.block @T (%vi: spatial<10> = %i) {
      %n = memref.load %P[%vi] : memref<12xi64>
      %k = arith.index_cast %n : i64 to index
      %x = memref.load %X[%k] : memref<5xf32>
      memref.store %x, %T[%vi] : memref<12xf32>
    }
  }
  tir.for %j @j in (10) {
    tir.block @Y (%vj: spatial<10> = %j) {
      %t = memref.load %T[%vj] : memref<12xf32>
      memref.store %t, %Y[%vj] : memref<10xf32>
    }
  }
}
schedule.sequence for @any_number {
  schedule.split @i by [?, 4]
  // expected-error @+1 {{'schedule.unguard' op expected @T to stay in %X without its condition}}
  schedule.unguard @T
}

// -----

tir.prim_func @written_before(%X: memref<6xf32>) outs(%Y: memref<8xf32>) attributes {tir.noalias} {
  %T = tir.alloc_buffer : memref<8xf32>
  tir.for %j @j in (8) {
    tir.block @U (%vj: spatial<8> = %j) {
      %one = arith.constant 1.0 : f32
      memref.store %one, %T[%vj] : memref<8xf32>
    }
  }
  tir.for %i @i in (6) {
    tir.block @T (%vi: spatial<6> = %i) {
      %two = arith.constant 2.0 : f32
      memref.store %two, %T[%vi] : memref<8xf32>
    }
  }
  tir.for %k @k in (8) {
    tir.block @Y (%vk: spatial<8> = %k) {
      %t = memref.load %T[%vk] : memref<8xf32>
      memref.store %t, %Y[%vk] : memref<8xf32>
    }
  }
}
schedule.sequence for @written_before {
  schedule.split @i by [?, 4]
  // expected-error @+1 {{'schedule.unguard' op expected @T alone to write its elements of %T, found @U as well}}
  schedule.unguard @T
}

// -----

tir.prim_func @not_finite(%X: memref<5xf32>, %W: memref<3xf32>) outs(%Y: memref<5xf32>) attributes {tir.noalias} {
  %zero = arith.constant 0.0 : f32
  %c5 = arith.constant 5 : index
  %P = tir.alloc_buffer : memref<7xf32>
  tir.for %i @i1 in (7) {
    tir.block @P (%vi: spatial<7> = %i) {
      %inside = arith.cmpi slt, %vi, %c5 : index
      %p = scf.if %inside -> (f32) {
        %x = memref.load %X[%vi] : memref<5xf32>
        scf.yield %x : f32
      } else {
        scf.yield %zero : f32
      }
      memref.store %p, %P[%vi] : memref<7xf32>
    }
  }
  tir.for %i @i, %r @r in (5, 3) {
    tir.block @Y (%vi: spatial<5> = %i, %vr: reduce<3> = %r) {
      %y = memref.load %Y[%vi] : memref<5xf32>
      %at = arith.addi %vi, %vr : index
      %p = memref.load %P[%at] : memref<7xf32>
      %w = memref.load %W[%vr] : memref<3xf32>
      %product = arith.mulf %p, %w : f32
      %s = arith.addf %y, %product : f32
      memref.store %s, %Y[%vi] : memref<5xf32>
    }
  }
}
schedule.sequence for @not_finite {
  // expected-error @+1 {{'schedule.skip_padding' op expected @Y to add products of padding with numbers that are known to be finite, as in inputs with 'relex.finite'}}
  schedule.skip_padding @r
}

// -----

tir.prim_func @prefetch_two(%X: memref<5x300xf32>) outs(%Y: memref<5x300xf32>, %Z: memref<5x300xf32>) attributes {tir.noalias} {
  tir.for %i @i, %j @j in (5, 300) {
    tir.block @Y (%vi: spatial<5> = %i, %vj: spatial<300> = %j) {
      %x = memref.load %X[%vi, %vj] : memref<5x300xf32>
      memref.store %x, %Y[%vi, %vj] : memref<5x300xf32>
    }
    tir.block @Z (%vi: spatial<5> = %i, %vj: spatial<300> = %j) {
      %x = memref.load %X[%vi, %vj] : memref<5x300xf32>
      memref.store %x, %Z[%vi, %vj] : memref<5x300xf32>
    }
  }
}
schedule.sequence for @prefetch_two {
  // expected-error @+1 {{'schedule.prefetch' op expected @j to be around @Y alone}}
  schedule.prefetch @Y read 0 at @j ahead 8
}

// -----

tir.prim_func @prefetch_same(%X: memref<5xf32>) outs(%Y: memref<5x300xf32>) attributes {tir.noalias} {
  tir.for %i @i, %j @j in (5, 300) {
    tir.block @Y (%vi: spatial<5> = %i, %vj: spatial<300> = %j) {
      %x = memref.load %X[%vi] : memref<5xf32>
      memref.store %x, %Y[%vi, %vj] : memref<5x300xf32>
    }
  }
}
schedule.sequence for @prefetch_same {
  // expected-error @+1 {{'schedule.prefetch' op expected @j to index %X}}
  schedule.prefetch @Y read 0 at @j ahead 8
}

// -----

tir.prim_func @prefetch_open(%X: memref<5x?xf32>, %n: index) outs(%Y: memref<5x?xf32>) attributes {tir.noalias} {
  tir.for %i @i, %j @j in (5, %n) {
    tir.block @Y (%vi: spatial<5> = %i, %vj: spatial<%n> = %j) {
      %x = memref.load %X[%vi, %vj] : memref<5x?xf32>
      memref.store %x, %Y[%vi, %vj] : memref<5x?xf32>
    }
  }
}
schedule.sequence for @prefetch_open {
  // expected-error @+1 {{'schedule.prefetch' op expected @j to have a known number of iterations}}
  schedule.prefetch @Y read 0 at @i ahead 8
}

// -----

tir.prim_func @reverse_inline_reduction(%X: memref<4x8xf32>) outs(%Y: memref<4xf32>, %Z: memref<4xf32>) attributes {tir.noalias} {
  %zero = arith.constant 0.0 : f32
  tir.for %i @i, %k @k in (4, 8) {
    tir.block @Y (%vi: spatial<4> = %i, %vk: reduce<8> = %k) {
      tir.init {
        memref.store %zero, %Y[%vi] : memref<4xf32>
      }
      %y = memref.load %Y[%vi] : memref<4xf32>
      %x = memref.load %X[%vi, %vk] : memref<4x8xf32>
      %s = arith.addf %y, %x : f32
      memref.store %s, %Y[%vi] : memref<4xf32>
    }
  }
  tir.for %j @j in (4) {
    tir.block @Z (%vi: spatial<4> = %j) {
      %y = memref.load %Y[%vi] : memref<4xf32>
      memref.store %y, %Z[%vi] : memref<4xf32>
    }
  }
}
schedule.sequence for @reverse_inline_reduction {
  // expected-error @+1 {{'schedule.reverse_compute_inline' op expected @Y to have spatial variables only, found a reduction}}
  schedule.reverse_compute_inline @Z
}

// -----

// What the block reads changes before its result is read.

tir.prim_func @changed(%X: memref<8xf32>) outs(%Y: memref<8xf32>) attributes {tir.noalias} {
  %S = tir.alloc_buffer : memref<8xf32>
  %T = tir.alloc_buffer : memref<8xf32>
  %zero = arith.constant 0.0 : f32
  tir.for %i @i in (8) {
    tir.block @S (%vi: spatial<8> = %i) {
      %x = memref.load %X[%vi] : memref<8xf32>
      memref.store %x, %S[%vi] : memref<8xf32>
    }
  }
  tir.for %i @i1 in (8) {
    tir.block @T (%vi: spatial<8> = %i) {
      %s = memref.load %S[%vi] : memref<8xf32>
      memref.store %s, %T[%vi] : memref<8xf32>
    }
  }
  tir.for %i @i2 in (8) {
    tir.block @clear (%vi: spatial<8> = %i) {
      memref.store %zero, %S[%vi] : memref<8xf32>
    }
  }
  tir.for %i @i3 in (8) {
    tir.block @Y (%vi: spatial<8> = %i) {
      %t = memref.load %T[%vi] : memref<8xf32>
      memref.store %t, %Y[%vi] : memref<8xf32>
    }
  }
}
schedule.sequence for @changed {
  // expected-error @+1 {{'schedule.compute_inline' op expected what @T reads not to change before its result is read, found @clear, which writes %S}}
  schedule.compute_inline @T
}

// -----

// What the block reads changes before its result is read.

tir.prim_func @passed(%X: memref<8xf32>) outs(%Y: memref<8xf32>) attributes {tir.noalias} {
  %S = tir.alloc_buffer : memref<8xf32>
  %T = tir.alloc_buffer : memref<8xf32>
  %zero = arith.constant 0.0 : f32
  tir.for %i @i in (8) {
    tir.block @S (%vi: spatial<8> = %i) {
      %x = memref.load %X[%vi] : memref<8xf32>
      memref.store %x, %S[%vi] : memref<8xf32>
    }
  }
  tir.for %i @i1 in (8) {
    tir.block @T (%vi: spatial<8> = %i) {
      %s = memref.load %S[%vi] : memref<8xf32>
      memref.store %s, %T[%vi] : memref<8xf32>
    }
  }
  tir.for %i @i2 in (8) {
    tir.block @clear (%vi: spatial<8> = %i) {
      memref.store %zero, %S[%vi] : memref<8xf32>
    }
  }
  tir.for %i @i3 in (8) {
    tir.block @Y (%vi: spatial<8> = %i) {
      %t = memref.load %T[%vi] : memref<8xf32>
      memref.store %t, %Y[%vi] : memref<8xf32>
    }
  }
}
schedule.sequence for @passed {
  // expected-error @+1 {{'schedule.compute_at' op expected @T to pass nothing that it depends on, found @clear, which writes %S}}
  schedule.compute_at @T at @i3
}

// -----

// A running sum: an element is carried from one iteration to the next.

tir.prim_func @handed_on(%X: memref<8xf32>) outs(%Y: memref<8xf32>) attributes {tir.noalias} {
  %T = tir.alloc_buffer : memref<9xf32>
  %one = arith.constant 1 : index
  tir.for %i @i in (8) {
    tir.block @T (%vi: spatial<8> = %i) {
      %x = memref.load %X[%vi] : memref<8xf32>
      %t = memref.load %T[%vi] : memref<9xf32>
      %s = arith.addf %t, %x : f32
      %next = arith.addi %vi, %one : index
      memref.store %s, %T[%next] : memref<9xf32>
    }
  }
}
schedule.sequence for @handed_on {
  // expected-error @+1 {{%T carries values across iterations of @i}}
  schedule.compact_buffer @T write 0
}

// -----

// Conditions that do not belong to one block.

tir.prim_func @conditions(%X: memref<8xf32>, %c: i1) outs(%Y: memref<8xf32>) {
  tir.for %i @i in (8) {
    scf.if %c {
      tir.block @Y (%vi: spatial<8> = %i) {
        %x = memref.load %X[%vi] : memref<8xf32>
        memref.store %x, %Y[%vi] : memref<8xf32>
      }
    } else {
    }
  }
}
schedule.sequence for @conditions {
  // expected-error @+1 {{'schedule.split' op expected one block in a condition, no else and no results}}
  schedule.split @i by [?, 2]
}

// -----

tir.prim_func @around(%X: memref<8xf32>, %c: i1) outs(%Y: memref<8xf32>) attributes {tir.noalias} {
  %T = tir.alloc_buffer : memref<8xf32>
  scf.if %c {
    tir.for %i @i in (8) {
      tir.block @T (%vi: spatial<8> = %i) {
        %x = memref.load %X[%vi] : memref<8xf32>
        memref.store %x, %T[%vi] : memref<8xf32>
      }
    }
  }
  tir.for %j @j in (8) {
    tir.block @Y (%vi: spatial<8> = %j) {
      %t = memref.load %T[%vi] : memref<8xf32>
      memref.store %t, %Y[%vi] : memref<8xf32>
    }
  }
}
schedule.sequence for @around {
  // expected-error @+1 {{'schedule.compute_inline' op expected loops only around @T and its own condition, found 'scf.if'}}
  schedule.compute_inline @T
}

// -----

// Two loops around both: what the block reads in an iteration of @i is not what is computed in it.

tir.prim_func @skewed(%X: memref<4x8xf32>) outs(%Y: memref<4x8xf32>) attributes {tir.noalias} {
  %T = tir.alloc_buffer : memref<4x8xf32>
  %three = arith.constant 3 : index
  tir.for %i @i in (4) {
    tir.for %j @j in (8) {
      tir.block @T (%vi: spatial<4> = %i, %vj: spatial<8> = %j) {
        %x = memref.load %X[%vi, %vj] : memref<4x8xf32>
        memref.store %x, %T[%vi, %vj] : memref<4x8xf32>
      }
    }
    %back = arith.subi %three, %i : index
    tir.for %j @j1 in (8) {
      tir.block @Y (%vi: spatial<4> = %back, %vj: spatial<8> = %j) {
        %t = memref.load %T[%vi, %vj] : memref<4x8xf32>
        memref.store %t, %Y[%vi, %vj] : memref<4x8xf32>
      }
    }
  }
}
schedule.sequence for @skewed {
  // expected-error @+1 {{'schedule.reverse_compute_at' op expected @i to compute in each iteration what @Y reads there}}
  schedule.reverse_compute_at @Y at @j
}

// -----

// Each iteration of @k_0 reads a part of the sum.

tir.prim_func @part(%X: memref<4x8xf32>) outs(%Y: memref<4xf32>) attributes {tir.noalias} {
  %zero = arith.constant 0.0 : f32
  %four = arith.constant 4 : index
  %T = tir.alloc_buffer : memref<4xf32>
  tir.for %k @k_0 in (2) {
    tir.for %i @i, %l @k_1 in (4, 4) {
      %tile = arith.muli %k, %four : index
      %kl = arith.addi %tile, %l : index
      tir.block @T (%vi: spatial<4> = %i, %vk: reduce<8> = %kl) {
        tir.init {
          memref.store %zero, %T[%vi] : memref<4xf32>
        }
        %t = memref.load %T[%vi] : memref<4xf32>
        %x = memref.load %X[%vi, %vk] : memref<4x8xf32>
        %s = arith.addf %t, %x : f32
        memref.store %s, %T[%vi] : memref<4xf32>
      }
    }
    tir.for %i @i1 in (4) {
      tir.block @Y (%vi: spatial<4> = %i) {
        %t = memref.load %T[%vi] : memref<4xf32>
        memref.store %t, %Y[%vi] : memref<4xf32>
      }
    }
  }
}
schedule.sequence for @part {
  // expected-error @+1 {{'schedule.compute_at' op expected the loops of the reduction @T around it alone}}
  schedule.compute_at @T at @i1
}

// -----

tir.prim_func @rfactor_in_order(%X: memref<4x8xf32>) outs(%Y: memref<4xf32>) attributes {tir.noalias} {
  %zero = arith.constant 0.0 : f32
  tir.for %i @i, %k @k in (4, 8) {
    tir.block @Y (%vi: spatial<4> = %i, %vk: reduce<8> = %k) {
      tir.init {
        memref.store %zero, %Y[%vi] : memref<4xf32>
      }
      %y = memref.load %Y[%vi] : memref<4xf32>
      %x = memref.load %X[%vi, %vk] : memref<4x8xf32>
      %s = arith.addf %y, %x : f32
      memref.store %s, %Y[%vi] : memref<4xf32>
    }
  }
}
schedule.sequence for @rfactor_in_order {
  // expected-error @+1 {{'schedule.rfactor' op expected steps of @Y that may be done in any order, but 'arith.addf' lacks the flag 'reassoc', which 'annotate-fast-math' adds to reductions}}
  schedule.rfactor @Y along @k at @k
}

// -----

tir.prim_func @rfactor_along_space(%X: memref<4x8xf32>) outs(%Y: memref<4xf32>) attributes {tir.noalias} {
  %zero = arith.constant 0.0 : f32
  tir.for %i @i, %k @k in (4, 8) {
    tir.block @Y (%vi: spatial<4> = %i, %vk: reduce<8> = %k) {
      tir.init {
        memref.store %zero, %Y[%vi] : memref<4xf32>
      }
      %y = memref.load %Y[%vi] : memref<4xf32>
      %x = memref.load %X[%vi, %vk] : memref<4x8xf32>
      %s = arith.addf %y, %x fastmath<reassoc> : f32
      memref.store %s, %Y[%vi] : memref<4xf32>
    }
  }
}
schedule.sequence for @rfactor_along_space {
  // expected-error @+1 {{'schedule.rfactor' op expected @i to be a loop of the reduction @Y}}
  schedule.rfactor @Y along @i at @i
}

// -----

tir.prim_func @rfactor_inside(%X: memref<4x8xf32>) outs(%Y: memref<4xf32>) attributes {tir.noalias} {
  %zero = arith.constant 0.0 : f32
  tir.for %i @i, %k @k in (4, 8) {
    tir.block @Y (%vi: spatial<4> = %i, %vk: reduce<8> = %k) {
      tir.init {
        memref.store %zero, %Y[%vi] : memref<4xf32>
      }
      %y = memref.load %Y[%vi] : memref<4xf32>
      %x = memref.load %X[%vi, %vk] : memref<4x8xf32>
      %s = arith.addf %y, %x fastmath<reassoc> : f32
      memref.store %s, %Y[%vi] : memref<4xf32>
    }
  }
}
schedule.sequence for @rfactor_inside {
  schedule.split @k by [?, 4]
  // expected-error @+1 {{'schedule.rfactor' op expected the loops of the reduction @Y to be inside @k_1, found @k_0 around it}}
  schedule.rfactor @Y along @k_1 at @k_1
}

// -----

tir.prim_func @rfactor_shared(%X: memref<4x8xf32>) outs(%Y: memref<4xf32>) {
  %zero = arith.constant 0.0 : f32
  tir.for %i @i, %k @k in (4, 8) {
    tir.block @Y (%vi: spatial<4> = %i, %vk: reduce<8> = %k) {
      tir.init {
        memref.store %zero, %Y[%vi] : memref<4xf32>
      }
      %y = memref.load %Y[%vi] : memref<4xf32>
      %x = memref.load %X[%vi, %vk] : memref<4x8xf32>
      %s = arith.addf %y, %x fastmath<reassoc> : f32
      memref.store %s, %Y[%vi] : memref<4xf32>
    }
  }
}
schedule.sequence for @rfactor_shared {
  // expected-error @+1 {{'schedule.rfactor' op expected a function with 'tir.noalias', as %Y and %X may share memory otherwise}}
  schedule.rfactor @Y along @k at @k
}

// -----

tir.prim_func @rfactor_both(%X: memref<4x8xf32>) outs(%Y: memref<4xf32>) attributes {tir.noalias} {
  %zero = arith.constant 0.0 : f32
  tir.for %i @i, %k @k in (4, 8) {
    tir.block @Y (%vi: spatial<4> = %i, %vk: reduce<8> = %k) {
      tir.init {
        memref.store %zero, %Y[%vi] : memref<4xf32>
      }
      %y = memref.load %Y[%vi] : memref<4xf32>
      %x = memref.load %X[%vi, %vk] : memref<4x8xf32>
      %s = arith.addf %y, %x fastmath<reassoc> : f32
      memref.store %s, %Y[%vi] : memref<4xf32>
    }
  }
}
schedule.sequence for @rfactor_both {
  schedule.fuse [@i, @k]
  // expected-error @+1 {{'schedule.rfactor' op expected the variables of @Y to be sums of loops}}
  schedule.rfactor @Y along @i_k_fused at @i_k_fused
}

// -----

tir.prim_func @rfactor_names(%X: memref<4x8xf32>) outs(%Y: memref<4xf32>) attributes {tir.noalias} {
  %zero = arith.constant 0.0 : f32
  tir.for %i @i, %k @k in (4, 8) {
    tir.block @Y (%vi: spatial<4> = %i, %vk: reduce<8> = %k) {
      tir.init {
        memref.store %zero, %Y[%vi] : memref<4xf32>
      }
      %y = memref.load %Y[%vi] : memref<4xf32>
      %x = memref.load %X[%vi, %vk] : memref<4x8xf32>
      %s = arith.addf %y, %x fastmath<reassoc> : f32
      memref.store %s, %Y[%vi] : memref<4xf32>
    }
  }
}
schedule.sequence for @rfactor_names {
  // expected-error @+1 {{'schedule.rfactor' op expected 2 new names, found 1}}
  schedule.rfactor @Y along @k at @k into [@Z]
}

// -----

tir.prim_func @rfactor_two(%X: memref<4x8xf32>) outs(%Y: memref<4xf32>, %Z: memref<4x8xf32>) attributes {tir.noalias} {
  %zero = arith.constant 0.0 : f32
  tir.for %i @i, %k @k in (4, 8) {
    tir.block @Y (%vi: spatial<4> = %i, %vk: reduce<8> = %k) {
      tir.init {
        memref.store %zero, %Y[%vi] : memref<4xf32>
      }
      %y = memref.load %Y[%vi] : memref<4xf32>
      %x = memref.load %X[%vi, %vk] : memref<4x8xf32>
      %s = arith.addf %y, %x fastmath<reassoc> : f32
      memref.store %s, %Y[%vi] : memref<4xf32>
    }
    tir.block @Z (%vi: spatial<4> = %i, %vk: spatial<8> = %k) {
      %y = memref.load %Y[%vi] : memref<4xf32>
      memref.store %y, %Z[%vi, %vk] : memref<4x8xf32>
    }
  }
}
schedule.sequence for @rfactor_two {
  // expected-error @+1 {{'schedule.rfactor' op expected @Y to be alone in @k, found @Z}}
  schedule.rfactor @Y along @k at @k
}

// -----

tir.prim_func @order_of_sums(%X: memref<4x8xf32>) outs(%Y: memref<4xf32>) attributes {tir.noalias} {
  %start = arith.constant 0.0 : f32
  %T = tir.alloc_buffer : memref<4xf32>
  tir.for %i @i, %k @k in (4, 8) {
    tir.block @T (%vi: spatial<4> = %i, %vk: reduce<8> = %k) {
      tir.init {
        memref.store %start, %T[%vi] : memref<4xf32>
      }
      %t = memref.load %T[%vi] : memref<4xf32>
      %x = memref.load %X[%vi, %vk] : memref<4x8xf32>
      %m = arith.addf %t, %x fastmath<reassoc> : f32
      memref.store %m, %T[%vi] : memref<4xf32>
    }
  }
}
schedule.sequence for @order_of_sums {
  // expected-error @+1 {{'schedule.order_as_integers' op expected @T to look for the largest or smallest of f32 or f64}}
  schedule.order_as_integers @T
}

// -----

tir.prim_func @order_of_short_floats(%X: memref<4x8xf16>) outs(%Y: memref<4xf16>) attributes {tir.noalias} {
  %start = arith.constant 0.0 : f16
  %T = tir.alloc_buffer : memref<4xf16>
  tir.for %i @i, %k @k in (4, 8) {
    tir.block @T (%vi: spatial<4> = %i, %vk: reduce<8> = %k) {
      tir.init {
        memref.store %start, %T[%vi] : memref<4xf16>
      }
      %t = memref.load %T[%vi] : memref<4xf16>
      %x = memref.load %X[%vi, %vk] : memref<4x8xf16>
      %m = arith.maximumf %t, %x : f16
      memref.store %m, %T[%vi] : memref<4xf16>
    }
  }
}
schedule.sequence for @order_of_short_floats {
  // expected-error @+1 {{'schedule.order_as_integers' op expected @T to look for the largest or smallest of f32 or f64}}
  schedule.order_as_integers @T
}

// -----

tir.prim_func @order_of_results(%X: memref<4x8xf32>) outs(%Y: memref<4xf32>) attributes {tir.noalias} {
  %start = arith.constant 0.0 : f32
  tir.for %i @i, %k @k in (4, 8) {
    tir.block @T (%vi: spatial<4> = %i, %vk: reduce<8> = %k) {
      tir.init {
        memref.store %start, %Y[%vi] : memref<4xf32>
      }
      %t = memref.load %Y[%vi] : memref<4xf32>
      %x = memref.load %X[%vi, %vk] : memref<4x8xf32>
      %m = arith.minimumf %t, %x : f32
      memref.store %m, %Y[%vi] : memref<4xf32>
    }
  }
}
schedule.sequence for @order_of_results {
  // expected-error @+1 {{'schedule.order_as_integers' op expected %Y to be a local buffer, found an argument of the function}}
  schedule.order_as_integers @T
}

// -----

// A value that is computed in the loop around the block.
tir.prim_func @a_value_in_the_loop(%X: memref<8xf32>) outs(%Y: memref<8xf32>) attributes {tir.noalias} {
  %one = arith.constant 1.0 : f32
  %T = tir.alloc_buffer : memref<8xf32>
  tir.for %i @i in (8) {
    %n = arith.addf %one, %one : f32
    tir.block @T (%vi: spatial<8> = %i) {
      %x = memref.load %X[%vi] : memref<8xf32>
      %t = arith.addf %x, %n : f32
      memref.store %t, %T[%vi] : memref<8xf32>
    }
  }
  tir.for %i @i1 in (8) {
    tir.block @Y (%vi: spatial<8> = %i) {
      %t = memref.load %T[%vi] : memref<8xf32>
      memref.store %t, %Y[%vi] : memref<8xf32>
    }
  }
}
schedule.sequence for @a_value_in_the_loop {
  // expected-error @+1 {{'schedule.compute_inline' op expected @T to use nothing that is not there where its result is read, found %n}}
  schedule.compute_inline @T
}

// -----

// Something that has an effect in each iteration.
func.func private @tick()
tir.prim_func @an_effect(%X: memref<8xf32>) outs(%Y: memref<8xf32>) attributes {tir.noalias} {
  %T = tir.alloc_buffer : memref<8xf32>
  tir.for %i @i in (8) {
    tir.block @T (%vi: spatial<8> = %i) {
      func.call @tick() : () -> ()
      %x = memref.load %X[%vi] : memref<8xf32>
      memref.store %x, %T[%vi] : memref<8xf32>
    }
  }
}
schedule.sequence for @an_effect {
  // expected-error @+1 {{'schedule.compute_inline' op expected @T to have no effects but its store}}
  schedule.compute_inline @T
}

// -----

// A block in another one.
tir.prim_func @a_block_in_a_block(%X: memref<8xf32>) outs(%Y: memref<8xf32>) attributes {tir.noalias} {
  tir.for %i @i in (8) {
    tir.block @Y (%vi: spatial<8> = %i) {
      %T = tir.alloc_buffer : memref<8xf32>
      tir.block @T (%vj: spatial<8> = %vi) {
        %x = memref.load %X[%vj] : memref<8xf32>
        memref.store %x, %T[%vj] : memref<8xf32>
      }
      %t = memref.load %T[%vi] : memref<8xf32>
      memref.store %t, %Y[%vi] : memref<8xf32>
    }
  }
}
schedule.sequence for @a_block_in_a_block {
  // expected-error @+1 {{'schedule.compute_inline' op expected @T not to be nested in another block}}
  schedule.compute_inline @T
}

// -----

// Without its guard, @Y would overwrite what @Z has written.
tir.prim_func @a_guard_among_two_writers(%X: memref<8xf32>) outs(%Y: memref<8xf32>) attributes {tir.noalias} {
  %T = tir.alloc_buffer : memref<8xf32>
  %c5 = arith.constant 5 : index
  %one = arith.constant 1.0 : f32
  tir.for %i @z in (8) {
    tir.block @Z (%v: spatial<8> = %i) {
      memref.store %one, %Y[%v] : memref<8xf32>
    }
  }
  tir.for %i @i in (8) {
    tir.block @T (%v: spatial<8> = %i) {
      %x = memref.load %X[%v] : memref<8xf32>
      memref.store %x, %T[%v] : memref<8xf32>
    }
  }
  tir.for %i @i1 in (8) {
    %g = arith.cmpi slt, %i, %c5 : index
    scf.if %g {
      tir.block @Y (%v: spatial<8> = %i) {
        %t = memref.load %T[%v] : memref<8xf32>
        memref.store %t, %Y[%v] : memref<8xf32>
      }
    }
  }
}
schedule.sequence for @a_guard_among_two_writers {
  // expected-error @+1 {{'schedule.reverse_compute_at' op expected @Y alone to write %Y, found @Z as well}}
  schedule.reverse_compute_at @Y at @i
}

// -----

// The last of four values stays, which would be another one.
tir.prim_func @the_last_one(%X: memref<4x4xf32>) outs(%Y: memref<4xf32>) attributes {tir.noalias} {
  %c0 = arith.constant 0 : index
  %c3 = arith.constant 3 : index
  %T = tir.alloc_buffer : memref<4x4xf32>
  tir.for %j @j, %i @i in (4, 4) {
    tir.block @T (%vi: spatial<4> = %i, %vj: spatial<4> = %j) {
      %x = memref.load %X[%vi, %vj] : memref<4x4xf32>
      memref.store %x, %T[%vi, %vj] : memref<4x4xf32>
    }
  }
  tir.for %i @i1, %j @j1 in (4, 4) {
    %r = arith.subi %c3, %j : index
    tir.block @Y (%vi: spatial<4> = %i, %vj: spatial<4> = %r) {
      %t = memref.load %T[%vi, %vj] : memref<4x4xf32>
      %z = arith.muli %vj, %c0 : index
      %q = arith.addi %vi, %z : index
      memref.store %t, %Y[%q] : memref<4xf32>
    }
  }
}
schedule.sequence for @the_last_one {
  // expected-error @+1 {{'schedule.reverse_compute_at' op expected independent iterations of @j1, found elements of %Y that @Y may touch in several}}
  schedule.reverse_compute_at @Y at @j
}

// -----

// @Y reads what @T writes in other iterations of the loop around both, and for %vo = 1 in the previous one.
tir.prim_func @written_later(%X: memref<4xf32>) outs(%Y: memref<2x4xf32>, %Z: memref<2x4xf32>)
    attributes {tir.noalias} {
  %c0 = arith.constant 0 : index
  %c3 = arith.constant 3 : index
  %zero = arith.constant 0.0 : f32
  %T = tir.alloc_buffer : memref<4xf32>
  tir.for %o @o in (2) {
    tir.for %a @a in (4) {
      tir.block @T (%va: spatial<4> = %a) {
        %x = memref.load %X[%va] : memref<4xf32>
        memref.store %x, %T[%va] : memref<4xf32>
      }
      tir.block @Y (%vo: spatial<2> = %o, %va: spatial<4> = %a) {
        %r = arith.subi %c3, %va : index
        %again = arith.cmpi sgt, %vo, %c0 : index
        %y = scf.if %again -> (f32) {
          %t = memref.load %T[%r] : memref<4xf32>
          scf.yield %t : f32
        } else {
          scf.yield %zero : f32
        }
        memref.store %y, %Y[%vo, %va] : memref<2x4xf32>
      }
    }
    tir.for %b @b in (4) {
      tir.block @Z (%vo: spatial<2> = %o, %vb: spatial<4> = %b) {
        %t = memref.load %T[%vb] : memref<4xf32>
        memref.store %t, %Z[%vo, %vb] : memref<2x4xf32>
      }
    }
  }
}
schedule.sequence for @written_later {
  // expected-error @+1 {{'schedule.compact_buffer' op %T carries values across iterations of @o}}
  schedule.compact_buffer @T write 0
}

// -----

// What an iteration does not store, it has from an earlier one.
tir.prim_func @stored_sometimes(%X: memref<4xf32>) outs(%Y: memref<2x4xf32>) attributes {tir.noalias} {
  %c2 = arith.constant 2 : index
  %T = tir.alloc_buffer : memref<4xf32>
  tir.for %o @o in (2) {
    tir.for %i @i in (4) {
      tir.block @T (%vi: spatial<4> = %i) {
        %some = arith.cmpi slt, %vi, %c2 : index
        scf.if %some {
          %x = memref.load %X[%vi] : memref<4xf32>
          memref.store %x, %T[%vi] : memref<4xf32>
        }
      }
    }
    tir.for %j @j in (4) {
      tir.block @Y (%vo: spatial<2> = %o, %vj: spatial<4> = %j) {
        %t = memref.load %T[%vj] : memref<4xf32>
        memref.store %t, %Y[%vo, %vj] : memref<2x4xf32>
      }
    }
  }
}
schedule.sequence for @stored_sometimes {
  // expected-error @+1 {{'schedule.compact_buffer' op %T carries values across iterations of @o}}
  schedule.compact_buffer @T write 0
}

// -----

// Without 'tir.noalias', %Y may be %X.
tir.prim_func @a_sum_in_its_input(%X: memref<4xf32>) outs(%Y: memref<4xf32>) {
  tir.for %i @i, %k @k in (4, 4) {
    tir.block @Y (%vi: spatial<4> = %i, %vk: reduce<4> = %k) {
      %x = memref.load %X[%vk] : memref<4xf32>
      %y = memref.load %Y[%vi] : memref<4xf32>
      %s = arith.addf %x, %y fastmath<reassoc> : f32
      memref.store %s, %Y[%vi] : memref<4xf32>
    }
  }
}
schedule.sequence for @a_sum_in_its_input {
  // expected-error @+1 {{'schedule.reorder' op cannot reorder @i, @k: they carry the reduction @Y and %X and %Y may share memory}}
  schedule.reorder [@k, @i]
}

// -----

// The init reads the sum before.
tir.prim_func @running_sums(%X: memref<4x4xf32>) outs(%Y: memref<5xf32>) attributes {tir.noalias} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %one = arith.constant 1.0 : f32
  tir.block @Z () {
    memref.store %one, %Y[%c0] : memref<5xf32>
  }
  tir.for %i @i, %k @k in (4, 4) {
    tir.block @Y (%vi: spatial<4> = %i, %vk: reduce<4> = %k) {
      tir.init {
        %n = arith.addi %vi, %c1 : index
        %y = memref.load %Y[%vi] : memref<5xf32>
        memref.store %y, %Y[%n] : memref<5xf32>
      }
      %n = arith.addi %vi, %c1 : index
      %x = memref.load %X[%vi, %vk] : memref<4x4xf32>
      %y = memref.load %Y[%n] : memref<5xf32>
      %s = arith.addf %x, %y fastmath<reassoc> : f32
      memref.store %s, %Y[%n] : memref<5xf32>
    }
  }
}
schedule.sequence for @running_sums {
  // expected-error @+1 {{'schedule.reorder' op cannot reorder @i, @k: they carry the reduction @Y and its init accesses other elements of %Y}}
  schedule.reorder [@k, @i]
}

// -----

// Without 'tir.noalias', %Y1 may be %Y2.
tir.prim_func @outputs_that_may_be_one() outs(%Y1: memref<4xf32>, %Y2: memref<4xf32>, %Z: memref<4xf32>) {
  %U = tir.alloc_buffer : memref<4xf32>
  %a = arith.constant 1.0 : f32
  %b = arith.constant 2.0 : f32
  tir.for %i @i in (4) {
    tir.block @Y1 (%v: spatial<4> = %i) {
      memref.store %a, %Y1[%v] : memref<4xf32>
    }
  }
  tir.for %i @i1 in (4) {
    tir.block @Y2 (%v: spatial<4> = %i) {
      memref.store %b, %Y2[%v] : memref<4xf32>
    }
  }
  tir.for %i @i2 in (4) {
    tir.block @U (%v: spatial<4> = %i) {
      %y = memref.load %Y1[%v] : memref<4xf32>
      memref.store %y, %U[%v] : memref<4xf32>
    }
  }
  tir.for %i @i3 in (4) {
    tir.block @Z (%v: spatial<4> = %i) {
      %u = memref.load %U[%v] : memref<4xf32>
      memref.store %u, %Z[%v] : memref<4xf32>
    }
  }
}
schedule.sequence for @outputs_that_may_be_one {
  // expected-error @+1 {{'schedule.reverse_compute_at' op expected @U to pass nothing that it depends on, found @Y2, which writes %Y2}}
  schedule.reverse_compute_at @U at @i
}

// -----

// The rest of %Y may belong to %X.
tir.prim_func @half_of_an_output(%X: memref<8xf32>) outs(%Y: memref<8xf32>) {
  %one = arith.constant 1.0 : f32
  tir.for %i @i in (4) {
    tir.block @Y (%v: spatial<4> = %i) {
      memref.store %one, %Y[%v] : memref<8xf32>
    }
  }
}
schedule.sequence for @half_of_an_output {
  // expected-error @+1 {{'schedule.cache_write' op expected a function with 'tir.noalias', as @Y may write elements of %Y that it has not written before}}
  schedule.cache_write @Y write 0
}

// -----

// A buffer of each iteration.
tir.prim_func @a_buffer_in_the_loop(%X: memref<8xf32>) outs(%Y: memref<8xf32>) attributes {tir.noalias} {
  %c0 = arith.constant 0 : index
  tir.for %i @i in (8) {
    %T = tir.alloc_buffer : memref<1xf32>
    tir.block @T (%v: spatial<8> = %i) {
      %x = memref.load %X[%v] : memref<8xf32>
      memref.store %x, %T[%c0] : memref<1xf32>
    }
    tir.block @Y (%v: spatial<8> = %i) {
      %x = memref.load %X[%v] : memref<8xf32>
      memref.store %x, %Y[%v] : memref<8xf32>
    }
  }
}
schedule.sequence for @a_buffer_in_the_loop {
  // expected-error @+1 {{'schedule.cache_write' op expected %T to live outside of the loops around @T}}
  schedule.cache_write @T write 0
}

// -----

tir.prim_func @f() {}
// expected-error @+1 {{'schedule.sequence' op expected @g to be a loop function, found @f}}
schedule.sequence for @g {}
