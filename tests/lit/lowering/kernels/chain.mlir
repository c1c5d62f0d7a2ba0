// relu(x * y + y), 4 vectors at a time. A strict function rounds each step as it would alone.

// RUN: relex-opt %s -p "set-target{triple=x86_64-unknown-linux-gnu cpu=skylake-avx512},relex-pipeline" -t asm | python %S/Inputs/inner_loop.py | filecheck %s
// RUN: sed "s/{tir.noalias}/{relex.strict, tir.noalias}/" %s | relex-opt -p "set-target{triple=x86_64-unknown-linux-gnu cpu=skylake-avx512},relex-pipeline" -t asm | python %S/Inputs/inner_loop.py | filecheck %s --check-prefix=STRICT

// CHECK: {{^}}4 fma from memory, 4 load, 4 move, 4 store, 4 vcmpunordps, 4 vmaxps{{$}}
// STRICT: {{^}}4 load, 4 move, 4 store, 4 vaddps, 4 vcmpunordps, 4 vmaxps, 4 vmulps from memory{{$}}
tir.prim_func @chain(%X: memref<65536xf32>, %Y: memref<65536xf32>) outs(%Z: memref<65536xf32>) attributes {tir.noalias} {
  %zero = arith.constant 0.0 : f32
  %lanes = arith.constant 16 : index
  %width = arith.constant 64 : index
  tir.for %i, unrolled %v, vectorized %l in (1024, 4, 16) {
    %start = arith.muli %i, %width : index
    %skipped = arith.muli %v, %lanes : index
    %vector = arith.addi %start, %skipped : index
    %at = arith.addi %vector, %l : index
    tir.block @Z (%p: spatial<65536> = %at) {
      %x = memref.load %X[%p] : memref<65536xf32>
      %y = memref.load %Y[%p] : memref<65536xf32>
      %a = arith.mulf %x, %y : f32
      %b = arith.addf %a, %y : f32
      %z = arith.maximumf %b, %zero : f32
      memref.store %z, %Z[%p] : memref<65536xf32>
    }
  }
}
