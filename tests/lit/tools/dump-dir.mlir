// RUN: rm -rf %t && relex-opt %s -p canonicalize,relex-pipeline{to=graph},legalize-ops --dump-dir %t/deep > %t.out
// RUN: ls %t/deep | filecheck %s
// RUN: diff %t/deep/29_legalize-ops.mlir %t.out
// RUN: relex-opt %t/deep/01_canonicalize.mlir -p relex-pipeline{to=graph},legalize-ops | diff - %t.out
// CHECK:      00_input.mlir
// CHECK-NEXT: 01_canonicalize.mlir
// CHECK-NEXT: 02_set-target.mlir
// CHECK-NEXT: 03_multiply-blocks.mlir
// CHECK-NEXT: 04_fold-constants.mlir
// CHECK-NEXT: 05_simplify-ops.mlir
// CHECK-NEXT: 06_simplify-regions.mlir
// CHECK-NEXT: 07_cancel-transposes.mlir
// CHECK-NEXT: 08_trim-windows.mlir
// CHECK-NEXT: 09_move-bytes.mlir
// CHECK-NEXT: 10_delay-scales.mlir
// CHECK-NEXT: 11_merge-scales.mlir
// CHECK-NEXT: 12_round-to-bytes.mlir
// CHECK-NEXT: 13_fold-batch-norm.mlir
// CHECK-NEXT: 14_split-windows.mlir
// CHECK-NEXT: 15_block-channels.mlir
// CHECK-NEXT: 16_pack-bytes.mlir
// CHECK-NEXT: 17_unpack-blocks.mlir
// CHECK-NEXT: 18_join-rows.mlir
// CHECK-NEXT: 19_infer-sizes.mlir
// CHECK-NEXT: 20_localize-sizes.mlir
// CHECK-NEXT: 21_remove-unused.mlir
// CHECK-NEXT: 22_fuse-attention.mlir
// CHECK-NEXT: 23_annotate-fast-math.mlir
// CHECK-NEXT: 24_annotate-noalias.mlir
// CHECK-NEXT: 25_apply-schedule.mlir
// CHECK-NEXT: 26_fold-init-blocks.mlir
// CHECK-NEXT: 27_interchange-loops.mlir
// CHECK-NEXT: 28_annotate-op-pattern.mlir
// CHECK-NEXT: 29_legalize-ops.mlir
// CHECK-NOT:  {{.}}

// A folder for each program of a file that holds several.
// RUN: rm -rf %t && relex-opt %s -p cse --split-input-file --dump-dir %t > /dev/null && ls %t/0 %t/1 | filecheck %s --check-prefix=SPLIT
// SPLIT: 00_input.mlir
// SPLIT-NEXT: 01_cse.mlir
// SPLIT: 00_input.mlir

// RUN: not relex-opt %s --dump-dir %s 2>&1 | filecheck %s --check-prefix=FILE
// FILE: relex-opt: error: cannot make folder '{{.*}}dump-dir.mlir'

func.func @f(%x: tensor<3xf32>) -> tensor<3xf32> {
  %y = relex.relu %x : (tensor<3xf32>) -> tensor<3xf32>
  func.return %y : tensor<3xf32>
}

// -----

func.func @g() {
  func.return
}
