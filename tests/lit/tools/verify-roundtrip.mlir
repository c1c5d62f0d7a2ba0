// RUN: not relex-opt %s --verify-roundtrip --load-passes %S/Inputs/wrong_passes.py -p canonicalize,lose-attributes 2>&1 | filecheck %s
// RUN: relex-opt %s --verify-roundtrip -p canonicalize,relex-pipeline | filecheck %s --check-prefix=GOOD
// RUN: env RELEX_OPT_FLAGS= relex-opt %s --load-passes %S/Inputs/wrong_passes.py -p canonicalize,lose-attributes -o /dev/null

// CHECK: verify-roundtrip.mlir:[[LINE:[0-9]+]]:1: error: 'func.func' op expected the program after pass 'lose-attributes' to be printed and read back as it is, found property 'arg_attrs' as nothing, which was [{}]
// CHECK-NEXT: func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
// CHECK-NEXT: ^

// GOOD: llvm.func @main
func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = relex.constant dense<"0x0000C07F000080FF"> : tensor<2xf32>
  %1 = relex.add %x, %0 : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  func.return %1 : tensor<2xf32>
}
