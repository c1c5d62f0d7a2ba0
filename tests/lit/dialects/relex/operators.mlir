// RUN: RELEX_ROUNDTRIP
// RUN: RELEX_GENERIC_ROUNDTRIP
// RUN: xdsl-opt %s | filecheck %s

// Numbers have the type of the elements and are printed with it.
// CHECK-LABEL: func.func @elementwise
func.func @elementwise(%x: tensor<3x4xf32>, %y: tensor<4xf32>, %c: tensor<3x1xi1>, %n: tensor<?xi8>) {
  // CHECK-NEXT: %0 = relex.exp %x : (tensor<3x4xf32>) -> tensor<3x4xf32>
  %0 = relex.exp %x : (tensor<3x4xf32>) -> tensor<3x4xf32>
  // CHECK-NEXT: %1 = relex.power %x, %y : (tensor<3x4xf32>, tensor<4xf32>) -> tensor<3x4xf32>
  %1 = relex.power %x, %y : (tensor<3x4xf32>, tensor<4xf32>) -> tensor<3x4xf32>
  // CHECK-NEXT: %2 = relex.less_equal %x, %y : (tensor<3x4xf32>, tensor<4xf32>) -> tensor<3x4xi1>
  %2 = relex.less_equal %x, %y : (tensor<3x4xf32>, tensor<4xf32>) -> tensor<3x4xi1>
  // CHECK-NEXT: %3 = relex.where %c, %x, %y : (tensor<3x1xi1>, tensor<3x4xf32>, tensor<4xf32>) -> tensor<3x4xf32>
  %3 = relex.where %c, %x, %y : (tensor<3x1xi1>, tensor<3x4xf32>, tensor<4xf32>) -> tensor<3x4xf32>
  // CHECK-NEXT: %4 = relex.astype %x dtype = i8 {note} : (tensor<3x4xf32>) -> tensor<3x4xi8>
  %4 = relex.astype %x dtype = i8 {note} : (tensor<3x4xf32>) -> tensor<3x4xi8>
  // CHECK-NEXT: %5 = relex.clip %x min = 0.000000e+00 : f32 max = 6.000000e+00 : f32 : (tensor<3x4xf32>) -> tensor<3x4xf32>
  %5 = relex.clip %x min = 0.0 : f32 max = 6.0 : f32 : (tensor<3x4xf32>) -> tensor<3x4xf32>
  // CHECK-NEXT: %6 = relex.clip %n max = 6 : i8 : (tensor<?xi8>) -> tensor<?xi8>
  %6 = relex.clip %n max = 6 : i8 : (tensor<?xi8>) -> tensor<?xi8>
  // CHECK-NEXT: %7 = relex.clip %x min = 0xff800000 : f32 : (tensor<3x4xf32>) -> tensor<3x4xf32>
  %7 = relex.clip %x min = 0xFF800000 : f32 : (tensor<3x4xf32>) -> tensor<3x4xf32>
  func.return
}

// Without an axis all dimensions are reduced, with an empty list none.
// CHECK-LABEL: func.func @reductions
func.func @reductions(%x: tensor<3x4x?xf32>) {
  // CHECK-NEXT: %0 = relex.sum %x : (tensor<3x4x?xf32>) -> tensor<f32>
  %0 = relex.sum %x : (tensor<3x4x?xf32>) -> tensor<f32>
  // CHECK-NEXT: %1 = relex.mean %x axis = [1, -1] keepdims : (tensor<3x4x?xf32>) -> tensor<3x1x1xf32>
  %1 = relex.mean %x axis = [1, -1] keepdims : (tensor<3x4x?xf32>) -> tensor<3x1x1xf32>
  // CHECK-NEXT: %2 = relex.max %x axis = [] {note} : (tensor<3x4x?xf32>) -> tensor<3x4x?xf32>
  %2 = relex.max %x axis = [] {note} : (tensor<3x4x?xf32>) -> tensor<3x4x?xf32>
  // CHECK-NEXT: %3 = relex.min %x axis = [0] : (tensor<3x4x?xf32>) -> tensor<4x?xf32>
  %3 = relex.min %x axis = [0] : (tensor<3x4x?xf32>) -> tensor<4x?xf32>
  // CHECK-NEXT: %4 = relex.argmax %x axis = -1 : (tensor<3x4x?xf32>) -> tensor<3x4xi64>
  %4 = relex.argmax %x axis = -1 : (tensor<3x4x?xf32>) -> tensor<3x4xi64>
  // CHECK-NEXT: %5 = relex.argmax %x keepdims : (tensor<3x4x?xf32>) -> tensor<1x1x1xi64>
  %5 = relex.argmax %x keepdims : (tensor<3x4x?xf32>) -> tensor<1x1x1xi64>
  func.return
}

// What is given as by default is not printed.
// CHECK-LABEL: func.func @normalizations
func.func @normalizations(%x: tensor<2x3x4xf32>, %v: tensor<3xf32>, %w: tensor<4xf32>) {
  // CHECK-NEXT: %0 = relex.softmax %x : (tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
  %0 = relex.softmax %x axis = -1 : (tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
  // CHECK-NEXT: %1 = relex.log_softmax %x axis = 1 : (tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
  %1 = relex.log_softmax %x axis = 1 : (tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
  // CHECK-NEXT: %2 = relex.layer_norm %x, %w, %w epsilon = 1.000000e-03 : (tensor<2x3x4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<2x3x4xf32>
  %2 = relex.layer_norm %x, %w, %w epsilon = 0.001 : (tensor<2x3x4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<2x3x4xf32>
  // CHECK-NEXT: %3 = relex.layer_norm %x, %v, %v axes = [1] : (tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<2x3x4xf32>
  %3 = relex.layer_norm %x, %v, %v axes = [1] : (tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<2x3x4xf32>
  // CHECK-NEXT: %4 = relex.batch_norm %x, %v, %v, %v, %v : (tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<2x3x4xf32>
  %4 = relex.batch_norm %x, %v, %v, %v, %v axis = 1 epsilon = 1.0e-05
      : (tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<2x3x4xf32>
  func.return
}

// A size of -1 is what the operand leaves or has.
// CHECK-LABEL: func.func @shapes
func.func @shapes(%x: tensor<2x1x4xf32>, %d: tensor<?x4xf32>) {
  // CHECK-NEXT: %0 = relex.permute_dims %x axes = [2, 0, 1] : (tensor<2x1x4xf32>) -> tensor<4x2x1xf32>
  %0 = relex.permute_dims %x axes = [2, 0, 1] : (tensor<2x1x4xf32>) -> tensor<4x2x1xf32>
  // CHECK-NEXT: %1 = relex.permute_dims %x : (tensor<2x1x4xf32>) -> tensor<4x1x2xf32>
  %1 = relex.permute_dims %x : (tensor<2x1x4xf32>) -> tensor<4x1x2xf32>
  // CHECK-NEXT: %2 = relex.reshape %d shape = [-1, 2] : (tensor<?x4xf32>) -> tensor<?x2xf32>
  %2 = relex.reshape %d shape = [-1, 2] : (tensor<?x4xf32>) -> tensor<?x2xf32>
  // CHECK-NEXT: %3 = relex.expand_dims %d axis = [0, 3] : (tensor<?x4xf32>) -> tensor<1x?x4x1xf32>
  %3 = relex.expand_dims %d axis = [0, 3] : (tensor<?x4xf32>) -> tensor<1x?x4x1xf32>
  // CHECK-NEXT: %4 = relex.squeeze %x : (tensor<2x1x4xf32>) -> tensor<2x4xf32>
  %4 = relex.squeeze %x : (tensor<2x1x4xf32>) -> tensor<2x4xf32>
  // CHECK-NEXT: %5 = relex.squeeze %x axis = [1] : (tensor<2x1x4xf32>) -> tensor<2x4xf32>
  %5 = relex.squeeze %x axis = [1] : (tensor<2x1x4xf32>) -> tensor<2x4xf32>
  // CHECK-NEXT: %6 = relex.broadcast_to %x shape = [5, 2, 3, -1] : (tensor<2x1x4xf32>) -> tensor<5x2x3x4xf32>
  %6 = relex.broadcast_to %x shape = [5, 2, 3, -1] : (tensor<2x1x4xf32>) -> tensor<5x2x3x4xf32>
  func.return
}

// CHECK-LABEL: func.func @indexing
func.func @indexing(%x: tensor<2x4xf32>, %d: tensor<?x4xf32>, %i: tensor<3xi32>) {
  // CHECK-NEXT: %0 = relex.concat %x, %d, %x : (tensor<2x4xf32>, tensor<?x4xf32>, tensor<2x4xf32>) -> tensor<?x4xf32>
  %0 = relex.concat %x, %d, %x : (tensor<2x4xf32>, tensor<?x4xf32>, tensor<2x4xf32>) -> tensor<?x4xf32>
  // CHECK-NEXT: %1 = relex.concat %x axis = 1 : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %1 = relex.concat %x axis = 1 : (tensor<2x4xf32>) -> tensor<2x4xf32>
  // CHECK-NEXT: %2 = relex.strided_slice %d axes = [1] begin = [0] end = [3] : (tensor<?x4xf32>) -> tensor<?x3xf32>
  %2 = relex.strided_slice %d axes = [1] begin = [0] end = [3] : (tensor<?x4xf32>) -> tensor<?x3xf32>
  // CHECK-NEXT: %3 = relex.strided_slice %x axes = [1] begin = [-1] end = [-9] strides = [-2] : (tensor<2x4xf32>) -> tensor<2x2xf32>
  %3 = relex.strided_slice %x axes = [1] begin = [-1] end = [-9] strides = [-2] : (tensor<2x4xf32>) -> tensor<2x2xf32>
  // CHECK-NEXT: %4 = relex.take %x, %i axis = 1 : (tensor<2x4xf32>, tensor<3xi32>) -> tensor<2x3xf32>
  %4 = relex.take %x, %i axis = 1 : (tensor<2x4xf32>, tensor<3xi32>) -> tensor<2x3xf32>
  // CHECK-NEXT: %5 = relex.pad %x pad_width = [0, 0, 1, 2] pad_value = 0x7fc00000 : f32 : (tensor<2x4xf32>) -> tensor<2x7xf32>
  %5 = relex.pad %x pad_width = [0, 0, 1, 2] pad_value = 0x7FC00000 : f32 : (tensor<2x4xf32>) -> tensor<2x7xf32>
  func.return
}

// CHECK-LABEL: func.func @windows
func.func @windows(%x: tensor<1x4x8x8xf32>, %w: tensor<6x2x3x3xf32>) {
  // CHECK-NEXT: %0 = relex.conv2d %x, %w strides = [2, 2] padding = [1] dilation = [1, 2] groups = 2 : (tensor<1x4x8x8xf32>, tensor<6x2x3x3xf32>) -> tensor<1x6x4x3xf32>
  %0 = relex.conv2d %x, %w strides = [2, 2] padding = [1] dilation = [1, 2] groups = 2
      : (tensor<1x4x8x8xf32>, tensor<6x2x3x3xf32>) -> tensor<1x6x4x3xf32>
  // CHECK-NEXT: %1 = relex.max_pool2d %x pool_size = [2, 2] strides = [2, 2] : (tensor<1x4x8x8xf32>) -> tensor<1x4x4x4xf32>
  %1 = relex.max_pool2d %x pool_size = [2, 2] strides = [2, 2] : (tensor<1x4x8x8xf32>) -> tensor<1x4x4x4xf32>
  // CHECK-NEXT: %2 = relex.avg_pool2d %x pool_size = [3, 3] padding = [1, 0, 1, 0] count_include_pad : (tensor<1x4x8x8xf32>) -> tensor<1x4x8x6xf32>
  %2 = relex.avg_pool2d %x pool_size = [3, 3] padding = [1, 0, 1, 0] count_include_pad
      : (tensor<1x4x8x8xf32>) -> tensor<1x4x8x6xf32>
  func.return
}

// Several results, texts, and windows over one and three dimensions.
// CHECK-LABEL: func.func @others
func.func @others(%x: tensor<1x2x?xf32>, %v: tensor<1x4x2x3x3xf32>, %w: tensor<4x1x2x1x1xf32>, %i: tensor<1x2x3xi64>, %u: tensor<1x2x3xf32>) {
  // CHECK-NEXT: %0, %1 = relex.max_pool1d_with_indices %x pool_size = [2] ceil_mode : (tensor<1x2x?xf32>) -> (tensor<1x2x?xf32>, tensor<1x2x?xi64>)
  %0, %1 = relex.max_pool1d_with_indices %x pool_size = [2] strides = [1] ceil_mode : (tensor<1x2x?xf32>) -> (tensor<1x2x?xf32>, tensor<1x2x?xi64>)
  // CHECK-NEXT: %2 = relex.conv3d_transpose %v, %w strides = [2, 1, 1] groups = 2 output_padding = [1, 0, 0] : (tensor<1x4x2x3x3xf32>, tensor<4x1x2x1x1xf32>) -> tensor<1x2x5x3x3xf32>
  %2 = relex.conv3d_transpose %v, %w strides = [2, 1, 1] padding = [0, 0, 0] groups = 2 output_padding = [1, 0, 0] : (tensor<1x4x2x3x3xf32>, tensor<4x1x2x1x1xf32>) -> tensor<1x2x5x3x3xf32>
  // CHECK-NEXT: %3 = relex.scatter_elements %x, %i, %u reduction = "max" axis = -1 : (tensor<1x2x?xf32>, tensor<1x2x3xi64>, tensor<1x2x3xf32>) -> tensor<1x2x?xf32>
  %3 = relex.scatter_elements %x, %i, %u reduction = "max" axis = -1 : (tensor<1x2x?xf32>, tensor<1x2x3xi64>, tensor<1x2x3xf32>) -> tensor<1x2x?xf32>
  // CHECK-NEXT: %4 = relex.scatter_elements %u, %i, %u axis = 2 : (tensor<1x2x3xf32>, tensor<1x2x3xi64>, tensor<1x2x3xf32>) -> tensor<1x2x3xf32>
  %4 = relex.scatter_elements %u, %i, %u reduction = "update" axis = 2 : (tensor<1x2x3xf32>, tensor<1x2x3xi64>, tensor<1x2x3xf32>) -> tensor<1x2x3xf32>
  // CHECK-NEXT: %5 = relex.argsort %x descending : (tensor<1x2x?xf32>) -> tensor<1x2x?xi64>
  %5 = relex.argsort %x axis = -1 descending : (tensor<1x2x?xf32>) -> tensor<1x2x?xi64>
  // CHECK-NEXT: %6 = relex.cumsum %x axis = 1 exclusive reverse : (tensor<1x2x?xf32>) -> tensor<1x2x?xf32>
  %6 = relex.cumsum %x axis = 1 exclusive reverse : (tensor<1x2x?xf32>) -> tensor<1x2x?xf32>
  // CHECK-NEXT: %7 = relex.bitcast %u dtype = i32 : (tensor<1x2x3xf32>) -> tensor<1x2x3xi32>
  %7 = relex.bitcast %u dtype = i32 : (tensor<1x2x3xf32>) -> tensor<1x2x3xi32>
  func.return
}
