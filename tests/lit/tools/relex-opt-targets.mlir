// RUN: relex-opt %s -p relex-pipeline{to=llvm} -t llvm | filecheck %s --check-prefix=LLVM
// RUN: relex-opt %s -p relex-pipeline{to=llvm} -t asm | filecheck %s --check-prefix=ASM
// RUN: relex-opt %s -p relex-pipeline{to=llvm} -t obj -o %t.o && test -s %t.o
// RUN: relex-opt %s -p relex-pipeline{to=llvm} | xdsl-opt -t asm | filecheck %s --check-prefix=ASM
// RUN: not relex-opt %s -t llvm 2>&1 | filecheck %s --check-prefix=LEVEL
// RUN: not relex-opt %s -t object 2>&1 | filecheck %s --check-prefix=TARGET

// LLVM: target triple = "
// LLVM: define void @{{"?}}main{{"?}}(

// ASM: main:

// LEVEL: relex-opt-targets.mlir:17:1: error: 'func.func' op {{.*}}relex-pipeline{to=llvm}

// TARGET: relex-opt: error: argument -t/--target: invalid choice: 'object'

func.func @main(%x: tensor<3x5xf32>) -> tensor<3x5xf32> {
  %y = relex.relu %x : (tensor<3x5xf32>) -> tensor<3x5xf32>
  func.return %y : tensor<3x5xf32>
}
