// The inner loops of tiles as assembly: nothing on the stack, and no more loads for each term than one for each row and
// one for each vector of a row. Where cores run two threads, several terms are taken at once. Registers decide on the
// tile: 32 of 512 bits, 16 of 256 bits, 16 and 32 of 128 bits. The first run reads the program back after each pass,
// which takes longer than all else.

// RUN: env RELEX_OPT_FLAGS= relex-opt %s -p "set-target{triple=x86_64-unknown-linux-gnu cpu=x86-64-v4 features=+avx512f},relex-pipeline" -t asm | python %S/Inputs/multiplying_loops.py | sort -rn | filecheck %s --check-prefix=V4
// RUN: env RELEX_OPT_FLAGS= relex-opt %s -p "set-target{triple=x86_64-unknown-linux-gnu cpu=x86-64-v3 features=+avx2},relex-pipeline" -t asm | python %S/Inputs/multiplying_loops.py | sort -rn | filecheck %s --check-prefix=V3
// RUN: env RELEX_OPT_FLAGS= relex-opt %s -p "set-target{triple=x86_64-unknown-linux-gnu cpu=x86-64},relex-pipeline" -t asm | python %S/Inputs/multiplying_loops.py | sort -rn | filecheck %s --check-prefix=SSE
// RUN: env RELEX_OPT_FLAGS= relex-opt %s -p "set-target{triple=aarch64-unknown-linux-gnu},relex-pipeline" -t asm | python %S/Inputs/multiplying_loops.py | sort -rn | filecheck %s --check-prefix=NEON

// The loops of all three functions, those with the most multiplications first.

// V4: {{^}}32 multiplications, 36 loads, 0 on the stack{{$}}
// V4-NEXT: {{^}}32 multiplications, 20 loads, 0 on the stack{{$}}
// V4-NEXT: {{^}}32 multiplications, 16 loads, 0 on the stack{{$}}
// V4-NEXT: {{^}}28 multiplications, 16 loads, 0 on the stack{{$}}
// V4-NEXT: {{^}}26 multiplications, 15 loads, 0 on the stack{{$}}
// V4-NEXT: {{^}}24 multiplications, 14 loads, 0 on the stack{{$}}
// V4-NEXT: {{^}}16 multiplications, 17 loads, 0 on the stack{{$}}
// V3: {{^}}48 multiplications, 32 loads, 0 on the stack{{$}}
// V3-NEXT: {{^}}48 multiplications, 32 loads, 0 on the stack{{$}}
// V3-NEXT: {{^}}32 multiplications, 36 loads, 0 on the stack{{$}}
// V3-NEXT: {{^}}32 multiplications, 24 loads, 0 on the stack{{$}}
// V3-NEXT: {{^}}32 multiplications, 24 loads, 0 on the stack{{$}}
// V3-NEXT: {{^}}8 multiplications, 6 loads, 0 on the stack{{$}}
// V3-NEXT: {{^}}8 multiplications, 6 loads, 0 on the stack{{$}}
// SSE: {{^}}12 multiplications, 8 loads, 0 on the stack{{$}}
// SSE-NEXT: {{^}}12 multiplications, 8 loads, 0 on the stack{{$}}
// SSE-NEXT: {{^}}8 multiplications, 9 loads, 0 on the stack{{$}}
// SSE-NEXT: {{^}}8 multiplications, 6 loads, 0 on the stack{{$}}
// SSE-NEXT: {{^}}8 multiplications, 6 loads, 0 on the stack{{$}}
// SSE-NEXT: {{^}}8 multiplications, 6 loads, 0 on the stack{{$}}
// SSE-NEXT: {{^}}8 multiplications, 6 loads, 0 on the stack{{$}}
// SSE-NEXT: {{^}}8 multiplications, 6 loads, 0 on the stack{{$}}
// SSE-NEXT: {{^}}4 multiplications, 4 loads, 0 on the stack{{$}}
// NEON: {{^}}28 multiplications, 15 loads, 0 on the stack{{$}}
// NEON-NEXT: {{^}}26 multiplications, 14 loads, 0 on the stack{{$}}
// NEON-NEXT: {{^}}24 multiplications, 12 loads, 0 on the stack{{$}}
// NEON-NEXT: {{^}}16 multiplications, 9 loads, 0 on the stack{{$}}
// NEON-NEXT: {{^}}16 multiplications, 9 loads, 0 on the stack{{$}}
// NEON-NEXT: {{^}}16 multiplications, 7 loads, 0 on the stack{{$}}
// NEON-NEXT: {{^}}8 multiplications, 8 loads, 0 on the stack{{$}}
// NEON-NEXT: {{^}}8 multiplications, 5 loads, 0 on the stack{{$}}
// NEON-NEXT: {{^}}4 multiplications, 3 loads, 0 on the stack{{$}}

// Most rows, and those that are left over.
tir.prim_func @dense(%X: memref<64x784xf32>, %W: memref<784x128xf32>, %B: memref<128xf32>) outs(%Z: memref<64x128xf32>) attributes {tir.noalias} {
  %zero = arith.constant 0.0 : f32
  %Y = tir.alloc_buffer : memref<64x128xf32>
  tir.for %i, %j, %k in (64, 128, 784) {
    tir.block @Y (%vi: spatial<64> = %i, %vj: spatial<128> = %j, %vk: reduce<784> = %k) {
      tir.init {
        memref.store %zero, %Y[%vi, %vj] : memref<64x128xf32>
      }
      %y = memref.load %Y[%vi, %vj] : memref<64x128xf32>
      %x = memref.load %X[%vi, %vk] : memref<64x784xf32>
      %w = memref.load %W[%vk, %vj] : memref<784x128xf32>
      %p = arith.mulf %x, %w fastmath<contract> : f32
      %s = arith.addf %y, %p fastmath<reassoc,contract> : f32
      memref.store %s, %Y[%vi, %vj] : memref<64x128xf32>
    }
  }
  tir.for %i, %j in (64, 128) {
    tir.block @Z (%vi: spatial<64> = %i, %vj: spatial<128> = %j) {
      %y = memref.load %Y[%vi, %vj] : memref<64x128xf32>
      %b = memref.load %B[%vj] : memref<128xf32>
      %s = arith.addf %y, %b : f32
      %z = arith.maximumf %s, %zero : f32
      memref.store %z, %Z[%vi, %vj] : memref<64x128xf32>
    }
  }
}

// Any number of rows: in tiles of three heights.
tir.prim_func @any(%X: memref<?x784xf32> {relex.dims = ["n", ""]}, %W: memref<784x128xf32>, %B: memref<128xf32>) outs(%Z: memref<?x128xf32> {relex.dims = ["n", ""]}) attributes {tir.noalias} {
  %c0 = arith.constant 0 : index
  %n = memref.dim %X, %c0 : memref<?x784xf32>
  %zero = arith.constant 0.0 : f32
  %Y = tir.alloc_buffer sizes(%n) : memref<?x128xf32>
  tir.for %i, %j, %k in (%n, 128, 784) {
    tir.block @Y (%vi: spatial<%n> = %i, %vj: spatial<128> = %j, %vk: reduce<784> = %k) {
      tir.init {
        memref.store %zero, %Y[%vi, %vj] : memref<?x128xf32>
      }
      %y = memref.load %Y[%vi, %vj] : memref<?x128xf32>
      %x = memref.load %X[%vi, %vk] : memref<?x784xf32>
      %w = memref.load %W[%vk, %vj] : memref<784x128xf32>
      %p = arith.mulf %x, %w fastmath<contract> : f32
      %s = arith.addf %y, %p fastmath<reassoc,contract> : f32
      memref.store %s, %Y[%vi, %vj] : memref<?x128xf32>
    }
  }
  tir.for %i, %j in (%n, 128) {
    tir.block @Z (%vi: spatial<%n> = %i, %vj: spatial<128> = %j) {
      %y = memref.load %Y[%vi, %vj] : memref<?x128xf32>
      %b = memref.load %B[%vj] : memref<128xf32>
      %s = arith.addf %y, %b : f32
      %z = arith.maximumf %s, %zero : f32
      memref.store %z, %Z[%vi, %vj] : memref<?x128xf32>
    }
  }
}

// Channels as columns: the elements of the rows are multiplied as they are loaded.
tir.prim_func @channels(%X: memref<4x8x6x6xf32>, %K: memref<16x8x3x3xf32>) outs(%Y: memref<4x16x4x4xf32>) attributes {tir.noalias} {
  %zero = arith.constant 0.0 : f32
  tir.for %n, %o, %y, %x, %c, %r, %s in (4, 16, 4, 4, 8, 3, 3) {
    tir.block @Y (%vn: spatial<4> = %n, %vo: spatial<16> = %o, %vy: spatial<4> = %y, %vx: spatial<4> = %x,
                  %vc: reduce<8> = %c, %vr: reduce<3> = %r, %vs: reduce<3> = %s) {
      tir.init {
        memref.store %zero, %Y[%vn, %vo, %vy, %vx] : memref<4x16x4x4xf32>
      }
      %old = memref.load %Y[%vn, %vo, %vy, %vx] : memref<4x16x4x4xf32>
      %row = arith.addi %vy, %vr : index
      %column = arith.addi %vx, %vs : index
      %a = memref.load %X[%vn, %vc, %row, %column] : memref<4x8x6x6xf32>
      %k = memref.load %K[%vo, %vc, %vr, %vs] : memref<16x8x3x3xf32>
      %p = arith.mulf %a, %k fastmath<contract> : f32
      %new = arith.addf %old, %p fastmath<reassoc,contract> : f32
      memref.store %new, %Y[%vn, %vo, %vy, %vx] : memref<4x16x4x4xf32>
    }
  }
}
