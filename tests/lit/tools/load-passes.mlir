// RUN: relex-opt %s --load-passes %S/Inputs/my_passes.py -p my-rename{prefix=a_} | filecheck %s
// RUN: relex-opt %s --load-passes=%S/Inputs/my_passes.py --my-rename="prefix=a_" | filecheck %s
// RUN: relex-opt %s --load-passes %S/Inputs/my_passes.py --load-passes %S/Inputs/my_universe.py -p my-rename{prefix=a_},my-other | filecheck %s
// CHECK: func.func @a_f

// A UNIVERSE brings dialects too.
// RUN: echo '"mine.op"() : () -> ()' | relex-opt --load-passes %S/Inputs/my_universe.py | filecheck %s --check-prefix=DIALECT
// DIALECT: mine.op

// RUN: relex-opt --load-passes %S/Inputs/my_passes.py --list-passes | filecheck %s --check-prefix=LIST
// LIST: my-rename {{ +}}Puts a prefix before the name of every function.
// RUN: relex-opt --load-passes %S/Inputs/my_passes.py --help-pass my-rename | filecheck %s --check-prefix=HELP
// HELP: prefix  string  default: my_

// Mistakes in the file show their place, and nothing of relex.
// RUN: printf 'def f():\n    return "a\n' > %t.syntax.py
// RUN: not relex-opt %s --load-passes %t.syntax.py 2>&1 | filecheck %s --check-prefix=SYNTAX
// SYNTAX:      .syntax.py:2:12: error: SyntaxError: unterminated string literal
// SYNTAX-NEXT: {{^}}    return "a
// SYNTAX-NEXT: {{^           \^}}
// SYNTAX-NOT:  {{.}}
// RUN: printf 'import sys\n\ndef f():\n    import no_such_module\n\nf()\n' > %t.import.py
// RUN: not relex-opt %s --load-passes %t.import.py 2>&1 | filecheck %s --check-prefix=IMPORT
// IMPORT:      .import.py:4:5: error: ModuleNotFoundError: No module named 'no_such_module'
// IMPORT-NEXT: {{^}}    import no_such_module
// IMPORT-NEXT: {{^    \^}}
// IMPORT-NOT:  {{.}}
// RUN: printf 'UNIVERSE = 3' > %t.universe.py
// RUN: not relex-opt %s --load-passes %t.universe.py 2>&1 | filecheck %s --check-prefix=UNIVERSE
// UNIVERSE: relex-opt: error: '{{.*}}.universe.py': expected UNIVERSE to be a Universe of xDSL, found int
// RUN: sed s/my-rename/cse/ %S/Inputs/my_passes.py > %t.cse.py
// RUN: not relex-opt %s --load-passes %t.cse.py 2>&1 | filecheck %s --check-prefix=CLASH
// CLASH: relex-opt: error: --load-passes brings a pass 'cse', which is there already
// RUN: not relex-opt %s --load-passes %S/Inputs/my_passes.py --load-passes %S/Inputs/my_passes.py 2>&1 | filecheck %s --check-prefix=TWICE
// TWICE: relex-opt: error: '{{.*}}my_passes.py' brings a pass 'my-rename', which is there already
// RUN: not relex-opt %s --load-passes %S/Inputs/none.py 2>&1 | filecheck %s --check-prefix=FILE
// FILE: relex-opt: error: cannot read '{{.*}}none.py': No such file or directory
// RUN: not relex-opt %s --load-passes %s 2>&1 | filecheck %s --check-prefix=TEXT
// TEXT: load-passes.mlir:{{[0-9:]+}} error: SyntaxError: 

func.func @f() {
  func.return
}
