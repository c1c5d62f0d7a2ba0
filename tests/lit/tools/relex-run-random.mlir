// Arguments that are made up are the same ones each time, at every level; others may be given.

// RUN: relex-run %s --random > %t.1 && relex-run %s --random --level core > %t.2 && cmp %t.1 %t.2
// RUN: python -c "import numpy as np; np.save('%t.i.npy', np.int64([2, 0, 2]))"
// RUN: relex-run %s --random --input indices=%t.i.npy | filecheck %s
// RUN: relex-run %s --random --input indices=%t.i.npy --level graph | filecheck %s
// CHECK:      {{\[\[}}[[A:.+]], [[B:.+]]],
// CHECK-NEXT:  [{{.+}}, {{.+}}],
// CHECK-NEXT:  [[[A]], [[B]]]]

// RUN: relex-run %s --entry open --random n=2 | filecheck %s --check-prefix=OPEN
// OPEN:      {{\[}}{{[^,]+}}, {{[^,]+}}{{\]}}
// RUN: not relex-run %s --entry even --random n=3 2>&1 | filecheck %s --check-prefix=ODD
// ODD: relex-run: error: even() expected 2 * (n // 2) == n, found n = 3
// RUN: relex-run %s --entry thirds | filecheck %s --check-prefix=FITS
// FITS:      a call with n=18: 0 floating-point operations, 72 B of arguments, 72 B of results
// FITS-NEXT: arguments are given by --input, or made up by --random n=18
// RUN: relex-run %s --entry thirds --random

// RUN: relex-run %s --random --benchmark | filecheck %s --check-prefix=TIMES
// TIMES: main(): {{[0-9.]+}} us, the median of {{[0-9]+}} calls; 80 % of them between {{.*}} of the limit of one core
// TIMES-NOT: {{.}}

// RUN: relex-run %s --emit loops | filecheck %s --check-prefix=LOOPS
// LOOPS: tir.prim_func private @take
// RUN: relex-run %s --emit llvm --target riscv64-unknown-linux-gnu:generic-rv64 | filecheck %s --check-prefix=LLVM
// LLVM: target triple = "riscv64-unknown-linux-gnu"
// RUN: relex-run %s --emit asm --target aarch64-unknown-linux-gnu:cortex-a72 --output %t.s
// RUN: filecheck %s --check-prefix=ASM < %t.s
// ASM: ldr {{.*}}x
// RUN: relex-run %s --emit obj --output %t.o && python -c "print(open('%t.o', 'rb').read(4))" | filecheck %s --check-prefix=OBJ
// OBJ: ELF

func.func @main(%x: tensor<3x2xf32>, %indices: tensor<3xi64>) -> tensor<3x2xf32> {
  %y = relex.take %x, %indices axis = 0 : (tensor<3x2xf32>, tensor<3xi64>) -> tensor<3x2xf32>
  func.return %y : tensor<3x2xf32>
}

func.func @open(%x: tensor<?xf32> {relex.dims = ["n"]}) -> tensor<?xf32> {
  %y = relex.exp %x : (tensor<?xf32>) -> tensor<?xf32>
  func.return %y : tensor<?xf32>
}

func.func @even(%x: tensor<?xf32> {relex.dims = ["n"]}) -> tensor<2x?xf32> {
  %y = relex.reshape %x shape = [2, -1] : (tensor<?xf32>) -> tensor<2x?xf32>
  func.return %y : tensor<2x?xf32>
}

func.func @thirds(%x: tensor<?xf32> {relex.dims = ["n"]}) -> tensor<3x?xf32> {
  %y = relex.reshape %x shape = [3, -1] : (tensor<?xf32>) -> tensor<3x?xf32>
  func.return %y : tensor<3x?xf32>
}
