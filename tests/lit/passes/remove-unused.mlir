// RUN: relex-opt %s -p remove-unused | filecheck %s
// RUN: relex-opt %s -p remove-unused,remove-unused | filecheck %s

// CHECK-LABEL: func.func @seeds(
func.func @seeds(%x: tensor<3x4xf32>, %y: tensor<3x4xf32>) -> tensor<3x4xf32> {
  // CHECK-NEXT: %gv0 = relex.dataflow -> tensor<3x4xf32> {
  // CHECK-NEXT:   relex.ewise_fma %x, %y, %y
  // CHECK-NEXT:   relex.output
  %gv0 = relex.dataflow -> tensor<3x4xf32> {
    %lv0 = relex.multiply %x, %y : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
    %gv1 = relex.ewise_fma %x, %y, %y : (tensor<3x4xf32>, tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
    relex.output %gv1 : tensor<3x4xf32>
  }
  func.return %gv0 : tensor<3x4xf32>
}

// Results of blocks that nobody uses, and what only they needed: the first block goes as a whole.
// CHECK-LABEL: func.func @results_of_blocks(
func.func @results_of_blocks(%x: tensor<?xf32>) -> (tensor<?xf32>, tensor<?xf32>) {
  // CHECK-NEXT: %r, %r_1 = relex.dataflow -> tensor<?xf32>, tensor<?xf32> {
  // CHECK-NEXT:   %b = relex.relu %x
  // CHECK-NEXT:   %d = relex.abs %x
  // CHECK-NEXT:   relex.output %d, %b : tensor<?xf32>, tensor<?xf32>
  // CHECK-NEXT: } {note = "kept"}
  // CHECK-NEXT: func.return %r_1, %r : tensor<?xf32>, tensor<?xf32>
  %a = relex.dataflow -> tensor<?xf32> {
    %0 = relex.exp %x : (tensor<?xf32>) -> tensor<?xf32>
    relex.output %0 : tensor<?xf32>
  }
  %r:4 = relex.dataflow -> tensor<?xf32>, tensor<?xf32>, tensor<?xf32>, tensor<?xf32> {
    %b = relex.relu %x : (tensor<?xf32>) -> tensor<?xf32>
    %c = relex.tanh %a : (tensor<?xf32>) -> tensor<?xf32>
    %d = relex.abs %x : (tensor<?xf32>) -> tensor<?xf32>
    relex.output %c, %d, %b, %x : tensor<?xf32>, tensor<?xf32>, tensor<?xf32>, tensor<?xf32>
  } {note = "kept"}
  func.return %r#2, %r#1 : tensor<?xf32>, tensor<?xf32>
}

// CHECK-LABEL: func.func @nothing_is_left(
// CHECK-NEXT:    func.return
func.func @nothing_is_left(%x: tensor<4xf32>) {
  relex.dataflow {
    relex.output
  }
  %a:2 = relex.dataflow -> tensor<4xf32>, tensor<4xf32> {
    %0 = relex.call_dps_packed "env.relu"(%x) : (tensor<4xf32>) -> tensor<4xf32>
    relex.output %0, %x : tensor<4xf32>, tensor<4xf32>
  }
  %1 = relex.call @group_of_none(%a#0) : (tensor<4xf32>) -> tensor<4xf32>
  %2 = relex.call_tir @loops_of_none(%1) : (tensor<4xf32>) -> tensor<4xf32>
  %3 = arith.constant 1 : i32
  func.return
}

// CHECK-LABEL: func.func @effects_stay(
func.func @effects_stay(%x: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK-NEXT: relex.alloc_tensor
  // CHECK-NEXT: relex.relu
  // CHECK-NEXT: relex.call_dps_packed "env.log"
  // CHECK-NEXT: relex.call_dps_packed "env.rand"
  // CHECK-NEXT: func.call @used
  // CHECK-NEXT: func.return
  %0 = relex.alloc_tensor : tensor<4xf32>
  %1 = relex.relu %x : (tensor<4xf32>) -> tensor<4xf32>
  relex.call_dps_packed "env.log"(%1) {side_effects} : (tensor<4xf32>) -> ()
  %2 = relex.call_dps_packed "env.rand"() {side_effects} : () -> tensor<4xf32>
  %3 = func.call @used(%x) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %x : tensor<4xf32>
}

// Private functions are needed by what needs them, not by each other nor by themselves. The others are for anybody.
// CHECK-NOT:   _none
// CHECK:       func.func private @used(
// CHECK:         relex.call @group(
// CHECK-LABEL: func.func private @group(
// CHECK:         relex.call_tir @loops(
// CHECK-LABEL: tir.prim_func private @loops(
// CHECK-LABEL: func.func @nobody_calls_it(
// CHECK-LABEL: func.func private @is_named
// CHECK-LABEL: func.func @names_it
// CHECK-SAME:    @is_named
// CHECK-LABEL: tir.prim_func @public_loops(
// CHECK-NOT:   _none
func.func private @used(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = relex.call @group(%x) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}
func.func private @group(%x: tensor<4xf32>) -> tensor<4xf32> attributes {relex.primitive} {
  %0 = relex.call_tir @loops(%x) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}
tir.prim_func private @loops(%x: memref<4xf32>) outs(%y: memref<4xf32>) {
}
tir.prim_func private @loops_of_none(%x: memref<4xf32>) outs(%y: memref<4xf32>) {
}
func.func private @group_of_none(%x: tensor<4xf32>) -> tensor<4xf32> attributes {relex.primitive} {
  func.return %x : tensor<4xf32>
}
func.func private @calls_itself_none(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = func.call @calls_back_none(%x) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}
func.func private @calls_back_none(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = func.call @calls_itself_none(%x) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}
func.func private @declared_none()
func.func @nobody_calls_it() {
  func.return
}
func.func private @is_named()
func.func @names_it() attributes {like = [{callee = @is_named}]} {
  func.return
}
tir.prim_func @public_loops(%x: memref<4xf32>) outs(%y: memref<4xf32>) {
}

// What only a removed op requires of the sizes is stated.
// CHECK-LABEL: func.func @sizes(
// CHECK-SAME: %x: tensor<?xf32> {relex.dims = ["x_d0"]}) -> (tensor<?xf32> {relex.dims = ["x_d0"]})
// CHECK-SAME: attributes {relex.requires = ["1 <= x_d0"]}
func.func @sizes(%x: tensor<?xf32>) -> tensor<?xf32> {
  // CHECK-NEXT: func.return %x
  %0 = relex.max %x axis = [0] : (tensor<?xf32>) -> tensor<f32>
  func.return %x : tensor<?xf32>
}
