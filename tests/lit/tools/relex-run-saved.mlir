// A program that is compiled once and run later.

// RUN: python -c "import numpy as np; np.save('%t.x.npy', np.float32([[1, -2, 3]])); np.savez('%t.p.npz', b=np.float32([1, 1, 1]))"
// RUN: relex-run %s --params %t.p.npz --save %t.relex | filecheck %s --check-prefix=NOTHING --allow-empty
// RUN: relex-run %t.relex --input %t.x.npy | filecheck %s
// RUN: relex-run %t.relex --input x=%t.x.npy --output %t.y.npy | filecheck %s --check-prefix=NOTHING --allow-empty
// RUN: python -c "import numpy as np; print(np.load('%t.y.npy'))" | filecheck %s --check-prefix=FILE
// NOTHING-NOT: {{.}}
// CHECK:     {{\[\[}}2., 0., 4.]]
// CHECK-NOT: {{.}}
// FILE: {{\[\[}}2. 0. 4.]]

// RUN: not relex-run %t.relex --entry hidden 2>&1 | filecheck %s --check-prefix=HIDDEN
// HIDDEN: relex-run: error: function 'hidden' cannot be called: it is private; there are main
// RUN: not relex-run %t.relex --strict 2>&1 | filecheck %s --check-prefix=STRICT
// STRICT: relex-run: error: '{{.*}}.relex' is compiled already: expected it without --strict
// RUN: not relex-run %s --save %t.other.relex --input %t.x.npy 2>&1 | filecheck %s --check-prefix=ALONE
// ALONE: relex-run: error: expected --save alone: it saves the compiled program, and runs nothing
// RUN: not relex-run %s --save %t.other.relex --threads 2>&1 | filecheck %s --check-prefix=THREADS
// THREADS: relex-run: error: expected --save FILE.o with --threads, which is about object files
// RUN: not relex-run %s --save %t.none/model.relex 2>&1 | filecheck %s --check-prefix=WRITE
// WRITE: relex-run: error: {{.*}}model.relex: cannot be written: {{.*}}No such file
// RUN: cp %s %t.text.relex && not relex-run %t.text.relex 2>&1 | filecheck %s --check-prefix=KIND
// KIND: relex-run: error: {{.*}}.text.relex: expected a saved executable, found a file of another kind
// RUN: not relex-run %s --save %t.so 2>&1 | filecheck %s --check-prefix=SUFFIX
// SUFFIX: relex-run: error: expected --save with a file named *.relex or *.o, found '{{.*}}.so'
// RUN: rm -rf %t.c && mkdir %t.c && relex-run %s --save %t.c/model.o && filecheck %s --check-prefix=HEADER < %t.c/model.h
// RUN: ls %t.c | filecheck %s --check-prefix=FILES
// HEADER: static inline int model_main(const float *x, const float *b, float *result) {
// FILES:      model.h
// FILES-NEXT: model.o
// FILES-NOT:  {{.}}

func.func @main(%x: tensor<1x3xf32>, %b: tensor<3xf32>) -> tensor<1x3xf32> {
  %y = relex.add %x, %b : (tensor<1x3xf32>, tensor<3xf32>) -> tensor<1x3xf32>
  %z = func.call @hidden(%y) : (tensor<1x3xf32>) -> tensor<1x3xf32>
  func.return %z : tensor<1x3xf32>
}

func.func private @hidden(%x: tensor<1x3xf32>) -> tensor<1x3xf32> {
  %y = relex.relu %x : (tensor<1x3xf32>) -> tensor<1x3xf32>
  func.return %y : tensor<1x3xf32>
}
