// RUN: relex-opt %s -p annotate-finite | filecheck %s
// RUN: relex-opt %s -p annotate-finite,annotate-finite | filecheck %s
// RUN: relex-opt %s -p "set-target{triple=x86_64-unknown-linux-gnu cpu=haswell},annotate-finite,schedule-cpu" | filecheck %s --check-prefix=SCHEDULED

// SCHEDULED-NOT: relex.finite

func.func @main(%x: tensor<5xf32>) -> (tensor<5xf32>, tensor<5xf32>, tensor<5xf32>) {
  %w = relex.constant dense<[1.0, 2.0, 3.0]> : tensor<3xf32>
  %v = relex.constant dense<[1.0, 0x7F800000, 3.0]> : tensor<3xf32>
  %u = relex.constant dense<3.0e38> : tensor<3xf32>
  %0 = relex.call_tir @padded(%x, %w, %w, %w) : (tensor<5xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<5xf32>
  %1 = relex.call_tir @padded(%x, %u, %v, %w) : (tensor<5xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<5xf32>
  %2 = relex.call_tir @plain(%x, %w) : (tensor<5xf32>, tensor<3xf32>) -> tensor<5xf32>
  func.return %0, %1, %2 : tensor<5xf32>, tensor<5xf32>, tensor<5xf32>
}

// Data are given; the second weight is infinite in a call. Numbers whose sum is infinite are finite.
// CHECK: @padded(%X: memref<5xf32>, %W: memref<3xf32> {relex.finite}, %V: memref<3xf32>, %U: memref<3xf32> {relex.finite})
tir.prim_func private @padded(%X: memref<5xf32>, %W: memref<3xf32>, %V: memref<3xf32>, %U: memref<3xf32>) outs(%Y: memref<5xf32>) attributes {tir.noalias} {
  %zero = arith.constant 0.0 : f32
  %c3 = arith.constant 3 : index
  tir.for %i in (5) {
    tir.block @Y (%vi: spatial<5> = %i) {
      %inside = arith.cmpi slt, %vi, %c3 : index
      %y = scf.if %inside -> (f32) {
        %x = memref.load %X[%vi] : memref<5xf32>
        scf.yield %x : f32
      } else {
        scf.yield %zero : f32
      }
      memref.store %y, %Y[%vi] : memref<5xf32>
    }
  }
}

// No block pads.
// CHECK: @plain(%X: memref<5xf32>, %W: memref<3xf32>)
tir.prim_func private @plain(%X: memref<5xf32>, %W: memref<3xf32>) outs(%Y: memref<5xf32>) attributes {tir.noalias} {
  tir.for %i in (5) {
    tir.block @Y (%vi: spatial<5> = %i) {
      %x = memref.load %X[%vi] : memref<5xf32>
      memref.store %x, %Y[%vi] : memref<5xf32>
    }
  }
}
