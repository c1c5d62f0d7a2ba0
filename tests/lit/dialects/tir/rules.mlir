// Programs that the rules of blocks allow; invalid.mlir has those that they forbid.
// RUN: RELEX_ROUNDTRIP

// CHECK-LABEL: @one_and_no_value
// A variable of one value, or of none, tells no places apart.
tir.prim_func @one_and_no_value() outs(%Y: memref<8xf32>, %S: memref<f32>, %E: memref<0x8xf32>) {
  %zero = arith.constant 0.0 : f32
  tir.for %b, %i in (1, 8) {
    tir.block @Y (%vb: spatial<1> = %b, %vi: spatial<8> = %i) {
      memref.store %zero, %Y[%vi] : memref<8xf32>
    }
  }
  tir.for %b in (1) {
    tir.block @S (%vb: spatial<1> = %b) {
      memref.store %zero, %S[] : memref<f32>
    }
  }
  tir.for %i, %j in (0, 8) {
    tir.block @E (%vi: spatial<0> = %i, %vj: spatial<8> = %j) {
      memref.store %zero, %E[%vi, %vj] : memref<0x8xf32>
    }
  }
}

// CHECK-LABEL: @bindings
tir.prim_func @bindings() outs(%Y: memref<32xf32>, %M: memref<8x4xf32>) {
  %zero = arith.constant 0.0 : f32
  %c4 = arith.constant 4 : index
  %c31 = arith.constant 31 : index
  // Split.
  tir.for %io, %ii in (8, 4) {
    %0 = arith.muli %io, %c4 : index
    %1 = arith.addi %0, %ii : index
    tir.block @split (%v: spatial<32> = %1) {
      memref.store %zero, %Y[%v] : memref<32xf32>
    }
  }
  // Fused.
  tir.for %f in (32) {
    %0 = arith.floordivsi %f, %c4 : index
    %1 = arith.remsi %f, %c4 : index
    tir.block @fused (%vi: spatial<8> = %0, %vj: spatial<4> = %1) {
      memref.store %zero, %M[%vi, %vj] : memref<8x4xf32>
    }
  }
  // Reversed.
  tir.for %i in (32) {
    %0 = arith.subi %c31, %i : index
    tir.block @reversed (%v: spatial<32> = %0) {
      memref.store %zero, %Y[%v] : memref<32xf32>
    }
  }
  // Fused, then split.
  tir.for %fo, %fi in (16, 2) {
    %c2 = arith.constant 2 : index
    %0 = arith.muli %fo, %c2 : index
    %1 = arith.addi %0, %fi : index
    %2 = arith.divui %1, %c4 : index
    %3 = arith.remui %1, %c4 : index
    tir.block @both (%vi: spatial<8> = %2, %vj: spatial<4> = %3) {
      memref.store %zero, %M[%vi, %vj] : memref<8x4xf32>
    }
  }
  // Split of an empty loop.
  tir.for %eo, %ei in (0, 4) {
    %0 = arith.muli %eo, %c4 : index
    %1 = arith.addi %0, %ei : index
    tir.block @none (%v: spatial<0> = %1) {
      memref.store %zero, %Y[%v] : memref<32xf32>
    }
  }
}

// CHECK-LABEL: @guards
// A condition may cut off what the loops run through too much.
tir.prim_func @guards(%c: i1) outs(%Y: memref<30xf32>) {
  %zero = arith.constant 0.0 : f32
  %c4 = arith.constant 4 : index
  %c30 = arith.constant 30 : index
  tir.for %io, %ii in (8, 4) {
    %0 = arith.muli %io, %c4 : index
    %1 = arith.addi %0, %ii : index
    %2 = arith.cmpi slt, %1, %c30 : index
    scf.if %2 {
      tir.block @inside (%v: spatial<30> = %1) {
        memref.store %zero, %Y[%v] : memref<30xf32>
      }
    }
  }
  scf.if %c {
    tir.for %i in (30) {
      tir.block @outside (%v: spatial<30> = %i) {
        memref.store %zero, %Y[%v] : memref<30xf32>
      }
    }
  }
  // A condition in the body bounds its accesses: no word about index 30.
  tir.for %i in (30) {
    tir.block @body (%v: spatial<30> = %i) {
      %one = arith.constant 1 : index
      %next = arith.addi %v, %one : index
      %2 = arith.cmpi slt, %next, %c30 : index
      scf.if %2 {
        memref.store %zero, %Y[%next] : memref<30xf32>
      }
    }
  }
}

// CHECK-LABEL: @dynamic
tir.prim_func @dynamic(%n: index, %X: memref<?xf32>) outs(%Y: memref<?xf32>) {
  tir.for %i in (%n) {
    tir.block @Y (%v: spatial<%n> = %i) {
      %x = memref.load %X[%v] : memref<?xf32>
      memref.store %x, %Y[%v] : memref<?xf32>
    }
  }
}

// CHECK-LABEL: @values
// A body may use what does not change with the loops: arguments, constants, and what is computed from them.
tir.prim_func @values(%a: f32, %n: index, %S: memref<f32>) outs(%Y: memref<8xf32>) {
  %s = memref.load %S[] : memref<f32>
  tir.for %i in (8) {
    %one = arith.constant 1.0 : f32
    %b = arith.addf %a, %one : f32
    %c = arith.addf %b, %s : f32
    tir.block @Y (%v: spatial<8> = %i) {
      %two = arith.constant 2.0 : f32
      %d = arith.addf %c, %two : f32
      memref.store %d, %Y[%v] : memref<8xf32>
    }
  }
}

// CHECK-LABEL: @local_buffers
tir.prim_func @local_buffers(%X: memref<8x4xf32>) outs(%Y: memref<8x4xf32>) {
  %c0 = arith.constant 0 : index
  // One buffer for each iteration of %i: within its life %i has one value.
  tir.for %i in (8) {
    %T = tir.alloc_buffer : memref<4xf32>
    tir.for %j in (4) {
      tir.block @T (%vi: spatial<8> = %i, %vj: spatial<4> = %j) {
        %x = memref.load %X[%vi, %vj] : memref<8x4xf32>
        memref.store %x, %T[%vj] : memref<4xf32>
      }
    }
    tir.for %k in (4) {
      tir.block @Y (%vi: spatial<8> = %i, %vk: spatial<4> = %k) {
        %t = memref.load %T[%vk] : memref<4xf32>
        memref.store %t, %Y[%vi, %vk] : memref<8x4xf32>
      }
    }
  }
  // One buffer for each run of the block.
  tir.for %i, %j in (8, 4) {
    tir.block @Z (%vi: spatial<8> = %i, %vj: spatial<4> = %j) {
      %R = tir.alloc_buffer : memref<1xf32>
      %x = memref.load %X[%vi, %vj] : memref<8x4xf32>
      memref.store %x, %R[%c0] : memref<1xf32>
      %r = memref.load %R[%c0] : memref<1xf32>
      memref.store %r, %Y[%vi, %vj] : memref<8x4xf32>
    }
  }
}

// CHECK-LABEL: @body
// Loops, conditions and blocks inside of a block.
tir.prim_func @body(%X: memref<8x4xf32>) outs(%Y: memref<32xf32>, %Z: memref<8xf32>) {
  %c4 = arith.constant 4 : index
  %zero = arith.constant 0.0 : f32
  tir.for %i in (8) {
    tir.block @loop (%v: spatial<8> = %i) {
      tir.for %p in (4) {
        %x = memref.load %X[%v, %p] : memref<8x4xf32>
        %0 = arith.muli %v, %c4 : index
        %1 = arith.addi %0, %p : index
        memref.store %x, %Y[%1] : memref<32xf32>
      }
    }
  }
  tir.for %i, %j in (8, 4) {
    tir.block @through_if (%vi: spatial<8> = %i, %vj: spatial<4> = %j) {
      %first = arith.cmpi eq, %vj, %c4 : index
      %index = scf.if %first -> (index) {
        scf.yield %vi : index
      } else {
        %0 = arith.muli %vi, %c4 : index
        %1 = arith.addi %0, %vj : index
        scf.yield %1 : index
      }
      memref.store %zero, %Y[%index] : memref<32xf32>
    }
  }
  tir.for %io in (2) {
    tir.block @outer (%vo: spatial<2> = %io) {
      tir.for %ii in (4) {
        %0 = arith.muli %vo, %c4 : index
        %1 = arith.addi %0, %ii : index
        tir.block @inner (%v: spatial<8> = %1) {
          memref.store %zero, %Z[%v] : memref<8xf32>
        }
      }
    }
  }
}

// CHECK-LABEL: @reductions
tir.prim_func @reductions(%X: memref<8x16xf32>, %E: memref<8x0xf32>) outs(%Y: memref<8xf32>, %Z: memref<8xf32>) {
  %zero = arith.constant 0.0 : f32
  // Without an init, a reduction goes on from what is there.
  tir.for %k, %i in (16, 8) {
    tir.block @Y (%vi: spatial<8> = %i, %vk: reduce<16> = %k) {
      %x = memref.load %X[%vi, %vk] : memref<8x16xf32>
      %y = memref.load %Y[%vi] : memref<8xf32>
      %s = arith.addf %y, %x : f32
      memref.store %s, %Y[%vi] : memref<8xf32>
    }
  }
  // Over nothing, the init is all that happens.
  tir.for %i, %k in (8, 0) {
    tir.block @Z (%vi: spatial<8> = %i, %vk: reduce<0> = %k) {
      tir.init {
        memref.store %zero, %Z[%vi] : memref<8xf32>
      }
      %x = memref.load %E[%vi, %vk] : memref<8x0xf32>
      memref.store %x, %Z[%vi] : memref<8xf32>
    }
  }
}

// CHECK-LABEL: @bounds
tir.prim_func @bounds(%X: memref<8x3xf32>, %n: index) outs(%Y: memref<8xf32>) {
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %c7 = arith.constant 7 : index
  tir.for %i in (8) {
    tir.block @edges (%v: spatial<8> = %i) {
      %last = arith.subi %c7, %v : index
      %third = arith.remui %v, %c3 : index
      %x = memref.load %X[%last, %third] : memref<8x3xf32>
      memref.store %x, %Y[%v] : memref<8xf32>
    }
  }
  // What is read at an index from outside is not known here.
  tir.for %i in (8) {
    tir.block @unknown (%v: spatial<8> = %i) {
      %x = memref.load %X[%n, %c2] : memref<8x3xf32>
      memref.store %x, %Y[%v] : memref<8xf32>
    }
  }
  // Without a block, loops bound the accesses.
  tir.for %i in (8) {
    %x = memref.load %X[%i, %c2] : memref<8x3xf32>
    memref.store %x, %Y[%i] : memref<8xf32>
  }
}
