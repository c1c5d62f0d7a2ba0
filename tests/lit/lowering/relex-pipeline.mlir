// RUN: env RELEX_OPT_FLAGS= relex-opt %s -p relex-pipeline{to=graph} | filecheck %s --check-prefixes=CHECK,GRAPH
// RUN: env RELEX_OPT_FLAGS= relex-opt %s -p 'relex-pipeline{to=graph strict=true}' | filecheck %s --check-prefix=STRICT
// RUN: env RELEX_OPT_FLAGS= relex-opt %s -p relex-pipeline{to=loops} | filecheck %s --check-prefixes=CHECK,LOOPS
// RUN: env RELEX_OPT_FLAGS= relex-opt %s -p relex-pipeline{to=core} | filecheck %s --check-prefixes=CHECK,CORE
// RUN: relex-opt %s -p relex-pipeline | filecheck %s --check-prefixes=CHECK,LLVM

// The passes one by one give the same text.
// RUN: env RELEX_OPT_FLAGS= relex-opt %s -p relex-pipeline{to=llvm} -o %t.at-once.mlir
// RUN: env RELEX_OPT_FLAGS= relex-opt %s -p set-target,multiply-blocks,fold-constants,simplify-ops,cancel-transposes,trim-windows,move-bytes,delay-scales,merge-scales,round-to-bytes,fold-batch-norm,split-windows,block-channels,pack-bytes,unpack-blocks,join-rows,infer-sizes,localize-sizes,remove-unused{keep_functions=true},fuse-attention,annotate-fast-math,annotate-noalias,apply-schedule{existing=true},fold-init-blocks,interchange-loops,annotate-op-pattern,fuse-ops,legalize-ops,fuse-tir,inline-blocks,cancel-divisions,join-dimensions,block-rows,split-reductions,annotate-finite,apply-schedule{final=true},schedule-cpu,rewrite-layout,merge-loops,compact-buffers,share-loops,annotate-signatures,carry-numbers,lower-call-tir,plan-memory,convert-tir-to-scf,expand-floats,vectorize-loops,expand-math,expand-dot4,expand-look-ups,outline-parallel-loops,annotate-temporaries,scf-parallel-for-to-nested-fors,convert-scf-while-to-cf,convert-scf-to-cf,return-failures,convert-to-llvm,add-packed-entries -o %t.one-by-one.mlir
// RUN: diff %t.at-once.mlir %t.one-by-one.mlir

// Every level goes on from the text of the one before.
// RUN: env RELEX_OPT_FLAGS= relex-opt %s -p relex-pipeline{to=graph} | env RELEX_OPT_FLAGS= relex-opt -p relex-pipeline{to=loops} | env RELEX_OPT_FLAGS= relex-opt -p relex-pipeline{to=core} | env RELEX_OPT_FLAGS= relex-opt -p relex-pipeline{to=llvm} -o %t.levels.mlir
// RUN: diff %t.at-once.mlir %t.levels.mlir

// RUN: not relex-opt %s -p relex-pipeline{to=nowhere} 2>&1 | filecheck %s --check-prefix=WRONG
// WRONG: error: pass 'relex-pipeline'

// CHECK: builtin.module attributes {relex.target = {triple = "
// GRAPH: func.func @main(%x: tensor<2x3xf32>, %w: tensor<4x3xf32>) -> tensor<2x4xf32>
// GRAPH: relex.dense
// GRAPH: func.func @transposed_weight
// GRAPH-NEXT: relex.constant dense<{{\[}}[1.0, 4.0], [2.0, 5.0], [3.0, 6.0]]> : tensor<3x2xf32>
// GRAPH-NEXT: relex.dense
// GRAPH-NEXT: relex.constant dense<[1.64{{[0-9]+}}, 4.48{{[0-9]+}}]> : tensor<2xf32>
// LOOPS: relex.call_tir @dense
// LOOPS: func.func @transposed_weight
// LOOPS-NOT: permute_dims
// LOOPS: relex.call_tir @{{.*}}dense
// LOOPS-NOT: exp
// LOOPS-NOT: permute_dims
// LOOPS: func.func @unused(
// LOOPS-NEXT:    call_dps_packed "env.log"
// LOOPS-NEXT:    [[DATA:%.+]] = relex.dataflow -> tensor<2xf32> {
// LOOPS-NEXT:      relex.call_tir @relu
// LOOPS-NEXT:      relex.output
// LOOPS-NEXT:    }
// LOOPS-NEXT:    func.return [[DATA]]
// LOOPS: tir.prim_func private @dense
// CORE:  func.func @main(%x: memref<2x3xf32>, %w: memref<4x3xf32>, %out: memref<2x4xf32>)
// CORE:  func.call @dense
// CORE:  scf.for
// LLVM:  llvm.func @main(
// LLVM:  llvm.call @dense
func.func @main(%x: tensor<2x3xf32>, %w: tensor<4x3xf32>) -> tensor<2x4xf32> {
  %y = relex.dense %x, %w : (tensor<2x3xf32>, tensor<4x3xf32>) -> tensor<2x4xf32>
  func.return %y : tensor<2x4xf32>
}

// Functions of constants, such as the transpose of a weight, are computed once, when the program is compiled. With
// `strict`, those that round, like `exp`, are left to compiled code.
// STRICT: func.func @transposed_weight
// STRICT-NOT: permute_dims
// STRICT: relex.exp
func.func @transposed_weight(%x: tensor<5x2xf32>) -> (tensor<5x3xf32>, tensor<2xf32>) {
  %w = relex.constant dense<[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]> : tensor<2x3xf32>
  %t = relex.permute_dims %w : (tensor<2x3xf32>) -> tensor<3x2xf32>
  %y = relex.dense %x, %t : (tensor<5x2xf32>, tensor<3x2xf32>) -> tensor<5x3xf32>
  %c = relex.constant dense<[0.5, 1.5]> : tensor<2xf32>
  %e = relex.exp %c : (tensor<2xf32>) -> tensor<2xf32>
  func.return %y, %e : tensor<5x3xf32>, tensor<2xf32>
}

// What nobody uses is not compiled, also in dataflow blocks. Calls with effects stay.
func.func @unused(%x: tensor<2xf32>) -> tensor<2xf32> {
  relex.call_dps_packed "env.log"(%x) {side_effects} : (tensor<2xf32>) -> ()
  %0:2 = relex.dataflow -> tensor<2xf32>, tensor<2xi1> {
    %y = relex.relu %x : (tensor<2xf32>) -> tensor<2xf32>
    %mask = relex.equal %y, %x : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xi1>
    relex.output %y, %mask : tensor<2xf32>, tensor<2xi1>
  }
  %1 = relex.tanh %0#0 : (tensor<2xf32>) -> tensor<2xf32>
  func.return %0#0 : tensor<2xf32>
}

// What operators round, is not contracted on the way from one level to the next.
func.func @multiply_add(%x: tensor<2xf32>, %y: tensor<2xf32>) -> tensor<2xf32> {
  %p = relex.multiply %x, %y : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  %s = relex.add %p, %y : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  func.return %s : tensor<2xf32>
}
