// RUN: env RELEX_OPT_FLAGS= relex-opt %s -p "set-target{triple=x86_64-unknown-linux-gnu cpu=haswell},expand-dot4" | filecheck %s
// RUN: env RELEX_OPT_FLAGS= relex-opt %s -p "set-target{triple=x86_64-unknown-linux-gnu cpu=haswell},expand-dot4" --check-each -o /dev/null 2>&1 | filecheck %s --allow-empty --check-prefix=SAME
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

// A processor with an instruction for pairs adds them to a sum, with numbers of bf16 in LLVM's type.
// RUN: env RELEX_OPT_FLAGS= relex-opt %s -p "set-target{triple=x86_64-unknown-linux-gnu cpu=znver4},expand-dot4" | filecheck %s --check-prefix=AMD
// RUN: env RELEX_OPT_FLAGS= relex-opt %s -p "set-target{triple=x86_64-unknown-linux-gnu cpu=znver4},expand-dot4" --check-each -o /dev/null 2>&1 | filecheck %s --allow-empty --check-prefix=SAME
// RUN: env RELEX_OPT_FLAGS= relex-opt %s -p "set-target{triple=x86_64-unknown-linux-gnu cpu=znver4},expand-dot4,convert-to-llvm" | filecheck %s --check-prefix=LLVM
// RUN: env RELEX_OPT_FLAGS= relex-opt %s -p "set-target{triple=x86_64-unknown-linux-gnu cpu=znver4},expand-dot4,convert-to-llvm" -t llvm | filecheck %s --check-prefix=IR
// RUN: env RELEX_OPT_FLAGS= relex-opt %s -p "set-target{triple=x86_64-unknown-linux-gnu cpu=znver4},expand-dot4,convert-to-llvm" -t asm | filecheck %s --check-prefix=ASM

// AMD-LABEL: func.func @sum(
// AMD-NEXT:    [[A:%.+]] = vector.bitcast %a : vector<16xi32> to vector<32xbf16>
// AMD-NEXT:    [[B:%.+]] = vector.bitcast %b : vector<16xi32> to vector<32xbf16>
// AMD-NEXT:    [[R:%.+]] = llvm.call_intrinsic "llvm.x86.avx512bf16.dpbf16ps.512"(%sum, [[A]], [[B]])
// AMD-NEXT:    func.return [[R]]
// LLVM-LABEL: llvm.func @sum(
// LLVM-NEXT:   {{%.+}} = llvm.bitcast %a{{.*}} : vector<16xi32> to vector<32xbf16>
// IR-LABEL:  @"sum"
// IR:          bitcast <16 x i32> %".{{.*}}" to <32 x bfloat>
// ASM-LABEL: sum:
// ASM:         vdpbf16ps
func.func @sum(%sum: vector<16xf32>, %a: vector<16xi32>, %b: vector<16xi32>) -> vector<16xf32> {
  %0 = tir.dot2 %a, %b : vector<16xi32> -> vector<16xf32>
  %1 = arith.addf %sum, %0 : vector<16xf32>
  func.return %1 : vector<16xf32>
}
