// RUN: relex-opt %s -p "set-target{triple=x86_64-unknown-linux-gnu cpu=sapphirerapids},expand-dot4" | filecheck %s --check-prefixes=CHECK,VNNI
// RUN: env RELEX_OPT_FLAGS= relex-opt %s -p "set-target{triple=x86_64-unknown-linux-gnu cpu=haswell},expand-dot4" | filecheck %s --check-prefixes=CHECK,AVX2
// RUN: env RELEX_OPT_FLAGS= relex-opt %s -p "set-target{triple=aarch64-unknown-linux-gnu cpu=neoverse-n2},expand-dot4" | filecheck %s --check-prefixes=CHECK,I8MM
// RUN: env RELEX_OPT_FLAGS= relex-opt %s -p "set-target{triple=aarch64-unknown-linux-gnu cpu=neoverse-n1},expand-dot4" | filecheck %s --check-prefixes=CHECK,DOTPROD
// Every form of the products computes the same.
// RUN: relex-opt %s -p "set-target{triple=x86_64-unknown-linux-gnu cpu=sapphirerapids},expand-dot4" --check-each -o /dev/null 2>&1 | filecheck %s --allow-empty --check-prefix=SAME
// RUN: env RELEX_OPT_FLAGS= relex-opt %s -p "set-target{triple=x86_64-unknown-linux-gnu cpu=haswell},expand-dot4" --check-each -o /dev/null 2>&1 | filecheck %s --allow-empty --check-prefix=SAME
// RUN: env RELEX_OPT_FLAGS= relex-opt %s -p "set-target{triple=aarch64-unknown-linux-gnu cpu=neoverse-n2},expand-dot4" --check-each -o /dev/null 2>&1 | filecheck %s --allow-empty --check-prefix=SAME
// RUN: env RELEX_OPT_FLAGS= relex-opt %s -p "set-target{triple=aarch64-unknown-linux-gnu cpu=neoverse-n1},expand-dot4" --check-each -o /dev/null 2>&1 | filecheck %s --allow-empty --check-prefix=SAME
// Instructions that multiply bytes are proved to.
// RUN: env RELEX_OPT_FLAGS= relex-opt %s -p "set-target{triple=x86_64-unknown-linux-gnu cpu=sapphirerapids},expand-dot4" --check-each=proof -o /dev/null 2>&1 | filecheck %s --check-prefix=PROVED
// RUN: env RELEX_OPT_FLAGS= relex-opt %s -p "set-target{triple=aarch64-unknown-linux-gnu cpu=neoverse-n2},expand-dot4" --check-each=proof -o /dev/null 2>&1 | filecheck %s --check-prefix=PROVED
// SAME-NOT: {{note|error}}
// PROVED-NOT: {{not proved|error}}
// PROVED: note: functions over all passes: {{[0-9]+}} unchanged, {{[1-9][0-9]*}} proved, 0 checked, 0 open;

// RUN: not relex-opt %s -p convert-to-llvm 2>&1 | filecheck %s --check-prefix=LEFT
// LEFT: error: 'tir.dot4' op expected ops of the core level, found 'tir.dot4', which has no form in the LLVM dialect; run expand-dot4 first

// CHECK-LABEL: func.func @sum(
// VNNI-NEXT:   [[A:%.+]] = vector.bitcast %a : vector<8xi32> to vector<32xi8>
// VNNI-NEXT:   [[B:%.+]] = vector.bitcast %b : vector<8xi32> to vector<32xi8>
// VNNI-NEXT:   [[R:%.+]] = llvm.call_intrinsic "llvm.x86.avx512.vpdpbusd.256"(%sum, [[A]], [[B]])
// VNNI-NEXT:   func.return [[R]]
// AVX2-COUNT-2: llvm.call_intrinsic "llvm.x86.avx2.pmadd.wd"
// AVX2-NOT:    muli
func.func @sum(%sum: vector<8xi32>, %a: vector<8xi32>, %b: vector<8xi32>) -> vector<8xi32> {
  %0 = tir.dot4 %a, %b : vector<8xi32>
  %1 = arith.addi %sum, %0 : vector<8xi32>
  func.return %1 : vector<8xi32>
}

// Without a sum, or with other uses, products are added to 0.
// CHECK-LABEL: func.func @other_use(
// VNNI-NEXT:   [[ZERO:%.+]] = arith.constant dense<0> : vector<4xi32>
// VNNI:        llvm.call_intrinsic "llvm.x86.avx512.vpdpbusd.128"([[ZERO]],
// VNNI:        arith.addi
// I8MM:        llvm.call_intrinsic "llvm.aarch64.neon.usdot.v4i32.v16i8"
// DOTPROD-COUNT-2: llvm.call_intrinsic "llvm.aarch64.neon.sdot.v4i32.v16i8"
// DOTPROD:     arith.subi
func.func @other_use(%sum: vector<4xi32>, %a: vector<4xi32>, %b: vector<4xi32>) -> (vector<4xi32>, vector<4xi32>) {
  %0 = tir.dot4 %a, %b : vector<4xi32>
  %1 = arith.addi %sum, %0 : vector<4xi32>
  func.return %0, %1 : vector<4xi32>, vector<4xi32>
}

// Bytes below 128, of a mask, have sums of two products in 16 bits.
// CHECK-LABEL: func.func @small(
// VNNI:        llvm.call_intrinsic "llvm.x86.avx512.vpdpbusd.256"
// AVX2:        [[P:%.+]] = llvm.call_intrinsic "llvm.x86.avx2.pmadd.ub.sw"(
// AVX2-NEXT:   [[ONE:%.+]] = arith.constant dense<1> : vector<16xi16>
// AVX2-NEXT:   llvm.call_intrinsic "llvm.x86.avx2.pmadd.wd"([[P]], [[ONE]])
func.func @small(%sum: vector<8xi32>, %a: vector<8xi32>, %b: vector<8xi32>) -> vector<8xi32> {
  %0 = arith.constant 0x7f7f7f7f : i32
  %mask = vector.broadcast %0 : i32 to vector<8xi32>
  %1 = arith.andi %a, %mask : vector<8xi32>
  %2 = tir.dot4 %1, %b : vector<8xi32>
  %3 = arith.addi %sum, %2 : vector<8xi32>
  func.return %3 : vector<8xi32>
}

// Other masks do not help, and words that are added to are no masks.
// CHECK-LABEL: func.func @not_small(
// AVX2-NOT:    pmadd.ub.sw
// AVX2-COUNT-2: llvm.call_intrinsic "llvm.x86.avx2.pmadd.wd"
// AVX2-NOT:    pmadd.ub.sw
func.func @not_small(%sum: vector<8xi32>, %a: vector<8xi32>, %b: vector<8xi32>) -> vector<8xi32> {
  %0 = arith.constant 0x7f80007f : i32
  %mask = vector.broadcast %0 : i32 to vector<8xi32>
  %1 = arith.andi %mask, %a : vector<8xi32>
  %2 = tir.dot4 %1, %b : vector<8xi32>
  %3 = arith.addi %sum, %2 : vector<8xi32>
  func.return %3 : vector<8xi32>
}

// Scalars byte by byte.
// CHECK-LABEL: func.func @scalar(
// CHECK-COUNT-4: arith.muli
// CHECK-NOT:   muli
func.func @scalar(%sum: i32, %a: i32, %b: i32) -> i32 {
  %0 = tir.dot4 %a, %b : i32
  %1 = arith.addi %0, %sum : i32
  func.return %1 : i32
}
