// RUN: relex-opt %s -p cancel-transposes | filecheck %s
// RUN: relex-opt %s -p cancel-transposes,cancel-transposes | filecheck %s
// RUN: relex-opt %s -p cancel-transposes{strict=true} | filecheck %s --check-prefix=STRICT
// RUN: relex-opt %s -p cancel-transposes --check-each -o /dev/null

// Two branches meet between the transposes; the constant of channels gets their new place.
// CHECK-LABEL: func.func @branches
// CHECK-NEXT:    [[B:%.+]] = relex.constant dense<{{\[\[\[\[}}1.0]], {{\[\[}}2.0]], {{\[\[}}3.0]]]]> : tensor<1x3x1x1xf32>
// CHECK-NEXT:    [[X:%.+]] = relex.add %x, [[B]] : (tensor<?x3x4x4xf32>, tensor<1x3x1x1xf32>) -> tensor<?x3x4x4xf32>
// CHECK-NEXT:    [[Y:%.+]] = relex.relu %y
// CHECK-NEXT:    [[Z:%.+]] = relex.concat [[X]], [[Y]] axis = 1
// CHECK-NEXT:    func.return [[Z]] : tensor<?x6x4x4xf32>
func.func @branches(%x: tensor<?x3x4x4xf32> {relex.dims = ["n", "", "", ""]}, %y: tensor<?x3x4x4xf32> {relex.dims = ["n", "", "", ""]}) -> tensor<?x6x4x4xf32> {
  %b = relex.constant dense<[1.0, 2.0, 3.0]> : tensor<3xf32>
  %0 = relex.permute_dims %x axes = [0, 2, 3, 1] : (tensor<?x3x4x4xf32>) -> tensor<?x4x4x3xf32>
  %1 = relex.permute_dims %y axes = [0, 2, 3, 1] : (tensor<?x3x4x4xf32>) -> tensor<?x4x4x3xf32>
  %2 = relex.add %0, %b : (tensor<?x4x4x3xf32>, tensor<3xf32>) -> tensor<?x4x4x3xf32>
  %3 = relex.relu %1 : (tensor<?x4x4x3xf32>) -> tensor<?x4x4x3xf32>
  %4 = relex.concat %2, %3 axis = 3 : (tensor<?x4x4x3xf32>, tensor<?x4x4x3xf32>) -> tensor<?x4x4x6xf32>
  %5 = relex.permute_dims %4 axes = [0, 3, 1, 2] : (tensor<?x4x4x6xf32>) -> tensor<?x6x4x4xf32>
  func.return %5 : tensor<?x6x4x4xf32>
}

// One that nothing cancels stays where it is, as does one with other users.
// CHECK-LABEL: func.func @others
// CHECK-NEXT:    [[A:%.+]] = relex.permute_dims %x
// CHECK-NEXT:    [[B:%.+]] = relex.relu [[A]]
// CHECK-NEXT:    [[C:%.+]] = relex.negative %x
// CHECK-NEXT:    func.return [[A]], [[B]], [[C]]
func.func @others(%x: tensor<2x3xf32>) -> (tensor<3x2xf32>, tensor<3x2xf32>, tensor<2x3xf32>) {
  %0 = relex.permute_dims %x : (tensor<2x3xf32>) -> tensor<3x2xf32>
  %1 = relex.relu %0 : (tensor<3x2xf32>) -> tensor<3x2xf32>
  %2 = relex.negative %0 : (tensor<3x2xf32>) -> tensor<3x2xf32>
  %3 = relex.permute_dims %2 : (tensor<3x2xf32>) -> tensor<2x3xf32>
  func.return %0, %1, %3 : tensor<3x2xf32>, tensor<3x2xf32>, tensor<2x3xf32>
}

// A transposed weight.
// CHECK-LABEL: func.func @weight
// CHECK-NEXT:    relex.matmul %x, %w : (tensor<?x4xf32>, tensor<4x3xf32>) -> tensor<?x3xf32>
func.func @weight(%x: tensor<?x4xf32>, %w: tensor<4x3xf32>) -> tensor<?x3xf32> {
  %0 = relex.permute_dims %w : (tensor<4x3xf32>) -> tensor<3x4xf32>
  %1 = relex.dense %x, %0 : (tensor<?x4xf32>, tensor<3x4xf32>) -> tensor<?x3xf32>
  func.return %1 : tensor<?x3xf32>
}

// The columns of the weight change places, unless sums must keep their order.
// CHECK-LABEL: func.func @flat
// CHECK-NEXT:    [[W:%.+]] = relex.constant dense<{{\[\[}}1.0, 3.0, 2.0, 4.0]]> : tensor<1x4xf32>
// CHECK-NEXT:    [[X:%.+]] = relex.reshape %x shape = [-1, 4] : (tensor<?x2x2x1xf32>) -> tensor<?x4xf32>
// CHECK-NEXT:    relex.dense [[X]], [[W]] : (tensor<?x4xf32>, tensor<1x4xf32>) -> tensor<?x1xf32>
// STRICT-LABEL: func.func @flat
// STRICT:         relex.permute_dims
func.func @flat(%x: tensor<?x2x2x1xf32>) -> tensor<?x1xf32> {
  %w = relex.constant dense<[[1.0, 2.0, 3.0, 4.0]]> : tensor<1x4xf32>
  %0 = relex.permute_dims %x axes = [0, 2, 3, 1] : (tensor<?x2x2x1xf32>) -> tensor<?x2x1x2xf32>
  %1 = relex.reshape %0 shape = [-1, 4] : (tensor<?x2x1x2xf32>) -> tensor<?x4xf32>
  %2 = relex.dense %1, %w : (tensor<?x4xf32>, tensor<1x4xf32>) -> tensor<?x1xf32>
  func.return %2 : tensor<?x1xf32>
}
