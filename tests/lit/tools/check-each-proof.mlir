// RUN: relex-opt %s -p relex-pipeline{to=core} --check-each=proof --certificate %t.json -o /dev/null 2>&1 | filecheck %s --check-prefix=NOTE --allow-empty
// RUN: filecheck %s --check-prefix=JSON < %t.json
// RUN: relex-opt %s --verify-certificate %t.json | filecheck %s --check-prefix=HOLDS
// RUN: sed 's/relex.subtract %%x, %%0/relex.add %%x, %%0/' %s | not relex-opt --verify-certificate %t.json 2>&1 | filecheck %s --check-prefix=OTHER
// RUN: sed 's/"verdict": "unchanged"/"verdict": "nonsense"/' %t.json > %t.wrong.json && not relex-opt %s --verify-certificate %t.wrong.json 2>&1 | filecheck %s --check-prefix=WRONG
// RUN: sed 's/"seed": 0/"seed": 1/; 0,/"after": "./s/"after": "./"after": "x/' %t.json > %t.hash.json && not relex-opt %s --verify-certificate %t.hash.json 2>&1 | filecheck %s --check-prefix=HASH
// RUN: not relex-opt %s --certificate %t.json 2>&1 | filecheck %s --check-prefix=ALONE
// RUN: not relex-opt %s --verify-certificate %t.json -p canonicalize 2>&1 | filecheck %s --check-prefix=PASSES
// RUN: not relex-opt %s --load-passes %S/Inputs/wrong_passes.py -p 'legalize-ops,swap-subtractions' --check-each=proof,samples:1 2>&1 | filecheck %s --check-prefix=SWAPPED

// NOTE-NOT: error

// JSON:      "format": "relex certificate 1",
// JSON:      "pass": "legalize-ops",
// JSON-NEXT: "before": "{{[0-9a-f]+}}",
// JSON-NEXT: "after": "{{[0-9a-f]+}}",
// JSON:      "type": "(x: float32[2x3], y: float32[2x3]) -> (result: float32[2x3])",
// JSON:      "pass": "lower-call-tir",
// JSON:      "verdict": "proved"

// HOLDS: {{.*}}.json holds: {{[0-9]+}} unchanged, {{[0-9]+}} proved, {{[0-9]+}} checked, 0 open
// OTHER: error: the certificate does not hold: the program is another one
// WRONG: error: {{.*}}wrong.json: expected a certificate, found ValueError: 'nonsense' is not a valid Kind
// HASH: error: the certificate does not hold: the program after pass '{{.*}}' is another one
// ALONE: relex-opt: error: expected --certificate with --check-each=proof
// PASSES: relex-opt: error: expected --verify-certificate without passes, which the certificate names

// SWAPPED: error: 'func.func' op pass 'swap-subtractions' changes what @main computes
// SWAPPED: note: for any arguments, result[0, 0] is arith.addf(%x[0, 0], arith.negf({{.*}})) before and arith.addf({{.*}}) after
// SWAPPED: note: a smaller program that shows it: {{.*}} --check-each=proof,seed:0,samples:1
func.func @main(%x: tensor<2x3xf32>, %y: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %0 = relex.multiply %x, %y : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %1 = relex.subtract %x, %0 : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  func.return %1 : tensor<2x3xf32>
}
