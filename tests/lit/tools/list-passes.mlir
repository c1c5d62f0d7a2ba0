// RUN: relex-opt --list-passes | filecheck %s --check-prefix=LIST
// LIST: convert-tir-to-scf {{ +}}Turns loop functions into functions of `scf.for` loops.
// LIST: {{^canonicalize +Applies all canonicalization patterns.$}}
// LIST: {{^convert-arith-to-riscv +It has no documentation: xdsl\..+$}}
// LIST: {{^cse +Merges operations that compute the same .+$}}

// RUN: env COLUMNS=90 relex-opt --help | filecheck %s --check-prefix=GROUPS
// GROUPS:      {{^passes on graphs:$}}
// GROUPS:      {{^  fuse-ops +Moves operators, and calls of loop functions, .*\.\.\.$}}
// GROUPS:      {{^passes on loop functions:$}}
// GROUPS:      {{^  check-tir +Proves that loop functions use memory correctly.$}}
// GROUPS:      {{^lowerings from graphs to the core level:$}}
// GROUPS:      {{^lowerings to LLVM:$}}

// RUN: relex-opt --help-pass legalize-ops | filecheck %s --check-prefix=HELP
// HELP:      {{^legalize-ops$}}
// HELP:        Turns every graph operator into a call
// HELP:        ```mlir
// HELP:      Options:
// HELP-NEXT:   strict  bool  default: false

// RUN: relex-opt --help-pass relex-pipeline | filecheck %s --check-prefix=CHOICE
// CHOICE: to      graph | loops | core | llvm  default: llvm

// RUN: relex-opt --help-pass set-target | filecheck %s --check-prefix=OPTIONAL
// OPTIONAL: triple    string  optional

// RUN: relex-opt --help-pass cse | filecheck %s --check-prefix=XDSL
// XDSL: Merges operations that compute the same
// XDSL: Options:
// XDSL-NEXT: none

// RUN: not relex-opt --help-pass csee 2>&1 | filecheck %s --check-prefix=UNKNOWN
// UNKNOWN: relex-opt: error: unknown pass 'csee'; did you mean 'cse'?
