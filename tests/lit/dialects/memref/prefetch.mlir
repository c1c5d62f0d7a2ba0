// RUN: RELEX_ROUNDTRIP
// RUN: RELEX_GENERIC_ROUNDTRIP
// RUN: relex-opt %s -p convert-to-llvm | filecheck %s --check-prefix=LLVM
// RUN: relex-opt %s -p "set-target{triple=x86_64-unknown-linux-gnu cpu=skylake-avx512},convert-to-llvm" -t asm | filecheck %s --check-prefix=ASM

// CHECK-LABEL: func.func @prefetch
// ASM-LABEL: prefetch:
func.func @prefetch(%x: memref<8x16xf32>, %y: memref<f32>, %i: index) {
  // CHECK: memref.prefetch %x[%i, %i], read, locality<2>, data : memref<8x16xf32>
  // LLVM:  [[AT:%.+]] = llvm.getelementptr %x[%{{.+}}] : (!llvm.ptr, i64) -> !llvm.ptr, f32
  // LLVM:  llvm.call_intrinsic "llvm.prefetch.p0"([[AT]], %{{.+}}, %{{.+}}, %{{.+}}) : (!llvm.ptr, i32, i32, i32) -> ()
  // ASM:   prefetcht1
  memref.prefetch %x[%i, %i], read, locality<2>, data : memref<8x16xf32>
  // CHECK: memref.prefetch %y[], write, locality<3>, data : memref<f32>
  // ASM:   prefetchw
  memref.prefetch %y[], write, locality<3>, data : memref<f32>
  func.return
}
