// RUN: relex-opt %s -p expand-floats | filecheck %s
// RUN: relex-opt %s -p expand-floats,convert-to-llvm -t llvm | filecheck %s --check-prefix=LLVM

// LLVM-NOT: bfloat
// LLVM-NOT: trunc{{.}}fbf2

// Operands are extended by shifting them up, results rounded to even.
// CHECK-LABEL: func.func @add
// CHECK-NEXT:  [[BITS:%.+]] = arith.bitcast %x : bf16 to i16
// CHECK-NEXT:  [[LOW:%.+]] = arith.extui [[BITS]] : i16 to i32
// CHECK-NEXT:  [[SIXTEEN:%.+]] = arith.constant 16 : i32
// CHECK-NEXT:  [[HIGH:%.+]] = arith.shli [[LOW]], [[SIXTEEN]] : i32
// CHECK-NEXT:  [[X:%.+]] = arith.bitcast [[HIGH]] : i32 to f32
// CHECK:       arith.addf [[X]], {{%.+}} : f32
// CHECK:       [[SHORT:%.+]] = arith.trunci {{%.+}} : i32 to i16
// CHECK-NEXT:  [[Y:%.+]] = arith.bitcast [[SHORT]] : i16 to bf16
// CHECK-NEXT:  func.return [[Y]] : bf16
func.func @add(%x: bf16, %y: bf16) -> bf16 {
  %0 = arith.addf %x, %y : bf16
  func.return %0 : bf16
}

// What only moves numbers stays.
// CHECK-LABEL: func.func @move
// CHECK-NEXT:  arith.constant 5.000000e-01 : bf16
// CHECK-NEXT:  memref.load
// CHECK-NEXT:  arith.select
// CHECK-NEXT:  memref.store
// CHECK-NEXT:  func.return
// LLVM-LABEL: define {{.*}}"move"
// LLVM:       select i1 {{.*}}, i16 16128, i16
func.func @move(%c: i1, %m: memref<bf16>) {
  %half = arith.constant 0.5 : bf16
  %x = memref.load %m[] : memref<bf16>
  %y = arith.select %c, %half, %x : bf16
  memref.store %y, %m[] : memref<bf16>
  func.return
}

// A double is rounded once: the float between it and f16 is odd.
// CHECK-LABEL: func.func @round
// CHECK:       arith.truncf %x : f64 to f32
// CHECK:       arith.extf {{%.+}} : f32 to f64
// CHECK-NOT:   f64 to bf16
// CHECK:       arith.bitcast {{%.+}} : i16 to bf16
func.func @round(%x: f64) -> bf16 {
  %0 = arith.truncf %x : f64 to bf16
  func.return %0 : bf16
}
