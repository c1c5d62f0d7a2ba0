// RUN: relex-opt %s -t llvm | filecheck %s --check-prefix=LLVM
// RUN: relex-opt %s -t asm | filecheck %s --check-prefix=ASM
// RUN: relex-opt %s -t asm{opt-level=0} | filecheck %s --check-prefix=ASM
// RUN: relex-opt %s -t obj -o %t.o
// RUN: not relex-opt %S/convert-to-llvm.mlir -t llvm 2>&1 | filecheck %s --check-prefix=LEVEL
// RUN: not relex-opt %s -p set-target{cpu=nonsense} -t obj -o %t.o 2>&1 | filecheck %s --check-prefix=CPU
// RUN: not relex-opt %s -p set-target{triple=nonsense} -t asm 2>&1 | filecheck %s --check-prefix=TRIPLE

// LLVM: target triple = "x86_64-unknown-linux-gnu"
// LLVM: @"w" = private constant [8 x i8] c"\00\00\80?\00\00\00@", align 64
// LLVM: define float @"f"(i64 %".1")
// LLVM: getelementptr inbounds float

// ASM: f:
// ASM: retq

// LEVEL: convert-to-llvm.mlir:{{[0-9]+}}:1: error: 'func.func' op expected ops of the LLVM dialect, found 'func.func'; run relex-pipeline{to=llvm} first
// CPU: unknown cpu 'nonsense' for triple 'x86_64-unknown-linux-gnu'
// TRIPLE: no code generator for triple 'nonsense'

builtin.module attributes {relex.target = {triple = "x86_64-unknown-linux-gnu", cpu = "haswell", features = ""}} {
  llvm.mlir.global private constant @w(dense<[1.0, 2.0]> : tensor<2xf32>) : !llvm.array<2 x f32>
  llvm.func @f(%i: i64) -> f32 {
    %0 = llvm.mlir.addressof @w : !llvm.ptr
    %1 = llvm.getelementptr inbounds %0[%i] : (!llvm.ptr, i64) -> !llvm.ptr, f32
    %2 = llvm.load %1 : !llvm.ptr -> f32
    llvm.return %2 : f32
  }
}
