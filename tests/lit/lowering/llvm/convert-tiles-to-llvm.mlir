// RUN: relex-opt %s -p "set-target{triple=x86_64-unknown-linux-gnu cpu=sapphirerapids},convert-to-llvm" | filecheck %s
// RUN: relex-opt %s -p "set-target{triple=x86_64-unknown-linux-gnu cpu=sapphirerapids},convert-to-llvm" -t asm | filecheck %s --check-prefix=ASM
// RUN: not relex-opt %s -p "set-target{triple=x86_64-unknown-linux-gnu cpu=haswell},convert-to-llvm" 2>&1 | filecheck %s --check-prefix=HASWELL
// RUN: not relex-opt %s -p "set-target{triple=x86_64-unknown-linux-gnu cpu=sapphirerapids features=-amx-int8},convert-to-llvm" 2>&1 | filecheck %s --check-prefix=FLOATS
// RUN: not relex-opt %s -p "set-target{triple=aarch64-unknown-linux-gnu},convert-to-llvm" 2>&1 | filecheck %s --check-prefix=HASWELL

// HASWELL: error: 'tir.configure_tiles' op expected a target with tiles (amx-tile)
// HASWELL: error: 'tir.multiply_tiles' op expected a target with 'tdpbssd' (amx-int8)
// FLOATS-NOT: configure_tiles' op
// FLOATS: error: 'tir.multiply_tiles' op expected a target with 'tdpbuud' (amx-int8)
// FLOATS-NOT: tdpbf16ps'

// The palette, 16 bits with the bytes of the rows of each tile from place 16 on, and their number from place 48 on.
// CHECK: llvm.mlir.global private constant @relex.tiles.16x64.5x64.16x64.16x64.16x64.5x64.16x64(dense<"0x01000000000000000000000000000000400040004000400040004000400000000000000000000000000000000000000010051010100510000000000000000000"> : tensor<64xi8>)

// CHECK-LABEL: llvm.func @multiply(
// CHECK:         [[S:%.+]] = llvm.mlir.addressof @relex.tiles.16x64.5x64.16x64.16x64.16x64.5x64.16x64
// CHECK:         llvm.call_intrinsic "llvm.x86.ldtilecfg"([[S]]) : (!llvm.ptr) -> ()
// CHECK:         [[Y:%.+]] = llvm.getelementptr inbounds %y[%i] : (!llvm.ptr, i64) -> !llvm.ptr, i32
// CHECK:         [[T:%.+]] = llvm.mlir.constant(0 : i8) : i8
// CHECK:         llvm.call_intrinsic "llvm.x86.tileloadd64"([[T]], [[Y]], %{{.+}}) : (i8, !llvm.ptr, i64) -> ()

// ASM-LABEL: multiply:
// ASM:         ldtilecfg .Lrelex.tiles.16x64.5x64.16x64.16x64.16x64.5x64.16x64(%rip)
// ASM:         tileloadd [[Y:.*]], %tmm0
// ASM:         tileloadd {{.*}}, %tmm4
// Every second row of a matrix of 32 words.
// ASM:         movl $256,
// ASM:         tileloadd {{.*}}, %tmm6
// ASM-NEXT:    tdpbssd %tmm6, %tmm4, %tmm0
// ASM-NEXT:    tdpbsud %tmm6, %tmm4, %tmm0
// ASM-NEXT:    tdpbusd %tmm6, %tmm4, %tmm0
// ASM-NEXT:    tdpbuud %tmm6, %tmm4, %tmm0
// ASM-NEXT:    tdpbf16ps %tmm6, %tmm4, %tmm0
// ASM-NEXT:    tilezero %tmm5
// ASM:         tilestored %tmm0, [[Y]]
// ASM:         tilerelease
func.func @multiply(%x: memref<16x?xi8>, %w: memref<4x32x32xi32>, %y: memref<16x32xi32>, %i: index) {
  %c0 = arith.constant 0 : index
  tir.configure_tiles [16, 64, 5, 64, 16, 64, 16, 64, 16, 64, 5, 64, 16, 64]
  tir.load_tile 0, %y[%c0, %i] rows 0 step 1 : memref<16x32xi32>
  tir.load_tile 4, %x[%c0, %i] rows 0 step 1 : memref<16x?xi8>
  tir.load_tile 6, %w[%i, %c0, %c0] rows 1 step 2 : memref<4x32x32xi32>
  tir.multiply_tiles "tdpbssd" 0, 4, 6
  tir.multiply_tiles "tdpbsud" 0, 4, 6
  tir.multiply_tiles "tdpbusd" 0, 4, 6
  tir.multiply_tiles "tdpbuud" 0, 4, 6
  tir.multiply_tiles "tdpbf16ps" 0, 4, 6
  tir.zero_tile 5
  tir.store_tile 0, %y[%c0, %i] rows 0 step 1 : memref<16x32xi32>
  tir.release_tiles
  func.return
}
