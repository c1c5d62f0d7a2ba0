// RUN: relex-opt %s -p narrow-products | filecheck %s
// RUN: relex-opt %s -p narrow-products --check-each -o /dev/null
// RUN: relex-run %s --random --precision bf16 --dump-pass-pipeline 2>&1 | filecheck %s --check-prefix=PIPELINE
// RUN: not relex-run %s --random --precision f8 2>&1 | filecheck %s --check-prefix=REFUSED

// PIPELINE: fold-batch-norm,narrow-products,split-windows
// REFUSED: --precision: invalid choice: 'f8'

// The weight of a product is stored in bf16, the weight of a convolution only has such numbers.
// CHECK-LABEL: func.func @main
// CHECK:         [[N:%.+]] = relex.astype %x dtype = bf16
// CHECK-NEXT:    [[X:%.+]] = relex.astype [[N]] dtype = f32
// CHECK-NEXT:    [[C:%.+]] = relex.constant dense<0.100097656> : tensor<5x40xbf16>
// CHECK-NEXT:    [[W:%.+]] = relex.astype [[C]] dtype = f32
// CHECK-NEXT:    relex.dense [[X]], [[W]]
// CHECK:         [[V:%.+]] = relex.constant dense<0.100097656> : tensor<4x8x3x3xf32>
// CHECK-NEXT:    relex.conv2d {{%.+}}, [[V]]
func.func @main(%x: tensor<3x40xf32>, %i: tensor<1x8x6x6xf32>) -> (tensor<3x5xf32>, tensor<1x4x6x6xf32>) {
  %w = relex.constant dense<0.1> : tensor<5x40xf32>
  %v = relex.constant dense<0.1> : tensor<4x8x3x3xf32>
  %0 = relex.dense %x, %w : (tensor<3x40xf32>, tensor<5x40xf32>) -> tensor<3x5xf32>
  %1 = relex.conv2d %i, %v padding = [1] : (tensor<1x8x6x6xf32>, tensor<4x8x3x3xf32>) -> tensor<1x4x6x6xf32>
  func.return %0, %1 : tensor<3x5xf32>, tensor<1x4x6x6xf32>
}
