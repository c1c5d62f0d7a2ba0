// RUN: relex-opt %s | filecheck %s
// RUN: relex-opt - < %s | filecheck %s
// RUN: RELEX_ROUNDTRIP
// RUN: RELEX_GENERIC_ROUNDTRIP
// RUN: xdsl-opt %s -p set-target{triple=x86_64-unknown-linux-gnu} | filecheck %s

// CHECK-LABEL: func.func @twice(
// CHECK-SAME: [[X:%.+]]: i32
func.func @twice(%x: i32) -> i32 {
  // CHECK-NEXT: arith.addi [[X]], [[X]] : i32
  %y = arith.addi %x, %x : i32
  func.return %y : i32
}
