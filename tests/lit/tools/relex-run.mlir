// RUN: python -c "import numpy as np; np.save('%t.x.npy', np.float32([[1, -2, 3]])); np.save('%t.b.npy', np.float32([1, 1, 1])); np.savez('%t.p.npz', b=np.float32([1, 1, 1]))"
// RUN: relex-run %s --input %t.x.npy --input %t.b.npy | filecheck %s
// RUN: relex-run %s --input b=%t.b.npy --input x=%t.x.npy | filecheck %s
// RUN: relex-run %s --input "[[1, -2, 3]]" --input b=[1,1,1] | filecheck %s
// RUN: relex-run %s --input %t.x.npy --params %t.p.npz --strict | filecheck %s
// RUN: relex-run %s --input %t.x.npy --params %t.p.npz --approximate | filecheck %s
// RUN: relex-run %s --input %t.x.npy --params %t.p.npz --approximate --dump-pass-pipeline 2>&1 | filecheck %s --check-prefix=APPROXIMATE
// APPROXIMATE: block-channels,winograd-conv2d,pack-bytes,unpack-blocks,join-rows
// RUN: relex-run - --input %t.x.npy --params %t.p.npz < %s | filecheck %s
// CHECK:      {{\[\[}} 2., -1.,  4.]]
// CHECK-NEXT: {{\[\[}}2., 0., 4.]]
// CHECK-NOT:  {{.}}

// RUN: relex-run %s --input %t.x.npy --params %t.p.npz --output %t.y.npy | filecheck %s --check-prefix=SECOND
// RUN: python -c "import numpy as np; print(np.load('%t.y.npy'))" | filecheck %s --check-prefix=FIRST
// SECOND: {{\[\[}}2., 0., 4.]]
// FIRST: {{\[\[}} 2. -1.  4.]]

// RUN: relex-run %s --entry other --input %t.b.npy | filecheck %s --check-prefix=OTHER
// OTHER: [2., 2., 2.]

// RUN: not relex-run %s --input %t.x.npy 2>&1 | filecheck %s --check-prefix=ARITY
// ARITY: relex-run: error: main() expected 2 arguments (x, b), found none for b
// RUN: cp %t.b.npy "%t=b.npy" && relex-run %s --input %t.x.npy --input "%t=b.npy" | filecheck %s

func.func @main(%x: tensor<1x3xf32>, %b: tensor<3xf32>) -> (tensor<1x3xf32>, tensor<1x3xf32>) {
  %y = relex.add %x, %b : (tensor<1x3xf32>, tensor<3xf32>) -> tensor<1x3xf32>
  %z = relex.relu %y : (tensor<1x3xf32>) -> tensor<1x3xf32>
  func.return %y, %z : tensor<1x3xf32>, tensor<1x3xf32>
}

func.func @other(%x: tensor<3xf32>) -> tensor<3xf32> {
  %y = relex.add %x, %x : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  func.return %y : tensor<3xf32>
}
