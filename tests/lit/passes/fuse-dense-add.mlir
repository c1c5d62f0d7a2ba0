// RUN: relex-opt %s -p fuse-dense-add | filecheck %s
// RUN: relex-opt %s -p fuse-dense-add,fuse-dense-add | filecheck %s
// RUN: xdsl-opt %s -p fuse-dense-add | filecheck %s
// RUN: relex-opt %s -p fuse-dense-add --print-debuginfo | filecheck %s --check-prefix=LOC

// The seeds' model: constants become arguments, the relu between the layers stays.
// CHECK-LABEL: func.func @main(%x: tensor<1x784xf32>) -> tensor<1x10xf32> {
// CHECK:         %gv = relex.dataflow -> tensor<1x10xf32> {
// CHECK-NEXT:      %lv1 = relex.call @fused_dense_add0(%x, %w0, %b0) : (tensor<1x784xf32>, tensor<128x784xf32>, tensor<128xf32>) -> tensor<1x128xf32>
// CHECK-NEXT:      %lv2 = relex.relu %lv1
// CHECK-NEXT:      %lv4 = relex.call @fused_dense_add1(%lv2, %w1, %b1) : (tensor<1x128xf32>, tensor<10x128xf32>, tensor<10xf32>) -> tensor<1x10xf32>
// CHECK-NEXT:      relex.output %lv4
// LOC:             relex.call @fused_dense_add0{{.*}} loc(fused["{{.*}}.mlir":{{[0-9]+}}:11, "{{.*}}.mlir":{{[0-9]+}}:12])
func.func @main(%x: tensor<1x784xf32>) -> tensor<1x10xf32> {
  %w0 = relex.constant dense<1.0> : tensor<128x784xf32>
  %b0 = relex.constant dense<2.0> : tensor<128xf32>
  %w1 = relex.constant dense<3.0> : tensor<10x128xf32>
  %b1 = relex.constant dense<4.0> : tensor<10xf32>
  %gv = relex.dataflow -> tensor<1x10xf32> {
    %lv = relex.dense %x, %w0 : (tensor<1x784xf32>, tensor<128x784xf32>) -> tensor<1x128xf32>
    %lv1 = relex.add %lv, %b0 : (tensor<1x128xf32>, tensor<128xf32>) -> tensor<1x128xf32>
    %lv2 = relex.relu %lv1 : (tensor<1x128xf32>) -> tensor<1x128xf32>
    %lv3 = relex.dense %lv2, %w1 : (tensor<1x128xf32>, tensor<10x128xf32>) -> tensor<1x10xf32>
    %lv4 = relex.add %lv3, %b1 : (tensor<1x10xf32>, tensor<10xf32>) -> tensor<1x10xf32>
    relex.output %lv4 : tensor<1x10xf32>
  }
  func.return %gv : tensor<1x10xf32>
}

// A bias on the left, between the two an op with side effects, sizes that are not known; the name 2 is taken.
// CHECK-LABEL: func.func @outside_of_dataflow(
// CHECK-NEXT:    func.call @effect()
// CHECK-NEXT:    %z = relex.call @fused_dense_add3(%x, %w, %b) : (tensor<?x?x?xf32>, tensor<?x?xf32>, tensor<1x?xf32>) -> tensor<?x?x?xf32>
// CHECK-NEXT:    func.return %z
func.func @outside_of_dataflow(%x: tensor<?x?x?xf32>, %w: tensor<?x?xf32>, %b: tensor<1x?xf32>) -> tensor<?x?x?xf32> {
  %y = relex.dense %x, %w : (tensor<?x?x?xf32>, tensor<?x?xf32>) -> tensor<?x?x?xf32>
  func.call @effect() : () -> ()
  %z = relex.add %b, %y : (tensor<1x?xf32>, tensor<?x?x?xf32>) -> tensor<?x?x?xf32>
  func.return %z : tensor<?x?x?xf32>
}
func.func private @effect()
func.func private @fused_dense_add2()

// The numbers go on in the order of the program. What is used twice is one argument, by its first name.
// CHECK-LABEL: func.func @order(
// CHECK:         relex.call @fused_dense_add4
// CHECK:         relex.call @fused_dense_add5(%0, %x, %b)
// CHECK:         relex.call @fused_dense_add6(%r, %b)
func.func @order(%x: tensor<2x2xf32>, %b: tensor<2xf32>) -> tensor<2x2xf32> {
  %r = relex.dataflow -> tensor<2x2xf32> {
    %0 = relex.dense %x, %x : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
    %1 = relex.add %0, %b : (tensor<2x2xf32>, tensor<2xf32>) -> tensor<2x2xf32>
    %2 = relex.dense %1, %x : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
    %3 = relex.add %2, %b : (tensor<2x2xf32>, tensor<2xf32>) -> tensor<2x2xf32>
    relex.output %3 : tensor<2x2xf32>
  }
  %4 = relex.dense %r, %r : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  %5 = relex.add %4, %b : (tensor<2x2xf32>, tensor<2xf32>) -> tensor<2x2xf32>
  func.return %5 : tensor<2x2xf32>
}

// A size that is not known equals the one that it is added to.
// CHECK-LABEL: func.func @sizes_that_meet(
// CHECK-NEXT:    relex.call @fused_dense_add7
// CHECK-NEXT:    func.return
func.func @sizes_that_meet(%x: tensor<?x8xf32>, %w: tensor<?x8xf32>, %b: tensor<4xf32>) -> tensor<?x4xf32> {
  %0 = relex.dense %x, %w : (tensor<?x8xf32>, tensor<?x8xf32>) -> tensor<?x?xf32>
  %1 = relex.add %0, %b : (tensor<?x?xf32>, tensor<4xf32>) -> tensor<?x4xf32>
  func.return %1 : tensor<?x4xf32>
}

// CHECK-LABEL: func.func @second_user(
// CHECK-NOT:     relex.call
func.func @second_user(%x: tensor<3x8xf32>, %w: tensor<4x8xf32>, %b: tensor<4xf32>, %c: tensor<4xf32>) -> tensor<3x4xf32> {
  %y = relex.dense %x, %w : (tensor<3x8xf32>, tensor<4x8xf32>) -> tensor<3x4xf32>
  %0 = relex.add %y, %b : (tensor<3x4xf32>, tensor<4xf32>) -> tensor<3x4xf32>
  %1 = relex.add %y, %c : (tensor<3x4xf32>, tensor<4xf32>) -> tensor<3x4xf32>
  %2 = relex.multiply %0, %1 : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
  func.return %2 : tensor<3x4xf32>
}

// CHECK-LABEL: func.func @product_is_returned(
// CHECK-NOT:     relex.call
func.func @product_is_returned(%x: tensor<3x8xf32>, %w: tensor<4x8xf32>, %b: tensor<4xf32>) -> (tensor<3x4xf32>, tensor<3x4xf32>) {
  %y:2 = relex.dataflow -> tensor<3x4xf32>, tensor<3x4xf32> {
    %0 = relex.dense %x, %w : (tensor<3x8xf32>, tensor<4x8xf32>) -> tensor<3x4xf32>
    %1 = relex.add %0, %b : (tensor<3x4xf32>, tensor<4xf32>) -> tensor<3x4xf32>
    relex.output %0, %1 : tensor<3x4xf32>, tensor<3x4xf32>
  }
  func.return %y#0, %y#1 : tensor<3x4xf32>, tensor<3x4xf32>
}

// CHECK-LABEL: func.func @added_to_itself(
// CHECK-NOT:     relex.call
func.func @added_to_itself(%x: tensor<1x8xf32>, %w: tensor<4x8xf32>) -> tensor<1x4xf32> {
  %0 = relex.dense %x, %w : (tensor<1x8xf32>, tensor<4x8xf32>) -> tensor<1x4xf32>
  %1 = relex.add %0, %0 : (tensor<1x4xf32>, tensor<1x4xf32>) -> tensor<1x4xf32>
  func.return %1 : tensor<1x4xf32>
}

// Another matrix, one element for each row, one element for all, more dimensions: none of them is a bias.
// CHECK-LABEL: func.func @no_bias(
// CHECK-NOT:     relex.call
func.func @no_bias(%x: tensor<3x8xf32>, %w: tensor<4x8xf32>, %m: tensor<3x4xf32>, %r: tensor<3x1xf32>, %s: tensor<f32>,
                   %o: tensor<1xf32>, %d: tensor<1x1x4xf32>) {
  %0 = relex.dense %x, %w : (tensor<3x8xf32>, tensor<4x8xf32>) -> tensor<3x4xf32>
  %1 = relex.add %0, %m : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
  %2 = relex.dense %x, %w : (tensor<3x8xf32>, tensor<4x8xf32>) -> tensor<3x4xf32>
  %3 = relex.add %2, %r : (tensor<3x4xf32>, tensor<3x1xf32>) -> tensor<3x4xf32>
  %4 = relex.dense %x, %w : (tensor<3x8xf32>, tensor<4x8xf32>) -> tensor<3x4xf32>
  %5 = relex.add %4, %s : (tensor<3x4xf32>, tensor<f32>) -> tensor<3x4xf32>
  %6 = relex.dense %x, %w : (tensor<3x8xf32>, tensor<4x8xf32>) -> tensor<3x4xf32>
  %7 = relex.add %6, %o : (tensor<3x4xf32>, tensor<1xf32>) -> tensor<3x4xf32>
  %8 = relex.dense %x, %w : (tensor<3x8xf32>, tensor<4x8xf32>) -> tensor<3x4xf32>
  %9 = relex.add %8, %d : (tensor<3x4xf32>, tensor<1x1x4xf32>) -> tensor<1x3x4xf32>
  func.return
}

// A size that is not known may be repeated along by a 1, and may not be 1 itself.
// CHECK-LABEL: func.func @no_bias_of_unknown_size(
// CHECK-NOT:     relex.call
func.func @no_bias_of_unknown_size(%x: tensor<3x8xf32>, %w: tensor<?x8xf32>, %v: tensor<1x8xf32>, %b: tensor<1xf32>, %c: tensor<?xf32>, %m: tensor<?x?xf32>) {
  %0 = relex.dense %x, %w : (tensor<3x8xf32>, tensor<?x8xf32>) -> tensor<3x?xf32>
  %1 = relex.add %0, %b : (tensor<3x?xf32>, tensor<1xf32>) -> tensor<3x?xf32>
  %2 = relex.dense %x, %v : (tensor<3x8xf32>, tensor<1x8xf32>) -> tensor<3x1xf32>
  %3 = relex.add %2, %c : (tensor<3x1xf32>, tensor<?xf32>) -> tensor<3x?xf32>
  %4 = relex.dense %x, %w : (tensor<3x8xf32>, tensor<?x8xf32>) -> tensor<3x?xf32>
  %5 = relex.add %4, %m : (tensor<3x?xf32>, tensor<?x?xf32>) -> tensor<3x?xf32>
  func.return
}

// CHECK-LABEL: func.func @in_another_block(
// CHECK-NOT:     relex.call
func.func @in_another_block(%x: tensor<3x8xf32>, %w: tensor<4x8xf32>, %b: tensor<4xf32>) -> tensor<3x4xf32> {
  %0 = relex.dense %x, %w : (tensor<3x8xf32>, tensor<4x8xf32>) -> tensor<3x4xf32>
  %y = relex.dataflow -> tensor<3x4xf32> {
    %1 = relex.add %0, %b : (tensor<3x4xf32>, tensor<4xf32>) -> tensor<3x4xf32>
    relex.output %1 : tensor<3x4xf32>
  }
  func.return %y : tensor<3x4xf32>
}

// CHECK-LABEL: func.func private @is_primitive(
// CHECK-NOT:     relex.call
func.func private @is_primitive(%x: tensor<3x8xf32>, %w: tensor<4x8xf32>, %b: tensor<4xf32>) -> tensor<3x4xf32> attributes {relex.primitive} {
  %0 = relex.dense %x, %w : (tensor<3x8xf32>, tensor<4x8xf32>) -> tensor<3x4xf32>
  %1 = relex.add %0, %b : (tensor<3x4xf32>, tensor<4xf32>) -> tensor<3x4xf32>
  func.return %1 : tensor<3x4xf32>
}

// CHECK-LABEL: func.func private @fused_dense_add0(%x: tensor<1x784xf32>, %w: tensor<128x784xf32>, %b: tensor<128xf32>) -> tensor<1x128xf32> attributes {relex.primitive} {
// CHECK-NEXT:    %lv = relex.dense %x, %w
// CHECK-NEXT:    %lv1 = relex.add %lv, %b
// CHECK-NEXT:    func.return %lv1
// CHECK-LABEL: func.func private @fused_dense_add1(%x: tensor<1x128xf32>, %w: tensor<10x128xf32>, %b: tensor<10xf32>) -> tensor<1x10xf32> attributes {relex.primitive} {
// CHECK-LABEL: func.func private @fused_dense_add3(%x: tensor<?x?x?xf32>, %w: tensor<?x?xf32>, %b: tensor<1x?xf32>) -> tensor<?x?x?xf32> attributes {relex.primitive} {
// CHECK-NEXT:    %y = relex.dense %x, %w
// CHECK-NEXT:    %z = relex.add %b, %y
// CHECK-LABEL: func.func private @fused_dense_add4(%x: tensor<2x2xf32>, %b: tensor<2xf32>) -> tensor<2x2xf32> attributes {relex.primitive} {
// CHECK-NEXT:    relex.dense %x, %x
