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

// The first 4 rows are summed up and finished, then the last 2: each part has its own buffer.

// CHECK-LABEL: @partition(
// CHECK: %T = tir.alloc_buffer : memref<4x3xf32>
// CHECK: tir.for %{{.+}} @b, %{{.+}} @i in (3, 4)
// CHECK: tir.block @T (%{{.+}}: spatial<3> = %{{.+}}, %{{.+}}: spatial<4> = %{{.+}})
// CHECK: tir.for %{{.+}} @i1, %{{.+}} @b1 in (4, 3)
// CHECK: tir.block @Y
// CHECK: %T_1 = tir.alloc_buffer : memref<2x3xf32>
// CHECK: tir.for %{{.+}} @b_rest, %{{.+}} @i_rest in (3, 2)
// CHECK: tir.block @T_rest (%[[B:.+]]: spatial<3> = %{{.+}}, %[[I:.+]]: spatial<2> = %{{.+}})
// CHECK: %[[LAST:.+]] = arith.addi %[[I]], %c4 : index
// CHECK: memref.load %X[%[[LAST]], %[[B]]] : memref<6x3xf32>
// CHECK: memref.store %{{.+}}, %T_1[%[[I]], %[[B]]] : memref<2x3xf32>
// CHECK: tir.for %{{.+}} @i1_rest, %{{.+}} @b1_rest in (2, 3)
// CHECK: tir.block @Y_rest
// CHECK: memref.store %{{.+}}, %Y[
tir.prim_func @partition(%X: memref<6x3xf32>) outs(%Y: memref<6x3xf32>) attributes {tir.noalias} {
  %T = tir.alloc_buffer : memref<6x3xf32>
  tir.for %b @b, %i @i in (3, 6) {
    tir.block @T (%vb: spatial<3> = %b, %vi: spatial<6> = %i) {
      %x = memref.load %X[%vi, %vb] : memref<6x3xf32>
      %t = arith.negf %x : f32
      memref.store %t, %T[%vi, %vb] : memref<6x3xf32>
    }
  }
  tir.for %i @i1, %b @b1 in (6, 3) {
    tir.block @Y (%vi: spatial<6> = %i, %vb: spatial<3> = %b) {
      %t = memref.load %T[%vi, %vb] : memref<6x3xf32>
      memref.store %t, %Y[%vi, %vb] : memref<6x3xf32>
    }
  }
}
schedule.sequence for @partition {
  schedule.partition [@i, @i1] by 4
}

// -----

// Any number of rows: as many as are a multiple of 4, then the others. Rows of the first part fill tiles, so that
// there is no condition.

// CHECK-LABEL: @partition_any(
// CHECK: %[[N:.+]] = memref.dim %X
// CHECK: %[[TILES:.+]] = arith.divsi %[[N]], %c4
// CHECK: tir.for %{{.+}} @i_0, %{{.+}} @i_1 in (%{{.+}}, 4)
// CHECK-NOT: scf.if
// CHECK: tir.for %{{.+}} @i_rest in (%{{.+}})
// CHECK: tir.block @Y_rest
tir.prim_func @partition_any(%X: memref<?xf32>) outs(%Y: memref<?xf32>) attributes {tir.noalias} {
  %zero = arith.constant 0 : index
  %n = memref.dim %X, %zero : memref<?xf32>
  tir.for %i @i in (%n) {
    tir.block @Y (%v: spatial<%n> = %i) {
      %x = memref.load %X[%v] : memref<?xf32>
      memref.store %x, %Y[%v] : memref<?xf32>
    }
  }
}
schedule.sequence for @partition_any {
  schedule.partition [@i] by 4
  schedule.split @i by [?, 4]
}

// -----

// All rows in the first version if there are 8 columns or more, in the second one, otherwise.

// CHECK-LABEL: @dispatch(
// CHECK: %[[EIGHTS:.+]] = arith.divsi %{{.+}}, %c8
// CHECK: %[[MANY:.+]] = arith.muli %[[EIGHTS]], %c32768
// CHECK: %[[FIRST:.+]] = arith.minsi
// CHECK: tir.for %{{.+}} @i, %{{.+}} @j in (%[[FIRST]], %{{.+}})
// CHECK: tir.block @Y (
// CHECK: tir.for %{{.+}} @i_rest, %{{.+}} @j_rest in
// CHECK: tir.block @Y_rest
tir.prim_func @dispatch(%X: memref<?x?xf32>) outs(%Y: memref<?x?xf32>) attributes {tir.noalias} {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %m = memref.dim %X, %zero : memref<?x?xf32>
  %n = memref.dim %X, %one : memref<?x?xf32>
  tir.for %i @i, %j @j in (%m, %n) {
    tir.block @Y (%vi: spatial<%m> = %i, %vj: spatial<%n> = %j) {
      %x = memref.load %X[%vi, %vj] : memref<?x?xf32>
      memref.store %x, %Y[%vi, %vj] : memref<?x?xf32>
    }
  }
}
schedule.sequence for @dispatch {
  schedule.dispatch [@i] on @j from 8
}

// -----

// All or no iterations of a known number.

// CHECK-LABEL: @dispatch_known(
// CHECK: %[[ALL:.+]] = arith.minsi %c1, %{{.+}}
// CHECK: %[[FIRST:.+]] = arith.muli %[[ALL]], %c12
// CHECK: tir.for %{{.+}} @j, %{{.+}} @i in (%[[FIRST]], %{{.+}})
// CHECK: tir.for %{{.+}} @j_rest, %{{.+}} @i_rest in
tir.prim_func @dispatch_known(%X: memref<?x12xf32>) outs(%Y: memref<?x12xf32>) attributes {tir.noalias} {
  %zero = arith.constant 0 : index
  %m = memref.dim %X, %zero : memref<?x12xf32>
  tir.for %j @j, %i @i in (12, %m) {
    tir.block @Y (%vi: spatial<%m> = %i, %vj: spatial<12> = %j) {
      %x = memref.load %X[%vi, %vj] : memref<?x12xf32>
      memref.store %x, %Y[%vi, %vj] : memref<?x12xf32>
    }
  }
}
schedule.sequence for @dispatch_known {
  schedule.dispatch [@j] on @i from 8
}

// -----

// Nests in one loop are partitioned in it, and what follows a nest can move on into its loops.

// CHECK-LABEL: @partition_inside(
// CHECK: tir.for %{{.+}} @i in (3)
// CHECK: tir.for %{{.+}} @j_0 in
// CHECK: tir.block @Y (
// CHECK: tir.block @Z (
// CHECK: tir.for %{{.+}} @j_rest in
// CHECK: tir.block @Y_rest (
// CHECK: tir.block @Z_rest (
tir.prim_func @partition_inside(%X: memref<3x?xf32>) outs(%Z: memref<3x?xf32>) attributes {tir.noalias} {
  %one = arith.constant 1 : index
  %n = memref.dim %X, %one : memref<3x?xf32>
  tir.for %i @i in (3) {
    %Y = tir.alloc_buffer sizes(%n) : memref<?xf32>
    tir.for %j @j in (%n) {
      tir.block @Y (%vi: spatial<3> = %i, %vj: spatial<%n> = %j) {
        %x = memref.load %X[%vi, %vj] : memref<3x?xf32>
        memref.store %x, %Y[%vj] : memref<?xf32>
      }
    }
    tir.for %j @j1 in (%n) {
      tir.block @Z (%vi: spatial<3> = %i, %vj: spatial<%n> = %j) {
        %y = memref.load %Y[%vj] : memref<?xf32>
        memref.store %y, %Z[%vi, %vj] : memref<3x?xf32>
      }
    }
  }
}
schedule.sequence for @partition_inside {
  schedule.partition [@j, @j1] by 4
  schedule.split @j by [?, 4]
  schedule.reverse_compute_at @Z at @j_0
  schedule.reverse_compute_at @Z_rest at @j_rest
}

// -----

// The size of a split buffer stays what it was, and a buffer is not split if an index is computed, even if it always
// equals the loop.

// CHECK-LABEL: @partition_sizes(
// CHECK: %[[TEN:.+]] = arith.constant 10 : index
// CHECK: tir.alloc_buffer : memref<10xf32>
// CHECK: tir.alloc_buffer : memref<8xf32>
// CHECK: tir.block @Y (
// CHECK: arith.index_cast %[[TEN]] : index to i64
// CHECK: tir.alloc_buffer : memref<2xf32>
// CHECK: tir.block @Y_rest
// CHECK: arith.index_cast %[[TEN]] : index to i64
// CHECK-NOT: memref.dim
tir.prim_func @partition_sizes(%X: memref<10xf32>) outs(%Y: memref<10xi64>, %Z: memref<10xf32>)
    attributes {tir.noalias} {
  %T = tir.alloc_buffer : memref<10xf32>
  %U = tir.alloc_buffer : memref<10xf32>
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  tir.for %i @i in (10) {
    tir.block @T (%v: spatial<10> = %i) {
      %x = memref.load %X[%v] : memref<10xf32>
      memref.store %x, %T[%v] : memref<10xf32>
      memref.store %x, %U[%v] : memref<10xf32>
    }
  }
  tir.for %i @i1 in (10) {
    tir.block @Y (%v: spatial<10> = %i) {
      %t = memref.load %T[%v] : memref<10xf32>
      %d = memref.dim %T, %c0 : memref<10xf32>
      %n = arith.index_cast %d : index to i64
      %f = arith.fptosi %t : f32 to i64
      %s = arith.addi %f, %n : i64
      memref.store %s, %Y[%v] : memref<10xi64>
      %a = arith.addi %v, %c2 : index
      %b = arith.subi %a, %c2 : index
      %u = memref.load %U[%b] : memref<10xf32>
      memref.store %u, %Z[%v] : memref<10xf32>
    }
  }
}
schedule.sequence for @partition_sizes {
  schedule.partition [@i, @i1] by 8
}

// -----

// A constant in the loop that a block leaves goes along.

// CHECK-LABEL: @a_constant_in_the_loop(
// CHECK: %two = arith.constant 2.0
// CHECK: tir.for %{{.+}} @i1 in (8) {
// CHECK:   tir.block @T
// CHECK:     arith.mulf %{{.+}}, %two
// CHECK:   tir.block @Y
tir.prim_func @a_constant_in_the_loop(%X: memref<8xf32>) outs(%Y: memref<8xf32>) attributes {tir.noalias} {
  %T = tir.alloc_buffer : memref<8xf32>
  tir.for %i @i in (8) {
    %two = arith.constant 2.0 : f32
    tir.block @T (%v: spatial<8> = %i) {
      %x = memref.load %X[%v] : memref<8xf32>
      %t = arith.mulf %x, %two : f32
      memref.store %t, %T[%v] : memref<8xf32>
    }
  }
  tir.for %i @i1 in (8) {
    tir.block @Y (%v: spatial<8> = %i) {
      %t = memref.load %T[%v] : memref<8xf32>
      memref.store %t, %Y[%v] : memref<8xf32>
    }
  }
}
schedule.sequence for @a_constant_in_the_loop {
  schedule.compute_at @T at @i1
}

// -----

// A layout does not change what the size of a buffer is.

// CHECK-LABEL: @transposed_sizes(
// CHECK: arith.constant 2 : index
// CHECK: tir.alloc_buffer : memref<3x2xf32>
// CHECK-NOT: memref.dim
tir.prim_func @transposed_sizes(%X: memref<2x3xf32>) outs(%Y: memref<2x3xi64>) attributes {tir.noalias} {
  %c0 = arith.constant 0 : index
  %T = tir.alloc_buffer : memref<2x3xf32>
  tir.for %i @i, %j @j in (2, 3) {
    tir.block @T (%vi: spatial<2> = %i, %vj: spatial<3> = %j) {
      %x = memref.load %X[%vi, %vj] : memref<2x3xf32>
      memref.store %x, %T[%vi, %vj] : memref<2x3xf32>
    }
  }
  tir.for %i @i1, %j @j1 in (2, 3) {
    tir.block @Y (%vi: spatial<2> = %i, %vj: spatial<3> = %j) {
      %d = memref.dim %T, %c0 : memref<2x3xf32>
      %n = arith.index_cast %d : index to i64
      memref.store %n, %Y[%vi, %vj] : memref<2x3xi64>
    }
  }
}
schedule.sequence for @transposed_sizes {
  schedule.transform_layout @T write 0 by affine_map<(i, j) -> (j, i)>
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

// -----

// The size of a buffer that goes is known, and what else its loop does stays.

// CHECK-LABEL: @inline_from_a_busy_loop
// CHECK: %c8 = arith.constant 8 : index
// CHECK-NOT: tir.alloc_buffer
// CHECK: tir.for %i @i in (8) {
// CHECK-NEXT: memref.store %zero, %N[%c0]
// CHECK: tir.for %i{{.*}} @i1 in (%c8) {
// CHECK-NEXT: tir.block @Y
// CHECK-NEXT: memref.load %X
tir.prim_func @inline_from_a_busy_loop(%X: memref<8xf32>) outs(%Y: memref<8xf32>, %N: memref<1xf32>)
    attributes {tir.noalias} {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %T = tir.alloc_buffer : memref<8xf32>
  %n = memref.dim %T, %c0 : memref<8xf32>
  tir.for %i @i in (8) {
    memref.store %zero, %N[%c0] : memref<1xf32>
    tir.block @T (%vi: spatial<8> = %i) {
      %x = memref.load %X[%vi] : memref<8xf32>
      memref.store %x, %T[%vi] : memref<8xf32>
    }
  }
  tir.for %i @i1 in (%n) {
    tir.block @Y (%vi: spatial<%n> = %i) {
      %t = memref.load %T[%vi] : memref<8xf32>
      memref.store %t, %Y[%vi] : memref<8xf32>
    }
  }
}
schedule.sequence for @inline_from_a_busy_loop {
  schedule.compute_inline @T
}

// -----

// The schedule of a linear layer that is known from TVM: tiles of columns in parallel, each with its sum, and what
// comes behind it.

// CHECK-LABEL: @linear0
// CHECK: tir.for %{{.+}} @i, parallel %{{.+}} @j_0 in (1, 16) {
// CHECK-NEXT: tir.for vectorized %{{.+}} @j_1_init in (8) {
// CHECK: tir.block @Y_init (
// CHECK: tir.for %{{.+}} @k, vectorized %{{.+}} @j_1 in (784, 8) {
// CHECK: tir.block @Y (
// CHECK-NOT: tir.init
// CHECK: tir.for %[[AX:.+]] @ax0 in (8) {
// CHECK: tir.block @Z (
// CHECK-NOT: tir.for
tir.prim_func @linear0(%X: memref<1x784xf32>, %W: memref<128x784xf32>, %B: memref<128xf32>)
    outs(%Z: memref<1x128xf32>) attributes {tir.noalias} {
  %zero = arith.constant 0.0 : f32
  %Y = tir.alloc_buffer : memref<1x128xf32>
  tir.for %i @i, %j @j, %k @k in (1, 128, 784) {
    tir.block @Y (%vi: spatial<1> = %i, %vj: spatial<128> = %j, %vk: reduce<784> = %k) {
      tir.init {
        memref.store %zero, %Y[%vi, %vj] : memref<1x128xf32>
      }
      %y = memref.load %Y[%vi, %vj] : memref<1x128xf32>
      %x = memref.load %X[%vi, %vk] : memref<1x784xf32>
      %w = memref.load %W[%vj, %vk] : memref<128x784xf32>
      %p = arith.mulf %x, %w : f32
      %s = arith.addf %y, %p : f32
      memref.store %s, %Y[%vi, %vj] : memref<1x128xf32>
    }
  }
  tir.for %i @i1, %j @j1 in (1, 128) {
    tir.block @Z (%vi: spatial<1> = %i, %vj: spatial<128> = %j) {
      %y = memref.load %Y[%vi, %vj] : memref<1x128xf32>
      %b = memref.load %B[%vj] : memref<128xf32>
      %z = arith.addf %y, %b : f32
      memref.store %z, %Z[%vi, %vj] : memref<1x128xf32>
    }
  }
}
schedule.sequence for @linear0 {
  schedule.split @j by [?, 8]
  schedule.reorder [@j_0, @k, @j_1]
  schedule.parallel @j_0
  schedule.vectorize @j_1
  schedule.reverse_compute_at @Z at @j_0
  schedule.decompose_reduction @Y at @k
}

// -----

// A producer goes to where its consumer reads, with one row more on each side: conditions keep it in its range. Its
// buffer becomes as small as the part.

// CHECK-LABEL: @stencil
// CHECK: tir.for %[[T:.+]] @i_0 in (3) {
// CHECK-NEXT: %T = tir.alloc_buffer : memref<7xf32>
// CHECK-NEXT: tir.for %{{.+}} @halo in (7) {
// CHECK: arith.cmpi slt, %{{.+}}, %c14 : index
// CHECK-NEXT: scf.if
// CHECK: tir.block @T (%[[T0:.+]]: spatial<3> = %{{.+}}, %[[T1:.+]]: spatial<7> = %{{.+}}) {
// CHECK: memref.load %X[%{{.+}}]
// CHECK: memref.store %{{.+}}, %T[%[[T1]]] : memref<7xf32>
// CHECK: tir.for %{{.+}} @i_1 in (5) {
tir.prim_func @stencil(%X: memref<14xf32>) outs(%Y: memref<12xf32>) attributes {tir.noalias} {
  %two = arith.constant 2 : index
  %T = tir.alloc_buffer : memref<14xf32>
  tir.for %i @i1 in (14) {
    tir.block @T (%vi: spatial<14> = %i) {
      %x = memref.load %X[%vi] : memref<14xf32>
      %e = math.exp %x : f32
      memref.store %e, %T[%vi] : memref<14xf32>
    }
  }
  tir.for %i @i in (12) {
    tir.block @Y (%vi: spatial<12> = %i) {
      %a = memref.load %T[%vi] : memref<14xf32>
      %next = arith.addi %vi, %two : index
      %b = memref.load %T[%next] : memref<14xf32>
      %s = arith.addf %a, %b : f32
      memref.store %s, %Y[%vi] : memref<12xf32>
    }
  }
}
schedule.sequence for @stencil {
  schedule.split @i by [?, 5]
  schedule.compute_at @T at @i_0 into [@halo]
  schedule.compact_buffer @T write 0
}

// -----

// So does a padded copy, which is written in every iteration, whatever the condition of the padding.

// CHECK-LABEL: @padded_stencil
// CHECK: tir.for %{{.+}} @i_0 in (3) {
// CHECK-NEXT: tir.alloc_buffer : memref<6xf32>
// CHECK-NEXT: tir.for %{{.+}} @halo in (6) {
tir.prim_func @padded_stencil(%X: memref<12xf32>) outs(%Y: memref<12xf32>) attributes {tir.noalias} {
  %one = arith.constant 1 : index
  %two = arith.constant 2 : index
  %end = arith.constant 13 : index
  %T = tir.alloc_buffer : memref<14xf32>
  tir.for %i @i1 in (14) {
    tir.block @T (%vi: spatial<14> = %i) {
      %after = arith.cmpi sge, %vi, %one : index
      %before = arith.cmpi slt, %vi, %end : index
      %inside = arith.andi %after, %before : i1
      %p = scf.if %inside -> (f32) {
        %at = arith.subi %vi, %one : index
        %x = memref.load %X[%at] : memref<12xf32>
        scf.yield %x : f32
      } else {
        %zero = arith.constant 0.0 : f32
        scf.yield %zero : f32
      }
      memref.store %p, %T[%vi] : memref<14xf32>
    }
  }
  tir.for %i @i in (12) {
    tir.block @Y (%vi: spatial<12> = %i) {
      %a = memref.load %T[%vi] : memref<14xf32>
      %next = arith.addi %vi, %two : index
      %b = memref.load %T[%next] : memref<14xf32>
      %s = arith.addf %a, %b : f32
      memref.store %s, %Y[%vi] : memref<12xf32>
    }
  }
}
schedule.sequence for @padded_stencil {
  schedule.split @i by [?, 4]
  schedule.compute_at @T at @i_0 into [@halo]
  schedule.compact_buffer @T write 0
}

// -----

// A reduction goes to where its result is read, with its own loops.

// CHECK-LABEL: @row_sums
// CHECK: tir.for %[[I:.+]] @i in (4) {
// CHECK-NEXT: tir.for %[[K:.+]] @ax0 in (8) {
// CHECK-NEXT: tir.block @S (%{{.+}}: spatial<4> = %[[I]], %{{.+}}: reduce<8> = %[[K]]) {
// CHECK-NEXT: tir.init {
// CHECK: tir.for %[[J:.+]] @j in (8) {
tir.prim_func @row_sums(%X: memref<4x8xf32>) outs(%Y: memref<4x8xf32>) attributes {tir.noalias} {
  %zero = arith.constant 0.0 : f32
  %S = tir.alloc_buffer : memref<4xf32>
  tir.for %i @i1, %k @k in (4, 8) {
    tir.block @S (%vi: spatial<4> = %i, %vk: reduce<8> = %k) {
      tir.init {
        memref.store %zero, %S[%vi] : memref<4xf32>
      }
      %s = memref.load %S[%vi] : memref<4xf32>
      %x = memref.load %X[%vi, %vk] : memref<4x8xf32>
      %n = arith.addf %s, %x : f32
      memref.store %n, %S[%vi] : memref<4xf32>
    }
  }
  tir.for %i @i, %j @j in (4, 8) {
    tir.block @Y (%vi: spatial<4> = %i, %vj: spatial<8> = %j) {
      %x = memref.load %X[%vi, %vj] : memref<4x8xf32>
      %s = memref.load %S[%vi] : memref<4xf32>
      %y = arith.divf %x, %s : f32
      memref.store %y, %Y[%vi, %vj] : memref<4x8xf32>
    }
  }
}
schedule.sequence for @row_sums {
  schedule.compute_at @S at @i
}

// -----

// The buffer that comes behind its producer, and its size, move in front of it.

// CHECK-LABEL: @dynamic
// CHECK: %n = memref.dim %X, %{{.+}} : memref<?xf32>
// CHECK: %[[Z:.+]] = tir.alloc_buffer sizes(%n) : memref<?xf32>
// CHECK: tir.for %{{.+}} @i_0 in
// CHECK: tir.block @T (
// CHECK: tir.for %{{.+}} @ax0 in (8) {
// CHECK: arith.cmpi slt, %{{.+}}, %n : index
// CHECK: tir.block @Z (%{{.+}}: spatial<%n> =
// CHECK: tir.block @Y (
tir.prim_func @dynamic(%X: memref<?xf32>) outs(%Y: memref<?xf32>) attributes {tir.noalias} {
  %zero = arith.constant 0 : index
  %n = memref.dim %X, %zero : memref<?xf32>
  %T = tir.alloc_buffer sizes(%n) : memref<?xf32>
  tir.for %i @i in (%n) {
    tir.block @T (%vi: spatial<%n> = %i) {
      %x = memref.load %X[%vi] : memref<?xf32>
      memref.store %x, %T[%vi] : memref<?xf32>
    }
  }
  %Z = tir.alloc_buffer sizes(%n) : memref<?xf32>
  tir.for %i @i1 in (%n) {
    tir.block @Z (%vi: spatial<%n> = %i) {
      %t = memref.load %T[%vi] : memref<?xf32>
      memref.store %t, %Z[%vi] : memref<?xf32>
    }
  }
  tir.for %i @i2 in (%n) {
    tir.block @Y (%vi: spatial<%n> = %i) {
      %z = memref.load %Z[%vi] : memref<?xf32>
      memref.store %z, %Y[%vi] : memref<?xf32>
    }
  }
}
schedule.sequence for @dynamic {
  schedule.split @i by [?, 8]
  schedule.reverse_compute_at @Z at @i_0
}

// -----

// A transposed reader is done by the producer.

// CHECK-LABEL: @merge
// CHECK-NOT: tir.alloc_buffer
// CHECK: tir.block @T (%[[I:.+]]: spatial<4> = %{{.+}}, %[[J:.+]]: spatial<6> = %{{.+}}) {
// CHECK-NEXT: %[[X:.+]] = memref.load %X[%[[I]], %[[J]]]
// CHECK-NEXT: %[[E:.+]] = math.exp %[[X]]
// CHECK-NEXT: %[[Y:.+]] = arith.addf %[[E]], %[[E]]
// CHECK-NEXT: memref.store %[[Y]], %Y[%[[J]], %[[I]]]
// CHECK-NOT: tir.block
tir.prim_func @merge(%X: memref<4x6xf32>) outs(%Y: memref<6x4xf32>) attributes {tir.noalias} {
  %T = tir.alloc_buffer : memref<4x6xf32>
  tir.for %i @i, %j @j in (4, 6) {
    tir.block @T (%vi: spatial<4> = %i, %vj: spatial<6> = %j) {
      %x = memref.load %X[%vi, %vj] : memref<4x6xf32>
      %e = math.exp %x : f32
      memref.store %e, %T[%vi, %vj] : memref<4x6xf32>
    }
  }
  tir.for %j @j1, %i @i1 in (6, 4) {
    tir.block @Y (%vj: spatial<6> = %j, %vi: spatial<4> = %i) {
      %t = memref.load %T[%vi, %vj] : memref<4x6xf32>
      %y = arith.addf %t, %t : f32
      memref.store %y, %Y[%vj, %vi] : memref<6x4xf32>
    }
  }
}
schedule.sequence for @merge {
  schedule.reverse_compute_inline @Y
}

// -----

// Panels of 4 rows, with room for all of the last one. The loops of a tile index them without quotients, and the
// condition of the last tile is not needed for what stays in the panel.

// CHECK-LABEL: @panels
// CHECK: %T = tir.alloc_buffer : memref<2x3x4xf32>
// CHECK: %W_local = tir.alloc_buffer : memref<2x3x4xf32>
// CHECK: %[[Q:.+]] = arith.divsi %[[N:.+]], %c4 : index
// CHECK: %[[R:.+]] = arith.remsi %[[N]], %c4 : index
// CHECK: memref.store %{{.+}}, %W_local[%[[Q]], %{{.+}}, %[[R]]]
// CHECK: tir.for %{{.+}} @n_0, %{{.+}} @n_1, %{{.+}} @k in (2, 4, 3) {
// CHECK-NEXT: tir.block @T (%[[N0:.+]]: spatial<2> = %{{.+}}, %[[N1:.+]]: spatial<4> = %{{.+}}, %[[K:.+]]: spatial<3> = %{{.+}}) {
// CHECK-NEXT: memref.load %W_local[%[[N0]], %[[K]], %[[N1]]]
// CHECK-NEXT: memref.store %{{.+}}, %T[%[[N0]], %[[K]], %[[N1]]]
tir.prim_func @panels(%W: memref<7x3xf32>) outs(%Y: memref<7x3xf32>) attributes {tir.noalias} {
  %T = tir.alloc_buffer : memref<7x3xf32>
  tir.for %n @n, %k @k in (7, 3) {
    tir.block @T (%vn: spatial<7> = %n, %vk: spatial<3> = %k) {
      %w = memref.load %W[%vn, %vk] : memref<7x3xf32>
      memref.store %w, %T[%vn, %vk] : memref<7x3xf32>
    }
  }
  tir.for %n @n1, %k @k1 in (7, 3) {
    tir.block @Y (%vn: spatial<7> = %n, %vk: spatial<3> = %k) {
      %t = memref.load %T[%vn, %vk] : memref<7x3xf32>
      memref.store %t, %Y[%vn, %vk] : memref<7x3xf32>
    }
  }
}
schedule.sequence for @panels {
  schedule.cache_read @T read 0
  schedule.split @n by [?, 4]
  schedule.transform_layout @T read 0 by affine_map<(n, k) -> (n floordiv 4, k, n mod 4)>
  schedule.transform_layout @T write 0 by affine_map<(n, k) -> (n floordiv 4, k, n mod 4)>
  schedule.unguard @T
}

// -----

// Nothing has been written before the first block: it may write elements that another one never does.

// CHECK-LABEL: @first_of_two
// CHECK: tir.for %{{.+}} @i_0, %{{.+}} @i_1 in (2, 4) {
// CHECK-NOT: scf.if
// CHECK: tir.block @T (%{{.+}}: spatial<2> = %{{.+}}, %{{.+}}: spatial<4>
// CHECK: tir.block @U (%{{.+}}: spatial<6>
tir.prim_func @first_of_two(%X: memref<6xf32>) outs(%Y: memref<6xf32>) attributes {tir.noalias} {
  %T = tir.alloc_buffer : memref<8xf32>
  tir.for %i @i in (6) {
    tir.block @T (%vi: spatial<6> = %i) {
      %one = arith.constant 1.0 : f32
      memref.store %one, %T[%vi] : memref<8xf32>
    }
  }
  tir.for %j @j in (6) {
    tir.block @U (%vj: spatial<6> = %j) {
      %x = memref.load %X[%vj] : memref<6xf32>
      %t = memref.load %T[%vj] : memref<8xf32>
      %sum = arith.addf %x, %t : f32
      memref.store %sum, %T[%vj] : memref<8xf32>
    }
  }
  tir.for %k @k in (6) {
    tir.block @Y (%vk: spatial<6> = %k) {
      %u = memref.load %T[%vk] : memref<8xf32>
      memref.store %u, %Y[%vk] : memref<6xf32>
    }
  }
}
schedule.sequence for @first_of_two {
  schedule.split @i by [?, 4]
  schedule.unguard @T
}

// -----

// Panels of four again, with zeros in place of what the last one lacks: the reads keep the condition.

// CHECK-LABEL: @zeros
// CHECK: %T = tir.alloc_buffer : memref<2x3x4xf32>
// CHECK-NEXT: tir.for %{{.+}} @n_0, %{{.+}} @n_1, %{{.+}} @k in (2, 4, 3) {
// CHECK-NEXT: tir.block @T (%[[N0:.+]]: spatial<2> = %{{.+}}, %[[N1:.+]]: spatial<4> = %{{.+}}, %[[K:.+]]: spatial<3> = %{{.+}}) {
// CHECK-NEXT: %[[FIRST:.+]] = arith.muli %[[N0]], %c4 : index
// CHECK-NEXT: %[[N:.+]] = arith.addi %[[FIRST]], %[[N1]] : index
// CHECK-NEXT: %[[INSIDE:.+]] = arith.cmpi slt, %[[N]], %c7 : index
// CHECK-NEXT: %[[W:.+]] = scf.if %[[INSIDE]] -> (f32) {
// CHECK: %[[OLD:.+]] = memref.load %W[%{{.+}}, %[[K]]]
// CHECK-NEXT: scf.yield %[[OLD]] : f32
// CHECK-NEXT: } else {
// CHECK-NEXT: %[[ZERO:.+]] = arith.constant 0.000000e+00 : f32
// CHECK-NEXT: scf.yield %[[ZERO]] : f32
// CHECK-NEXT: }
// CHECK-NEXT: memref.store %[[W]], %T[%[[N0]], %[[K]], %[[N1]]]
tir.prim_func @zeros(%W: memref<7x3xf32>) outs(%Y: memref<7x3xf32>) attributes {tir.noalias} {
  %T = tir.alloc_buffer : memref<7x3xf32>
  tir.for %n @n, %k @k in (7, 3) {
    tir.block @T (%vn: spatial<7> = %n, %vk: spatial<3> = %k) {
      %w = memref.load %W[%vn, %vk] : memref<7x3xf32>
      memref.store %w, %T[%vn, %vk] : memref<7x3xf32>
    }
  }
  tir.for %n @n1, %k @k1 in (7, 3) {
    tir.block @Y (%vn: spatial<7> = %n, %vk: spatial<3> = %k) {
      %t = memref.load %T[%vn, %vk] : memref<7x3xf32>
      memref.store %t, %Y[%vn, %vk] : memref<7x3xf32>
    }
  }
}
schedule.sequence for @zeros {
  schedule.split @n by [?, 4]
  schedule.transform_layout @T write 0 by affine_map<(n, k) -> (n floordiv 4, k, n mod 4)>
  schedule.zero_fill @T
}

// -----

// A sum of three terms, the first and the last ones with padding on the left and on the right.

// CHECK-LABEL: @padding
// CHECK: tir.for %[[I:.+]] @i, %[[R:.+]] @r in (5, 3) {
// CHECK-NEXT: %[[LEFT:.+]] = arith.addi %[[I]], %[[R]] : index
// CHECK-NEXT: %[[FROM:.+]] = arith.cmpi sge, %[[LEFT]], %c1 : index
// CHECK-NEXT: %[[RIGHT:.+]] = arith.addi %[[I]], %[[R]] : index
// CHECK-NEXT: %[[TO:.+]] = arith.cmpi slt, %[[RIGHT]], %c6 : index
// CHECK-NEXT: %[[BOTH:.+]] = arith.andi %[[FROM]], %[[TO]] : i1
// CHECK-NEXT: scf.if %[[BOTH]] {
// CHECK-NEXT: tir.block @Y
tir.prim_func @padding(%X: memref<5xf32>, %W: memref<3xf32> {relex.finite}) outs(%Y: memref<5xf32>) attributes {tir.noalias} {
  %zero = arith.constant 0.0 : f32
  %c1 = arith.constant 1 : index
  %c6 = arith.constant 6 : index
  %P = tir.alloc_buffer : memref<7xf32>
  tir.for %i @i1 in (7) {
    tir.block @P (%vi: spatial<7> = %i) {
      %from = arith.cmpi sge, %vi, %c1 : index
      %to = arith.cmpi slt, %vi, %c6 : index
      %inside = arith.andi %from, %to : i1
      %p = scf.if %inside -> (f32) {
        %at = arith.subi %vi, %c1 : index
        %x = memref.load %X[%at] : memref<5xf32>
        scf.yield %x : f32
      } else {
        scf.yield %zero : f32
      }
      memref.store %p, %P[%vi] : memref<7xf32>
    }
  }
  tir.for %i @i, %r @r in (5, 3) {
    tir.block @Y (%vi: spatial<5> = %i, %vr: reduce<3> = %r) {
      tir.init {
        memref.store %zero, %Y[%vi] : memref<5xf32>
      }
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
schedule.sequence for @padding {
  schedule.decompose_reduction @Y at @i
  schedule.skip_padding @r
}

// -----

// The loop says which of the buffers that its block reads is prefetched, and how many iterations ahead.

// CHECK-LABEL: @prefetch(
// CHECK: tir.for {{.*}}@k in (300)
// CHECK: } {relex.prefetch = array<i64: 1, 64>}
tir.prim_func @prefetch(%X: memref<5x300xf32>, %W: memref<300x7xf32>) outs(%Y: memref<5x7xf32>) attributes {tir.noalias} {
  %zero = arith.constant 0.0 : f32
  tir.for %i @i, %j @j, %k @k in (5, 7, 300) {
    tir.block @Y (%vi: spatial<5> = %i, %vj: spatial<7> = %j, %vk: reduce<300> = %k) {
      tir.init {
        memref.store %zero, %Y[%vi, %vj] : memref<5x7xf32>
      }
      %y = memref.load %Y[%vi, %vj] : memref<5x7xf32>
      %x = memref.load %X[%vi, %vk] : memref<5x300xf32>
      %w = memref.load %W[%vk, %vj] : memref<300x7xf32>
      %product = arith.mulf %x, %w : f32
      %s = arith.addf %y, %product : f32
      memref.store %s, %Y[%vi, %vj] : memref<5x7xf32>
    }
  }
}
schedule.sequence for @prefetch {
  schedule.prefetch @Y read 1 at @k ahead 64
}

// -----

// Partial sums, one for each lane and place in the tile, set to what changes no sum. The terms do not fill all lanes: the
// condition stays with the partial sums. What combines them starts with the init of the sum.

// CHECK-LABEL: @rfactor(
// CHECK: tir.for %[[J:.+]] @j_0 in (2)
// CHECK-NEXT: %Y_rf = tir.alloc_buffer : memref<3x16xf32>
// CHECK-NEXT: tir.for {{.*}}@j_1_init, vectorized {{.*}}@k_1_init in (3, 16)
// CHECK-NEXT: tir.block @Y_rf_init (%[[A:.+]]: spatial<3> = {{.*}}, %[[B:.+]]: spatial<16> = {{.*}}) {
// CHECK-NEXT: %[[NOTHING:.+]] = arith.constant -0.000000e+00 : f32
// CHECK-NEXT: memref.store %[[NOTHING]], %Y_rf[%[[A]], %[[B]]]
// CHECK: tir.for {{.*}}@k_0, {{.*}}@j_1, vectorized {{.*}}@k_1 in (3, 3, 16)
// CHECK: scf.if
// CHECK-NEXT: tir.block @Y_rf (%{{.+}}: spatial<2> = %[[J]], %[[A:.+]]: spatial<3> = {{.*}}, %{{.+}}: reduce<3> = {{.*}}, %[[B:.+]]: spatial<16> = {{.*}}) {
// CHECK-NOT: tir.init
// CHECK: %[[OLD:.+]] = memref.load %Y_rf[%[[A]], %[[B]]]
// CHECK: %[[NEW:.+]] = arith.addf %[[OLD]], %{{.+}} fastmath<reassoc>
// CHECK-NEXT: memref.store %[[NEW]], %Y_rf[%[[A]], %[[B]]]
// CHECK: tir.for {{.*}}@j_1_rf in (3)
// CHECK-NEXT: tir.block @Y_init
// CHECK: tir.for vectorized {{.*}}@k_1_rf in (16)
// CHECK-NEXT: tir.block @Y (%{{.+}}: spatial<2> = %[[J]], %[[A:.+]]: spatial<3> = {{.*}}, %[[B:.+]]: reduce<16> = {{.*}}) {
// CHECK-NOT: memref.load %X
// CHECK: %[[Y:.+]] = memref.load %Y[%[[AT:.+]]]
// CHECK-NEXT: %[[PART:.+]] = memref.load %Y_rf[%[[A]], %[[B]]]
// CHECK-NEXT: %[[S:.+]] = arith.addf %[[Y]], %[[PART]] fastmath<reassoc>
// CHECK-NEXT: memref.store %[[S]], %Y[%[[AT]]]
tir.prim_func @rfactor(%X: memref<6x40xf32>) outs(%Y: memref<6xf32>) attributes {tir.noalias} {
  %start = arith.constant 1.0 : f32
  tir.for %j @j, %k @k in (6, 40) {
    tir.block @Y (%vj: spatial<6> = %j, %vk: reduce<40> = %k) {
      tir.init {
        memref.store %start, %Y[%vj] : memref<6xf32>
      }
      %y = memref.load %Y[%vj] : memref<6xf32>
      %x = memref.load %X[%vj, %vk] : memref<6x40xf32>
      %s = arith.addf %y, %x fastmath<reassoc> : f32
      memref.store %s, %Y[%vj] : memref<6xf32>
    }
  }
}
schedule.sequence for @rfactor {
  schedule.split @j by [?, 3]
  schedule.split @k by [?, 16]
  schedule.reorder [@j_0, @k_0, @j_1, @k_1]
  schedule.rfactor @Y along @k_1 at @k_0
  schedule.vectorize @k_1_init
  schedule.vectorize @k_1
  schedule.decompose_reduction @Y at @k_1_rf
  schedule.vectorize @k_1_rf
}

// -----

// The largest float by integers: of negative ones all bits but the sign are inverted, and NaN comes out on top, since the
// integers are moved by the number of NaN below -Inf. Others read floats as before.

// CHECK-LABEL: @largest(
// CHECK: %T = tir.alloc_buffer : memref<4xi32>
// CHECK: tir.block @T
// CHECK: tir.init {
// CHECK: memref.store %{{.+}}, %T[%{{.+}}] : memref<4xi32>
// CHECK: %[[OLD:.+]] = memref.load %T[%{{.+}}] : memref<4xi32>
// CHECK-NEXT: %[[BITS:.+]] = arith.bitcast %{{.+}} : f32 to i32
// CHECK: %[[SIGNS:.+]] = arith.shrsi %[[BITS]]
// CHECK: %[[MASK:.+]] = arith.andi %[[SIGNS]]
// CHECK-NEXT: %[[TURNED:.+]] = arith.xori %[[BITS]], %[[MASK]]
// CHECK-NEXT: %[[COUNT:.+]] = arith.constant -8388607 : i32
// CHECK-NEXT: %[[NEW:.+]] = arith.addi %[[TURNED]], %[[COUNT]]
// CHECK-NEXT: %[[BEST:.+]] = arith.maxsi %[[OLD]], %[[NEW]]
// CHECK-NEXT: memref.store %[[BEST]], %T
// CHECK: tir.block @Y
// CHECK: memref.load %T[%{{.+}}] : memref<4xi32>
// CHECK: %[[FLOAT:.+]] = arith.bitcast %{{.+}} : i32 to f32
// CHECK-NEXT: memref.store %[[FLOAT]], %Y
// CHECK-NOT: schedule.
tir.prim_func @largest(%X: memref<4x8xf32>) outs(%Y: memref<4xf32>) attributes {tir.noalias} {
  %low = arith.constant 0xFF800000 : f32
  %T = tir.alloc_buffer : memref<4xf32>
  tir.for %i @i, %k @k in (4, 8) {
    tir.block @T (%vi: spatial<4> = %i, %vk: reduce<8> = %k) {
      tir.init {
        memref.store %low, %T[%vi] : memref<4xf32>
      }
      %t = memref.load %T[%vi] : memref<4xf32>
      %x = memref.load %X[%vi, %vk] : memref<4x8xf32>
      %m = arith.maximumf %t, %x : f32
      memref.store %m, %T[%vi] : memref<4xf32>
    }
  }
  tir.for %j @j in (4) {
    tir.block @Y (%vi: spatial<4> = %j) {
      %t = memref.load %T[%vi] : memref<4xf32>
      memref.store %t, %Y[%vi] : memref<4xf32>
    }
  }
}
schedule.sequence for @largest {
  schedule.order_as_integers @T
}

// -----

// Dimensions in another order, of sizes that are known at run time.

// CHECK-LABEL: @turned(
// CHECK: %T = tir.alloc_buffer sizes(%{{.+}}, %{{.+}}) : memref<?x?xf32>
// CHECK: memref.store %{{.+}}, %T[%vj, %vi]
tir.prim_func @turned(%X: memref<?x?xf32>) outs(%Y: memref<?x?xf32>) attributes {tir.noalias} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %X, %c0 : memref<?x?xf32>
  %m = memref.dim %X, %c1 : memref<?x?xf32>
  %T = tir.alloc_buffer sizes(%n, %m) : memref<?x?xf32>
  tir.for %i @i, %j @j in (%n, %m) {
    tir.block @T (%vi: spatial<%n> = %i, %vj: spatial<%m> = %j) {
      %x = memref.load %X[%vi, %vj] : memref<?x?xf32>
      memref.store %x, %T[%vi, %vj] : memref<?x?xf32>
    }
  }
  tir.for %i @i1, %j @j1 in (%n, %m) {
    tir.block @Y (%vi: spatial<%n> = %i, %vj: spatial<%m> = %j) {
      %t = memref.load %T[%vi, %vj] : memref<?x?xf32>
      memref.store %t, %Y[%vi, %vj] : memref<?x?xf32>
    }
  }
}
schedule.sequence for @turned {
  schedule.transform_layout @T write 0 by affine_map<(i, j) -> (j, i)>
}

// -----

// A local copy that nothing else reads holds integers, too: each element is converted once.

// CHECK-LABEL: @windows(
// CHECK: %P = tir.alloc_buffer : memref<10xi32>
// CHECK: tir.block @P
// CHECK: %[[COPIED:.+]] = arith.addi %{{.+}}, %{{.+}} : i32
// CHECK-NEXT: memref.store %[[COPIED]], %P
// CHECK: tir.block @T
// CHECK: tir.init {
// CHECK: }
// CHECK: %[[OLD:.+]] = memref.load %T
// CHECK-NEXT: %[[NEW:.+]] = memref.load %P
// CHECK-NEXT: arith.maxsi %[[OLD]], %[[NEW]]
// CHECK-NOT: arith.bitcast
// CHECK: tir.block @Y
tir.prim_func @windows(%X: memref<10xf32>) outs(%Y: memref<8xf32>) attributes {tir.noalias} {
  %low = arith.constant 0xFF800000 : f32
  %P = tir.alloc_buffer : memref<10xf32>
  %T = tir.alloc_buffer : memref<8xf32>
  tir.for %i @i in (10) {
    tir.block @P (%vi: spatial<10> = %i) {
      %x = memref.load %X[%vi] : memref<10xf32>
      memref.store %x, %P[%vi] : memref<10xf32>
    }
  }
  tir.for %i @i1, %k @k in (8, 3) {
    tir.block @T (%vi: spatial<8> = %i, %vk: reduce<3> = %k) {
      tir.init {
        memref.store %low, %T[%vi] : memref<8xf32>
      }
      %at = arith.addi %vi, %vk : index
      %t = memref.load %T[%vi] : memref<8xf32>
      %p = memref.load %P[%at] : memref<10xf32>
      %m = arith.maximumf %t, %p : f32
      memref.store %m, %T[%vi] : memref<8xf32>
    }
  }
  tir.for %j @j in (8) {
    tir.block @Y (%vi: spatial<8> = %j) {
      %t = memref.load %T[%vi] : memref<8xf32>
      memref.store %t, %Y[%vi] : memref<8xf32>
    }
  }
}
schedule.sequence for @windows {
  schedule.order_as_integers @T
}

// -----

// Iterations that write parts of one buffer are independent of each other.

// CHECK-LABEL: @halves(
// CHECK: tir.for parallel %i @i in (4) {
tir.prim_func @halves(%X: memref<4xf32>) outs(%Y: memref<8xf32>) attributes {tir.noalias} {
  %c4 = arith.constant 4 : index
  tir.for %i @i in (4) {
    tir.block @low (%v: spatial<4> = %i) {
      %x = memref.load %X[%v] : memref<4xf32>
      memref.store %x, %Y[%v] : memref<8xf32>
    }
    tir.block @high (%v: spatial<4> = %i) {
      %j = arith.addi %v, %c4 : index
      %x = memref.load %X[%v] : memref<4xf32>
      memref.store %x, %Y[%j] : memref<8xf32>
    }
  }
}
schedule.sequence for @halves {
  schedule.parallel @i
}

// -----

// So are iterations that their conditions keep apart: the first block writes two elements only.

// CHECK-LABEL: @guarded(
// CHECK: tir.for parallel %i @i in (4) {
tir.prim_func @guarded(%X: memref<4xf32>) outs(%Y: memref<6xf32>) attributes {tir.noalias} {
  %c2 = arith.constant 2 : index
  tir.for %i @i in (4) {
    %few = arith.cmpi slt, %i, %c2 : index
    scf.if %few {
      tir.block @low (%v: spatial<4> = %i) {
        %x = memref.load %X[%v] : memref<4xf32>
        memref.store %x, %Y[%v] : memref<6xf32>
      }
    }
    tir.block @high (%v: spatial<4> = %i) {
      %j = arith.addi %v, %c2 : index
      %x = memref.load %X[%v] : memref<4xf32>
      memref.store %x, %Y[%j] : memref<6xf32>
    }
  }
}
schedule.sequence for @guarded {
  schedule.parallel @i
}

// -----

// A block moves across accesses of other elements of its buffers.

// CHECK-LABEL: @across(
// CHECK: tir.for %j @j in (4) {
// CHECK-NEXT: tir.block @T
// CHECK: tir.block @Z
tir.prim_func @across(%X: memref<8xf32>) outs(%Y: memref<8xf32>, %Z: memref<4xf32>) attributes {tir.noalias} {
  %c4 = arith.constant 4 : index
  %T = tir.alloc_buffer : memref<4xf32>
  tir.for %i @i in (4) {
    tir.block @low (%v: spatial<4> = %i) {
      %x = memref.load %X[%v] : memref<8xf32>
      memref.store %x, %Y[%v] : memref<8xf32>
    }
  }
  tir.for %i @k in (4) {
    tir.block @T (%v: spatial<4> = %i) {
      %y = memref.load %Y[%v] : memref<8xf32>
      memref.store %y, %T[%v] : memref<4xf32>
    }
  }
  tir.for %i @l in (4) {
    tir.block @high (%v: spatial<4> = %i) {
      %w = arith.addi %v, %c4 : index
      %x = memref.load %X[%w] : memref<8xf32>
      memref.store %x, %Y[%w] : memref<8xf32>
    }
  }
  tir.for %j @j in (4) {
    tir.block @Z (%v: spatial<4> = %j) {
      %t = memref.load %T[%v] : memref<4xf32>
      memref.store %t, %Z[%v] : memref<4xf32>
    }
  }
}
schedule.sequence for @across {
  schedule.compute_at @T at @j
}
