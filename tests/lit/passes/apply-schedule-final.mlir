// RUN: relex-opt %s -p 'apply-schedule{existing=true}' | filecheck %s
// RUN: relex-opt %s -p 'apply-schedule{existing=true},annotate-op-pattern' | filecheck %s --check-prefix=PATTERN
// RUN: relex-opt %s -p 'apply-schedule{existing=true},set-target{triple=x86_64-unknown-linux-gnu cpu=haswell},inline-blocks,split-reductions,schedule-cpu' | filecheck %s --check-prefix=LATER
// RUN: env RELEX_OPT_FLAGS= relex-opt %s -p 'apply-schedule{existing=true explain=true}' -o /dev/null 2>&1 | filecheck %s --check-prefix=EXPLAIN

// A function with a schedule, be it empty, is left as it is. One that does not exist yet is waited for.

// EXPLAIN: apply-schedule-final.mlir:{{[0-9]+}}:1: remark: 'schedule.sequence' op @copies: 1 step applied
// EXPLAIN: apply-schedule-final.mlir:{{[0-9]+}}:1: remark: 'schedule.sequence' op @sum: 0 steps applied
// EXPLAIN-NOT: remark

// CHECK-LABEL: @copies
// CHECK-SAME: attributes {tir.noalias, relex.scheduled}
// PATTERN-LABEL: @copies
// PATTERN-SAME: tir.op_pattern = "opaque"
// LATER-LABEL: @copies
// LATER-NOT: relex.scheduled
// LATER: tir.alloc_buffer
// LATER: tir.for unrolled
// LATER: tir.for %j
tir.prim_func private @copies(%X: memref<8xf32>) outs(%Y: memref<8xf32>) attributes {tir.noalias} {
  %T = tir.alloc_buffer : memref<8xf32>
  tir.for %i @i in (8) {
    tir.block @T (%v: spatial<8> = %i) {
      %x = memref.load %X[%v] : memref<8xf32>
      memref.store %x, %T[%v] : memref<8xf32>
    }
  }
  tir.for %j @j in (8) {
    tir.block @Y (%v: spatial<8> = %j) {
      %x = memref.load %T[%v] : memref<8xf32>
      memref.store %x, %Y[%v] : memref<8xf32>
    }
  }
}
schedule.sequence for @copies {
  schedule.unroll @i
}

// CHECK-LABEL: @sum
// CHECK-SAME: relex.scheduled
// LATER-LABEL: @sum
// LATER: tir.for %k @k in (1000000)
// LATER-NOT: vectorized
tir.prim_func private @sum(%X: memref<1000000xf32>) outs(%Y: memref<f32>) attributes {tir.noalias} {
  tir.for %k @k in (1000000) {
    tir.block @Y (%v: reduce<1000000> = %k) {
      tir.init {
        %zero = arith.constant 0.0 : f32
        memref.store %zero, %Y[] : memref<f32>
      }
      %s = memref.load %Y[] : memref<f32>
      %x = memref.load %X[%v] : memref<1000000xf32>
      %t = arith.addf %s, %x fastmath<reassoc> : f32
      memref.store %t, %Y[] : memref<f32>
    }
  }
}
schedule.sequence for @sum {}

// CHECK: schedule.sequence for @later
// LATER: schedule.sequence for @later
schedule.sequence for @later {
  schedule.unroll @i
}
