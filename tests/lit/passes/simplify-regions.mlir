// RUN: relex-opt %s -p fold-constants,simplify-regions,remove-unused | filecheck %s

// CHECK-LABEL: func.func @known_branch
// CHECK-NEXT:    func.return %x
func.func @known_branch(%x: tensor<4xf32>) -> tensor<4xf32> {
  %a = relex.constant dense<1.0> : tensor<f32>
  %b = relex.constant dense<2.0> : tensor<f32>
  %c = relex.less %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
  %p = tensor.extract %c[] : tensor<i1>
  %y = scf.if %p -> (tensor<4xf32>) {
    scf.yield %x : tensor<4xf32>
  } else {
    %0 = relex.negative %x : (tensor<4xf32>) -> tensor<4xf32>
    scf.yield %0 : tensor<4xf32>
  }
  func.return %y : tensor<4xf32>
}

// CHECK-LABEL: func.func @known_case
// CHECK-NEXT:    %[[Y:.+]] = relex.negative %x
// CHECK-NEXT:    func.return %[[Y]]
func.func @known_case(%x: tensor<4xf32>) -> tensor<4xf32> {
  %c2 = arith.constant 2 : index
  %y = scf.index_switch %c2 -> tensor<4xf32>
  case 2 {
    %0 = relex.negative %x : (tensor<4xf32>) -> tensor<4xf32>
    scf.yield %0 : tensor<4xf32>
  }
  default {
    scf.yield %x : tensor<4xf32>
  }
  func.return %y : tensor<4xf32>
}

// CHECK-LABEL: func.func @few_trips
// CHECK-NOT:     scf
// CHECK:         %[[Z:.+]] = relex.negative %x
// CHECK-NEXT:    func.return %x, %[[Z]], %x
func.func @few_trips(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %never = arith.constant false
  %y = scf.for %i = %c0 to %c0 step %c1 iter_args(%s = %x) -> (tensor<4xf32>) {
    %0 = relex.negative %s : (tensor<4xf32>) -> tensor<4xf32>
    scf.yield %0 : tensor<4xf32>
  }
  %z = scf.for %i = %c0 to %c1 step %c1 iter_args(%s = %x) -> (tensor<4xf32>) {
    %0 = relex.negative %s : (tensor<4xf32>) -> tensor<4xf32>
    scf.yield %0 : tensor<4xf32>
  }
  %w = scf.while (%s = %x) : (tensor<4xf32>) -> tensor<4xf32> {
    scf.condition(%never) %s : tensor<4xf32>
  } do {
  ^bb0(%s: tensor<4xf32>):
    %0 = relex.negative %s : (tensor<4xf32>) -> tensor<4xf32>
    scf.yield %0 : tensor<4xf32>
  }
  func.return %y, %z, %w : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// What no trip changes is computed before, what is carried unchanged is not, and what nobody uses is not computed.
// CHECK-LABEL: func.func @invariants
// CHECK:         %[[E:.+]] = relex.exp %x
// CHECK-NEXT:    %[[Y:.+]] = scf.for {{.*}} iter_args(%a = %x) -> (tensor<4xf32>) {
// CHECK-NEXT:      %[[NEXT:.+]] = relex.add %a, %[[E]]
// CHECK-NEXT:      scf.yield %[[NEXT]]
// CHECK-NEXT:    }
// CHECK-NEXT:    func.return %[[Y]], %x
func.func @invariants(%x: tensor<4xf32>, %n: index) -> (tensor<4xf32>, tensor<4xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %y:3 = scf.for %i = %c0 to %n step %c1 iter_args(%a = %x, %b = %x, %c = %x)
      -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
    %0 = relex.exp %b : (tensor<4xf32>) -> tensor<4xf32>
    %1 = relex.add %a, %0 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %2 = relex.maximum %c, %a : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    scf.yield %1, %b, %2 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
  }
  func.return %y#0, %y#1 : tensor<4xf32>, tensor<4xf32>
}

// CHECK-LABEL: func.func @while
// CHECK:         %[[E:.+]] = relex.exp %x
// CHECK-NEXT:    %[[Y:.+]] = scf.while (%[[A:.+]] = %x) : (tensor<4xf32>) -> tensor<4xf32> {
// CHECK-NEXT:      %[[P:.+]] = tensor.extract %flag
// CHECK-NEXT:      scf.condition(%[[P]]) %[[A]] : tensor<4xf32>
// CHECK:         ^bb0(%[[B:.+]]: tensor<4xf32>):
// CHECK-NEXT:      %[[NEXT:.+]] = relex.add %[[B]], %[[E]]
// CHECK-NEXT:      scf.yield %[[NEXT]]
func.func @while(%x: tensor<4xf32>, %flag: tensor<4xi1>, %i: index) -> tensor<4xf32> {
  %y:3 = scf.while (%a = %x, %b = %x, %c = %x)
      : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
    // An index that may be out of range is checked where it is.
    %p = tensor.extract %flag[%i] : tensor<4xi1>
    scf.condition(%p) %a, %b, %c : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
  } do {
  ^bb0(%a: tensor<4xf32>, %b: tensor<4xf32>, %c: tensor<4xf32>):
    %0 = relex.exp %b : (tensor<4xf32>) -> tensor<4xf32>
    %1 = relex.add %a, %0 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    scf.yield %1, %b, %x : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
  }
  func.return %y#0 : tensor<4xf32>
}

// Unused results of a branch are not given.
// CHECK-LABEL: func.func @unused
// CHECK:         %[[Y:.+]] = scf.if %p -> (tensor<4xf32>) {
// CHECK-NOT:       relex.exp
// CHECK:           scf.yield %{{.+}} : tensor<4xf32>
func.func @unused(%p: i1, %x: tensor<4xf32>) -> tensor<4xf32> {
  %y:2 = scf.if %p -> (tensor<4xf32>, tensor<4xf32>) {
    %0 = relex.exp %x : (tensor<4xf32>) -> tensor<4xf32>
    scf.yield %0, %x : tensor<4xf32>, tensor<4xf32>
  } else {
    %0 = relex.negative %x : (tensor<4xf32>) -> tensor<4xf32>
    scf.yield %x, %0 : tensor<4xf32>, tensor<4xf32>
  }
  func.return %y#1 : tensor<4xf32>
}

// What a loop without trips requires of sizes, the program requires.
// CHECK-LABEL: func.func @required
// CHECK-SAME:    %x: tensor<?xf32> {relex.dims = ["x_d0"]}, %y: tensor<?xf32> {relex.dims = ["x_d0"]}
// CHECK-NOT:     scf
func.func @required(%x: tensor<?xf32>, %y: tensor<?xf32>) -> tensor<?xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %z = scf.for %i = %c0 to %c0 step %c1 iter_args(%s = %x) -> (tensor<?xf32>) {
    %0 = relex.add %s, %y : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
    scf.yield %0 : tensor<?xf32>
  }
  func.return %z : tensor<?xf32>
}
