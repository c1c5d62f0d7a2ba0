// RUN: relex-opt %s -p fold-batch-norm | filecheck %s
// RUN: relex-opt %s -p fold-batch-norm,fold-batch-norm | filecheck %s
// RUN: relex-opt %s -p fold-batch-norm --check-each -o /dev/null

// The bias between the two becomes part of what is added.
// CHECK-LABEL: func.func @convolution
// CHECK-NEXT:    [[W:%.+]] = relex.constant dense<{{\[\[\[\[}}2.0, 4.0]]], {{\[\[\[}}1.5, 2.0]]]]> : tensor<2x1x1x2xf32>
// CHECK-NEXT:    [[Y:%.+]] = relex.conv2d %x, [[W]] strides = [1, 2] : (tensor<?x1x4x4xf32>, tensor<2x1x1x2xf32>) -> tensor<?x2x4x2xf32>
// CHECK-NEXT:    [[B:%.+]] = relex.constant dense<{{\[\[\[}}-4.0]], {{\[\[}}0.5]]]> : tensor<2x1x1xf32>
// CHECK-NEXT:    [[Z:%.+]] = relex.add [[Y]], [[B]] : (tensor<?x2x4x2xf32>, tensor<2x1x1xf32>) -> tensor<?x2x4x2xf32>
// CHECK-NEXT:    func.return [[Z]]
func.func @convolution(%x: tensor<?x1x4x4xf32>) -> tensor<?x2x4x2xf32> {
  %w = relex.constant dense<[[[[1.0, 2.0]]], [[[3.0, 4.0]]]]> : tensor<2x1x1x2xf32>
  %b = relex.constant dense<[[[1.0]], [[1.0]]]> : tensor<2x1x1xf32>
  %gamma = relex.constant dense<[4.0, 0.25]> : tensor<2xf32>
  %beta = relex.constant dense<[0.0, 1.0]> : tensor<2xf32>
  %mean = relex.constant dense<[3.0, 2.0]> : tensor<2xf32>
  %variance = relex.constant dense<[4.0, 0.25]> : tensor<2xf32>
  %0 = relex.conv2d %x, %w strides = [1, 2] : (tensor<?x1x4x4xf32>, tensor<2x1x1x2xf32>) -> tensor<?x2x4x2xf32>
  %1 = relex.add %b, %0 : (tensor<2x1x1xf32>, tensor<?x2x4x2xf32>) -> tensor<?x2x4x2xf32>
  %2 = relex.batch_norm %1, %gamma, %beta, %mean, %variance epsilon = 0.0
      : (tensor<?x2x4x2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<?x2x4x2xf32>
  func.return %2 : tensor<?x2x4x2xf32>
}

// A layer with another user stays, as do parameters that are no constants, and a variance of 0.
// CHECK-LABEL: func.func @others
// CHECK-COUNT-3: relex.batch_norm
// CHECK-NOT:     relex.add
func.func @others(%x: tensor<1x2xf32>, %v: tensor<2xf32>) -> (tensor<1x2xf32>, tensor<1x2xf32>, tensor<1x2xf32>, tensor<1x2xf32>) {
  %w = relex.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>
  %one = relex.constant dense<1.0> : tensor<2xf32>
  %zero = relex.constant dense<0.0> : tensor<2xf32>
  %0 = relex.dense %x, %w : (tensor<1x2xf32>, tensor<2x2xf32>) -> tensor<1x2xf32>
  %1 = relex.batch_norm %0, %one, %one, %one, %one : (tensor<1x2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<1x2xf32>
  %2 = relex.dense %1, %w : (tensor<1x2xf32>, tensor<2x2xf32>) -> tensor<1x2xf32>
  %3 = relex.batch_norm %2, %v, %one, %one, %one : (tensor<1x2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<1x2xf32>
  %4 = relex.dense %3, %w : (tensor<1x2xf32>, tensor<2x2xf32>) -> tensor<1x2xf32>
  %5 = relex.batch_norm %4, %one, %one, %one, %zero epsilon = 0.0 : (tensor<1x2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<1x2xf32>
  func.return %0, %1, %3, %5 : tensor<1x2xf32>, tensor<1x2xf32>, tensor<1x2xf32>, tensor<1x2xf32>
}

// A bias that differs within a channel stays where it is.
// CHECK-LABEL: func.func @bias_of_positions
// CHECK:         relex.batch_norm
func.func @bias_of_positions(%x: tensor<1x1x1x2xf32>) -> tensor<1x1x1x2xf32> {
  %w = relex.constant dense<2.0> : tensor<1x1x1x1xf32>
  %b = relex.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %one = relex.constant dense<1.0> : tensor<1xf32>
  %0 = relex.conv2d %x, %w : (tensor<1x1x1x2xf32>, tensor<1x1x1x1xf32>) -> tensor<1x1x1x2xf32>
  %1 = relex.add %0, %b : (tensor<1x1x1x2xf32>, tensor<2xf32>) -> tensor<1x1x1x2xf32>
  %2 = relex.batch_norm %1, %one, %one, %one, %one : (tensor<1x1x1x2xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<1x1x1x2xf32>
  func.return %2 : tensor<1x1x1x2xf32>
}

// A factor and an addend of each channel after the normalization are folded with it.
// CHECK-LABEL: func.func @scaled
// CHECK:         [[Y:%.+]] = relex.matmul %x
// CHECK-NEXT:    [[B:%.+]] = relex.constant dense<[-8.0, -1.0]> : tensor<2xf32>
// CHECK-NEXT:    [[Z:%.+]] = relex.add [[Y]], [[B]]
// CHECK-NEXT:    func.return [[Z]]
func.func @scaled(%x: tensor<?x2xf32>) -> tensor<?x2xf32> {
  %w = relex.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>
  %gamma = relex.constant dense<[2.0, 0.5]> : tensor<2xf32>
  %beta = relex.constant dense<[0.0, 1.0]> : tensor<2xf32>
  %mean = relex.constant dense<[3.0, 2.0]> : tensor<2xf32>
  %variance = relex.constant dense<[4.0, 0.25]> : tensor<2xf32>
  %factor = relex.constant dense<[3.0, 2.0]> : tensor<2xf32>
  %addend = relex.constant dense<1.0> : tensor<f32>
  %0 = relex.matmul %x, %w : (tensor<?x2xf32>, tensor<2x2xf32>) -> tensor<?x2xf32>
  %1 = relex.batch_norm %0, %gamma, %beta, %mean, %variance epsilon = 0.0
      : (tensor<?x2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<?x2xf32>
  %2 = relex.multiply %factor, %1 : (tensor<2xf32>, tensor<?x2xf32>) -> tensor<?x2xf32>
  %3 = relex.add %2, %addend : (tensor<?x2xf32>, tensor<f32>) -> tensor<?x2xf32>
  func.return %3 : tensor<?x2xf32>
}

// Without a layer, they become part of the normalization.
// CHECK-LABEL: func.func @without_layer
// CHECK-DAG:     [[G:%.+]] = relex.constant dense<[6.0, 4.0]> : tensor<2xf32>
// CHECK-DAG:     [[B:%.+]] = relex.constant dense<[7.0, 5.0]> : tensor<2xf32>
// CHECK:         [[Y:%.+]] = relex.batch_norm %x, [[G]], [[B]], %mean, %variance
// CHECK-NEXT:    func.return [[Y]]
func.func @without_layer(%x: tensor<?x2xf32>, %mean: tensor<2xf32>, %variance: tensor<2xf32>) -> tensor<?x2xf32> {
  %one = relex.constant dense<[2.0, 2.0]> : tensor<2xf32>
  %factor = relex.constant dense<[3.0, 2.0]> : tensor<2xf32>
  %addend = relex.constant dense<1.0> : tensor<1xf32>
  %1 = relex.batch_norm %x, %one, %one, %mean, %variance
      : (tensor<?x2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<?x2xf32>
  %2 = relex.multiply %1, %factor : (tensor<?x2xf32>, tensor<2xf32>) -> tensor<?x2xf32>
  %3 = relex.add %2, %addend : (tensor<?x2xf32>, tensor<1xf32>) -> tensor<?x2xf32>
  func.return %3 : tensor<?x2xf32>
}
