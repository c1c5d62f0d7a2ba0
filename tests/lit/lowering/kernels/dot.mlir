// A dense layer of one row whose weights are not packed: dot products of 8 rows of weights at a time, each with a vector
// of sums that is added up at the end.

// RUN: relex-opt %s -p "set-target{triple=x86_64-unknown-linux-gnu cpu=skylake-avx512},relex-pipeline" -t asm | python %S/Inputs/inner_loop.py | filecheck %s

// CHECK: {{^}}8 fma from memory, 1 load{{$}}
tir.prim_func @dot(%X: memref<1x784xf32>, %W: memref<128x784xf32>, %B: memref<128xf32>)
    outs(%Y: memref<1x128xf32>) attributes {tir.noalias} {
  %zero = arith.constant 0.0 : f32
  %first = arith.constant 0 : index
  %eight = arith.constant 8 : index
  %lanes = arith.constant 16 : index
  tir.for %j in (16) {
    %acc = tir.alloc_buffer : memref<8x16xf32>
    tir.for %k, unrolled %r, vectorized %l in (49, 8, 16) {
      tir.block @acc (%vj: spatial<16> = %j, %vr: spatial<8> = %r, %vl: spatial<16> = %l, %vk: reduce<49> = %k) {
        tir.init {
          memref.store %zero, %acc[%vr, %vl] : memref<8x16xf32>
        }
        %top = arith.muli %vj, %eight : index
        %row = arith.addi %top, %vr : index
        %start = arith.muli %vk, %lanes : index
        %at = arith.addi %start, %vl : index
        %x = memref.load %X[%first, %at] : memref<1x784xf32>
        %w = memref.load %W[%row, %at] : memref<128x784xf32>
        %p = arith.mulf %x, %w fastmath<contract> : f32
        %old = memref.load %acc[%vr, %vl] : memref<8x16xf32>
        %new = arith.addf %old, %p fastmath<reassoc,contract> : f32
        memref.store %new, %acc[%vr, %vl] : memref<8x16xf32>
      }
    }
    tir.for unrolled %r, vectorized %l in (8, 16) {
      tir.block @Y (%vj: spatial<16> = %j, %vr: spatial<8> = %r, %vl: reduce<16> = %l) {
        tir.init {
          %top = arith.muli %vj, %eight : index
          %row = arith.addi %top, %vr : index
          %b = memref.load %B[%row] : memref<128xf32>
          memref.store %b, %Y[%first, %row] : memref<1x128xf32>
        }
        %top = arith.muli %vj, %eight : index
        %row = arith.addi %top, %vr : index
        %a = memref.load %acc[%vr, %vl] : memref<8x16xf32>
        %y = memref.load %Y[%first, %row] : memref<1x128xf32>
        %s = arith.addf %y, %a fastmath<reassoc> : f32
        memref.store %s, %Y[%first, %row] : memref<1x128xf32>
      }
    }
  }
}
