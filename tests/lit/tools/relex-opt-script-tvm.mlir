// TVM takes what `-t script` prints, and prints what relex takes.
// REQUIRES: tvm
// RUN: relex-opt %s -t script -o %t.1.py
// RUN: python -W ignore -c "from tvm.script import from_source; print(from_source(open('%t.1.py').read()).script())" > %t.2.py
// RUN: relex-opt %t.2.py | filecheck %s
// RUN: relex-opt %s -p legalize-ops -t script -o %t.3.py
// RUN: python -W ignore -c "from tvm.script import from_source; print(from_source(open('%t.3.py').read()).script())" > %t.4.py
// RUN: relex-opt %t.4.py | filecheck %s --check-prefix=LOOPS

func.func @main(%x: tensor<2x3xf32>, %w: tensor<4x3xf32>) -> tensor<2x4xf32> {
  %out = relex.dataflow -> tensor<2x4xf32> {
    %lv = relex.dense %x, %w : (tensor<2x3xf32>, tensor<4x3xf32>) -> tensor<2x4xf32>
    %gv = relex.softmax %lv : (tensor<2x4xf32>) -> tensor<2x4xf32>
    relex.output %gv : tensor<2x4xf32>
  }
  func.return %out : tensor<2x4xf32>
}

// CHECK: relex.permute_dims
// CHECK: relex.matmul
// CHECK: relex.softmax

// LOOPS-DAG: tir.prim_func private @dense
// LOOPS-DAG: relex.call_tir @softmax
