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
// A file is loaded once. Another one with the same pass is refused.
// RUN: relex-opt %s --load-passes %S/Inputs/my_passes.py --load-passes %S/Inputs/my_passes.py -p my-rename{prefix=a_} | filecheck %s
// RUN: cp %S/Inputs/my_passes.py %t.copy.py
// RUN: not relex-opt %s --load-passes %S/Inputs/my_passes.py --load-passes %t.copy.py 2>&1 | filecheck %s --check-prefix=TWICE
// TWICE: relex-opt: error: '{{.*}}.copy.py' brings a pass 'my-rename', which is there already

// A file finds the files beside it, and never files beside another one. A module is executed once.
// RUN: rm -rf %t && mkdir -p %t/a %t/b/package && cp %S/Inputs/my_passes.py %t/a && cp %S/Inputs/my_passes.py %t/b/package
// RUN: echo 'PREFIX = "a_"' > %t/a/names.py && echo 'PREFIX = "b_"' > %t/b/package/names.py && touch %t/b/package/__init__.py
// RUN: echo 'PREFIX = "c_"' > %t/names.py
// RUN: printf 'from names import PREFIX\nimport my_passes\nclass APass(my_passes.MyRenamePass):\n  name = PREFIX\n' > %t/a/loaded.py
// RUN: printf 'from .names import PREFIX\nfrom package import my_passes\nclass BPass(my_passes.MyRenamePass):\n  name = PREFIX\n' > %t/b/package/loaded.py
// RUN: printf 'from names import PREFIX\nfrom relex.passes import RelexPass\nclass CPass(RelexPass):\n  name = PREFIX\n  def apply(self, ctx, op):\n    pass\n' > %t/loaded.py
// RUN: relex-opt %s --load-passes %t/a/loaded.py --load-passes %t/b/package/loaded.py --load-passes %t/loaded.py --load-passes %t/a/my_passes.py -p a_{prefix=x_},b_{prefix=y_},c_,my-rename{prefix=a_} | filecheck %s --check-prefix=NEIGHBORS
// NEIGHBORS: @a_y_x_f

// What is missing is said in one line.
// RUN: printf 'from relex.passes import RelexPass\n\nclass CountFlopsPass(RelexPass):\n  def apply(self, ctx, op):\n    pass\n' > %t.nameless.py
// RUN: not relex-opt %s --load-passes %t.nameless.py 2>&1 | filecheck %s --check-prefix=NAMELESS
// NAMELESS:     relex-opt: error: '{{.*}}.nameless.py': pass CountFlopsPass has no name; add name = "count-flops"
// NAMELESS-NOT: {{.}}
// RUN: printf 'from relex.passes import RelexPass\n\nclass CountFlopsPass(RelexPass):\n  name = "count-flops"\n' > %t.idle.py
// RUN: not relex-opt %s --load-passes %t.idle.py 2>&1 | filecheck %s --check-prefix=IDLE
// IDLE:     relex-opt: error: '{{.*}}.idle.py': pass CountFlopsPass has no apply
// IDLE-NOT: {{.}}
// RUN: printf 'from relex.passes import FuseOpsPass\n' > %t.nothing.py
// RUN: not relex-opt %s --load-passes %t.nothing.py 2>&1 | filecheck %s --check-prefix=NOTHING
// NOTHING:     relex-opt: error: '{{.*}}.nothing.py' brings nothing: expected a pass (a class derived from RelexPass, defined in this file), a UNIVERSE, or an entry of a table
// NOTHING-NOT: {{.}}

// RUN: not relex-opt %s --load-passes %S/Inputs/none.py 2>&1 | filecheck %s --check-prefix=FILE
// FILE: relex-opt: error: cannot read '{{.*}}none.py': No such file or directory
// RUN: not relex-opt %s --load-passes %s 2>&1 | filecheck %s --check-prefix=TEXT
// TEXT: load-passes.mlir:{{[0-9:]+}} error: SyntaxError: 

func.func @f() {
  func.return
}
