builtin.module attributes {relex.target = {triple = "x86_64-unknown-linux-gnu", cpu = "haswell", features = ""}} {
  tir.prim_func private @tuned(%A: memref<16xf32>) outs(%B: memref<16xf32>) attributes {tir.noalias} {
    tir.for %i @i in (16) {
      tir.block @Y (%v: spatial<16> = %i) {
        %a = memref.load %A[%v] : memref<16xf32>
        %b = arith.mulf %a, %a : f32
        memref.store %b, %B[%v] : memref<16xf32>
      }
    }
  }
  schedule.sequence for @tuned {
    schedule.split @i by [?, 8]
    schedule.vectorize @i_1
  }
  tir.prim_func private @no_better(%A: memref<3xf32>) outs(%B: memref<3xf32>) attributes {tir.noalias} {
    tir.for %i @i in (3) {
      tir.block @Y (%v: spatial<3> = %i) {
        %a = memref.load %A[%v] : memref<3xf32>
        memref.store %a, %B[%v] : memref<3xf32>
      }
    }
  }
}
