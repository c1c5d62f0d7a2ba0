// REQUIRES: mlir-opt
// MLIR's own tools take the core and the machine level as relex prints them, and translate the latter. Programs that other files have are not read back after each pass once more.

// RUN: env RELEX_OPT_FLAGS= relex-opt %S/../../../examples/digits/mlp_tir.mlir -p relex-pipeline{to=core} -o %t.core.mlir && mlir-opt-22 %t.core.mlir -o %t.theirs.mlir
// RUN: env RELEX_OPT_FLAGS= relex-opt %t.core.mlir -p relex-pipeline{to=llvm} | mlir-translate-22 --mlir-to-llvmir | filecheck %s
// RUN: env RELEX_OPT_FLAGS= relex-opt %s -p relex-pipeline{to=core} --print-op-generic | mlir-opt-22 -o %t.core.mlir
// RUN: relex-opt %s -p relex-pipeline{to=llvm} | mlir-translate-22 --mlir-to-llvmir | filecheck %s
// RUN: env RELEX_OPT_FLAGS= relex-opt %S/vectorize-loops.mlir -p vectorize-loops | mlir-opt-22 -o %t.vectors.mlir
// RUN: env RELEX_OPT_FLAGS= relex-opt %S/vectorize-loops.mlir -p relex-pipeline | mlir-translate-22 --mlir-to-llvmir -o %t.vectors.ll

// RUN: env RELEX_OPT_FLAGS= relex-opt %S/outline-parallel-loops.mlir -p outline-parallel-loops | mlir-opt-22 -o %t.parallel.mlir
// RUN: env RELEX_OPT_FLAGS= relex-opt %S/outline-parallel-loops.mlir -p relex-pipeline | mlir-translate-22 --mlir-to-llvmir -o %t.parallel.ll
// RUN: env RELEX_OPT_FLAGS= relex-opt %S/dynamic-shapes.mlir -p relex-pipeline{to=core} -o %t.core.mlir && mlir-opt-22 %t.core.mlir -o %t.theirs.mlir
// RUN: env RELEX_OPT_FLAGS= relex-opt %t.core.mlir -p relex-pipeline{to=llvm} | mlir-translate-22 --mlir-to-llvmir | filecheck %s

// CHECK: define void @main(

func.func @main(%x: tensor<3x1xf64>) -> (tensor<3x20xf64>, tensor<3x1xf64>, tensor<2xi1>) {
  %c = relex.constant dense<"0x000000000000F07F000000000000F03F000000000000F8FF"> : tensor<3xf64>
  %w = relex.constant dense<[[1.5], [2.5], [0.1], [1.0], [1.0], [1.0], [1.0], [1.0], [1.0], [1.0], [1.0], [1.0], [1.0], [1.0], [1.0], [1.0], [1.0], [1.0], [1.0], [1.0]]> : tensor<20x1xf64>
  %b = relex.constant dense<[true, false]> : tensor<2xi1>
  %y = relex.dense %x, %w : (tensor<3x1xf64>, tensor<20x1xf64>) -> tensor<3x20xf64>
  func.return %y, %x, %b : tensor<3x20xf64>, tensor<3x1xf64>, tensor<2xi1>
}

func.func @library(%x: tensor<3x?xf64>) -> tensor<3xf64> {
  %y = relex.call_dps_packed "env.sum"(%x) : (tensor<3x?xf64>) -> tensor<3xf64>
  func.return %y : tensor<3xf64>
}
