// RUN: relex-opt %s -p fuse-attention --split-input-file | filecheck %s
// RUN: relex-opt %s -p fuse-attention,fuse-attention --split-input-file | filecheck %s

// Keys are transposed, scores scaled, and masked by addition.
// CHECK-LABEL: func.func @masked(
// CHECK-NEXT:    %c = relex.constant
// CHECK-NEXT:    %o = relex.call @attention0(%k, %q, %c, %mask, %v)
// CHECK-NEXT:    func.return %o
// CHECK-LABEL: func.func private @attention0(
// CHECK-SAME:      attributes {relex.primitive} {
// CHECK-NEXT:    relex.permute_dims
// CHECK-NEXT:    relex.matmul
// CHECK-NEXT:    relex.multiply
// CHECK-NEXT:    relex.add
// CHECK-NEXT:    relex.softmax
// CHECK-NEXT:    relex.matmul
func.func @masked(%q: tensor<2x3x8x4xf32>, %k: tensor<2x3x6x4xf32>, %v: tensor<2x3x6x5xf32>, %mask: tensor<8x6xf32>) -> tensor<2x3x8x5xf32> {
  %c = relex.constant dense<0.5> : tensor<f32>
  %kt = relex.permute_dims %k axes = [0, 1, 3, 2] : (tensor<2x3x6x4xf32>) -> tensor<2x3x4x6xf32>
  %s = relex.matmul %q, %kt : (tensor<2x3x8x4xf32>, tensor<2x3x4x6xf32>) -> tensor<2x3x8x6xf32>
  %t = relex.multiply %c, %s : (tensor<f32>, tensor<2x3x8x6xf32>) -> tensor<2x3x8x6xf32>
  %u = relex.add %t, %mask : (tensor<2x3x8x6xf32>, tensor<8x6xf32>) -> tensor<2x3x8x6xf32>
  %p = relex.softmax %u : (tensor<2x3x8x6xf32>) -> tensor<2x3x8x6xf32>
  %o = relex.matmul %p, %v : (tensor<2x3x8x6xf32>, tensor<2x3x6x5xf32>) -> tensor<2x3x8x5xf32>
  func.return %o : tensor<2x3x8x5xf32>
}

// -----

// A mask of booleans; the queries are scaled before; one head, as a dense layer; keys and queries of any number.
// CHECK-LABEL: func.func @where(
// CHECK-NEXT:    relex.constant
// CHECK-NEXT:    relex.constant
// CHECK-NEXT:    relex.multiply
// CHECK-NEXT:    %o = relex.call @attention0(%x, %k, %allowed, %never, %v)
func.func @where(%q: tensor<?x4xf32> {relex.dims = ["n", ""]}, %k: tensor<?x4xf32> {relex.dims = ["m", ""]}, %v: tensor<?x4xf32> {relex.dims = ["m", ""]}, %allowed: tensor<?x?xi1> {relex.dims = ["n", "m"]}) -> tensor<?x4xf32> {
  %never = relex.constant dense<0xFF800000> : tensor<f32>
  %c = relex.constant dense<0.5> : tensor<f32>
  %x = relex.multiply %q, %c : (tensor<?x4xf32>, tensor<f32>) -> tensor<?x4xf32>
  %s = relex.dense %x, %k : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<?x?xf32>
  %t = relex.where %allowed, %s, %never : (tensor<?x?xi1>, tensor<?x?xf32>, tensor<f32>) -> tensor<?x?xf32>
  %p = relex.softmax %t axis = 1 : (tensor<?x?xf32>) -> tensor<?x?xf32>
  %o = relex.matmul %p, %v : (tensor<?x?xf32>, tensor<?x4xf32>) -> tensor<?x4xf32>
  func.return %o : tensor<?x4xf32>
}

// -----

// A mask of booleans that chooses what is added; one that others use stays outside.
// CHECK-LABEL: func.func @chosen(
// CHECK:         relex.call @attention0(%q, %kt, %allowed, %zero, %never, %v)
// CHECK:         %a = relex.where
// CHECK:         relex.call @attention1(%q, %kt, %a, %v)
// CHECK-LABEL: func.func private @attention0(
// CHECK-NEXT:    relex.matmul
// CHECK-NEXT:    relex.where
// CHECK-NEXT:    relex.add
// CHECK-NEXT:    relex.softmax {{.*}} safe
// CHECK-NEXT:    relex.matmul
// CHECK-LABEL: func.func private @attention1(
// CHECK-NOT:     relex.where
func.func @chosen(%q: tensor<2x8x4xf32>, %kt: tensor<2x4x6xf32>, %v: tensor<2x6x5xf32>, %allowed: tensor<8x6xi1>) -> (tensor<2x8x5xf32>, tensor<2x8x5xf32>, tensor<8x6xf32>) {
  %zero = relex.constant dense<0.0> : tensor<f32>
  %never = relex.constant dense<0xFF800000> : tensor<f32>
  %s = relex.matmul %q, %kt : (tensor<2x8x4xf32>, tensor<2x4x6xf32>) -> tensor<2x8x6xf32>
  %m = relex.where %allowed, %zero, %never : (tensor<8x6xi1>, tensor<f32>, tensor<f32>) -> tensor<8x6xf32>
  %t = relex.add %s, %m : (tensor<2x8x6xf32>, tensor<8x6xf32>) -> tensor<2x8x6xf32>
  %p = relex.softmax %t safe : (tensor<2x8x6xf32>) -> tensor<2x8x6xf32>
  %o = relex.matmul %p, %v : (tensor<2x8x6xf32>, tensor<2x6x5xf32>) -> tensor<2x8x5xf32>
  %a = relex.where %allowed, %zero, %never : (tensor<8x6xi1>, tensor<f32>, tensor<f32>) -> tensor<8x6xf32>
  %s1 = relex.matmul %q, %kt : (tensor<2x8x4xf32>, tensor<2x4x6xf32>) -> tensor<2x8x6xf32>
  %t1 = relex.add %s1, %a : (tensor<2x8x6xf32>, tensor<8x6xf32>) -> tensor<2x8x6xf32>
  %p1 = relex.softmax %t1 : (tensor<2x8x6xf32>) -> tensor<2x8x6xf32>
  %o1 = relex.matmul %p1, %v : (tensor<2x8x6xf32>, tensor<2x6x5xf32>) -> tensor<2x8x5xf32>
  func.return %o, %o1, %a : tensor<2x8x5xf32>, tensor<2x8x5xf32>, tensor<8x6xf32>
}

// -----

// The number of keys may be unknown: a query reads them as they are.
// CHECK-LABEL: func.func @open(
// CHECK-NEXT:    relex.call @attention0(%k, %q, %v)
func.func @open(%q: tensor<8x4xf32>, %k: tensor<?x4xf32> {relex.dims = ["m", ""]}, %v: tensor<?x4xf32> {relex.dims = ["m", ""]}) -> tensor<8x4xf32> {
  %kt = relex.permute_dims %k : (tensor<?x4xf32>) -> tensor<4x?xf32>
  %s = relex.matmul %q, %kt : (tensor<8x4xf32>, tensor<4x?xf32>) -> tensor<8x?xf32>
  %p = relex.softmax %s : (tensor<8x?xf32>) -> tensor<8x?xf32>
  %o = relex.matmul %p, %v : (tensor<8x?xf32>, tensor<?x4xf32>) -> tensor<8x4xf32>
  func.return %o : tensor<8x4xf32>
}

// -----

// A softmax along the queries, scores and weights that others use, and a reduction in between.
// CHECK-LABEL: func.func @other_axis(
// CHECK-NOT:     relex.call
func.func @other_axis(%q: tensor<8x4xf32>, %kt: tensor<4x8xf32>, %v: tensor<8x4xf32>) -> tensor<8x4xf32> {
  %s = relex.matmul %q, %kt : (tensor<8x4xf32>, tensor<4x8xf32>) -> tensor<8x8xf32>
  %p = relex.softmax %s axis = 0 : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %o = relex.matmul %p, %v : (tensor<8x8xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
  func.return %o : tensor<8x4xf32>
}
// CHECK-LABEL: func.func @used(
// CHECK-NOT:     relex.call
func.func @used(%q: tensor<8x4xf32>, %kt: tensor<4x8xf32>, %v: tensor<8x4xf32>) -> (tensor<8x4xf32>, tensor<8x8xf32>) {
  %s = relex.matmul %q, %kt : (tensor<8x4xf32>, tensor<4x8xf32>) -> tensor<8x8xf32>
  %p = relex.softmax %s : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %o = relex.matmul %p, %v : (tensor<8x8xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
  func.return %o, %p : tensor<8x4xf32>, tensor<8x8xf32>
}
// CHECK-LABEL: func.func @shifted_by_its_maximum(
// CHECK-NOT:     relex.call
func.func @shifted_by_its_maximum(%q: tensor<8x4xf32>, %kt: tensor<4x8xf32>, %v: tensor<8x4xf32>) -> tensor<8x4xf32> {
  %s = relex.matmul %q, %kt : (tensor<8x4xf32>, tensor<4x8xf32>) -> tensor<8x8xf32>
  %m = relex.max %s axis = [1] keepdims : (tensor<8x8xf32>) -> tensor<8x1xf32>
  %t = relex.subtract %s, %m : (tensor<8x8xf32>, tensor<8x1xf32>) -> tensor<8x8xf32>
  %p = relex.softmax %t : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %o = relex.matmul %p, %v : (tensor<8x8xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
  func.return %o : tensor<8x4xf32>
}
