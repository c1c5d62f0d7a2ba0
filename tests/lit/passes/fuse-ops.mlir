// RUN: relex-opt %s -p fuse-ops --split-input-file | filecheck %s
// RUN: relex-opt %s -p annotate-op-pattern,fuse-ops --split-input-file | filecheck %s
// RUN: relex-opt %s -p fuse-ops,fuse-ops --split-input-file | filecheck %s
// RUN: relex-opt %s -p fuse-ops{max-size=1} --split-input-file | filecheck %s --check-prefix=NONE
// NONE-NOT: relex.call @fused

// A product takes in what is done to each of its elements; arguments are named as in the caller. Equal groups share one
// function; constants stay outside.
// CHECK-LABEL: func.func @perceptron(
// CHECK-NEXT:    %lv2 = relex.call @fused_dense_add_relu(%x, %w0, %b0)
// CHECK-NEXT:    %b1 = relex.constant
// CHECK-NEXT:    %lv5 = relex.call @fused_dense_add_relu(%lv2, %w1, %b1)
// CHECK-NEXT:    func.return %lv5
func.func @perceptron(%x: tensor<2x3xf32>, %w0: tensor<3x3xf32>, %b0: tensor<3xf32>, %w1: tensor<3x3xf32>) -> tensor<2x3xf32> {
  %lv0 = relex.call_tir @dense(%x, %w0) : (tensor<2x3xf32>, tensor<3x3xf32>) -> tensor<2x3xf32>
  %lv1 = relex.call_tir @add(%lv0, %b0) : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  %lv2 = relex.call_tir @relu(%lv1) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %lv3 = relex.call_tir @dense(%lv2, %w1) : (tensor<2x3xf32>, tensor<3x3xf32>) -> tensor<2x3xf32>
  %b1 = relex.constant dense<[1.0, 2.0, 3.0]> : tensor<3xf32>
  %lv4 = relex.call_tir @add(%lv3, %b1) : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  %lv5 = relex.call_tir @relu(%lv4) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  func.return %lv5 : tensor<2x3xf32>
}
tir.prim_func private @dense(%x: memref<2x3xf32>, %w: memref<3x3xf32>) outs(%y: memref<2x3xf32>) attributes {tir.op_pattern = "out-elementwise-fusable"} {}
tir.prim_func private @add(%x: memref<2x3xf32>, %b: memref<3xf32>) outs(%y: memref<2x3xf32>) attributes {tir.op_pattern = "elementwise"} {}
tir.prim_func private @relu(%x: memref<2x3xf32>) outs(%y: memref<2x3xf32>) attributes {tir.op_pattern = "elementwise"} {}

// CHECK:       func.func private @fused_dense_add_relu(%x: tensor<2x3xf32>, %w0: tensor<3x3xf32>, %b0: tensor<3xf32>) -> tensor<2x3xf32> attributes {relex.primitive} {
// CHECK-NEXT:    %lv0 = relex.call_tir @dense(%x, %w0)
// CHECK-NEXT:    %lv1 = relex.call_tir @add(%lv0, %b0)
// CHECK-NEXT:    %lv2 = relex.call_tir @relu(%lv1)
// CHECK-NEXT:    func.return %lv2 : tensor<2x3xf32>
// CHECK-NOT:   @fused

// -----

// A product with two users is computed once: its users join again,
// CHECK-LABEL: func.func @two_users_that_meet(
// CHECK-NEXT:    %0 = relex.call @fused_dense_relu_exp_add(%x)
// CHECK-NEXT:    func.return %0
func.func @two_users_that_meet(%x: tensor<2x2xf32>) -> tensor<2x2xf32> {
  %0 = relex.call_tir @dense(%x, %x) : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  %1 = relex.call_tir @relu(%0) : (tensor<2x2xf32>) -> tensor<2x2xf32>
  %2 = relex.call_tir @exp(%0) : (tensor<2x2xf32>) -> tensor<2x2xf32>
  %3 = relex.call_tir @add(%1, %2) : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  func.return %3 : tensor<2x2xf32>
}

// or the group has several results, in whatever order they are needed. What needs one of them moves behind the group.
// CHECK-LABEL: func.func @two_users_that_do_not(
// CHECK-NEXT:    %0, %1 = relex.call @fused_dense_relu_exp(%x, %w)
// CHECK-NEXT:    %2 = relex.call_dps_packed "env.look"(%0)
// CHECK-NEXT:    func.return %1, %0, %2
func.func @two_users_that_do_not(%x: tensor<2x2xf32>, %w: tensor<2x2xf32>) -> (tensor<2x2xf32>, tensor<2x2xf32>, tensor<2x2xf32>) {
  %0 = relex.call_tir @dense(%x, %w) : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  %1 = relex.call_tir @relu(%0) : (tensor<2x2xf32>) -> tensor<2x2xf32>
  %2 = relex.call_dps_packed "env.look"(%1) : (tensor<2x2xf32>) -> tensor<2x2xf32>
  %3 = relex.call_tir @exp(%0) : (tensor<2x2xf32>) -> tensor<2x2xf32>
  func.return %3, %1, %2 : tensor<2x2xf32>, tensor<2x2xf32>, tensor<2x2xf32>
}

// A result that is returned and worked on is both.
// CHECK-LABEL: func.func @returned_too(
// CHECK-NEXT:    %0, %1 = relex.call @fused_dense_relu(%x)
// CHECK-NEXT:    func.return %0, %1
func.func @returned_too(%x: tensor<2x2xf32>) -> (tensor<2x2xf32>, tensor<2x2xf32>) {
  %0 = relex.call_tir @dense(%x, %x) : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  %1 = relex.call_tir @relu(%0) : (tensor<2x2xf32>) -> tensor<2x2xf32>
  func.return %0, %1 : tensor<2x2xf32>, tensor<2x2xf32>
}

// What lies between two calls outside of a group keeps them apart: the group would need itself.
// CHECK-LABEL: func.func @no_cycle(
// CHECK-NEXT:    %0 = relex.call_tir @exp(%x)
// CHECK-NEXT:    %1 = relex.call_tir @opaque(%0)
// CHECK-NEXT:    %2 = relex.call_tir @add(%0, %1)
func.func @no_cycle(%x: tensor<2x2xf32>) -> tensor<2x2xf32> {
  %0 = relex.call_tir @exp(%x) : (tensor<2x2xf32>) -> tensor<2x2xf32>
  %1 = relex.call_tir @opaque(%0) : (tensor<2x2xf32>) -> tensor<2x2xf32>
  %2 = relex.call_tir @add(%0, %1) : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  func.return %2 : tensor<2x2xf32>
}

// Two products are two kernels; the sum of both goes with one of them.
// CHECK-LABEL: func.func @two_products(
// CHECK-NEXT:    %[[A:.+]] = relex.call_tir @dense(
// CHECK-NEXT:    %[[B:.+]] = relex.call @fused_dense_add(
// CHECK-NEXT:    func.return %[[B]]
func.func @two_products(%x: tensor<2x2xf32>, %y: tensor<2x2xf32>) -> tensor<2x2xf32> {
  %0 = relex.call_tir @dense(%x, %x) : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  %1 = relex.call_tir @dense(%y, %y) : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  %2 = relex.call_tir @add(%0, %1) : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  func.return %2 : tensor<2x2xf32>
}

// A reduction ends its group.
// CHECK-LABEL: func.func @reductions(
// CHECK-NEXT:    %[[A:.+]] = relex.call @fused_exp_sum1(%x)
// CHECK-NEXT:    %[[B:.+]] = relex.call_tir @negate(%[[A]])
// CHECK-NEXT:    func.return %[[B]]
func.func @reductions(%x: tensor<2x2xf32>) -> tensor<2xf32> {
  %0 = relex.call_tir @exp(%x) : (tensor<2x2xf32>) -> tensor<2x2xf32>
  %1 = relex.call_tir @sum(%0) : (tensor<2x2xf32>) -> tensor<2xf32>
  %2 = relex.call_tir @negate(%1) : (tensor<2xf32>) -> tensor<2xf32>
  func.return %2 : tensor<2xf32>
}

// A product does not take in what is done to its arguments, nor a transposition of its result.
// CHECK-LABEL: func.func @not_before_a_product(
// CHECK-NEXT:    %0 = relex.call_tir @exp(%x)
// CHECK-NEXT:    %1 = relex.call_tir @dense(%0, %x)
// CHECK-NEXT:    %2 = relex.call_tir @transpose(%1)
func.func @not_before_a_product(%x: tensor<2x2xf32>) -> tensor<2x2xf32> {
  %0 = relex.call_tir @exp(%x) : (tensor<2x2xf32>) -> tensor<2x2xf32>
  %1 = relex.call_tir @dense(%0, %x) : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  %2 = relex.call_tir @transpose(%1) : (tensor<2x2xf32>) -> tensor<2x2xf32>
  func.return %2 : tensor<2x2xf32>
}

// CHECK-LABEL: func.func @injective_chain(
// CHECK-NEXT:    %0 = relex.call @fused_exp_transpose_relu_transpose(%x)
// CHECK-NEXT:    func.return %0
func.func @injective_chain(%x: tensor<2x2xf32>) -> tensor<2x2xf32> {
  %0 = relex.call_tir @exp(%x) : (tensor<2x2xf32>) -> tensor<2x2xf32>
  %1 = relex.call_tir @transpose(%0) : (tensor<2x2xf32>) -> tensor<2x2xf32>
  %2 = relex.call_tir @relu(%1) : (tensor<2x2xf32>) -> tensor<2x2xf32>
  %3 = relex.call_tir @transpose(%2) : (tensor<2x2xf32>) -> tensor<2x2xf32>
  func.return %3 : tensor<2x2xf32>
}

// Side effects stay where they are among each other; pure calls around them may fuse.
// CHECK-LABEL: func.func @impure_neighbours(
// CHECK-NEXT:    relex.call_dps_packed "env.first"(%x) {side_effects}
// CHECK-NEXT:    relex.call_dps_packed "env.second"(%x) {side_effects}
// CHECK-NEXT:    %[[A:.+]] = relex.call @fused_exp_relu(%x)
// CHECK-NEXT:    relex.call_dps_packed "env.third"(%[[A]]) {side_effects}
func.func @impure_neighbours(%x: tensor<2x2xf32>) -> tensor<2x2xf32> {
  relex.call_dps_packed "env.first"(%x) {side_effects} : (tensor<2x2xf32>) -> ()
  %0 = relex.call_tir @exp(%x) : (tensor<2x2xf32>) -> tensor<2x2xf32>
  relex.call_dps_packed "env.second"(%x) {side_effects} : (tensor<2x2xf32>) -> ()
  %1 = relex.call_tir @relu(%0) : (tensor<2x2xf32>) -> tensor<2x2xf32>
  relex.call_dps_packed "env.third"(%1) {side_effects} : (tensor<2x2xf32>) -> ()
  func.return %1 : tensor<2x2xf32>
}

// Each dataflow block is a separate graph; what it uses from outside are arguments.
// CHECK-LABEL: func.func @dataflow_blocks(
// CHECK-NEXT:    %0 = relex.call_tir @exp(%x)
// CHECK-NEXT:    %1 = relex.dataflow
// CHECK-NEXT:      %{{.+}} = relex.call @fused_relu_exp(%0)
func.func @dataflow_blocks(%x: tensor<2x2xf32>) -> tensor<2x2xf32> {
  %0 = relex.call_tir @exp(%x) : (tensor<2x2xf32>) -> tensor<2x2xf32>
  %1 = relex.dataflow -> tensor<2x2xf32> {
    %2 = relex.call_tir @relu(%0) : (tensor<2x2xf32>) -> tensor<2x2xf32>
    %3 = relex.call_tir @exp(%2) : (tensor<2x2xf32>) -> tensor<2x2xf32>
    relex.output %3 : tensor<2x2xf32>
  }
  func.return %1 : tensor<2x2xf32>
}

// A group that was made before takes in its users, under a new name; it stays for functions that still call it.
// CHECK-LABEL: func.func @custom_groups(
// CHECK-NEXT:    %0 = relex.call @fused_dense_add_relu(%x, %w)
// CHECK-NEXT:    %1 = relex.call @mine(%x, %w)
// CHECK-NEXT:    %2 = relex.call_tir @opaque(%1)
func.func @custom_groups(%x: tensor<2x2xf32>, %w: tensor<2x2xf32>) -> (tensor<2x2xf32>, tensor<2x2xf32>) {
  %0 = relex.call @mine(%x, %w) : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  %1 = relex.call_tir @relu(%0) : (tensor<2x2xf32>) -> tensor<2x2xf32>
  %2 = relex.call @mine(%x, %w) : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  %3 = relex.call_tir @opaque(%2) : (tensor<2x2xf32>) -> tensor<2x2xf32>
  func.return %1, %3 : tensor<2x2xf32>, tensor<2x2xf32>
}
func.func private @mine(%a: tensor<2x2xf32>, %b: tensor<2x2xf32>) -> tensor<2x2xf32> attributes {relex.primitive} {
  %c = relex.constant dense<2.0> : tensor<2x2xf32>
  %0 = relex.call_tir @dense(%a, %b) : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  %1 = relex.call_tir @add(%0, %c) : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  func.return %1 : tensor<2x2xf32>
}
// CHECK: func.func private @mine(
// CHECK: relex.call_tir @add(

// Operators and loop functions join each other.
// CHECK-LABEL: func.func @both(
// CHECK-NEXT:    %0 = relex.call @fused_exp_relu1(%x)
// CHECK-NEXT:    func.return %0
func.func @both(%x: tensor<2x2xf32>) -> tensor<2x2xf32> {
  %0 = relex.call @early(%x) : (tensor<2x2xf32>) -> tensor<2x2xf32>
  %1 = relex.call_tir @relu(%0) : (tensor<2x2xf32>) -> tensor<2x2xf32>
  func.return %1 : tensor<2x2xf32>
}
func.func private @early(%x: tensor<2x2xf32>) -> tensor<2x2xf32> attributes {relex.primitive} {
  %0 = relex.exp %x : (tensor<2x2xf32>) -> tensor<2x2xf32>
  func.return %0 : tensor<2x2xf32>
}

// Nor do groups that call groups, until `fuse-tir` has made functions of those.
// CHECK-LABEL: func.func @nested(
// CHECK-NEXT:    %0 = relex.call @outer(%x)
// CHECK-NEXT:    %1 = relex.call_tir @relu(%0)
func.func @nested(%x: tensor<2x2xf32>) -> tensor<2x2xf32> {
  %0 = relex.call @outer(%x) : (tensor<2x2xf32>) -> tensor<2x2xf32>
  %1 = relex.call_tir @relu(%0) : (tensor<2x2xf32>) -> tensor<2x2xf32>
  func.return %1 : tensor<2x2xf32>
}
func.func private @outer(%x: tensor<2x2xf32>) -> tensor<2x2xf32> attributes {relex.primitive} {
  %0 = relex.call @early(%x) : (tensor<2x2xf32>) -> tensor<2x2xf32>
  func.return %0 : tensor<2x2xf32>
}

// Names that are taken get a number.
func.func @fused_exp_sum() {
  func.return
}
// CHECK: func.func private @fused_exp_sum1(

tir.prim_func private @dense(%x: memref<2x2xf32>, %w: memref<2x2xf32>) outs(%y: memref<2x2xf32>) attributes {tir.op_pattern = "out-elementwise-fusable"} {}
tir.prim_func private @exp(%x: memref<2x2xf32>) outs(%y: memref<2x2xf32>) attributes {tir.op_pattern = "elementwise"} {}
tir.prim_func private @relu(%x: memref<2x2xf32>) outs(%y: memref<2x2xf32>) attributes {tir.op_pattern = "elementwise"} {}
tir.prim_func private @add(%x: memref<2x2xf32>, %b: memref<2x2xf32>) outs(%y: memref<2x2xf32>) attributes {tir.op_pattern = "elementwise"} {}
tir.prim_func private @transpose(%x: memref<2x2xf32>) outs(%y: memref<2x2xf32>) attributes {tir.op_pattern = "injective"} {}
tir.prim_func private @sum(%x: memref<2x2xf32>) outs(%y: memref<2xf32>) attributes {tir.op_pattern = "reduction"} {}
tir.prim_func private @negate(%x: memref<2xf32>) outs(%y: memref<2xf32>) attributes {tir.op_pattern = "elementwise"} {}
tir.prim_func private @opaque(%x: memref<2x2xf32>) outs(%y: memref<2x2xf32>) attributes {tir.op_pattern = "opaque"} {}

// -----

// Sizes are computed again in the group. A size that is an argument itself cannot be passed to a group.
// CHECK-LABEL: func.func @dynamic_sizes(
// CHECK:         %{{.+}} = relex.call @fused_relu_relu(%x)
// CHECK:         relex.call_tir @relu(%x) sizes(%n)
// CHECK-NEXT:    relex.call_tir @relu(%{{.+}}) sizes(%n)
func.func @dynamic_sizes(%x: tensor<?xf32>, %n: index) -> (tensor<?xf32>, tensor<?xf32>) {
  %c0 = arith.constant 0 : index
  %d = tensor.dim %x, %c0 : tensor<?xf32>
  %0 = relex.call_tir @relu(%x) sizes(%d) : (tensor<?xf32>) -> tensor<?xf32>
  %1 = relex.call_tir @relu(%0) sizes(%d) : (tensor<?xf32>) -> tensor<?xf32>
  %2 = relex.call_tir @relu(%x) sizes(%n) : (tensor<?xf32>) -> tensor<?xf32>
  %3 = relex.call_tir @relu(%2) sizes(%n) : (tensor<?xf32>) -> tensor<?xf32>
  func.return %1, %3 : tensor<?xf32>, tensor<?xf32>
}
tir.prim_func private @relu(%x: memref<?xf32>) outs(%y: memref<?xf32>) attributes {tir.op_pattern = "elementwise"} {}
// CHECK:       func.func private @fused_relu_relu(%x: tensor<?xf32>) -> tensor<?xf32> attributes {relex.primitive} {
// CHECK-NEXT:    %c0 = arith.constant 0 : index
// CHECK-NEXT:    %d = tensor.dim %x, %c0 : tensor<?xf32>
// CHECK-NEXT:    %0 = relex.call_tir @relu(%x) sizes(%d)
// CHECK-NEXT:    %1 = relex.call_tir @relu(%0) sizes(%d)
// CHECK-NEXT:    func.return %1

// -----

// A product of few rows reads the transposed operand where it comes from, if its terms may be added up in vectors; a
// transposition after which its terms still are contiguous, or that others read, stays outside.
// CHECK-LABEL: func.func @decode(
// CHECK-NEXT:    %[[S:.+]] = relex.call @fused_heads_transpose_scores(%k, %q)
// CHECK-NEXT:    func.return %[[S]]
func.func @decode(%q: tensor<2x32xf32>, %k: tensor<8x32xf32>) -> tensor<2x8xf32> {
  %0 = relex.call_tir @heads(%k) : (tensor<8x32xf32>) -> tensor<8x32xf32>
  %1 = relex.call_tir @transpose(%0) : (tensor<8x32xf32>) -> tensor<32x8xf32>
  %2 = relex.call_tir @scores(%q, %1) : (tensor<2x32xf32>, tensor<32x8xf32>) -> tensor<2x8xf32>
  func.return %2 : tensor<2x8xf32>
}
// CHECK-LABEL: func.func @in_order(
// CHECK-NEXT:    relex.call_tir @transpose(%k)
// CHECK-NEXT:    relex.call_tir @exact(
func.func @in_order(%q: tensor<2x32xf32>, %k: tensor<8x32xf32>) -> tensor<2x8xf32> {
  %1 = relex.call_tir @transpose(%k) : (tensor<8x32xf32>) -> tensor<32x8xf32>
  %2 = relex.call_tir @exact(%q, %1) : (tensor<2x32xf32>, tensor<32x8xf32>) -> tensor<2x8xf32>
  func.return %2 : tensor<2x8xf32>
}
// CHECK-LABEL: func.func @other_operand(
// CHECK-NEXT:    relex.call_tir @turn(%q)
// CHECK-NEXT:    relex.call_tir @scores(
func.func @other_operand(%q: tensor<32x2xf32>, %k: tensor<32x8xf32>) -> tensor<2x8xf32> {
  %1 = relex.call_tir @turn(%q) : (tensor<32x2xf32>) -> tensor<2x32xf32>
  %2 = relex.call_tir @scores(%1, %k) : (tensor<2x32xf32>, tensor<32x8xf32>) -> tensor<2x8xf32>
  func.return %2 : tensor<2x8xf32>
}
// CHECK-LABEL: func.func @returned_as_well(
// CHECK-NEXT:    relex.call_tir @transpose(%k)
// CHECK-NEXT:    relex.call_tir @scores(
func.func @returned_as_well(%q: tensor<2x32xf32>, %k: tensor<8x32xf32>) -> (tensor<32x8xf32>, tensor<2x8xf32>) {
  %1 = relex.call_tir @transpose(%k) : (tensor<8x32xf32>) -> tensor<32x8xf32>
  %2 = relex.call_tir @scores(%q, %1) : (tensor<2x32xf32>, tensor<32x8xf32>) -> tensor<2x8xf32>
  func.return %1, %2 : tensor<32x8xf32>, tensor<2x8xf32>
}
// CHECK-LABEL: func.func @few_terms(
// CHECK-NEXT:    relex.call_tir @transpose_few(%k)
// CHECK-NEXT:    relex.call_tir @few(
func.func @few_terms(%q: tensor<2x16xf32>, %k: tensor<8x16xf32>) -> tensor<2x8xf32> {
  %1 = relex.call_tir @transpose_few(%k) : (tensor<8x16xf32>) -> tensor<16x8xf32>
  %2 = relex.call_tir @few(%q, %1) : (tensor<2x16xf32>, tensor<16x8xf32>) -> tensor<2x8xf32>
  func.return %2 : tensor<2x8xf32>
}
tir.prim_func private @heads(%x: memref<8x32xf32>) outs(%y: memref<8x32xf32>) attributes {tir.op_pattern = "injective"} {}
tir.prim_func private @transpose(%x: memref<8x32xf32>) outs(%y: memref<32x8xf32>) {
  tir.for %i, %j in (32, 8) {
    tir.block @transpose (%vi: spatial<32> = %i, %vj: spatial<8> = %j) {
      %e = memref.load %x[%vj, %vi] : memref<8x32xf32>
      memref.store %e, %y[%vi, %vj] : memref<32x8xf32>
    }
  }
}
tir.prim_func private @turn(%x: memref<32x2xf32>) outs(%y: memref<2x32xf32>) {
  tir.for %i, %j in (2, 32) {
    tir.block @turn (%vi: spatial<2> = %i, %vj: spatial<32> = %j) {
      %e = memref.load %x[%vj, %vi] : memref<32x2xf32>
      memref.store %e, %y[%vi, %vj] : memref<2x32xf32>
    }
  }
}
tir.prim_func private @scores(%q: memref<2x32xf32>, %k: memref<32x8xf32>) outs(%y: memref<2x8xf32>) {
  tir.for %i, %j, %k0 in (2, 8, 32) {
    tir.block @scores (%vi: spatial<2> = %i, %vj: spatial<8> = %j, %vk: reduce<32> = %k0) {
      tir.init {
        %zero = arith.constant 0.0 : f32
        memref.store %zero, %y[%vi, %vj] : memref<2x8xf32>
      }
      %0 = memref.load %y[%vi, %vj] : memref<2x8xf32>
      %1 = memref.load %q[%vi, %vk] : memref<2x32xf32>
      %2 = memref.load %k[%vk, %vj] : memref<32x8xf32>
      %3 = arith.mulf %1, %2 : f32
      %4 = arith.addf %0, %3 fastmath<reassoc> : f32
      memref.store %4, %y[%vi, %vj] : memref<2x8xf32>
    }
  }
}
tir.prim_func private @exact(%q: memref<2x32xf32>, %k: memref<32x8xf32>) outs(%y: memref<2x8xf32>) {
  tir.for %i, %j, %k0 in (2, 8, 32) {
    tir.block @exact (%vi: spatial<2> = %i, %vj: spatial<8> = %j, %vk: reduce<32> = %k0) {
      tir.init {
        %zero = arith.constant 0.0 : f32
        memref.store %zero, %y[%vi, %vj] : memref<2x8xf32>
      }
      %0 = memref.load %y[%vi, %vj] : memref<2x8xf32>
      %1 = memref.load %q[%vi, %vk] : memref<2x32xf32>
      %2 = memref.load %k[%vk, %vj] : memref<32x8xf32>
      %3 = arith.mulf %1, %2 : f32
      %4 = arith.addf %0, %3 : f32
      memref.store %4, %y[%vi, %vj] : memref<2x8xf32>
    }
  }
}
tir.prim_func private @transpose_few(%x: memref<8x16xf32>) outs(%y: memref<16x8xf32>) {
  tir.for %i, %j in (16, 8) {
    tir.block @transpose_few (%vi: spatial<16> = %i, %vj: spatial<8> = %j) {
      %e = memref.load %x[%vj, %vi] : memref<8x16xf32>
      memref.store %e, %y[%vi, %vj] : memref<16x8xf32>
    }
  }
}
tir.prim_func private @few(%q: memref<2x16xf32>, %k: memref<16x8xf32>) outs(%y: memref<2x8xf32>) {
  tir.for %i, %j, %k0 in (2, 8, 16) {
    tir.block @few (%vi: spatial<2> = %i, %vj: spatial<8> = %j, %vk: reduce<16> = %k0) {
      tir.init {
        %zero = arith.constant 0.0 : f32
        memref.store %zero, %y[%vi, %vj] : memref<2x8xf32>
      }
      %0 = memref.load %y[%vi, %vj] : memref<2x8xf32>
      %1 = memref.load %q[%vi, %vk] : memref<2x16xf32>
      %2 = memref.load %k[%vk, %vj] : memref<16x8xf32>
      %3 = arith.mulf %1, %2 : f32
      %4 = arith.addf %0, %3 fastmath<reassoc> : f32
      memref.store %4, %y[%vi, %vj] : memref<2x8xf32>
    }
  }
}
