// RUN: relex-opt %s -p add-packed-entries --split-input-file --verify-diagnostics | filecheck %s
// Entries are added once.
// RUN: relex-opt %s -p add-packed-entries,add-packed-entries --split-input-file --verify-diagnostics | filecheck %s

// CHECK:      llvm.func @f(%x: i64, %y: f32) -> f32 {
// CHECK:      llvm.func @_relex_packed_f(%frame: !llvm.ptr) attributes {relex.signature = {inputs = [{name = "x", shape = [], element_type = "i64", is_scalar = true}, {name = "y", shape = [], element_type = "f32", is_scalar = true}], outputs = [{name = "z", shape = [], element_type = "f32", is_scalar = true}]}, relex.seal = "{{[0-9a-f]+}}"} {
// CHECK-NEXT:   [[X:%.+]] = llvm.load %frame : !llvm.ptr -> i64
// CHECK-NEXT:   [[PLACE:%.+]] = llvm.getelementptr %frame[1] : (!llvm.ptr) -> !llvm.ptr, i64
// CHECK-NEXT:   [[Y:%.+]] = llvm.load [[PLACE]] : !llvm.ptr -> f32
// CHECK-NEXT:   [[Z:%.+]] = llvm.call @f([[X]], [[Y]]) : (i64, f32) -> f32
// CHECK-NEXT:   [[END:%.+]] = llvm.getelementptr %frame[2] : (!llvm.ptr) -> !llvm.ptr, i64
// CHECK-NEXT:   llvm.store [[Z]], [[END]] : f32, !llvm.ptr
// CHECK-NEXT:   llvm.return
// CHECK-NOT:  _relex_packed_
llvm.func @f(%x: i64, %y: f32) -> f32 attributes {relex.signature = {inputs = [{name = "x", shape = [], element_type = "i64", is_scalar = true}, {name = "y", shape = [], element_type = "f32", is_scalar = true}], outputs = [{name = "z", shape = [], element_type = "f32", is_scalar = true}]}, relex.seal = "e3ba11fffec625ba"} {
  llvm.return %y : f32
}
llvm.func @g(%x: i64) {
  llvm.return
}

// -----

// expected-error@+1 {{'llvm.func' op expected 'f' to be !llvm.func<void (!llvm.ptr, !llvm.ptr, i64, i64, i64)> for the signature f(x: 2 of f32) -> (), found !llvm.func<void (!llvm.ptr)>}}
llvm.func @f(%x: !llvm.ptr) attributes {relex.signature = {inputs = [{name = "x", shape = [2 : i64], element_type = "f32"}], outputs = [], writes_inputs = true}} {
  llvm.return
}

// -----

// The signature is checked and sealed by convert-func-to-llvm.
// expected-error@+1 {{'llvm.func' op expected 'f' with the signature that it was compiled for, found f(x: i64) -> (): expected 'relex.seal' of "}}
llvm.func @f(%x: i64) attributes {relex.signature = {inputs = [{name = "x", shape = [], element_type = "i64", is_scalar = true}], outputs = []}} {
  llvm.return
}
