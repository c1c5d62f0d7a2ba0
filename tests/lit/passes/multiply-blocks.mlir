// RUN: relex-opt %s -p multiply-blocks | filecheck %s
// RUN: relex-opt %s -p multiply-blocks --check-each -o /dev/null
// RUN: relex-opt %s -p "relex-pipeline{to=graph strict=true}" | filecheck %s --check-prefix=STRICT

// STRICT-NOT: dense_blocks

// CHECK-LABEL: func.func @transposed
// CHECK:         [[S:%.+]] = relex.constant dense<{{\[}}[0, 60]]> : tensor<1x2xui8>
// CHECK-NEXT:    [[D:%.+]] = relex.constant {{.*}} : tensor<1x16xui8>
// CHECK-NEXT:    [[Y:%.+]] = relex.dense_blocks %x, [[S]], [[D]] layout = "Q4_0" : (tensor<2x4x32xf32>, tensor<1x2xui8>, tensor<1x16xui8>) -> tensor<2x4x1xf32>
// CHECK-NEXT:    func.return [[Y]]
func.func @transposed(%x: tensor<2x4x32xf32>) -> tensor<2x4x1xf32> {
  %w = relex.constant dense<"0x003C0102030405060708090A0B0C0D0E0F10"> : tensor<1x18xui8>
  %0 = relex.dequantize_blocks %w layout = "Q4_0" : (tensor<1x18xui8>) -> tensor<1x32xf32>
  %1 = relex.permute_dims %0 : (tensor<1x32xf32>) -> tensor<32x1xf32>
  %2 = relex.matmul %x, %1 : (tensor<2x4x32xf32>, tensor<32x1xf32>) -> tensor<2x4x1xf32>
  func.return %2 : tensor<2x4x1xf32>
}

// Bytes of weights that are no constants stay where they are.
// CHECK-LABEL: func.func @arguments
// CHECK-NEXT:    relex.dense_block_rows %x, %v layout = "Q4_0" : (tensor<?x32xf32>, tensor<1x18xui8>) -> tensor<?x1xf32>
func.func @arguments(%x: tensor<?x32xf32> {relex.dims = ["n", ""]}, %v: tensor<1x18xui8>) -> tensor<?x1xf32> {
  %0 = relex.dequantize_blocks %v layout = "Q4_0" : (tensor<1x18xui8>) -> tensor<1x32xf32>
  %1 = relex.dense %x, %0 : (tensor<?x32xf32>, tensor<1x32xf32>) -> tensor<?x1xf32>
  func.return %1 : tensor<?x1xf32>
}

// Many rows make up for unpacking a weight, and rows of the right operand are no columns.
// CHECK-LABEL: func.func @others
// CHECK:         relex.dense {{.*}} : (tensor<64x32xf32>, tensor<1x32xf32>)
// CHECK:         relex.matmul {{.*}} : (tensor<4x1xf32>, tensor<1x32xf32>)
func.func @others(%x: tensor<64x32xf32>, %y: tensor<4x1xf32>, %v: tensor<1x18xui8>) -> (tensor<64x1xf32>, tensor<4x32xf32>) {
  %w = relex.constant dense<"0x003C0102030405060708090A0B0C0D0E0F10"> : tensor<1x18xui8>
  %0 = relex.dequantize_blocks %v layout = "Q4_0" : (tensor<1x18xui8>) -> tensor<1x32xf32>
  %1 = relex.dense %x, %0 : (tensor<64x32xf32>, tensor<1x32xf32>) -> tensor<64x1xf32>
  %2 = relex.dequantize_blocks %w layout = "Q4_0" : (tensor<1x18xui8>) -> tensor<1x32xf32>
  %3 = relex.matmul %y, %2 : (tensor<4x1xf32>, tensor<1x32xf32>) -> tensor<4x32xf32>
  func.return %1, %3 : tensor<64x1xf32>, tensor<4x32xf32>
}
