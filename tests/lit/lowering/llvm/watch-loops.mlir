// RUN: relex-opt %s -p relex-pipeline,watch-loops | filecheck %s
// RUN: relex-opt %s -p relex-pipeline,watch-loops,watch-loops | filecheck %s
// RUN: relex-opt %s -p relex-pipeline | filecheck %s --check-prefix=OPEN

// In the text, a loop goes on; the runtime answers for a program that it runs.
// CHECK-LABEL: llvm.func {{.*}}@main
// CHECK:         llvm.call @relex_goes_on() : () -> i1
// CHECK:       llvm.func internal @relex_goes_on() -> i1 attributes {passthrough = ["alwaysinline"]} {
// CHECK-NEXT:    %[[P:.+]] = llvm.mlir.addressof @relex_reasons_to_stop : !llvm.ptr
// CHECK-NEXT:    %[[R:.+]] = llvm.load %[[P]] atomic monotonic {alignment = 4 : i64} : !llvm.ptr -> i32
// CHECK-NEXT:    %[[N:.+]] = llvm.mlir.constant(0 : i32) : i32
// CHECK-NEXT:    %[[Q:.+]] = llvm.icmp "eq" %[[R]], %[[N]] : i32
// CHECK-NEXT:    llvm.cond_br %[[Q]], ^{{.+}}, ^{{.+}}
// CHECK-NEXT:  ^{{.+}}:
// CHECK-NEXT:    llvm.return %[[Q]] : i1
// CHECK-NEXT:  ^{{.+}}:
// CHECK-NEXT:    %[[A:.+]] = llvm.call @relex_may_go_on() : () -> i1
// CHECK-NEXT:    llvm.return %[[A]] : i1
// CHECK:       llvm.func @_relex_packed_main(%frame: !llvm.ptr)
// CHECK-NEXT:    llvm.call @relex_loops_begin() : () -> ()
// CHECK:         llvm.call @main
// CHECK:         llvm.call @relex_loops_end() : () -> ()
// CHECK-NEXT:    llvm.return
// CHECK:       llvm.mlir.global external @relex_reasons_to_stop() {addr_space = 0 : i32} : i32
// CHECK-NEXT:  llvm.func @relex_may_go_on() -> i1 attributes {passthrough = ["cold"]}
// OPEN:        llvm.func internal @relex_goes_on() -> i1
// OPEN:          llvm.return
func.func @main(%x: tensor<8xf32>, %n: index) -> tensor<8xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %y = scf.for %i = %c0 to %n step %c1 iter_args(%s = %x) -> (tensor<8xf32>) {
    %0 = relex.add %s, %x : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
    scf.yield %0 : tensor<8xf32>
  }
  func.return %y : tensor<8xf32>
}
