// RUN: not relex-opt %s -p legalize-ops 2>&1 | filecheck %s

// All operators that cannot be lowered are reported at once, where they stand.
func.func @main(%x: tensor<?x4xbf16>, %h: tensor<4xf16>) -> tensor<?x4xbf16> {
  // CHECK: legalize-ops-invalid.mlir:6:8: error: 'relex.relu' op expected elements among f32, f64, i1, i8, i32, i64 to compute on, found tensor<?x4xbf16>
  %0 = relex.relu %x : (tensor<?x4xbf16>) -> tensor<?x4xbf16>
  // CHECK: legalize-ops-invalid.mlir:8:8: error: 'relex.add' op expected elements among f32, f64, i1, i8, i32, i64 to compute on, found tensor<4xf16>
  %1 = relex.add %h, %h : (tensor<4xf16>, tensor<4xf16>) -> tensor<4xf16>
  func.return %0 : tensor<?x4xbf16>
}
