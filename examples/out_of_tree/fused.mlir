// A layer of MobileNet: the operator has its own scalar op in the vectorized loops that it is fused into.
func.func @main(%x: tensor<17x64xf32>, %w: tensor<48x64xf32>) -> tensor<17x48xf32> {
  %y = relex.dataflow -> tensor<17x48xf32> {
    %0 = relex.dense %x, %w : (tensor<17x64xf32>, tensor<48x64xf32>) -> tensor<17x48xf32>
    %1 = mobile.relu6 %0 : (tensor<17x48xf32>) -> tensor<17x48xf32>
    %2 = relex.relu %1 : (tensor<17x48xf32>) -> tensor<17x48xf32>
    relex.output %2 : tensor<17x48xf32>
  }
  func.return %y : tensor<17x48xf32>
}
