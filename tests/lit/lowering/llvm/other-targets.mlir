// Memory is asked for in the target's own `size_t`; what that has no number for is not allocated.

// RUN: relex-opt %s -p "set-target{triple=wasm32-unknown-unknown},convert-to-llvm" | filecheck %s
// RUN: relex-opt %s -p "set-target{triple=armv7-linux-gnueabihf},convert-to-llvm" | filecheck %s
// RUN: relex-opt %s -p "set-target{triple=aarch64-linux-gnu},convert-to-llvm" | filecheck %s --check-prefix=WIDE

// CHECK: llvm.func @malloc(i32) -> !llvm.ptr
// CHECK-LABEL: llvm.func @f
// CHECK: %[[BYTES:.+]] = llvm.mul %{{.+}}, %{{.+}} : i64
// CHECK: %[[MOST:.+]] = llvm.mlir.constant(4294967295) : i64
// CHECK: %[[FITTING:.+]] = llvm.call_intrinsic "llvm.umin.i64"(%[[BYTES]], %[[MOST]])
// CHECK: %[[SIZE:.+]] = llvm.trunc %[[FITTING]] : i64 to i32
// CHECK: llvm.call @malloc(%[[SIZE]]) : (i32) -> !llvm.ptr

// WIDE: llvm.func @malloc(i64) -> !llvm.ptr
// WIDE-NOT: llvm.trunc

func.func @f(%n: index) -> memref<?xf32> {
  %0 = memref.alloc(%n) : memref<?xf32>
  func.return %0 : memref<?xf32>
}

// What comes out is compiled without a word on standard error.
// RUN: relex-opt %s -p "set-target{triple=wasm32-unknown-unknown},convert-to-llvm" -t obj -o %t.o 2>&1 | filecheck %s --check-prefix=SILENT --allow-empty
// RUN: relex-opt %s -p "set-target{triple=riscv64-linux-gnu},convert-to-llvm" -t obj -o %t.o 2>&1 | filecheck %s --check-prefix=SILENT --allow-empty
// RUN: relex-opt %s -p "set-target{triple=powerpc64le-linux-gnu cpu=pwr9},convert-to-llvm" -t obj -o %t.o 2>&1 | filecheck %s --check-prefix=SILENT --allow-empty
// SILENT-NOT: {{.}}
