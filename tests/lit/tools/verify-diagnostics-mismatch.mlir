// RUN: not relex-opt %s --split-input-file --verify-diagnostics 2>&1 | filecheck %s

// CHECK:      verify-diagnostics-mismatch.mlir:11:3: error: unexpected error: 'func.return' op {{.+}}
// CHECK-NEXT: {{^}}  func.return
// CHECK-NEXT: {{^  }}^
// CHECK-NEXT: verify-diagnostics-mismatch.mlir:10:6: error: expected error "something else" was not produced
// CHECK-NEXT: {{^}}  // expected-error@+1
// CHECK-NEXT: {{^     }}^
func.func @f() -> i32 {
  // expected-error@+1 {{something else}}
  func.return
}

// -----

// CHECK-NEXT: verify-diagnostics-mismatch.mlir:19:18: error: expected error "" was not produced
func.func @g() {
  // the mistake that the comment announces is none
  func.return // expected-error {{}}
}
