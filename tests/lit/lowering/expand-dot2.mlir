// RUN: relex-opt %s -p expand-dot4 | filecheck %s
// RUN: relex-opt %s -p expand-dot4 --check-each -o /dev/null 2>&1 | filecheck %s --allow-empty --check-prefix=SAME
// RUN: not relex-opt %s -p convert-to-llvm 2>&1 | filecheck %s --check-prefix=LEFT
// SAME-NOT: {{note|error}}
// LEFT: error: 'tir.dot2' op expected ops of the core level, found 'tir.dot2', which has no form in the LLVM dialect; run expand-dot4 first

// Numbers of bf16 are the first bits of floats.
// CHECK-LABEL: func.func @pairs(
// CHECK:         [[M:%.+]] = arith.constant dense<-65536> : vector<8xi32>
// CHECK-NEXT:    [[A:%.+]] = arith.andi %a, [[M]] : vector<8xi32>
// CHECK-NEXT:    [[X:%.+]] = vector.bitcast [[A]] : vector<8xi32> to vector<8xf32>
// CHECK:         [[H:%.+]] = arith.mulf [[X]], {{.*}} fastmath<contract> : vector<8xf32>
// CHECK:         arith.shli %a
// CHECK:         [[L:%.+]] = arith.mulf {{.*}} fastmath<contract> : vector<8xf32>
// CHECK-NEXT:    [[R:%.+]] = arith.addf [[L]], [[H]] fastmath<contract> : vector<8xf32>
// CHECK:         func.return [[R]], %{{.*}} : vector<8xf32>, f32
func.func @pairs(%a: vector<8xi32>, %b: vector<8xi32>, %c: i32) -> (vector<8xf32>, f32) {
  %0 = tir.dot2 %a, %b : vector<8xi32> -> vector<8xf32>
  %1 = tir.dot2 %c, %c : i32 -> f32
  func.return %0, %1 : vector<8xf32>, f32
}
