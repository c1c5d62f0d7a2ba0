// RUN: relex-opt %s --split-input-file --verify-diagnostics | filecheck %s
// RUN: not relex-opt %s --split-input-file --verify-diagnostics -p relex-pipeline 2>&1 >%t | filecheck %s --check-prefix=PASS

// PASS: verify-diagnostics.mlir:42:8: error: unexpected error: 'tensor.empty' op cannot be lowered to buffers
// PASS-NEXT: %0 = tensor.empty
// PASS-NEXT: ^

// A program with errors has no output.
// CHECK-NOT: @f
// CHECK-LABEL: func.func @good()
// CHECK-LABEL: func.func @also_good

func.func @f() {
  // expected-error@+1 {{nonsense is not registered}}
  nonsense
}

// -----

func.func @f() -> i32 {
  func.return // expected-error-re {{'func.return' op expected arguments to have the same types {{.*}}}}
}

// -----

func.func @f() {
  // expected-error@below {{'@missing' could not be found in symbol table}}
  // expected-error@below {{'func.call' op}}
  func.call @missing() : () -> ()  func.call @missing() : () -> ()
  func.return
}

// -----

func.func @good() {
  func.return
}

// -----

func.func @also_good(%x: tensor<2xf16>) -> tensor<2xf16> {
  %0 = tensor.empty() : tensor<2xf16>
  func.return %0 : tensor<2xf16>
}
