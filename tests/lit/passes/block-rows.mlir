// RUN: relex-opt %s -p "set-target{triple=x86_64-unknown-linux-gnu cpu=skylake-avx512 features=+avx512f},legalize-ops,fuse-tir,block-rows" --split-input-file | filecheck %s
// RUN: env RELEX_OPT_FLAGS= relex-opt %s -p "set-target{triple=x86_64-unknown-linux-gnu cpu=skylake-avx512 features=+avx512f},legalize-ops,fuse-tir,block-rows" --split-input-file --check-each > /dev/null
// RUN: relex-opt %s -p "legalize-ops,fuse-tir,block-rows" --split-input-file | filecheck %s --check-prefix=ANY

// A number of rows that blocks fill: buffers have a dimension for blocks, and the second product writes one.
// CHECK-LABEL: tir.prim_func private @even_group(
// CHECK:         tir.alloc_buffer : memref<2x2x48x8xf32>
// CHECK:         tir.for %i0{{.*}} in (2, 2, 48, 8, 4) {
// CHECK:           tir.block @matmul (
// CHECK:         tir.for %i0{{.*}} in (2, 2, 48, 8) {
// CHECK:           tir.block @exp (
// CHECK:         tir.alloc_buffer : memref<2x2x48x4xf32>
// CHECK-NEXT:    tir.for %i0{{.*}} in (2, 2, 48, 4, 8) {
// CHECK:           tir.block @matmul1 (
// CHECK:         tir.for %ax0{{.*}} in (2, 2, 48, 4) {
// CHECK-NEXT:      tir.block @matmul_local (
// CHECK-NOT:     tir.for
// ANY-LABEL:   tir.prim_func private @even_group(
// ANY:           tir.for %i0{{.*}} in (2, 96, 8, 4) {
func.func @even(%q: tensor<2x96x4xf32>, %kt: tensor<2x4x8xf32>, %v: tensor<2x8x4xf32>) -> tensor<2x96x4xf32> {
  %0 = relex.call @even_group(%q, %kt, %v) : (tensor<2x96x4xf32>, tensor<2x4x8xf32>, tensor<2x8x4xf32>) -> tensor<2x96x4xf32>
  func.return %0 : tensor<2x96x4xf32>
}
func.func private @even_group(%q: tensor<2x96x4xf32>, %kt: tensor<2x4x8xf32>, %v: tensor<2x8x4xf32>) -> tensor<2x96x4xf32> attributes {relex.primitive} {
  %s = relex.matmul %q, %kt : (tensor<2x96x4xf32>, tensor<2x4x8xf32>) -> tensor<2x96x8xf32>
  %t = relex.exp %s : (tensor<2x96x8xf32>) -> tensor<2x96x8xf32>
  %o = relex.matmul %t, %v : (tensor<2x96x8xf32>, tensor<2x8x4xf32>) -> tensor<2x96x4xf32>
  func.return %o : tensor<2x96x4xf32>
}

// -----

// Rows that are left over come last.
// CHECK-LABEL: tir.prim_func private @odd_group(
// CHECK:         tir.for %i0{{.*}} in (2, 2, 64, 8, 4) {
// CHECK:           tir.block @matmul (
// CHECK:         tir.for %ax0{{.*}} in (2, 2, 64, 4) {
// CHECK:         tir.for %i0{{.*}} in (2, 3, 8, 4) {
// CHECK-NEXT:      tir.block @matmul_rest (
// CHECK:         tir.for %i0{{.*}} in (2, 3, 8) {
// CHECK:         tir.for %i0{{.*}} in (2, 3, 4, 8) {
// CHECK:         tir.for %ax0{{.*}} in (2, 3, 4) {
func.func @odd(%q: tensor<2x131x4xf32>, %kt: tensor<2x4x8xf32>, %v: tensor<2x8x4xf32>) -> tensor<2x131x4xf32> {
  %0 = relex.call @odd_group(%q, %kt, %v) : (tensor<2x131x4xf32>, tensor<2x4x8xf32>, tensor<2x8x4xf32>) -> tensor<2x131x4xf32>
  func.return %0 : tensor<2x131x4xf32>
}
func.func private @odd_group(%q: tensor<2x131x4xf32>, %kt: tensor<2x4x8xf32>, %v: tensor<2x8x4xf32>) -> tensor<2x131x4xf32> attributes {relex.primitive} {
  %s = relex.matmul %q, %kt : (tensor<2x131x4xf32>, tensor<2x4x8xf32>) -> tensor<2x131x8xf32>
  %t = relex.exp %s : (tensor<2x131x8xf32>) -> tensor<2x131x8xf32>
  %o = relex.matmul %t, %v : (tensor<2x131x8xf32>, tensor<2x8x4xf32>) -> tensor<2x131x4xf32>
  func.return %o : tensor<2x131x4xf32>
}

// -----

// All rows fit.
// CHECK-LABEL: tir.prim_func private @few_group(
// CHECK:         tir.for %i0{{.*}} in (2, 64, 8, 4) {
func.func @few(%q: tensor<2x64x4xf32>, %kt: tensor<2x4x8xf32>, %v: tensor<2x8x4xf32>) -> tensor<2x64x4xf32> {
  %0 = relex.call @few_group(%q, %kt, %v) : (tensor<2x64x4xf32>, tensor<2x4x8xf32>, tensor<2x8x4xf32>) -> tensor<2x64x4xf32>
  func.return %0 : tensor<2x64x4xf32>
}
func.func private @few_group(%q: tensor<2x64x4xf32>, %kt: tensor<2x4x8xf32>, %v: tensor<2x8x4xf32>) -> tensor<2x64x4xf32> attributes {relex.primitive} {
  %s = relex.matmul %q, %kt : (tensor<2x64x4xf32>, tensor<2x4x8xf32>) -> tensor<2x64x8xf32>
  %t = relex.exp %s : (tensor<2x64x8xf32>) -> tensor<2x64x8xf32>
  %o = relex.matmul %t, %v : (tensor<2x64x8xf32>, tensor<2x8x4xf32>) -> tensor<2x64x4xf32>
  func.return %o : tensor<2x64x4xf32>
}

// -----

// Any number of rows.
// CHECK-LABEL: tir.prim_func private @open_group(
// CHECK:         tir.for %i0{{.*}} in (2, %{{.+}}, 64, 8, 4) {
// CHECK:         tir.for %i0{{.*}} in (2, %{{.+}}, 8, 4) {
// CHECK-NEXT:      tir.block @matmul_rest (
func.func @open(%q: tensor<2x?x4xf32> {relex.dims = ["", "n", ""]}, %kt: tensor<2x4x8xf32>, %v: tensor<2x8x4xf32>) -> tensor<2x?x4xf32> {
  %0 = relex.call @open_group(%q, %kt, %v) : (tensor<2x?x4xf32>, tensor<2x4x8xf32>, tensor<2x8x4xf32>) -> tensor<2x?x4xf32>
  func.return %0 : tensor<2x?x4xf32>
}
func.func private @open_group(%q: tensor<2x?x4xf32> {relex.dims = ["", "n", ""]}, %kt: tensor<2x4x8xf32>, %v: tensor<2x8x4xf32>) -> tensor<2x?x4xf32> attributes {relex.primitive} {
  %s = relex.matmul %q, %kt : (tensor<2x?x4xf32>, tensor<2x4x8xf32>) -> tensor<2x?x8xf32>
  %t = relex.exp %s : (tensor<2x?x8xf32>) -> tensor<2x?x8xf32>
  %o = relex.matmul %t, %v : (tensor<2x?x8xf32>, tensor<2x8x4xf32>) -> tensor<2x?x4xf32>
  func.return %o : tensor<2x?x4xf32>
}
