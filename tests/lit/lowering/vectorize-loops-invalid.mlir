// RUN: relex-opt %s --split-input-file --verify-diagnostics -p convert-tir-to-scf,vectorize-loops

tir.prim_func @dynamic(%n: index, %X: memref<?xf32>) outs(%Y: memref<?xf32>) {
  // expected-error@+1 {{expected a vectorized loop with a constant extent}}
  tir.for vectorized %i in (%n) {
    tir.block @Y (%v: spatial<%n> = %i) {
      %x = memref.load %X[%v] : memref<?xf32>
      memref.store %x, %Y[%v] : memref<?xf32>
    }
  }
}

// -----

tir.prim_func @long(%X: memref<257xf32>) outs(%Y: memref<257xf32>) {
  // expected-error@+1 {{expected a vectorized loop of at most 256 iterations, found 257; split it}}
  tir.for vectorized %i in (257) {
    tir.block @Y (%v: spatial<257> = %i) {
      %x = memref.load %X[%v] : memref<257xf32>
      memref.store %x, %Y[%v] : memref<257xf32>
    }
  }
}

// -----

tir.prim_func @nested(%X: memref<4x8xf32>) outs(%Y: memref<4x8xf32>) {
  // expected-error@+1 {{expected no vectorized loop inside of a vectorized one}}
  tir.for vectorized %i, vectorized %j in (4, 8) {
    tir.block @Y (%vi: spatial<4> = %i, %vj: spatial<8> = %j) {
      %x = memref.load %X[%vi, %vj] : memref<4x8xf32>
      memref.store %x, %Y[%vi, %vj] : memref<4x8xf32>
    }
  }
}

// -----

// Each element is computed from the one before.
tir.prim_func @scan(%X: memref<9xf32>) outs(%Y: memref<9xf32>) {
  %one = arith.constant 1 : index
  tir.for vectorized %i in (8) {
    tir.block @Y (%v: spatial<8> = %i) {
      %next = arith.addi %v, %one : index
      %y = memref.load %Y[%v] : memref<9xf32>
      %x = memref.load %X[%v] : memref<9xf32>
      %z = arith.addf %x, %y : f32
      // expected-error@+1 {{expected iterations of %i that do not depend on each other, found another access to %Y that may conflict with this one}}
      memref.store %z, %Y[%next] : memref<9xf32>
    }
  }
}

// -----

tir.prim_func @last(%X: memref<8xf32>) outs(%Y: memref<1xf32>) {
  %zero = arith.constant 0 : index
  tir.for vectorized %i in (8) {
    tir.block @Y (%v: reduce<8> = %i) {
      %x = memref.load %X[%v] : memref<8xf32>
      // expected-error@+1 {{expected a place for each iteration of a vectorized loop, or a sum and the like over them, found a store of all of them to one}}
      memref.store %x, %Y[%zero] : memref<1xf32>
    }
  }
}

// -----

// The rows would be added up one after the other instead of the columns.
tir.prim_func @order(%X: memref<8x4xf32>) outs(%Y: memref<1xf32>) {
  %zero = arith.constant 0 : index
  tir.for vectorized %i, %k in (8, 4) {
    tir.block @Y (%vi: reduce<8> = %i, %vk: reduce<4> = %k) {
      %x = memref.load %X[%vi, %vk] : memref<8x4xf32>
      %y = memref.load %Y[%zero] : memref<1xf32>
      %z = arith.addf %y, %x : f32
      // expected-error@+1 {{expected a sum that may be reordered (fastmath<reassoc>) in a loop inside of a vectorized loop}}
      memref.store %z, %Y[%zero] : memref<1xf32>
    }
  }
}

// -----

func.func private @f()

func.func @effects() {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  scf.for %j = %c0 to %c8 step %c1 {
    // expected-error@+1 {{expected loops, conditions, accesses and arithmetic in a vectorized loop, found 'func.call'}}
    func.call @f() : () -> ()
  } {relex.vectorized}
  func.return
}

// -----

func.func @triangle(%x: memref<8x8xf32>, %a: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  scf.for %j = %c0 to %c8 step %c1 {
    // expected-error@+1 {{expected a loop with the same bounds in every iteration of the vectorized loop around it}}
    scf.for %k = %c0 to %j step %c1 {
      memref.store %a, %x[%k, %j] : memref<8x8xf32>
    }
  } {relex.vectorized}
  func.return
}

// -----

// The loop inside would run first: another iteration of %i would be the last to write an element.
tir.prim_func @windows(%X: memref<8xf32>) outs(%Y: memref<11xf32>) {
  tir.for vectorized %i in (8) {
    tir.for %k in (4) {
      %at = arith.addi %i, %k : index
      %x = memref.load %X[%i] : memref<8xf32>
      // expected-error@+1 {{expected iterations of %i that do not depend on each other, found another access to %Y that may conflict with this one}}
      memref.store %x, %Y[%at] : memref<11xf32>
    }
  }
}
