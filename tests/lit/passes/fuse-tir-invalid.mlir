// RUN: relex-opt %s -p fuse-tir --split-input-file --verify-diagnostics

func.func private @operators(%x: tensor<4xf32>) -> tensor<4xf32> attributes {relex.primitive} {
  // expected-error @+1 {{cannot be fused: expected calls of loop functions in a group; run 'legalize-ops' before}}
  %0 = relex.relu %x : (tensor<4xf32>) -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}

// -----

func.func private @calls_itself(%x: tensor<4xf32>) -> tensor<4xf32> attributes {relex.primitive} {
  // expected-error @+1 {{cannot be fused: expected calls of loop functions in a group}}
  %0 = relex.call @calls_itself(%x) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}

// -----

func.func @main(%x: tensor<?xf32>) -> tensor<?xf32> {
  %0 = relex.call @library(%x) : (tensor<?xf32>) -> tensor<?xf32>
  func.return %0 : tensor<?xf32>
}
func.func private @library(%x: tensor<?xf32>) -> tensor<?xf32> attributes {relex.primitive} {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?xf32>
  // expected-error @+1 {{cannot be fused: expected calls of loop functions in a group}}
  %0 = relex.call_dps_packed "env.f"(%x) sizes(%n) : (tensor<?xf32>) -> tensor<?xf32>
  func.return %0 : tensor<?xf32>
}
