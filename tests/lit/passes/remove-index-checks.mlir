// RUN: relex-opt %s -p remove-index-checks | filecheck %s
// RUN: relex-opt %s -p remove-index-checks --check-each -o /dev/null

// CHECK-LABEL: func.func @main
func.func @main(%x: tensor<4xf32>, %i: tensor<3xi64>, %c: tensor<i1>) -> tensor<3xf32> {
  %n = relex.constant dense<4> : tensor<i64>
  // CHECK-NEXT: %largest
  %largest = relex.max %i : (tensor<3xi64>) -> tensor<i64>
  %in_range = relex.less %largest, %n : (tensor<i64>, tensor<i64>) -> tensor<i1>
  relex.assert %in_range, "expected indices below 4" index %largest : tensor<i1>, tensor<i64>
  // CHECK-NEXT: relex.assert %c, "expected more" : tensor<i1>
  relex.assert %c, "expected more" : tensor<i1>
  // CHECK-NEXT: %y = relex.take
  %y = relex.take %x, %i axis = 0 : (tensor<4xf32>, tensor<3xi64>) -> tensor<3xf32>
  // CHECK-NEXT: func.call @helper
  %z = func.call @helper(%y, %largest) : (tensor<3xf32>, tensor<i64>) -> tensor<3xf32>
  func.return %z : tensor<3xf32>
}

// CHECK-LABEL: func.func private @helper
func.func private @helper(%x: tensor<3xf32>, %i: tensor<i64>) -> tensor<3xf32> {
  // CHECK-NEXT: func.return
  %zero = relex.constant dense<0> : tensor<i64>
  %valid = relex.greater_equal %i, %zero : (tensor<i64>, tensor<i64>) -> tensor<i1>
  relex.assert %valid, "expected indices from 0 on" index %i : tensor<i1>, tensor<i64>
  func.return %x : tensor<3xf32>
}
