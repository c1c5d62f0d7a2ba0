// RUN: relex-opt %s -p apply-schedule --split-input-file | filecheck %s

// Exact factors.

// CHECK-LABEL: @split
// CHECK-DAG: %[[C8:.+]] = arith.constant 8 : index
// CHECK-DAG: %[[C2:.+]] = arith.constant 2 : index
// CHECK: tir.for %[[A:.+]] @i_0, %[[B:.+]] @i_1, %[[C:.+]] @i_2 in (3, 4, 2) {
// CHECK-NEXT: %[[A8:.+]] = arith.muli %[[A]], %[[C8]] : index
// CHECK-NEXT: %[[B2:.+]] = arith.muli %[[B]], %[[C2]] : index
// CHECK-NEXT: %[[AB:.+]] = arith.addi %[[A8]], %[[B2]] : index
// CHECK-NEXT: %[[I:.+]] = arith.addi %[[AB]], %[[C]] : index
// CHECK-NEXT: tir.block @Y (%vi: spatial<24> = %[[I]])
// CHECK-NOT: schedule.
tir.prim_func @split(%X: memref<24xf32>) outs(%Y: memref<24xf32>) {
  tir.for %i @i in (24) {
    tir.block @Y (%vi: spatial<24> = %i) {
      %x = memref.load %X[%vi] : memref<24xf32>
      memref.store %x, %Y[%vi] : memref<24xf32>
    }
  }
}
schedule.sequence for @split {
  schedule.split @i by [?, 4, 2]
}

// -----

// Factors that do not divide the extent; then one that does not divide a part of it: one condition for both.

// CHECK-LABEL: @guarded
// CHECK: tir.for %[[A:.+]] @i_0, %[[B:.+]] @inner_0, %[[C:.+]] @inner_1 in (3, 3, 3) {
// CHECK: %[[WHOLE:.+]] = arith.cmpi slt, %{{.+}}, %c17 : index
// CHECK: %[[PART:.+]] = arith.cmpi slt, %{{.+}}, %c8 : index
// CHECK-NEXT: %[[BOTH:.+]] = arith.andi %[[WHOLE]], %[[PART]] : i1
// CHECK-NEXT: scf.if %[[BOTH]] {
// CHECK: tir.block @Y (%vi: spatial<17> = %{{.+}}) {
// CHECK-NOT: scf.if
tir.prim_func @guarded(%X: memref<17xf32>) outs(%Y: memref<17xf32>) {
  tir.for %i @i in (17) {
    tir.block @Y (%vi: spatial<17> = %i) {
      %x = memref.load %X[%vi] : memref<17xf32>
      memref.store %x, %Y[%vi] : memref<17xf32>
    }
  }
}
schedule.sequence for @guarded {
  schedule.split @i by [?, 8] into [@i_0, @inner]
  schedule.split @inner by [?, 3]
}

// -----

// An extent that is known at run time.

// CHECK-LABEL: @dynamic
// CHECK: %[[TILES:.+]] = arith.ceildivsi %n, %c8 : index
// CHECK: tir.for %[[A:.+]] @i_0, %[[B:.+]] @i_1 in (%[[TILES]], 8) {
// CHECK: arith.cmpi slt, %{{.+}}, %n : index
// CHECK-NEXT: scf.if
// CHECK: tir.block @Y (%vi: spatial<%n> = %{{.+}}) {
tir.prim_func @dynamic(%X: memref<?xf32>, %n: index) outs(%Y: memref<?xf32>) attributes {tir.noalias} {
  tir.for %i @i in (%n) {
    tir.block @Y (%vi: spatial<%n> = %i) {
      %x = memref.load %X[%vi] : memref<?xf32>
      memref.store %x, %Y[%vi] : memref<?xf32>
    }
  }
}
schedule.sequence for @dynamic {
  schedule.split @i by [?, 8]
}

// -----

// What is split by the factors that it was fused by is what it was.

// CHECK-LABEL: @fuse
// CHECK: tir.for %[[A:.+]] @i_j_fused_0, parallel %[[B:.+]] @i_j_fused_1 in (4, 6) {
// CHECK-NEXT: tir.block @Y (%vi: spatial<4> = %[[A]], %vj: spatial<6> = %[[B]])
tir.prim_func @fuse(%X: memref<4x6xf32>) outs(%Y: memref<4x6xf32>) attributes {tir.noalias} {
  tir.for %i @i, %j @j in (4, 6) {
    tir.block @Y (%vi: spatial<4> = %i, %vj: spatial<6> = %j) {
      %x = memref.load %X[%vi, %vj] : memref<4x6xf32>
      memref.store %x, %Y[%vi, %vj] : memref<4x6xf32>
    }
  }
}
schedule.sequence for @fuse {
  schedule.fuse [@i, @j]
  schedule.split @i_j_fused by [4, 6]
  schedule.parallel @i_j_fused_1
}

// -----

// Sizes that are known at run time fuse as well.

// CHECK-LABEL: @fuse_dynamic
// CHECK: %[[ALL:.+]] = arith.muli %m, %n : index
// CHECK: tir.for %[[F:.+]] @all in (%[[ALL]]) {
// CHECK-DAG: %[[I:.+]] = arith.divsi %[[F]], %n : index
// CHECK-DAG: %[[J:.+]] = arith.remsi %[[F]], %n : index
// CHECK: tir.block @Y (%vi: spatial<%m> = %[[I]], %vj: spatial<%n> = %[[J]])
tir.prim_func @fuse_dynamic(%m: index, %n: index) outs(%Y: memref<?x?xf32>) {
  %zero = arith.constant 0.0 : f32
  tir.for %i @i, %j @j in (%m, %n) {
    tir.block @Y (%vi: spatial<%m> = %i, %vj: spatial<%n> = %j) {
      memref.store %zero, %Y[%vi, %vj] : memref<?x?xf32>
    }
  }
}
schedule.sequence for @fuse_dynamic {
  schedule.fuse [@i, @j] into [@all]
}

// -----

// Loops that are not named stay where they are. Each sum is still done in its order.

// CHECK-LABEL: @reorder
// CHECK: tir.for %{{.+}} @k, vectorized %{{.+}} @j, unrolled %{{.+}} @i in (8, 6, 4) {
tir.prim_func @reorder(%X: memref<4x8xf32>, %W: memref<6x8xf32>) outs(%Y: memref<4x6xf32>) attributes {tir.noalias} {
  %zero = arith.constant 0.0 : f32
  tir.for %i @i, %j @j, %k @k in (4, 6, 8) {
    tir.block @Y (%vi: spatial<4> = %i, %vj: spatial<6> = %j, %vk: reduce<8> = %k) {
      tir.init {
        memref.store %zero, %Y[%vi, %vj] : memref<4x6xf32>
      }
      %y = memref.load %Y[%vi, %vj] : memref<4x6xf32>
      %x = memref.load %X[%vi, %vk] : memref<4x8xf32>
      %w = memref.load %W[%vj, %vk] : memref<6x8xf32>
      %p = arith.mulf %x, %w : f32
      %s = arith.addf %y, %p : f32
      memref.store %s, %Y[%vi, %vj] : memref<4x6xf32>
    }
  }
}
schedule.sequence for @reorder {
  schedule.reorder [@k, @i]
  schedule.vectorize @j
  schedule.unroll @i
}

// -----

// Parts of a reduction change places where rounding may differ.

// CHECK-LABEL: @reorder_sum
// CHECK: tir.for %{{.+}} @k_1, %{{.+}} @k_0 in (4, 2) {
tir.prim_func @reorder_sum(%X: memref<8xf32>) outs(%Y: memref<f32>) attributes {tir.noalias} {
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
schedule.sequence for @reorder_sum {
  schedule.split @k by [?, 4]
  schedule.reorder [@k_1, @k_0]
}

// -----

// Padding adds iterations that do nothing. Loops without a label get one.

// CHECK-LABEL: @pad
// CHECK: tir.for %{{.+}} @loop0, %{{.+}} @j in (3, 8) {
// CHECK: arith.cmpi slt, %{{.+}}, %c5 : index
// CHECK-NEXT: scf.if
tir.prim_func @pad() outs(%Y: memref<3x5xf32>) {
  %zero = arith.constant 0.0 : f32
  tir.for %i, %j @j in (3, 5) {
    tir.block @Y (%vi: spatial<3> = %i, %vj: spatial<5> = %j) {
      memref.store %zero, %Y[%vi, %vj] : memref<3x5xf32>
    }
  }
}
schedule.sequence for @pad {
  schedule.label_loops
  schedule.pad @loop0 to 3
  schedule.pad @j to 4
}

// -----

// A copy to read from, one to write to, and the init in front of the loop over @k: under the condition of its own part
// only.

// CHECK-LABEL: @dense
// CHECK: %W_local = tir.alloc_buffer : memref<6x8xf32>
// CHECK-NEXT: tir.for %{{.+}} @n, %{{.+}} @k1 in (6, 8) {
// CHECK-NEXT: tir.block @pack (%{{.+}}: spatial<6> = %{{.+}}, %{{.+}}: spatial<8> = %{{.+}}) {
// CHECK-NEXT: memref.load %W[
// CHECK-NEXT: memref.store %{{.+}}, %W_local[
// CHECK: %Y_local = tir.alloc_buffer : memref<4x6xf32>
// CHECK-NEXT: tir.for %{{.+}} @i, %{{.+}} @j_0 in (4, 2) {
// CHECK-NEXT: tir.for %{{.+}} @j_1_init in (4) {
// CHECK: arith.cmpi slt, %{{.+}}, %c6 : index
// CHECK-NEXT: scf.if
// CHECK: tir.block @Y_init (%{{.+}}: spatial<4> = %{{.+}}, %{{.+}}: spatial<6> = %{{.+}}) {
// CHECK-NEXT: memref.store %zero, %Y_local[
// CHECK: tir.for %{{.+}} @k_0, %{{.+}} @k_1, %{{.+}} @j_1 in (3, 3, 4) {
// CHECK: tir.block @Y (
// CHECK-NOT: tir.init
// CHECK: memref.load %Y_local[
// CHECK-NEXT: memref.load %X[
// CHECK-NEXT: memref.load %W_local[
// CHECK: memref.store %{{.+}}, %Y_local[
// CHECK: tir.for %{{.+}} @ax0, %{{.+}} @ax1 in (4, 6) {
// CHECK-NEXT: tir.block @Y_local
// CHECK-NEXT: memref.load %Y_local[
// CHECK-NEXT: memref.store %{{.+}}, %Y[
tir.prim_func @dense(%X: memref<4x8xf32>, %W: memref<6x8xf32>) outs(%Y: memref<4x6xf32>) attributes {tir.noalias} {
  %zero = arith.constant 0.0 : f32
  tir.for %i @i, %j @j, %k @k in (4, 6, 8) {
    tir.block @Y (%vi: spatial<4> = %i, %vj: spatial<6> = %j, %vk: reduce<8> = %k) {
      tir.init {
        memref.store %zero, %Y[%vi, %vj] : memref<4x6xf32>
      }
      %y = memref.load %Y[%vi, %vj] : memref<4x6xf32>
      %x = memref.load %X[%vi, %vk] : memref<4x8xf32>
      %w = memref.load %W[%vj, %vk] : memref<6x8xf32>
      %p = arith.mulf %x, %w : f32
      %s = arith.addf %y, %p : f32
      memref.store %s, %Y[%vi, %vj] : memref<4x6xf32>
    }
  }
}
schedule.sequence for @dense {
  schedule.cache_read @Y read 1 into [@pack, @n, @k1]
  schedule.cache_write @Y write 0
  schedule.split @j by [?, 4]
  schedule.split @k by [?, 3]
  schedule.reorder [@j_0, @k_0, @k_1, @j_1]
  schedule.decompose_reduction @Y at @k_0
}

// -----

// Two readers, one under a condition: what they need is computed in each.

// CHECK-LABEL: @inline
// CHECK-NOT: tir.alloc_buffer
// CHECK: tir.block @Y (%vi: spatial<8> = %{{.+}}) {
// CHECK-NEXT: %[[X:.+]] = memref.load %X[%vi]
// CHECK-NEXT: %[[E:.+]] = math.exp %[[X]]
// CHECK-NEXT: memref.store %[[E]], %Y[%vi]
// CHECK: scf.if
// CHECK-NEXT: %[[BACK:.+]] = arith.subi
// CHECK-NEXT: %[[X2:.+]] = memref.load %X[%[[BACK]]]
// CHECK-NEXT: math.exp %[[X2]]
tir.prim_func @inline(%X: memref<8xf32>) outs(%Y: memref<8xf32>, %Z: memref<9xf32>) attributes {tir.noalias} {
  %T = tir.alloc_buffer : memref<8xf32>
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1 : index
  tir.for %i @i in (8) {
    tir.block @T (%vi: spatial<8> = %i) {
      %x = memref.load %X[%vi] : memref<8xf32>
      %e = math.exp %x : f32
      memref.store %e, %T[%vi] : memref<8xf32>
    }
  }
  tir.for %i @i1 in (8) {
    tir.block @Y (%vi: spatial<8> = %i) {
      %t = memref.load %T[%vi] : memref<8xf32>
      memref.store %t, %Y[%vi] : memref<8xf32>
    }
  }
  tir.for %i @i2 in (9) {
    tir.block @Z (%vi: spatial<9> = %i) {
      %inside = arith.cmpi sge, %vi, %one : index
      %z = scf.if %inside -> (f32) {
        %back = arith.subi %vi, %one : index
        %t = memref.load %T[%back] : memref<8xf32>
        scf.yield %t : f32
      } else {
        scf.yield %zero : f32
      }
      memref.store %z, %Z[%vi] : memref<9xf32>
    }
  }
}
schedule.sequence for @inline {
  schedule.compute_inline @T
}
