// RUN: relex-opt %s -p split-windows | filecheck %s
// RUN: relex-opt %s -p split-windows,split-windows | filecheck %s

// The first rows of results read data with the last two taps, most with the one in the middle; so do columns.
// CHECK-LABEL: func.func @nine
// CHECK-COUNT-3: relex.conv2d
// CHECK:         relex.concat {{.*}} axis = 3 : (tensor<?x512x1x1xf32>, tensor<?x512x1x7xf32>, tensor<?x512x1x1xf32>) -> tensor<?x512x1x9xf32>
// CHECK:         relex.conv2d {{.*}} dilation = [1, 8] : (tensor<?x512x7x9xf32>, tensor<512x512x1x2xf32>) -> tensor<?x512x7x1xf32>
// CHECK:         relex.conv2d {{.*}} : (tensor<?x512x7x7xf32>, tensor<512x512x1x1xf32>) -> tensor<?x512x7x7xf32>
// CHECK:         relex.concat {{.*}} axis = 3 {{.*}} -> tensor<?x512x7x9xf32>
// CHECK:         relex.concat {{.*}} axis = 3 {{.*}} -> tensor<?x512x1x9xf32>
// CHECK-NEXT:    relex.concat {{.*}} axis = 2 {{.*}} -> tensor<?x512x9x9xf32>
// CHECK-NEXT:    func.return
func.func @nine(%x: tensor<?x512x9x9xf32>) -> tensor<?x512x9x9xf32> {
  %w = relex.constant dense<0.5> : tensor<512x512x3x3xf32>
  %0 = relex.conv2d %x, %w padding = [8] dilation = [8, 8] : (tensor<?x512x9x9xf32>, tensor<512x512x3x3xf32>) -> tensor<?x512x9x9xf32>
  func.return %0 : tensor<?x512x9x9xf32>
}

// What stays: few channels, windows that mostly read data, a tap that makes NaN of padding, groups.
// CHECK-LABEL: func.func @others
// CHECK-NOT:     concat
func.func @others(%x: tensor<1x4x9x9xf32>, %y: tensor<1x512x9x9xf32>)
    -> (tensor<1x4x9x9xf32>, tensor<1x512x9x9xf32>, tensor<1x512x9x9xf32>, tensor<1x512x9x9xf32>) {
  %w = relex.constant dense<0.5> : tensor<4x4x3x3xf32>
  %v = relex.constant dense<0.5> : tensor<512x512x3x3xf32>
  %n = relex.constant dense<0x7F800000> : tensor<512x512x3x3xf32>
  %g = relex.constant dense<0.5> : tensor<512x256x3x3xf32>
  %0 = relex.conv2d %x, %w padding = [8] dilation = [8, 8] : (tensor<1x4x9x9xf32>, tensor<4x4x3x3xf32>) -> tensor<1x4x9x9xf32>
  %1 = relex.conv2d %y, %v padding = [1] : (tensor<1x512x9x9xf32>, tensor<512x512x3x3xf32>) -> tensor<1x512x9x9xf32>
  %2 = relex.conv2d %y, %n padding = [8] dilation = [8, 8] : (tensor<1x512x9x9xf32>, tensor<512x512x3x3xf32>) -> tensor<1x512x9x9xf32>
  %3 = relex.conv2d %y, %g padding = [8] dilation = [8, 8] groups = 2 : (tensor<1x512x9x9xf32>, tensor<512x256x3x3xf32>) -> tensor<1x512x9x9xf32>
  func.return %0, %1, %2, %3 : tensor<1x4x9x9xf32>, tensor<1x512x9x9xf32>, tensor<1x512x9x9xf32>, tensor<1x512x9x9xf32>
}
