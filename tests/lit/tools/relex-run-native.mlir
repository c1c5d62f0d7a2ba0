// Text at the core and machine levels is native code: it runs where people say that they trust it.

// RUN: python -c "import numpy as np; np.save('%t.x.npy', np.float32([[1, -2, 3], [-4, 5, 6]])); np.save('%t.w.npy', np.float32([1, 1, 1])); np.save('%t.y.npy', np.zeros((2, 3), np.float32))"
// RUN: relex-opt %s -p relex-pipeline{to=core} -o %t.core.mlir
// RUN: relex-opt %s -p relex-pipeline{to=llvm} -o %t.llvm.mlir

// RUN: not relex-run %t.core.mlir --input %t.x.npy --input %t.w.npy 2>&1 | filecheck %s --check-prefix=CORE
// CORE: core.mlir:{{[0-9]+}}:3: error: 'func.func' op is native code, which reaches all memory; --trust-native compiles and runs it
// RUN: not relex-run %t.llvm.mlir --input %t.x.npy --input %t.w.npy 2>&1 | filecheck %s --check-prefix=LLVM
// LLVM: llvm.mlir:{{[0-9]+}}:3: error: 'llvm.func' op is native code, which reaches all memory; --trust-native compiles and runs it

// The text says how its functions are called.
// RUN: relex-run %t.llvm.mlir --trust-native --input w=%t.w.npy --input x=%t.x.npy | filecheck %s
// RUN: relex-run %t.llvm.mlir --trust-native --save %t.llvm.relex
// RUN: relex-run %t.llvm.relex --input %t.x.npy --input %t.w.npy | filecheck %s
// RUN: relex-run %t.core.mlir --trust-native --input w=%t.w.npy --input x=%t.x.npy | filecheck %s
// RUN: not relex-run %t.core.mlir --trust-native --input %t.x.npy 2>&1 | filecheck %s --check-prefix=MISSING
// MISSING: relex-run: error: main() expected 2 arguments (x, w), found none for w

// A signature that does not fit is an error.
// RUN: sed 's/3 : i64\], element_type/2 : i64], element_type/' %t.core.mlir > %t.wrong-core.mlir
// RUN: not relex-run %t.wrong-core.mlir --trust-native --input %t.x.npy --input %t.w.npy 2>&1 | filecheck %s --check-prefix=WRONG-CORE
// WRONG-CORE: wrong-core.mlir:{{[0-9]+}}:3: error: 'func.func' op expected 'relex.signature' of 'main' with inputs (x: (x_d0, 3) of f32, w: 3 of f32), found (x: (x_d0, 2) of f32
// RUN: sed 's/3 : i64\], element_type/2 : i64], element_type/' %t.llvm.mlir > %t.wrong-llvm.mlir
// RUN: not relex-run %t.wrong-llvm.mlir --trust-native --input %t.x.npy --input %t.w.npy 2>&1 | filecheck %s --check-prefix=WRONG-LLVM
// WRONG-LLVM: wrong-llvm.mlir:{{[0-9]+}}:3: error: 'llvm.func' op expected 'main' with the signature that it was compiled for, found main(x: (x_d0, 2) of f32

// Without a signature, buffers that are given nothing are the results. They are made, where their shapes follow.
// RUN: sed -i 's/relex.signature/other.signature/' %t.core.mlir %t.llvm.mlir
// RUN: sed -i 's/@_relex_packed_main/@other/' %t.llvm.mlir
// RUN: relex-run %t.core.mlir --trust-native --input w=%t.w.npy --input x=%t.x.npy | filecheck %s
// RUN: relex-run %t.core.mlir --level core --input %t.x.npy --input %t.w.npy | filecheck %s
// RUN: relex-run %t.core.mlir --trust-native --save %t.relex
// RUN: relex-run %t.relex --input %t.x.npy --input %t.w.npy | filecheck %s
// CHECK:      {{\[\[}}2., 0., 4.],
// CHECK-NEXT: [0., 6., 7.]]
// CHECK-NOT:  {{.}}

// Where all are given, all are results: the machine level does not say shapes.
// RUN: relex-run %t.llvm.mlir --trust-native --input %t.x.npy --input %t.w.npy --input %t.y.npy | filecheck %s --check-prefix=ALL
// ALL:      {{\[\[}} 1., -2.,  3.],
// ALL-NEXT: [-4.,  5.,  6.]]
// ALL-NEXT: [1., 1., 1.]
// ALL-NEXT: {{\[\[}}2., 0., 4.],
// ALL-NEXT: [0., 6., 7.]]

// RUN: not relex-run %t.core.mlir --trust-native 2>&1 | filecheck %s --check-prefix=NONE
// NONE: relex-run: error: expected an --input for 'x', whose sizes do not follow from the others
// RUN: not relex-run %t.llvm.mlir --trust-native --input %t.x.npy 2>&1 | filecheck %s --check-prefix=COUNT
// COUNT: error: 'llvm.func' op expected an --input for each of 3 buffers, and no result, found 1

func.func @main(%x: tensor<?x3xf32>, %w: tensor<3xf32>) -> tensor<?x3xf32> {
  %y = relex.add %x, %w : (tensor<?x3xf32>, tensor<3xf32>) -> tensor<?x3xf32>
  %z = relex.relu %y : (tensor<?x3xf32>) -> tensor<?x3xf32>
  func.return %z : tensor<?x3xf32>
}
