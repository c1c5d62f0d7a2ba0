// RUN: relex-opt %s -p convert-tir-to-scf | filecheck %s
// RUN: relex-opt %s -p convert-tir-to-scf | relex-opt | filecheck %s

// The init comes in front of the loop that is summed over, also where that loop never runs.
// CHECK-LABEL: func.func @dense(
// CHECK-SAME:    %X: memref<2x3xf32> {llvm.noalias}, %W: memref<4x3xf32> {llvm.noalias}, %Y: memref<2x4xf32> {llvm.noalias})
// CHECK-SAME:    attributes {llvm.emit_c_interface} {
tir.prim_func @dense(%X: memref<2x3xf32>, %W: memref<4x3xf32>) outs(%Y: memref<2x4xf32>) attributes {tir.noalias} {
  // CHECK-DAG: [[C3:%.+]] = arith.constant 3 : index
  // CHECK-DAG: [[C4:%.+]] = arith.constant 4 : index
  // CHECK-DAG: [[ZERO:%.+]] = arith.constant 0.000000e+00 : f32
  %zero = arith.constant 0.0 : f32
  // CHECK:      scf.for [[I:%.+]] =
  // CHECK-NEXT: scf.for [[J:%.+]] = %{{.+}} to [[C4]]
  // CHECK-NEXT: memref.store [[ZERO]], %Y[[[I]], [[J]]] : memref<2x4xf32>
  // CHECK-NEXT: scf.for [[K:%.+]] = %{{.+}} to [[C3]]
  tir.for %i, %j, %k in (2, 4, 3) {
    tir.block @Y (%vi: spatial<2> = %i, %vj: spatial<4> = %j, %vk: reduce<3> = %k) {
      tir.init {
        memref.store %zero, %Y[%vi, %vj] : memref<2x4xf32>
      }
      // CHECK-NEXT: memref.load %Y[[[I]], [[J]]]
      %y = memref.load %Y[%vi, %vj] : memref<2x4xf32>
      // CHECK-NEXT: memref.load %X[[[I]], [[K]]]
      %x = memref.load %X[%vi, %vk] : memref<2x3xf32>
      %w = memref.load %W[%vj, %vk] : memref<4x3xf32>
      %p = arith.mulf %x, %w : f32
      %s = arith.addf %y, %p : f32
      memref.store %s, %Y[%vi, %vj] : memref<2x4xf32>
    }
  }
}

// Summing outside of the spatial loop, the init has a copy of that loop.
// CHECK-LABEL: func.func @columns(
tir.prim_func @columns(%X: memref<3x8xf32>) outs(%Y: memref<8xf32>) {
  %zero = arith.constant 0.0 : f32
  // CHECK:      scf.for [[I0:%.+]] = %{{.+}} to %c2
  // CHECK-NEXT:   scf.for [[I1:%.+]] = %{{.+}} to %c4
  // CHECK-NEXT:     [[A:%.+]] = arith.muli [[I0]], %four
  // CHECK-NEXT:     [[V:%.+]] = arith.addi [[A]], [[I1]]
  // CHECK-NEXT:     memref.store %zero, %Y[[[V]]] : memref<8xf32>
  // CHECK-NEXT:   }
  // CHECK-NEXT: }
  // CHECK-NEXT: scf.for [[K:%.+]] = %{{.+}} to %c3
  // CHECK-NEXT:   scf.for [[J0:%.+]] =
  // CHECK-NEXT:     scf.for [[J1:%.+]] =
  %four = arith.constant 4 : index
  tir.for %k, %i0, %i1 in (3, 2, 4) {
    %a = arith.muli %i0, %four : index
    %i = arith.addi %a, %i1 : index
    tir.block @Y (%vi: spatial<8> = %i, %vk: reduce<3> = %k) {
      tir.init {
        memref.store %zero, %Y[%vi] : memref<8xf32>
      }
      // CHECK:  memref.load %X[[[K]], %{{.+}}]
      %x = memref.load %X[%vk, %vi] : memref<3x8xf32>
      %y = memref.load %Y[%vi] : memref<8xf32>
      %s = arith.addf %y, %x : f32
      memref.store %s, %Y[%vi] : memref<8xf32>
    }
  }
}

// One loop that runs both kinds of variables: the init is done in the first step.
// CHECK-LABEL: func.func @fused(
tir.prim_func @fused(%X: memref<4x2xf32>) outs(%Y: memref<4xf32>) {
  %zero = arith.constant 0.0 : f32
  %two = arith.constant 2 : index
  // CHECK:      scf.for [[F:%.+]] =
  tir.for %f in (8) {
    // CHECK-NEXT: [[I:%.+]] = arith.floordivsi [[F]], %two
    // CHECK-NEXT: [[K:%.+]] = arith.remsi [[F]], %two
    // CHECK-NEXT: [[FIRST:%.+]] = arith.cmpi eq, [[K]], %c0 : index
    // CHECK-NEXT: scf.if [[FIRST]] {
    // CHECK-NEXT:   memref.store %zero, %Y[[[I]]]
    // CHECK-NEXT: }
    // CHECK-NEXT: memref.load %X[[[I]], [[K]]]
    %i = arith.floordivsi %f, %two : index
    %k = arith.remsi %f, %two : index
    tir.block @Y (%vi: spatial<4> = %i, %vk: reduce<2> = %k) {
      tir.init {
        memref.store %zero, %Y[%vi] : memref<4xf32>
      }
      %x = memref.load %X[%vi, %vk] : memref<4x2xf32>
      %y = memref.load %Y[%vi] : memref<4xf32>
      %s = arith.addf %y, %x : f32
      memref.store %s, %Y[%vi] : memref<4xf32>
    }
  }
}

// Quotients and remainders of sums of loops are these loops.
// CHECK-LABEL: func.func @digits(
// CHECK-NOT: arith.div
// CHECK-NOT: arith.rem
// CHECK: memref.load %X[[[HIGH:%.+]], [[LOW:%.+]]] : memref<3x5xf32>
// CHECK-NOT: arith.div
tir.prim_func @digits(%X: memref<3x5xf32>) outs(%Y: memref<15xf32>) {
  %five = arith.constant 5 : index
  tir.for %i, %j in (3, 5) {
    %a = arith.muli %i, %five : index
    %f = arith.addi %a, %j : index
    tir.block @Y (%v: spatial<15> = %f) {
      %high = arith.divui %v, %five : index
      %low = arith.remui %v, %five : index
      %x = memref.load %X[%high, %low] : memref<3x5xf32>
      memref.store %x, %Y[%v] : memref<15xf32>
    }
  }
}

// Local buffers: small ones on the stack, large ones and buffers of unknown size on the heap. Buffers of a known size
// are made once, also where they belong to a loop. LLVM does not inline what takes longer than a call.
// CHECK-LABEL: func.func private @buffers({{.*}} attributes {passthrough = ["noinline"]} {
tir.prim_func private @buffers(%n: index) outs(%Y: memref<4xf32>) {
  // CHECK-DAG:   memref.alloca() {alignment = 64 : i64} : memref<2xf32>
  // CHECK-DAG:   memref.alloca() {alignment = 64 : i64} : memref<1024xf32>
  // CHECK-DAG:   [[B:%.+]] = memref.alloc() {alignment = 64 : i64} : memref<1025xf32>
  // CHECK-DAG:   [[F:%.+]] = memref.alloc() {alignment = 64 : i64} : memref<4096xf32>
  %a = tir.alloc_buffer : memref<1024xf32>
  %b = tir.alloc_buffer : memref<1025xf32>
  // CHECK:       [[C:%.+]] = memref.alloc(%n) {alignment = 64 : i64} : memref<?xf32>
  %c = tir.alloc_buffer sizes(%n) : memref<?xf32>
  // CHECK:       scf.for %{{.+}} = %c0 to %n step %c1 {
  tir.for %i in (%n) {
    %d = tir.alloc_buffer : memref<2xf32>
    // CHECK-NOT: alloc()
    // CHECK:     [[E:%.+]] = memref.alloc(%n)
    %e = tir.alloc_buffer sizes(%n) : memref<?xf32>
    %f = tir.alloc_buffer : memref<4096xf32>
    // CHECK:     memref.dealloc [[E]]
    // CHECK:     }
  }
  // CHECK:       memref.dealloc [[C]]
  // CHECK:       memref.dealloc [[B]]
  // CHECK:       memref.dealloc [[F]]
  // CHECK:       func.return
}

// CHECK-LABEL: func.func @caller(
func.func @caller(%n: index, %y: memref<4xf32>) {
  // CHECK: func.call @buffers(%n, %y) : (index, memref<4xf32>) -> ()
  tir.call @buffers(%n, %y) : index, memref<4xf32>
  func.return
}

// Conditions around and inside of blocks stay.
// CHECK-LABEL: func.func @guarded(
tir.prim_func @guarded(%X: memref<10xf32>) outs(%Y: memref<10xf32>) {
  %ten = arith.constant 10 : index
  %four = arith.constant 4 : index
  tir.for %io, %ii in (3, 4) {
    %a = arith.muli %io, %four : index
    %i = arith.addi %a, %ii : index
    %inside = arith.cmpi slt, %i, %ten : index
    // CHECK: scf.if %inside {
    scf.if %inside {
      tir.block @Y (%vi: spatial<10> = %i) {
        // CHECK-NEXT: [[X:%.+]] = memref.load %X[%i]
        // CHECK-NEXT: memref.store [[X]], %Y[%i]
        %x = memref.load %X[%vi] : memref<10xf32>
        memref.store %x, %Y[%vi] : memref<10xf32>
      }
    }
  }
}

// Where there is nothing to reduce, the init runs for all elements, though not for those that a split adds.
// Conditions that do not depend on the innermost loop: one in %r itself leaves out iterations of that loop, one in twice
// its value is tested before %j. The last one stays where it is.

// CHECK-LABEL: func.func @hoisted(
// CHECK: scf.for %[[I:.+]] = %c0 to %c5 step %c1 {
// CHECK-NEXT: %[[LESS:.+]] = arith.muli %[[I]], %c-1 : index
// CHECK-NEXT: %[[LEFT:.+]] = arith.addi %[[LESS]], %c1 : index
// CHECK-NEXT: %[[FIRST:.+]] = arith.maxsi %[[LEFT]], %c0 : index
// CHECK-NEXT: scf.for %[[R:.+]] = %[[FIRST]] to %c3 step %c1 {
// CHECK-NEXT: %[[TWICE:.+]] = arith.muli %[[R]], %c2{{.*}} : index
// CHECK-NEXT: %[[SUM:.+]] = arith.addi %[[I]], %[[TWICE]] : index
// CHECK-NEXT: %[[HOLDS:.+]] = arith.cmpi slt, %[[SUM]], %c6 : index
// CHECK-NEXT: scf.if %[[HOLDS]] {
// CHECK-NEXT: scf.for %[[J:.+]] = %c0 to %c4 step %c1 {
// CHECK-NEXT: %[[SMALL:.+]] = arith.cmpi slt, %[[J]], %n : index
// CHECK-NEXT: scf.if %[[SMALL]] {
// CHECK-NEXT: memref.load %X[%[[I]], %[[R]], %[[J]]]
tir.prim_func @hoisted(%n: index, %X: memref<5x3x4xf32>) outs(%Y: memref<5x3x4xf32>) {
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c6 = arith.constant 6 : index
  tir.for %i, %r, %j in (5, 3, 4) {
    %sum = arith.addi %i, %r : index
    %first = arith.cmpi sge, %sum, %c1 : index
    %twice = arith.muli %r, %c2 : index
    %further = arith.addi %i, %twice : index
    %last = arith.cmpi slt, %further, %c6 : index
    %both = arith.andi %first, %last : i1
    %small = arith.cmpi slt, %j, %n : index
    %all = arith.andi %both, %small : i1
    scf.if %all {
      tir.block @Y (%vi: spatial<5> = %i, %vr: spatial<3> = %r, %vj: spatial<4> = %j) {
        %x = memref.load %X[%vi, %vr, %vj] : memref<5x3x4xf32>
        memref.store %x, %Y[%vi, %vr, %vj] : memref<5x3x4xf32>
      }
    }
  }
}

// A sum of any value may overflow: the condition stays as it is, before the innermost loop.

// CHECK-LABEL: func.func @overflow(
// CHECK: scf.for %[[I:.+]] = %c0 to %c5 step %c1 {
// CHECK-NEXT: %[[SUM:.+]] = arith.addi %[[I]], %n : index
// CHECK-NEXT: %[[SMALL:.+]] = arith.cmpi slt, %[[SUM]], %c6 : index
// CHECK-NEXT: scf.if %[[SMALL]] {
// CHECK-NEXT: scf.for
tir.prim_func @overflow(%n: index, %X: memref<5x3xf32>) outs(%Y: memref<5x3xf32>) {
  %c6 = arith.constant 6 : index
  tir.for %i, %j in (5, 3) {
    %sum = arith.addi %i, %n : index
    %small = arith.cmpi slt, %sum, %c6 : index
    scf.if %small {
      tir.block @Y (%vi: spatial<5> = %i, %vj: spatial<3> = %j) {
        %x = memref.load %X[%vi, %vj] : memref<5x3xf32>
        memref.store %x, %Y[%vi, %vj] : memref<5x3xf32>
      }
    }
  }
}

// A division may be one by zero where it is not reached.

// CHECK-LABEL: func.func @not_hoisted(
// CHECK: scf.for
// CHECK: scf.for
// CHECK-NEXT: arith.divsi
// CHECK: scf.if
tir.prim_func @not_hoisted(%m: index, %n: index, %X: memref<5x?xf32>) outs(%Y: memref<5x?xf32>) {
  %c2 = arith.constant 2 : index
  tir.for %i, %j in (5, %m) {
    %part = arith.divsi %i, %n : index
    %small = arith.cmpi slt, %part, %c2 : index
    scf.if %small {
      tir.block @Y (%vi: spatial<5> = %i, %vj: spatial<%m> = %j) {
        %x = memref.load %X[%vi, %vj] : memref<5x?xf32>
        memref.store %x, %Y[%vi, %vj] : memref<5x?xf32>
      }
    }
  }
}

// CHECK-LABEL: func.func @guarded_empty(
tir.prim_func @guarded_empty(%k: index, %X: memref<?xf32>) outs(%Y: memref<5xf32>) {
  %zero = arith.constant 0.0 : f32
  %five = arith.constant 5 : index
  %four = arith.constant 4 : index
  tir.for %io, %ii, %j in (2, 4, %k) {
    // CHECK: scf.for [[II:%.+]] = %c0 to %c4
    // CHECK: [[NONE:%.+]] = arith.cmpi eq, %k, %c0
    // CHECK: scf.if [[NONE]] {
    // CHECK: [[I:%.+]] = arith.addi %{{.+}}, [[II]]
    // CHECK: [[EXISTS:%.+]] = arith.cmpi ult, [[I]], %{{.+}} : index
    // CHECK-NEXT: scf.if [[EXISTS]] {
    // CHECK-NEXT: memref.store %{{.+}}, %Y[[[I]]]
    // CHECK: scf.for
    %a = arith.muli %io, %four : index
    %i = arith.addi %a, %ii : index
    %inside = arith.cmpi slt, %i, %five : index
    scf.if %inside {
      tir.block @Y (%vi: spatial<5> = %i, %vj: reduce<%k> = %j) {
        tir.init {
          memref.store %zero, %Y[%vi] : memref<5xf32>
        }
        %x = memref.load %X[%vj] : memref<?xf32>
        %y = memref.load %Y[%vi] : memref<5xf32>
        %s = arith.addf %y, %x : f32
        memref.store %s, %Y[%vi] : memref<5xf32>
      }
    }
  }
}

// A reduction over nothing leaves no trace in a buffer of its own loop.
// CHECK-LABEL: func.func @empty_inside(
// CHECK-NOT: tir.alloc_buffer
// CHECK: memref.alloca
// CHECK-NOT: tir.alloc_buffer
// CHECK: func.return
tir.prim_func @empty_inside(%X: memref<0xf32>) outs(%Y: memref<1xf32>) {
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  tir.for %k in (0) {
    %T = tir.alloc_buffer : memref<1xf32>
    tir.block @T (%vk: reduce<0> = %k) {
      tir.init {
        memref.store %zero, %T[%c0] : memref<1xf32>
      }
      %x = memref.load %X[%vk] : memref<0xf32>
      %t = memref.load %T[%c0] : memref<1xf32>
      %s = arith.addf %t, %x : f32
      memref.store %s, %T[%c0] : memref<1xf32>
      memref.store %s, %Y[%c0] : memref<1xf32>
    }
  }
}

// The kind of a loop is kept where a later pass asks for it, for the loops of an init as well. LLVM unrolls nothing else
// around such loops.
// CHECK-LABEL: func.func @kinds(
tir.prim_func @kinds(%X: memref<8x2x16xf32>) outs(%Y: memref<2x16xf32>) {
  %zero = arith.constant 0.0 : f32
  // CHECK:      scf.for %j = %c0 to %c2
  // CHECK-NEXT:   scf.for %l = %c0 to %c16
  // CHECK-NEXT:     memref.store %zero, %Y[%j, %l]
  // CHECK-NEXT:   } {relex.vectorized}
  // CHECK-NEXT: } {llvm.loop_annotation = #llvm.loop_annotation<unroll = <full = true>>}
  // CHECK-NEXT: scf.for %k = %c0 to %c8
  // CHECK:        scf.for
  // CHECK:          scf.for
  // CHECK:          } {relex.vectorized}
  // CHECK-NEXT:   } {llvm.loop_annotation = #llvm.loop_annotation<unroll = <full = true>>}
  // CHECK-NEXT: } {llvm.loop_annotation = #llvm.loop_annotation<unroll = <disable = true>>}
  // CHECK-NEXT: func.return
  tir.for %k, unrolled %j, vectorized %l in (8, 2, 16) {
    tir.block @Y (%vj: spatial<2> = %j, %vl: spatial<16> = %l, %vk: reduce<8> = %k) {
      tir.init {
        memref.store %zero, %Y[%vj, %vl] : memref<2x16xf32>
      }
      %x = memref.load %X[%vk, %vj, %vl] : memref<8x2x16xf32>
      %y = memref.load %Y[%vj, %vl] : memref<2x16xf32>
      %s = arith.addf %y, %x : f32
      memref.store %s, %Y[%vj, %vl] : memref<2x16xf32>
    }
  }
}

// LLVM warns of a loop that it is to unroll and cannot: the extent of this one is not known.
// CHECK-LABEL: func.func @open(
tir.prim_func @open(%X: memref<?xf32> {relex.dims = ["n"]}) outs(%Y: memref<?xf32> {relex.dims = ["n"]}) {
  %c0 = arith.constant 0 : index
  %n = memref.dim %X, %c0 : memref<?xf32>
  // CHECK:      scf.for
  // CHECK:      } {llvm.loop_annotation = #llvm.loop_annotation<unroll = <disable = true>>}
  tir.for unrolled %i in (%n) {
    tir.block @Y (%vi: spatial<%n> = %i) {
      %x = memref.load %X[%vi] : memref<?xf32>
      memref.store %x, %Y[%vi] : memref<?xf32>
    }
  }
}

// Each iteration prefetches what the loops inside read 8 iterations later, one element of each line.
// CHECK-LABEL: func.func @prefetch(
tir.prim_func @prefetch(%X: memref<300x2x24xf32>) outs(%Y: memref<300x2x24xf32>) {
  // CHECK:      scf.for %i = %c0 to %c300
  // CHECK-NEXT:   [[AHEAD:%.+]] = arith.addi %i, %c8
  // CHECK-NEXT:   memref.prefetch %X[[[AHEAD]], %c0, %c0], read, locality<2>, data
  // CHECK-NEXT:   memref.prefetch %X[[[AHEAD]], %c0, %c16], read, locality<2>, data
  // CHECK-NEXT:   memref.prefetch %X[[[AHEAD]], %c1, %c0], read, locality<2>, data
  // CHECK-NEXT:   memref.prefetch %X[[[AHEAD]], %c1, %c16], read, locality<2>, data
  // CHECK-NEXT:   scf.for %j
  tir.for %i in (300) {
    tir.for %j, %k in (2, 24) {
      tir.block @Y (%vi: spatial<300> = %i, %vj: spatial<2> = %j, %vk: spatial<24> = %k) {
        %x = memref.load %X[%vi, %vj, %vk] : memref<300x2x24xf32>
        memref.store %x, %Y[%vi, %vj, %vk] : memref<300x2x24xf32>
      }
    }
  } {relex.prefetch = array<i64: 0, 8>}
}

// There is no second buffer.
// CHECK-LABEL: func.func @prefetch_nothing(
// CHECK-NOT:   memref.prefetch
tir.prim_func @prefetch_nothing(%X: memref<300xf32>) outs(%Y: memref<300xf32>) {
  tir.for %i in (300) {
    tir.block @Y (%vi: spatial<300> = %i) {
      %x = memref.load %X[%vi] : memref<300xf32>
      memref.store %x, %Y[%vi] : memref<300xf32>
    }
  } {relex.prefetch = array<i64: 1, 8>}
}

// There is no block.
// CHECK-LABEL: func.func @prefetch_no_block(
// CHECK-NOT:   memref.prefetch
tir.prim_func @prefetch_no_block(%X: memref<300xf32>) {
  tir.for %i in (300) {
  } {relex.prefetch = array<i64: 0, 8>}
}

// A loop of one iteration is its body, and what its variable is multiplied with is 0.
// CHECK-LABEL: func.func @once(
tir.prim_func @once(%X: memref<1x8x1xf32>) outs(%Y: memref<1x8x1xf32>) {
  %c8 = arith.constant 8 : index
  // CHECK:      scf.for %j = %c0 to %c8
  // CHECK-NEXT:   [[X:%.+]] = memref.load %X[%c0, %j, %c0]
  // CHECK-NEXT:   memref.store [[X]], %Y[%c0, %j, %c0]
  // CHECK-NEXT: }
  // CHECK-NEXT: func.return
  tir.for %i, %io, %j, unrolled %k in (1, 1, 8, 1) {
    %a = arith.muli %io, %c8 : index
    %b = arith.addi %a, %j : index
    tir.block @Y (%vi: spatial<1> = %i, %vj: spatial<8> = %b, %vk: spatial<1> = %k) {
      %x = memref.load %X[%vi, %vj, %vk] : memref<1x8x1xf32>
      memref.store %x, %Y[%vi, %vj, %vk] : memref<1x8x1xf32>
    }
  }
}

// The quotient and the remainder of a position by a dynamic size are one index.
// CHECK-LABEL: func.func @reshape(
// CHECK:      [[FLAT:%.+]] = memref.collapse_shape %X {{\[\[}}0 : i64], [1 : i64, 2 : i64]] : memref<?x6x?xf32> into memref<?x?xf32>
// CHECK:      memref.load [[FLAT]][%i, %j] : memref<?x?xf32>
// CHECK:      memref.load %X[%i, {{%.+}}, {{%.+}}] : memref<?x6x?xf32>
tir.prim_func @reshape(%X: memref<?x6x?xf32> {relex.dims = ["n", "", "w"]}, %V: memref<?xf32> {relex.dims = ["v"]})
    outs(%Y: memref<?x?xf32> {relex.dims = ["n", "6 * w"]}) attributes {tir.noalias} {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %c6 = arith.constant 6 : index
  %n = memref.dim %X, %c0 : memref<?x6x?xf32>
  %w = memref.dim %X, %c2 : memref<?x6x?xf32>
  %v = memref.dim %V, %c0 : memref<?xf32>
  %m = arith.muli %w, %c6 : index
  tir.for %i, %j in (%n, %m) {
    tir.block @Y (%vi: spatial<%n> = %i, %vj: spatial<%m> = %j) {
      %q = arith.divui %vj, %w : index
      %r = arith.remui %vj, %w : index
      %x = memref.load %X[%vi, %q, %r] : memref<?x6x?xf32>
      // Divided by another size.
      %p = arith.divui %vj, %v : index
      %s = arith.remui %vj, %v : index
      %z = memref.load %X[%vi, %p, %s] : memref<?x6x?xf32>
      %sum = arith.addf %x, %z : f32
      memref.store %sum, %Y[%vi, %vj] : memref<?x?xf32>
    }
  }
}
