// REQUIRES: mlir-opt
// RUN: relex-opt %S/convert-to-llvm.mlir -p convert-to-llvm | mlir-opt-22 | mlir-translate-22 --mlir-to-llvmir | filecheck %s
// RUN: relex-opt %S/convert-arith-to-llvm.mlir -p convert-arith-to-llvm | mlir-opt-22 | filecheck %s --check-prefix=PARTIAL
// RUN: relex-opt %S/convert-cf-to-llvm.mlir -p convert-cf-to-llvm | mlir-opt-22 | filecheck %s --check-prefix=PARTIAL
// RUN: relex-opt %S/convert-math-to-llvm.mlir -p convert-math-to-llvm | mlir-opt-22 | filecheck %s --check-prefix=PARTIAL
// RUN: relex-opt %S/convert-func-to-llvm.mlir -p llvm-request-c-wrappers,convert-func-to-llvm | mlir-opt-22 | filecheck %s --check-prefix=PARTIAL
// RUN: relex-opt %S/finalize-memref-to-llvm.mlir -p finalize-memref-to-llvm | mlir-opt-22 | filecheck %s --check-prefix=PARTIAL
// RUN: relex-opt %S/finalize-memref-to-llvm.mlir -p convert-to-llvm | mlir-opt-22 | mlir-translate-22 --mlir-to-llvmir | filecheck %s --check-prefix=MEMREF

// MLIR reads what the passes print, at every stage.

// CHECK: define void @sum(ptr %0, ptr noalias %1, i64 %2, i64 %3, i64 %4, ptr %5, ptr %6, i64 %7)
// CHECK: phi float
// CHECK: getelementptr inbounds float, ptr %1
// PARTIAL: llvm.
// MEMREF: @table = private constant [2 x [3 x float]]
// MEMREF: mul nuw nsw i64
