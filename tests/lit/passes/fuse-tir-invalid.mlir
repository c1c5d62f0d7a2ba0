// RUN: relex-opt %s -p fuse-tir --verify-diagnostics

func.func private @operators(%x: tensor<4xf32>) -> tensor<4xf32> attributes {relex.primitive} {
  // expected-error @+1 {{cannot be fused; run 'legalize-ops' before 'fuse-tir'}}
  %0 = relex.relu %x : (tensor<4xf32>) -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}
