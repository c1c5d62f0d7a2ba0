// Views of tensors, from text to buffers. A result that is returned as a view is computed in the output.

// RUN: RELEX_ROUNDTRIP
// RUN: RELEX_GENERIC_ROUNDTRIP
// RUN: relex-opt %s -p legalize-ops,lower-call-tir | filecheck %s --check-prefix=BUFFERS
// RUN: relex-opt %s -t script | filecheck %s --check-prefix=SCRIPT

// CHECK-LABEL: func.func @known
// CHECK:         tensor.collapse_shape %0 {{\[\[}}0 : i64, 1 : i64]] : tensor<2x3xf32> into tensor<6xf32>
// BUFFERS-LABEL: func.func @known(%x: memref<2x3xf32>, %out: memref<3x2xf32>)
// BUFFERS-NEXT:    %[[A:.+]] = memref.collapse_shape %out {{.*}} : memref<3x2xf32> into memref<6xf32>
// BUFFERS-NEXT:    %[[B:.+]] = memref.expand_shape %[[A]] {{.*}} into memref<2x3xf32>
// BUFFERS-NEXT:    tir.call @relu(%x, %[[B]]) : memref<2x3xf32>, memref<2x3xf32>
// BUFFERS-NEXT:    func.return
// SCRIPT-LABEL: def known
// SCRIPT:         [[A:lv.*]]: R.Tensor((6,), dtype="float32") = R.reshape({{.+}}, R.shape([6]))
// SCRIPT-NEXT:    {{.+}}: R.Tensor((3, 2), dtype="float32") = R.reshape([[A]], R.shape([3, 2]))
func.func @known(%x: tensor<2x3xf32>) -> tensor<3x2xf32> {
  %0 = relex.relu %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %1 = tensor.collapse_shape %0 [[0, 1]] : tensor<2x3xf32> into tensor<6xf32>
  %2 = tensor.expand_shape %1 [[0, 1]] output_shape [3, 2] : tensor<6xf32> into tensor<3x2xf32>
  func.return %2 : tensor<3x2xf32>
}

// A view of an argument, and one that is used before it is returned, as well.
// BUFFERS-LABEL: func.func @argument(%x: memref<2x3xf32>, %out: memref<6xf32>)
// BUFFERS-NEXT:    %[[X:.+]] = memref.collapse_shape %x
// BUFFERS-NEXT:    tir.call @relu1(%[[X]], %out)
// BUFFERS-NEXT:    func.return
func.func @argument(%x: tensor<2x3xf32>) -> tensor<6xf32> {
  %0 = tensor.collapse_shape %x [[0, 1]] : tensor<2x3xf32> into tensor<6xf32>
  %1 = relex.relu %0 : (tensor<6xf32>) -> tensor<6xf32>
  func.return %1 : tensor<6xf32>
}

// BUFFERS-LABEL: func.func @open
// BUFFERS:         memref.expand_shape %{{.*}} output_shape [%n, 4] : memref<?xf32> into memref<?x4xf32>
// BUFFERS:         memref.copy
func.func @open(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?x4xf32>
  %0 = relex.relu %x : (tensor<?x4xf32>) -> tensor<?x4xf32>
  %1 = tensor.collapse_shape %0 [[0, 1]] : tensor<?x4xf32> into tensor<?xf32>
  %2 = tensor.expand_shape %1 [[0, 1]] output_shape [%n, 4] : tensor<?xf32> into tensor<?x4xf32>
  func.return %2 : tensor<?x4xf32>
}
