// RUN: not relex-opt --load-passes %S/Inputs/drop_zeros.py --fuzz-pass drop-zeros --dump-dir %t 2>&1 | filecheck %s
// RUN: not relex-opt %t/drop-zeros.results.mlir --load-passes %S/Inputs/drop_zeros.py --fuzz-pass drop-zeros --fuzz programs:1,seed:1 2>&1 | filecheck %s --check-prefix=AGAIN
// RUN: relex-opt %s --fuzz-pass fuse-ewise-fma --fuzz programs:5 | filecheck %s --check-prefix=RIGHT
// RUN: not relex-opt --load-passes %S/Inputs/no_change.py --fuzz-pass no-change --fuzz programs:9 2>&1 | filecheck %s --check-prefix=UNTESTED
// RUN: not relex-opt --fuzz-pass cse,canonicalize 2>&1 | filecheck %s --check-prefix=TWO
// RUN: not relex-opt --fuzz-pass cse --fuzz seeds:1 2>&1 | filecheck %s --check-prefix=OPTION
// RUN: not relex-opt --fuzz-pass cse --fuzz programs:0 2>&1 | filecheck %s --check-prefix=NONE

// CHECK: drop-zeros.results.mlir:5:10: error: 'relex.multiply' op pass 'drop-zeros', rule 'zero', applied to 'relex.multiply', changes what @main computes
// CHECK: note: the smallest program that shows it: relex-opt {{.*}}drop-zeros.results.mlir --load-passes={{.*}}drop_zeros.py --fuzz-pass=drop-zeros --fuzz=programs:1,seed:

// AGAIN: drop-zeros.results.mlir:5:10: error: 'relex.multiply' op pass 'drop-zeros', rule 'zero'

// RIGHT: pass 'fuse-ewise-fma': {{[0-9]+}} programs, {{[1-9][0-9]*}} of them changed: no mistake found
// RIGHT: times FuseMultiplyAdd

// UNTESTED: relex-opt: error: pass 'no-change' was not tested: {{[0-9]+}} programs, none of them changed and compared
// UNTESTED: note: try it on a program that it changes, or a larger number of programs

// TWO: relex-opt: error: expected --fuzz-pass with the name of one pass, and no other passes
// OPTION: relex-opt: error: expected --fuzz=programs:NUMBER,seed:NUMBER,samples:NUMBER, found 'seeds:1'
// NONE: relex-opt: error: expected --fuzz with one program or more, found 0

func.func @main(%x: tensor<3xf32>, %y: tensor<3xf32>, %z: tensor<3xf32>) -> tensor<3xf32> {
  %0 = relex.multiply %x, %y : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  %1 = relex.add %0, %z : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  func.return %1 : tensor<3xf32>
}
