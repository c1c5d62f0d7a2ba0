// RUN: relex-opt %s -p inline-blocks --split-input-file | filecheck %s
// RUN: relex-opt %s -p inline-blocks,inline-blocks --split-input-file | filecheck %s

// A chain is one block; an element that two chains share is computed once.
// CHECK-LABEL: tir.prim_func @chain(
// CHECK-NEXT:    tir.for %i2, %j2 in (3, 4) {
// CHECK-NEXT:      tir.block @Y (
// CHECK-NEXT:        %x = memref.load %X[%v2, %w2]
// CHECK-NEXT:        %[[D:.+]] = arith.addf %x, %x
// CHECK-NEXT:        %b = memref.load %B[%w2]
// CHECK-NEXT:        %[[S:.+]] = arith.addf %[[D]], %b
// CHECK-NEXT:        %y = arith.mulf %[[S]], %[[D]]
// CHECK-NEXT:        memref.store %y, %Y[%v2, %w2]
// CHECK-NEXT:      }
// CHECK-NEXT:    }
// CHECK-NEXT:  }
tir.prim_func @chain(%X: memref<3x4xf32>, %B: memref<4xf32>) outs(%Y: memref<3x4xf32>) attributes {tir.noalias} {
  %T = tir.alloc_buffer : memref<3x4xf32>
  %U = tir.alloc_buffer : memref<3x4xf32>
  tir.for %i0, %j0 in (3, 4) {
    tir.block @T (%v0: spatial<3> = %i0, %w0: spatial<4> = %j0) {
      %x = memref.load %X[%v0, %w0] : memref<3x4xf32>
      %d = arith.addf %x, %x : f32
      memref.store %d, %T[%v0, %w0] : memref<3x4xf32>
    }
  }
  tir.for %i1, %j1 in (3, 4) {
    tir.block @U (%v1: spatial<3> = %i1, %w1: spatial<4> = %j1) {
      %t = memref.load %T[%v1, %w1] : memref<3x4xf32>
      %b = memref.load %B[%w1] : memref<4xf32>
      %s = arith.addf %t, %b : f32
      memref.store %s, %U[%v1, %w1] : memref<3x4xf32>
    }
  }
  tir.for %i2, %j2 in (3, 4) {
    tir.block @Y (%v2: spatial<3> = %i2, %w2: spatial<4> = %j2) {
      %u = memref.load %U[%v2, %w2] : memref<3x4xf32>
      %t = memref.load %T[%v2, %w2] : memref<3x4xf32>
      %y = arith.mulf %u, %t : f32
      memref.store %y, %Y[%v2, %w2] : memref<3x4xf32>
    }
  }
}

// -----

// A choice between two numbers is made where it is read, however often; others are not.
// CHECK-LABEL: tir.prim_func @choices(
// CHECK-NOT:     tir.block @M (
// CHECK:         tir.block @N (
// CHECK:         tir.block @Y (
// CHECK:           [[C:%.+]] = memref.load %C[%w2] : memref<4xi1>
// CHECK:           [[M:%.+]] = arith.select [[C]]
// CHECK:           memref.load %N[%w2]
// CHECK:           arith.addf %x, [[M]]
tir.prim_func @choices(%X: memref<3x4xf32>, %C: memref<4xi1>, %A: memref<f32>, %B: memref<f32>, %V: memref<4xf32>) outs(%Y: memref<3x4xf32>) attributes {tir.noalias} {
  %M = tir.alloc_buffer : memref<4xf32>
  %N = tir.alloc_buffer : memref<4xf32>
  tir.for %j0 in (4) {
    tir.block @M (%w0: spatial<4> = %j0) {
      %c = memref.load %C[%w0] : memref<4xi1>
      %a = memref.load %A[] : memref<f32>
      %b = memref.load %B[] : memref<f32>
      %m = arith.select %c, %a, %b : f32
      memref.store %m, %M[%w0] : memref<4xf32>
    }
  }
  tir.for %j1 in (4) {
    tir.block @N (%w1: spatial<4> = %j1) {
      %c = memref.load %C[%w1] : memref<4xi1>
      %a = memref.load %A[] : memref<f32>
      %b = memref.load %V[%w1] : memref<4xf32>
      %n = arith.select %c, %a, %b : f32
      memref.store %n, %N[%w1] : memref<4xf32>
    }
  }
  tir.for %i2, %j2 in (3, 4) {
    tir.block @Y (%v2: spatial<3> = %i2, %w2: spatial<4> = %j2) {
      %x = memref.load %X[%v2, %w2] : memref<3x4xf32>
      %m = memref.load %M[%w2] : memref<4xf32>
      %n = memref.load %N[%w2] : memref<4xf32>
      %s = arith.addf %x, %m : f32
      %y = arith.addf %s, %n : f32
      memref.store %y, %Y[%v2, %w2] : memref<3x4xf32>
    }
  }
}

// -----

// Other places, other loops, a reduction, one dimension that is left out and a condition.
// CHECK-LABEL: tir.prim_func @transposed_sum(
// CHECK-NEXT:    %zero
// CHECK-NEXT:    %c0
// CHECK-NEXT:    tir.for
// CHECK-NEXT:      tir.block @Y
// CHECK:             %x = memref.load %X[%vk, %v]
// CHECK-NEXT:        %[[E:.+]] = math.exp %x
// CHECK-NEXT:        %s = arith.addf %y, %[[E]]
tir.prim_func @transposed_sum(%X: memref<4x8xf32>) outs(%Y: memref<8xf32>) attributes {tir.noalias} {
  %T = tir.alloc_buffer : memref<8x1x4xf32>
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  tir.for parallel %j, %i in (4, 8) {
    tir.block @T (%v: spatial<8> = %i, %one: spatial<1> = %c0, %w: spatial<4> = %j) {
      %x = memref.load %X[%w, %v] : memref<4x8xf32>
      %e = math.exp %x : f32
      memref.store %e, %T[%v, %one, %w] : memref<8x1x4xf32>
    }
  }
  tir.for %i, %k in (8, 4) {
    tir.block @Y (%v: spatial<8> = %i, %vk: reduce<4> = %k) {
      tir.init {
        memref.store %zero, %Y[%v] : memref<8xf32>
      }
      %y = memref.load %Y[%v] : memref<8xf32>
      %t = memref.load %T[%v, %c0, %vk] : memref<8x1x4xf32>
      %s = arith.addf %y, %t : f32
      memref.store %s, %Y[%v] : memref<8xf32>
    }
  }
}

// -----

// What is read under a condition is computed under it: never outside of what is there.
// CHECK-LABEL: tir.prim_func @padded(
// CHECK-NOT:     @T
// CHECK:         scf.if
// CHECK-NEXT:      %p = arith.subi
// CHECK-NEXT:      %x = memref.load %X[%p]
// CHECK-NEXT:      %[[E:.+]] = math.exp %x
// CHECK-NEXT:      scf.yield %[[E]]
tir.prim_func @padded(%X: memref<4xf32>) outs(%Y: memref<6xf32>) attributes {tir.noalias} {
  %T = tir.alloc_buffer : memref<4xf32>
  %c2 = arith.constant 2 : index
  %zero = arith.constant 0.0 : f32
  tir.for %i in (4) {
    tir.block @T (%v: spatial<4> = %i) {
      %x = memref.load %X[%v] : memref<4xf32>
      %e = math.exp %x : f32
      memref.store %e, %T[%v] : memref<4xf32>
    }
  }
  tir.for %i in (6) {
    tir.block @Y (%v: spatial<6> = %i) {
      %is_inside = arith.cmpi sge, %v, %c2 : index
      %y = scf.if %is_inside -> (f32) {
        %p = arith.subi %v, %c2 : index
        %t = memref.load %T[%p] : memref<4xf32>
        scf.yield %t : f32
      } else {
        scf.yield %zero : f32
      }
      memref.store %y, %Y[%v] : memref<6xf32>
    }
  }
}

// -----

// A number that is the same for all elements moves the place, as in a concatenation of dynamic sizes.
// CHECK-LABEL: tir.prim_func @after_others(
// CHECK-NOT:     @T
// CHECK:         scf.if
// CHECK:         } else {
// CHECK-NEXT:      %p = arith.subi
// CHECK-NEXT:      %x = memref.load %X[%w, %p]
// CHECK-NEXT:      %[[E:.+]] = math.exp %x
// CHECK-NEXT:      scf.yield %[[E]]
tir.prim_func @after_others(%A: memref<?x2xf32>, %X: memref<2x4xf32>) outs(%Y: memref<?x2xf32>) attributes {tir.noalias} {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %a = memref.dim %A, %c0 : memref<?x2xf32>
  %n = arith.addi %a, %c4 : index
  %T = tir.alloc_buffer : memref<4x2xf32>
  tir.for %i, %j in (4, 2) {
    tir.block @T (%v: spatial<4> = %i, %w: spatial<2> = %j) {
      %x = memref.load %X[%w, %v] : memref<2x4xf32>
      %e = math.exp %x : f32
      memref.store %e, %T[%v, %w] : memref<4x2xf32>
    }
  }
  tir.for %i, %j in (%n, 2) {
    tir.block @Y (%v: spatial<%n> = %i, %w: spatial<2> = %j) {
      %is_before = arith.cmpi slt, %v, %a : index
      %y = scf.if %is_before -> (f32) {
        %f = memref.load %A[%v, %w] : memref<?x2xf32>
        scf.yield %f : f32
      } else {
        %p = arith.subi %v, %a : index
        %t = memref.load %T[%p, %w] : memref<4x2xf32>
        scf.yield %t : f32
      }
      memref.store %y, %Y[%v, %w] : memref<?x2xf32>
    }
  }
}

// -----

// Sizes that are known when it runs are equal if they are dimensions of one buffer.
// CHECK-LABEL: tir.prim_func @unknown_size(
// CHECK:         %n = memref.dim %X
// CHECK-NOT:     %T
// CHECK:         tir.for %i in (%n) {
// CHECK:         arith.negf
// CHECK-NEXT:    arith.negf
tir.prim_func @unknown_size(%X: memref<?xf32>) outs(%Y: memref<?xf32>) attributes {tir.noalias} {
  %c0 = arith.constant 0 : index
  %n = memref.dim %X, %c0 : memref<?xf32>
  %T = tir.alloc_buffer sizes(%n) : memref<?xf32>
  %m = memref.dim %X, %c0 : memref<?xf32>
  tir.for %i in (%m) {
    tir.block @T (%v: spatial<%m> = %i) {
      %x = memref.load %X[%v] : memref<?xf32>
      %y = arith.negf %x : f32
      memref.store %y, %T[%v] : memref<?xf32>
    }
  }
  %k = memref.dim %T, %c0 : memref<?xf32>
  tir.for %i in (%k) {
    tir.block @Y (%v: spatial<%k> = %i) {
      %x = memref.load %T[%v] : memref<?xf32>
      %y = arith.negf %x : f32
      memref.store %y, %Y[%v] : memref<?xf32>
    }
  }
}

// -----

// What nobody reads is not computed.
// CHECK-LABEL: tir.prim_func @dead(
// CHECK-NEXT:  }
tir.prim_func @dead(%X: memref<4xf32>) {
  %T = tir.alloc_buffer : memref<4xf32>
  %U = tir.alloc_buffer : memref<4xf32>
  tir.for %i in (4) {
    tir.block @T (%v: spatial<4> = %i) {
      %x = memref.load %X[%v] : memref<4xf32>
      memref.store %x, %T[%v] : memref<4xf32>
    }
  }
  tir.for %i in (4) {
    tir.block @U (%v: spatial<4> = %i) {
      %x = memref.load %T[%v] : memref<4xf32>
      memref.store %x, %U[%v] : memref<4xf32>
    }
  }
}

// -----

// Rows that are copied as they are, however often they are read.
// CHECK-LABEL: tir.prim_func @repeated(
// CHECK-NOT: tir.alloc_buffer
// CHECK: memref.load %X[%vj]
tir.prim_func @repeated(%X: memref<8xf32>) outs(%Y: memref<4x8xf32>) attributes {tir.noalias} {
  %T = tir.alloc_buffer : memref<1x8xf32>
  tir.for %i, %j in (1, 8) {
    tir.block @T (%vi: spatial<1> = %i, %vj: spatial<8> = %j) {
      %x = memref.load %X[%vj] : memref<8xf32>
      memref.store %x, %T[%vi, %vj] : memref<1x8xf32>
    }
  }
  tir.for %i, %j in (4, 8) {
    tir.block @Y (%vi: spatial<4> = %i, %vj: spatial<8> = %j) {
      %c0 = arith.constant 0 : index
      %t = memref.load %T[%c0, %vj] : memref<1x8xf32>
      memref.store %t, %Y[%vi, %vj] : memref<4x8xf32>
    }
  }
}

// -----

// Nothing is computed more often: each element is read for three rows,
// CHECK-LABEL: tir.prim_func @read_again(
// CHECK:         tir.block @T
// CHECK:         tir.block @Y
tir.prim_func @read_again(%X: memref<4xf32>) outs(%Y: memref<3x4xf32>) attributes {tir.noalias} {
  %T = tir.alloc_buffer : memref<4xf32>
  tir.for %i in (4) {
    tir.block @T (%v: spatial<4> = %i) {
      %x = memref.load %X[%v] : memref<4xf32>
      %e = math.exp %x : f32
      memref.store %e, %T[%v] : memref<4xf32>
    }
  }
  tir.for %i, %j in (3, 4) {
    tir.block @Y (%v: spatial<3> = %i, %w: spatial<4> = %j) {
      %t = memref.load %T[%w] : memref<4xf32>
      memref.store %t, %Y[%v, %w] : memref<3x4xf32>
    }
  }
}

// -----

// or by two blocks.
// CHECK-LABEL: tir.prim_func @two_readers(
// CHECK:         tir.block @T
// CHECK:         tir.block @Y
// CHECK:         tir.block @Z
tir.prim_func @two_readers(%X: memref<4xf32>) outs(%Y: memref<4xf32>, %Z: memref<4xf32>) attributes {tir.noalias} {
  %T = tir.alloc_buffer : memref<4xf32>
  tir.for %i in (4) {
    tir.block @T (%v: spatial<4> = %i) {
      %x = memref.load %X[%v] : memref<4xf32>
      %e = math.exp %x : f32
      memref.store %e, %T[%v] : memref<4xf32>
    }
  }
  tir.for %i in (4) {
    tir.block @Y (%v: spatial<4> = %i) {
      %t = memref.load %T[%v] : memref<4xf32>
      memref.store %t, %Y[%v] : memref<4xf32>
    }
  }
  tir.for %i in (4) {
    tir.block @Z (%v: spatial<4> = %i) {
      %t = memref.load %T[%v] : memref<4xf32>
      memref.store %t, %Z[%v] : memref<4xf32>
    }
  }
}

// -----

// An output is wanted for itself,
// CHECK-LABEL: tir.prim_func @output(
// CHECK:         tir.block @T
tir.prim_func @output(%X: memref<4xf32>) outs(%T: memref<4xf32>, %Y: memref<4xf32>) attributes {tir.noalias} {
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

// and what is read must still be there: here it is written in between.
// CHECK-LABEL: tir.prim_func @overwritten(
// CHECK:         tir.block @T
tir.prim_func @overwritten(%X: memref<4xf32>) outs(%Y: memref<4xf32>, %Z: memref<4xf32>) attributes {tir.noalias} {
  %T = tir.alloc_buffer : memref<4xf32>
  tir.for %i in (4) {
    tir.block @Y (%v: spatial<4> = %i) {
      %x = memref.load %X[%v] : memref<4xf32>
      memref.store %x, %Y[%v] : memref<4xf32>
    }
  }
  tir.for %i in (4) {
    tir.block @T (%v: spatial<4> = %i) {
      %y = memref.load %Y[%v] : memref<4xf32>
      memref.store %y, %T[%v] : memref<4xf32>
    }
  }
  tir.for %i in (4) {
    tir.block @W (%v: spatial<4> = %i) {
      %x = memref.load %X[%v] : memref<4xf32>
      %e = math.exp %x : f32
      memref.store %e, %Y[%v] : memref<4xf32>
    }
  }
  tir.for %i in (4) {
    tir.block @Z (%v: spatial<4> = %i) {
      %t = memref.load %T[%v] : memref<4xf32>
      memref.store %t, %Z[%v] : memref<4xf32>
    }
  }
}

// -----

// What is written after the last read does not matter.
// CHECK-LABEL: tir.prim_func @overwritten_later(
// CHECK-NOT:     tir.block @T
// CHECK:         tir.block @Z
// CHECK:         tir.block @W
tir.prim_func @overwritten_later(%X: memref<4xf32>) outs(%Y: memref<4xf32>, %Z: memref<4xf32>)
    attributes {tir.noalias} {
  %T = tir.alloc_buffer : memref<4xf32>
  tir.for %i in (4) {
    tir.block @Y (%v: spatial<4> = %i) {
      %x = memref.load %X[%v] : memref<4xf32>
      memref.store %x, %Y[%v] : memref<4xf32>
    }
  }
  tir.for %i in (4) {
    tir.block @T (%v: spatial<4> = %i) {
      %y = memref.load %Y[%v] : memref<4xf32>
      %e = math.exp %y : f32
      memref.store %e, %T[%v] : memref<4xf32>
    }
  }
  tir.for %i in (4) {
    tir.block @Z (%v: spatial<4> = %i) {
      %t = memref.load %T[%v] : memref<4xf32>
      memref.store %t, %Z[%v] : memref<4xf32>
    }
  }
  tir.for %i in (4) {
    tir.block @W (%v: spatial<4> = %i) {
      %x = memref.load %X[%v] : memref<4xf32>
      memref.store %x, %Y[%v] : memref<4xf32>
    }
  }
}

// -----

// Without `tir.noalias` an output may be an input.
// CHECK-LABEL: tir.prim_func @in_place(
// CHECK:         tir.block @T
tir.prim_func @in_place(%X: memref<4xf32>) outs(%Y: memref<4xf32>) {
  %T = tir.alloc_buffer : memref<4xf32>
  %c3 = arith.constant 3 : index
  tir.for %i in (4) {
    tir.block @T (%v: spatial<4> = %i) {
      %x = memref.load %X[%v] : memref<4xf32>
      memref.store %x, %T[%v] : memref<4xf32>
    }
  }
  tir.for %i in (4) {
    tir.block @Y (%v: spatial<4> = %i) {
      %p = arith.subi %c3, %v : index
      %t = memref.load %T[%p] : memref<4xf32>
      memref.store %t, %Y[%v] : memref<4xf32>
    }
  }
}

// -----

// A block that fills a part of a buffer stays; one that steps through it in a different way goes.
// CHECK-LABEL: tir.prim_func @partly(
// CHECK:         tir.block @T
// CHECK-NOT:     tir.block @U
// CHECK:         tir.block @Y
tir.prim_func @partly(%X: memref<4xf32>) outs(%Y: memref<4xf32>) attributes {tir.noalias} {
  %T = tir.alloc_buffer : memref<8xf32>
  %U = tir.alloc_buffer : memref<4xf32>
  %c2 = arith.constant 2 : index
  tir.for %i in (4) {
    tir.block @T (%v: spatial<4> = %i) {
      %x = memref.load %X[%v] : memref<4xf32>
      memref.store %x, %T[%v] : memref<8xf32>
    }
  }
  tir.for %io, %ii in (2, 2) {
    %p = arith.muli %io, %c2 : index
    %i = arith.addi %p, %ii : index
    tir.block @U (%v: spatial<4> = %i) {
      %x = memref.load %X[%v] : memref<4xf32>
      memref.store %x, %U[%v] : memref<4xf32>
    }
  }
  tir.for %i in (4) {
    tir.block @Y (%v: spatial<4> = %i) {
      %t = memref.load %T[%v] : memref<8xf32>
      %u = memref.load %U[%v] : memref<4xf32>
      %y = arith.addf %t, %u : f32
      memref.store %y, %Y[%v] : memref<4xf32>
    }
  }
}

// -----

// Buffers that are parts of others are left alone, and so are those that calls use.
// CHECK-LABEL: tir.prim_func @views(
// CHECK:         tir.block @T
// CHECK-LABEL: tir.prim_func @called(
// CHECK:         tir.block @T
tir.prim_func @views(%X: memref<4xf32>) outs(%Y: memref<4xf32>) attributes {tir.noalias} {
  %T = tir.alloc_buffer : memref<4xf32>
  %V = "memref.cast"(%T) : (memref<4xf32>) -> memref<?xf32>
  tir.for %i in (4) {
    tir.block @T (%v: spatial<4> = %i) {
      %x = memref.load %X[%v] : memref<4xf32>
      memref.store %x, %T[%v] : memref<4xf32>
    }
  }
  tir.for %i in (4) {
    tir.block @Y (%v: spatial<4> = %i) {
      %t = memref.load %V[%v] : memref<?xf32>
      memref.store %t, %Y[%v] : memref<4xf32>
    }
  }
}
tir.prim_func @called(%X: memref<4xf32>) outs(%Y: memref<4xf32>) attributes {tir.noalias} {
  %T = tir.alloc_buffer : memref<4xf32>
  tir.for %i in (4) {
    tir.block @T (%v: spatial<4> = %i) {
      %x = memref.load %X[%v] : memref<4xf32>
      memref.store %x, %T[%v] : memref<4xf32>
    }
  }
  tir.call @views(%T, %Y) : memref<4xf32>, memref<4xf32>
}

// -----

// Loops around nothing go too.
// CHECK-LABEL: tir.prim_func @empty(
// CHECK-NEXT:  }
tir.prim_func @empty() {
  tir.for %i, %j in (4, 0) {
  }
}

// -----

// A constant inside the loops of a block goes with it.
// CHECK-LABEL: tir.prim_func @constant_in_a_loop(
// CHECK-NEXT:    tir.for %i in (4) {
// CHECK-NEXT:      tir.block @Y (%v: spatial<4> = %i) {
// CHECK-NEXT:        %[[C:.+]] = arith.constant 2.000000e+00 : f32
// CHECK-NEXT:        %x = memref.load %X[%v]
// CHECK-NEXT:        %[[D:.+]] = arith.mulf %x, %[[C]]
// CHECK-NEXT:        memref.store %[[D]], %Y[%v]
tir.prim_func @constant_in_a_loop(%X: memref<4xf32>) outs(%Y: memref<4xf32>) attributes {tir.noalias} {
  %T = tir.alloc_buffer : memref<4xf32>
  tir.for %i in (4) {
    %two = arith.constant 2.0 : f32
    tir.block @T (%v: spatial<4> = %i) {
      %x = memref.load %X[%v] : memref<4xf32>
      %d = arith.mulf %x, %two : f32
      memref.store %d, %T[%v] : memref<4xf32>
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

// A copy is dropped for a reduction whose terms are contiguous in its source, and stays for another one.
// CHECK-LABEL: tir.prim_func @scores(
// CHECK-NOT:     %T
// CHECK:         memref.load %K[%vj, %vk]
tir.prim_func @scores(%Q: memref<2x4xf32>, %K: memref<8x4xf32>) outs(%Y: memref<2x8xf32>) attributes {tir.noalias} {
  %T = tir.alloc_buffer : memref<4x8xf32>
  tir.for %i, %j in (4, 8) {
    tir.block @T (%vi: spatial<4> = %i, %vj: spatial<8> = %j) {
      %x = memref.load %K[%vj, %vi] : memref<8x4xf32>
      memref.store %x, %T[%vi, %vj] : memref<4x8xf32>
    }
  }
  tir.for %i, %j, %k in (2, 8, 4) {
    tir.block @Y (%vi: spatial<2> = %i, %vj: spatial<8> = %j, %vk: reduce<4> = %k) {
      tir.init {
        %zero = arith.constant 0.0 : f32
        memref.store %zero, %Y[%vi, %vj] : memref<2x8xf32>
      }
      %0 = memref.load %Y[%vi, %vj] : memref<2x8xf32>
      %1 = memref.load %Q[%vi, %vk] : memref<2x4xf32>
      %2 = memref.load %T[%vk, %vj] : memref<4x8xf32>
      %3 = arith.mulf %1, %2 : f32
      %4 = arith.addf %0, %3 : f32
      memref.store %4, %Y[%vi, %vj] : memref<2x8xf32>
    }
  }
}
// CHECK-LABEL: tir.prim_func @mirrored(
// CHECK-NEXT:    %T = tir.alloc_buffer
tir.prim_func @mirrored(%Q: memref<2x4xf32>, %K: memref<4x4x2xf32>) outs(%Y: memref<2x8xf32>) attributes {tir.noalias} {
  %T = tir.alloc_buffer : memref<4x8xf32>
  %zero1 = arith.constant 0 : index
  tir.for %i, %j in (4, 8) {
    tir.block @T (%vi: spatial<4> = %i, %vj: spatial<8> = %j) {
      %x = memref.load %K[%vi, %vi, %zero1] : memref<4x4x2xf32>
      memref.store %x, %T[%vi, %vj] : memref<4x8xf32>
    }
  }
  tir.for %i, %j, %k in (2, 8, 4) {
    tir.block @Y (%vi: spatial<2> = %i, %vj: spatial<8> = %j, %vk: reduce<4> = %k) {
      tir.init {
        %zero = arith.constant 0.0 : f32
        memref.store %zero, %Y[%vi, %vj] : memref<2x8xf32>
      }
      %0 = memref.load %Y[%vi, %vj] : memref<2x8xf32>
      %1 = memref.load %Q[%vi, %vk] : memref<2x4xf32>
      %2 = memref.load %T[%vk, %vj] : memref<4x8xf32>
      %3 = arith.mulf %1, %2 : f32
      %4 = arith.addf %0, %3 : f32
      memref.store %4, %Y[%vi, %vj] : memref<2x8xf32>
    }
  }
}

// A reshape that another one undoes leaves the index as it is: rows stay rows.
// CHECK-LABEL: tir.prim_func @reshaped_and_back(
// CHECK-NEXT:    tir.for %i
// CHECK-NEXT:      tir.block @Y (%vi: spatial<6> = %i) {
// CHECK-NEXT:        %[[X:.+]] = memref.load %X[%vi] : memref<6xf32>
// CHECK-NEXT:        memref.store %[[X]], %Y[%vi] : memref<6xf32>
tir.prim_func @reshaped_and_back(%X: memref<6xf32>) outs(%Y: memref<6xf32>) attributes {tir.noalias} {
  %T = tir.alloc_buffer : memref<2x3xf32>
  tir.for %i, %j in (2, 3) {
    tir.block @T (%vi: spatial<2> = %i, %vj: spatial<3> = %j) {
      %c3 = arith.constant 3 : index
      %0 = arith.muli %vi, %c3 : index
      %1 = arith.addi %0, %vj : index
      %x = memref.load %X[%1] : memref<6xf32>
      memref.store %x, %T[%vi, %vj] : memref<2x3xf32>
    }
  }
  tir.for %i in (6) {
    tir.block @Y (%vi: spatial<6> = %i) {
      %c3 = arith.constant 3 : index
      %0 = arith.divui %vi, %c3 : index
      %1 = arith.remui %vi, %c3 : index
      %2 = memref.load %T[%0, %1] : memref<2x3xf32>
      memref.store %2, %Y[%vi] : memref<6xf32>
    }
  }
}
