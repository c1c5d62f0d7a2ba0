// RUN: relex-opt %s -p "set-target{triple=x86_64-unknown-linux-gnu cpu=skylake-avx512 features=+avx512f},block-channels" | filecheck %s
// RUN: relex-opt %s -p "set-target{triple=x86_64-unknown-linux-gnu cpu=skylake-avx512 features=+avx512f},block-channels,block-channels" | filecheck %s
// RUN: relex-opt %s -p "set-target{triple=x86_64-unknown-linux-gnu cpu=haswell features=+avx2},block-channels" | filecheck %s --check-prefix=AVX2
// RUN: env RELEX_OPT_FLAGS= relex-opt %s -p "set-target{triple=x86_64-unknown-linux-gnu cpu=haswell features=+avx2},block-channels" --check-each -o /dev/null
// RUN: relex-opt %s -p block-channels | filecheck %s --check-prefix=NONE

// NONE-NOT: blocked

// Blocks of two vectors; elementwise operators and pools follow, and a mean leaves the channels in order.
// CHECK-LABEL: func.func @chain
// CHECK:         [[Y:%.+]] = relex.conv2d_blocked %x, {{.*}} padding = [1] : (tensor<1x3x8x8xf32>, tensor<2x3x3x3x1x32xf32>) -> tensor<1x2x8x8x32xf32>
// CHECK-NEXT:    [[B:%.+]] = relex.constant dense<1.0> : tensor<1x2x1x1x32xf32>
// CHECK-NEXT:    [[Z:%.+]] = relex.add [[Y]], [[B]]
// CHECK-NEXT:    [[P:%.+]] = relex.max_pool3d [[Z]] pool_size = [2, 2, 1] strides = [2, 2, 1] {{.*}} -> tensor<1x2x4x4x32xf32>
// CHECK:         [[V:%.+]] = relex.conv2d_blocked [[P]], {{.*}} strides = [2, 2] : (tensor<1x2x4x4x32xf32>, tensor<3x2x1x1x32x16xf32>) -> tensor<1x3x2x2x16xf32>
// CHECK:         [[A:%.+]] = relex.avg_pool3d [[V]] pool_size = [2, 2, 1]
// CHECK-NEXT:    [[M:%.+]] = relex.mean [[A]] axis = [2, 3] : (tensor<1x3x1x1x16xf32>) -> tensor<1x3x16xf32>
// CHECK-NEXT:    [[R:%.+]] = relex.reshape [[M]] shape = [1, 48] : (tensor<1x3x16xf32>) -> tensor<1x48xf32>
// CHECK-NEXT:    func.return [[R]]
// AVX2-LABEL: func.func @chain
// AVX2:         relex.conv2d_blocked {{.*}} -> tensor<1x4x8x8x16xf32>
// AVX2:         relex.conv2d_blocked {{.*}} -> tensor<1x3x2x2x16xf32>
func.func @chain(%x: tensor<1x3x8x8xf32>) -> tensor<1x48xf32> {
  %w = relex.constant dense<0.5> : tensor<64x3x3x3xf32>
  %b = relex.constant dense<1.0> : tensor<64x1x1xf32>
  %v = relex.constant dense<0.25> : tensor<48x64x1x1xf32>
  %0 = relex.conv2d %x, %w padding = [1] : (tensor<1x3x8x8xf32>, tensor<64x3x3x3xf32>) -> tensor<1x64x8x8xf32>
  %1 = relex.add %0, %b : (tensor<1x64x8x8xf32>, tensor<64x1x1xf32>) -> tensor<1x64x8x8xf32>
  %2 = relex.max_pool2d %1 pool_size = [2, 2] strides = [2, 2] : (tensor<1x64x8x8xf32>) -> tensor<1x64x4x4xf32>
  %3 = relex.conv2d %2, %v strides = [2, 2] : (tensor<1x64x4x4xf32>, tensor<48x64x1x1xf32>) -> tensor<1x48x2x2xf32>
  %4 = relex.avg_pool2d %3 pool_size = [2, 2] : (tensor<1x48x2x2xf32>) -> tensor<1x48x1x1xf32>
  %5 = relex.mean %4 axis = [2, 3] : (tensor<1x48x1x1xf32>) -> tensor<1x48xf32>
  func.return %5 : tensor<1x48xf32>
}

// Values that an op combines have blocks of the same size. What others use is brought into the usual order, once.
// CHECK-LABEL: func.func @meeting
// CHECK:         [[A:%.+]] = relex.conv2d_blocked {{.*}} -> tensor<1x2x4x4x16xf32>
// CHECK:         [[B:%.+]] = relex.conv2d_blocked {{.*}} -> tensor<1x1x4x4x16xf32>
// CHECK-NEXT:    [[C:%.+]] = relex.concat [[A]], [[B]] axis = 1 : (tensor<1x2x4x4x16xf32>, tensor<1x1x4x4x16xf32>) -> tensor<1x3x4x4x16xf32>
// CHECK-NEXT:    [[M:%.+]] = relex.permute_dims [[C]] axes = [0, 1, 4, 2, 3] : (tensor<1x3x4x4x16xf32>) -> tensor<1x3x16x4x4xf32>
// CHECK-NEXT:    [[R:%.+]] = relex.reshape [[M]] shape = [1, 48, 4, 4] : (tensor<1x3x16x4x4xf32>) -> tensor<1x48x4x4xf32>
// CHECK-NEXT:    [[P:%.+]] = relex.max_pool3d [[C]]
// CHECK:         [[G:%.+]] = relex.conv2d [[R]], {{.*}} groups = 24
// CHECK:         func.return [[R]], {{.*}}, [[G]]
func.func @meeting(%x: tensor<1x4x4x4xf32>)
    -> (tensor<1x48x4x4xf32>, tensor<1x48x2x2xf32>, tensor<1x48x4x4xf32>) {
  %w = relex.constant dense<0.5> : tensor<32x4x1x1xf32>
  %v = relex.constant dense<0.25> : tensor<16x4x1x1xf32>
  %u = relex.constant dense<2.0> : tensor<48x2x1x1xf32>
  %0 = relex.conv2d %x, %w : (tensor<1x4x4x4xf32>, tensor<32x4x1x1xf32>) -> tensor<1x32x4x4xf32>
  %1 = relex.conv2d %x, %v : (tensor<1x4x4x4xf32>, tensor<16x4x1x1xf32>) -> tensor<1x16x4x4xf32>
  %2 = relex.concat %0, %1 axis = 1 : (tensor<1x32x4x4xf32>, tensor<1x16x4x4xf32>) -> tensor<1x48x4x4xf32>
  %3 = relex.max_pool2d %2 pool_size = [2, 2] strides = [2, 2] : (tensor<1x48x4x4xf32>) -> tensor<1x48x2x2xf32>
  %4 = relex.conv2d %2, %u groups = 24 : (tensor<1x48x4x4xf32>, tensor<48x2x1x1xf32>) -> tensor<1x48x4x4xf32>
  func.return %2, %3, %4 : tensor<1x48x4x4xf32>, tensor<1x48x2x2xf32>, tensor<1x48x4x4xf32>
}

// Neither a convolution that only elementwise operators follow, nor channels that fill no vectors, nor weights from
// outside.
// CHECK-LABEL: func.func @others
// CHECK-NOT:     blocked
func.func @others(%x: tensor<1x4x4x4xf32>, %w: tensor<32x4x1x1xf32>)
    -> (tensor<1x32x4x4xf32>, tensor<1x9x1x1xf32>, tensor<1x32x1x1xf32>) {
  %v = relex.constant dense<0.5> : tensor<32x4x1x1xf32>
  %u = relex.constant dense<0.25> : tensor<9x4x1x1xf32>
  %0 = relex.conv2d %x, %v : (tensor<1x4x4x4xf32>, tensor<32x4x1x1xf32>) -> tensor<1x32x4x4xf32>
  %1 = relex.relu %0 : (tensor<1x32x4x4xf32>) -> tensor<1x32x4x4xf32>
  %2 = relex.conv2d %x, %u : (tensor<1x4x4x4xf32>, tensor<9x4x1x1xf32>) -> tensor<1x9x4x4xf32>
  %3 = relex.max_pool2d %2 pool_size = [4, 4] : (tensor<1x9x4x4xf32>) -> tensor<1x9x1x1xf32>
  %4 = relex.conv2d %x, %w : (tensor<1x4x4x4xf32>, tensor<32x4x1x1xf32>) -> tensor<1x32x4x4xf32>
  %5 = relex.max_pool2d %4 pool_size = [4, 4] : (tensor<1x32x4x4xf32>) -> tensor<1x32x1x1xf32>
  func.return %1, %3, %5 : tensor<1x32x4x4xf32>, tensor<1x9x1x1xf32>, tensor<1x32x1x1xf32>
}

// Zeros fill a block. Only the channels that there are in it are read, in parts whose size divides theirs and the block.
// CHECK-LABEL: func.func @filled
// CHECK:         [[F:%.+]] = relex.conv2d_blocked %x, {{.*}} : (tensor<1x4x4x4xf32>, tensor<1x4x1x1x1x32xf32>) -> tensor<1x1x4x4x32xf32>
// CHECK:         [[D:%.+]] = relex.conv2d_blocked [[F]], {{.*}} depthwise : (tensor<1x1x4x4x32xf32>, tensor<1x1x1x1x1x32xf32>) -> tensor<1x1x4x4x32xf32>
// CHECK:         relex.conv2d_blocked [[D]], {{.*}} : (tensor<1x1x4x4x32xf32>, tensor<1x3x1x1x8x32xf32>) -> tensor<1x1x4x4x32xf32>
// AVX2-LABEL: func.func @filled
// AVX2:         [[F:%.+]] = relex.conv2d_blocked %x, {{.*}} -> tensor<1x3x4x4x8xf32>
// AVX2:         relex.conv2d_blocked {{.*}} : (tensor<1x3x4x4x8xf32>, tensor<2x3x1x1x8x16xf32>) -> tensor<1x2x4x4x16xf32>
func.func @filled(%x: tensor<1x4x4x4xf32>) -> tensor<1x32x2x2xf32> {
  %w = relex.constant dense<0.5> : tensor<24x4x1x1xf32>
  %u = relex.constant dense<0.25> : tensor<24x1x1x1xf32>
  %v = relex.constant dense<0.125> : tensor<32x24x1x1xf32>
  %0 = relex.conv2d %x, %w : (tensor<1x4x4x4xf32>, tensor<24x4x1x1xf32>) -> tensor<1x24x4x4xf32>
  %1 = relex.conv2d %0, %u groups = 24 : (tensor<1x24x4x4xf32>, tensor<24x1x1x1xf32>) -> tensor<1x24x4x4xf32>
  %2 = relex.conv2d %1, %v : (tensor<1x24x4x4xf32>, tensor<32x24x1x1xf32>) -> tensor<1x32x4x4xf32>
  %3 = relex.max_pool2d %2 pool_size = [2, 2] strides = [2, 2] : (tensor<1x32x4x4xf32>) -> tensor<1x32x2x2xf32>
  func.return %3 : tensor<1x32x2x2xf32>
}

// Data with short rows is brought into blocks for a convolution of each channel; longer rows fill vectors.
// CHECK-LABEL: func.func @short_rows
// CHECK:         [[R:%.+]] = relex.reshape %x shape = [1, 2, 32, 5, 5]
// CHECK-NEXT:    [[B:%.+]] = relex.permute_dims [[R]] axes = [0, 1, 3, 4, 2]
// CHECK-NEXT:    relex.constant
// CHECK-NEXT:    relex.conv2d_blocked [[B]], {{.*}} depthwise
// CHECK:         relex.conv2d %y, {{.*}} groups = 64
func.func @short_rows(%x: tensor<1x64x5x5xf32>, %y: tensor<1x64x2x34xf32>) -> (tensor<1x64xf32>, tensor<1x64xf32>) {
  %w = relex.constant dense<0.5> : tensor<64x1x3x3xf32>
  %0 = relex.conv2d %x, %w padding = [1, 1] groups = 64 : (tensor<1x64x5x5xf32>, tensor<64x1x3x3xf32>) -> tensor<1x64x5x5xf32>
  %1 = relex.conv2d %y, %w padding = [1, 1] groups = 64 : (tensor<1x64x2x34xf32>, tensor<64x1x3x3xf32>) -> tensor<1x64x2x34xf32>
  %2 = relex.mean %0 axis = [2, 3] : (tensor<1x64x5x5xf32>) -> tensor<1x64xf32>
  %3 = relex.mean %1 axis = [2, 3] : (tensor<1x64x2x34xf32>) -> tensor<1x64xf32>
  func.return %2, %3 : tensor<1x64xf32>, tensor<1x64xf32>
}

// Channels with several results each are repeated.
// CHECK-LABEL: func.func @two_of_each
// CHECK:         [[A:%.+]] = relex.reshape %x shape = [1, 16, 1, 5, 5]
// CHECK-NEXT:    [[R:%.+]] = relex.broadcast_to [[A]] shape = [1, 16, 2, 5, 5]
// CHECK-NEXT:    relex.reshape [[R]] shape = [1, 32, 5, 5]
// CHECK:         relex.conv2d_blocked {{.*}} depthwise : (tensor<1x1x5x5x32xf32>, tensor<1x1x3x3x1x32xf32>) -> tensor<1x1x5x5x32xf32>
func.func @two_of_each(%x: tensor<1x16x5x5xf32>) -> tensor<1x32xf32> {
  %w = relex.constant dense<0.5> : tensor<32x1x3x3xf32>
  %0 = relex.conv2d %x, %w padding = [1] groups = 16 : (tensor<1x16x5x5xf32>, tensor<32x1x3x3xf32>) -> tensor<1x32x5x5xf32>
  %1 = relex.mean %0 axis = [2, 3] : (tensor<1x32x5x5xf32>) -> tensor<1x32xf32>
  func.return %1 : tensor<1x32xf32>
}

// The number of images may be dynamic: into blocks, in blocks and in the usual order again.
// CHECK-LABEL: func.func @open_batch
// CHECK:         [[R:%.+]] = relex.reshape %x shape = [-1, 2, 32, 5, 5] : (tensor<?x64x5x5xf32>) -> tensor<?x2x32x5x5xf32>
// CHECK-NEXT:    [[B:%.+]] = relex.permute_dims [[R]] axes = [0, 1, 3, 4, 2]
// CHECK:         [[D:%.+]] = relex.conv2d_blocked [[B]], {{.*}} depthwise : {{.*}} -> tensor<?x2x5x5x32xf32>
// CHECK-NEXT:    [[S:%.+]] = relex.sigmoid [[D]] : (tensor<?x2x5x5x32xf32>) -> tensor<?x2x5x5x32xf32>
// CHECK-NEXT:    [[P:%.+]] = relex.permute_dims [[S]] axes = [0, 1, 4, 2, 3]
// CHECK-NEXT:    [[U:%.+]] = relex.reshape [[P]] shape = [-1, 64, 5, 5] : (tensor<?x2x32x5x5xf32>) -> tensor<?x64x5x5xf32>
// CHECK-NEXT:    [[M:%.+]] = relex.mean [[S]] axis = [2, 3] : (tensor<?x2x5x5x32xf32>) -> tensor<?x2x32xf32>
// CHECK-NEXT:    [[F:%.+]] = relex.reshape [[M]] shape = [-1, 64]
// CHECK-NEXT:    [[K:%.+]] = relex.reshape [[F]] shape = [-1, 64, 1, 1] : (tensor<?x64xf32>) -> tensor<?x64x1x1xf32>
// CHECK-NEXT:    func.return [[U]], [[K]]
func.func @open_batch(%x: tensor<?x64x5x5xf32>) -> (tensor<?x64x5x5xf32>, tensor<?x64x1x1xf32>) {
  %w = relex.constant dense<0.5> : tensor<64x1x3x3xf32>
  %0 = relex.conv2d %x, %w padding = [1] groups = 64 : (tensor<?x64x5x5xf32>, tensor<64x1x3x3xf32>) -> tensor<?x64x5x5xf32>
  %1 = relex.sigmoid %0 : (tensor<?x64x5x5xf32>) -> tensor<?x64x5x5xf32>
  %2 = relex.mean %1 axis = [2, 3] keepdims : (tensor<?x64x5x5xf32>) -> tensor<?x64x1x1xf32>
  func.return %1, %2 : tensor<?x64x5x5xf32>, tensor<?x64x1x1xf32>
}

// So may be their height and width.
// CHECK-LABEL: func.func @open_sizes
// CHECK:         [[B:%.+]] = relex.conv2d_blocked %x, {{.*}} -> tensor<?x1x?x?x32xf32>
// CHECK-NEXT:    [[M:%.+]] = relex.max_pool3d [[B]] pool_size = [2, 2, 1] {{.*}} -> tensor<?x1x?x?x32xf32>
// CHECK-NEXT:    [[P:%.+]] = relex.permute_dims [[M]] axes = [0, 1, 4, 2, 3]
// CHECK-NEXT:    [[U:%.+]] = relex.reshape [[P]] shape = [-1, 32, -1, -1] sizes = ["d0", "d3", "d4"]
// CHECK-NEXT:    func.return [[U]]
func.func @open_sizes(%x: tensor<?x4x?x?xf32>) -> tensor<?x32x?x?xf32> {
  %w = relex.constant dense<0.5> : tensor<32x4x1x1xf32>
  %0 = relex.conv2d %x, %w : (tensor<?x4x?x?xf32>, tensor<32x4x1x1xf32>) -> tensor<?x32x?x?xf32>
  %1 = relex.max_pool2d %0 pool_size = [2, 2] : (tensor<?x32x?x?xf32>) -> tensor<?x32x?x?xf32>
  func.return %1 : tensor<?x32x?x?xf32>
}

// What is joined with channels in blocks is brought into such for the convolution of both, not if it ends within one.
// CHECK-LABEL: func.func @joined
// CHECK:         [[A:%.+]] = relex.max_pool3d {{.*}} -> tensor<1x1x4x4x16xf32>
// CHECK:         [[R:%.+]] = relex.reshape %u shape = [1, 2, 16, 4, 4]
// CHECK-NEXT:    [[B:%.+]] = relex.permute_dims [[R]] axes = [0, 1, 3, 4, 2]
// CHECK-NEXT:    [[C:%.+]] = relex.concat [[A]], [[B]] axis = 1 {{.*}} -> tensor<1x3x4x4x16xf32>
// CHECK:         relex.conv2d_blocked [[C]], {{.*}} -> tensor<1x1x4x4x16xf32>
// CHECK:         [[D:%.+]] = relex.concat {{.*}}, %v axis = 1 {{.*}} -> tensor<1x40x4x4xf32>
// CHECK:         relex.conv2d_blocked [[D]], {{.*}} -> tensor<1x1x4x4x16xf32>
func.func @joined(%x: tensor<1x4x4x4xf32>, %u: tensor<1x32x4x4xf32>, %v: tensor<1x24x4x4xf32>)
    -> (tensor<1x16x2x2xf32>, tensor<1x16x2x2xf32>) {
  %w0 = relex.constant dense<0.5> : tensor<16x4x1x1xf32>
  %w1 = relex.constant dense<0.25> : tensor<16x48x1x1xf32>
  %w2 = relex.constant dense<0.125> : tensor<16x40x1x1xf32>
  %0 = relex.conv2d %x, %w0 : (tensor<1x4x4x4xf32>, tensor<16x4x1x1xf32>) -> tensor<1x16x4x4xf32>
  %1 = relex.max_pool2d %0 pool_size = [1, 1] : (tensor<1x16x4x4xf32>) -> tensor<1x16x4x4xf32>
  %2 = relex.concat %1, %u axis = 1 : (tensor<1x16x4x4xf32>, tensor<1x32x4x4xf32>) -> tensor<1x48x4x4xf32>
  %3 = relex.conv2d %2, %w1 : (tensor<1x48x4x4xf32>, tensor<16x48x1x1xf32>) -> tensor<1x16x4x4xf32>
  %4 = relex.max_pool2d %3 pool_size = [2, 2] strides = [2, 2] : (tensor<1x16x4x4xf32>) -> tensor<1x16x2x2xf32>
  %5 = relex.concat %1, %v axis = 1 : (tensor<1x16x4x4xf32>, tensor<1x24x4x4xf32>) -> tensor<1x40x4x4xf32>
  %6 = relex.conv2d %5, %w2 : (tensor<1x40x4x4xf32>, tensor<16x40x1x1xf32>) -> tensor<1x16x4x4xf32>
  %7 = relex.max_pool2d %6 pool_size = [2, 2] strides = [2, 2] : (tensor<1x16x4x4xf32>) -> tensor<1x16x2x2xf32>
  func.return %4, %7 : tensor<1x16x2x2xf32>, tensor<1x16x2x2xf32>
}

// Blocks divide the channels of a group; where vectors do not, the convolution stays.
// CHECK-LABEL: func.func @grouped
// CHECK:         [[A:%.+]] = relex.conv2d_blocked %x, {{.*}} -> tensor<1x6x4x4x16xf32>
// CHECK:         [[B:%.+]] = relex.conv2d_blocked [[A]], {{.*}} groups = 2 : (tensor<1x6x4x4x16xf32>, tensor<2x3x1x1x16x32xf32>) -> tensor<1x2x4x4x32xf32>
// CHECK:         relex.conv2d {{.*}} groups = 8
// AVX2-LABEL: func.func @grouped
// AVX2:         relex.conv2d_blocked %x, {{.*}} -> tensor<1x6x4x4x16xf32>
// AVX2:         relex.conv2d_blocked {{.*}} groups = 2 : {{.*}} -> tensor<1x8x4x4x8xf32>
// AVX2:         relex.conv2d_blocked {{.*}} groups = 8 : {{.*}} -> tensor<1x8x4x4x8xf32>
func.func @grouped(%x: tensor<1x4x4x4xf32>) -> tensor<1x64xf32> {
  %w0 = relex.constant dense<0.5> : tensor<96x4x1x1xf32>
  %w1 = relex.constant dense<0.25> : tensor<64x48x1x1xf32>
  %w2 = relex.constant dense<0.125> : tensor<64x8x1x1xf32>
  %0 = relex.conv2d %x, %w0 : (tensor<1x4x4x4xf32>, tensor<96x4x1x1xf32>) -> tensor<1x96x4x4xf32>
  %1 = relex.conv2d %0, %w1 groups = 2 : (tensor<1x96x4x4xf32>, tensor<64x48x1x1xf32>) -> tensor<1x64x4x4xf32>
  %2 = relex.max_pool2d %1 pool_size = [1, 1] : (tensor<1x64x4x4xf32>) -> tensor<1x64x4x4xf32>
  %3 = relex.conv2d %2, %w2 groups = 8 : (tensor<1x64x4x4xf32>, tensor<64x8x1x1xf32>) -> tensor<1x64x4x4xf32>
  %4 = relex.mean %3 axis = [2, 3] : (tensor<1x64x4x4xf32>) -> tensor<1x64xf32>
  func.return %4 : tensor<1x64xf32>
}
