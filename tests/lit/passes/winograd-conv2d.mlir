// RUN: relex-opt %s -p "set-target{triple=x86_64-unknown-linux-gnu cpu=skylake-avx512 features=+avx512f},winograd-conv2d" | filecheck %s
// RUN: env RELEX_OPT_FLAGS= relex-opt %s -p "set-target{triple=x86_64-unknown-linux-gnu cpu=haswell features=+avx2},winograd-conv2d" | filecheck %s
// RUN: env RELEX_OPT_FLAGS= relex-opt %s -p "set-target{triple=x86_64-unknown-linux-gnu cpu=haswell features=+avx2},winograd-conv2d" --check-each -o /dev/null
// RUN: env RELEX_OPT_FLAGS= relex-opt %s -p winograd-conv2d | filecheck %s --check-prefix=NONE

// NONE-NOT: winograd_

// Tiles of 4; channels are in blocks already.
// CHECK-LABEL: func.func @blocked
// CHECK-NEXT:    [[V:%.+]] = relex.winograd_input_transform %x padding = [1, 1, 1, 1] : (tensor<1x2x14x14x32xf32>) -> tensor<36x16x64xf32>
// CHECK-NEXT:    %w = relex.constant {{.*}} : tensor<36x64x32xf32>
// CHECK-NEXT:    [[M:%.+]] = relex.matmul [[V]], %w
// CHECK-NEXT:    [[Y:%.+]] = relex.winograd_output_transform [[M]] size = [14, 14] block = 32 : (tensor<36x16x32xf32>) -> tensor<1x1x14x14x32xf32>
// CHECK-NEXT:    func.return [[Y]]
func.func @blocked(%x: tensor<1x2x14x14x32xf32>) -> tensor<1x1x14x14x32xf32> {
  %w = relex.constant dense<0.5> : tensor<1x2x3x3x32x32xf32>
  %0 = relex.conv2d_blocked %x, %w padding = [1] : (tensor<1x2x14x14x32xf32>, tensor<1x2x3x3x32x32xf32>) -> tensor<1x1x14x14x32xf32>
  func.return %0 : tensor<1x1x14x14x32xf32>
}

// Tiles of 2, with fewer weights to read.
// CHECK-LABEL: func.func @few_results
// CHECK:         relex.winograd_input_transform %x tile = 2 padding = [0, 1, 1, 0] : (tensor<1x8x7x7x16xf32>) -> tensor<16x9x128xf32>
// CHECK:         relex.winograd_output_transform {{.*}} tile = 2 size = [6, 6] block = 16 : (tensor<16x9x128xf32>) -> tensor<1x8x6x6x16xf32>
func.func @few_results(%x: tensor<1x8x7x7x16xf32>) -> tensor<1x8x6x6x16xf32> {
  %w = relex.constant dense<0.25> : tensor<8x8x3x3x16x16xf32>
  %0 = relex.conv2d_blocked %x, %w padding = [0, 1, 1, 0] : (tensor<1x8x7x7x16xf32>, tensor<8x8x3x3x16x16xf32>) -> tensor<1x8x6x6x16xf32>
  func.return %0 : tensor<1x8x6x6x16xf32>
}

// Channels come into blocks, and out of them; the number of images is dynamic.
// CHECK-LABEL: func.func @plain
// CHECK:         relex.winograd_input_transform {{.*}} padding = [1, 1, 1, 1] : {{.*}} -> tensor<36x?x64xf64>
// CHECK:         relex.winograd_output_transform {{.*}} size = [24, 20]
// CHECK:         func.return {{.*}} : tensor<?x64x24x20xf64>
func.func @plain(%x: tensor<?x64x24x20xf64>) -> tensor<?x64x24x20xf64> {
  %w = relex.constant dense<0.25> : tensor<64x64x3x3xf64>
  %0 = relex.conv2d %x, %w padding = [1] : (tensor<?x64x24x20xf64>, tensor<64x64x3x3xf64>) -> tensor<?x64x24x20xf64>
  func.return %0 : tensor<?x64x24x20xf64>
}

// Few channels are not worth the transforms.
// CHECK-LABEL: func.func @few_channels
// CHECK-NOT:     winograd
func.func @few_channels(%x: tensor<1x3x56x56xf32>) -> tensor<1x64x56x56xf32> {
  %w = relex.constant dense<0.5> : tensor<64x3x3x3xf32>
  %0 = relex.conv2d %x, %w padding = [1] : (tensor<1x3x56x56xf32>, tensor<64x3x3x3xf32>) -> tensor<1x64x56x56xf32>
  func.return %0 : tensor<1x64x56x56xf32>
}

// Strides, gaps, groups, other windows and other types are left alone, and so are weights that are not known.
// CHECK-LABEL: func.func @others
// CHECK-NOT:     winograd
func.func @others(%x: tensor<1x64x14x14xf32>, %w: tensor<64x64x3x3xf32>, %h: tensor<1x64x14x14xf16>) -> (tensor<1x64x7x7xf32>, tensor<1x64x14x14xf32>, tensor<1x64x14x14xf32>, tensor<1x64x14x14xf32>, tensor<1x64x14x14xf32>, tensor<1x64x14x14xf16>) {
  %c = relex.constant dense<0.5> : tensor<64x64x3x3xf32>
  %g = relex.constant dense<0.5> : tensor<64x32x3x3xf32>
  %p = relex.constant dense<0.5> : tensor<64x64x1x1xf32>
  %i = relex.constant dense<0.5> : tensor<64x64x3x3xf16>
  %0 = relex.conv2d %x, %c strides = [2, 2] padding = [1] : (tensor<1x64x14x14xf32>, tensor<64x64x3x3xf32>) -> tensor<1x64x7x7xf32>
  %1 = relex.conv2d %x, %c padding = [2] dilation = [2, 2] : (tensor<1x64x14x14xf32>, tensor<64x64x3x3xf32>) -> tensor<1x64x14x14xf32>
  %2 = relex.conv2d %x, %g padding = [1] groups = 2 : (tensor<1x64x14x14xf32>, tensor<64x32x3x3xf32>) -> tensor<1x64x14x14xf32>
  %3 = relex.conv2d %x, %p : (tensor<1x64x14x14xf32>, tensor<64x64x1x1xf32>) -> tensor<1x64x14x14xf32>
  %4 = relex.conv2d %x, %w padding = [1] : (tensor<1x64x14x14xf32>, tensor<64x64x3x3xf32>) -> tensor<1x64x14x14xf32>
  %5 = relex.conv2d %h, %i padding = [1] : (tensor<1x64x14x14xf16>, tensor<64x64x3x3xf16>) -> tensor<1x64x14x14xf16>
  func.return %0, %1, %2, %3, %4, %5 : tensor<1x64x7x7xf32>, tensor<1x64x14x14xf32>, tensor<1x64x14x14xf32>, tensor<1x64x14x14xf32>, tensor<1x64x14x14xf32>, tensor<1x64x14x14xf16>
}

// The default compilation has the pass on request.
// RUN: env RELEX_OPT_FLAGS= relex-opt %s -p 'relex-pipeline{to=graph approximate=true}' | filecheck %s --check-prefix=PIPELINE
// RUN: env RELEX_OPT_FLAGS= relex-opt %s -p 'relex-pipeline{to=graph}' | filecheck %s --check-prefix=NONE
// RUN: not relex-opt %s -p 'relex-pipeline{strict=true approximate=true}' 2>&1 | filecheck %s --check-prefix=BOTH
// PIPELINE: winograd_input_transform
// BOTH: error: expected a compilation to be strict or approximate, found both
