func.func @minus(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  %0 = relex.negative %y : (tensor<4xf32>) -> tensor<4xf32>
  %1 = relex.add %x, %0 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return %1 : tensor<4xf32>
}
