// RUN: relex-opt %s -p convert-func-to-llvm,convert-arith-to-llvm,convert-cf-to-llvm,finalize-memref-to-llvm,reconcile-unrealized-casts | filecheck %s
// RUN: relex-opt %s -p finalize-memref-to-llvm | filecheck %s --check-prefix=ALONE

// Who runs the program may provide the memory.
// RUN: relex-opt %s -p finalize-memref-to-llvm{use-generic-functions=true} | filecheck %s --check-prefix=GENERIC
// RUN: relex-opt %s -p convert-to-llvm{use-generic-functions=true} | filecheck %s --check-prefix=GENERIC
// GENERIC: llvm.call @_mlir_memref_to_llvm_alloc(
// GENERIC-NOT: @malloc
// GENERIC: llvm.call @_mlir_memref_to_llvm_free(

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

// Quotients and remainders of a number, as of a reshape, become the number, or a remainder of it.
// CHECK-LABEL: llvm.func @quotients
// ALONE-LABEL: func.func @quotients
func.func @quotients(%x: memref<5x7x3xf32>, %y: memref<7x3xf32>, %i: index) -> (f32, f32) {
  %c3 = arith.constant 3 : index
  %c7 = arith.constant 7 : index
  %c21 = arith.constant 21 : index
  %0 = arith.divui %i, %c21 : index
  %1 = arith.divui %i, %c3 : index
  %2 = arith.remui %1, %c7 : index
  %3 = arith.remui %i, %c3 : index
  // CHECK:      llvm.getelementptr inbounds %x{{[_0-9]*}}[%i{{[_0-9]*}}] :
  %4 = memref.load %x[%0, %2, %3] : memref<5x7x3xf32>
  // CHECK:      [[REST:%.+]] = llvm.urem %i{{.*}} : i64
  // CHECK-NEXT: llvm.getelementptr inbounds %y{{[_0-9]*}}[[[REST]]] :
  %5 = memref.load %y[%2, %3] : memref<7x3xf32>
  func.return %4, %5 : f32, f32
}

// So do signed ones; quotients of quotients count as one.
// CHECK-LABEL: llvm.func @signed_quotients
func.func @signed_quotients(%x: memref<5x7x3xf32>, %i: index) -> f32 {
  %c3 = arith.constant 3 : index
  %c7 = arith.constant 7 : index
  %0 = arith.divsi %i, %c3 : index
  %1 = arith.divsi %0, %c7 : index
  %2 = arith.remsi %0, %c7 : index
  %3 = arith.remsi %i, %c3 : index
  // CHECK: llvm.getelementptr inbounds %x{{[_0-9]*}}[%i{{[_0-9]*}}] :
  %4 = memref.load %x[%1, %2, %3] : memref<5x7x3xf32>
  func.return %4 : f32
}

// Divisors that do not fit the strides, other numbers, and divisions of the other kind stay.
// CHECK-LABEL: llvm.func @other_quotients
func.func @other_quotients(%x: memref<9x4xf32>, %y: memref<9x3xf32>, %i: index, %j: index) {
  %c3 = arith.constant 3 : index
  %0 = arith.divui %i, %c3 : index
  %1 = arith.remui %i, %c3 : index
  %2 = arith.remui %j, %c3 : index
  %3 = arith.remsi %i, %c3 : index
  // CHECK:      [[A:%.+]] = llvm.udiv %i
  // CHECK-NEXT: [[B:%.+]] = llvm.urem %i
  // CHECK-NEXT: [[C:%.+]] = llvm.urem %j
  // CHECK-NEXT: [[D:%.+]] = llvm.srem %i
  // CHECK:      [[ROW:%.+]] = llvm.mul [[A]],
  // CHECK-NEXT: llvm.add [[ROW]], [[B]]
  %4 = memref.load %x[%0, %1] : memref<9x4xf32>
  // CHECK:      [[ROW:%.+]] = llvm.mul [[A]],
  // CHECK-NEXT: llvm.add [[ROW]], [[C]]
  memref.store %4, %y[%0, %2] : memref<9x3xf32>
  // CHECK:      [[ROW:%.+]] = llvm.mul [[A]],
  // CHECK-NEXT: llvm.add [[ROW]], [[D]]
  memref.store %4, %y[%0, %3] : memref<9x3xf32>
  func.return
}

// Constant indices are no arithmetic.
// CHECK-LABEL: llvm.func @constant_places
func.func @constant_places(%near: memref<4x8xf32>, %place: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  // CHECK-NOT:  llvm.mul
  // CHECK:      [[V:%.+]] = llvm.load %near : !llvm.ptr -> f32
  %0 = memref.load %near[%c0, %c0] : memref<4x8xf32>
  // CHECK-NEXT: [[FIRST:%.+]] = llvm.getelementptr inbounds %near[%place] : (!llvm.ptr, i64) -> !llvm.ptr, f32
  // CHECK-NEXT: llvm.store [[V]], [[FIRST]] : f32, !llvm.ptr
  memref.store %0, %near[%c0, %place] : memref<4x8xf32>
  // CHECK-NEXT: [[LATER:%.+]] = llvm.getelementptr inbounds %near[10] : (!llvm.ptr) -> !llvm.ptr, f32
  // CHECK-NEXT: llvm.store [[V]], [[LATER]] : f32, !llvm.ptr
  memref.store %0, %near[%c1, %c2] : memref<4x8xf32>
  func.return
}

// Strides that are not known may be negative.
// CHECK-LABEL: llvm.func @strided
func.func @strided(%s: memref<?x?xi8, strided<[?, 1], offset: ?>>, %v: i8, %k: index) {
  // CHECK:      [[START:%.+]] = llvm.getelementptr %s[%s_offset] : (!llvm.ptr, i64) -> !llvm.ptr, i8
  // CHECK:      [[ROW:%.+]] = llvm.mul %k, %s_stride0 : i64
  // CHECK-NEXT: [[PLACE:%.+]] = llvm.add %k, [[ROW]] : i64
  // CHECK-NEXT: [[P:%.+]] = llvm.getelementptr [[START]][[[PLACE]]] : (!llvm.ptr, i64) -> !llvm.ptr, i8
  // CHECK-NEXT: llvm.store %v, [[P]] : i8, !llvm.ptr
  memref.store %v, %s[%k, %k] : memref<?x?xi8, strided<[?, 1], offset: ?>>
  func.return
}

// What does not change in the innermost loop is computed before it.
// CHECK-LABEL: llvm.func @early
func.func @early(%e: memref<?x?x?xf32>, %p: index, %q: index) {
  // CHECK:      [[TWO:%.+]] = llvm.mlir.constant(2) : i64
  // CHECK-NEXT: [[PAST:%.+]] = llvm.mul %e_stride1, [[TWO]] : i64
  // CHECK:      [[FIRST:%.+]] = llvm.mul %p, %e_stride0 : i64
  // CHECK-NEXT: [[PLANE:%.+]] = llvm.getelementptr %e[[[FIRST]]] : (!llvm.ptr, i64) -> !llvm.ptr, f32
  // CHECK-NEXT: [[LATER:%.+]] = llvm.getelementptr [[PLANE]][[[PAST]]] : (!llvm.ptr, i64) -> !llvm.ptr, f32
  // CHECK:      ^outer
  // CHECK:      [[ROWS:%.+]] = llvm.mul {{.+}}, %e_stride1 : i64
  // CHECK-NEXT: [[ROW:%.+]] = llvm.getelementptr [[LATER]][[[ROWS]]] : (!llvm.ptr, i64) -> !llvm.ptr, f32
  // CHECK:      ^inner
  // CHECK-NOT:  llvm.mul
  // CHECK:      llvm.getelementptr [[ROW]]
  // CHECK:      llvm.load
  // CHECK-NOT:  llvm.mul
  // CHECK:      llvm.getelementptr [[ROW]]
  // CHECK:      llvm.store
  %c2 = arith.constant 2 : index
  %c1 = arith.constant 1 : index
  cf.br ^outer(%p : index)
^outer(%i: index):
  %0 = arith.addi %i, %c2 : index
  cf.br ^inner(%i : index)
^inner(%j: index):
  %1 = memref.load %e[%p, %0, %j] : memref<?x?x?xf32>
  %2 = arith.addi %j, %c1 : index
  memref.store %1, %e[%p, %0, %2] : memref<?x?x?xf32>
  %3 = arith.cmpi slt, %2, %q : index
  cf.cond_br %3, ^inner(%2 : index), ^leave
^leave:
  %4 = arith.addi %i, %c1 : index
  %5 = arith.cmpi slt, %4, %q : index
  cf.cond_br %5, ^outer(%4 : index), ^end
^end:
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

// Views are new descriptors for the same memory.
// CHECK-LABEL: llvm.func @subview
func.func @subview(%v: memref<8x16xf32>, %row: index, %rows: index) -> (index, index) {
  // CHECK:      [[SIXTEEN:%.+]] = llvm.mlir.constant(16) : i64
  // CHECK-NEXT: [[START:%.+]] = llvm.mul %row, [[SIXTEEN]] : i64
  // CHECK:      [[OFFSET:%.+]] = llvm.add [[START]], %{{.+}} : i64
  %0 = memref.subview %v[%row, 3][%rows, 4][2, 1] : memref<8x16xf32> to memref<?x4xf32, strided<[32, 1], offset: ?>>
  %b, %o, %s0, %s1, %t0, %t1 = memref.extract_strided_metadata %0 : memref<?x4xf32, strided<[32, 1], offset: ?>>
    -> memref<f32>, index, index, index, index, index
  // CHECK: llvm.insertvalue [[OFFSET]], %{{.+}}[0]
  // CHECK: llvm.insertvalue %rows, %{{.+}}[1]
  func.return %o, %s0 : index, index
}

// CHECK-LABEL: llvm.func @reinterpret
func.func @reinterpret(%v1: memref<8xf32>, %n1: index, %m1: index) -> f32 {
  // CHECK:      llvm.getelementptr %v1[%n1] : (!llvm.ptr, i64) -> !llvm.ptr, f32
  // CHECK:      llvm.mul %m1, %n1 : i64
  %0 = memref.reinterpret_cast %v1 to offset: [%n1], sizes: [%m1], strides: [%n1]
    : memref<8xf32> to memref<?xf32, strided<[?], offset: ?>>
  %1 = memref.load %0[%m1] : memref<?xf32, strided<[?], offset: ?>>
  func.return %1 : f32
}

// CHECK-LABEL: llvm.func @shapes
func.func @shapes(%v2: memref<?x6xf32>, %n2: index) -> (index, index) {
  %c0 = arith.constant 0 : index
  // CHECK: [[ALL:%.+]] = llvm.mul %v2_size0, %{{.+}} : i64
  %0 = memref.collapse_shape %v2 [[0, 1]] : memref<?x6xf32> into memref<?xf32>
  %1 = memref.expand_shape %0 [[0, 1]] output_shape [%n2, 3] : memref<?xf32> into memref<?x3xf32>
  %2 = memref.dim %0, %c0 : memref<?xf32>
  %3 = memref.dim %1, %c0 : memref<?x3xf32>
  // CHECK: llvm.insertvalue [[ALL]], %{{.+}}[0]
  // CHECK: llvm.insertvalue %n2, %{{.+}}[1]
  func.return %2, %3 : index, index
}

// CHECK-LABEL: llvm.func @align
func.func @align(%v3: memref<8xf32>) -> index {
  // CHECK:      llvm.ptrtoint %v3 : !llvm.ptr to i64
  // CHECK:      llvm.call_intrinsic "llvm.assume"
  %0 = memref.assume_alignment %v3, 64 : memref<8xf32>
  // CHECK-NEXT: [[P:%.+]] = llvm.ptrtoint %v3 : !llvm.ptr to i64
  // CHECK-NEXT: llvm.return [[P]] : i64
  %1 = "memref.extract_aligned_pointer_as_index"(%0) : (memref<8xf32>) -> index
  func.return %1 : index
}

// Buffers with gaps are copied by a function of this module's own.
// CHECK-LABEL: llvm.func @copy_gaps
func.func @copy_gaps(%v4: memref<?xf32, strided<[2]>>, %v5: memref<?xf32>) {
  // CHECK: llvm.call @relex.copy.1.f32(%v4, %v5, %v4_size0, %{{.+}}, %{{.+}}) : (!llvm.ptr, !llvm.ptr, i64, i64, i64) -> ()
  "memref.copy"(%v4, %v5) : (memref<?xf32, strided<[2]>>, memref<?xf32>) -> ()
  func.return
}

// CHECK-LABEL: llvm.func @scope
func.func @scope(%n6: index) -> f32 {
  // CHECK-NEXT: [[STACK:%.+]] = llvm.intr.stacksave : !llvm.ptr
  // CHECK-NEXT: llvm.br ^[[IN:.+]]
  // CHECK-NEXT: ^[[IN]]:
  %0 = "memref.alloca_scope"() ({
    // CHECK-NEXT: [[A:%.+]] = llvm.alloca
    %a = memref.alloca(%n6) : memref<?xf32>
    // CHECK:      [[X:%.+]] = llvm.load
    %x = memref.load %a[%n6] : memref<?xf32>
    // CHECK-NEXT: llvm.intr.stackrestore [[STACK]] : !llvm.ptr
    // CHECK-NEXT: llvm.br ^[[OUT:.+]]([[X]] : f32)
    "memref.alloca_scope.return"(%x) : (f32) -> ()
  }) : () -> f32
  // CHECK-NEXT: ^[[OUT]]([[R:%.+]]: f32):
  // CHECK-NEXT: llvm.return [[R]] : f32
  func.return %0 : f32
}

// The address of an element is computed once in a block.
// CHECK-LABEL: llvm.func @same_place
func.func @same_place(%x: memref<4x8xf32>, %i: index, %j: index) {
  // CHECK:      [[PLACE:%.+]] = llvm.getelementptr inbounds
  // CHECK-NEXT: [[X:%.+]] = llvm.load [[PLACE]]
  // CHECK-NEXT: llvm.store [[X]], [[PLACE]]
  %0 = memref.load %x[%i, %j] : memref<4x8xf32>
  memref.store %0, %x[%i, %j] : memref<4x8xf32>
  func.return
}
