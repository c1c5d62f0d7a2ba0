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

// CHECK-LABEL: func.func @several_ops
func.func @several_ops(%r: f32, %w: vector<4xf64>, %k: i32) {
  // CHECK-NEXT: [[ONE:%.+]] = llvm.mlir.constant(1.000000e+00 : f32) : f32
  // CHECK-NEXT: [[ROOT:%.+]] = llvm.call_intrinsic "llvm.sqrt.f32"(%r) : (f32) -> f32
  // CHECK-NEXT: llvm.fdiv [[ONE]], [[ROOT]] : f32
  %0 = math.rsqrt %r : f32
  // CHECK:      [[E:%.+]] = llvm.call_intrinsic "llvm.exp.v4f64"(%w) : (vector<4xf64>) -> vector<4xf64>
  // CHECK-NEXT: llvm.fsub [[E]], %{{.+}} : vector<4xf64>
  %1 = math.expm1 %w : vector<4xf64>
  // CHECK-NEXT: [[NO:%.+]] = llvm.mlir.constant(false) : i1
  // CHECK-NEXT: llvm.call_intrinsic "llvm.ctlz.i32"(%k, [[NO]]) : (i32, i1) -> i32
  %2 = math.ctlz %k : i32
  // A function of this module's own; f32 to the power of i64.
  // CHECK:      [[K:%.+]] = llvm.sext %k : i32 to i64
  // CHECK-NEXT: llvm.call @relex.fpowi.f32(%r, [[K]]) : (f32, i64) -> f32
  %3 = math.fpowi %r, %k : f32, i32
  func.return
}
