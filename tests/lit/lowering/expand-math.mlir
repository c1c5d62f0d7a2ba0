// RUN: relex-opt %s -p expand-math | filecheck %s
// RUN: relex-opt %s -p expand-math,convert-to-llvm -t llvm | filecheck %s --check-prefix=LLVM
// RUN: relex-opt %s -p relex-pipeline{strict=true} -t llvm | filecheck %s --check-prefix=STRICT

// LLVM-NOT: {{tanh|sin|cos|tanf|expf|logf|erff|powf|exp.f32|exp.v|log.v|pow.f32|pow.v}}
// LLVM:     double @"erf"(
// LLVM-NOT: {{tanh|sin|cos|tanf|expf|logf|erff|powf|exp.f32|exp.v|log.v|pow.f32|pow.v}}

// STRICT: float @"llvm.exp.f32"(
// STRICT: <4 x double> @"llvm.tanh.v4f64"(
// STRICT: float @"erff"(
// STRICT: float @"expm1f"(
// STRICT: float @"log1pf"(

// CHECK-LABEL: func.func @scalar
// CHECK-NEXT: [[LOW:%.+]] = arith.constant -1.760000e+02 : f32
// CHECK-NEXT: [[A:%.+]] = arith.maximumf %x, [[LOW]] : f32
// CHECK-NEXT: [[HIGH:%.+]] = arith.constant 8.900000e+01 : f32
// CHECK-NEXT: [[B:%.+]] = arith.minimumf [[A]], [[HIGH]] : f32
// CHECK:      arith.addf {{.*}} fastmath<contract> : f32
// CHECK:      arith.bitcast {{.*}} : f32 to i32
// CHECK-NOT:  math.exp
// CHECK:      func.return
func.func @scalar(%x: f32) -> f32 {
  %0 = math.exp %x : f32
  func.return %0 : f32
}

// Constants are shared; flags make no difference.
// CHECK-LABEL: func.func @vectors
// CHECK:     arith.constant dense<-0.6931471805598903> : vector<4xf64>
// CHECK-NOT: dense<-0.6931471805598903>
// CHECK-NOT: math.tanh
// CHECK:     math.copysign {{.*}} : vector<4xf64>
// CHECK-NOT: fastmath<fast>
// CHECK:     func.return
func.func @vectors(%x: vector<4xf64>) -> (vector<4xf64>, vector<4xf64>) {
  %0 = math.exp %x : vector<4xf64>
  %1 = math.tanh %0 fastmath<fast> : vector<4xf64>
  func.return %0, %1 : vector<4xf64>, vector<4xf64>
}

// CHECK-LABEL: func.func @others
// CHECK-NOT: math.log
// CHECK-NOT: math.erf
// CHECK-NOT: math.expm1
// CHECK-NOT: math.log1p
// CHECK:     func.return
func.func @others(%x: vector<3xf32>, %y: f32) -> (vector<3xf32>, f32, f32, vector<3xf32>) {
  %0 = math.log %x : vector<3xf32>
  %1 = math.erf %y : f32
  %2 = math.expm1 %y : f32
  %3 = math.log1p %x : vector<3xf32>
  func.return %0, %1, %2, %3 : vector<3xf32>, f32, f32, vector<3xf32>
}

// Angles are reduced in f64.
// CHECK-LABEL: func.func @angles
// CHECK:     arith.extf {{.*}} : vector<4xf32> to vector<4xf64>
// CHECK:     math.roundeven {{.*}} : vector<4xf64>
// CHECK:     arith.truncf {{.*}} : vector<4xf64> to vector<4xf32>
// CHECK-NOT: math.{{sin|cos|tan}}
// CHECK:     func.return
func.func @angles(%x: vector<4xf32>) -> (vector<4xf32>, vector<4xf32>, vector<4xf32>) {
  %0 = math.sin %x : vector<4xf32>
  %1 = math.cos %x : vector<4xf32>
  %2 = math.tan %x : vector<4xf32>
  func.return %0, %1, %2 : vector<4xf32>, vector<4xf32>, vector<4xf32>
}

// So are logarithms, and the power of two; what has none is found in f32.
// CHECK-LABEL: func.func @powers
// CHECK:     arith.extf {{.*}} : vector<4xf32> to vector<4xf64>
// CHECK:     math.roundeven {{.*}} : vector<4xf32>
// CHECK:     arith.truncf {{.*}} : vector<4xf64> to vector<4xf32>
// CHECK-NOT: math.powf
// CHECK:     func.return
func.func @powers(%x: vector<4xf32>, %y: vector<4xf32>) -> vector<4xf32> {
  %0 = math.powf %x, %y : vector<4xf32>
  func.return %0 : vector<4xf32>
}

// There are no formulas for these.
// CHECK-LABEL: func.func @left_alone
// CHECK-NEXT: math.erf %x : f64
// CHECK-NEXT: math.sqrt %x : f64
// CHECK-NEXT: math.powf %x, %x : f64
// CHECK-NEXT: math.exp %y : f16
// CHECK-NEXT: func.return
func.func @left_alone(%x: f64, %y: f16) -> (f64, f64, f64, f16) {
  %0 = math.erf %x : f64
  %1 = math.sqrt %x : f64
  %2 = math.powf %x, %x : f64
  %3 = math.exp %y : f16
  func.return %0, %1, %2, %3 : f64, f64, f64, f16
}
