// RUN: relex-opt %s -p cancel-divisions --check-each --split-input-file | filecheck %s

// A reshape and its inverse, to rows of another number: what is left of a division is less than the divisor.
// CHECK-LABEL: @there_and_back
// CHECK-NOT:     arith.{{div|rem}}
// CHECK:           memref.load %x[%vi, %vj]
// CHECK-NOT:     arith.{{div|rem}}
tir.prim_func @there_and_back(%x: memref<?x?xf32> {relex.dims = ["h", "w"]}) outs(%y: memref<?x?xf32> {relex.dims = ["h", "w"]}) attributes {tir.noalias} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %h = memref.dim %x, %c0 : memref<?x?xf32>
  %w = memref.dim %x, %c1 : memref<?x?xf32>
  tir.for %i, %j in (%h, %w) {
    tir.block @Y (%vi: spatial<%h> = %i, %vj: spatial<%w> = %j) {
      %0 = arith.muli %vi, %w : index
      %1 = arith.addi %0, %vj : index
      %2 = arith.divui %1, %w : index
      %3 = arith.remui %1, %w : index
      %4 = memref.load %x[%2, %3] : memref<?x?xf32>
      memref.store %4, %y[%vi, %vj] : memref<?x?xf32>
    }
  }
}

// -----

// Blocks of two by two pixels: by what the program requires, sizes are even.
// CHECK-LABEL: @blocks
// CHECK:         tir.block
// CHECK-NOT:       arith.{{div|rem}}
// CHECK:           memref.load %x[%{{.+}}, %{{.+}}]
tir.prim_func @blocks(%x: memref<?x?xf32> {relex.dims = ["h", "w"]}) outs(%y: memref<?x?xf32> {relex.dims = ["h // 2", "w // 2"]}) attributes {tir.noalias, relex.requires = ["4 * (h // 2) * (w // 2) == h * w"]} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %h = memref.dim %x, %c0 : memref<?x?xf32>
  %w = memref.dim %x, %c1 : memref<?x?xf32>
  %h2 = arith.divui %h, %c2 : index
  %w2 = arith.divui %w, %c2 : index
  tir.for %i, %j in (%h2, %w2) {
    tir.block @Y (%vi: spatial<%h2> = %i, %vj: spatial<%w2> = %j) {
      %0 = arith.muli %vi, %c2 : index
      %1 = arith.addi %0, %c1 : index
      %2 = arith.muli %1, %w2 : index
      %3 = arith.addi %2, %vj : index
      %4 = arith.muli %3, %c2 : index
      %5 = arith.divui %4, %w : index
      %6 = arith.remui %4, %w : index
      %7 = memref.load %x[%5, %6] : memref<?x?xf32>
      memref.store %7, %y[%vi, %vj] : memref<?x?xf32>
    }
  }
}

// -----

// Without the requirement, or where the other size may be 0, they may be odd.
// CHECK-LABEL: @odd
// CHECK:         tir.block @Y
// CHECK:           arith.divui
// CHECK:         tir.block @Z
// CHECK:           arith.divui
tir.prim_func @odd(%x: memref<?x?xf32> {relex.dims = ["h", "w"]}, %r: memref<?xf32> {relex.dims = ["w"]}) outs(%y: memref<?xf32> {relex.dims = ["w // 2"]}, %z: memref<?xf32> {relex.dims = ["h // 2"]}) attributes {tir.noalias, relex.requires = ["4 * (h // 2) * (w // 2) == h * w"]} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %h = memref.dim %x, %c0 : memref<?x?xf32>
  %w = memref.dim %x, %c1 : memref<?x?xf32>
  %h2 = arith.divui %h, %c2 : index
  %w2 = arith.divui %w, %c2 : index
  tir.for %j in (%w2) {
    tir.block @Y (%vj: spatial<%w2> = %j) {
      %0 = arith.muli %vj, %c2 : index
      %1 = arith.muli %0, %w2 : index
      %2 = arith.divui %1, %w : index
      %3 = memref.load %r[%2] : memref<?xf32>
      memref.store %3, %y[%vj] : memref<?xf32>
    }
  }
  tir.for %i in (%h2) {
    tir.block @Z (%vi: spatial<%h2> = %i) {
      %0 = arith.addi %vi, %w : index
      %1 = arith.divui %0, %w : index
      %2 = memref.load %r[%1] : memref<?xf32>
      memref.store %2, %z[%vi] : memref<?xf32>
    }
  }
}

// -----

// A variable is cut where a size divides its extent. One whose quotient and remainder are both indices of an element is
// left: they are joined later on.
// CHECK-LABEL: @copies
// CHECK:         %[[VIEW:.+]] = memref.expand_shape %y {{.*}} output_shape [3, %[[N:.+]]] : memref<?xf32> into memref<3x?xf32>
// CHECK:         tir.for %{{.+}} @i_0, %{{.+}} @i_1 in (3, %[[N]]) {
// CHECK-NEXT:      tir.block @Y (%[[Q:.+]]: spatial<3> = %{{.+}}, %[[R:.+]]: spatial<%[[N]]> = %{{.+}}) {
// CHECK-NEXT:        memref.load %x[%[[R]]]
// CHECK-NEXT:        memref.store %{{.+}}, %[[VIEW]][%[[Q]], %[[R]]]
// CHECK:         tir.block @Z
// CHECK:           arith.divui
// CHECK:           arith.remui
tir.prim_func @copies(%x: memref<?xf32> {relex.dims = ["n"]}, %w: memref<3x?xf32> {relex.dims = ["", "n"]}) outs(%y: memref<?xf32> {relex.dims = ["3 * n"]}, %z: memref<?xf32> {relex.dims = ["3 * n"]}) attributes {tir.noalias} {
  %c0 = arith.constant 0 : index
  %c3 = arith.constant 3 : index
  %n = memref.dim %x, %c0 : memref<?xf32>
  %m = arith.muli %n, %c3 : index
  tir.for %i @i in (%m) {
    tir.block @Y (%v: spatial<%m> = %i) {
      %0 = arith.remui %v, %n : index
      %1 = memref.load %x[%0] : memref<?xf32>
      memref.store %1, %y[%v] : memref<?xf32>
    }
  }
  tir.for %i @i1 in (%m) {
    tir.block @Z (%v: spatial<%m> = %i) {
      %0 = arith.divui %v, %n : index
      %1 = arith.remui %v, %n : index
      %2 = memref.load %w[%0, %1] : memref<3x?xf32>
      memref.store %2, %z[%v] : memref<?xf32>
    }
  }
}
