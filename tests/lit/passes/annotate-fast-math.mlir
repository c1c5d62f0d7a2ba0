// RUN: relex-opt %s -p annotate-fast-math | filecheck %s
// RUN: relex-opt %s -p annotate-fast-math,annotate-fast-math | filecheck %s
// RUN: relex-opt %s -p annotate-fast-math --check-each=proof -o %t 2>&1 | filecheck %s --check-prefix=PROOF --allow-empty
// PROOF-NOT: not proved

// CHECK-LABEL: @dot
// CHECK: [[P:%.+]] = arith.mulf {{%.+}}, {{%.+}} fastmath<contract> : f32
// CHECK: arith.addf {{%.+}}, [[P]] fastmath<reassoc,contract> : f32
tir.prim_func @dot(%X: memref<3x5xf32>, %W: memref<5xf32>) outs(%Y: memref<3xf32>) {
  %zero = arith.constant 0.0 : f32
  tir.for %i, %k in (3, 5) {
    tir.block @Y (%vi: spatial<3> = %i, %vk: reduce<5> = %k) {
      tir.init {
        memref.store %zero, %Y[%vi] : memref<3xf32>
      }
      %y = memref.load %Y[%vi] : memref<3xf32>
      %x = memref.load %X[%vi, %vk] : memref<3x5xf32>
      %w = memref.load %W[%vk] : memref<5xf32>
      %p = arith.mulf %x, %w : f32
      %s = arith.addf %y, %p : f32
      memref.store %s, %Y[%vi] : memref<3xf32>
    }
  }
}

// The result may be on the right, and be initialized elsewhere; the terms may be of any form. Each product contracts
// with the sum that it is a term of.
// CHECK-LABEL: @terms
// CHECK: arith.mulf %x, %x fastmath<contract> : f64
// CHECK: arith.mulf %x, %p : f64
// CHECK: arith.subf %p, %e fastmath<contract> : f64
// CHECK: arith.addf %d, %y fastmath<reassoc,contract> : f64
tir.prim_func @terms(%X: memref<5xf64>) outs(%Y: memref<f64>) {
  %zero = arith.constant 0.0 : f64
  memref.store %zero, %Y[] : memref<f64>
  tir.for %k in (5) {
    tir.block @Y (%vk: reduce<5> = %k) {
      %x = memref.load %X[%vk] : memref<5xf64>
      %p = arith.mulf %x, %x : f64
      %q = arith.mulf %x, %p : f64
      %e = math.exp %q : f64
      %d = arith.subf %p, %e : f64
      %y = memref.load %Y[] : memref<f64>
      %s = arith.addf %d, %y : f64
      memref.store %s, %Y[] : memref<f64>
    }
  }
}

// CHECK-LABEL: @product
// CHECK: arith.mulf %y, %x fastmath<reassoc,contract> : f32
tir.prim_func @product(%X: memref<3x5xf32>) outs(%Y: memref<3xf32>) {
  %one = arith.constant 1.0 : f32
  tir.for %i, %k in (3, 5) {
    tir.block @Y (%vi: spatial<3> = %i, %vk: reduce<5> = %k) {
      tir.init {
        memref.store %one, %Y[%vi] : memref<3xf32>
      }
      %y = memref.load %Y[%vi] : memref<3xf32>
      %x = memref.load %X[%vi, %vk] : memref<3x5xf32>
      %p = arith.mulf %y, %x : f32
      memref.store %p, %Y[%vi] : memref<3xf32>
    }
  }
}

// Maxima are the same in any order, and integers, too.
// CHECK-LABEL: @no_flags
// CHECK: arith.maximumf %y, %x : f32
// CHECK: arith.muli %i, %i : i32
// CHECK-NEXT: arith.addi %n, {{%.+}} : i32
tir.prim_func @no_flags(%X: memref<5xf32>, %I: memref<5xi32>) outs(%Y: memref<f32>, %N: memref<i32>) {
  %least = arith.constant 0xFF800000 : f32
  %zero = arith.constant 0 : i32
  tir.for %k in (5) {
    tir.block @Y (%vk: reduce<5> = %k) {
      tir.init {
        memref.store %least, %Y[] : memref<f32>
      }
      %y = memref.load %Y[] : memref<f32>
      %x = memref.load %X[%vk] : memref<5xf32>
      %m = arith.maximumf %y, %x : f32
      memref.store %m, %Y[] : memref<f32>
    }
  }
  tir.for %k in (5) {
    tir.block @N (%vk: reduce<5> = %k) {
      tir.init {
        memref.store %zero, %N[] : memref<i32>
      }
      %n = memref.load %N[] : memref<i32>
      %i = memref.load %I[%vk] : memref<5xi32>
      %p = arith.muli %i, %i : i32
      %s = arith.addi %n, %p : i32
      memref.store %s, %N[] : memref<i32>
    }
  }
}

// Each step of a recurrence needs the one before: only the rounding is free.
// CHECK-LABEL: @horner
// CHECK: arith.mulf %y, %x fastmath<contract> : f32
// CHECK: arith.addf %p, %a fastmath<contract> : f32
tir.prim_func @horner(%X: memref<3xf32>, %A: memref<5xf32>) outs(%Y: memref<3xf32>) {
  %zero = arith.constant 0.0 : f32
  tir.for %i, %k in (3, 5) {
    tir.block @Y (%vi: spatial<3> = %i, %vk: reduce<5> = %k) {
      tir.init {
        memref.store %zero, %Y[%vi] : memref<3xf32>
      }
      %y = memref.load %Y[%vi] : memref<3xf32>
      %x = memref.load %X[%vi] : memref<3xf32>
      %a = memref.load %A[%vk] : memref<5xf32>
      %p = arith.mulf %y, %x : f32
      %s = arith.addf %p, %a : f32
      memref.store %s, %Y[%vi] : memref<3xf32>
    }
  }
}

// A difference is no sum, a term that reads the result no other one, and neither is an element that is not written.
// CHECK-LABEL: @other_updates
// CHECK: arith.subf %y, %p fastmath<contract> : f32
// CHECK: arith.addf %z, %z : f32
// CHECK: arith.addf %u, %v : f32
tir.prim_func @other_updates(%X: memref<5xf32>) outs(%Y: memref<f32>, %Z: memref<f32>, %U: memref<2xf32>) {
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  memref.store %zero, %Y[] : memref<f32>
  memref.store %zero, %Z[] : memref<f32>
  memref.store %zero, %U[%c0] : memref<2xf32>
  tir.for %k in (5) {
    tir.block @Y (%vk: reduce<5> = %k) {
      %y = memref.load %Y[] : memref<f32>
      %x = memref.load %X[%vk] : memref<5xf32>
      %p = arith.mulf %x, %x : f32
      %s = arith.subf %y, %p : f32
      memref.store %s, %Y[] : memref<f32>
    }
  }
  tir.for %k in (5) {
    tir.block @Z (%vk: reduce<5> = %k) {
      %z = memref.load %Z[] : memref<f32>
      %s = arith.addf %z, %z : f32
      memref.store %s, %Z[] : memref<f32>
    }
  }
  tir.for %k in (5) {
    tir.block @U (%vk: reduce<5> = %k) {
      %c1 = arith.constant 1 : index
      %u = memref.load %U[%c1] : memref<2xf32>
      %v = memref.load %X[%vk] : memref<5xf32>
      %s = arith.addf %u, %v : f32
      memref.store %s, %U[%c0] : memref<2xf32>
    }
  }
}

// What is written second may depend on what is written first.
// CHECK-LABEL: @two_stores
// CHECK: arith.addf %y, %x : f32
// CHECK: arith.mulf %x, %x fastmath<contract> : f32
// CHECK: arith.addf %z, %p fastmath<contract> : f32
tir.prim_func @two_stores(%X: memref<5xf32>) outs(%Y: memref<f32>, %Z: memref<f32>) {
  %zero = arith.constant 0.0 : f32
  tir.for %k in (5) {
    tir.block @YZ (%vk: reduce<5> = %k) {
      tir.init {
        memref.store %zero, %Y[] : memref<f32>
        memref.store %zero, %Z[] : memref<f32>
      }
      %y = memref.load %Y[] : memref<f32>
      %z = memref.load %Z[] : memref<f32>
      %x = memref.load %X[%vk] : memref<5xf32>
      %s = arith.addf %y, %x : f32
      memref.store %s, %Y[] : memref<f32>
      %p = arith.mulf %x, %x : f32
      %t = arith.addf %z, %p : f32
      memref.store %t, %Z[] : memref<f32>
    }
  }
}

// Loops that say nothing about their order keep it; products contract anywhere, with each sum that uses them.
// CHECK-LABEL: @plain_loops
// CHECK: arith.mulf %x, %w fastmath<contract> : f32
// CHECK: arith.addf %y, %p fastmath<contract> : f32
// CHECK: arith.subf %p, %y fastmath<contract> : f32
// CHECK: arith.addf %x, %w : f32
tir.prim_func @plain_loops(%X: memref<5xf32>, %W: memref<5xf32>) outs(%Y: memref<f32>, %Z: memref<5xf32>, %U: memref<5xf32>) {
  %zero = arith.constant 0.0 : f32
  memref.store %zero, %Y[] : memref<f32>
  tir.for %k in (5) {
    %y = memref.load %Y[] : memref<f32>
    %x = memref.load %X[%k] : memref<5xf32>
    %w = memref.load %W[%k] : memref<5xf32>
    %p = arith.mulf %x, %w : f32
    %s = arith.addf %y, %p : f32
    memref.store %s, %Y[] : memref<f32>
    %d = arith.subf %p, %y : f32
    memref.store %d, %Z[%k] : memref<5xf32>
    %a = arith.addf %x, %w : f32
    memref.store %a, %U[%k] : memref<5xf32>
  }
}

// Flags that are there stay, and add up.
// CHECK-LABEL: @stated
// CHECK: arith.addf %y, %x fastmath<reassoc,nnan,contract> : f32
tir.prim_func @stated(%X: memref<5xf32>) outs(%Y: memref<f32>) {
  %zero = arith.constant 0.0 : f32
  tir.for %k in (5) {
    tir.block @Y (%vk: reduce<5> = %k) {
      tir.init {
        memref.store %zero, %Y[] : memref<f32>
      }
      %y = memref.load %Y[] : memref<f32>
      %x = memref.load %X[%vk] : memref<5xf32>
      %s = arith.addf %y, %x fastmath<nnan> : f32
      memref.store %s, %Y[] : memref<f32>
    }
  }
}

// CHECK-LABEL: @strict
// CHECK: arith.mulf %x, %x : f32
// CHECK: arith.addf %y, %p : f32
tir.prim_func @strict(%X: memref<5xf32>) outs(%Y: memref<f32>) attributes {relex.strict} {
  %zero = arith.constant 0.0 : f32
  tir.for %k in (5) {
    tir.block @Y (%vk: reduce<5> = %k) {
      tir.init {
        memref.store %zero, %Y[] : memref<f32>
      }
      %y = memref.load %Y[] : memref<f32>
      %x = memref.load %X[%vk] : memref<5xf32>
      %p = arith.mulf %x, %x : f32
      %s = arith.addf %y, %p : f32
      memref.store %s, %Y[] : memref<f32>
    }
  }
}

// Graph functions have no loops.
// CHECK-LABEL: @main
// CHECK: arith.mulf %x, %x : f32
// CHECK: arith.addf %p, %x : f32
func.func @main(%x: f32) -> f32 {
  %p = arith.mulf %x, %x : f32
  %s = arith.addf %p, %x : f32
  func.return %s : f32
}
