// RUN: relex-opt %s -p relex-pipeline,watch-loops | filecheck %s
// RUN: relex-opt %s -p relex-pipeline | filecheck %s --check-prefix=OPEN

// In the text, a loop goes on; the runtime answers for a program that it runs.
// CHECK-LABEL: llvm.func {{.*}}@main
// CHECK:         llvm.call @relex_goes_on() : () -> i1
// CHECK:       llvm.func @relex_goes_on() -> i1
// CHECK-NOT:     llvm.return %true
// CHECK:       llvm.func @_relex_packed_main(%frame: !llvm.ptr)
// CHECK-NEXT:    llvm.call @relex_loops_begin() : () -> ()
// CHECK:         llvm.call @main
// CHECK:         llvm.call @relex_loops_end() : () -> ()
// CHECK-NEXT:    llvm.return
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
