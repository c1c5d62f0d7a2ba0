// RUN: relex-opt %s -p "apply-tuning{file=\"%S/Inputs/tuned.mlir\"}" | filecheck %s
// RUN: relex-opt %s -p "apply-tuning{file=\"%S/Inputs/tuned.mlir\"},schedule-cpu" | filecheck %s --check-prefix=LATER
// RUN: relex-opt %s --check-each -p "apply-tuning{file=\"%S/Inputs/tuned.mlir\"}" -o /dev/null

// A file for another target changes nothing.
// RUN: sed 's/cpu = "haswell"/cpu = "skylake-avx512"/' %s | relex-opt -p "apply-tuning{file=\"%S/Inputs/tuned.mlir\"}" \
// RUN:   | filecheck %s --check-prefix=OTHER
// OTHER-NOT: vectorized

// RUN: not relex-opt %s -p "apply-tuning{file=\"%t.none.mlir\"}" 2>&1 | filecheck %s --check-prefix=FILE
// FILE: pass 'apply-tuning': cannot read '{{.*}}none.mlir': {{.*}}No such file
// RUN: sed 's/split @i by/split @k by/' %S/Inputs/tuned.mlir > %t.wrong.mlir
// RUN: not relex-opt %s -p "apply-tuning{file=\"%t.wrong.mlir\"}" 2>&1 | filecheck %s --check-prefix=WRONG
// WRONG: error: 'schedule.split' op expected a loop @k, found @i

builtin.module attributes {relex.target = {triple = "x86_64-unknown-linux-gnu", cpu = "haswell", features = ""}} {
  // The function is found under another name, with other names of values.
  // CHECK-LABEL: tir.prim_func private @square
  // CHECK-SAME: relex.scheduled
  // CHECK: tir.for %i{{.*}} @i_0, vectorized %i{{.*}} @i_1 in (2, 8)
  // LATER-LABEL: tir.prim_func private @square
  // LATER-NOT: relex.scheduled
  // LATER: vectorized
  tir.prim_func private @square(%X: memref<16xf32>) outs(%Y: memref<16xf32>) attributes {tir.noalias} {
    tir.for %i @i in (16) {
      tir.block @Y (%vi: spatial<16> = %i) {
        %x = memref.load %X[%vi] : memref<16xf32>
        %y = arith.mulf %x, %x : f32
        memref.store %y, %Y[%vi] : memref<16xf32>
      }
    }
  }

  // Another function.
  // CHECK-LABEL: tir.prim_func private @double
  // CHECK-NOT: vectorized
  tir.prim_func private @double(%X: memref<16xf32>) outs(%Y: memref<16xf32>) attributes {tir.noalias} {
    tir.for %i @i in (16) {
      tir.block @Y (%vi: spatial<16> = %i) {
        %x = memref.load %X[%vi] : memref<16xf32>
        %y = arith.addf %x, %x : f32
        memref.store %y, %Y[%vi] : memref<16xf32>
      }
    }
  }

  // One that has no better schedule.
  // CHECK-LABEL: tir.prim_func private @copy
  // CHECK-NOT: relex.scheduled
  tir.prim_func private @copy(%X: memref<3xf32>) outs(%Y: memref<3xf32>) attributes {tir.noalias} {
    tir.for %i @i in (3) {
      tir.block @Y (%vi: spatial<3> = %i) {
        %x = memref.load %X[%vi] : memref<3xf32>
        memref.store %x, %Y[%vi] : memref<3xf32>
      }
    }
  }
}
