// RUN: relex-opt %s -p fuse-ewise-fma | filecheck %s
// RUN: relex-opt %s -p fuse-ewise-fma,fuse-ewise-fma | filecheck %s
// RUN: relex-opt %s -p fuse-ewise-fma --print-debuginfo | filecheck %s --check-prefix=LOC
// RUN: relex-opt %s -p fuse-ewise-fma --print-debuginfo | relex-opt | filecheck %s

// CHECK-LABEL: @in_a_dataflow_block
func.func @in_a_dataflow_block(%x: tensor<3x4xf32>, %y: tensor<3x4xf32>) -> tensor<3x4xf32> {
  %gv0 = relex.dataflow -> tensor<3x4xf32> {
    // CHECK-NOT:  relex.multiply
    // CHECK:      %gv0_1 = relex.ewise_fma %x, %y, %y : (tensor<3x4xf32>, tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
    // CHECK-NEXT: relex.output %gv0_1
    // LOC:        relex.ewise_fma {{.*}} loc(fused["{{.*}}.mlir":{{[0-9]+}}:12, "{{.*}}.mlir":{{[0-9]+}}:12])
    %lv0 = relex.multiply %x, %y : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
    %gv0 = relex.add %lv0, %y : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
    relex.output %gv0 : tensor<3x4xf32>
  }
  func.return %gv0 : tensor<3x4xf32>
}

// CHECK-LABEL: @product_on_the_right
func.func @product_on_the_right(%x: tensor<4xi1>, %y: tensor<4xi1>, %z: tensor<4xi1>) -> tensor<4xi1> {
  // CHECK-NEXT: %b = relex.ewise_fma %x, %y, %z
  // CHECK-NEXT: func.return %b
  %a = relex.multiply %x, %y : (tensor<4xi1>, tensor<4xi1>) -> tensor<4xi1>
  %b = relex.add %z, %a : (tensor<4xi1>, tensor<4xi1>) -> tensor<4xi1>
  func.return %b : tensor<4xi1>
}

// CHECK-LABEL: @sum_of_products
func.func @sum_of_products(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK-NEXT: %b = relex.multiply %y, %y
  // CHECK-NEXT: %c = relex.ewise_fma %x, %x, %b
  // CHECK-NEXT: func.return %c
  %a = relex.multiply %x, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %b = relex.multiply %y, %y : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %c = relex.add %a, %b : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return %c : tensor<4xf32>
}

// One product has another user, so the other one is taken.
// CHECK-LABEL: @one_product_has_another_user
func.func @one_product_has_another_user(%x: tensor<4xf32>, %y: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  // CHECK-NEXT: %a = relex.multiply %x, %x
  // CHECK-NEXT: %c = relex.ewise_fma %y, %y, %a
  // CHECK-NEXT: func.return %c, %a
  %a = relex.multiply %x, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %b = relex.multiply %y, %y : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %c = relex.add %a, %b : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return %c, %a : tensor<4xf32>, tensor<4xf32>
}

// CHECK-LABEL: @a_chain
func.func @a_chain(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK-NEXT: %b = relex.ewise_fma %x, %y, %y
  // CHECK-NEXT: %d = relex.ewise_fma %b, %x, %y
  // CHECK-NEXT: func.return %d
  %a = relex.multiply %x, %y : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %b = relex.add %a, %y : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %c = relex.multiply %b, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %d = relex.add %y, %c : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return %d : tensor<4xf32>
}

// Shapes broadcast in the product and once more in the sum; sizes may be unknown.
// CHECK-LABEL: @broadcasting
func.func @broadcasting(%x: tensor<?x1xf32>, %y: tensor<4xf32>, %z: tensor<2x3x4xf32>) -> tensor<2x3x4xf32> {
  // CHECK-NEXT: relex.ewise_fma %x, %y, %z : (tensor<?x1xf32>, tensor<4xf32>, tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
  // CHECK-NEXT: func.return
  %a = relex.multiply %x, %y : (tensor<?x1xf32>, tensor<4xf32>) -> tensor<?x4xf32>
  %b = relex.add %a, %z : (tensor<?x4xf32>, tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
  func.return %b : tensor<2x3x4xf32>
}

// In a fused group the same holds.
// CHECK-LABEL: @group
func.func private @group(%x: tensor<4xf32>) -> tensor<4xf32> attributes {relex.primitive} {
  // CHECK-NEXT: relex.ewise_fma %x, %x, %x
  %a = relex.multiply %x, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %b = relex.add %a, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return %b : tensor<4xf32>
}

// CHECK-LABEL: @product_is_returned
func.func @product_is_returned(%x: tensor<4xf32>, %y: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  // CHECK-NEXT: relex.multiply
  // CHECK-NEXT: relex.add
  %a = relex.multiply %x, %y : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %b = relex.add %a, %y : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return %a, %b : tensor<4xf32>, tensor<4xf32>
}

// CHECK-LABEL: @product_is_used_twice
func.func @product_is_used_twice(%x: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK-NEXT: relex.multiply
  // CHECK-NEXT: relex.add
  %a = relex.multiply %x, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %b = relex.add %a, %a : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return %b : tensor<4xf32>
}

// What runs once must not run in every iteration.
// CHECK-LABEL: @product_is_outside_of_the_loop
func.func @product_is_outside_of_the_loop(%x: tensor<4xf32>, %n: index) -> tensor<4xf32> {
  // CHECK: relex.multiply
  // CHECK: scf.for
  // CHECK: relex.add
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %a = relex.multiply %x, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %b = scf.for %i = %zero to %n step %one iter_args(%y = %x) -> (tensor<4xf32>) {
    %c = relex.add %a, %y : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    scf.yield %c : tensor<4xf32>
  }
  func.return %b : tensor<4xf32>
}

// CHECK-LABEL: @other_operators
func.func @other_operators(%x: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK-NEXT: relex.divide
  // CHECK-NEXT: relex.add
  // CHECK-NEXT: relex.multiply
  // CHECK-NEXT: relex.subtract
  %a = relex.divide %x, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %b = relex.add %a, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %c = relex.multiply %b, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %d = relex.subtract %c, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return %d : tensor<4xf32>
}
