// RUN: relex-opt %s -p relex-pipeline{to=core} --check-each=proof -o %t.mlir 2> %t.notes
// RUN: filecheck %s --check-prefix=NOTE < %t.notes
// RUN: relex-opt %s -p canonicalize --check-each 2>&1 -o %t.mlir | filecheck %s --check-prefix=SAMPLES --allow-empty
// RUN: not relex-opt %s --load-passes %S/Inputs/wrong_passes.py -p 'legalize-ops,swap-subtractions' --check-each=proof,samples:1 2>&1 | filecheck %s --check-prefix=SWAPPED

// NOTE-NOT: error
// NOTE: {{.*}}check-each-proof.mlir: note: functions over all passes: {{[1-9][0-9]*}} unchanged, {{[1-9][0-9]*}} proved, {{[0-9]+}} checked, 0 open; the result has the SHA-256 {{[0-9a-f]+$}}

// SAMPLES-NOT: SHA-256

// SWAPPED: error: 'func.func' op pass 'swap-subtractions' changes what @main computes
// SWAPPED: note: for any arguments, result[1, 0] is arith.addf(%x[1, 0], arith.negf({{.*}})) before and arith.addf({{.*}}) after
// SWAPPED: note: a smaller program that shows it: {{.*}} --check-each=proof,seed:0,samples:1
func.func @main(%x: tensor<2x3xf32>, %y: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %0 = relex.multiply %x, %y : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %1 = relex.subtract %x, %0 : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  func.return %1 : tensor<2x3xf32>
}
