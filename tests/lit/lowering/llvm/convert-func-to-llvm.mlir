// RUN: relex-opt %s -p convert-func-to-llvm | filecheck %s
// RUN: relex-opt %s -p llvm-request-c-wrappers,convert-func-to-llvm | filecheck %s --check-prefix=C

// A memref is passed as its fields; its attributes go to the aligned pointer.
// CHECK-LABEL: llvm.func @arguments
// CHECK-SAME: (%x_base: !llvm.ptr, %x: !llvm.ptr {llvm.noalias}, %x_offset: i64,
// CHECK-SAME: %x_size0: i64, %x_size1: i64, %x_stride0: i64, %x_stride1: i64,
// CHECK-SAME: %s_base: !llvm.ptr, %s: !llvm.ptr, %s_offset: i64, %n: i64, %c: i8 {llvm.signext})
func.func @arguments(%x: memref<2x?xf32> {llvm.noalias}, %s: memref<i64>, %n: index, %c: i8 {llvm.signext}) {
  // CHECK-NEXT: llvm.return
  func.return
}

// CHECK-LABEL: llvm.func @results(
// CHECK-SAME: -> !llvm.struct<(f32, i64)>
func.func @results(%a: f32, %k: index) -> (f32, index) {
  // CHECK-NEXT: [[S0:%.+]] = llvm.mlir.undef : !llvm.struct<(f32, i64)>
  // CHECK-NEXT: [[S1:%.+]] = llvm.insertvalue %a, [[S0]][0]
  // CHECK-NEXT: [[S2:%.+]] = llvm.insertvalue %k, [[S1]][1]
  // CHECK-NEXT: llvm.return [[S2]] : !llvm.struct<(f32, i64)>
  func.return %a, %k : f32, index
}

// CHECK-LABEL: llvm.func @call(
func.func @call(%y: memref<4xf32>, %b: f32, %m: index) -> index {
  // CHECK-NEXT: llvm.call @outside(%y_base, %y, %y_offset, %y_size0, %y_stride0, %m)
  %0 = func.call @outside(%y, %m) : (memref<4xf32>, index) -> memref<4xf32>
  // CHECK-NEXT: [[PAIR:%.+]] = llvm.call @results
  // CHECK-NEXT: llvm.extractvalue [[PAIR]][0]
  // CHECK-NEXT: [[N:%.+]] = llvm.extractvalue [[PAIR]][1]
  %1, %2 = func.call @results(%b, %m) : (f32, index) -> (f32, index)
  // CHECK-NEXT: llvm.return [[N]] : i64
  func.return %2 : index
}

// CHECK: llvm.func @outside(!llvm.ptr, !llvm.ptr, i64, i64, i64, i64) -> !llvm.struct<(!llvm.ptr, !llvm.ptr, i64, !llvm.array<1 x i64>, !llvm.array<1 x i64>)>
func.func private @outside(%x: memref<4xf32>, %n: index) -> memref<4xf32>

// CHECK: llvm.func internal @inside()
func.func private @inside() {
  func.return
}

// C calls a wrapper that loads the descriptors.
// C-LABEL: llvm.func @_mlir_ciface_arguments
// C-SAME: (%{{.+}}: !llvm.ptr, %{{.+}}: !llvm.ptr, %{{.+}}: i64, %{{.+}}: i8)
// C:      [[X:%.+]] = llvm.load %{{.+}} : !llvm.ptr -> !llvm.struct
// C-NEXT: llvm.extractvalue [[X]][0]
// C:      llvm.call @arguments(

// A struct is returned through a pointer that comes first.
// C-LABEL: llvm.func @_mlir_ciface_results
// C-SAME: (%[[OUT:.+]]: !llvm.ptr, %{{.+}}: f32, %{{.+}}: i64)
// C-NEXT: [[S:%.+]] = llvm.call @results
// C-NEXT: llvm.store [[S]], %[[OUT]]
// C-NEXT: llvm.return

// What is declared is C's: the function here is the way to it.
// C-LABEL: llvm.func internal @outside(
// C:      llvm.call @_mlir_ciface_outside({{.+}}) : (!llvm.ptr, !llvm.ptr, i64) -> ()
// C:      llvm.func @_mlir_ciface_outside(!llvm.ptr, !llvm.ptr, i64)
