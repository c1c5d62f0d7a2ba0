// RUN: rm -rf %t && mkdir -p %t/xs
// RUN: python -c "import numpy as np; np.save('%t/x.npy', np.float32([[1, -2], [3, -4], [5, -6]])); np.save('%t/two.npy', np.float32([1, 2])); np.save('%t/b.npy', np.float32([1, 1])); np.save('%t/number.npy', 3.0); np.save('%t/none.npy', np.zeros((0, 2), np.float32)); np.save('%t/xs/2.npy', np.float32([3, -4])); np.save('%t/xs/1.npy', np.float32([1, -2]))"

// RUN: relex-run %s --each %t/x.npy --input %t/b.npy | filecheck %s
// RUN: relex-run %s --input b=%t/b.npy --each x=%t/x.npy --level graph | filecheck %s
// CHECK:      {{\[\[}} 2., -1.],
// CHECK-NEXT:  [ 4., -3.],
// CHECK-NEXT:  [ 6., -5.]]
// CHECK-NEXT: {{\[\[}}2., 0.],
// CHECK-NEXT:  [4., 0.],
// CHECK-NEXT:  [6., 0.]]

// One call for each file of a folder, in the order of their names; results of all calls in one file.
// RUN: relex-run %s --each %t/xs --input %t/b.npy --output %t/y.npy --output %t/z.npy
// RUN: python -c "import numpy as np; print(np.load('%t/y.npy').tolist())" | filecheck %s --check-prefix=FOLDER
// FOLDER: {{\[\[}}2.0, -1.0], [4.0, -3.0]]

// RUN: not relex-run %s --each %t/x.npy --each %t/two.npy 2>&1 | filecheck %s --check-prefix=DISAGREE
// DISAGREE: relex-run: error: expected as many entries in every --each, found 2 and 3
// RUN: not relex-run %s --each %t/none.npy --input %t/b.npy 2>&1 | filecheck %s --check-prefix=NONE
// NONE: relex-run: error: expected at least one entry in --each, found none
// RUN: not relex-run %s --each %t/number.npy --input %t/b.npy 2>&1 | filecheck %s --check-prefix=NUMBER
// NUMBER: relex-run: error: cannot read '{{.*}}number.npy': expected an array with an axis of inputs, found a single number
// RUN: not relex-run %s --each %t/two.npy --input %t/b.npy 2>&1 | filecheck %s --check-prefix=SHAPE
// SHAPE: relex-run: error: {{.*}}two.npy[0]: main() argument 'x': expected shape (2,), found ()
// RUN: not relex-run %s --each %t/nowhere --input %t/b.npy 2>&1 | filecheck %s --check-prefix=NOWHERE
// NOWHERE: relex-run: error: cannot read '{{.*}}nowhere'

// RUN: python -c "import numpy as np; np.save('%t/xs/3.npy', np.float32([1, 2, 3]))"
// RUN: not relex-run %s --entry any --each %t/xs 2>&1 | filecheck %s --check-prefix=STACK
// STACK: relex-run: error: expected results of one shape from --each, found (2,) from {{.*}}1.npy, (3,) from {{.*}}3.npy
// RUN: not relex-run %s --each %t/xs --input %t/b.npy 2>&1 | filecheck %s --check-prefix=FILE
// FILE: relex-run: error: {{.*}}xs/3.npy: main() argument 'x': expected shape (2,), found (3,)
// RUN: mkdir -p %t/empty && not relex-run %s --each %t/empty --input %t/b.npy 2>&1 | filecheck %s --check-prefix=EMPTY
// EMPTY: relex-run: error: expected .npy files in the folder '{{.*}}empty', found none

func.func @main(%x: tensor<2xf32>, %b: tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>) {
  %y = relex.add %x, %b : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  %z = relex.relu %y : (tensor<2xf32>) -> tensor<2xf32>
  func.return %y, %z : tensor<2xf32>, tensor<2xf32>
}

func.func @any(%x: tensor<?xf32> {relex.dims = ["n"]}) -> (tensor<?xf32> {relex.dims = ["n"]}) {
  %y = relex.relu %x : (tensor<?xf32>) -> tensor<?xf32>
  func.return %y : tensor<?xf32>
}
