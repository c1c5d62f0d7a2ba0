// RUN: not relex-opt %s --load-passes %S/Inputs/no_legalization.py -p legalize-ops 2>&1 | filecheck %s

// All operators that cannot be lowered are reported at once, where they stand.
func.func @main(%x: tensor<?x4xbf16>, %h: tensor<4xf16>) -> tensor<?x4xbf16> {
  // CHECK: legalize-ops-invalid.mlir:6:8: error: 'mine.cube' op has no entry in the legalization table; add one with '@legalizes'
  %0 = mine.cube %x : (tensor<?x4xbf16>) -> tensor<?x4xbf16>
  // CHECK: legalize-ops-invalid.mlir:8:8: error: 'mine.cube' op has no entry in the legalization table
  %1 = mine.cube %h : (tensor<4xf16>) -> tensor<4xf16>
  func.return %0 : tensor<?x4xbf16>
}
