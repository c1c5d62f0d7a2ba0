func.func @main(%x: tensor<?x8xf32>, %w0: tensor<16x8xf32>, %b0: tensor<16xf32>, %w1: tensor<4x16xf32>) -> tensor<?x4xf32> {
  %y = relex.dataflow -> tensor<?x4xf32> {
    %0 = relex.dense %x, %w0 : (tensor<?x8xf32>, tensor<16x8xf32>) -> tensor<?x16xf32>
    %1 = relex.add %b0, %0 : (tensor<16xf32>, tensor<?x16xf32>) -> tensor<?x16xf32>
    %2 = relex.relu %1 : (tensor<?x16xf32>) -> tensor<?x16xf32>
    %3 = relex.dense %2, %w1 : (tensor<?x16xf32>, tensor<4x16xf32>) -> tensor<?x4xf32>
    relex.output %3 : tensor<?x4xf32>
  }
  func.return %y : tensor<?x4xf32>
}
