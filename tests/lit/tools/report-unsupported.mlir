// RUN: not relex-opt %s --load-passes %S/../lowering/Inputs/no_legalization.py --report-unsupported --allow-unregistered-dialect >%t 2>&1
// RUN: filecheck %s --input-file %t
// RUN: relex-opt %s --load-passes %S/../lowering/Inputs/no_legalization.py --report-unsupported --allow-unregistered-dialect --verify-diagnostics
// RUN: not relex-opt %s --load-passes %S/../lowering/Inputs/no_legalization.py --report-unsupported --allow-unregistered-dialect -p relex-pipeline{to=loops} >%t 2>&1
// RUN: filecheck %s --input-file %t --check-prefix=LOOPS

// Everything at once, in the order of the text.
// CHECK-COUNT-8: error:
// CHECK-NOT:     error:

// Levels that are not asked for do not count.
// LOOPS-COUNT-2: error: 'mine.cube' op
// LOOPS-NOT:     error:

func.func @graph(%h: tensor<4xf16>, %s: tensor<4xf32>) -> (tensor<4xf16>, tensor<4xf32>) {
  // expected-error@+1 {{'mine.cube' op has no entry in the legalization table; add one with '@legalizes'}}
  %a = mine.cube %h : (tensor<4xf16>) -> tensor<4xf16>
  // expected-error@+1 {{'mine.cube' op has no entry in the legalization table}}
  %b = mine.cube %a : (tensor<4xf16>) -> tensor<4xf16>
  %c = relex.call_dps_packed "env.relu"(%s) : (tensor<4xf32>) -> tensor<4xf32>
  // expected-error@+1 {{'test.op' op cannot be lowered: no pass of the pipeline takes it}}
  %d = "test.op"(%c) : (tensor<4xf32>) -> tensor<4xf32>
  %e = relex.relu %d : (tensor<4xf32>) -> tensor<4xf32>
  func.return %b, %e : tensor<4xf16>, tensor<4xf32>
}

func.func @core(%i: index, %m: memref<4xf32, affine_map<(d0) -> (d0 * 2)>>, %c: bf16) {
  scf.for %j = %i to %i step %i {
    // expected-error@+1 {{'test.op' op cannot be lowered: no pass of the pipeline takes it}}
    "test.op"() : () -> ()
  }
  // expected-error@+1 {{'memref.load' op expected a memref with strides}}
  %y = memref.load %m[%i] : memref<4xf32, affine_map<(d0) -> (d0 * 2)>>
  // expected-error@+1 {{'math.fma' op expected f16, f32 or f64, found bf16}}
  %z = math.fma %c, %c, %c : bf16
  // expected-error@+1 {{'mine.op' op cannot be lowered: no pass of the pipeline takes it}}
  "mine.op"(%y, %z) : (f32, bf16) -> ()
  func.return
}

tir.prim_func @loops(%x: memref<4xf32>) {
  // expected-error@+1 {{'test.op' op cannot be lowered: no pass of the pipeline takes it}}
  "test.op"() : () -> ()
}

llvm.func @machine() {
  llvm.return
}

// A pipeline is looked at as it is; what would help is named.
// RUN: not relex-opt %s --load-passes %S/../lowering/Inputs/no_legalization.py --report-unsupported --allow-unregistered-dialect -p convert-arith-to-llvm,convert-func-to-llvm >%t 2>&1
// RUN: filecheck %s --input-file %t --check-prefix=PARTS
// PARTS: 'scf.for' op cannot be lowered: no pass of the pipeline takes it; convert-scf-to-cf does

// RUN: echo 'func.func @f() { func.return }' | relex-opt --report-unsupported | filecheck %s --check-prefix=GOOD
// GOOD: everything is supported
