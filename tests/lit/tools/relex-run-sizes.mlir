// The sizes of the arguments decide the sizes of the results, at every level.
// RUN: python -c "import numpy as np; np.save('%t.2.npy', np.float32([[1, 2, 3], [4, 5, 6]])); np.save('%t.0.npy', np.zeros((0, 3), np.float32)); np.savez('%t.p.npz', b=np.float32([1, 0, -1]))"
// RUN: relex-run %s --params %t.p.npz --input %t.2.npy | filecheck %s --check-prefix=TWO
// RUN: relex-run %s --params %t.p.npz --input %t.2.npy --level core --checked | filecheck %s --check-prefix=TWO
// RUN: relex-run %s --params %t.p.npz --input %t.2.npy --level graph | filecheck %s --check-prefix=TWO
// RUN: relex-run %s --params %t.p.npz --input %t.0.npy | filecheck %s --check-prefix=NONE
// TWO: [2., 2., 2., 5., 5., 5.]
// NONE: []

// RUN: not relex-run %s --entry both --input %t.2.npy --input %t.0.npy 2>&1 | filecheck %s --check-prefix=WRONG
// WRONG: relex-run: error: both() argument 'y': expected shape (n, 3) with n = 2 (dimension 0 of 'x'), found (0, 3)

func.func @main(%x: tensor<?x3xf32>, %b: tensor<3xf32>) -> tensor<?xf32> {
  %y = relex.add %x, %b : (tensor<?x3xf32>, tensor<3xf32>) -> tensor<?x3xf32>
  %z = relex.reshape %y shape = [-1] : (tensor<?x3xf32>) -> tensor<?xf32>
  func.return %z : tensor<?xf32>
}

func.func @both(%x: tensor<?x3xf32> {relex.dims = ["n", ""]}, %y: tensor<?x3xf32> {relex.dims = ["n", ""]}) -> tensor<?x3xf32> {
  func.return %x : tensor<?x3xf32>
}
