// RUN: relex-opt %s -p canonicalize,cse --timing 2>&1 >/dev/null | filecheck %s
// RUN: relex-opt %s -p canonicalize,cse --mlir-timing 2>&1 >/dev/null | filecheck %s
// RUN: not relex-opt %s -p canonicalize,cse,bind-params{file="%t.none"} --timing 2>&1 >/dev/null | filecheck %s
// CHECK:      ... Execution time report ...
// CHECK:      Total Execution Time: {{[0-9]+\.[0-9]+}} seconds
// CHECK:      ----Wall Time----  ----Name----
// CHECK-NEXT: {{^ +[0-9]+\.[0-9]+ \( *[0-9]+\.[0-9]%\)  Imports}}
// CHECK-NEXT: Parser
// CHECK-NEXT: Verifier
// CHECK-NEXT: canonicalize
// CHECK-NEXT: cse
// CHECK:      Rest
// CHECK-NEXT: (100.0%)  Total

// RUN: relex-run %s --timing 2>&1 >/dev/null | filecheck %s --check-prefix=RUNS
// RUNS:   ... Execution time report ...
// RUNS:      Imports
// RUNS-NEXT: Parser
// RUNS:      schedule-cpu
// RUNS:      LLVM
// RUNS-NEXT: Link
// RUNS-NEXT: Calls
// RUNS-NEXT: Rest
// RUNS-NEXT: (100.0%)  Total

// RUN: relex-opt %s -p canonicalize,cse --timing 2>/dev/null | filecheck %s --check-prefix=OUT
// OUT-NOT: Execution time

func.func @main() {
  func.return
}
