// Passes of a file run in the default compilation, where they say.

// RUN: python -c "import numpy as np; np.save('%t.x.npy', np.float32([1, 2])); np.save('%t.y.npy', np.float32([3, 5]))"
// RUN: relex-run %s --input %t.x.npy --input %t.y.npy --load-passes %S/Inputs/extension.py --dump-pass-pipeline 2>%t.pipeline | filecheck %s
// RUN: filecheck %s --input-file %t.pipeline --check-prefix=PIPELINE
// RUN: relex-run %s --input %t.x.npy --input %t.y.npy --load-passes %S/Inputs/extension.py --level graph | filecheck %s
// CHECK: [-2., -3.]
// PIPELINE: builtin.module(set-target,multiply-blocks,fold-constants,absorb,simplify-ops,simplify-regions,cancel-transposes,trim-windows,move-bytes,delay-scales,merge-scales,round-to-bytes,fold-batch-norm,split-windows,block-channels,pack-bytes,unpack-blocks,join-rows,infer-sizes,localize-sizes,remove-unused{keep_functions=true},fuse-attention,annotate-fast-math,annotate-noalias,apply-schedule{existing=true},fold-init-blocks,interchange-loops,annotate-op-pattern,fuse-ops,legalize-ops,{{.*}},convert-to-llvm,add-packed-entries)

// What is printed is read back.
// RUN: relex-opt %s --load-passes %S/Inputs/extension.py -p relex-pipeline{to=graph} --dump-pass-pipeline 2>%t.pipeline | filecheck %s --check-prefix=GRAPH
// RUN: xargs -a %t.pipeline relex-opt %s --load-passes %S/Inputs/extension.py -p | filecheck %s --check-prefix=GRAPH
// GRAPH: relex.subtract %x, %y
// GRAPH-NOT: relex.negative

// The wrong one of several is found, and is only wrong where it runs.
// RUN: relex-run %s --input %t.x.npy --input %t.y.npy --load-passes %S/Inputs/extension.py --load-passes %S/Inputs/wrong_extension.py | filecheck %s --check-prefix=WRONG
// WRONG: [4., 7.]
// RUN: not relex-opt %s --load-passes %S/Inputs/wrong_extension.py --load-passes %S/Inputs/extension.py -p relex-pipeline --check-each --dump-dir %t.found 2>&1 | filecheck %s --check-prefix=EACH
// EACH: error: 'func.func' op pass 'sum' changes what @main computes

// Saved programs hold what the passes made of them.
// RUN: relex-run %s --load-passes %S/Inputs/extension.py --load-passes %S/Inputs/wrong_extension.py --save %t.relex
// RUN: relex-run %t.relex --input %t.x.npy --input %t.y.npy | filecheck %s --check-prefix=WRONG
// RUN: not relex-run %t.relex --input %t.x.npy --load-passes %S/Inputs/extension.py 2>&1 | filecheck %s --check-prefix=SAVED
// SAVED: is compiled already: expected it without --load-passes

// RUN: not relex-run %s --load-passes %S/Inputs/wrong_extension.py 2>&1 | filecheck %s --check-prefix=UNKNOWN
// RUN: not relex-opt %s --load-passes %S/Inputs/wrong_extension.py -p relex-pipeline 2>&1 | filecheck %s --check-prefix=UNKNOWN
// UNKNOWN: relex-{{run|opt}}: error: pass 'sum' belongs after 'absorb' and before 'infer-sizes', but no pass 'absorb' takes part in the compilation; --dump-pass-pipeline prints them
// RUN: sed s/fold-constants/plan-memory/ %S/Inputs/extension.py > %t.late.py
// RUN: not relex-run %s --load-passes %t.late.py 2>&1 | filecheck %s --check-prefix=LATE
// LATE: relex-run: error: expected a place on level 'graph' for pass 'absorb', found after 'plan-memory', which is on level 'core'
// RUN: not relex-run %s --load-passes %S/Inputs/my_passes.py 2>&1 | filecheck %s --check-prefix=NOWHERE
// NOWHERE: relex-run: error: expected --load-passes with a pass that runs in the compilation, found 'my-rename': @extends_pipeline(after=...) on the class says where

func.func @main(%x: tensor<2xf32>, %y: tensor<2xf32>) -> tensor<2xf32> {
  %0 = relex.negative %y : (tensor<2xf32>) -> tensor<2xf32>
  %1 = relex.add %x, %0 : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  func.return %1 : tensor<2xf32>
}
