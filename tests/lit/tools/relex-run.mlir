// RUN: python -c "import numpy as np; np.save('%t.x.npy', np.float32([[1, -2, 3]])); np.save('%t.b.npy', np.float32([1, 1, 1])); np.savez('%t.p.npz', b=np.float32([1, 1, 1]))"
// RUN: relex-run %s --input %t.x.npy --input %t.b.npy | filecheck %s
// RUN: relex-run %s --input b=%t.b.npy --input x=%t.x.npy | filecheck %s
// RUN: relex-run %s --input %t.x.npy --params %t.p.npz --strict | filecheck %s
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

// RUN: not relex-run %s 2>&1 | filecheck %s --check-prefix=ARITY
// ARITY: relex-run: error: main() expected 2 arguments (x, b), found none for x, b
// RUN: not relex-run %s --input %t.b.npy --input %t.b.npy 2>&1 | filecheck %s --check-prefix=SHAPE
// SHAPE: relex-run: error: main() argument 'x': expected shape (1, 3), found (3,)
// RUN: not relex-run %s --input y=%t.b.npy 2>&1 | filecheck %s --check-prefix=NAME
// NAME: relex-run: error: main() expected 2 arguments (x, b), found one named 'y'
// RUN: not relex-run %s --input b=%t.b.npy --input b=%t.b.npy 2>&1 | filecheck %s --check-prefix=TWICE
// TWICE: relex-run: error: expected every --input name once
// RUN: not relex-run %s --entry nobody 2>&1 | filecheck %s --check-prefix=ENTRY
// ENTRY: relex-run: error: no function 'nobody'; there are main, other
// RUN: not relex-run %s --input %t.none.npy 2>&1 | filecheck %s --check-prefix=FILE
// FILE: relex-run: error: cannot read '{{.*}}.none.npy'
// RUN: not relex-run %s --input %s 2>&1 | filecheck %s --check-prefix=FORMAT
// FORMAT: relex-run: error: cannot read '{{.*}}relex-run.mlir': expected an .npy file, as numpy.save writes it, found a file of another kind
// RUN: not relex-run %s --input %t.p.npz 2>&1 | filecheck %s --check-prefix=ARCHIVE
// ARCHIVE: expected an .npy file, as numpy.save writes it, found an archive
// RUN: not relex-run %s --input %t.x.npy --params %s 2>&1 | filecheck %s --check-prefix=DAMAGED
// DAMAGED: relex-run: error: cannot read '{{.*}}relex-run.mlir'
// RUN: cp %t.b.npy "%t=b.npy" && relex-run %s --input %t.x.npy --input "%t=b.npy" | filecheck %s
// RUN: not relex-run %s --params %t.x.npy 2>&1 | filecheck %s --check-prefix=PARAMS
// PARAMS: expected an .npz file, as numpy.savez writes it, found a single array
// RUN: not relex-run %t.none.mlir 2>&1 | filecheck %s --check-prefix=MISSING
// MISSING: relex-run: error: cannot read '{{.*}}.none.mlir': No such file
// RUN: not relex-run %s --input %t.x.npy --params %t.p.npz --output %t.none/y.npy 2>&1 | filecheck %s --check-prefix=WRITE
// WRITE: relex-run: error: cannot write '{{.*}}y.npy'
// RUN: not relex-run %s --input %t.x.npy --params %t.p.npz --output a --output b --output c 2>&1 | filecheck %s --check-prefix=MANY
// MANY: relex-run: error: expected at most 2 --output, found 3
// RUN: echo "func.func @main() { nonsense }" | not relex-run - 2>&1 | filecheck %s --check-prefix=PARSE
// PARSE:      <stdin>:1:21: error: operation nonsense is not registered
// PARSE-NEXT: func.func @main() { nonsense }
// PARSE-NEXT: {{^                    \^}}

func.func @main(%x: tensor<1x3xf32>, %b: tensor<3xf32>) -> (tensor<1x3xf32>, tensor<1x3xf32>) {
  %y = relex.add %x, %b : (tensor<1x3xf32>, tensor<3xf32>) -> tensor<1x3xf32>
  %z = relex.relu %y : (tensor<1x3xf32>) -> tensor<1x3xf32>
  func.return %y, %z : tensor<1x3xf32>, tensor<1x3xf32>
}

func.func @other(%x: tensor<3xf32>) -> tensor<3xf32> {
  %y = relex.add %x, %x : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  func.return %y : tensor<3xf32>
}
