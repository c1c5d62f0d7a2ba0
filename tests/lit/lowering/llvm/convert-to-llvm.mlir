// RUN: relex-opt %s -p convert-to-llvm | filecheck %s
// RUN: relex-opt %s -p convert-to-llvm | relex-opt | filecheck %s
// RUN: relex-opt %s -p convert-cf-to-llvm,finalize-memref-to-llvm,convert-arith-to-llvm,convert-math-to-llvm,convert-func-to-llvm,reconcile-unrealized-casts | filecheck %s --check-prefix=APART

// One walk leaves no cast, and builds no descriptor that nobody needs.
// CHECK-LABEL: llvm.func @sum
// CHECK-NOT: unrealized_conversion_cast
// CHECK-NOT: insertvalue
// APART-LABEL: llvm.func @sum
// APART-NOT: unrealized_conversion_cast
func.func @sum(%x: memref<?xf32> {llvm.noalias}, %out: memref<f32>) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %start = arith.constant 0.0 : f32
  %n = memref.dim %x, %zero : memref<?xf32>
  // CHECK: llvm.br ^head(%{{.+}}, %{{.+}} : i64, f32)
  cf.br ^head(%zero, %start : index, f32)
// CHECK-NEXT: ^head([[I:%.+]]: i64, [[ACC:%.+]]: f32):
^head(%i: index, %acc: f32):
  // CHECK-NEXT: [[MORE:%.+]] = llvm.icmp "slt" [[I]], %x_size0 : i64
  // CHECK-NEXT: llvm.cond_br [[MORE]], ^body, ^exit
  %more = arith.cmpi slt, %i, %n : index
  cf.cond_br %more, ^body, ^exit
^body:
  // CHECK:      llvm.getelementptr inbounds %x[[[I]]] : (!llvm.ptr, i64) -> !llvm.ptr, f32
  // CHECK-NEXT: [[V:%.+]] = llvm.load
  // CHECK-NEXT: [[R:%.+]] = llvm.call_intrinsic "llvm.sqrt.f32"([[V]])
  // CHECK-NEXT: llvm.fadd [[ACC]], [[R]] : f32
  %v = memref.load %x[%i] : memref<?xf32>
  %r = math.sqrt %v : f32
  %s = arith.addf %acc, %r : f32
  %j = arith.addi %i, %one : index
  cf.br ^head(%j, %s : index, f32)
^exit:
  // CHECK: llvm.store [[ACC]], %out : f32, !llvm.ptr
  memref.store %acc, %out[] : memref<f32>
  // CHECK-NEXT: llvm.return
  func.return
}
