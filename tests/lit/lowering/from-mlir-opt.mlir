// REQUIRES: mlir-opt
// What mlir-opt prints of our stages is read back, and becomes the same code.

// RUN: env RELEX_OPT_FLAGS= relex-opt %S/../../../examples/digits/mlp.mlir -p relex-pipeline{to=core} | mlir-opt-22 | relex-opt | filecheck %s

// Loops that are shared by threads, vectors, and a size that is known at run time.

// RUN: relex-opt %s -p relex-pipeline{to=llvm} -o %t.mlir
// RUN: relex-opt %t.mlir -t asm -o %t.s
// RUN: filecheck %s --check-prefix=ASM --input-file %t.s
// RUN: mlir-opt-22 %t.mlir | relex-opt -t asm | diff - %t.s
// RUN: mlir-opt-22 %t.mlir --mlir-print-op-generic | relex-opt -t asm | diff - %t.s

// CHECK: llvm.loop_annotation = #llvm.loop_annotation<unroll = <full = true>>
// ASM: _relex_parallel

tir.prim_func @double(%x: memref<8192x64xf32>) outs(%y: memref<8192x64xf32>) attributes {tir.noalias} {
  tir.for parallel %i @i, vectorized %j @j in (8192, 64) {
    tir.block @double (%vi: spatial<8192> = %i, %vj: spatial<64> = %j) {
      %0 = memref.load %x[%vi, %vj] : memref<8192x64xf32>
      %1 = arith.addf %0, %0 : f32
      memref.store %1, %y[%vi, %vj] : memref<8192x64xf32>
    }
  }
}
func.func @main(%x: tensor<?x3xf64>, %i: tensor<?xi8>) -> (tensor<?x3xf64>, tensor<?xi8>) {
  %y = relex.exp %x : (tensor<?x3xf64>) -> tensor<?x3xf64>
  %j = relex.add %i, %i : (tensor<?xi8>, tensor<?xi8>) -> tensor<?xi8>
  func.return %y, %j : tensor<?x3xf64>, tensor<?xi8>
}
