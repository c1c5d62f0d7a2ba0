// The sums of rows: in 8 vectors, which are added up to one, and that to a number, at the end.

// RUN: relex-opt %s -p "set-target{triple=x86_64-unknown-linux-gnu cpu=skylake-avx512},relex-pipeline" -t asm | python %S/Inputs/inner_loop.py | filecheck %s

// CHECK: {{^}}8 vaddps from memory{{$}}
tir.prim_func @row_sum(%X: memref<64x4096xf32>) outs(%Y: memref<64xf32>) attributes {tir.noalias} {
  %zero = arith.constant 0.0 : f32
  %lanes = arith.constant 16 : index
  %width = arith.constant 128 : index
  tir.for %i in (64) {
    %acc = tir.alloc_buffer : memref<8x16xf32>
    tir.for %k, unrolled %v, vectorized %l in (32, 8, 16) {
      tir.block @acc (%vi: spatial<64> = %i, %vv: spatial<8> = %v, %vl: spatial<16> = %l, %vk: reduce<32> = %k) {
        tir.init {
          memref.store %zero, %acc[%vv, %vl] : memref<8x16xf32>
        }
        %start = arith.muli %vk, %width : index
        %skipped = arith.muli %vv, %lanes : index
        %vector = arith.addi %start, %skipped : index
        %at = arith.addi %vector, %vl : index
        %x = memref.load %X[%vi, %at] : memref<64x4096xf32>
        %old = memref.load %acc[%vv, %vl] : memref<8x16xf32>
        %new = arith.addf %old, %x fastmath<reassoc> : f32
        memref.store %new, %acc[%vv, %vl] : memref<8x16xf32>
      }
    }
    %sum = tir.alloc_buffer : memref<16xf32>
    tir.for unrolled %v, vectorized %l in (8, 16) {
      tir.block @sum (%vi: spatial<64> = %i, %vl: spatial<16> = %l, %vv: reduce<8> = %v) {
        tir.init {
          memref.store %zero, %sum[%vl] : memref<16xf32>
        }
        %a = memref.load %acc[%vv, %vl] : memref<8x16xf32>
        %old = memref.load %sum[%vl] : memref<16xf32>
        %new = arith.addf %old, %a fastmath<reassoc> : f32
        memref.store %new, %sum[%vl] : memref<16xf32>
      }
    }
    tir.for vectorized %l in (16) {
      tir.block @Y (%vi: spatial<64> = %i, %vl: reduce<16> = %l) {
        tir.init {
          memref.store %zero, %Y[%vi] : memref<64xf32>
        }
        %a = memref.load %sum[%vl] : memref<16xf32>
        %old = memref.load %Y[%vi] : memref<64xf32>
        %new = arith.addf %old, %a fastmath<reassoc> : f32
        memref.store %new, %Y[%vi] : memref<64xf32>
      }
    }
  }
}
