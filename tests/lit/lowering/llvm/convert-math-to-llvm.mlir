// RUN: relex-opt %s -p convert-math-to-llvm | filecheck %s

// CHECK-LABEL: func.func @floats
func.func @floats(%a: f32, %b: f64, %v: vector<4xf32>) {
  // CHECK-NEXT: llvm.call_intrinsic "llvm.sqrt.f32"(%a) : (f32) -> f32
  %0 = math.sqrt %a : f32
  // CHECK-NEXT: llvm.call_intrinsic "llvm.exp.f64"(%b) {fastmathFlags = #llvm.fastmath<afn>} : (f64) -> f64
  %1 = math.exp %b fastmath<afn> : f64
  // CHECK-NEXT: llvm.call_intrinsic "llvm.fma.v4f32"(%v, %v, %v) : (vector<4xf32>, vector<4xf32>, vector<4xf32>) -> vector<4xf32>
  %2 = math.fma %v, %v, %v : vector<4xf32>
  // CHECK-NEXT: llvm.call_intrinsic "llvm.copysign.f32"(%a, %a)
  %3 = math.copysign %a, %a : f32
  // CHECK-NEXT: llvm.call_intrinsic "llvm.fabs.f32"(%a)
  %4 = math.absf %a : f32
  // Not one intrinsic.
  // CHECK-NEXT: math.erf %a : f32
  %5 = math.erf %a : f32
  func.return
}

// CHECK-LABEL: func.func @integers
func.func @integers(%n: index) {
  // CHECK-NEXT: [[N:%.+]] = builtin.unrealized_conversion_cast %n : index to i64
  // CHECK-NEXT: llvm.call_intrinsic "llvm.ctpop.i64"([[N]]) : (i64) -> i64
  %0 = math.ctpop %n : index
  func.return
}
