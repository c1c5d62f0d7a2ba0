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
  // expected-error @+1 {{'schedule.reorder' op expected @j and @i to stand in each other, with nothing but loops between}}
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

tir.prim_func @strict(%X: memref<8xf32>) outs(%Y: memref<f32>) {
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
  // expected-error @+1 {{expected @i, @j to keep their order, as they carry the reduction @Y and 'arith.addf' lacks the flag 'reassoc'}}
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
  // expected-error @+1 {{expected @i, @j to keep their order, as they carry the reduction @Y and it is no sum, product, minimum or maximum}}
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
  // expected-error @+1 {{expected @i, @j to keep their order, as @Y and @Z meet in %Y}}
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
