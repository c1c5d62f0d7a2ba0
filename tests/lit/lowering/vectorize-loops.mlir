// RUN: relex-opt %s -p vectorize-loops | filecheck %s
// RUN: relex-opt %s -p "set-target{triple=x86_64-unknown-linux-gnu cpu=skylake-avx512},vectorize-loops" | filecheck %s --check-prefix=PAIRS

builtin.module {
// CHECK-LABEL: func.func @elementwise
func.func @elementwise(%x: memref<8x16xf32>, %y: memref<8x16xf32>, %a: f32, %i: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  // CHECK:      [[X:%.+]] = vector.load %x[%i, %c0] : memref<8x16xf32>, vector<16xf32>
  // CHECK-NEXT: [[A:%.+]] = vector.broadcast %a : f32 to vector<16xf32>
  // CHECK-NEXT: [[Y:%.+]] = arith.mulf [[X]], [[A]] fastmath<contract> : vector<16xf32>
  // CHECK-NEXT: vector.store [[Y]], %y[%i, %c0] : memref<8x16xf32>, vector<16xf32>
  // CHECK-NEXT: func.return
  scf.for %j = %c0 to %c16 step %c1 {
    %0 = memref.load %x[%i, %j] : memref<8x16xf32>
    %1 = arith.mulf %0, %a fastmath<contract> : f32
    memref.store %1, %y[%i, %j] : memref<8x16xf32>
  } {relex.vectorized}
  func.return
}

// What is the same in all iterations is computed once; places are computed for the first iteration.
// CHECK-LABEL: func.func @invariant
func.func @invariant(%x: memref<64xf32>, %w: memref<4xf32>, %y: memref<64xf32>, %i: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  // CHECK:      [[W:%.+]] = memref.load %w[%i] : memref<4xf32>
  // CHECK-NEXT: [[START:%.+]] = arith.muli %i, %c8 : index
  // CHECK-NEXT: [[AT:%.+]] = arith.addi [[START]], %c0 : index
  // CHECK-NEXT: [[X:%.+]] = vector.load %x[[[AT]]] : memref<64xf32>, vector<8xf32>
  // CHECK-NEXT: [[B:%.+]] = vector.broadcast [[W]] : f32 to vector<8xf32>
  // CHECK-NEXT: [[Y:%.+]] = arith.mulf [[X]], [[B]] : vector<8xf32>
  // CHECK-NEXT: vector.store [[Y]], %y[[[AT]]] : memref<64xf32>, vector<8xf32>
  scf.for %j = %c0 to %c8 step %c1 {
    %0 = memref.load %w[%i] : memref<4xf32>
    %1 = arith.muli %i, %c8 : index
    %2 = arith.addi %1, %j : index
    %3 = memref.load %x[%2] : memref<64xf32>
    %4 = arith.mulf %3, %0 : f32
    memref.store %4, %y[%2] : memref<64xf32>
  } {relex.vectorized}
  func.return
}

// Pairs: loads of even and of odd elements are equal, once the loop that LLVM unrolls is. Nothing is read beyond a row.
// CHECK-LABEL: func.func @pairs
// PAIRS-LABEL: func.func @pairs
func.func @pairs(%x: memref<3x10xf32>, %y: memref<4xf32>, %i: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %c4 = arith.constant 4 : index
  scf.for %k = %c0 to %c2 step %c1 {
    // CHECK:      vector.shuffle {{.+}} [0, 2, 5, 7]
    // PAIRS:      [[ODD:%.+]] = arith.remui [[FIRST:%.+]], %{{.+}} : index
    // PAIRS-NEXT: [[START:%.+]] = arith.subi [[FIRST]], [[ODD]] : index
    // PAIRS:      [[A:%.+]] = vector.load %x[%i, [[START]]]
    // PAIRS-NEXT: [[B:%.+]] = vector.load %x[%i, %{{.+}}]
    // PAIRS:      [[IS_ODD:%.+]] = arith.cmpi ne, [[ODD]]
    // PAIRS-NEXT: [[ODDS:%.+]] = vector.shuffle [[A]], [[B]] [1, 3, 5, 7]
    // PAIRS-NEXT: [[EVENS:%.+]] = vector.shuffle [[A]], [[B]] [0, 2, 4, 6]
    // PAIRS-NEXT: arith.select [[IS_ODD]], [[ODDS]], [[EVENS]] : vector<4xf32>
    scf.for %j = %c0 to %c4 step %c1 {
      %0 = arith.muli %j, %c2 : index
      %1 = arith.addi %0, %k : index
      %2 = memref.load %x[%i, %1] : memref<3x10xf32>
      memref.store %2, %y[%j] : memref<4xf32>
    } {relex.vectorized}
  } {llvm.loop_annotation = #llvm.loop_annotation<unroll = <full = true>>}
  scf.for %k = %c0 to %c4 step %c1 {
    // PAIRS:      vector.shuffle {{.+}} [0, 2, 5, 7]
    scf.for %j = %c0 to %c4 step %c1 {
      %0 = arith.muli %j, %c2 : index
      %1 = arith.addi %0, %k : index
      %2 = memref.load %x[%i, %1] : memref<3x10xf32>
      memref.store %2, %y[%j] : memref<4xf32>
    } {relex.vectorized}
  } {llvm.loop_annotation = #llvm.loop_annotation<unroll = <full = true>>}
  func.return
}

// Every second element: both loads end before or at the last of them.
// CHECK-LABEL: func.func @every_second
func.func @every_second(%x: memref<7xf32>, %y: memref<4xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  // CHECK:      [[AT:%.+]] = arith.muli %c0, %c2 : index
  // CHECK:      [[LATER:%.+]] = arith.addi [[AT]], %{{.+}} : index
  // CHECK-NEXT: [[A:%.+]] = vector.load %x[[[AT]]] : memref<7xf32>, vector<4xf32>
  // CHECK-NEXT: [[B:%.+]] = vector.load %x[[[LATER]]] : memref<7xf32>, vector<4xf32>
  // CHECK-NEXT: [[X:%.+]] = vector.shuffle [[A]], [[B]] [0, 2, 5, 7]
  // CHECK-NEXT: vector.store [[X]], %y[%c0] : memref<4xf32>, vector<4xf32>
  scf.for %j = %c0 to %c4 step %c1 {
    %0 = arith.muli %j, %c2 : index
    %1 = memref.load %x[%0] : memref<7xf32>
    memref.store %1, %y[%j] : memref<4xf32>
  } {relex.vectorized}
  func.return
}

// One prefetch is enough for elements side by side; for others there is none.
// CHECK-LABEL: func.func @prefetch
func.func @prefetch(%x: memref<64xf32>, %n: memref<8xindex>, %y: memref<8xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %c32 = arith.constant 32 : index
  // CHECK: [[AT:%.+]] = arith.addi %c0, %c32 : index
  // CHECK-NEXT: memref.prefetch %x[[[AT]]], read, locality<3>, data : memref<64xf32>
  // CHECK-NOT: memref.prefetch
  scf.for %j = %c0 to %c8 step %c1 {
    %0 = arith.addi %j, %c32 : index
    memref.prefetch %x[%0], read, locality<3>, data : memref<64xf32>
    %1 = memref.load %n[%j] : memref<8xindex>
    memref.prefetch %x[%1], read, locality<3>, data : memref<64xf32>
    %2 = memref.load %x[%j] : memref<64xf32>
    memref.store %2, %y[%j] : memref<8xf32>
  } {relex.vectorized}
  // CHECK: func.return
  func.return
}

// Loops inside of a vectorized one stay loops.
// CHECK-LABEL: func.func @inner
func.func @inner(%x: memref<4x8xf32>, %y: memref<8xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  // CHECK:      scf.for %k = %c0 to %c4 step %c1 {
  // CHECK-NEXT:   vector.load %x[%k, %c0] : memref<4x8xf32>, vector<8xf32>
  // CHECK-NEXT:   vector.load %y[%c0] : memref<8xf32>, vector<8xf32>
  // CHECK-NEXT:   arith.addf
  // CHECK-NEXT:   vector.store %{{.+}}, %y[%c0] : memref<8xf32>, vector<8xf32>
  // CHECK:      } {llvm.loop_annotation = #llvm.loop_annotation<unroll = <full = true>>}
  scf.for %j = %c0 to %c8 step %c1 {
    scf.for %k = %c0 to %c4 step %c1 {
      %0 = memref.load %x[%k, %j] : memref<4x8xf32>
      %1 = memref.load %y[%j] : memref<8xf32>
      %2 = arith.addf %1, %0 : f32
      memref.store %2, %y[%j] : memref<8xf32>
    } {llvm.loop_annotation = #llvm.loop_annotation<unroll = <full = true>>}
  } {relex.vectorized}
  func.return
}

// A sum of all iterations. Without the flag it is computed in order.
// CHECK-LABEL: func.func @sum
func.func @sum(%x: memref<8xf32>, %y: memref<2xf32>, %i: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  // CHECK:      [[X:%.+]] = vector.load %x[%c0] : memref<8xf32>, vector<8xf32>
  // CHECK-NEXT: [[OLD:%.+]] = memref.load %y[%i] : memref<2xf32>
  // CHECK-NEXT: [[NEW:%.+]] = vector.reduction <add>, [[X]], [[OLD]] fastmath<reassoc> : vector<8xf32> into f32
  // CHECK-NEXT: memref.store [[NEW]], %y[%i] : memref<2xf32>
  scf.for %j = %c0 to %c8 step %c1 {
    %0 = memref.load %y[%i] : memref<2xf32>
    %1 = memref.load %x[%j] : memref<8xf32>
    %2 = arith.addf %0, %1 fastmath<reassoc> : f32
    memref.store %2, %y[%i] : memref<2xf32>
  } {relex.vectorized}
  func.return
}

// A condition on the count of iterations becomes a mask.
// CHECK-LABEL: func.func @tail
func.func @tail(%x: memref<?xf32>, %y: memref<?xf32>, %s: memref<i32>, %i: index, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %one = arith.constant 1 : i32
  // CHECK:      [[AT:%.+]] = arith.addi %i, %c0 : index
  // CHECK-NEXT: [[LEFT:%.+]] = arith.subi %n, [[AT]] : index
  // CHECK-NEXT: [[MASK:%.+]] = vector.create_mask [[LEFT]] : vector<8xi1>
  // CHECK-NEXT: [[ZERO:%.+]] = arith.constant dense<0.0> : vector<8xf32>
  // CHECK-NEXT: [[X:%.+]] = vector.maskedload %x[[[AT]]], [[MASK]], [[ZERO]]
  // CHECK-NEXT: vector.maskedstore %y[[[AT]]], [[MASK]], [[X]]
  // CHECK-NEXT: [[ONES:%.+]] = vector.broadcast %one
  // CHECK-NEXT: [[NONE:%.+]] = arith.constant dense<0> : vector<8xi32>
  // CHECK-NEXT: arith.constant 8 : i32
  // CHECK-NEXT: [[TERMS:%.+]] = llvm.call_intrinsic "llvm.vp.select.v8i32"([[MASK]], [[ONES]], [[NONE]], %{{.+}})
  // CHECK-NEXT: [[ANY:%.+]] = vector.reduction <or>, [[MASK]] : vector<8xi1> into i1
  // CHECK-NEXT: scf.if [[ANY]] {
  // CHECK-NEXT:   [[OLD:%.+]] = memref.load %s[] : memref<i32>
  // CHECK-NEXT:   [[NEW:%.+]] = vector.reduction <add>, [[TERMS]], [[OLD]] : vector<8xi32> into i32
  // CHECK-NEXT:   memref.store [[NEW]], %s[] : memref<i32>
  scf.for %j = %c0 to %c8 step %c1 {
    %0 = arith.addi %i, %j : index
    %1 = arith.cmpi slt, %0, %n : index
    scf.if %1 {
      %2 = memref.load %x[%0] : memref<?xf32>
      memref.store %2, %y[%0] : memref<?xf32>
      %3 = memref.load %s[] : memref<i32>
      %4 = arith.addi %3, %one : i32
      memref.store %4, %s[] : memref<i32>
    }
  } {relex.vectorized}
  func.return
}

// What a condition keeps from a small buffer of the function is done by choosing: so it can stay in registers. Of other
// buffers, elements behind the end must not be touched.

// CHECK-LABEL: func.func @private
func.func @private(%x: memref<?xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c8 = arith.constant 8 : index
  %sums = memref.alloca() : memref<8xf32>
  %few = memref.alloca() : memref<7xf32>
  // CHECK:      scf.for
  scf.for %i = %c0 to %c3 step %c1 {
    scf.for %j = %c0 to %c8 step %c1 {
      // CHECK: [[MASK:%.+]] = vector.create_mask
      %0 = arith.muli %i, %c8 : index
      %1 = arith.addi %0, %j : index
      %2 = arith.cmpi slt, %1, %n : index
      scf.if %2 {
        // CHECK:      [[X:%.+]] = vector.maskedload %x
        // CHECK:      [[OLD:%.+]] = vector.load %sums[%c0]
        // CHECK-NEXT: [[NEW:%.+]] = arith.addf [[OLD]], [[X]]
        // CHECK-NEXT: [[KEPT:%.+]] = vector.load %sums[%c0]
        // CHECK-NEXT: arith.constant 8 : i32
        // CHECK-NEXT: [[ALL:%.+]] = llvm.call_intrinsic "llvm.vp.select.v8f32"([[MASK]], [[NEW]], [[KEPT]]
        // CHECK-NEXT: vector.store [[ALL]], %sums[%c0]
        // CHECK-NEXT: vector.maskedstore %few[%c0]
        %3 = memref.load %x[%1] : memref<?xf32>
        %4 = memref.load %sums[%j] : memref<8xf32>
        %5 = arith.addf %4, %3 : f32
        memref.store %5, %sums[%j] : memref<8xf32>
        memref.store %5, %few[%j] : memref<7xf32>
      }
    } {relex.vectorized}
  }
  func.return
}

// A load that is in bounds in all iterations needs no mask, unless what runs depends on the value.
// CHECK-LABEL: func.func @in_bounds
func.func @in_bounds(%w: memref<3xf32>, %x: memref<24xf32>, %counts: memref<3xindex>, %y: memref<?xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c8 = arith.constant 8 : index
  // CHECK: scf.for %i
  scf.for %i = %c0 to %c3 step %c1 {
    scf.for %j = %c0 to %c8 step %c1 {
      // CHECK:      [[MASK:%.+]] = vector.create_mask
      // CHECK-NEXT: [[W:%.+]] = memref.load %w[%i]
      // CHECK-NEXT: [[X:%.+]] = vector.load %x
      // CHECK-NEXT: [[ANY:%.+]] = vector.reduction <or>, [[MASK]]
      // CHECK-NEXT: scf.if [[ANY]] -> (index) {
      // CHECK-NEXT:   memref.load %counts[%i]
      // CHECK:      vector.maskedload %y
      %0 = arith.muli %i, %c8 : index
      %1 = arith.addi %0, %j : index
      %2 = arith.cmpi slt, %1, %n : index
      scf.if %2 {
        %3 = memref.load %w[%i] : memref<3xf32>
        %4 = memref.load %x[%1] : memref<24xf32>
        %5 = memref.load %counts[%i] : memref<3xindex>
        scf.for %k = %c0 to %5 step %c1 {
          %6 = memref.load %y[%1] : memref<?xf32>
          %7 = arith.mulf %3, %4 : f32
          %8 = arith.addf %6, %7 : f32
          memref.store %8, %y[%1] : memref<?xf32>
        }
      }
    } {relex.vectorized}
  }
  func.return
}

// A condition that is the same for all iterations stays one.
// CHECK-LABEL: func.func @condition
func.func @condition(%c: i1, %x: memref<8xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %zero = arith.constant 0.0 : f32
  // CHECK:      [[Y:%.+]] = scf.if %c -> (vector<8xf32>) {
  // CHECK-NEXT:   [[X:%.+]] = vector.load %x[%c0]
  // CHECK-NEXT:   scf.yield [[X]] : vector<8xf32>
  // CHECK-NEXT: } else {
  // CHECK-NEXT:   [[Z:%.+]] = vector.broadcast %zero
  // CHECK-NEXT:   scf.yield [[Z]] : vector<8xf32>
  // CHECK-NEXT: }
  // CHECK-NEXT: vector.store [[Y]], %x[%c0]
  scf.for %j = %c0 to %c8 step %c1 {
    %0 = scf.if %c -> (f32) {
      %1 = memref.load %x[%j] : memref<8xf32>
      scf.yield %1 : f32
    } else {
      scf.yield %zero : f32
    }
    memref.store %0, %x[%j] : memref<8xf32>
  } {relex.vectorized}
  func.return
}

// Two loops made one and split again: the row is the same for 8 columns in a row. With 6 columns it is not.
// CHECK-LABEL: func.func @fused
func.func @fused(%x: memref<5x16xf32>, %y: memref<10x6xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c6 = arith.constant 6 : index
  %c7 = arith.constant 7 : index
  %c8 = arith.constant 8 : index
  %c10 = arith.constant 10 : index
  %c16 = arith.constant 16 : index
  scf.for %i = %c0 to %c10 step %c1 {
    // CHECK:      [[FUSED:%.+]] = arith.addi %{{.+}}, %c0 : index
    // CHECK-NEXT: [[ROW:%.+]] = arith.divui [[FUSED]], %c16 : index
    // CHECK-NEXT: [[COLUMN:%.+]] = arith.remui [[FUSED]], %c16 : index
    // CHECK-NEXT: vector.load %x[[[ROW]], [[COLUMN]]] : memref<5x16xf32>, vector<8xf32>
    scf.for %j = %c0 to %c8 step %c1 {
      %0 = arith.muli %i, %c8 : index
      %1 = arith.addi %0, %j : index
      %2 = arith.divui %1, %c16 : index
      %3 = arith.remui %1, %c16 : index
      %4 = memref.load %x[%2, %3] : memref<5x16xf32>
      %5 = arith.negf %4 : f32
      memref.store %5, %x[%2, %3] : memref<5x16xf32>
    } {relex.vectorized}
  }
  scf.for %i = %c0 to %c7 step %c1 {
    // Lanes in several rows are side by side in memory.
    // CHECK: [[ALL:%.+]] = memref.collapse_shape %y {{.+}} : memref<10x6xf32> into memref<60xf32>
    // CHECK: vector.load [[ALL]][{{%.+}}] : memref<60xf32>, vector<8xf32>
    scf.for %j = %c0 to %c8 step %c1 {
      %0 = arith.muli %i, %c8 : index
      %1 = arith.addi %0, %j : index
      %2 = arith.divui %1, %c6 : index
      %3 = arith.remui %1, %c6 : index
      %4 = memref.load %y[%2, %3] : memref<10x6xf32>
      memref.store %4, %x[%i, %j] : memref<5x16xf32>
    } {relex.vectorized}
  }
  func.return
}

// Elements that do not lie side by side are read one after the other, in a loop that LLVM unrolls.
// CHECK-LABEL: func.func @column
func.func @column(%x: memref<8x4xf32>, %y: memref<8xf32>, %i: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  // CHECK:      [[ALL:%.+]] = scf.for [[LANE:%.+]] = %{{.+}} to %{{.+}} step %{{.+}} iter_args([[OLD:%.+]] = %{{.+}}) -> (vector<8xf32>) {
  // CHECK-NEXT:   [[J:%.+]] = arith.addi %c0, [[LANE]] : index
  // CHECK-NEXT:   [[X:%.+]] = memref.load %x[[[J]], %i] : memref<8x4xf32>
  // CHECK-NEXT:   [[NEW:%.+]] = vector.insert [[X]], [[OLD]] [[[LANE]]] : f32 into vector<8xf32>
  // CHECK-NEXT:   scf.yield [[NEW]] : vector<8xf32>
  // CHECK-NEXT: } {llvm.loop_annotation = #llvm.loop_annotation<unroll = <full = true>>}
  // CHECK-NEXT: vector.store [[ALL]], %y[%c0] : memref<8xf32>, vector<8xf32>
  scf.for %j = %c0 to %c8 step %c1 {
    %0 = memref.load %x[%j, %i] : memref<8x4xf32>
    memref.store %0, %y[%j] : memref<8xf32>
  } {relex.vectorized}
  func.return
}

// Comparisons, choices and casts, which xDSL has for scalars, are ops of the `llvm` dialect.
// CHECK-LABEL: func.func @scalar_ops
func.func @scalar_ops(%x: memref<8xf32>, %n: memref<8xi32>, %y: memref<8xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  // CHECK:      [[D:%.+]] = arith.subf [[X:%.+]], [[Z:%.+]] : vector<8xf32>
  // CHECK:      [[C:%.+]] = llvm.call_intrinsic "llvm.is.fpclass.v8f32"([[D]], %{{.+}}) : (vector<8xf32>, i32) -> vector<8xi1>
  // CHECK:      [[S:%.+]] = llvm.call_intrinsic "llvm.vp.select.v8f32"([[C]], [[X]], [[Z]], %{{.+}})
  scf.for %j = %c0 to %c8 step %c1 {
    %0 = memref.load %x[%j] : memref<8xf32>
    %1 = memref.load %n[%j] : memref<8xi32>
    %2 = arith.sitofp %1 : i32 to f32
    %3 = arith.cmpf olt, %0, %2 : f32
    %4 = arith.select %3, %0, %2 : f32
    memref.store %4, %y[%j] : memref<8xf32>
  } {relex.vectorized}
  func.return
}

// Iterations that store to different parts of a buffer, one of them moved by a constant.
// CHECK-LABEL: func.func @halves
func.func @halves(%x: memref<8xf32>, %y: memref<16xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  // CHECK:      vector.store %{{.+}}, %y[%c0] : memref<16xf32>, vector<8xf32>
  // CHECK:      vector.store %{{.+}}, %y[%{{.+}}] : memref<16xf32>, vector<8xf32>
  scf.for %i = %c0 to %c8 step %c1 {
    %a = memref.load %x[%i] : memref<8xf32>
    memref.store %a, %y[%i] : memref<16xf32>
    %j = arith.addi %i, %c8 : index
    memref.store %a, %y[%j] : memref<16xf32>
  } {relex.vectorized}
  func.return
}

// A copy to a local buffer along the other side: a square of elements is transposed in registers, two pairs of vectors
// at a time. AVX-512 has other squares.
// CHECK-LABEL: func.func @square
// PAIRS-LABEL: func.func @square
func.func @square(%x: memref<40x40xf64>, %i: index) -> f64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %y = memref.alloc() : memref<8x8xf64>
  // CHECK: vector.insert
  // PAIRS-COUNT-8: vector.load %x{{.+}} : memref<40x40xf64>, vector<8xf64>
  // PAIRS: vector.shuffle {{.+}} [0, 1, 4, 5, 8, 9, 12, 13]
  // PAIRS: vector.shuffle {{.+}} [2, 3, 6, 7, 10, 11, 14, 15]
  // PAIRS: vector.shuffle {{.+}} [0, 8, 2, 10, 4, 12, 6, 14]
  // PAIRS: vector.shuffle {{.+}} [1, 9, 3, 11, 5, 13, 7, 15]
  // PAIRS-COUNT-8: vector.store {{.+}}, %y[
  // PAIRS-NOT: scf.for
  scf.for %k = %c0 to %c8 step %c1 {
    scf.for %j = %c0 to %c8 step %c1 {
      %row = arith.addi %i, %j : index
      %0 = memref.load %x[%row, %k] : memref<40x40xf64>
      memref.store %0, %y[%k, %j] : memref<8x8xf64>
    } {relex.vectorized}
  }
  // PAIRS: return
  %1 = memref.load %y[%c0, %c1] : memref<8x8xf64>
  func.return %1 : f64
}

// Other loops stay as they are, and so does one with a single iteration.
// CHECK-LABEL: func.func @others
func.func @others(%x: memref<8xf32>, %a: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  // CHECK:      scf.for %j = %c0 to %c8 step %c1 {
  // CHECK-NEXT:   memref.store %a, %x[%j]
  // CHECK-NEXT: }
  scf.for %j = %c0 to %c8 step %c1 {
    memref.store %a, %x[%j] : memref<8xf32>
  }
  // CHECK-NEXT: scf.for %k = %c0 to %c1 step %c1 {
  // CHECK-NEXT:   memref.store %a, %x[%k]
  // CHECK-NEXT: }
  scf.for %k = %c0 to %c1 step %c1 {
    memref.store %a, %x[%k] : memref<8xf32>
  } {relex.vectorized}
  func.return
}
}
