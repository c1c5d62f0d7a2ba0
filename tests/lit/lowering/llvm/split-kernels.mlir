// RUN: relex-opt %s -p split-kernels --split-input-file | filecheck %s
// RUN: relex-opt %s -p split-kernels,split-kernels --split-input-file | filecheck %s

// Equal functions become one; arguments that they do not use go.

// CHECK:      llvm.func @main(%x: !llvm.ptr, %y: !llvm.ptr, %v: f32) {
// CHECK-NEXT:   llvm.call @relex.k_[[KERNEL:[0-9a-f]+]](%x, %v) : (!llvm.ptr, f32) -> ()
// CHECK-NEXT:   llvm.call @relex.k_[[KERNEL]](%y, %v) : (!llvm.ptr, f32) -> ()
// CHECK-NEXT:   llvm.call @inlined(%y, %v)
// CHECK:      llvm.func internal @inlined
// CHECK:      llvm.func @relex.k_[[KERNEL]](!llvm.ptr, f32)
// CHECK-NEXT: builtin.module attributes {relex.arguments = array<i64: 1, 2>} {
// CHECK-NEXT:   llvm.func @relex.k_[[KERNEL]](%{{[a-z0-9_]+}}: !llvm.ptr {llvm.noalias}, %{{[a-z0-9_]+}}: f32)
// CHECK-NEXT:     llvm.call @k1
// CHECK:        llvm.func internal @k1
// CHECK-NOT:  @fill
llvm.func internal @fill(%base: !llvm.ptr, %x: !llvm.ptr {llvm.noalias}, %v: f32)
    attributes {passthrough = ["noinline"]} {
  llvm.call @inner(%x, %v) : (!llvm.ptr, f32) -> ()
  llvm.return
}
llvm.func internal @inner(%x: !llvm.ptr, %v: f32) {
  llvm.store %v, %x : f32, !llvm.ptr
  llvm.return
}
llvm.func internal @filled(%0: !llvm.ptr, %1: !llvm.ptr {llvm.noalias}, %2: f32)
    attributes {passthrough = ["noinline"]} {
  llvm.call @inner2(%1, %2) : (!llvm.ptr, f32) -> ()
  llvm.return
}
llvm.func internal @inner2(%0: !llvm.ptr, %1: f32) {
  llvm.store %1, %0 : f32, !llvm.ptr
  llvm.return
}
llvm.func @main(%x: !llvm.ptr, %y: !llvm.ptr, %v: f32) {
  llvm.call @fill(%x, %x, %v) : (!llvm.ptr, !llvm.ptr, f32) -> ()
  llvm.call @filled(%x, %y, %v) : (!llvm.ptr, !llvm.ptr, f32) -> ()
  llvm.call @inlined(%y, %v) : (!llvm.ptr, f32) -> ()
  llvm.return
}
llvm.func internal @inlined(%x: !llvm.ptr, %v: f32) {
  llvm.store %v, %x : f32, !llvm.ptr
  llvm.return
}

// -----

// A function that others need too is copied, with its result and constants.

// CHECK:      llvm.mlir.global private constant @one(1.000000e+00 : f32)
// CHECK-NEXT: llvm.func @main
// CHECK-NEXT:   llvm.call @shared
// CHECK-NEXT:   llvm.call @relex.k_[[KERNEL:[0-9a-f]+]](
// CHECK:      llvm.func internal @shared
// CHECK:      llvm.func @relex.k_[[KERNEL]](
// CHECK-NEXT: builtin.module
// CHECK-NEXT:   llvm.func @relex.k_[[KERNEL]](
// CHECK-NEXT:     llvm.call @k1()
// CHECK:        llvm.func internal @k1() -> f32 {
// CHECK-NEXT:     llvm.mlir.addressof @k2
// CHECK:        llvm.mlir.global private constant @k2(1.000000e+00 : f32)
llvm.mlir.global private constant @one(1.0 : f32) : f32
llvm.func @main(%x: f32) -> f32 {
  %0 = llvm.call @shared() : () -> f32
  %1 = llvm.call @kernel(%0) : (f32) -> f32
  llvm.return %1 : f32
}
llvm.func internal @kernel(%x: f32) -> f32 attributes {passthrough = ["noinline"]} {
  %0 = llvm.call @shared() : () -> f32
  %1 = llvm.fadd %0, %x : f32
  llvm.return %1 : f32
}
llvm.func internal @shared() -> f32 {
  %0 = llvm.mlir.addressof @one : !llvm.ptr
  %1 = llvm.load %0 : !llvm.ptr -> f32
  llvm.return %1 : f32
}

// -----

// A function that is not to be inlined either goes with the kernel that calls it.

// CHECK-LABEL: llvm.func @nested(
// CHECK-NEXT:   llvm.call @relex.k_[[KERNEL:[0-9a-f]+]](
// CHECK:      builtin.module
// CHECK-NEXT:   llvm.func @relex.k_[[KERNEL]](
// CHECK-NEXT:     llvm.call @k1
// CHECK:        llvm.func internal @k1
llvm.func @nested(%x: !llvm.ptr, %v: f32) {
  llvm.call @outer(%x, %v) : (!llvm.ptr, f32) -> ()
  llvm.return
}
llvm.func internal @outer(%x: !llvm.ptr, %v: f32) attributes {passthrough = ["noinline"]} {
  llvm.call @loop(%x, %v) : (!llvm.ptr, f32) -> ()
  llvm.return
}
llvm.func internal @loop(%x: !llvm.ptr, %v: f32) attributes {passthrough = ["noinline"]} {
  llvm.store %v, %x : f32, !llvm.ptr
  llvm.return
}

// -----

// What refers to data that the program writes, calls itself, or is not only called, stays.

// CHECK:      llvm.func internal @counts
// CHECK:      llvm.func internal @calls_itself
// CHECK:      llvm.func internal @is_passed
// CHECK-NOT:  builtin.module
llvm.mlir.global internal @counter(0 : i64) : i64
llvm.func internal @counts() attributes {passthrough = ["noinline"]} {
  %0 = llvm.mlir.addressof @counter : !llvm.ptr
  %1 = llvm.load %0 : !llvm.ptr -> i64
  llvm.store %1, %0 : i64, !llvm.ptr
  llvm.return
}
llvm.func internal @calls_itself() attributes {passthrough = ["noinline"]} {
  llvm.call @calls_itself() : () -> ()
  llvm.return
}
llvm.func internal @is_passed() attributes {passthrough = ["noinline"]} {
  llvm.return
}
llvm.func @main() -> !llvm.ptr {
  llvm.call @counts() : () -> ()
  llvm.call @calls_itself() : () -> ()
  llvm.call @is_passed() : () -> ()
  %0 = llvm.mlir.addressof @is_passed : !llvm.ptr
  llvm.return %0 : !llvm.ptr
}
