// RUN: relex-opt %s --load-passes %S/Inputs/wrong_rules.py -p absorb-wrongly,cse --statistics 2>&1 >/dev/null | filecheck %s
// RUN: relex-opt %s --load-passes %S/Inputs/wrong_rules.py -p absorb-wrongly,cse --mlir-pass-statistics 2>&1 >/dev/null | filecheck %s
// CHECK:      statistics.mlir:{{[0-9]+}}:8: remark: absorbed a relex.negative [absorb-wrongly]
// CHECK-NEXT:   %1 = relex.add %x, %0
// CHECK-NEXT:        ^
// CHECK-NEXT: ===---
// CHECK-NEXT: ... Pass statistics report ...
// CHECK-NEXT: ===---
// CHECK-NEXT: {{^}}absorb-wrongly
// CHECK-NEXT: {{^}}  (S) 0 negatives left
// CHECK-NEXT: {{^}}  (S) 1 applied 'SubtractInstead'
// CHECK-NEXT: {{^}}  (S) 1 applied 'dead code'
// CHECK-NEXT: {{^}}  (S) 1 refused 'SubtractInstead': its right side is no negative
// CHECK-NOT:  {{.}}

// RUN: relex-opt %s --load-passes %S/Inputs/wrong_rules.py -p absorb-wrongly --remarks 2>&1 >/dev/null | filecheck %s --check-prefix=REMARKS
// REMARKS: remark: absorbed a relex.negative [absorb-wrongly]
// REMARKS-NOT: report
// RUN: relex-opt %s --load-passes %S/Inputs/wrong_rules.py -p absorb-wrongly --remarks --verify-diagnostics
// RUN: relex-opt %s --load-passes %S/Inputs/wrong_rules.py -p absorb-wrongly 2>&1 | filecheck %s --check-prefix=SILENT
// SILENT-NOT: remark

// RUN: relex-opt %s --load-passes %S/Inputs/wrong_rules.py -p absorb-wrongly --statistics=json 2>&1 >/dev/null | filecheck %s --check-prefix=JSON
// RUN: relex-opt %s --load-passes %S/Inputs/wrong_rules.py -p absorb-wrongly --statistics=%t.json 2>&1 >/dev/null | filecheck %s --check-prefix=SILENT --allow-empty
// RUN: python -m json.tool %t.json | filecheck %s --check-prefix=JSON
// JSON:      {
// JSON-NEXT:   "passes": [
// JSON-NEXT:     {
// JSON-NEXT:       "pass": "absorb-wrongly",
// JSON-NEXT:       "statistics": {
// JSON-NEXT:         "negatives left": 0
// JSON-NEXT:       },
// JSON-NEXT:       "applied": {
// JSON-NEXT:         "SubtractInstead": 1,
// JSON-NEXT:         "dead code": 1
// JSON-NEXT:       },
// JSON-NEXT:       "refused": {
// JSON-NEXT:         "SubtractInstead": {
// JSON-NEXT:           "its right side is no negative": 1
// JSON-NEXT:         }
// JSON-NEXT:       }
// JSON-NEXT:     }
// JSON-NEXT:   ],
// JSON-NEXT:   "remarks": [
// JSON-NEXT:     {
// JSON-NEXT:       "pass": "absorb-wrongly",
// JSON-NEXT:       "file": "{{.*}}statistics.mlir",
// JSON-NEXT:       "line": {{[0-9]+}},
// JSON-NEXT:       "column": 8,
// JSON-NEXT:       "message": "absorbed a relex.negative"

// RUN: python -c "import numpy as np; np.save('%t.npy', np.float32([1, 2]))"
// RUN: relex-run --statistics %s --input %t.npy --input %t.npy --level loops 2>&1 | filecheck %s --check-prefix=RUN-LOOPS
// RUN-LOOPS: legalize-ops
// RUN-LOOPS-NEXT: (S) 3 applied 'LegalizeOperator'
// RUN-LOOPS: [

// RUN: not relex-opt %s --statistics=yaml 2>&1 | filecheck %s --check-prefix=WRONG
// RUN: not relex-run %s --statistics=yaml 2>&1 | filecheck %s --check-prefix=WRONG
// WRONG: error: expected --statistics, --statistics=json or a file *.json, found 'yaml'

func.func @main(%x: tensor<2xf32>, %y: tensor<2xf32>) -> tensor<2xf32> {
  %0 = relex.negative %y : (tensor<2xf32>) -> tensor<2xf32>
  // expected-remark@+1 {{absorbed a relex.negative}}
  %1 = relex.add %x, %0 : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  %2 = relex.add %1, %y : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  func.return %2 : tensor<2xf32>
}
