// An exception of a pass: the op, the line, and a program with the command that reproduces it.
// RUN: rm -rf %t && mkdir -p %t/out
// RUN: not relex-opt %s --load-passes %S/Inputs/failing_passes.py -p 'canonicalize,crash{tolerance=1e-9}' -o %t/out/x.mlir 2>&1 | filecheck %s --check-prefix=CRASH
// CRASH:      failing-passes.mlir:67:10: error: internal error in pass 'crash' on 'relex.add' op: IndexError: tuple index out of range
// CRASH-NEXT: {{^}}    %0 = relex.add %x, %y
// CRASH-NEXT: {{^         \^}}
// CRASH-NEXT: note: {{.*}}failing_passes.py:22: in 'match_and_rewrite' of pattern 'Crash' of pass 'crash': third = op.operands[2]
// CRASH-NEXT: note: reproduced by: relex-opt {{.*}}/out/crash.crash.mlir --load-passes={{.*}}failing_passes.py -p 'crash{tolerance=1e-09}'
// CRASH-NEXT: note: run with --debug for the Python traceback
// CRASH-NOT:  {{.}}

// The program is the one before the pass, and the command is in it.
// RUN: filecheck %s --input-file %t/out/crash.crash.mlir --check-prefix=BEFORE
// BEFORE:      // relex-opt {{.*}}/out/crash.crash.mlir --load-passes={{.*}}failing_passes.py -p 'crash{tolerance=1e-09}'
// BEFORE-NEXT: builtin.module {
// BEFORE-NOT:  relex.abs
// BEFORE:      relex.add %x, %y
// RUN: sed -n '1s,^// ,,p' %t/out/crash.crash.mlir > %t/again.sh
// RUN: env TMPDIR=%t not sh %t/again.sh 2>&1 | filecheck %s --check-prefix=AGAIN
// AGAIN:      crash.crash.mlir:{{.*}}: error: internal error in pass 'crash' on 'relex.add' op: IndexError: tuple index out of range
// AGAIN:      note: reproduced by: relex-opt {{.*}}failing-passes.mlir.tmp/relex-opt-{{.*}}/crash.crash.mlir

// Nothing is written beside a device.
// RUN: env TMPDIR=%t not relex-opt %s --load-passes %S/Inputs/failing_passes.py -p crash -o /dev/null 2>&1 | filecheck %s --check-prefix=DEVICE
// DEVICE: note: reproduced by: relex-opt {{.*}}failing-passes.mlir.tmp/relex-opt-{{.*}}/crash.crash.mlir

// Without a pattern, it is the op that the line is about.
// RUN: env TMPDIR=%t not relex-opt %s --load-passes %S/Inputs/failing_passes.py -p crash-in-loop 2>&1 | filecheck %s --check-prefix=LOOP
// LOOP: failing-passes.mlir:66:10: error: internal error in pass 'crash-in-loop' on 'relex.abs' op: KeyError: 'x'
// LOOP: note: {{.*}}failing_passes.py:71: in 'visit' of pass 'crash-in-loop': raise KeyError(found.operands[-1].name_hint)

// Wrong calls of relex.
// RUN: env TMPDIR=%t not relex-opt %s --load-passes %S/Inputs/failing_passes.py -p forget 2>&1 | filecheck %s --check-prefix=FORGET
// FORGET: failing-passes.mlir:67:10: error: pass 'forget' failed on 'relex.add' op: relex.subtract: expected operands (lhs, rhs), found no rhs
// FORGET: note: {{.*}}failing_passes.py:29: in 'match_and_rewrite' of pattern 'Forget' of pass 'forget': rewriter.replace(op, SubtractOp(op.lhs))

// What is returned would be lost.
// RUN: env TMPDIR=%t not relex-opt %s --load-passes %S/Inputs/failing_passes.py -p return-op 2>&1 | filecheck %s --check-prefix=OP
// OP: failing-passes.mlir:67:10: error: pass 'return-op' failed on 'relex.add' op: expected pattern 'Return' to call 'rewriter.replace(op, ...)' and return None, found that it returns 'relex.subtract' op
// OP: note: {{.*}}failing_passes.py:35: in 'match_and_rewrite' of pattern 'Return' of pass 'return-op'
// RUN: env TMPDIR=%t not relex-opt %s --load-passes %S/Inputs/failing_passes.py -p return-module 2>&1 | filecheck %s --check-prefix=MODULE
// MODULE: error: pass 'return-module' failed: expected 'apply' of pass 'return-module' to change the module in place and return None, found that it returns xdsl.dialects.builtin.ModuleOp
// MODULE: note: {{.*}}failing_passes.py:92: in 'apply' of pass 'return-module': return op.clone()

// Patterns that undo each other. A reproducer of an error that is no crash is written on demand.
// RUN: not relex-opt %s --load-passes %S/Inputs/failing_passes.py -p back-and-forth --mlir-pass-pipeline-crash-reproducer=%t/endless.mlir 2>&1 | filecheck %s --check-prefix=ENDLESS
// ENDLESS:      failing-passes.mlir:67:10: error: '{{.*}}' op pattern 'To{{.*}}' of pass 'back-and-forth' was applied 50 times without end; 'max_rewrites' in BackAndForthPass or --max-rewrites of relex-opt raises the limit
// ENDLESS:      note: pattern 'ToSubtract' was applied to 'relex.add' op at {{.*}}failing-passes.mlir:67:10, and made 'relex.subtract'
// ENDLESS-NEXT: note: pattern 'ToAdd' was applied to 'relex.subtract' op at {{.*}}failing-passes.mlir:67:10, and made 'relex.add'
// ENDLESS:      note: reproduced by: relex-opt {{.*}}/endless.mlir --load-passes={{.*}}failing_passes.py -p back-and-forth
// RUN: not relex-opt %s --load-passes %S/Inputs/failing_passes.py -p back-and-forth --max-rewrites 7 2>&1 | filecheck %s --check-prefix=LIMIT
// LIMIT: was applied 7 times without end

// The debugger opens in the file of the pass.
// RUN: printf 'p op.name\nq\n' | env TMPDIR=%t not relex-opt %s --load-passes %S/Inputs/failing_passes.py -p crash --pdb 2>&1 | filecheck %s --check-prefix=PDB
// PDB: failing_passes.py(22)match_and_rewrite()
// PDB: (Pdb) 'relex.add'
// RUN: not relex-opt --pdb < %s 2>&1 | filecheck %s --check-prefix=STDIN
// STDIN: relex-opt: error: expected a file with --pdb, as the debugger reads standard input

// RUN: relex-opt --help | filecheck %s --check-prefix=HELP
// HELP:      --verify-diagnostics check the errors, warnings and remarks against those
// HELP-NEXT: that comments of the program expect, as mlir-opt does:

func.func @main(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
    %1 = relex.abs %x : (tensor<4xf32>) -> tensor<4xf32>
    %0 = relex.add %x, %y : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    func.return %0 : tensor<4xf32>
}
