// RUN: not relex-opt %s --split-input-file 2>&1 | filecheck %s
// RUN: not relex-opt %s -p canonicalise 2>&1 | filecheck %s --check-prefix=PASS
// RUN: not relex-opt %s -p set-target{gpu=none} 2>&1 | filecheck %s --check-prefix=OPTION
// RUN: not relex-opt %t.none.mlir 2>&1 | filecheck %s --check-prefix=FILE
// RUN: not relex-opt %s --shapes x=1x3 2>&1 | filecheck %s --check-prefix=SHAPES
// RUN: not relex-run %s --values x=3 2>&1 | filecheck %s --check-prefix=VALUES

// PASS: relex-opt: error: unknown pass 'canonicalise'; did you mean 'canonicalize'?
// OPTION: relex-opt: error: pass 'set-target' has no option 'gpu'; its options: cpu, features, triple
// FILE: relex-opt: error: cannot read '{{.*}}.none.mlir': No such file or directory
// SHAPES: relex-opt: error: expected a model, a file named *.onnx or .pt2, with --shapes, found '{{.*}}relex-opt-errors.mlir'
// VALUES: relex-run: error: expected a model, a file named *.onnx or .pt2, with --values, found '{{.*}}relex-opt-errors.mlir'

// CHECK: relex-opt-errors.mlir:19:15: error: {{.+}}
// CHECK-NEXT: {{^}}  func.return ]
// CHECK-NEXT: {{^              }}^
func.func @unparsable() {
  // the mistake is in the next line
  func.return ]
}

// -----

// CHECK: relex-opt-errors.mlir:28:3: error: 'func.return' op {{.+}}
// CHECK-NEXT: {{^}}  func.return
// CHECK-NEXT: {{^  }}^
func.func @no_result() -> i32 {
  func.return
}

// -----

// CHECK-LABEL: func.func @good()
func.func @good() {
  func.return
}

// -----

// CHECK: relex-opt-errors.mlir:44:3: error: 'func.call' op '@missing'
// CHECK-NEXT: {{^}}  func.call @missing() : () -> ()
func.func @undefined_symbol() {
  // the mistake is in the next line
  func.call @missing() : () -> ()
  func.return
}
