// RUN: RELEX_ROUNDTRIP
// RUN: RELEX_GENERIC_ROUNDTRIP
// RUN: xdsl-opt %s | filecheck %s
// RUN: relex-opt %s --print-op-generic | filecheck %s --check-prefix GENERIC

// CHECK-LABEL: tir.prim_func @relu(%X: memref<8xf32>) outs(%Y: memref<8xf32>) attributes {tir.noalias} {
// GENERIC: "tir.prim_func"() <{sym_name = "relu", function_type = (memref<8xf32>, memref<8xf32>) -> (), num_outputs = 1 : i64}> ({
tir.prim_func @relu(%X: memref<8xf32>) outs(%Y: memref<8xf32>) attributes {tir.noalias} {
  %zero = arith.constant 0.0 : f32
  // CHECK: tir.for %i in (8) {
  // GENERIC: "tir.for"() <{static_extent = 8 : i64, kind = #tir<loop_kind serial>}> ({
  tir.for %i in (8) {
    // CHECK-NEXT: tir.block @Y (%vi: spatial<8> = %i) {
    // GENERIC: "tir.block"(%i) <{block_name = "Y", kinds = [#tir<iter_kind spatial>], static_extents = array<i64: 8>, operandSegmentSizes = array<i32: 1, 0>}> ({
    tir.block @Y (%vi: spatial<8> = %i) {
      %x = memref.load %X[%vi] : memref<8xf32>
      %y = arith.maximumf %x, %zero : f32
      memref.store %y, %Y[%vi] : memref<8xf32>
    }
  }
}

// CHECK-LABEL: tir.prim_func private @signatures(%a: f32, %n: index, %X: memref<?x3xi8> {note = 1 : i32}) outs(%Y: memref<f64>, %Z: memref<0xi1>) {
tir.prim_func private @signatures(%a: f32, %n: index, %X: memref<?x3xi8> {note = 1 : i32})
    outs(%Y: memref<f64>, %Z: memref<0xi1>) {
}
// CHECK: tir.prim_func @nothing() {
// CHECK-NEXT: }
tir.prim_func @nothing() {}
// CHECK-NEXT: tir.prim_func @outputs() outs(%Y: memref<2xf32>) attributes {a, b = "c"} {
tir.prim_func @outputs() outs(%Y: memref<2xf32>) attributes {a, b = "c"} {}
// CHECK: tir.prim_func nested @"a name"() {
tir.prim_func nested @"a name"() {}

// CHECK-LABEL: tir.prim_func @element_types(
tir.prim_func @element_types(%a: memref<1xf16>, %b: memref<1xbf16>, %c: memref<1xf32>, %d: memref<1xf64>,
                             %e: memref<1xi1>, %f: memref<1xi8>, %g: memref<1xi32>, %h: memref<1xi64>,
                             %i: f16, %j: bf16, %k: f32, %l: f64, %m: i1, %n: i8, %o: i32, %p: i64) {
  // CHECK: tir.alloc_buffer : memref<2xf16>
  %0 = tir.alloc_buffer : memref<2xf16>
  // CHECK-NEXT: tir.alloc_buffer : memref<2xbf16>
  %1 = tir.alloc_buffer : memref<2xbf16>
  // CHECK-NEXT: tir.alloc_buffer : memref<2xf32>
  %2 = tir.alloc_buffer : memref<2xf32>
  // CHECK-NEXT: tir.alloc_buffer : memref<2xf64>
  %3 = tir.alloc_buffer : memref<2xf64>
  // CHECK-NEXT: tir.alloc_buffer : memref<2xi1>
  %4 = tir.alloc_buffer : memref<2xi1>
  // CHECK-NEXT: tir.alloc_buffer : memref<2xi8>
  %5 = tir.alloc_buffer : memref<2xi8>
  // CHECK-NEXT: tir.alloc_buffer : memref<2xi32>
  %6 = tir.alloc_buffer : memref<2xi32>
  // CHECK-NEXT: tir.alloc_buffer : memref<2xi64>
  %7 = tir.alloc_buffer : memref<2xi64>
}

// CHECK-LABEL: tir.prim_func @alloc
tir.prim_func @alloc(%n: index, %m: index) {
  // CHECK-NEXT: tir.alloc_buffer : memref<1x128xf32>
  %0 = tir.alloc_buffer : memref<1x128xf32>
  // CHECK-NEXT: tir.alloc_buffer sizes(%n, %m) : memref<?x3x?xf32>
  %1 = tir.alloc_buffer sizes(%n, %m) : memref<?x3x?xf32>
  // CHECK-NEXT: tir.alloc_buffer {note} : memref<f32>
  %2 = tir.alloc_buffer {note} : memref<f32>
}

// CHECK-LABEL: tir.prim_func @loops
// GENERIC: sym_name = "loops"
tir.prim_func @loops(%n: index) {
  // Loops that stand directly in each other print as one.
  // CHECK-NEXT: tir.for %i @i, parallel %j, vectorized %k @"a label", unrolled %l in (8, %n, 0, 1) {
  // CHECK-NEXT: } {note}
  // GENERIC: "tir.for"(%n) <{kind = #tir<loop_kind parallel>}> ({
  // GENERIC: "tir.for"() <{static_extent = 0 : i64, kind = #tir<loop_kind vectorized>, label = "a label"}> ({
  tir.for %i @i, parallel %j, vectorized %k @"a label", unrolled %l in (8, %n, 0, 1) {
  } {note}
  // CHECK-NEXT: tir.for %a, %b in (2, 3) {
  // CHECK-NEXT: }
  tir.for %a in (2) {
    tir.for %b in (3) {
    }
  }
  // Two loops in one, attributes of an inner loop, an extent that depends on an outer loop: no common head.
  // CHECK-NEXT: tir.for %c in (2) {
  // CHECK-NEXT:   tir.for %d in (3) {
  // CHECK-NEXT:   }
  // CHECK-NEXT:   tir.for %e in (4) {
  // CHECK-NEXT:   }
  // CHECK-NEXT: }
  tir.for %c in (2) {
    tir.for %d in (3) {
    }
    tir.for %e in (4) {
    }
  }
  // CHECK-NEXT: tir.for %f in (2) {
  // CHECK-NEXT:   tir.for %g in (3) {
  // CHECK-NEXT:   } {note}
  // CHECK-NEXT: }
  tir.for %f in (2) {
    tir.for %g in (3) {
    } {note}
  }
  // CHECK-NEXT: tir.for %h, %o in (8, 4) {
  // CHECK-NEXT:   tir.for %p in (%h) {
  // CHECK-NEXT:   }
  // CHECK-NEXT: }
  tir.for %h, %o in (8, 4) {
    tir.for %p in (%h) {
    }
  }
}

// CHECK-LABEL: tir.prim_func @blocks
// GENERIC: sym_name = "blocks"
tir.prim_func @blocks(%X: memref<8x16xf32>, %n: index) outs(%Y: memref<8xf32>, %Z: memref<?xf32>) {
  %zero = arith.constant 0.0 : f32
  tir.for %i, %k in (8, 16) {
    // CHECK: tir.block @Y (%vi: spatial<8> = %i, %vk: reduce<16> = %k) {
    tir.block @Y (%vi: spatial<8> = %i, %vk: reduce<16> = %k) {
      // CHECK-NEXT: tir.init {
      // CHECK-NEXT:   memref.store %zero, %Y[%vi] : memref<8xf32>
      // CHECK-NEXT: } {note}
      // GENERIC: "tir.init"() ({
      tir.init {
        memref.store %zero, %Y[%vi] : memref<8xf32>
      } {note}
      %x = memref.load %X[%vi, %vk] : memref<8x16xf32>
      %y = memref.load %Y[%vi] : memref<8xf32>
      %s = arith.addf %y, %x : f32
      memref.store %s, %Y[%vi] : memref<8xf32>
    } {note}
  }
  tir.for %j in (%n) {
    // CHECK: tir.block @Z (%vj: spatial<%n> = %j) {
    // GENERIC: static_extents = array<i64: -9223372036854775808>, operandSegmentSizes = array<i32: 1, 1>
    tir.block @Z (%vj: spatial<%n> = %j) {
      memref.store %zero, %Z[%vj] : memref<?xf32>
    }
  }
  // CHECK: tir.block @empty () {
  // CHECK-NEXT: }
  tir.block @empty () {
  }
  tir.for %l in (0) {
    // CHECK: tir.block @"a block" (%vl: reduce<0> = %l) {
    tir.block @"a block" (%vl: reduce<0> = %l) {
      // CHECK-NEXT: tir.init {
      // CHECK-NEXT: }
      tir.init {
      }
    }
  }
}

// CHECK-LABEL: func.func @calls
func.func @calls(%x: memref<8xf32>, %y: memref<8xf32>) {
  // CHECK-NEXT: tir.call @relu(%x, %y) : memref<8xf32>, memref<8xf32>
  // GENERIC: "tir.call"(%x, %y) <{callee = @relu}> : (memref<8xf32>, memref<8xf32>) -> ()
  tir.call @relu(%x, %y) : memref<8xf32>, memref<8xf32>
  // CHECK-NEXT: tir.call @nothing() {note}{{$}}
  tir.call @nothing() {note}
  func.return
}

// CHECK-LABEL: func.func @look_up
// CHECK-NEXT:    %0 = tir.look_up %a in dense<[1, 3, 5, 7, 9, 11, 13, 15, 1, 2, 3, 4, 5, 6, 7, 8]> : tensor<16xi8> : i32 -> i8
// CHECK-NEXT:    %1 = tir.look_up %u in dense<2> : tensor<256xi16> : vector<8xi8> -> vector<8xi16>
// GENERIC:       "tir.look_up"(%a) <{table = dense<[1, 3, 5, 7, 9, 11, 13, 15, 1, 2, 3, 4, 5, 6, 7, 8]> : tensor<16xi8>}> : (i32) -> i8
func.func @look_up(%a: i32, %u: vector<8xi8>) {
  %0 = tir.look_up %a in dense<[1, 3, 5, 7, 9, 11, 13, 15, 1, 2, 3, 4, 5, 6, 7, 8]> : tensor<16xi8> : i32 -> i8
  %1 = tir.look_up %u in dense<2> : tensor<256xi16> : vector<8xi8> -> vector<8xi16>
  func.return
}

// CHECK-LABEL: func.func @dot4
// CHECK-NEXT:    %0 = tir.dot4 %a, %b : i32
// CHECK-NEXT:    %1 = tir.dot4 %u, %v : vector<16xi32>
// GENERIC:       "tir.dot4"(%a, %b) : (i32, i32) -> i32
func.func @dot4(%a: i32, %b: i32, %u: vector<16xi32>, %v: vector<16xi32>) {
  %0 = tir.dot4 %a, %b : i32
  %1 = tir.dot4 %u, %v : vector<16xi32>
  func.return
}

// CHECK-LABEL: func.func @dot2i
// CHECK-NEXT:    %0 = tir.dot2i %a, %b : i32
// CHECK-NEXT:    %1 = tir.dot2i %u, %v : vector<8xi32>
// GENERIC:       "tir.dot2i"(%a, %b) : (i32, i32) -> i32
func.func @dot2i(%a: i32, %b: i32, %u: vector<8xi32>, %v: vector<8xi32>) {
  %0 = tir.dot2i %a, %b : i32
  %1 = tir.dot2i %u, %v : vector<8xi32>
  func.return
}

// CHECK-LABEL: func.func @dot2(
// CHECK-NEXT:    %0 = tir.dot2 %a, %b : i32 -> f32
// CHECK-NEXT:    %1 = tir.dot2 %u, %v : vector<16xi32> -> vector<16xf32>
// GENERIC:       "tir.dot2"(%a, %b) : (i32, i32) -> f32
func.func @dot2(%a: i32, %b: i32, %u: vector<16xi32>, %v: vector<16xi32>) {
  %0 = tir.dot2 %a, %b : i32 -> f32
  %1 = tir.dot2 %u, %v : vector<16xi32> -> vector<16xf32>
  func.return
}

// CHECK-LABEL: func.func @tiles
// CHECK-NEXT:    tir.configure_tiles [16, 64, 3, 4]
// CHECK-NEXT:    tir.load_tile 4, %x[%i, %j, %k] rows 1 step 2 : memref<4x?x8xbf16>
// CHECK-NEXT:    tir.store_tile 0, %x[%i, %j, %k] rows 0 step 1 : memref<4x?x8xbf16>
// CHECK-NEXT:    tir.zero_tile 0
// CHECK-NEXT:    tir.multiply_tiles "tdpbusd" 0, 4, 6
// CHECK-NEXT:    tir.release_tiles
// GENERIC:       "tir.multiply_tiles"() <{by = "tdpbusd", tile = 0 : i64, lhs = 4 : i64, rhs = 6 : i64}> : () -> ()
func.func @tiles(%x: memref<4x?x8xbf16>, %i: index, %j: index, %k: index) {
  tir.configure_tiles [16, 64, 3, 4]
  tir.load_tile 4, %x[%i, %j, %k] rows 1 step 2 : memref<4x?x8xbf16>
  tir.store_tile 0, %x[%i, %j, %k] rows 0 step 1 : memref<4x?x8xbf16>
  tir.zero_tile 0
  tir.multiply_tiles "tdpbusd" 0, 4, 6
  tir.release_tiles
  func.return
}
