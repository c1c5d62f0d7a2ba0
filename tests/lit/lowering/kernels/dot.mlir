// A dense layer of one row whose weights are not packed. Each dot product is summed up in 7 vectors; they are added up to
// one, and that to a number, at the end.

// RUN: relex-opt %s -p "set-target{triple=x86_64-unknown-linux-gnu cpu=skylake-avx512},relex-pipeline" -t asm | python %S/Inputs/inner_loop.py | filecheck %s

// CHECK: {{^}}7 fma from memory, 7 load{{$}}
tir.prim_func @dot(%X: memref<1x784xf32>, %W: memref<128x784xf32>, %B: memref<128xf32>)
    outs(%Y: memref<1x128xf32>) attributes {tir.noalias} {
  %zero = arith.constant 0.0 : f32
  %first = arith.constant 0 : index
  %lanes = arith.constant 16 : index
  %width = arith.constant 112 : index
  tir.for %j in (128) {
    %acc = tir.alloc_buffer : memref<7x16xf32>
    tir.for %k, unrolled %v, vectorized %l in (7, 7, 16) {
      tir.block @acc (%vj: spatial<128> = %j, %vv: spatial<7> = %v, %vl: spatial<16> = %l, %vk: reduce<7> = %k) {
        tir.init {
          memref.store %zero, %acc[%vv, %vl] : memref<7x16xf32>
        }
        %start = arith.muli %vk, %width : index
        %skipped = arith.muli %vv, %lanes : index
        %vector = arith.addi %start, %skipped : index
        %at = arith.addi %vector, %vl : index
        %x = memref.load %X[%first, %at] : memref<1x784xf32>
        %w = memref.load %W[%vj, %at] : memref<128x784xf32>
        %p = arith.mulf %x, %w fastmath<contract> : f32
        %old = memref.load %acc[%vv, %vl] : memref<7x16xf32>
        %new = arith.addf %old, %p fastmath<reassoc,contract> : f32
        memref.store %new, %acc[%vv, %vl] : memref<7x16xf32>
      }
    }
    %sum = tir.alloc_buffer : memref<16xf32>
    tir.for unrolled %v, vectorized %l in (7, 16) {
      tir.block @sum (%vj: spatial<128> = %j, %vl: spatial<16> = %l, %vv: reduce<7> = %v) {
        tir.init {
          memref.store %zero, %sum[%vl] : memref<16xf32>
        }
        %a = memref.load %acc[%vv, %vl] : memref<7x16xf32>
        %old = memref.load %sum[%vl] : memref<16xf32>
        %new = arith.addf %old, %a fastmath<reassoc> : f32
        memref.store %new, %sum[%vl] : memref<16xf32>
      }
    }
    tir.for vectorized %l in (16) {
      tir.block @Y (%vj: spatial<128> = %j, %vl: reduce<16> = %l) {
        tir.init {
          %b = memref.load %B[%vj] : memref<128xf32>
          memref.store %b, %Y[%first, %vj] : memref<1x128xf32>
        }
        %a = memref.load %sum[%vl] : memref<16xf32>
        %old = memref.load %Y[%first, %vj] : memref<1x128xf32>
        %new = arith.addf %old, %a fastmath<reassoc> : f32
        memref.store %new, %Y[%first, %vj] : memref<1x128xf32>
      }
    }
  }
}
