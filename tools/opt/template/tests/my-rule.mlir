// RUN: relex-opt %s -p my-rule | filecheck %s
// RUN: relex-opt %s -p my-rule --check-each -o /dev/null

// CHECK-LABEL: func.func @main
// CHECK-NEXT:    %0 = relex.subtract %x, %y : (tensor<?x4xf32>, tensor<4xf32>) -> tensor<?x4xf32>
// CHECK-NEXT:    func.return %0
func.func @main(%x: tensor<?x4xf32>, %y: tensor<4xf32>) -> tensor<?x4xf32> {
  %0 = relex.negative %y : (tensor<4xf32>) -> tensor<4xf32>
  %1 = relex.add %x, %0 : (tensor<?x4xf32>, tensor<4xf32>) -> tensor<?x4xf32>
  func.return %1 : tensor<?x4xf32>
}

// The negative of a sum is none of a term.
// CHECK-LABEL: func.func @negative_of_a_sum
// CHECK:         relex.add
// CHECK:         relex.negative
func.func @negative_of_a_sum(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  %0 = relex.add %x, %y : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %1 = relex.negative %0 : (tensor<4xf32>) -> tensor<4xf32>
  func.return %1 : tensor<4xf32>
}
