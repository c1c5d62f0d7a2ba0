// RUN: relex-opt %s -p annotate-noalias --check-each=proof | filecheck %s
// RUN: relex-opt %s -p annotate-noalias,annotate-noalias | filecheck %s

// CHECK: tir.prim_func @negate(%X: memref<8xf32>) outs(%Y: memref<8xf32>) attributes {relex.mine, tir.noalias} {
tir.prim_func @negate(%X: memref<8xf32>) outs(%Y: memref<8xf32>) attributes {relex.mine} {
  tir.for %i in (8) {
    tir.block @Y (%vi: spatial<8> = %i) {
      %x = memref.load %X[%vi] : memref<8xf32>
      %y = arith.negf %x : f32
      memref.store %y, %Y[%vi] : memref<8xf32>
    }
  }
}

// The results of calls are new. Arguments may be one and the same, as nothing writes them.
// CHECK: tir.prim_func private @add(%X: memref<8xf32>, %W: memref<8xf32>) outs(%Y: memref<8xf32>) attributes {tir.noalias} {
tir.prim_func private @add(%X: memref<8xf32>, %W: memref<8xf32>) outs(%Y: memref<8xf32>) {
  tir.for %i in (8) {
    tir.block @Y (%vi: spatial<8> = %i) {
      %x = memref.load %X[%vi] : memref<8xf32>
      %w = memref.load %W[%vi] : memref<8xf32>
      %y = arith.addf %x, %w : f32
      memref.store %y, %Y[%vi] : memref<8xf32>
    }
  }
}
func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
  %y = relex.call_tir @add(%x, %x) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  func.return %y : tensor<8xf32>
}

// CHECK: tir.prim_func private @in_place(%X: memref<8xf32>) outs(%Y: memref<8xf32>) {
tir.prim_func private @in_place(%X: memref<8xf32>) outs(%Y: memref<8xf32>) {
  tir.for %i in (8) {
    tir.block @Y (%vi: spatial<8> = %i) {
      %x = memref.load %X[%vi] : memref<8xf32>
      %y = arith.negf %x : f32
      memref.store %y, %Y[%vi] : memref<8xf32>
    }
  }
}
func.func @in_memory(%x: memref<8xf32>) {
  tir.call @in_place(%x, %x) : memref<8xf32>, memref<8xf32>
  func.return
}
