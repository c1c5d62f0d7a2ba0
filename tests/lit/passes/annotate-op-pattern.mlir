// RUN: relex-opt %s -p annotate-op-pattern --split-input-file | filecheck %s
// RUN: relex-opt %s -p annotate-op-pattern,annotate-op-pattern --split-input-file | filecheck %s
// RUN: relex-opt %s -p legalize-ops,annotate-op-pattern --split-input-file | filecheck %s --check-prefix=GRAPH

// What the graph operators become.
func.func @operators(%x: tensor<3x5xf32>, %b: tensor<5xf32>, %w: tensor<4x5xf32>, %p: tensor<2xi64>) {
  %0 = relex.relu %x : (tensor<3x5xf32>) -> tensor<3x5xf32>
  %1 = relex.add %x, %b : (tensor<3x5xf32>, tensor<5xf32>) -> tensor<3x5xf32>
  %2 = relex.broadcast_to %b shape = [3, 5] : (tensor<5xf32>) -> tensor<3x5xf32>
  %3 = relex.permute_dims %x : (tensor<3x5xf32>) -> tensor<5x3xf32>
  %4 = relex.sum %x axis = [1] : (tensor<3x5xf32>) -> tensor<3xf32>
  %5 = relex.mean %x axis = [1] : (tensor<3x5xf32>) -> tensor<3xf32>
  %6 = relex.dense %x, %w : (tensor<3x5xf32>, tensor<4x5xf32>) -> tensor<3x4xf32>
  %7 = relex.softmax %x : (tensor<3x5xf32>) -> tensor<3x5xf32>
  %8 = relex.take %b, %p : (tensor<5xf32>, tensor<2xi64>) -> tensor<2xf32>
  %9 = relex.strided_slice %x axes = [1] begin = [0] end = [2] : (tensor<3x5xf32>) -> tensor<3x2xf32>
  func.return
}
// GRAPH-DAG: @relu({{.*}}tir.op_pattern = "elementwise"}
// GRAPH-DAG: @add({{.*}}tir.op_pattern = "elementwise"}
// GRAPH-DAG: @broadcast_to({{.*}}tir.op_pattern = "broadcast"}
// GRAPH-DAG: @permute_dims({{.*}}tir.op_pattern = "injective"}
// GRAPH-DAG: @sum({{.*}}tir.op_pattern = "reduction"}
// GRAPH-DAG: @mean({{.*}}tir.op_pattern = "out-elementwise-fusable"}
// GRAPH-DAG: @dense({{.*}}tir.op_pattern = "out-elementwise-fusable"}
// GRAPH-DAG: @softmax({{.*}}tir.op_pattern = "out-elementwise-fusable"}
// GRAPH-DAG: @take({{.*}}tir.op_pattern = "opaque"}
// GRAPH-DAG: @strided_slice({{.*}}tir.op_pattern = "injective"}

// -----

// Loops do not matter, only what the block does for each of its variables.
// CHECK-LABEL: @split_and_reordered({{.*}}tir.op_pattern = "elementwise"}
tir.prim_func @split_and_reordered(%X: memref<4x8xf32>, %B: memref<8xf32>) outs(%Y: memref<4x8xf32>) {
  %c2 = arith.constant 2 : index
  tir.for %jo, parallel %i, vectorized %ji in (4, 4, 2) {
    %0 = arith.muli %jo, %c2 : index
    %j = arith.addi %0, %ji : index
    tir.block @Y (%vi: spatial<4> = %i, %vj: spatial<8> = %j) {
      %x = memref.load %X[%vi, %vj] : memref<4x8xf32>
      %b = memref.load %B[%vj] : memref<8xf32>
      %y = arith.addf %x, %b : f32
      memref.store %y, %Y[%vi, %vj] : memref<4x8xf32>
    }
  }
}

// -----

// CHECK-LABEL: @unknown_size({{.*}}tir.op_pattern = "elementwise"}
tir.prim_func @unknown_size(%X: memref<?xf32>) outs(%Y: memref<?xf32>) {
  %c0 = arith.constant 0 : index
  %n = memref.dim %X, %c0 : memref<?xf32>
  tir.for %i in (%n) {
    tir.block @Y (%v: spatial<%n> = %i) {
      %x = memref.load %X[%v] : memref<?xf32>
      memref.store %x, %Y[%v] : memref<?xf32>
    }
  }
}

// -----

// A function that says its pattern keeps it.
// CHECK-LABEL: @kept({{.*}}tir.op_pattern = "opaque"}
tir.prim_func @kept(%X: memref<4xf32>) outs(%Y: memref<4xf32>) attributes {tir.op_pattern = "opaque"} {
  tir.for %i in (4) {
    tir.block @Y (%v: spatial<4> = %i) {
      %x = memref.load %X[%v] : memref<4xf32>
      memref.store %x, %Y[%v] : memref<4xf32>
    }
  }
}

// -----

// A constant fills all elements alike.
// CHECK-LABEL: @zeros({{.*}}tir.op_pattern = "elementwise"}
tir.prim_func @zeros() outs(%Y: memref<4xf32>) {
  %zero = arith.constant 0.0 : f32
  tir.for %i in (4) {
    tir.block @Y (%v: spatial<4> = %i) {
      memref.store %zero, %Y[%v] : memref<4xf32>
    }
  }
}

// -----

// A row of a matrix for all rows: not the same place, and no dimension less.
// CHECK-LABEL: @one_row({{.*}}tir.op_pattern = "injective"}
tir.prim_func @one_row(%X: memref<4x8xf32>) outs(%Y: memref<8xf32>) {
  %c3 = arith.constant 3 : index
  tir.for %i in (8) {
    tir.block @Y (%v: spatial<8> = %i) {
      %x = memref.load %X[%c3, %v] : memref<4x8xf32>
      memref.store %x, %Y[%v] : memref<8xf32>
    }
  }
}

// -----

// Windows overlap, so the sum is more than a reduction.
// CHECK-LABEL: @windows({{.*}}tir.op_pattern = "out-elementwise-fusable"}
tir.prim_func @windows(%X: memref<9xf32>) outs(%Y: memref<8xf32>) {
  %zero = arith.constant 0.0 : f32
  tir.for %i, %k in (8, 2) {
    tir.block @Y (%v: spatial<8> = %i, %vk: reduce<2> = %k) {
      tir.init {
        memref.store %zero, %Y[%v] : memref<8xf32>
      }
      %p = arith.addi %v, %vk : index
      %y = memref.load %Y[%v] : memref<8xf32>
      %x = memref.load %X[%p] : memref<9xf32>
      %s = arith.addf %y, %x : f32
      memref.store %s, %Y[%v] : memref<8xf32>
    }
  }
}

// -----

// The product of two vectors uses each element once.
// CHECK-LABEL: @dot({{.*}}tir.op_pattern = "reduction"}
tir.prim_func @dot(%A: memref<8xf32>, %B: memref<8xf32>) outs(%Y: memref<f32>) {
  %zero = arith.constant 0.0 : f32
  tir.for %k in (8) {
    tir.block @Y (%vk: reduce<8> = %k) {
      tir.init {
        memref.store %zero, %Y[] : memref<f32>
      }
      %y = memref.load %Y[] : memref<f32>
      %a = memref.load %A[%vk] : memref<8xf32>
      %b = memref.load %B[%vk] : memref<8xf32>
      %p = arith.mulf %a, %b : f32
      %s = arith.addf %y, %p : f32
      memref.store %s, %Y[] : memref<f32>
    }
  }
}

// -----

// Nothing is said of what is not clear: two blocks that write one buffer,
// CHECK-LABEL: @two_writers({{.*}}tir.op_pattern = "opaque"}
tir.prim_func @two_writers(%X: memref<4xf32>) outs(%Y: memref<8xf32>) {
  %c4 = arith.constant 4 : index
  tir.for %i in (4) {
    tir.block @A (%v: spatial<4> = %i) {
      %x = memref.load %X[%v] : memref<4xf32>
      memref.store %x, %Y[%v] : memref<8xf32>
    }
  }
  tir.for %i in (4) {
    tir.block @B (%v: spatial<4> = %i) {
      %x = memref.load %X[%v] : memref<4xf32>
      %p = arith.addi %v, %c4 : index
      memref.store %x, %Y[%p] : memref<8xf32>
    }
  }
}

// -----

// an element that is computed from its neighbour,
// CHECK-LABEL: @scan({{.*}}tir.op_pattern = "opaque"}
tir.prim_func @scan() outs(%Y: memref<4xf32>) {
  %c0 = arith.constant 0 : index
  tir.for %i in (4) {
    tir.block @Y (%v: spatial<4> = %i) {
      %y = memref.load %Y[%c0] : memref<4xf32>
      memref.store %y, %Y[%v] : memref<4xf32>
    }
  }
}

// -----

// a reduction that starts from what is there,
// CHECK-LABEL: @no_init({{.*}}tir.op_pattern = "opaque"}
tir.prim_func @no_init(%X: memref<4x8xf32>) outs(%Y: memref<4xf32>) {
  tir.for %i, %k in (4, 8) {
    tir.block @Y (%v: spatial<4> = %i, %vk: reduce<8> = %k) {
      %y = memref.load %Y[%v] : memref<4xf32>
      %x = memref.load %X[%v, %vk] : memref<4x8xf32>
      %s = arith.addf %y, %x : f32
      memref.store %s, %Y[%v] : memref<4xf32>
    }
  }
}

// -----

// accesses outside of blocks,
// CHECK-LABEL: @no_block({{.*}}tir.op_pattern = "opaque"}
tir.prim_func @no_block(%X: memref<4xf32>) outs(%Y: memref<4xf32>) {
  tir.for %i in (4) {
    %x = memref.load %X[%i] : memref<4xf32>
    memref.store %x, %Y[%i] : memref<4xf32>
  }
}

// -----

// calls,
// CHECK-LABEL: @calls({{.*}}tir.op_pattern = "opaque"}
tir.prim_func @calls(%X: memref<4xf32>) outs(%Y: memref<4xf32>) {
  tir.call @other(%X, %Y) : memref<4xf32>, memref<4xf32>
}
tir.prim_func private @other(%X: memref<4xf32>) outs(%Y: memref<4xf32>) {
}
// CHECK-LABEL: @other({{.*}}tir.op_pattern = "opaque"}

// -----

// and a place to write that is computed.
// CHECK-LABEL: @reversed({{.*}}tir.op_pattern = "opaque"}
tir.prim_func @reversed(%X: memref<4xf32>) outs(%Y: memref<4xf32>) {
  %c3 = arith.constant 3 : index
  tir.for %i in (4) {
    tir.block @Y (%v: spatial<4> = %i) {
      %x = memref.load %X[%v] : memref<4xf32>
      %p = arith.subi %c3, %v : index
      memref.store %x, %Y[%p] : memref<4xf32>
    }
  }
}
