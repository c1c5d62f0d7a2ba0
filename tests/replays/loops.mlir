// Loop functions that passes or schedules of other compilers changed. tests/replays/replays.py says how to read them.

// apache/tvm#10336: a remainder lost its quotient, so that other elements were read.
// passes: canonicalize,cse,inline-blocks,schedule-cpu
// expect: x[np.arange(40) % 20 // 2 * 2 % 4]
tir.prim_func @remainder_of_a_quotient(%x: memref<4xf32>) outs(%y: memref<40xf32>) attributes {tir.noalias} {
  %c20 = arith.constant 20 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  tir.for %i @i in (40) {
    tir.block @Y (%vi: spatial<40> = %i) {
      %a = arith.remsi %vi, %c20 : index
      %b = arith.divsi %a, %c2 : index
      %c = arith.muli %b, %c2 : index
      %d = arith.remsi %c, %c4 : index
      %v = memref.load %x[%d] : memref<4xf32>
      memref.store %v, %y[%vi] : memref<40xf32>
    }
  }
}

// apache/tvm#8616, apache/tvm#8852: in a vector, the remainder of the first element was taken for the remainder of all.
// passes: apply-schedule
// expect: x[(np.arange(3)[:, None] * 50 + np.arange(8)) % 20]
tir.prim_func @remainders_in_a_vector(%x: memref<20xf32>) outs(%y: memref<3x8xf32>) attributes {tir.noalias} {
  %c20 = arith.constant 20 : index
  %c50 = arith.constant 50 : index
  tir.for %i @i, %j @j in (3, 8) {
    tir.block @Y (%vi: spatial<3> = %i, %vj: spatial<8> = %j) {
      %a = arith.muli %vi, %c50 : index
      %b = arith.addi %a, %vj : index
      %c = arith.remsi %b, %c20 : index
      %v = memref.load %x[%c] : memref<20xf32>
      memref.store %v, %y[%vi, %vj] : memref<3x8xf32>
    }
  }
}
schedule.sequence for @remainders_in_a_vector {
  schedule.vectorize @j
}

// apache/tvm#10232: a block that serves 16 results was computed for a number of elements that was not known.
// passes: apply-schedule
// expect: np.repeat(x + 1, 16)
tir.prim_func @repeated(%x: memref<4xf32>) outs(%y: memref<64xf32>) attributes {tir.noalias} {
  %t = tir.alloc_buffer : memref<4xf32>
  %one = arith.constant 1.0 : f32
  %c8 = arith.constant 8 : index
  %c16 = arith.constant 16 : index
  tir.for %i @i in (4) {
    tir.block @T (%vi: spatial<4> = %i) {
      %v = memref.load %x[%vi] : memref<4xf32>
      %s = arith.addf %v, %one : f32
      memref.store %s, %t[%vi] : memref<4xf32>
    }
  }
  tir.for %i @j0, %j @j1 in (8, 8) {
    %a = arith.muli %i, %c8 : index
    %b = arith.addi %a, %j : index
    tir.block @Y (%vi: spatial<64> = %b) {
      %k = arith.divsi %vi, %c16 : index
      %v = memref.load %t[%k] : memref<4xf32>
      memref.store %v, %y[%vi] : memref<64xf32>
    }
  }
}
schedule.sequence for @repeated {
  schedule.compute_at @T at @j0
}

// apache/tvm#15911: a block that moved into a loop of a producer left elements out.
// passes: apply-schedule
// expect: (x + z) * 2 + x
tir.prim_func @last_of_three(%x: memref<20xf32>, %z: memref<20xf32>) outs(%y: memref<20xf32>) attributes {tir.noalias} {
  %c = tir.alloc_buffer : memref<20xf32>
  %d = tir.alloc_buffer : memref<20xf32>
  tir.for %i @i in (20) {
    tir.block @C (%vi: spatial<20> = %i) {
      %v = memref.load %x[%vi] : memref<20xf32>
      %w = memref.load %z[%vi] : memref<20xf32>
      %s = arith.addf %v, %w : f32
      memref.store %s, %c[%vi] : memref<20xf32>
    }
  }
  tir.for %i @j in (20) {
    tir.block @D (%vi: spatial<20> = %i) {
      %v = memref.load %c[%vi] : memref<20xf32>
      %s = arith.addf %v, %v : f32
      memref.store %s, %d[%vi] : memref<20xf32>
    }
  }
  tir.for %i @k in (20) {
    tir.block @E (%vi: spatial<20> = %i) {
      %v = memref.load %d[%vi] : memref<20xf32>
      %w = memref.load %x[%vi] : memref<20xf32>
      %s = arith.addf %v, %w : f32
      memref.store %s, %y[%vi] : memref<20xf32>
    }
  }
}
schedule.sequence for @last_of_three {
  schedule.split @j by [?, 8]
  schedule.compute_at @C at @j_0
  schedule.reverse_compute_at @E at @j_0
}

// apache/tvm#15877: a block was moved into a loop of a vector.
// refused: expected @j_1 to be a serial loop, found vectorized
tir.prim_func @into_a_vector(%x: memref<16xf32>) outs(%y: memref<16xf32>) attributes {tir.noalias} {
  %c = tir.alloc_buffer : memref<16xf32>
  tir.for %i @i in (16) {
    tir.block @C (%vi: spatial<16> = %i) {
      %v = memref.load %x[%vi] : memref<16xf32>
      %s = arith.addf %v, %v : f32
      memref.store %s, %c[%vi] : memref<16xf32>
    }
  }
  tir.for %i @j in (16) {
    tir.block @Y (%vi: spatial<16> = %i) {
      %v = memref.load %c[%vi] : memref<16xf32>
      memref.store %v, %y[%vi] : memref<16xf32>
    }
  }
}
schedule.sequence for @into_a_vector {
  schedule.split @j by [?, 8]
  schedule.vectorize @j_1
  schedule.compute_at @C at @j_1
}

// apache/tvm#17838: a copy became part of the reduction that it reads, which stored partial sums where they belong nowhere.
// refused: expected @Y to have spatial variables only, found a reduction
tir.prim_func @into_a_reduction(%x: memref<3x4xf32>) outs(%z: memref<3xf32>) attributes {tir.noalias} {
  %zero = arith.constant 0.0 : f32
  %y = tir.alloc_buffer : memref<3xf32>
  tir.for %i @i, %k @k in (3, 4) {
    tir.block @Y (%vi: spatial<3> = %i, %vk: reduce<4> = %k) {
      tir.init {
        memref.store %zero, %y[%vi] : memref<3xf32>
      }
      %s = memref.load %y[%vi] : memref<3xf32>
      %v = memref.load %x[%vi, %vk] : memref<3x4xf32>
      %t = arith.addf %s, %v : f32
      memref.store %t, %y[%vi] : memref<3xf32>
    }
  }
  tir.for %i @j in (3) {
    tir.block @Z (%vi: spatial<3> = %i) {
      %v = memref.load %y[%vi] : memref<3xf32>
      %e = math.exp %v : f32
      memref.store %e, %z[%vi] : memref<3xf32>
    }
  }
}
schedule.sequence for @into_a_reduction {
  schedule.reverse_compute_inline @Z
}

// apache/tvm#14263: a block became part of one whose result is seen from outside as well, and was lost there.
// refused: expected
tir.prim_func @into_a_result(%x: memref<3xf32>) outs(%y: memref<3xf32>, %z: memref<3xf32>) attributes {tir.noalias} {
  tir.for %i @i in (3) {
    tir.block @Y (%vi: spatial<3> = %i) {
      %v = memref.load %x[%vi] : memref<3xf32>
      %s = arith.addf %v, %v : f32
      memref.store %s, %y[%vi] : memref<3xf32>
    }
  }
  tir.for %i @j in (3) {
    tir.block @Z (%vi: spatial<3> = %i) {
      %v = memref.load %y[%vi] : memref<3xf32>
      %e = math.exp %v : f32
      memref.store %e, %z[%vi] : memref<3xf32>
    }
  }
}
schedule.sequence for @into_a_result {
  schedule.reverse_compute_inline @Z
}

// apache/tvm#11234: a row that is always the same one made the region of a block that moves a wrong one.
// passes: apply-schedule
// expect: np.exp(x[0] + 1)
tir.prim_func @same_row(%x: memref<2x6xf32>) outs(%y: memref<6xf32>) attributes {tir.noalias} {
  %one = arith.constant 1.0 : f32
  %c0 = arith.constant 0 : index
  %t = tir.alloc_buffer : memref<1x6xf32>
  tir.for %i @i in (6) {
    tir.block @T (%vi: spatial<6> = %i) {
      %v = memref.load %x[%c0, %vi] : memref<2x6xf32>
      %s = arith.addf %v, %one : f32
      memref.store %s, %t[%c0, %vi] : memref<1x6xf32>
    }
  }
  tir.for %i @j in (6) {
    tir.block @Y (%vi: spatial<6> = %i) {
      %v = memref.load %t[%c0, %vi] : memref<1x6xf32>
      %e = math.exp %v : f32
      memref.store %e, %y[%vi] : memref<6xf32>
    }
  }
}
schedule.sequence for @same_row {
  schedule.split @i by [?, 4]
  schedule.reverse_compute_at @Y at @i_0
}

// tensorflow/mlir#222, llvm/llvm-project#58398: what sets sums to 0 was merged into the loop that adds to them.
// passes: merge-loops
// expect: x @ w + z
tir.prim_func @product_and_sum(%x: memref<3x4xf32>, %w: memref<4x3xf32>, %z: memref<3x3xf32>) outs(%y: memref<3x3xf32>) attributes {tir.noalias} {
  %zero = arith.constant 0.0 : f32
  %p = tir.alloc_buffer : memref<3x3xf32>
  tir.for %i, %j in (3, 3) {
    tir.block @Z (%vi: spatial<3> = %i, %vj: spatial<3> = %j) {
      memref.store %zero, %p[%vi, %vj] : memref<3x3xf32>
    }
  }
  tir.for %i, %j, %k in (3, 3, 4) {
    tir.block @P (%vi: spatial<3> = %i, %vj: spatial<3> = %j, %vk: reduce<4> = %k) {
      %s = memref.load %p[%vi, %vj] : memref<3x3xf32>
      %a = memref.load %x[%vi, %vk] : memref<3x4xf32>
      %b = memref.load %w[%vk, %vj] : memref<4x3xf32>
      %m = arith.mulf %a, %b : f32
      %t = arith.addf %s, %m : f32
      memref.store %t, %p[%vi, %vj] : memref<3x3xf32>
    }
  }
  tir.for %i, %j in (3, 3) {
    tir.block @Y (%vi: spatial<3> = %i, %vj: spatial<3> = %j) {
      %s = memref.load %p[%vi, %vj] : memref<3x3xf32>
      %v = memref.load %z[%vi, %vj] : memref<3x3xf32>
      %t = arith.addf %s, %v : f32
      memref.store %t, %y[%vi, %vj] : memref<3x3xf32>
    }
  }
}

// llvm/llvm-project#210490: a loop that updates a buffer in place was computed again for each of its readers.
// passes: merge-loops
// expect: x * 4, (x * 4)[:2]
tir.prim_func @updated_in_place(%x: memref<4xf32>) outs(%p: memref<4xf32>, %d: memref<2xf32>) attributes {tir.noalias} {
  %two = arith.constant 2.0 : f32
  tir.for %i in (4) {
    tir.block @P (%vi: spatial<4> = %i) {
      %v = memref.load %x[%vi] : memref<4xf32>
      %s = arith.mulf %v, %two : f32
      memref.store %s, %p[%vi] : memref<4xf32>
    }
  }
  tir.for %i in (4) {
    tir.block @Q (%vi: spatial<4> = %i) {
      %v = memref.load %p[%vi] : memref<4xf32>
      %s = arith.mulf %v, %two : f32
      memref.store %s, %p[%vi] : memref<4xf32>
    }
  }
  tir.for %i in (2) {
    tir.block @D (%vi: spatial<2> = %i) {
      %v = memref.load %p[%vi] : memref<4xf32>
      memref.store %v, %d[%vi] : memref<2xf32>
    }
  }
}

// llvm/llvm-project#132172: so was one that updates it several times.
// passes: merge-loops
// expect: np.full((2, 3), 3**5, "i2"), np.full((2, 3), 3**5, "i2")
tir.prim_func @updated_again(%x: memref<1xf32>) outs(%p: memref<2x3xi16>, %q: memref<2x3xi16>) attributes {tir.noalias} {
  %one = arith.constant 1 : i16
  %three = arith.constant 3 : i16
  tir.for %i, %j in (2, 3) {
    tir.block @P (%vi: spatial<2> = %i, %vj: spatial<3> = %j) {
      memref.store %one, %p[%vi, %vj] : memref<2x3xi16>
    }
  }
  tir.for %k, %i, %j in (5, 2, 3) {
    tir.block @U (%vk: reduce<5> = %k, %vi: spatial<2> = %i, %vj: spatial<3> = %j) {
      %v = memref.load %p[%vi, %vj] : memref<2x3xi16>
      %m = arith.muli %v, %three : i16
      memref.store %m, %p[%vi, %vj] : memref<2x3xi16>
    }
  }
  tir.for %i, %j in (2, 3) {
    tir.block @Q (%vi: spatial<2> = %i, %vj: spatial<3> = %j) {
      %v = memref.load %p[%vi, %vj] : memref<2x3xi16>
      memref.store %v, %q[%vi, %vj] : memref<2x3xi16>
    }
  }
}

// llvm/llvm-project#152077: two nests were merged in which the same loop goes along different dimensions.
// passes: inline-blocks,merge-loops,schedule-cpu
// expect: x.T * s
tir.prim_func @other_dimensions(%x: memref<4x3xf32>, %s: memref<4xf32>) outs(%y: memref<3x4xf32>) attributes {tir.noalias} {
  %t = tir.alloc_buffer : memref<3x4xf32>
  tir.for %i, %j in (4, 3) {
    tir.block @T (%vi: spatial<4> = %i, %vj: spatial<3> = %j) {
      %v = memref.load %x[%vi, %vj] : memref<4x3xf32>
      memref.store %v, %t[%vj, %vi] : memref<3x4xf32>
    }
  }
  tir.for %i, %j in (3, 4) {
    tir.block @Y (%vi: spatial<3> = %i, %vj: spatial<4> = %j) {
      %v = memref.load %t[%vi, %vj] : memref<3x4xf32>
      %f = memref.load %s[%vj] : memref<4xf32>
      %m = arith.mulf %v, %f : f32
      memref.store %m, %y[%vi, %vj] : memref<3x4xf32>
    }
  }
}

// apache/tvm#15197: a block that two others read was computed at a loop that one of them does not have.
// passes: apply-schedule
// expect: np.exp(x.sum(0)) / x.sum(0)
tir.prim_func @read_twice(%x: memref<4x6xf32>) outs(%y: memref<6xf32>) attributes {tir.noalias} {
  %zero = arith.constant 0.0 : f32
  %s = tir.alloc_buffer : memref<6xf32>
  %e = tir.alloc_buffer : memref<6xf32>
  tir.for %i @i, %k @k in (6, 4) {
    tir.block @S (%vi: spatial<6> = %i, %vk: reduce<4> = %k) {
      tir.init {
        memref.store %zero, %s[%vi] : memref<6xf32>
      }
      %a = memref.load %s[%vi] : memref<6xf32>
      %v = memref.load %x[%vk, %vi] : memref<4x6xf32>
      %t = arith.addf %a, %v : f32
      memref.store %t, %s[%vi] : memref<6xf32>
    }
  }
  tir.for %i @j in (6) {
    tir.block @E (%vi: spatial<6> = %i) {
      %v = memref.load %s[%vi] : memref<6xf32>
      %t = math.exp %v : f32
      memref.store %t, %e[%vi] : memref<6xf32>
    }
  }
  tir.for %i @l in (6) {
    tir.block @Y (%vi: spatial<6> = %i) {
      %v = memref.load %e[%vi] : memref<6xf32>
      %w = memref.load %s[%vi] : memref<6xf32>
      %q = arith.divf %v, %w : f32
      memref.store %q, %y[%vi] : memref<6xf32>
    }
  }
}
schedule.sequence for @read_twice {
  schedule.compute_inline @E
  schedule.compute_at @S at @l
}
