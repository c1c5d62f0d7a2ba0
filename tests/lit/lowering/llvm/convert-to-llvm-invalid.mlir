// RUN: not relex-opt %s -p convert-to-llvm --split-input-file 2>&1 | filecheck %s

// What is left over is named, with the pass that removes it.
func.func @loop(%n: index) {
  // CHECK: :6:3: error: 'scf.for' op expected ops of the core level, found 'scf.for', which has no form in the LLVM dialect; run convert-scf-to-cf first
  scf.for %i = %n to %n step %n {
    scf.yield
  }
  func.return
}

// -----

func.func @graph() {
  // CHECK: :16:8: error: 'relex.constant' op {{.+}}; run lower-call-tir first
  %0 = relex.constant dense<1.0> : tensor<4xf32>
  func.return
}

// -----

// CHECK: :23:1: error: 'func.func' op expected types of the core level (integers, floats, index, vector, memref), found 'tensor<4xf32>'
func.func @tensor(%x: tensor<4xf32>) {
  func.return
}

// -----

func.func @bf16(%x: bf16) {
  // CHECK: :31:8: error: 'arith.addf' op expected f16, f32 or f64, found bf16, for which 'expand-floats' computes with f32
  %0 = arith.addf %x, %x : bf16
  func.return
}

// -----

func.func @vectors(%x: vector<2x4xf32>) {
  // CHECK: :37:1: error: 'func.func' op expected vectors of one dimension and a fixed length, found vector<2x4xf32>
  func.return
}


// -----

func.func @dim(%x: memref<4xf32>) {
  %c1 = arith.constant 1 : index
  // CHECK: :48:8: error: 'memref.dim' op expected a dimension below 1, found 1
  %0 = memref.dim %x, %c1 : memref<4xf32>
  func.return
}
