// RUN: relex-opt %s -p "set-target{triple=x86_64-unknown-linux-gnu cpu=x86-64-v3 features=+avx2},share-loops" | filecheck %s
// RUN: relex-opt %s -p "set-target{triple=x86_64-unknown-linux-gnu cpu=x86-64-v3 features=+avx2},share-loops,share-loops" | filecheck %s
// RUN: relex-opt %s -p share-loops | filecheck %s --check-prefix=UNKNOWN
// RUN: relex-opt %s -p "set-target{triple=x86_64-unknown-linux-gnu cpu=x86-64-v3 features=+avx2},share-loops{explain=true}" 2>&1 | filecheck %s --check-prefix=EXPLAIN

// EXPLAIN: share-loops.mlir:[[#]]:{{[0-9]+}}: remark: 'tir.block' op @Y of @rows: threads: they share the 100 iterations of @i
// EXPLAIN-NOT: of @short

// Without a target, nothing is known about times.
// UNKNOWN: tir.for %i @i, %j @j in (100, 400) {

// CHECK-LABEL: tir.prim_func @rows(
// CHECK:         tir.for parallel %i @i, %j @j in (100, 400) {
tir.prim_func @rows(%X: memref<100x400xf32>) outs(%Y: memref<100x400xf32>) attributes {tir.noalias} {
  tir.for %i @i, %j @j in (100, 400) {
    tir.block @Y (%vi: spatial<100> = %i, %vj: spatial<400> = %j) {
      %x = memref.load %X[%vi, %vj] : memref<100x400xf32>
      %y = math.exp %x : f32
      memref.store %y, %Y[%vi, %vj] : memref<100x400xf32>
    }
  }
}

// It takes less time than to wake a thread.
// CHECK-LABEL: tir.prim_func @short(
// CHECK:         tir.for %i in (1000) {
tir.prim_func @short(%X: memref<1000xf32>) outs(%Y: memref<1000xf32>) attributes {tir.noalias} {
  tir.for %i in (1000) {
    tir.block @Y (%vi: spatial<1000> = %i) {
      %x = memref.load %X[%vi] : memref<1000xf32>
      %y = math.exp %x : f32
      memref.store %y, %Y[%vi] : memref<1000xf32>
    }
  }
}

// Two rows are too few parts, columns are many.
// CHECK-LABEL: tir.prim_func @columns(
// CHECK:         tir.for %i, parallel %j in (2, 40000) {
tir.prim_func @columns(%X: memref<2x40000xf32>) outs(%Y: memref<2x40000xf32>) attributes {tir.noalias} {
  tir.for %i, %j in (2, 40000) {
    tir.block @Y (%vi: spatial<2> = %i, %vj: spatial<40000> = %j) {
      %x = memref.load %X[%vi, %vj] : memref<2x40000xf32>
      %y = math.exp %x : f32
      memref.store %y, %Y[%vi, %vj] : memref<2x40000xf32>
    }
  }
}

// Sums of rows: each has its own buffer, and iterations of @k depend on each other.
// CHECK-LABEL: tir.prim_func @sums(
// CHECK:         tir.for parallel %i in (100) {
// CHECK:           tir.for %k in (2000) {
tir.prim_func @sums(%X: memref<100x2000xf32>) outs(%Y: memref<100xf32>) attributes {tir.noalias} {
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  tir.for %i in (100) {
    %S = tir.alloc_buffer : memref<1xf32>
    tir.for %k in (2000) {
      tir.block @S (%v: spatial<1> = %c0, %vi: spatial<100> = %i, %vk: reduce<2000> = %k) {
        tir.init {
          memref.store %zero, %S[%v] : memref<1xf32>
        }
        %s = memref.load %S[%v] : memref<1xf32>
        %x = memref.load %X[%vi, %vk] : memref<100x2000xf32>
        %t = arith.addf %s, %x : f32
        memref.store %t, %S[%v] : memref<1xf32>
      }
    }
    tir.block @Y (%v: spatial<1> = %c0, %vi: spatial<100> = %i) {
      %s = memref.load %S[%v] : memref<1xf32>
      memref.store %s, %Y[%vi] : memref<100xf32>
    }
  }
}

// One sum: its terms are added up in their order.
// CHECK-LABEL: tir.prim_func @sum(
// CHECK-NOT:     parallel
// CHECK:         tir.for %k in (200000) {
tir.prim_func @sum(%X: memref<200000xf32>) outs(%Y: memref<1xf32>) attributes {tir.noalias} {
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  tir.for %k in (200000) {
    tir.block @Y (%v: spatial<1> = %c0, %vk: reduce<200000> = %k) {
      tir.init {
        memref.store %zero, %Y[%v] : memref<1xf32>
      }
      %s = memref.load %Y[%v] : memref<1xf32>
      %x = memref.load %X[%vk] : memref<200000xf32>
      %t = arith.addf %s, %x : f32
      memref.store %t, %Y[%v] : memref<1xf32>
    }
  }
}

// A nest that has been scheduled by hand.
// CHECK-LABEL: tir.prim_func @inner(
// CHECK:         tir.for %i, parallel %j in (100, 400) {
tir.prim_func @inner(%X: memref<100x400xf32>) outs(%Y: memref<100x400xf32>) attributes {tir.noalias} {
  tir.for %i, parallel %j in (100, 400) {
    tir.block @Y (%vi: spatial<100> = %i, %vj: spatial<400> = %j) {
      %x = memref.load %X[%vi, %vj] : memref<100x400xf32>
      %y = math.exp %x : f32
      memref.store %y, %Y[%vi, %vj] : memref<100x400xf32>
    }
  }
}

// How many iterations are worth it depends on what one of them does.
// CHECK-LABEL: tir.prim_func @dynamic(
// CHECK:         tir.for parallel %i in (%{{.+}}) {
// CHECK:         } {relex.least = 6554 : index}
tir.prim_func @dynamic(%X: memref<?xf32> {relex.dims = ["n"]}) outs(%Y: memref<?xf32> {relex.dims = ["n"]})
    attributes {tir.noalias} {
  %c0 = arith.constant 0 : index
  %n = memref.dim %X, %c0 : memref<?xf32>
  tir.for %i in (%n) {
    tir.block @Y (%vi: spatial<%n> = %i) {
      %x = memref.load %X[%vi] : memref<?xf32>
      %y = math.exp %x : f32
      memref.store %y, %Y[%vi] : memref<?xf32>
    }
  }
}
