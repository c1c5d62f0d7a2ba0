// RUN: relex-opt %s --split-input-file --load-passes %S/Inputs/wrong_rules.py -p absorb-wrongly --trace-rules 2>&1 >/dev/null | filecheck %s
// RUN: relex-opt --trace-rules %s --split-input-file --load-passes %S/Inputs/wrong_rules.py -p absorb-wrongly 2>&1 >/dev/null | filecheck %s
// CHECK:      trace-rules.mlir:{{[0-9]+}}:8: note: rule 1: 'AddInstead' of pass 'absorb-wrongly'
// CHECK-NEXT: {{^}}  - %1 = relex.subtract %x, %0 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT: {{^}}  + %1 = relex.add %x, %y : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT: trace-rules.mlir:{{[0-9]+}}:8: note: rule 2: 'dead code' of pass 'absorb-wrongly'
// CHECK-NEXT: {{^}}  - %0 = relex.negative %y : (tensor<4xf32>) -> tensor<4xf32>
// The next program is counted by itself.
// CHECK-NEXT: trace-rules.mlir:{{[0-9]+}}:8: note: rule 1: 'dead code' of pass 'absorb-wrongly'
// CHECK-NEXT: {{^}}  - %0 = relex.negative %y : (tensor<4xf32>) -> tensor<4xf32>
// CHECK-NOT:  {{.}}

// RUN: relex-opt %s --split-input-file --load-passes %S/Inputs/wrong_rules.py -p absorb-wrongly --trace-rules=refused 2>&1 >/dev/null | filecheck %s --check-prefix=REFUSED
// REFUSED:      refused: 'SubtractInstead' of pass 'absorb-wrongly': its right side is no negative
// REFUSED-NEXT: {{^}}    %1 = relex.add %x, %y : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>

// RUN: relex-opt %s --split-input-file --load-passes %S/Inputs/wrong_rules.py -p absorb-wrongly,canonicalize --stop-after-rule 1 | filecheck %s --check-prefix=STOP
// STOP: relex.negative %y
// STOP: relex.add %x, %y
// STOP: // -----
// STOP-NOT: relex.negative

// The checks of --check-each run passes as well, whose rules do not count.
// RUN: relex-opt %s --split-input-file --load-passes %S/Inputs/wrong_rules.py -p absorb-wrongly --trace-rules --check-each 2>&1 >/dev/null | filecheck %s

// Rules of conversions have no numbers.
// RUN: echo 'func.func @f(%x: i32) -> i32 { %0 = arith.muli %x, %x : i32 func.return %0 : i32 }' | relex-opt -p convert-to-llvm --trace-rules 2>&1 >/dev/null | filecheck %s --check-prefix=CONVERT
// CONVERT:      note: rule: 'convert arith.muli' of pass 'convert-to-llvm'
// CONVERT-NEXT: - %0 = arith.muli %x, %x : i32
// CONVERT-NEXT: + %0 = llvm.mul %x, %x : i32

// RUN: not relex-opt %s --trace-rules=all 2>&1 | filecheck %s --check-prefix=CHOICE
// CHOICE: relex-opt: error: argument --trace-rules: invalid choice: 'all' (choose from

func.func @main(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  %0 = relex.negative %y : (tensor<4xf32>) -> tensor<4xf32>
  %1 = relex.subtract %x, %0 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return %1 : tensor<4xf32>
}

// -----

func.func @unused(%y: tensor<4xf32>) -> tensor<4xf32> {
  %0 = relex.negative %y : (tensor<4xf32>) -> tensor<4xf32>
  func.return %y : tensor<4xf32>
}
