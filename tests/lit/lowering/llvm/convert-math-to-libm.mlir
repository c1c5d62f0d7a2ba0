// RUN: relex-opt %s -p convert-math-to-libm | filecheck %s
// RUN: relex-opt %s -p convert-math-to-libm,convert-to-llvm -o /dev/null

// Each function is declared once.
// CHECK:     llvm.func @powf(f32, f32) -> f32
// CHECK:     llvm.func @erf(f64) -> f64
// CHECK:     llvm.func @erff(f32) -> f32
// CHECK-NOT: llvm.func

// CHECK-LABEL: func.func @scalars
func.func @scalars(%a: f32, %b: f64, %h: f16, %n: i32) {
  // CHECK-NEXT: llvm.call @erff(%a) : (f32) -> f32
  %0 = math.erf %a : f32
  // CHECK-NEXT: llvm.call @erf(%b) : (f64) -> f64
  %1 = math.erf %b : f64
  // Half precision is computed as f32.
  // CHECK-NEXT: [[X:%.+]] = llvm.fpext %h : f16 to f32
  // CHECK-NEXT: [[Y:%.+]] = llvm.call @erff([[X]]) : (f32) -> f32
  // CHECK-NEXT: llvm.fptrunc [[Y]] : f32 to f16
  %2 = math.erf %h : f16
  // CHECK-NEXT: llvm.call @powf(%a, %a) : (f32, f32) -> f32
  %3 = math.powf %a, %a : f32
  // The library has no functions for these.
  // CHECK-NEXT: math.rsqrt %a : f32
  %4 = math.rsqrt %a : f32
  // CHECK-NEXT: math.ctpop %n : i32
  %5 = math.ctpop %n : i32
  func.return
}

// CHECK-LABEL: func.func @vectors
func.func @vectors(%v: vector<2xf32>) -> vector<2xf32> {
  // CHECK-NEXT: [[U:%.+]] = llvm.mlir.undef : vector<2xf32>
  // CHECK-NEXT: [[ZERO:%.+]] = llvm.mlir.constant(0) : i64
  // CHECK-NEXT: [[A:%.+]] = llvm.extractelement %v[[[ZERO]] : i64] : vector<2xf32>
  // CHECK-NEXT: [[B:%.+]] = llvm.call @erff([[A]]) : (f32) -> f32
  // CHECK-NEXT: [[V:%.+]] = llvm.insertelement [[B]], [[U]][[[ZERO]] : i64] : vector<2xf32>
  // CHECK-NEXT: [[ONE:%.+]] = llvm.mlir.constant(1) : i64
  // CHECK-NEXT: [[C:%.+]] = llvm.extractelement %v[[[ONE]] : i64] : vector<2xf32>
  // CHECK-NEXT: [[D:%.+]] = llvm.call @erff([[C]]) : (f32) -> f32
  // CHECK-NEXT: [[W:%.+]] = llvm.insertelement [[D]], [[V]][[[ONE]] : i64] : vector<2xf32>
  %0 = math.erf %v : vector<2xf32>
  // CHECK-NEXT: func.return [[W]] : vector<2xf32>
  func.return %0 : vector<2xf32>
}
