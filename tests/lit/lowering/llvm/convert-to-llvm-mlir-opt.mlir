// REQUIRES: mlir-opt
// RUN: relex-opt %S/convert-to-llvm.mlir -p convert-to-llvm | mlir-opt-22 | mlir-translate-22 --mlir-to-llvmir | filecheck %s
// RUN: relex-opt %S/convert-arith-to-llvm.mlir -p convert-arith-to-llvm | mlir-opt-22 | filecheck %s --check-prefix=PARTIAL
// RUN: relex-opt %S/convert-cf-to-llvm.mlir -p convert-cf-to-llvm | mlir-opt-22 | filecheck %s --check-prefix=PARTIAL
// RUN: relex-opt %S/convert-math-to-llvm.mlir -p convert-math-to-llvm | mlir-opt-22 | filecheck %s --check-prefix=PARTIAL
// RUN: relex-opt %S/convert-math-to-libm.mlir -p convert-math-to-libm | mlir-opt-22 | filecheck %s --check-prefix=PARTIAL
// RUN: relex-opt %S/convert-vector-to-llvm.mlir -p convert-vector-to-llvm | mlir-opt-22 | filecheck %s --check-prefix=PARTIAL
// RUN: relex-opt %S/convert-vector-to-llvm.mlir -p convert-to-llvm | mlir-opt-22 | mlir-translate-22 --mlir-to-llvmir | filecheck %s --check-prefix=VECTOR
// RUN: relex-opt %S/convert-cf-to-llvm.mlir -p convert-to-llvm | mlir-opt-22 | mlir-translate-22 --mlir-to-llvmir | filecheck %s --check-prefix=CF
// RUN: relex-opt %S/../convert-scf-while-to-cf.mlir -p convert-scf-while-to-cf | mlir-opt-22 -o /dev/null
// RUN: relex-opt %S/../scf-parallel-for-to-nested-fors.mlir -p scf-parallel-for-to-nested-fors | mlir-opt-22 -o /dev/null
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
// VECTOR: call <4 x float> @llvm.masked.load.v4f32.p0(
// VECTOR: call float @llvm.vector.reduce.fadd.v4f32(
// CF: switch i32
// CF: call void @abort()
