// The two-layer perceptron with hand-written loop functions: for one image, and for the whole test set as a batch.

tir.prim_func @relu0(%X: memref<1x128xf32>) outs(%Y: memref<1x128xf32>) attributes {tir.noalias} {
  %zero = arith.constant 0.0 : f32
  tir.for %i, %j in (1, 128) {
    tir.block @Y (%vi: spatial<1> = %i, %vj: spatial<128> = %j) {
      %x = memref.load %X[%vi, %vj] : memref<1x128xf32>
      %y = arith.maximumf %x, %zero : f32
      memref.store %y, %Y[%vi, %vj] : memref<1x128xf32>
    }
  }
}

tir.prim_func @linear0(%X: memref<1x784xf32>, %W: memref<128x784xf32>, %B: memref<128xf32>)
    outs(%Z: memref<1x128xf32>) attributes {tir.noalias} {
  %zero = arith.constant 0.0 : f32
  %Y = tir.alloc_buffer : memref<1x128xf32>
  tir.for %i, %j, %k in (1, 128, 784) {
    tir.block @Y (%vi: spatial<1> = %i, %vj: spatial<128> = %j, %vk: reduce<784> = %k) {
      tir.init {
        memref.store %zero, %Y[%vi, %vj] : memref<1x128xf32>
      }
      %y = memref.load %Y[%vi, %vj] : memref<1x128xf32>
      %x = memref.load %X[%vi, %vk] : memref<1x784xf32>
      %w = memref.load %W[%vj, %vk] : memref<128x784xf32>
      %p = arith.mulf %x, %w : f32
      %s = arith.addf %y, %p : f32
      memref.store %s, %Y[%vi, %vj] : memref<1x128xf32>
    }
  }
  tir.for %i, %j in (1, 128) {
    tir.block @Z (%vi: spatial<1> = %i, %vj: spatial<128> = %j) {
      %y = memref.load %Y[%vi, %vj] : memref<1x128xf32>
      %b = memref.load %B[%vj] : memref<128xf32>
      %z = arith.addf %y, %b : f32
      memref.store %z, %Z[%vi, %vj] : memref<1x128xf32>
    }
  }
}

tir.prim_func @linear1(%X: memref<1x128xf32>, %W: memref<10x128xf32>, %B: memref<10xf32>)
    outs(%Z: memref<1x10xf32>) attributes {tir.noalias} {
  %zero = arith.constant 0.0 : f32
  %Y = tir.alloc_buffer : memref<1x10xf32>
  tir.for %i, %j, %k in (1, 10, 128) {
    tir.block @Y (%vi: spatial<1> = %i, %vj: spatial<10> = %j, %vk: reduce<128> = %k) {
      tir.init {
        memref.store %zero, %Y[%vi, %vj] : memref<1x10xf32>
      }
      %y = memref.load %Y[%vi, %vj] : memref<1x10xf32>
      %x = memref.load %X[%vi, %vk] : memref<1x128xf32>
      %w = memref.load %W[%vj, %vk] : memref<10x128xf32>
      %p = arith.mulf %x, %w : f32
      %s = arith.addf %y, %p : f32
      memref.store %s, %Y[%vi, %vj] : memref<1x10xf32>
    }
  }
  tir.for %i, %j in (1, 10) {
    tir.block @Z (%vi: spatial<1> = %i, %vj: spatial<10> = %j) {
      %y = memref.load %Y[%vi, %vj] : memref<1x10xf32>
      %b = memref.load %B[%vj] : memref<10xf32>
      %z = arith.addf %y, %b : f32
      memref.store %z, %Z[%vi, %vj] : memref<1x10xf32>
    }
  }
}

func.func @main(%x: tensor<1x784xf32>, %w0: tensor<128x784xf32>, %b0: tensor<128xf32>,
                %w1: tensor<10x128xf32>, %b1: tensor<10xf32>) -> tensor<1x10xf32> {
  %scores = relex.dataflow -> tensor<1x10xf32> {
    %lv0 = relex.call_tir @linear0(%x, %w0, %b0)
        : (tensor<1x784xf32>, tensor<128x784xf32>, tensor<128xf32>) -> tensor<1x128xf32>
    %lv1 = relex.call_tir @relu0(%lv0) : (tensor<1x128xf32>) -> tensor<1x128xf32>
    %out = relex.call_tir @linear1(%lv1, %w1, %b1)
        : (tensor<1x128xf32>, tensor<10x128xf32>, tensor<10xf32>) -> tensor<1x10xf32>
    relex.output %out : tensor<1x10xf32>
  }
  func.return %scores : tensor<1x10xf32>
}

tir.prim_func @relu0_batch(%X: memref<360x128xf32>) outs(%Y: memref<360x128xf32>) attributes {tir.noalias} {
  %zero = arith.constant 0.0 : f32
  tir.for %i, %j in (360, 128) {
    tir.block @Y (%vi: spatial<360> = %i, %vj: spatial<128> = %j) {
      %x = memref.load %X[%vi, %vj] : memref<360x128xf32>
      %y = arith.maximumf %x, %zero : f32
      memref.store %y, %Y[%vi, %vj] : memref<360x128xf32>
    }
  }
}

tir.prim_func @linear0_batch(%X: memref<360x784xf32>, %W: memref<128x784xf32>, %B: memref<128xf32>)
    outs(%Z: memref<360x128xf32>) attributes {tir.noalias} {
  %zero = arith.constant 0.0 : f32
  %Y = tir.alloc_buffer : memref<360x128xf32>
  tir.for %i, %j, %k in (360, 128, 784) {
    tir.block @Y (%vi: spatial<360> = %i, %vj: spatial<128> = %j, %vk: reduce<784> = %k) {
      tir.init {
        memref.store %zero, %Y[%vi, %vj] : memref<360x128xf32>
      }
      %y = memref.load %Y[%vi, %vj] : memref<360x128xf32>
      %x = memref.load %X[%vi, %vk] : memref<360x784xf32>
      %w = memref.load %W[%vj, %vk] : memref<128x784xf32>
      %p = arith.mulf %x, %w : f32
      %s = arith.addf %y, %p : f32
      memref.store %s, %Y[%vi, %vj] : memref<360x128xf32>
    }
  }
  tir.for %i, %j in (360, 128) {
    tir.block @Z (%vi: spatial<360> = %i, %vj: spatial<128> = %j) {
      %y = memref.load %Y[%vi, %vj] : memref<360x128xf32>
      %b = memref.load %B[%vj] : memref<128xf32>
      %z = arith.addf %y, %b : f32
      memref.store %z, %Z[%vi, %vj] : memref<360x128xf32>
    }
  }
}

tir.prim_func @linear1_batch(%X: memref<360x128xf32>, %W: memref<10x128xf32>, %B: memref<10xf32>)
    outs(%Z: memref<360x10xf32>) attributes {tir.noalias} {
  %zero = arith.constant 0.0 : f32
  %Y = tir.alloc_buffer : memref<360x10xf32>
  tir.for %i, %j, %k in (360, 10, 128) {
    tir.block @Y (%vi: spatial<360> = %i, %vj: spatial<10> = %j, %vk: reduce<128> = %k) {
      tir.init {
        memref.store %zero, %Y[%vi, %vj] : memref<360x10xf32>
      }
      %y = memref.load %Y[%vi, %vj] : memref<360x10xf32>
      %x = memref.load %X[%vi, %vk] : memref<360x128xf32>
      %w = memref.load %W[%vj, %vk] : memref<10x128xf32>
      %p = arith.mulf %x, %w : f32
      %s = arith.addf %y, %p : f32
      memref.store %s, %Y[%vi, %vj] : memref<360x10xf32>
    }
  }
  tir.for %i, %j in (360, 10) {
    tir.block @Z (%vi: spatial<360> = %i, %vj: spatial<10> = %j) {
      %y = memref.load %Y[%vi, %vj] : memref<360x10xf32>
      %b = memref.load %B[%vj] : memref<10xf32>
      %z = arith.addf %y, %b : f32
      memref.store %z, %Z[%vi, %vj] : memref<360x10xf32>
    }
  }
}

func.func @batch(%x: tensor<360x784xf32>, %w0: tensor<128x784xf32>, %b0: tensor<128xf32>,
                 %w1: tensor<10x128xf32>, %b1: tensor<10xf32>) -> tensor<360x10xf32> {
  %scores = relex.dataflow -> tensor<360x10xf32> {
    %lv0 = relex.call_tir @linear0_batch(%x, %w0, %b0)
        : (tensor<360x784xf32>, tensor<128x784xf32>, tensor<128xf32>) -> tensor<360x128xf32>
    %lv1 = relex.call_tir @relu0_batch(%lv0) : (tensor<360x128xf32>) -> tensor<360x128xf32>
    %out = relex.call_tir @linear1_batch(%lv1, %w1, %b1)
        : (tensor<360x128xf32>, tensor<10x128xf32>, tensor<10xf32>) -> tensor<360x10xf32>
    relex.output %out : tensor<360x10xf32>
  }
  func.return %scores : tensor<360x10xf32>
}
