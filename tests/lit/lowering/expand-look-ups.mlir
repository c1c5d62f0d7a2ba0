// RUN: relex-opt %s -p "set-target{triple=x86_64-unknown-linux-gnu cpu=icelake-server},expand-look-ups" | filecheck %s --check-prefixes=CHECK,VBMI
// RUN: env RELEX_OPT_FLAGS= relex-opt %s -p "set-target{triple=x86_64-unknown-linux-gnu cpu=haswell},expand-look-ups" | filecheck %s --check-prefixes=CHECK,AVX2
// RUN: env RELEX_OPT_FLAGS= relex-opt %s -p "set-target{triple=x86_64-unknown-linux-gnu},expand-look-ups" | filecheck %s --check-prefixes=CHECK,SSE2
// RUN: env RELEX_OPT_FLAGS= relex-opt %s -p "set-target{triple=aarch64-unknown-linux-gnu},expand-look-ups" | filecheck %s --check-prefixes=CHECK,NEON
// Every form computes the same.
// RUN: relex-opt %s -p "set-target{triple=x86_64-unknown-linux-gnu cpu=icelake-server},expand-look-ups" --check-each -o /dev/null 2>&1 | filecheck %s --allow-empty --check-prefix=SAME
// RUN: env RELEX_OPT_FLAGS= relex-opt %s -p "set-target{triple=x86_64-unknown-linux-gnu cpu=haswell},expand-look-ups" --check-each -o /dev/null 2>&1 | filecheck %s --allow-empty --check-prefix=SAME
// RUN: env RELEX_OPT_FLAGS= relex-opt %s -p "set-target{triple=aarch64-unknown-linux-gnu},expand-look-ups" --check-each -o /dev/null 2>&1 | filecheck %s --allow-empty --check-prefix=SAME
// SAME-NOT: {{note|error}}

// RUN: not relex-opt %s -p convert-to-llvm 2>&1 | filecheck %s --check-prefix=LEFT
// LEFT: error: 'tir.look_up' op expected ops of the core level, found 'tir.look_up', which has no form in the LLVM dialect; run expand-look-ups first

// Scalars read tables from memory: equal ones are there once.
// CHECK:       "memref.global"() <{sym_name = "table_{{[0-9a-f]+}}_i8"
// VBMI-NOT:    memref.global
// CHECK-LABEL: func.func @scalars(
// CHECK:         [[T:%.+]] = memref.get_global @table_
// CHECK:         arith.andi
// CHECK:         memref.load [[T]]
func.func @scalars(%a: i32, %b: i8) -> (i8, i8) {
  %0 = tir.look_up %a in dense<[1, 3, 5, 7, 9, 11, 13, 15, 1, 2, 3, 4, 5, 6, 7, 8]> : tensor<16xi8> : i32 -> i8
  %1 = tir.look_up %b in dense<[1, 3, 5, 7, 9, 11, 13, 15, 1, 2, 3, 4, 5, 6, 7, 8]> : tensor<16xi8> : i8 -> i8
  func.return %0, %1 : i8, i8
}

// CHECK-LABEL: func.func @bytes(
// VBMI:          llvm.call_intrinsic "llvm.x86.avx512.pshuf.b.512"
// AVX2:          llvm.call_intrinsic "llvm.x86.avx2.pshuf.b"
// SSE2-COUNT-32: memref.load
// NEON-COUNT-2:  llvm.call_intrinsic "llvm.aarch64.neon.tbl1.v16i8"
func.func @bytes(%a: vector<32xi8>) -> vector<32xi8> {
  %0 = tir.look_up %a in dense<[1, 3, 5, 7, 9, 11, 13, 15, 1, 2, 3, 4, 5, 6, 7, 8]> : tensor<16xi8> : vector<32xi8> -> vector<32xi8>
  func.return %0 : vector<32xi8>
}

// CHECK-LABEL: func.func @floats(
// VBMI:          llvm.call_intrinsic "llvm.x86.avx512.permvar.si.512"
// VBMI-NOT:      call_intrinsic
// AVX2-COUNT-2:  llvm.call_intrinsic "llvm.x86.avx2.permd"
// NEON:          llvm.call_intrinsic "llvm.aarch64.neon.tbl4.v16i8"
func.func @floats(%a: vector<8xi32>) -> vector<8xf32> {
  %0 = tir.look_up %a in dense<[0.5, 3.0, 5.0, 7.0, 9.0, 11.0, 13.0, 15.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, -8.0]> : tensor<16xf32> : vector<8xi32> -> vector<8xf32>
  func.return %0 : vector<8xf32>
}

// AVX2 looks up floats that are integers of 8 bits as such.
// CHECK-LABEL: func.func @whole_floats(
// VBMI:          llvm.call_intrinsic "llvm.x86.avx512.permvar.si.512"
// AVX2:          llvm.trunc
// AVX2:          llvm.call_intrinsic "llvm.x86.ssse3.pshuf.b.128"
// AVX2:          llvm.sext
// AVX2:          llvm.sitofp
func.func @whole_floats(%a: vector<8xi32>) -> vector<8xf32> {
  %0 = tir.look_up %a in dense<[0.0, 3.0, 5.0, 7.0, 9.0, 11.0, 13.0, 15.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, -8.0]> : tensor<16xf32> : vector<8xi32> -> vector<8xf32>
  func.return %0 : vector<8xf32>
}

// Instructions for 16 are left out where nothing changes from the 16 numbers before.
// CHECK-LABEL: func.func @step(
// VBMI-COUNT-2:  llvm.call_intrinsic "llvm.x86.avx512.vpermi2var.qi.512"
// VBMI:          llvm.call_intrinsic "llvm.vp.select.v64i8"
// AVX2-COUNT-1:  llvm.call_intrinsic "llvm.x86.avx2.pshuf.b"
// AVX2-NOT:      pshuf
// NEON:          llvm.call_intrinsic "llvm.aarch64.neon.tbl4.v16i8"
// NEON-COUNT-3:  llvm.call_intrinsic "llvm.aarch64.neon.tbx4.v16i8"
func.func @step(%a: vector<16xi8>) -> vector<16xi8> {
  %0 = tir.look_up %a in dense<7> : tensor<256xi8> : vector<16xi8> -> vector<16xi8>
  func.return %0 : vector<16xi8>
}

// Wide places are shifted: LLVM would shift bytes, and widen these once more.
// CHECK-LABEL: func.func @halves(
// VBMI:          [[X:%.+]] = llvm.call_intrinsic "llvm.arithmetic.fence.v16f32"
// VBMI-NEXT:     [[W:%.+]] = vector.bitcast [[X]] : vector<16xf32> to vector<16xi32>
// VBMI-NEXT:     [[S:%.+]] = arith.shrsi [[W]], %s : vector<16xi32>
// VBMI:          llvm.call_intrinsic "llvm.x86.avx512.permvar.si.512"({{%.+}}, [[S]])
// AVX2-NOT:      llvm.arithmetic.fence
// SSE2-NOT:      memref.load
// SSE2:          [[I:%.+]] = arith.andi
// SSE2:          [[N:%.+]] = arith.addi [[I]]
// SSE2:          llvm.sitofp [[N]] : vector<16xi32> to vector<16xf32>
func.func @halves(%a: vector<16xi32>) -> vector<16xf32> {
  %s = arith.constant dense<4> : vector<16xi32>
  %0 = arith.shrsi %a, %s : vector<16xi32>
  %1 = tir.look_up %0 in dense<[-8.0, -7.0, -6.0, -5.0, -4.0, -3.0, -2.0, -1.0, 0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]> : tensor<16xf32> : vector<16xi32> -> vector<16xf32>
  func.return %1 : vector<16xf32>
}
