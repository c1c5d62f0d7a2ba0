// RUN: rm -rf %t && mkdir %t
// RUN: not relex-opt %s --load-passes %S/Inputs/wrong_rules.py -p canonicalize,absorb-wrongly,cse --bisect --dump-dir %t 2>&1 | filecheck %s
// CHECK:      bisect.mlir:{{[0-9]+}}:8: error: rule 'AddInstead' of pass 'absorb-wrongly' changes what @main computes: expected {{.*}}
// CHECK-NEXT:   %6 = relex.subtract %4, %5 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT:        ^
// CHECK-NEXT: note: it is rule 4: --stop-after-rule 3 is the last program without the fault
// CHECK-NEXT: note: before: %6 = relex.subtract %4, %5
// CHECK-NEXT: note: after: %6 = relex.add %4, %5
// CHECK-NEXT: note: seen in sample 0 (normal numbers; seed 0)
// CHECK-NEXT: note: with %x[
// CHECK-NEXT: note: a smaller program that shows it: relex-opt {{.*}}/absorb-wrongly.bisect.mlir --load-passes={{.*}}wrong_rules.py -p absorb-wrongly --bisect --check-each=seed:0,samples:3
// CHECK-NOT:  {{.}}

// RUN: relex-opt %s --load-passes %S/Inputs/wrong_rules.py -p canonicalize,absorb-wrongly,cse --stop-after-rule 3 --check-each | filecheck %s --check-prefix=THREE
// THREE: relex.subtract %{{.*}}, %{{.*}}
// RUN: not relex-opt %s --load-passes %S/Inputs/wrong_rules.py -p canonicalize,absorb-wrongly,cse --stop-after-rule 4 --check-each --dump-dir %t 2>&1 | filecheck %s --check-prefix=FOUR
// FOUR: error: 'func.func' op pass 'absorb-wrongly' changes what @main computes

// The smaller program shows it too.
// RUN: not relex-opt %t/absorb-wrongly.bisect.mlir --load-passes %S/Inputs/wrong_rules.py -p absorb-wrongly --bisect --dump-dir %t/again 2>&1 | filecheck %s --check-prefix=AGAIN
// AGAIN: error: rule 'AddInstead' of pass 'absorb-wrongly' changes what @main computes
// AGAIN: note: it is rule 1: --stop-after-rule 0 is the last program without the fault

// RUN: not relex-opt %s --load-passes %S/Inputs/wrong_rules.py -p canonicalize,widen --bisect --dump-dir %t 2>&1 | filecheck %s --check-prefix=INVALID
// INVALID:      bisect.mlir:{{[0-9]+}}:8: error: rule 'Widen' of pass 'widen' breaks the program: 'relex.exp' op expected result type tensor<4xf32>, found tensor<4xf64> after pass 'widen'
// INVALID:      note: it is rule 4: --stop-after-rule
// INVALID-NEXT: note: before: %{{.*}} = relex.exp %{{.*}} : (tensor<4xf32>) -> tensor<4xf32>
// INVALID-NEXT: note: after: %{{.*}} = relex.exp %{{.*}} : (tensor<4xf32>) -> tensor<4xf64>
// INVALID-NEXT: note: a smaller program that shows it: relex-opt {{.*}}/widen.bisect.mlir

// RUN: not relex-opt %s --load-passes %S/Inputs/wrong_rules.py -p fail --bisect --dump-dir %t 2>&1 | filecheck %s --check-prefix=RAISES
// RAISES: error: {{.*}}no products
// RAISES: note: rule 'Fail' of pass 'fail' raises it, after {{[0-9]+}} rules
// RAISES: note: a smaller program that shows it: relex-opt {{.*}}/fail.bisect.mlir

// RUN: not relex-opt %s --load-passes %S/Inputs/wrong_rules.py -p swap --bisect --dump-dir %t 2>&1 | filecheck %s --check-prefix=ITSELF
// ITSELF: error: 'func.func' op pass 'swap' changes what @main computes
// ITSELF: note: it is not one of its rules, but the pass itself, after 2 rules
// ITSELF: note: a smaller program that shows it: relex-opt {{.*}}/swap.bisect.mlir

// RUN: relex-opt %s -p canonicalize,relex-pipeline{to=loops} --bisect -o %t/out.mlir 2>&1 | filecheck %s --check-prefix=RIGHT
// RIGHT: bisect.mlir: note: nothing is wrong after {{[0-9]+}} rules
// RUN: not relex-opt %s -p cse --bisect --stop-after-rule 3 2>&1 | filecheck %s --check-prefix=BOTH
// BOTH: relex-opt: error: expected --bisect or --stop-after-rule, found both
// RUN: not relex-opt %s -p cse --stop-after-rule=-3 2>&1 | filecheck %s --check-prefix=NUMBER
// NUMBER: relex-opt: error: argument --stop-after-rule: expected a number of rules, found '-3'

func.func @main(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  %0 = relex.negative %y : (tensor<4xf32>) -> tensor<4xf32>
  %1 = relex.subtract %x, %0 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %2 = relex.negative %1 : (tensor<4xf32>) -> tensor<4xf32>
  %3 = relex.add %x, %2 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %4 = relex.multiply %3, %y : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %5 = relex.negative %x : (tensor<4xf32>) -> tensor<4xf32>
  %6 = relex.subtract %4, %5 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %7 = relex.add %6, %2 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %8 = relex.exp %7 : (tensor<4xf32>) -> tensor<4xf32>
  func.return %8 : tensor<4xf32>
}
