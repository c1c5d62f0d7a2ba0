// RUN: python -c "import numpy as np; np.savez('%t.npz', b=np.float32([0.5, -1]), c=np.float32([0.5, -1]))"
// RUN: relex-opt %s -p "bind-params{file=\"%t.npz\"}" | filecheck %s
// RUN: relex-opt %s -p "bind-params{func=other file=\"%t.npz\"}" | filecheck %s --check-prefix=OTHER
// RUN: python -c "import numpy as np; np.savez('%t.wrong.npz', d=np.float32([0.5, -1]))"
// RUN: not relex-opt %s -p "bind-params{file=\"%t.wrong.npz\"}" 2>&1 | filecheck %s --check-prefix=NAME
// RUN: python -c "import numpy as np; np.savez('%t.wrong.npz', b=np.float32([[0.5, -1]]))"
// RUN: not relex-opt %s -p "bind-params{file=\"%t.wrong.npz\"}" 2>&1 | filecheck %s --check-prefix=SHAPE
// RUN: python -c "import numpy as np; np.savez('%t.wrong.npz', b=np.float64([0.5, -1]))"
// RUN: not relex-opt %s -p "bind-params{file=\"%t.wrong.npz\"}" 2>&1 | filecheck %s --check-prefix=DTYPE
// RUN: not relex-opt %s -p "bind-params{func=nobody file=\"%t.npz\"}" 2>&1 | filecheck %s --check-prefix=FUNC
// RUN: not relex-opt %s -p "bind-params{file=\"%t.none.npz\"}" 2>&1 | filecheck %s --check-prefix=FILE

// NAME: @main has no parameter 'd'; its parameters are x, b, c
// SHAPE: parameter 'b': expected shape (2,), found (1, 2)
// DTYPE: parameter 'b': expected elements of f32, found float64
// FUNC: no function 'nobody' to bind parameters of; the module has main, other
// FILE: No such file

// CHECK-LABEL: func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
func.func @main(%x: tensor<2xf32>, %b: tensor<2xf32>, %v: tensor<2xf32> {relex.name = "c"}) -> tensor<2xf32> {
  // Equal arrays become one constant.
  // CHECK-NEXT: %b = relex.constant dense<[0.5, -1.0]> : tensor<2xf32>
  // CHECK-NEXT: %y = relex.ewise_fma %x, %b, %b
  %y = relex.ewise_fma %x, %b, %v : (tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  func.return %y : tensor<2xf32>
}

// Other functions, and the attributes of arguments that stay, are left alone.
// CHECK-LABEL: func.func @other(%b: tensor<2xf32>, %x: tensor<2xf32> {relex.name = "data"}, %c: tensor<2xf32>)
// OTHER-LABEL: func.func @other(%x: tensor<2xf32> {relex.name = "data"}) -> tensor<2xf32> {
func.func @other(%b: tensor<2xf32>, %x: tensor<2xf32> {relex.name = "data"}, %c: tensor<2xf32>) -> tensor<2xf32> {
  func.return %x : tensor<2xf32>
}
