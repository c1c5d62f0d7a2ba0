// RUN: python -c "import numpy as np; np.save('%t.x.npy', np.float32([1, -2]))"
// RUN: relex-run %s --library %S/Inputs/my_library.py --input %t.x.npy | filecheck %s
// RUN: relex-run %s --library %S/Inputs/my_library.py --input %t.x.npy --level core --checked | filecheck %s
// CHECK: [1., 0.]

// RUN: not relex-run %s --input %t.x.npy 2>&1 | filecheck %s --check-prefix=MISSING
// MISSING: relex-run-library.mlir:32:8: error: expected a registered library function, found "env.relu"; there are none
// MISSING: relex-run-library.mlir:37:8: error: expected a registered library function, found "env.fails"; there are none
// MISSING-NOT: error:

// RUN: not relex-run %s --library %S/Inputs/my_library.py --entry fails --input %t.x.npy 2>&1 | filecheck %s --check-prefix=FAILS
// RUN: not relex-run %s --library %S/Inputs/my_library.py --entry fails --input %t.x.npy --level graph 2>&1 | filecheck %s --check-prefix=FAILS
// FAILS-NOT: Traceback
// FAILS:      my_library.py:20:5: error: library function "env.fails" raised ArithmeticError: no numbers today
// FAILS-NEXT:     raise ArithmeticError("no numbers today")
// FAILS-NEXT:     ^
// FAILS-NOT: internal error
// RUN: not relex-run %s --library %S/Inputs/my_library.py --entry fails --input %t.x.npy --debug 2>&1 | filecheck %s --check-prefix=DEBUG
// DEBUG: Traceback (most recent call last):
// DEBUG: ArithmeticError: no numbers today
// DEBUG: The above exception was the direct cause
// RUN: echo "from relex.runtime import register_func; register_func('env.relu', int); register_func('env.fails', int)" > %t.int.py
// RUN: not relex-run %s --library %t.int.py --input %t.x.npy 2>&1 | filecheck %s --check-prefix=ELSEWHERE
// ELSEWHERE: relex-run-library.mlir: error: library function "env.relu" raised TypeError: {{.+}}

// RUN: not relex-run %s --library %S/Inputs/wrong_library.py --input %t.x.npy 2>&1 | filecheck %s --check-prefix=WRONG
// WRONG: wrong_library.py:5:1: error: RelexError: expected a name for a library function, found ''
// RUN: not relex-run %s --library %t.none.py --input %t.x.npy 2>&1 | filecheck %s --check-prefix=FILE
// FILE: cannot read '{{.*}}.none.py'

func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  %y = relex.call_dps_packed "env.relu"(%x) : (tensor<2xf32>) -> tensor<2xf32>
  func.return %y : tensor<2xf32>
}

func.func @fails(%x: tensor<2xf32>) -> tensor<2xf32> {
  %y = relex.call_dps_packed "env.fails"(%x) : (tensor<2xf32>) -> tensor<2xf32>
  func.return %y : tensor<2xf32>
}
