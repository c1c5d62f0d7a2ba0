// RUN: relex-opt %s -p convert-arith-to-llvm | filecheck %s

// CHECK-LABEL: func.func @constants
func.func @constants() -> (index, i1, f32, f64, vector<2xi8>) {
  // CHECK-NEXT: llvm.mlir.constant(-5) : i64
  %0 = arith.constant -5 : index
  // CHECK: llvm.mlir.constant(true) : i1
  %1 = arith.constant true
  // CHECK: llvm.mlir.constant(0x7fc00000 : f32) : f32
  %2 = arith.constant 0x7FC00000 : f32
  // CHECK: llvm.mlir.constant(-0.000000e+00 : f64) : f64
  %3 = arith.constant -0.0 : f64
  // CHECK: llvm.mlir.constant(dense<3> : vector<2xi8>) : vector<2xi8>
  %4 = arith.constant dense<3> : vector<2xi8>
  func.return %0, %1, %2, %3, %4 : index, i1, f32, f64, vector<2xi8>
}

// Where the other ops stay, casts stand between the old types and the new.
// CHECK-LABEL: func.func @integers
// CHECK-SAME: (%a: i32, %i: index)
func.func @integers(%a: i32, %i: index) -> index {
  // CHECK-NEXT: [[I:%.+]] = builtin.unrealized_conversion_cast %i : index to i64
  // CHECK-NEXT: llvm.add %a, %a overflow<nsw> : i32
  %0 = arith.addi %a, %a overflow<nsw> : i32
  // CHECK-NEXT: llvm.mul %{{.+}}, %a : i32
  %1 = arith.muli %0, %a : i32
  // CHECK-NEXT: llvm.shl
  // CHECK-NEXT: llvm.ashr
  // CHECK-NEXT: llvm.lshr
  %2 = arith.shli %1, %a : i32
  %3 = arith.shrsi %2, %a : i32
  %4 = arith.shrui %3, %a : i32
  // CHECK-NEXT: llvm.call_intrinsic "llvm.smax.i32"(%{{.+}}, %a) : (i32, i32) -> i32
  %5 = arith.maxsi %4, %a : i32
  // CHECK-NEXT: [[W:%.+]] = llvm.sext %{{.+}} : i32 to i64
  %6 = arith.index_cast %5 : i32 to index
  // CHECK-NEXT: [[S:%.+]] = llvm.sub [[W]], [[I]] : i64
  %7 = arith.subi %6, %i : index
  // CHECK-NEXT: [[R:%.+]] = builtin.unrealized_conversion_cast [[S]] : i64 to index
  // CHECK-NEXT: func.return [[R]] : index
  func.return %7 : index
}

// Division rounds down when the quotient is corrected for a remainder of the other sign.
// CHECK-LABEL: func.func @floordivsi
func.func @floordivsi(%a: i32, %b: i32) -> i32 {
  // CHECK:      [[Q:%.+]] = llvm.sdiv %a, %b : i32
  // CHECK-NEXT: [[P:%.+]] = llvm.mul [[Q]], %b : i32
  // CHECK-NEXT: [[INEXACT:%.+]] = llvm.icmp "ne" %a, [[P]] : i32
  // CHECK-NEXT: [[A:%.+]] = llvm.icmp "slt" %a
  // CHECK-NEXT: [[B:%.+]] = llvm.icmp "slt" %b
  // CHECK-NEXT: [[SIGNS:%.+]] = llvm.icmp "ne" [[A]], [[B]] : i1
  // CHECK-NEXT: [[OFF:%.+]] = llvm.and [[INEXACT]], [[SIGNS]] : i1
  // CHECK:      [[DOWN:%.+]] = llvm.add [[Q]], %{{.+}} : i32
  // CHECK-NEXT: llvm.select [[OFF]], [[DOWN]], [[Q]] : i1, i32
  %0 = arith.floordivsi %a, %b : i32
  func.return %0 : i32
}

// CHECK-LABEL: func.func @floats
func.func @floats(%a: f32, %b: f32, %c: i1, %n: i32) -> f32 {
  // CHECK-NEXT: llvm.fadd %a, %b {fastmathFlags = #llvm.fastmath<reassoc,contract>} : f32
  %0 = arith.addf %a, %b fastmath<contract,reassoc> : f32
  // CHECK-NEXT: llvm.fdiv %{{.+}}, %b : f32
  %1 = arith.divf %0, %b : f32
  // CHECK-NEXT: llvm.fneg
  %2 = arith.negf %1 : f32
  // Propagates NaN.
  // CHECK-NEXT: llvm.call_intrinsic "llvm.maximum.f32"
  %3 = arith.maximumf %2, %b : f32
  // Prefers the number.
  // CHECK-NEXT: llvm.call_intrinsic "llvm.minnum.f32"(%{{.+}}, %b) {fastmathFlags = #llvm.fastmath<nsz>} : (f32, f32) -> f32
  %4 = arith.minnumf %3, %b fastmath<nsz> : f32
  // CHECK-NEXT: llvm.fcmp "ult" %a, %b {fastmathFlags = #llvm.fastmath<nnan>} : f32
  %5 = arith.cmpf ult, %a, %b fastmath<nnan> : f32
  // CHECK-NEXT: llvm.mlir.constant(true) : i1
  %6 = arith.cmpf true, %a, %b : f32
  // CHECK-NEXT: llvm.select %{{.+}}, %{{.+}}, %a : i1, f32
  %7 = arith.select %5, %4, %a : f32
  // CHECK-NEXT: llvm.fptosi %{{.+}} : f32 to i64
  %8 = arith.fptosi %7 : f32 to i64
  // CHECK-NEXT: llvm.uitofp %{{.+}} : i64 to f64
  %9 = arith.uitofp %8 : i64 to f64
  // CHECK-NEXT: llvm.fptrunc %{{.+}} : f64 to f32
  %10 = arith.truncf %9 : f64 to f32
  func.return %10 : f32
}

// A size is not negative, nor is what is left of it, so that quotients need no correction.
// CHECK-LABEL: func.func @quotients_of_sizes
func.func @quotients_of_sizes(%x: memref<?xf32>, %i: index) -> (index, index, index) {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %c16 = arith.constant 16 : index
  %n = memref.dim %x, %c0 : memref<?xf32>
  // CHECK:      [[DOWN:%.+]] = llvm.udiv [[N:%.+]], %{{.+}} : i64
  // CHECK-NOT:  llvm.select
  // CHECK:      [[DONE:%.+]] = llvm.mul [[DOWN]], %{{.+}} : i64
  // CHECK-NEXT: [[LEFT:%.+]] = llvm.sub [[N]], [[DONE]] : i64
  // CHECK:      [[MORE:%.+]] = llvm.mlir.constant(15) : i64
  // CHECK-NEXT: [[SUM:%.+]] = llvm.add [[LEFT]], [[MORE]] : i64
  // CHECK-NEXT: llvm.udiv [[SUM]], %{{.+}} : i64
  %0 = arith.floordivsi %n, %c32 : index
  %1 = arith.muli %0, %c32 : index
  %2 = arith.subi %n, %1 : index
  %3 = arith.ceildivsi %2, %c16 : index
  // CHECK:      llvm.icmp "slt"
  // CHECK:      llvm.select
  %4 = arith.ceildivsi %i, %c16 : index
  func.return %0, %3, %4 : index, index, index
}

// What leaves a number as it is disappears.
// CHECK-LABEL: func.func @neutral
func.func @neutral(%i: index) -> index {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  // CHECK-NOT: llvm.add
  // CHECK-NOT: llvm.sub
  // CHECK-NOT: llvm.mul
  %0 = arith.addi %i, %c0 : index
  %1 = arith.muli %0, %c1 : index
  %2 = arith.subi %1, %c0 : index
  // CHECK: func.return
  func.return %2 : index
}
