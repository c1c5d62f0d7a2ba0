// RUN: relex-opt %s -p convert-func-to-llvm,convert-arith-to-llvm,finalize-memref-to-llvm,reconcile-unrealized-casts | filecheck %s
// RUN: relex-opt %s -p finalize-memref-to-llvm | filecheck %s --check-prefix=ALONE

// CHECK: llvm.func @free(!llvm.ptr)
// CHECK: llvm.func @malloc(i64) -> !llvm.ptr

// CHECK: llvm.mlir.global private constant @table(dense<{{.+}}> : tensor<2x3xf32>) {addr_space = 0 : i32, alignment = 64 : i64} : !llvm.array<2 x !llvm.array<3 x f32>>
"memref.global"() <{sym_name = "table", sym_visibility = "private", type = memref<2x3xf32>, constant, alignment = 64 : i64,
  initial_value = dense<[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]> : tensor<2x3xf32>}> : () -> ()

// CHECK-LABEL: llvm.func @load
// CHECK-SAME: %x: !llvm.ptr,
// CHECK-SAME: %i: i64, %j: i64) -> f32 {
// ALONE-LABEL: func.func @load
// ALONE: [[STRUCT:%.+]] = builtin.unrealized_conversion_cast %x : memref<4x8xf32> to !llvm.struct
// ALONE: llvm.extractvalue [[STRUCT]][1]
func.func @load(%x: memref<4x8xf32>, %i: index, %j: index) -> f32 {
  // CHECK:      [[EIGHT:%.+]] = llvm.mlir.constant(8) : i64
  // CHECK-NEXT: [[ROW:%.+]] = llvm.mul %i, [[EIGHT]] overflow<nsw,nuw> : i64
  // CHECK-NEXT: [[PLACE:%.+]] = llvm.add [[ROW]], %j overflow<nsw,nuw> : i64
  // CHECK-NEXT: [[P:%.+]] = llvm.getelementptr inbounds %x[[[PLACE]]] : (!llvm.ptr, i64) -> !llvm.ptr, f32
  // CHECK-NEXT: [[V:%.+]] = llvm.load [[P]] : !llvm.ptr -> f32
  %0 = memref.load %x[%i, %j] : memref<4x8xf32>
  // CHECK-NEXT: llvm.return [[V]] : f32
  func.return %0 : f32
}

// Strides that are not known may be negative.
// CHECK-LABEL: llvm.func @strided
func.func @strided(%s: memref<?x?xi8, strided<[?, 1], offset: ?>>, %v: i8, %k: index) {
  // CHECK:      [[START:%.+]] = llvm.getelementptr %s[%s_offset] : (!llvm.ptr, i64) -> !llvm.ptr, i8
  // CHECK-NEXT: [[ROW:%.+]] = llvm.mul %k, %s_stride0 overflow<nsw> : i64
  // CHECK-NEXT: [[PLACE:%.+]] = llvm.add [[ROW]], %k overflow<nsw> : i64
  // CHECK-NEXT: [[P:%.+]] = llvm.getelementptr inbounds [[START]][[[PLACE]]] : (!llvm.ptr, i64) -> !llvm.ptr, i8
  // CHECK-NEXT: llvm.store %v, [[P]] : i8, !llvm.ptr
  memref.store %v, %s[%k, %k] : memref<?x?xi8, strided<[?, 1], offset: ?>>
  func.return
}

// CHECK-LABEL: llvm.func @scalar
func.func @scalar(%z: memref<f64>) -> f64 {
  // CHECK: llvm.load %z : !llvm.ptr -> f64
  %0 = memref.load %z[] : memref<f64>
  func.return %0 : f64
}

// The aligned pointer is computed from the allocated one, and free gets the allocated one.
// CHECK-LABEL: llvm.func @alloc
func.func @alloc(%n: index) -> index {
  // CHECK:      [[THREE:%.+]] = llvm.mlir.constant(3) : i64
  // CHECK-NEXT: [[COUNT:%.+]] = llvm.mul %n, [[THREE]] : i64
  // CHECK:      [[END:%.+]] = llvm.getelementptr %{{.+}}[[[COUNT]]] : (!llvm.ptr, i64) -> !llvm.ptr, f32
  // CHECK-NEXT: [[SIZE:%.+]] = llvm.ptrtoint [[END]] : !llvm.ptr to i64
  // CHECK:      [[MORE:%.+]] = llvm.add [[SIZE]]
  // CHECK-NEXT: [[BASE:%.+]] = llvm.call @malloc([[MORE]]) : (i64) -> !llvm.ptr
  // CHECK:      llvm.getelementptr [[BASE]][%{{.+}}] : (!llvm.ptr, i64) -> !llvm.ptr, i8
  %a = memref.alloc(%n) {alignment = 64 : i64} : memref<?x3xf32>
  // CHECK-NEXT: llvm.alloca %n x i64 {alignment = 16 : i64} : (i64) -> !llvm.ptr
  %b = memref.alloca(%n) {alignment = 16 : i64} : memref<?xindex>
  // CHECK-NEXT: llvm.call @free([[BASE]]) : (!llvm.ptr) -> ()
  memref.dealloc %a : memref<?x3xf32>
  %c0 = arith.constant 0 : index
  %d = memref.dim %a, %c0 : memref<?x3xf32>
  // CHECK: llvm.return %n : i64
  func.return %d : index
}

// CHECK-LABEL: llvm.func @dim
func.func @dim(%d: memref<2x?xf32>, %which: index) -> (index, index, index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  // CHECK: [[TWO:%.+]] = llvm.mlir.constant(2) : i64
  %0 = memref.dim %d, %c0 : memref<2x?xf32>
  %1 = memref.dim %d, %c1 : memref<2x?xf32>
  // CHECK: [[FIRST:%.+]] = llvm.icmp "eq" %which, %{{.+}} : i64
  // CHECK: llvm.select [[FIRST]], [[TWO]], %d_size1 : i1, i64
  %2 = memref.dim %d, %which : memref<2x?xf32>
  func.return %0, %1, %2 : index, index, index
}

// CHECK-LABEL: llvm.func @copy
func.func @copy(%to: memref<?xf32>, %from: memref<4xf32, strided<[1], offset: 3>>) {
  // CHECK:      [[Y:%.+]] = llvm.getelementptr %from[3] : (!llvm.ptr) -> !llvm.ptr, f32
  // CHECK:      llvm.call_intrinsic "llvm.memcpy.p0.p0.i64"(%to, [[Y]], %{{.+}}, %{{.+}}) : (!llvm.ptr, !llvm.ptr, i64, i1) -> ()
  %four = "memref.cast"(%to) : (memref<?xf32>) -> memref<4xf32>
  "memref.copy"(%from, %four) : (memref<4xf32, strided<[1], offset: 3>>, memref<4xf32>) -> ()
  func.return
}

// CHECK-LABEL: llvm.func @get_global
func.func @get_global(%i: index) -> f32 {
  // CHECK: [[T:%.+]] = llvm.mlir.addressof @table : !llvm.ptr
  %t = memref.get_global @table : memref<2x3xf32>
  // CHECK: llvm.getelementptr inbounds [[T]][%{{.+}}] : (!llvm.ptr, i64) -> !llvm.ptr, f32
  %0 = memref.load %t[%i, %i] : memref<2x3xf32>
  func.return %0 : f32
}
