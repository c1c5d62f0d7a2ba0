// RUN: relex-opt %s -p convert-to-llvm,pool-allocations | filecheck %s
// RUN: relex-opt %s -p convert-to-llvm,pool-allocations | mlir-opt-22 -o %t.mlir
// RUN: relex-opt %s -p convert-to-llvm -t obj -o %t.o
// REQUIRES: mlir-opt

// CHECK:     llvm.func @_mlir_memref_to_llvm_free(!llvm.ptr) attributes {relex.allocator}
// CHECK:     llvm.func @_mlir_memref_to_llvm_alloc(i64) -> !llvm.ptr attributes {relex.allocator}
// CHECK-NOT: @malloc
// CHECK:     llvm.call @_mlir_memref_to_llvm_alloc
// CHECK:     llvm.call @_mlir_memref_to_llvm_free
// CHECK-NOT: @free
func.func @f(%x: memref<4xf32>) {
  %y = memref.alloc() : memref<4xf32>
  memref.copy %x, %y : memref<4xf32> to memref<4xf32>
  memref.dealloc %y : memref<4xf32>
  func.return
}
