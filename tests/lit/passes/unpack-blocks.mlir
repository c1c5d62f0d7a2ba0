// RUN: relex-opt %s -p unpack-blocks | filecheck %s
// RUN: relex-opt %s -p unpack-blocks,unpack-blocks | filecheck %s
// RUN: relex-opt %s -p unpack-blocks --check-each -o /dev/null

module attributes {relex.target = {triple = "x86_64-unknown-linux-gnu", cpu = "haswell", features = ""}} {

// Rows of all dimensions count, and the last panel has 32 columns as well.
// CHECK-LABEL: func.func @many
// CHECK-DAG:     [[S:%.+]] = relex.constant dense<{{.*}}> : tensor<2x2x32xui8>
// CHECK-DAG:     [[D:%.+]] = relex.constant dense<{{.*}}> : tensor<2x16x32xui8>
// CHECK:         [[F:%.+]] = relex.unpack_scales [[S]] layout = "Q4_0"
// CHECK-NEXT:    [[W:%.+]] = relex.unpack_numbers [[F]], [[D]] layout = "Q4_0" columns = 33 : {{.*}} -> tensor<32x33xf32>
// CHECK-NEXT:    relex.matmul %x, [[W]] : (tensor<2x16x32xf32>, tensor<32x33xf32>) -> tensor<2x16x33xf32>
func.func @many(%x: tensor<2x16x32xf32>) -> tensor<2x16x33xf32> {
  %s = relex.constant dense<60> : tensor<33x2xui8>
  %d = relex.constant dense<1> : tensor<33x16xui8>
  %0 = relex.dense_blocks %x, %s, %d layout = "Q4_0" : (tensor<2x16x32xf32>, tensor<33x2xui8>, tensor<33x16xui8>) -> tensor<2x16x33xf32>
  func.return %0 : tensor<2x16x33xf32>
}

// Panels of many terms would not stay in a cache.
// CHECK-LABEL: func.func @in_parts
// CHECK-COUNT-3: relex.unpack_scales {{.*}} (tensor<2x256x32xui8>) -> tensor<1x2x128x32xf32>
// CHECK:         relex.add
// CHECK-NOT:     relex.unpack_scales
func.func @in_parts(%x: tensor<32x12288xf32>) -> tensor<32x33xf32> {
  %s = relex.constant dense<60> : tensor<33x768xui8>
  %d = relex.constant dense<1> : tensor<33x6144xui8>
  %0 = relex.dense_blocks %x, %s, %d layout = "Q4_0" : (tensor<32x12288xf32>, tensor<33x768xui8>, tensor<33x6144xui8>) -> tensor<32x33xf32>
  func.return %0 : tensor<32x33xf32>
}

// CHECK-LABEL: func.func @few
// CHECK:         relex.dense_blocks
func.func @few(%x: tensor<31x32xf32>) -> tensor<31x33xf32> {
  %s = relex.constant dense<60> : tensor<33x2xui8>
  %d = relex.constant dense<1> : tensor<33x16xui8>
  %0 = relex.dense_blocks %x, %s, %d layout = "Q4_0" : (tensor<31x32xf32>, tensor<33x2xui8>, tensor<33x16xui8>) -> tensor<31x33xf32>
  func.return %0 : tensor<31x33xf32>
}

// CHECK-LABEL: func.func @as_many_as_there_are
// CHECK:         relex.dense_blocks
func.func @as_many_as_there_are(%x: tensor<?x32xf32>) -> tensor<?x33xf32> {
  %s = relex.constant dense<60> : tensor<33x2xui8>
  %d = relex.constant dense<1> : tensor<33x16xui8>
  %0 = relex.dense_blocks %x, %s, %d layout = "Q4_0" : (tensor<?x32xf32>, tensor<33x2xui8>, tensor<33x16xui8>) -> tensor<?x33xf32>
  func.return %0 : tensor<?x33xf32>
}

// CHECK-LABEL: func.func @argument
// CHECK:         relex.dense_blocks
func.func @argument(%x: tensor<64x32xf32>, %d: tensor<33x16xui8>) -> tensor<64x33xf32> {
  %s = relex.constant dense<60> : tensor<33x2xui8>
  %0 = relex.dense_blocks %x, %s, %d layout = "Q4_0" : (tensor<64x32xf32>, tensor<33x2xui8>, tensor<33x16xui8>) -> tensor<64x33xf32>
  func.return %0 : tensor<64x33xf32>
}

}
