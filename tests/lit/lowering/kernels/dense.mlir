// A dense layer whose weights are packed into panels, with bias and relu, in tiles of ROWS rows and VECTORS vectors of LANES
// elements. Registers hold a tile while the products are added up, and what follows is done before it is stored.

// RUN: sed "s/HEIGHT/252/g; s/TILES/18/g; s/ROWS/14/g; s/VECTORS/2/g; s/LANES/16/g; s/WIDTH/32/g; s/PANELS/4/g; s/COLUMNS/128/g; s/TERMS/784/g" %s | relex-opt -p "set-target{triple=x86_64-unknown-linux-gnu cpu=skylake-avx512},relex-pipeline" -t asm | python %S/Inputs/inner_loop.py | filecheck %s --check-prefix=T14X2
// RUN: sed "s/HEIGHT/252/g; s/TILES/21/g; s/ROWS/12/g; s/VECTORS/2/g; s/LANES/16/g; s/WIDTH/32/g; s/PANELS/4/g; s/COLUMNS/128/g; s/TERMS/784/g" %s | env RELEX_OPT_FLAGS= relex-opt -p "set-target{triple=x86_64-unknown-linux-gnu cpu=skylake-avx512},relex-pipeline" -t asm | python %S/Inputs/inner_loop.py | filecheck %s --check-prefix=T12X2
// RUN: sed "s/HEIGHT/258/g; s/TILES/43/g; s/ROWS/6/g; s/VECTORS/4/g; s/LANES/16/g; s/WIDTH/64/g; s/PANELS/2/g; s/COLUMNS/128/g; s/TERMS/784/g" %s | env RELEX_OPT_FLAGS= relex-opt -p "set-target{triple=x86_64-unknown-linux-gnu cpu=skylake-avx512},relex-pipeline" -t asm | python %S/Inputs/inner_loop.py | filecheck %s --check-prefix=T6X4
// RUN: sed "s/HEIGHT/252/g; s/TILES/42/g; s/ROWS/6/g; s/VECTORS/2/g; s/LANES/8/g; s/WIDTH/16/g; s/PANELS/8/g; s/COLUMNS/128/g; s/TERMS/784/g" %s | relex-opt -p "set-target{triple=x86_64-unknown-linux-gnu cpu=haswell},relex-pipeline" -t asm | python %S/Inputs/inner_loop.py | filecheck %s --check-prefix=AVX2

// For each row and each vector one multiplication and addition; for each row one broadcast, for each vector one load; this
// for several terms at once.
// T14X2: {{^}}14 broadcast, 28 fma, 2 load{{$}}
// T12X2: {{^}}24 broadcast, 48 fma, 4 load{{$}}
// T6X4: {{^}}12 broadcast, 48 fma, 8 load{{$}}
// AVX2: {{^}}24 broadcast, 48 fma, 8 load{{$}}
tir.prim_func @dense(%X: memref<HEIGHTxTERMSxf32>, %W: memref<PANELSxTERMSxWIDTHxf32>, %B: memref<COLUMNSxf32>)
    outs(%Y: memref<HEIGHTxCOLUMNSxf32>) attributes {tir.noalias} {
  %zero = arith.constant 0.0 : f32
  %lanes = arith.constant LANES : index
  %rows = arith.constant ROWS : index
  %width = arith.constant WIDTH : index
  tir.for %j, %i in (PANELS, TILES) {
    %acc = tir.alloc_buffer : memref<ROWSxWIDTHxf32>
    tir.for %k, unrolled %r, unrolled %v, vectorized %l in (TERMS, ROWS, VECTORS, LANES) {
      %first = arith.muli %v, %lanes : index
      %c = arith.addi %first, %l : index
      tir.block @acc (%vj: spatial<PANELS> = %j, %vi: spatial<TILES> = %i, %vr: spatial<ROWS> = %r,
                      %vc: spatial<WIDTH> = %c, %vk: reduce<TERMS> = %k) {
        tir.init {
          memref.store %zero, %acc[%vr, %vc] : memref<ROWSxWIDTHxf32>
        }
        %top = arith.muli %vi, %rows : index
        %row = arith.addi %top, %vr : index
        %x = memref.load %X[%row, %vk] : memref<HEIGHTxTERMSxf32>
        %w = memref.load %W[%vj, %vk, %vc] : memref<PANELSxTERMSxWIDTHxf32>
        %p = arith.mulf %x, %w fastmath<contract> : f32
        %old = memref.load %acc[%vr, %vc] : memref<ROWSxWIDTHxf32>
        %new = arith.addf %old, %p fastmath<reassoc,contract> : f32
        memref.store %new, %acc[%vr, %vc] : memref<ROWSxWIDTHxf32>
      }
    }
    tir.for unrolled %r, unrolled %v, vectorized %l in (ROWS, VECTORS, LANES) {
      %first = arith.muli %v, %lanes : index
      %c = arith.addi %first, %l : index
      tir.block @Y (%vj: spatial<PANELS> = %j, %vi: spatial<TILES> = %i, %vr: spatial<ROWS> = %r,
                    %vc: spatial<WIDTH> = %c) {
        %top = arith.muli %vi, %rows : index
        %row = arith.addi %top, %vr : index
        %left = arith.muli %vj, %width : index
        %column = arith.addi %left, %vc : index
        %sum = memref.load %acc[%vr, %vc] : memref<ROWSxWIDTHxf32>
        %b = memref.load %B[%column] : memref<COLUMNSxf32>
        %s = arith.addf %sum, %b : f32
        %y = arith.maximumf %s, %zero : f32
        memref.store %y, %Y[%row, %column] : memref<HEIGHTxCOLUMNSxf32>
      }
    }
  }
}
