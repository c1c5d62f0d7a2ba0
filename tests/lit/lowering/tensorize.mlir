// Loops that are computed in tiles: 32 rows of sums, and 8 that are left over, with shapes of tiles for each part.
// RUN: relex-opt %s -p "apply-schedule,convert-tir-to-scf" | filecheck %s
// The interpreter computes the same before and after.
// RUN: relex-opt %s -p "apply-schedule,convert-tir-to-scf" --check-each -o /dev/null 2>&1 | filecheck %s --allow-empty --check-prefix=SAME
// SAME-NOT: {{note|error}}
// RUN: env RELEX_OPT_FLAGS= relex-opt %s -p "set-target{triple=x86_64-unknown-linux-gnu cpu=sapphirerapids},relex-pipeline" -t asm | filecheck %s --check-prefix=ASM

// CHECK:         tir.configure_tiles [16, 64, 16, 64, 16, 64, 16, 64, 16, 64, 16, 64, 16, 64, 16, 64]
// CHECK-NEXT:    scf.for %j0 =
// CHECK:           tir.load_tile 0, %Y[{{.+}}] rows 0 step 1 : memref<40x64xi32>
// CHECK:           tir.load_tile 3, %Y[{{.+}}] rows 0 step 1 : memref<40x64xi32>
// CHECK-NEXT:      scf.for %k0 =
// CHECK:             tir.load_tile 4, %X[{{.+}}] rows 0 step 1 : memref<40x64xi32>
// CHECK:             tir.load_tile 7, %W[{{.+}}] rows 0 step 1 : memref<64x64xi32>
// CHECK-NEXT:        tir.multiply_tiles "tdpbusd" 0, 4, 6
// CHECK-NEXT:        tir.multiply_tiles "tdpbusd" 1, 4, 7
// CHECK-NEXT:        tir.multiply_tiles "tdpbusd" 2, 5, 6
// CHECK-NEXT:        tir.multiply_tiles "tdpbusd" 3, 5, 7
// CHECK-NEXT:      }
// CHECK:           tir.store_tile 3, %Y[{{.+}}] rows 0 step 1 : memref<40x64xi32>
// CHECK-NEXT:    }
// CHECK-NEXT:    tir.release_tiles
// CHECK-NEXT:    tir.configure_tiles [8, 64, 8, 64, 1, 4, 1, 4, 8, 64, 1, 4, 16, 64, 16, 64]
// CHECK:             tir.multiply_tiles "tdpbusd" 0, 4, 6
// CHECK-NEXT:        tir.multiply_tiles "tdpbusd" 1, 4, 7
// CHECK-NEXT:      }
// CHECK:         tir.release_tiles
// CHECK-NOT:     tir.dot4

// ASM:     ldtilecfg {{.*}}16x64.16x64.16x64.16x64.16x64.16x64.16x64.16x64
// ASM-NOT: ldtilecfg
// ASM:     tdpbusd %tmm6, %tmm4, %tmm0
// ASM-NEXT: tdpbusd %tmm7, %tmm4, %tmm1
// ASM-NEXT: tdpbusd %tmm6, %tmm5, %tmm2
// ASM-NEXT: tdpbusd %tmm7, %tmm5, %tmm3
// ASM-NOT: vpdpbusd
// ASM:     tilerelease
// ASM:     ldtilecfg {{.*}}8x64.8x64.1x4.1x4.8x64.1x4.16x64.16x64
// ASM:     tilerelease
// ASM-NOT: ldtilecfg
tir.prim_func @product(%X: memref<40x64xi32>, %W: memref<64x64xi32>) outs(%Y: memref<40x64xi32>) attributes {tir.noalias} {
  %zero = arith.constant 0 : i32
  tir.for %i @i, %j @j, %k @k in (40, 64, 64) {
    tir.block @Y (%vi: spatial<40> = %i, %vj: spatial<64> = %j, %vk: reduce<64> = %k) {
      tir.init {
        memref.store %zero, %Y[%vi, %vj] : memref<40x64xi32>
      }
      %y = memref.load %Y[%vi, %vj] : memref<40x64xi32>
      %x = memref.load %X[%vi, %vk] : memref<40x64xi32>
      %w = memref.load %W[%vk, %vj] : memref<64x64xi32>
      %p = tir.dot4 %x, %w : i32
      %s = arith.addi %y, %p : i32
      memref.store %s, %Y[%vi, %vj] : memref<40x64xi32>
    }
  }
}
schedule.sequence for @product {
  schedule.partition [@i] by 32 into [@Y_rest, @i_rest, @j_rest, @k_rest]
  schedule.split @i by [?, 32]
  schedule.split @j by [?, 32]
  schedule.split @k by [?, 16]
  schedule.reorder [@i_0, @j_0, @k_0, @k_1, @i_1, @j_1]
  schedule.decompose_reduction @Y at @k_0
  schedule.tensorize @k_0 by "tdpbusd"
  schedule.split @j_rest by [?, 32]
  schedule.split @k_rest by [?, 16]
  schedule.reorder [@j_rest_0, @k_rest_0, @k_rest_1, @i_rest, @j_rest_1]
  schedule.decompose_reduction @Y_rest at @k_rest_0
  schedule.tensorize @k_rest_0 by "tdpbusd"
}
