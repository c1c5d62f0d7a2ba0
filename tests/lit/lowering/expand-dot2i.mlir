// RUN: relex-opt %s -p "set-target{triple=x86_64-unknown-linux-gnu cpu=haswell},expand-dot4" | filecheck %s
// RUN: relex-opt %s -p "set-target{triple=x86_64-unknown-linux-gnu cpu=haswell},expand-dot4" --check-each -o /dev/null 2>&1 | filecheck %s --allow-empty --check-prefix=SAME
// RUN: relex-opt %s -p "set-target{triple=riscv64-unknown-linux-gnu},expand-dot4" --check-each | filecheck %s --check-prefix=PLAIN
// SAME-NOT: {{note|error}}

// CHECK-LABEL: func.func @shorts(
// CHECK:         [[P:%.+]] = llvm.call_intrinsic "llvm.x86.avx2.pmadd.wd"({{%.+}}, {{%.+}}) : (vector<16xi16>, vector<16xi16>) -> vector<8xi32>
// CHECK-NEXT:    [[R:%.+]] = arith.addi %t, [[P]] : vector<8xi32>
// CHECK-NOT:     tir.dot2i
// PLAIN-LABEL: func.func @shorts(
// PLAIN-NOT:     call_intrinsic
// PLAIN-NOT:     tir.dot2i
func.func @shorts(%a: vector<8xi32>, %b: vector<8xi32>, %t: vector<8xi32>, %c: i32) -> (vector<8xi32>, i32) {
  %0 = tir.dot2i %a, %b : vector<8xi32>
  %1 = arith.addi %t, %0 : vector<8xi32>
  %2 = tir.dot2i %c, %c : i32
  func.return %1, %2 : vector<8xi32>, i32
}
