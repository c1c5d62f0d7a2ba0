// RUN: relex-opt %s -p carry-numbers --split-input-file | filecheck %s
// RUN: relex-opt %s -p carry-numbers,carry-numbers --split-input-file | filecheck %s

// The test passes on what it is given, and a number that it computes.
// CHECK-LABEL: func.func @conditional(
// CHECK-NEXT:    %[[X:.+]] = tensor.extract %x[] : tensor<i64>
// CHECK-NEXT:    %[[Y:.+]], %[[Q:.+]] = scf.while (%[[A:.+]] = %[[X]], %[[S:[a-z_0-9]+]] = %s) : (i64, tensor<4xf32>) -> (i64, tensor<4xf32>) {
// CHECK-NEXT:      %[[T:.+]] = tensor.from_elements %[[A]] : tensor<i64>
// CHECK-NEXT:      %more = relex.greater %[[T]], %x : (tensor<i64>, tensor<i64>) -> tensor<i1>
// CHECK-NEXT:      %goes_on = tensor.extract %more[] : tensor<i1>
// CHECK-NEXT:      scf.condition(%goes_on) %[[A]], %[[S]] : i64, tensor<4xf32>
// CHECK:         ^{{.+}}(%[[B:.+]]: i64, %[[R:.+]]: tensor<4xf32>):
// CHECK-NEXT:      %[[U:.+]] = tensor.from_elements %[[B]] : tensor<i64>
// CHECK-NEXT:      %b = relex.add %[[U]], %x : (tensor<i64>, tensor<i64>) -> tensor<i64>
// CHECK-NEXT:      %[[N:.+]] = tensor.extract %b[] : tensor<i64>
// CHECK-NEXT:      scf.yield %[[N]], %[[R]] : i64, tensor<4xf32>
// CHECK:         %[[E:.+]] = tensor.from_elements %[[Y]] : tensor<i64>
// CHECK-NEXT:    func.return %[[E]], %[[Q]] : tensor<i64>, tensor<4xf32>
func.func @conditional(%x: tensor<i64>, %s: tensor<4xf32>) -> (tensor<i64>, tensor<4xf32>) {
  %y:2 = scf.while (%a = %x, %r = %s) : (tensor<i64>, tensor<4xf32>) -> (tensor<i64>, tensor<4xf32>) {
    %more = relex.greater %a, %x : (tensor<i64>, tensor<i64>) -> tensor<i1>
    %goes_on = tensor.extract %more[] : tensor<i1>
    scf.condition(%goes_on) %a, %r : tensor<i64>, tensor<4xf32>
  } do {
  ^bb0(%a: tensor<i64>, %r: tensor<4xf32>):
    %b = relex.add %a, %x : (tensor<i64>, tensor<i64>) -> tensor<i64>
    scf.yield %b, %r : tensor<i64>, tensor<4xf32>
  }
  func.return %y#0, %y#1 : tensor<i64>, tensor<4xf32>
}

// -----

// Loops in one another, and an element that is taken out of a tensor.
// CHECK-LABEL: func.func @nested(
// CHECK:         %[[X:.+]] = tensor.extract %x[%{{.+}}, %{{.+}}] : tensor<1x1xf32>
// CHECK-NEXT:    %[[Y:.+]] = scf.for %i = %c0 to %n step %c1 iter_args(%[[A:.+]] = %[[X]]) -> (f32) {
// CHECK-NEXT:      %[[Z:.+]] = scf.for %j = %c0 to %i step %c1 iter_args(%[[B:.+]] = %[[A]]) -> (f32) {
// CHECK-NEXT:        %[[F:.+]] = arith.addf %[[B]], %[[B]] : f32
// CHECK-NEXT:        scf.yield %[[F]] : f32
// CHECK-NEXT:      }
// CHECK:           scf.yield %[[Z]] : f32
// CHECK:         %[[E:.+]] = tensor.from_elements %[[Y]] : tensor<1x1xf32>
// CHECK-NEXT:    func.return %[[E]]
func.func @nested(%x: tensor<1x1xf32>, %n: index) -> tensor<1x1xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %y = scf.for %i = %c0 to %n step %c1 iter_args(%a = %x) -> (tensor<1x1xf32>) {
    %z = scf.for %j = %c0 to %i step %c1 iter_args(%b = %a) -> (tensor<1x1xf32>) {
      %e = tensor.extract %b[%c0, %c0] : tensor<1x1xf32>
      %f = arith.addf %e, %e : f32
      %t = tensor.from_elements %f : tensor<1x1xf32>
      scf.yield %t : tensor<1x1xf32>
    }
    scf.yield %z : tensor<1x1xf32>
  }
  func.return %y : tensor<1x1xf32>
}

// -----

// An index that is no constant is checked; numbers of other types stay in memory.
// CHECK-LABEL: func.func @others(
// CHECK:         scf.for %i = %c0 to %n step %c1 iter_args(%[[A:.+]] = %[[X:.+]], %b = %y, %c = %z) -> (i1, tensor<f16>, tensor<2xi64>) {
// CHECK:           %[[T:.+]] = tensor.from_elements %[[A]] : tensor<1xi1>
// CHECK:           tensor.extract %[[T]][%i] : tensor<1xi1>
func.func @others(%x: tensor<1xi1>, %y: tensor<f16>, %z: tensor<2xi64>, %n: index) -> (tensor<1xi1>, tensor<f16>, tensor<2xi64>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r:3 = scf.for %i = %c0 to %n step %c1 iter_args(%a = %x, %b = %y, %c = %z) -> (tensor<1xi1>, tensor<f16>, tensor<2xi64>) {
    %e = tensor.extract %a[%i] : tensor<1xi1>
    %t = tensor.from_elements %e : tensor<1xi1>
    %d = relex.negative %b : (tensor<f16>) -> tensor<f16>
    scf.yield %t, %d, %c : tensor<1xi1>, tensor<f16>, tensor<2xi64>
  }
  func.return %r#0, %r#1, %r#2 : tensor<1xi1>, tensor<f16>, tensor<2xi64>
}
