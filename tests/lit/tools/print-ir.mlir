// Nothing of this is mixed into the output.
// RUN: relex-opt %s -p canonicalize,cse --print-ir-after-all 2>/dev/null | filecheck %s --check-prefix=OUT
// OUT-NOT: // -----//
// OUT: func.func @f

// RUN: relex-opt %s -p canonicalize,cse --print-ir-after-all 2>&1 >%t | filecheck %s --check-prefix=AFTER
// RUN: relex-opt %s -p canonicalize,cse --mlir-print-ir-after-all 2>&1 >%t | filecheck %s --check-prefix=AFTER
// RUN: relex-opt --print-ir-after %s -p canonicalize,cse 2>&1 >%t | filecheck %s --check-prefix=AFTER
// RUN: relex-opt --print-ir-after=cse,canonicalize %s -p canonicalize,cse 2>&1 >%t | filecheck %s --check-prefix=AFTER
// AFTER:      // -----// IR Dump After CanonicalizePass (canonicalize) //----- //
// AFTER-NEXT: builtin.module {
// AFTER-NOT:  arith.constant
// AFTER:      // -----// IR Dump After CommonSubexpressionElimination (cse) //----- //
// AFTER-NEXT: builtin.module {

// RUN: relex-opt %s -p canonicalize,cse --print-ir-before=canonicalize 2>&1 >%t | filecheck %s --check-prefix=BEFORE
// RUN: relex-opt %s -p canonicalize,cse --mlir-print-ir-before=canonicalize 2>&1 >%t | filecheck %s --check-prefix=BEFORE
// BEFORE-NOT: cse
// BEFORE:     // -----// IR Dump Before CanonicalizePass (canonicalize) //----- //
// BEFORE:     arith.constant
// BEFORE-NOT: // -----//

// RUN: relex-opt %s -p cse --print-ir-before-all --print-ir-after=cse 2>&1 >%t | filecheck %s --check-prefix=BOTH
// BOTH: IR Dump Before
// BOTH: IR Dump After

// RUN: relex-opt %s -p canonicalize,cse --print-ir-after-change 2>&1 >%t | filecheck %s --check-prefix=CHANGE
// CHANGE:      // -----// IR Dump After CanonicalizePass (canonicalize) //----- //
// CHANGE-NEXT: --- before
// CHANGE-NEXT: +++ after
// CHANGE-NEXT: @@ {{.+}} @@
// CHANGE:      -    %c = arith.constant 0 : i32
// CHANGE-NEXT: -    %y = arith.addi %x, %c : i32
// CHANGE-NEXT: -    func.return %y : i32
// CHANGE-NEXT: +    func.return %x : i32
// CHANGE-NOT:  cse

// RUN: not relex-opt %s -p canonicalize,bind-params{file="%t.none.npz"} --print-ir-after-failure 2>&1 | filecheck %s --check-prefix=FAILURE
// FAILURE-NOT: canonicalize
// FAILURE:      // -----// IR Dump After BindParamsPass Failed (bind-params) //----- //
// FAILURE-NEXT: builtin.module {
// FAILURE:      error: pass 'bind-params' failed

// Of a pass that is made of others, these are shown; by its name, it itself.
// RUN: relex-opt %s -p relex-pipeline{to=core} --print-ir-after-all 2>&1 >%t | filecheck %s --check-prefix=STEPS
// STEPS:     IR Dump After SetTargetPass (set-target)
// STEPS:     IR Dump After ConvertTirToScfPass (convert-tir-to-scf)
// STEPS-NOT: relex-pipeline
// RUN: env RELEX_OPT_FLAGS= relex-opt %s -p relex-pipeline{to=core} --print-ir-after=relex-pipeline 2>&1 >%t | filecheck %s --check-prefix=WHOLE
// WHOLE: IR Dump After RelexPipelinePass (relex-pipeline)
// WHOLE-NOT: IR Dump

// RUN: not relex-opt %s --print-ir-after=csee 2>&1 | filecheck %s --check-prefix=UNKNOWN
// UNKNOWN: relex-opt: error: unknown pass 'csee'; did you mean 'cse'?

func.func @f(%x: i32) -> i32 {
  %c = arith.constant 0 : i32
  %y = arith.addi %x, %c : i32
  func.return %y : i32
}
