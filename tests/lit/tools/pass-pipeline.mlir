// RUN: relex-opt %s --pass-pipeline='builtin.module(canonicalize,cse)' | filecheck %s
// RUN: relex-opt %s --pass-pipeline=' builtin.module ( canonicalize , cse ) ' | filecheck %s
// RUN: relex-opt %s --pass-pipeline='any(canonicalize)' | filecheck %s
// RUN: relex-opt %s -p 'builtin.module(canonicalize)' | filecheck %s
// RUN: relex-opt %s --canonicalize --cse | filecheck %s
// RUN: relex-opt -canonicalize %s | filecheck %s
// CHECK-NOT: arith.constant

// Options, as in MLIR or in xDSL.
// RUN: relex-opt %s --pass-pipeline='builtin.module(set-target{triple=x86_64-linux cpu="a b" features=+fma})' | filecheck %s --check-prefix=TARGET
// RUN: relex-opt %s --set-target="triple=x86_64-linux cpu='a b' features=+fma" | filecheck %s --check-prefix=TARGET
// RUN: relex-opt %s -p 'set-target{triple=x86_64-linux cpu="a b" features="+fma"}' | filecheck %s --check-prefix=TARGET
// TARGET: relex.target = {triple = "x86_64-linux", cpu = "a b", features = "+fma"}

// The order of the flags counts. What runs can be printed.
// RUN: relex-opt %s --cse --relex-pipeline='to=core strict' --canonicalize --dump-pass-pipeline 2>&1 >%t | filecheck %s --check-prefix=DUMP
// DUMP: builtin.module(cse,set-target,fold-constants{strict=true},simplify-ops,simplify-regions,cancel-transposes{strict=true},trim-windows,round-to-bytes,split-windows,pack-bytes{strict=true},join-rows,infer-sizes,localize-sizes,remove-unused{keep_functions=true},fuse-attention,annotate-noalias,apply-schedule{existing=true},fold-init-blocks,interchange-loops,annotate-op-pattern,fuse-ops{strict=true},legalize-ops{strict=true},{{.*}},lower-call-tir,plan-memory,convert-tir-to-scf,{{.*}},canonicalize)
// DUMP-NOT: {{.}}

// RUN: not relex-opt %s --pass-pipeline='canonicalize' 2>&1 | filecheck %s --check-prefix=ANCHOR
// ANCHOR: relex-opt: error: wrong pass pipeline: expected an anchor around all passes, as in 'builtin.module(...)'; -p takes a list
// RUN: relex-opt %s --pass-pipeline='builtin.module(cse,func.func(canonicalize))' 2>&1 | filecheck %s --check-prefix=FUNC
// FUNC: relex-opt: remark: pass pipeline: every pass runs on the whole module, also in 'func.func(...)'
// FUNC-NOT: arith.constant
// RUN: not relex-opt %s --pass-pipeline='builtin.module(cse,dce(canonicalize))' 2>&1 | filecheck %s --check-prefix=NESTED
// NESTED: relex-opt: error: wrong pass pipeline: expected an op such as 'func.func' before '(', found 'dce'
// NESTED-NEXT: builtin.module(cse,dce(canonicalize))
// NESTED-NEXT: {{^                   }}^
// RUN: not relex-opt %s --pass-pipeline='builtin.module(cse' 2>&1 | filecheck %s --check-prefix=END
// END: expected ',' or ')', found the end
// RUN: not relex-opt %s -p cse --cse 2>&1 | filecheck %s --check-prefix=BOTH
// BOTH: relex-opt: error: expected passes to be given in one way, found -p and flags like --cse
// RUN: not relex-opt %s --canonicalise 2>&1 | filecheck %s --check-prefix=FLAG
// FLAG: relex-opt: error: unrecognized arguments: --canonicalise; did you mean '--canonicalize'?
// RUN: not relex-opt %s --relex-pipeline=to=gpu 2>&1 | filecheck %s --check-prefix=VALUE
// VALUE: relex-opt: error: pass 'relex-pipeline': expected graph | loops | core | llvm for option 'to', found gpu

func.func @f(%x: i32) -> i32 {
  %c = arith.constant 0 : i32
  %y = arith.addi %x, %c : i32
  func.return %y : i32
}
