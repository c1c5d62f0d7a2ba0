// RUN: relex-opt %s -p rewrite-layout --split-input-file | filecheck %s

// Elements that are copied into another order are in it from the start; the constant has another user as well.

// CHECK-LABEL: @transposed(
// CHECK-DAG: %w_local = relex.constant dense<[1.0, 4.0, 2.0, 5.0, 3.0, 6.0]> : tensor<6xf32>
// CHECK-DAG: %w = relex.constant dense<{{.*}}> : tensor<2x3xf32>
// CHECK: relex.call_tir @use(%w_local) : (tensor<6xf32>) -> tensor<6xf32>
// CHECK: relex.negative %w
// CHECK: tir.prim_func private @use(%w_local: memref<6xf32>)
// CHECK-NOT: memref<2x3xf32>
// CHECK: tir.for %i in (6)
func.func @transposed() -> (tensor<6xf32>, tensor<2x3xf32>) {
  %w = relex.constant dense<[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]> : tensor<2x3xf32>
  %y = relex.call_tir @use(%w) : (tensor<2x3xf32>) -> tensor<6xf32>
  %z = relex.negative %w : (tensor<2x3xf32>) -> tensor<2x3xf32>
  func.return %y, %z : tensor<6xf32>, tensor<2x3xf32>
}
tir.prim_func private @use(%w: memref<2x3xf32>) outs(%y: memref<6xf32>) {
  %c2 = arith.constant 2 : index
  %w_local = tir.alloc_buffer : memref<6xf32>
  tir.for %i, %j in (2, 3) {
    tir.block @w_local (%vi: spatial<2> = %i, %vj: spatial<3> = %j) {
      %0 = memref.load %w[%vi, %vj] : memref<2x3xf32>
      %1 = arith.muli %vj, %c2 : index
      %2 = arith.addi %1, %vi : index
      memref.store %0, %w_local[%2] : memref<6xf32>
    }
  }
  tir.for %i in (6) {
    tir.block @y (%v: spatial<6> = %i) {
      %0 = memref.load %w_local[%v] : memref<6xf32>
      memref.store %0, %y[%v] : memref<6xf32>
    }
  }
}

// -----

// Panels of two columns: the last one has room for a column that is not there.

// CHECK-LABEL: @panels(
// CHECK: %w_local = relex.constant dense<{{\[\[}}[1, 3], [2, 4]], {{\[\[}}5, 0], [6, 0]]]> : tensor<2x2x2xi32>
// CHECK: tir.prim_func private @use(%x: memref<1xi32>, %w_local: memref<2x2x2xi32>) outs
// CHECK-NOT: scf.if
// CHECK: tir.block @y
func.func @panels(%x: tensor<1xi32>) -> tensor<3x2xi32> {
  %w = relex.constant dense<[[1, 2], [3, 4], [5, 6]]> : tensor<3x2xi32>
  %y = relex.call_tir @use(%x, %w) : (tensor<1xi32>, tensor<3x2xi32>) -> tensor<3x2xi32>
  func.return %y : tensor<3x2xi32>
}
tir.prim_func private @use(%x: memref<1xi32>, %w: memref<3x2xi32>) outs(%y: memref<3x2xi32>) {
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %w_local = tir.alloc_buffer : memref<2x2x2xi32>
  tir.for %i0, %k, %i1 in (2, 2, 2) {
    %0 = arith.muli %i0, %c2 : index
    %i = arith.addi %0, %i1 : index
    %1 = arith.cmpi slt, %i, %c3 : index
    scf.if %1 {
      tir.block @w_local (%vi: spatial<3> = %i, %vk: spatial<2> = %k) {
        %2 = memref.load %w[%vi, %vk] : memref<3x2xi32>
        %3 = arith.divsi %vi, %c2 : index
        %4 = arith.remsi %vi, %c2 : index
        memref.store %2, %w_local[%3, %vk, %4] : memref<2x2x2xi32>
      }
    }
  }
  tir.for %i, %k in (3, 2) {
    tir.block @y (%vi: spatial<3> = %i, %vk: spatial<2> = %k) {
      %0 = arith.divsi %vi, %c2 : index
      %1 = arith.remsi %vi, %c2 : index
      %2 = memref.load %w_local[%0, %vk, %1] : memref<2x2x2xi32>
      memref.store %2, %y[%vi, %vk] : memref<3x2xi32>
    }
  }
}

// -----

// Each call gets its own constant; what the function reads elsewhere as well is passed as before.

// CHECK-LABEL: @two_calls(
// CHECK-DAG: %[[A:.*]] = relex.constant dense<[1.0, 2.0]>
// CHECK-DAG: %[[A_REVERSED:.*]] = relex.constant dense<[2.0, 1.0]>
// CHECK-DAG: %[[B:.*]] = relex.constant dense<[3.0, 4.0]>
// CHECK-DAG: %[[B_REVERSED:.*]] = relex.constant dense<[4.0, 3.0]>
// CHECK: relex.call_tir @use(%[[A]], %[[A_REVERSED]])
// CHECK: relex.call_tir @use(%[[B]], %[[B_REVERSED]])
func.func @two_calls() -> (tensor<2xf64>, tensor<2xf64>) {
  %a = relex.constant dense<[1.0, 2.0]> : tensor<2xf64>
  %b = relex.constant dense<[3.0, 4.0]> : tensor<2xf64>
  %0 = relex.call_tir @use(%a) : (tensor<2xf64>) -> tensor<2xf64>
  %1 = relex.call_tir @use(%b) : (tensor<2xf64>) -> tensor<2xf64>
  func.return %0, %1 : tensor<2xf64>, tensor<2xf64>
}
tir.prim_func private @use(%w: memref<2xf64>) outs(%y: memref<2xf64>) {
  %c1 = arith.constant 1 : index
  %w_local = tir.alloc_buffer : memref<2xf64>
  tir.for %i in (2) {
    tir.block @w_local (%v: spatial<2> = %i) {
      %0 = memref.load %w[%v] : memref<2xf64>
      %1 = arith.subi %c1, %v : index
      memref.store %0, %w_local[%1] : memref<2xf64>
    }
  }
  tir.for %i in (2) {
    tir.block @y (%v: spatial<2> = %i) {
      %0 = memref.load %w_local[%v] : memref<2xf64>
      %1 = memref.load %w[%v] : memref<2xf64>
      %2 = arith.addf %0, %1 : f64
      memref.store %2, %y[%v] : memref<2xf64>
    }
  }
}

// -----

// A call whose argument is the result of another call of the function, and one with a constant that both have.

// CHECK-LABEL: @chain(
// CHECK: %[[W_REVERSED:.*]] = relex.constant dense<{{\[\[}}2.0], [1.0]]> : tensor<2x1xf64>
// CHECK-NOT: relex.constant
// CHECK: %[[FIRST:.*]] = relex.call_tir @use(%x, %[[W_REVERSED]])
// CHECK: %[[SECOND:.*]] = relex.call_tir @use(%[[FIRST]], %[[W_REVERSED]])
// CHECK: func.return %[[SECOND]]
func.func @chain(%x: tensor<2xf64>) -> tensor<2xf64> {
  %w = relex.constant dense<[1.0, 2.0]> : tensor<2xf64>
  %0 = relex.call_tir @use(%x, %w) : (tensor<2xf64>, tensor<2xf64>) -> tensor<2xf64>
  %1 = relex.call_tir @use(%0, %w) : (tensor<2xf64>, tensor<2xf64>) -> tensor<2xf64>
  func.return %1 : tensor<2xf64>
}
tir.prim_func private @use(%x: memref<2xf64>, %w: memref<2xf64>) outs(%y: memref<2xf64>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %w_local = tir.alloc_buffer : memref<2x1xf64>
  tir.for %i in (2) {
    tir.block @w_local (%v: spatial<2> = %i) {
      %0 = memref.load %w[%v] : memref<2xf64>
      %1 = arith.subi %c1, %v : index
      memref.store %0, %w_local[%1, %c0] : memref<2x1xf64>
    }
  }
  tir.for %i in (2) {
    tir.block @y (%v: spatial<2> = %i) {
      %0 = memref.load %w_local[%v, %c0] : memref<2x1xf64>
      %1 = memref.load %x[%v] : memref<2xf64>
      %2 = arith.addf %0, %1 : f64
      memref.store %2, %y[%v] : memref<2xf64>
    }
  }
}

// -----

// Left alone: an argument that is no constant in one of the calls, a function that others may call, one that computes
// with what it copies, and places that are written with more than one element.

// CHECK-LABEL: @left_alone(
// CHECK: relex.call_tir @mixed(%w) : (tensor<2xf32>)
// CHECK: relex.call_tir @mixed(%x) : (tensor<2xf32>)
// CHECK: relex.call_tir @public(%w) : (tensor<2xf32>)
// CHECK: relex.call_tir @computed(%w) : (tensor<2xf32>)
// CHECK: relex.call_tir @one_place(%w) : (tensor<2xf32>)
func.func @left_alone(%x: tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) {
  %w = relex.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %0 = relex.call_tir @mixed(%w) : (tensor<2xf32>) -> tensor<2xf32>
  %1 = relex.call_tir @mixed(%x) : (tensor<2xf32>) -> tensor<2xf32>
  %2 = relex.call_tir @public(%w) : (tensor<2xf32>) -> tensor<2xf32>
  %3 = relex.call_tir @computed(%w) : (tensor<2xf32>) -> tensor<2xf32>
  %4 = relex.call_tir @one_place(%w) : (tensor<2xf32>) -> tensor<2xf32>
  func.return %0, %1, %2, %3, %4 : tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>
}
tir.prim_func private @mixed(%w: memref<2xf32>) outs(%y: memref<2xf32>) {
  %w_local = tir.alloc_buffer : memref<2xf32>
  tir.for %i in (2) {
    tir.block @w_local (%v: spatial<2> = %i) {
      %0 = memref.load %w[%v] : memref<2xf32>
      memref.store %0, %w_local[%v] : memref<2xf32>
    }
  }
  tir.for %i in (2) {
    tir.block @y (%v: spatial<2> = %i) {
      %0 = memref.load %w_local[%v] : memref<2xf32>
      memref.store %0, %y[%v] : memref<2xf32>
    }
  }
}
tir.prim_func @public(%w: memref<2xf32>) outs(%y: memref<2xf32>) {
  %w_local = tir.alloc_buffer : memref<2xf32>
  tir.for %i in (2) {
    tir.block @w_local (%v: spatial<2> = %i) {
      %0 = memref.load %w[%v] : memref<2xf32>
      memref.store %0, %w_local[%v] : memref<2xf32>
    }
  }
  tir.for %i in (2) {
    tir.block @y (%v: spatial<2> = %i) {
      %0 = memref.load %w_local[%v] : memref<2xf32>
      memref.store %0, %y[%v] : memref<2xf32>
    }
  }
}
tir.prim_func private @computed(%w: memref<2xf32>) outs(%y: memref<2xf32>) {
  %w_local = tir.alloc_buffer : memref<2xf32>
  tir.for %i in (2) {
    tir.block @w_local (%v: spatial<2> = %i) {
      %0 = memref.load %w[%v] : memref<2xf32>
      %1 = arith.negf %0 : f32
      memref.store %1, %w_local[%v] : memref<2xf32>
    }
  }
  tir.for %i in (2) {
    tir.block @y (%v: spatial<2> = %i) {
      %0 = memref.load %w_local[%v] : memref<2xf32>
      memref.store %0, %y[%v] : memref<2xf32>
    }
  }
}
tir.prim_func private @one_place(%w: memref<2xf32>) outs(%y: memref<2xf32>) {
  %c2 = arith.constant 2 : index
  tir.for %i in (2) {
    %w_local = tir.alloc_buffer : memref<1xf32>
    tir.block @w_local (%v: spatial<2> = %i) {
      %0 = memref.load %w[%v] : memref<2xf32>
      %1 = arith.divsi %v, %c2 : index
      memref.store %0, %w_local[%1] : memref<1xf32>
    }
    tir.block @y (%v: spatial<2> = %i) {
      %1 = arith.divsi %v, %c2 : index
      %0 = memref.load %w_local[%1] : memref<1xf32>
      memref.store %0, %y[%v] : memref<2xf32>
    }
  }
}
