// RUN: rm -rf %t && mkdir -p %t
// RUN: relex-opt %s --check-each=seed:3 -p relex-pipeline -o %t/right.mlir 2> %t/right.txt && test ! -s %t/right.txt
// RUN: not relex-opt %s --check-each --load-passes %S/Inputs/wrong_passes.py -p fold-differences --dump-dir %t/dump 2>&1 >/dev/null | filecheck %s --check-prefix=GRAPH
// RUN: filecheck %s --input-file %t/dump/fold-differences.main.mlir --check-prefix=SMALLER
// RUN: not relex-opt %t/dump/fold-differences.main.mlir --load-passes %S/Inputs/wrong_passes.py -p fold-differences --check-each=seed:0,samples:3 2>&1 | filecheck %s --check-prefix=AGAIN
// RUN: not relex-opt %s --check-each=samples:1,seed:5 --load-passes=%S/Inputs/wrong_passes.py -p 'legalize-ops,cse,swap-subtractions{negate}' -o %t/out.mlir 2>&1 | filecheck %s --check-prefix=LOOPS
// RUN: env TMPDIR=%t not relex-opt %s --check-each --load-passes %S/Inputs/wrong_passes.py -p remove-functions 2>&1 | filecheck %s --check-prefix=REMOVED
// RUN: not relex-opt %s --check-each=samples:many 2>&1 | filecheck %s --check-prefix=OPTION
// RUN: not relex-opt %s --check-each=samples:0 2>&1 | filecheck %s --check-prefix=NONE
// RUN: echo 'func.func @f(%x: memref<*xf32>) { func.return }' | relex-opt --check-each -p canonicalize 2>&1 >/dev/null | filecheck %s --check-prefix=SKIPPED

// GRAPH: check-each.mlir:29:1: error: 'func.func' op pass 'fold-differences' changes what @main computes: expected nan for result 1[1], found 0.0
// GRAPH-NEXT: func.func @main(%x: tensor<3xf32>, %y: tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>) {
// GRAPH-NEXT: ^
// GRAPH-NEXT: note: seen in sample 0 (NaN and infinities among normal numbers; seed 0)
// GRAPH-NEXT: note: with %x[2] = nan: expected nan for result 1[2], found 0.0
// GRAPH-NEXT: note: a smaller program that shows it: relex-opt {{.*}}/fold-differences.main.mlir --load-passes={{.*}}/wrong_passes.py -p fold-differences --check-each=seed:0,samples:3

// SMALLER: // relex-opt {{.*}}/fold-differences.main.mlir
// SMALLER-NEXT: builtin.module {
// SMALLER-NEXT:   func.func @main(%x: tensor<3xf32>) -> tensor<3xf32> {
// SMALLER-NEXT:     %0 = relex.subtract %x, %x : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
// SMALLER-NEXT:     func.return %0 : tensor<3xf32>
// SMALLER-NEXT:   }
// SMALLER-NEXT: }

// AGAIN: fold-differences.main.mlir:3:3: error: 'func.func' op pass 'fold-differences' changes what @main computes: expected nan for result[1], found 0.0

func.func @main(%x: tensor<3xf32>, %y: tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>) {
  %0 = relex.subtract %x, %y : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  %1 = relex.exp %0 : (tensor<3xf32>) -> tensor<3xf32>
  %2 = relex.subtract %x, %x : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  %3 = relex.negative %2 : (tensor<3xf32>) -> tensor<3xf32>
  %4 = relex.abs %3 : (tensor<3xf32>) -> tensor<3xf32>
  func.return %1, %4 : tensor<3xf32>, tensor<3xf32>
}
func.func private @unrelated(%x: tensor<3xf32>) -> tensor<3xf32> {
  func.return %x : tensor<3xf32>
}

// A result that may be off by the roundings of a function of the C library is off by more. The program that is written
// stands beside the output.
// LOOPS: check-each.mlir:29:1: error: 'func.func' op pass 'swap-subtractions' changes what @main computes: expected 4.49{{[0-9]*}} (give or take 4.{{[0-9]+}}e-06) for result 0[0], found 0.22{{[0-9]*}}
// LOOPS-NEXT: func.func @main(
// LOOPS-NEXT: ^
// LOOPS-NEXT: note: seen in sample 0 (normal numbers; seed 5)
// LOOPS-NEXT: note: with %y[2] = -0.2{{[0-9]*}}: expected 1.3{{[0-9]*}} (give or take 1.{{[0-9]+}}e-06) for result 0[2], found 0.7
// LOOPS-NEXT: note: a smaller program that shows it: relex-opt {{.*}}.tmp/swap-subtractions.main.mlir --load-passes={{.*}}/wrong_passes.py -p 'swap-subtractions{negate=true}' --check-each=seed:5,samples:1

// REMOVED: check-each.mlir:29:1: error: 'func.func' op pass 'remove-functions' changes what @main is: expected a public function to stay, found none of this name
// REMOVED: note: a smaller program that shows it: relex-opt {{.*}}.tmp/relex-opt-{{.*}}/remove-functions.main.mlir

// OPTION: relex-opt: error: expected --check-each=seed:NUMBER,samples:NUMBER,seconds:NUMBER, found 'samples:many'
// NONE: relex-opt: error: expected --check-each with one sample or more, found 0
// SKIPPED: <stdin>: note: @f is not checked: it takes or gives memref<*xf32>, which NumPy does not have
