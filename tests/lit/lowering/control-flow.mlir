// RUN: relex-opt %s -p legalize-ops,lower-call-tir,plan-memory | filecheck %s

// What both branches give is written to the place of the result.
// CHECK-LABEL: func.func @branches
// CHECK:         scf.if %p {
// CHECK-NEXT:      tir.call @negative(%x, %out)
// CHECK-NEXT:    } else {
// CHECK-NEXT:      "memref.copy"(%x, %out)
// CHECK-NEXT:    }
// CHECK-NEXT:    func.return
func.func @branches(%p: i1, %x: tensor<8xf32>) -> tensor<8xf32> {
  %y = scf.if %p -> (tensor<8xf32>) {
    %0 = relex.negative %x : (tensor<8xf32>) -> tensor<8xf32>
    scf.yield %0 : tensor<8xf32>
  } else {
    scf.yield %x : tensor<8xf32>
  }
  func.return %y : tensor<8xf32>
}

// A trip that reads each element only where it writes it works in place.
// CHECK-LABEL: func.func @in_place
// CHECK:         "memref.copy"(%x, %y)
// CHECK-NEXT:    scf.for %i = %c0{{.*}} to %n step %c1 {
// CHECK-NEXT:      tir.call @add_in_place(%x, %y)
// CHECK-NEXT:      %[[GO:.+]] = func.call @relex_goes_on() : () -> i1
// CHECK-NEXT:      cf.assert %[[GO]]
// CHECK-NEXT:    }
// CHECK-NEXT:    "memref.copy"(%y, %out)
func.func @in_place(%x: tensor<8xf32>, %n: index) -> tensor<8xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %y = scf.for %i = %c0 to %n step %c1 iter_args(%s = %x) -> (tensor<8xf32>) {
    %0 = relex.add %s, %x : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
    scf.yield %0 : tensor<8xf32>
  }
  func.return %y : tensor<8xf32>
}

// Other trips alternate between two places, and what they need besides has the same place in all of them.
// CHECK-LABEL: func.func @alternating
// CHECK:         scf.for {{.*}} iter_args(%s = %{{.+}}, %s_1 = %{{.+}}) -> (memref<8xf32>, memref<8xf32>) {
// CHECK-NEXT:      %[[INNER:.+]] = memref.view %arena
// CHECK-NEXT:      tir.call @negative(%s, %[[INNER]])
// CHECK-NEXT:      tir.call @dense(%s, %w, %s_1)
// CHECK:           scf.yield %s_1, %s
// CHECK-NOT:       memref.alloc(
func.func @alternating(%x: tensor<8xf32>, %w: tensor<8x8xf32>, %n: index) -> tensor<8xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %y = scf.for %i = %c0 to %n step %c1 iter_args(%s = %x) -> (tensor<8xf32>) {
    %0 = relex.negative %s : (tensor<8xf32>) -> tensor<8xf32>
    %1 = relex.dense %s, %w : (tensor<8xf32>, tensor<8x8xf32>) -> tensor<8xf32>
    %2 = relex.max %0 : (tensor<8xf32>) -> tensor<f32>
    scf.yield %1 : tensor<8xf32>
  }
  func.return %y : tensor<8xf32>
}

// A step that may be 0 is checked, and so is an index.
// CHECK-LABEL: func.func @checked
// CHECK:         cf.assert %{{.+}}, "expected a step of 1 or more"
// CHECK:         scf.for
// CHECK:           func.call @relex_found_index
// CHECK-NEXT:      cf.assert %{{.+}}, "expected an index from 0 to 7"
// CHECK-NEXT:      memref.load %x[%i]
func.func @checked(%x: tensor<8xf32>, %n: index) -> f32 {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %y = scf.for %i = %c0 to %n step %n iter_args(%s = %zero) -> (f32) {
    %0 = tensor.extract %x[%i] : tensor<8xf32>
    %1 = arith.addf %s, %0 : f32
    scf.yield %1 : f32
  }
  func.return %y : f32
}
