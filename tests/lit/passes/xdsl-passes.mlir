// RUN: relex-opt %s -p cse | filecheck %s --check-prefixes=CHECK,CSE
// RUN: relex-opt %s -p dce | filecheck %s --check-prefixes=CHECK,DCE
// RUN: relex-opt %s -p licm | filecheck %s --check-prefixes=CHECK,LICM
// RUN: relex-opt %s -p cse,dce,licm,canonicalize,cse -o %t.mlir && relex-opt %t.mlir

// xDSL's generic passes know which of our ops are pure, and what makes two of them different.

// CHECK-LABEL: func.func @equal_ops(
func.func @equal_ops(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
  // CSE-NEXT:  %a = relex.clip %x min = 0.0
  // CSE-NEXT:  %c = relex.clip %x min = -0.0
  // CSE-NEXT:  %d = relex.call @group(%a)
  // CSE-NEXT:  %r = relex.dataflow
  // CSE-NEXT:    %h = relex.ewise_fma %a, %c, %d
  // CSE-NEXT:    relex.add %h, %h
  %a = relex.clip %x min = 0.0 : f32 : (tensor<?x4xf32>) -> tensor<?x4xf32>
  %b = relex.clip %x min = 0.0 : f32 : (tensor<?x4xf32>) -> tensor<?x4xf32>
  %c = relex.clip %x min = -0.0 : f32 : (tensor<?x4xf32>) -> tensor<?x4xf32>
  %d = relex.call @group(%a) : (tensor<?x4xf32>) -> tensor<?x4xf32>
  %e = relex.call @group(%b) : (tensor<?x4xf32>) -> tensor<?x4xf32>
  %r = relex.dataflow -> tensor<?x4xf32> {
    %h = relex.ewise_fma %a, %c, %d : (tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<?x4xf32>
    %i = relex.ewise_fma %b, %c, %e : (tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<?x4xf32>
    %j = relex.add %h, %i : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<?x4xf32>
    relex.output %j : tensor<?x4xf32>
  }
  func.return %r : tensor<?x4xf32>
}

// CHECK-LABEL: func.func @equal_constants(
// CSE-NEXT:    %0 = relex.constant dense<"0x0000C07F">
// CSE-NEXT:    %1 = relex.constant dense<"0x0000C0FF">
// CSE-NEXT:    %2 = relex.constant dense<0.0>
// CSE-NEXT:    %3 = relex.constant dense<-0.0>
// CSE-NEXT:    func.return %0, %1, %2, %3, %0
func.func @equal_constants() -> (tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>) {
  %0 = relex.constant dense<"0x0000C07F"> : tensor<1xf32>
  %1 = relex.constant dense<"0x0000C0FF"> : tensor<1xf32>
  %2 = relex.constant dense<0.0> : tensor<1xf32>
  %3 = relex.constant dense<-0.0> : tensor<1xf32>
  %4 = relex.constant dense<"0x0000C07F"> : tensor<1xf32>
  func.return %0, %1, %2, %3, %4 : tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>
}

// Two allocations are two tensors, and each call with side effects is made.
// CHECK-LABEL: func.func @effects(
func.func @effects(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  // CHECK-COUNT-2: relex.alloc_tensor
  // CHECK-COUNT-2: relex.call_dps_packed "env.random"
  // CSE-NEXT: func.return
  // DCE-NEXT: func.return
  %0 = relex.alloc_tensor : tensor<4xf32>
  %1 = relex.alloc_tensor : tensor<4xf32>
  %2 = relex.call_dps_packed "env.random"() {side_effects} : () -> tensor<4xf32>
  %3 = relex.call_dps_packed "env.random"() {side_effects} : () -> tensor<4xf32>
  %4 = relex.call_dps_packed "env.relu"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %5 = relex.call_dps_packed "env.relu"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %0, %1 : tensor<4xf32>, tensor<4xf32>
}

// CHECK-LABEL: func.func @unused(
// DCE-NEXT:    func.return
func.func @unused(%x: tensor<4xf32>) {
  %r = relex.dataflow -> tensor<4xf32> {
    %0 = relex.relu %x : (tensor<4xf32>) -> tensor<4xf32>
    relex.output %0 : tensor<4xf32>
  }
  %1 = relex.multiply %r, %r : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return
}

// CHECK-LABEL: func.func @loop(
// LICM:        relex.relu %x
// LICM:        scf.for
// LICM-NEXT:     relex.add
func.func @loop(%x: tensor<4xf32>, %n: index) -> tensor<4xf32> {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %r = scf.for %i = %zero to %n step %one iter_args(%y = %x) -> (tensor<4xf32>) {
    %0 = relex.relu %x : (tensor<4xf32>) -> tensor<4xf32>
    %1 = relex.add %0, %y : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    scf.yield %1 : tensor<4xf32>
  }
  func.return %r : tensor<4xf32>
}

func.func private @group(%x: tensor<?x4xf32>) -> tensor<?x4xf32> attributes {relex.primitive} {
  func.return %x : tensor<?x4xf32>
}
