// RUN: relex-opt %s -p localize-sizes --split-input-file | filecheck %s
// RUN: relex-opt %s -p localize-sizes,localize-sizes --split-input-file | filecheck %s

// Sizes of an activation are the sizes of the input it was computed from.
// CHECK-LABEL: func.func @heads(
// CHECK:         relex.reshape %y shape = [-1, -1, 4, 2] sizes = ["d0", "d1"] : (tensor<?x?x8xf32>) -> tensor<?x?x4x2xf32>
// CHECK:         relex.reshape %t shape = [-1, -1, 8] sizes = ["d0", "d1"] : (tensor<?x?x4x2xf32>) -> tensor<?x?x8xf32>
func.func @heads(%x: tensor<?x?x8xf32>) -> tensor<?x?x8xf32> {
  %y = relex.exp %x : (tensor<?x?x8xf32>) -> tensor<?x?x8xf32>
  %z = relex.reshape %y like(%x) shape = [-1, -1, 4, 2] sizes = ["like0_d0", "like0_d1"] : (tensor<?x?x8xf32>, tensor<?x?x8xf32>) -> tensor<?x?x4x2xf32>
  %t = relex.exp %z : (tensor<?x?x4x2xf32>) -> tensor<?x?x4x2xf32>
  %r = relex.reshape %t like(%x) shape = [-1, -1, 8] sizes = ["like0_d0", "like0_d1"] : (tensor<?x?x4x2xf32>, tensor<?x?x8xf32>) -> tensor<?x?x8xf32>
  func.return %r : tensor<?x?x8xf32>
}

// -----

// Expressions and sizes of the operand stay.
// CHECK-LABEL: func.func @expressions(
// CHECK:         relex.reshape %y shape = [-1, -1, 4] sizes = ["2 * d0", "d1"] : (tensor<?x?x8xf32>) -> tensor<?x?x4xf32>
func.func @expressions(%x: tensor<?x?x8xf32>) -> tensor<?x?x4xf32> {
  %y = relex.exp %x : (tensor<?x?x8xf32>) -> tensor<?x?x8xf32>
  %z = relex.reshape %y like(%x) shape = [-1, -1, 4] sizes = ["2 * like0_d0", "d1"] : (tensor<?x?x8xf32>, tensor<?x?x8xf32>) -> tensor<?x?x4xf32>
  func.return %z : tensor<?x?x4xf32>
}

// -----

// A size that the operand does not have.
// CHECK-LABEL: func.func @other(
// CHECK:         relex.broadcast_to %c like(%x) shape = [-1, 8] sizes = ["like0_d0"]
func.func @other(%x: tensor<?x8xf32>, %c: tensor<8xf32>) -> tensor<?x8xf32> {
  %z = relex.broadcast_to %c like(%x) shape = [-1, 8] sizes = ["like0_d0"] : (tensor<8xf32>, tensor<?x8xf32>) -> tensor<?x8xf32>
  func.return %z : tensor<?x8xf32>
}

// -----

// The operand has a size that is known, where the result has a dynamic one.
// CHECK-LABEL: func.func @known(
// CHECK:         relex.reshape %y like(%x) shape = [-1, -1, 2] sizes = ["like0_d0", "like0_d1"]
func.func @known(%x: tensor<?x?xf32> {relex.dims = ["m", "n"]}, %c: tensor<3x1xf32>) -> tensor<?x?x2xf32> {
  %a = relex.add %x, %c : (tensor<?x?xf32>, tensor<3x1xf32>) -> tensor<3x?xf32>
  %b = relex.expand_dims %a axis = [2] : (tensor<3x?xf32>) -> tensor<3x?x1xf32>
  %y = relex.concat %b, %b axis = 2 : (tensor<3x?x1xf32>, tensor<3x?x1xf32>) -> tensor<3x?x2xf32>
  %z = relex.reshape %y like(%x) shape = [-1, -1, 2] sizes = ["like0_d0", "like0_d1"] : (tensor<3x?x2xf32>, tensor<?x?xf32>) -> tensor<?x?x2xf32>
  func.return %z : tensor<?x?x2xf32>
}
