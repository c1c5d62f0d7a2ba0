// RUN: rm -rf %t && mkdir %t
// RUN: python -c "import numpy as np; np.save('%t/x.npy', np.array([[1, 2], [3, 4]], np.float32)); np.save('%t/total.npy', np.zeros(2, np.float32))"
// RUN: relex-run %s --each x=%t/x.npy --input total=%t/total.npy | filecheck %s
// RUN: relex-run %s --each total=%t/x.npy --input x=%t/total.npy | filecheck %s --check-prefix=PARTS
// RUN: relex-run %s --each x=%t/x.npy --input total=%t/total.npy --output %t/y.npy --output %t/new.npy
// RUN: python -c "import numpy as np; print(*np.load('%t/new.npy').ravel(), *np.load('%t/total.npy'))" | filecheck %s --check-prefix=FILES
// RUN: relex-run %s --level graph --each x=%t/x.npy --input total=%t/total.npy | filecheck %s

// The calls change one array, which is shown after the results as each call leaves it; the file stays as it is.
// CHECK:      {{\[}}[-1., -2.],
// CHECK-NEXT:  [-3., -4.]]
// CHECK-NEXT: {{\[}}[1., 2.],
// CHECK-NEXT:  [4., 6.]]
// FILES: 1.0 2.0 4.0 6.0 0.0 0.0

// With a value for each call, each changes its own.
// PARTS:      {{\[}}[-0., -0.],
// PARTS-NEXT:  [-0., -0.]]
// PARTS-NEXT: {{\[}}[1., 2.],
// PARTS-NEXT:  [3., 4.]]
func.func @main(%x: tensor<2xf32>, %total: tensor<2xf32> {relex.inout = 1 : i64}) -> (tensor<2xf32>, tensor<2xf32>) {
  %0 = relex.negative %x : (tensor<2xf32>) -> tensor<2xf32>
  %1 = relex.add %total, %x : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  func.return %0, %1 : tensor<2xf32>, tensor<2xf32>
}
