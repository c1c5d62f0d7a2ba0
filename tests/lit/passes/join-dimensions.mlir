// RUN: relex-opt %s -p join-dimensions --check-each --split-input-file | filecheck %s

// All dimensions of an image are one; the local image that lies between has one as well.
// CHECK-LABEL: @image
// CHECK-DAG:     %[[X:.+]] = memref.collapse_shape %x {{.*}} : memref<8x?x?xf32> into memref<?xf32>
// CHECK-DAG:     %[[Y:.+]] = memref.collapse_shape %y {{.*}} : memref<8x?x?xf32> into memref<?xf32>
// CHECK:         %[[T:.+]] = tir.alloc_buffer sizes(%{{.+}}) : memref<?xf32>
// CHECK:         tir.for %[[I:.+]] @c_i_j_fused in (%[[SIZE:.+]]) {
// CHECK-NEXT:      tir.block @T (%[[V:.+]]: spatial<%[[SIZE]]> = %[[I]]) {
// CHECK-NEXT:        memref.load %[[X]][%[[V]]]
// CHECK:             memref.store %{{.+}}, %[[T]][%[[V]]]
// CHECK:         tir.for %{{.+}} @c1_i1_j1_fused in (%{{.+}}) {
// CHECK:             memref.store %{{.+}}, %[[Y]][%{{.+}}]
tir.prim_func @image(%x: memref<8x?x?xf32> {relex.dims = ["", "h", "w"]}) outs(%y: memref<8x?x?xf32> {relex.dims = ["", "h", "w"]}) attributes {tir.noalias} {
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %h = memref.dim %x, %c1 : memref<8x?x?xf32>
  %w = memref.dim %x, %c2 : memref<8x?x?xf32>
  %T = tir.alloc_buffer sizes(%h, %w) : memref<8x?x?xf32>
  tir.for %c @c, %i @i, %j @j in (8, %h, %w) {
    tir.block @T (%vc: spatial<8> = %c, %vi: spatial<%h> = %i, %vj: spatial<%w> = %j) {
      %0 = memref.load %x[%vc, %vi, %vj] : memref<8x?x?xf32>
      %1 = math.exp %0 : f32
      memref.store %1, %T[%vc, %vi, %vj] : memref<8x?x?xf32>
    }
  }
  %n = memref.dim %T, %c2 : memref<8x?x?xf32>
  tir.for %c @c1, %i @i1, %j @j1 in (8, %h, %n) {
    tir.block @Y (%vc: spatial<8> = %c, %vi: spatial<%h> = %i, %vj: spatial<%n> = %j) {
      %0 = memref.load %T[%vc, %vi, %vj] : memref<8x?x?xf32>
      %1 = arith.addf %0, %0 : f32
      memref.store %1, %y[%vc, %vi, %vj] : memref<8x?x?xf32>
    }
  }
}

// -----

// Of a bias for each channel, and of a sum over an image, the loop over channels stays.
// CHECK-LABEL: @channels
// CHECK:         tir.for %{{.+}} @c, %{{.+}} @i_j_fused in (8, %{{.+}}) {
// CHECK-NEXT:      tir.block @Y (%[[C:.+]]: spatial<8> = %{{.+}}, %[[V:.+]]: spatial<%{{.+}}> = %{{.+}}) {
// CHECK-NEXT:        memref.load %{{.+}}[%[[C]], %[[V]]] : memref<8x?xf32>
// CHECK-NEXT:        memref.load %b[%[[C]]] : memref<8xf32>
// CHECK:         tir.for %{{.+}} @c1, %{{.+}} @i1_j1_fused in (8, %{{.+}}) {
// CHECK-NEXT:      tir.block @Z (%{{.+}}: spatial<8> = %{{.+}}, %{{.+}}: reduce<%{{.+}}> = %{{.+}}) {
// CHECK-NEXT:        tir.init {
tir.prim_func @channels(%x: memref<8x?x?xf32> {relex.dims = ["", "h", "w"]}, %b: memref<8xf32>) outs(%y: memref<8x?x?xf32> {relex.dims = ["", "h", "w"]}, %z: memref<8xf32>) attributes {tir.noalias} {
  %zero = arith.constant 0.0 : f32
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %h = memref.dim %x, %c1 : memref<8x?x?xf32>
  %w = memref.dim %x, %c2 : memref<8x?x?xf32>
  tir.for %c @c, %i @i, %j @j in (8, %h, %w) {
    tir.block @Y (%vc: spatial<8> = %c, %vi: spatial<%h> = %i, %vj: spatial<%w> = %j) {
      %0 = memref.load %x[%vc, %vi, %vj] : memref<8x?x?xf32>
      %1 = memref.load %b[%vc] : memref<8xf32>
      %2 = arith.addf %0, %1 : f32
      memref.store %2, %y[%vc, %vi, %vj] : memref<8x?x?xf32>
    }
  }
  tir.for %c @c1, %i @i1, %j @j1 in (8, %h, %w) {
    tir.block @Z (%vc: spatial<8> = %c, %vi: reduce<%h> = %i, %vj: reduce<%w> = %j) {
      tir.init {
        memref.store %zero, %z[%vc] : memref<8xf32>
      }
      %0 = memref.load %x[%vc, %vi, %vj] : memref<8x?x?xf32>
      %1 = memref.load %z[%vc] : memref<8xf32>
      %2 = arith.addf %1, %0 : f32
      memref.store %2, %z[%vc] : memref<8xf32>
    }
  }
}

// -----

// Loops stay whose variables are used apart, for anything but indices, or in dimensions that may be longer; so do
// dimensions of constant sizes.
// CHECK-LABEL: @stays
// CHECK-NOT:     collapse_shape
// CHECK:         tir.for %{{.+}}, %{{.+}} in (%{{.+}}, %{{.+}}) {
// CHECK:         tir.for %{{.+}}, %{{.+}} in (%{{.+}}, %{{.+}}) {
// CHECK:         tir.for %{{.+}}, %{{.+}} in (%{{.+}}, %{{.+}}) {
// CHECK:         tir.for %{{.+}}, %{{.+}} in (4, 8) {
tir.prim_func @stays(%x: memref<?x?xf32> {relex.dims = ["h", "w"]}, %r: memref<?xf32> {relex.dims = ["w"]}, %k: memref<4x8xf32>) outs(%y: memref<?x?xf32> {relex.dims = ["h", "w"]}, %z: memref<?x?xi64> {relex.dims = ["h", "w"]}, %l: memref<?x?xf32> {relex.dims = ["h", "w + 1"]}, %q: memref<4x8xf32>) attributes {tir.noalias} {
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %h = memref.dim %x, %c0 : memref<?x?xf32>
  %w = memref.dim %x, %c1 : memref<?x?xf32>
  tir.for %i, %j in (%h, %w) {
    tir.block @Y (%vi: spatial<%h> = %i, %vj: spatial<%w> = %j) {
      %0 = memref.load %x[%vi, %vj] : memref<?x?xf32>
      %1 = memref.load %r[%vj] : memref<?xf32>
      %2 = arith.addf %0, %1 : f32
      memref.store %2, %y[%vi, %vj] : memref<?x?xf32>
    }
  }
  tir.for %i, %j in (%h, %w) {
    tir.block @Z (%vi: spatial<%h> = %i, %vj: spatial<%w> = %j) {
      %0 = arith.index_cast %vj : index to i64
      memref.store %0, %z[%vi, %vj] : memref<?x?xi64>
    }
  }
  tir.for %i, %j in (%h, %w) {
    tir.block @L (%vi: spatial<%h> = %i, %vj: spatial<%w> = %j) {
      memref.store %zero, %l[%vi, %vj] : memref<?x?xf32>
    }
  }
  tir.for %i, %j in (4, 8) {
    tir.block @Q (%vi: spatial<4> = %i, %vj: spatial<8> = %j) {
      %0 = memref.load %k[%vi, %vj] : memref<4x8xf32>
      memref.store %0, %q[%vi, %vj] : memref<4x8xf32>
    }
  }
}
