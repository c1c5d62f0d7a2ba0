// TVMScript is printed by `-t script`, and `.py` files are read as it.
// RUN: relex-opt %s -t script | filecheck %s
// RUN: relex-opt %s -t script -o %t.py && relex-opt %t.py | filecheck %s --check-prefix=MLIR
// RUN: relex-opt %t.py -t script | diff %t.py -
// RUN: relex-opt %t.py -p legalize-ops,lower-call-tir,convert-tir-to-scf,convert-scf-to-cf,convert-to-llvm -t asm -o %t.s
// RUN: relex-opt -f py -t script < %t.py | diff %t.py -
// RUN: relex-opt %s -t script{elide=true} | filecheck %s --check-prefix=ELIDE
// RUN: not relex-opt %t.py -p relex-pipeline{to=core} -t script 2>&1 | filecheck %s --check-prefix=CORE
// RUN: python -c "import numpy as np; np.save('%t.x.npy', np.full((2, 3), 2, np.float32))"
// RUN: relex-run %t.py --input x=%t.x.npy | filecheck %s --check-prefix=RESULT
// RUN: echo "x" > %t.txt && not relex-run %t.txt 2>&1 | filecheck %s --check-prefix=SUFFIX

tir.prim_func private @half(%X: memref<2x3xf32>) outs(%Y: memref<2x3xf32>) attributes {tir.noalias} {
  tir.for %i @i, %j @j in (2, 3) {
    tir.block @Y (%vi: spatial<2> = %i, %vj: spatial<3> = %j) {
      %x = memref.load %X[%vi, %vj] : memref<2x3xf32>
      %c = arith.constant 0.5 : f32
      %y = arith.mulf %x, %c : f32
      memref.store %y, %Y[%vi, %vj] : memref<2x3xf32>
    }
  }
}

func.func @main(%x: tensor<2x3xf32>) -> tensor<2x17xf32> {
  %w = relex.constant dense<2.0> : tensor<17x3xf32>
  %out = relex.dataflow -> tensor<2x17xf32> {
    %lv = relex.call_tir @half(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>
    %lv1 = relex.relu %lv : (tensor<2x3xf32>) -> tensor<2x3xf32>
    %gv = relex.dense %lv1, %w : (tensor<2x3xf32>, tensor<17x3xf32>) -> tensor<2x17xf32>
    relex.output %gv : tensor<2x17xf32>
  }
  func.return %out : tensor<2x17xf32>
}

// CHECK:      # from tvm.script import ir as I
// CHECK:      @I.ir_module
// CHECK-NEXT: class Module:
// CHECK-NEXT:     @T.prim_func(private=True, s_tir=True)
// CHECK-NEXT:     def half(X: T.Buffer((2, 3), "float32"), Y: T.Buffer((2, 3), "float32")):
// CHECK-NEXT:         T.func_attr({"tirx.noalias": True})
// CHECK-NEXT:         for i, j in T.grid(2, 3):
// CHECK-NEXT:             with T.sblock("Y"):
// CHECK-NEXT:                 vi, vj = T.axis.remap("SS", [i, j])
// CHECK-NEXT:                 Y[vi, vj] = X[vi, vj] * T.float32(0.5)
// CHECK:          @R.function
// CHECK-NEXT:     def main(x: R.Tensor((2, 3), dtype="float32")) -> R.Tensor((2, 17), dtype="float32"):
// CHECK-NEXT:         cls = Module
// CHECK-NEXT:         w: R.Tensor((17, 3), dtype="float32") = R.const({{\[\[}}2.0, 2.0, 2.0],
// CHECK-NEXT:         with R.dataflow():
// CHECK-NEXT:             lv = R.call_tir(cls.half, (x,), out_ty=R.Tensor((2, 3), dtype="float32"))
// CHECK-NEXT:             lv1: R.Tensor((2, 3), dtype="float32") = R.nn.relu(lv)
// CHECK-NEXT:             gv: R.Tensor((2, 17), dtype="float32") = R.linear(lv1, w)
// CHECK-NEXT:             R.output(gv)
// CHECK-NEXT:         return gv

// ELIDE: gv: R.Tensor((2, 17), dtype="float32") = R.linear(lv1, metadata["ir.GenericConst"][0])

// MLIR:      tir.prim_func private @half
// MLIR:      arith.mulf
// MLIR:      func.func @main(%x: tensor<2x3xf32>) -> tensor<2x17xf32> {
// MLIR-NEXT:   %w = relex.constant dense<2.0> : tensor<17x3xf32>
// MLIR-NEXT:   %gv = relex.dataflow -> tensor<2x17xf32> {

// CORE: error: 'memref.global' op cannot be written in TVMScript: expected functions

// RESULT: {{\[\[}}6., 6.,

// SUFFIX: relex-run: error: unknown file extension '.txt' of '{{.*}}.txt'; expected .mlir, .py, .onnx, .pt2 or .relex
