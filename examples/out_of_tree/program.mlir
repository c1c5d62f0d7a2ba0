// The activation of MobileNetV3, once as the operator and once as its parts.
func.func @main(%x: tensor<2x5xf32>) -> tensor<2x5xf32> {
  %three = relex.constant dense<3.0> : tensor<f32>
  %six = relex.constant dense<6.0> : tensor<f32>
  %y = relex.dataflow -> tensor<2x5xf32> {
    %0 = mobile.hard_swish %x : (tensor<2x5xf32>) -> tensor<2x5xf32>
    %1 = relex.add %0, %three : (tensor<2x5xf32>, tensor<f32>) -> tensor<2x5xf32>
    %2 = relex.clip %1 min = 0.0 : f32 max = 6.0 : f32 : (tensor<2x5xf32>) -> tensor<2x5xf32>
    %3 = relex.multiply %0, %2 : (tensor<2x5xf32>, tensor<2x5xf32>) -> tensor<2x5xf32>
    %4 = relex.divide %3, %six : (tensor<2x5xf32>, tensor<f32>) -> tensor<2x5xf32>
    relex.output %4 : tensor<2x5xf32>
  }
  func.return %y : tensor<2x5xf32>
}
