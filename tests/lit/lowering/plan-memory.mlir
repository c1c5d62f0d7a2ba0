// RUN: relex-opt %s -p plan-memory | filecheck %s
// RUN: env RELEX_OPT_FLAGS= relex-opt %s -p plan-memory | relex-opt | filecheck %s
// RUN: env RELEX_OPT_FLAGS= relex-opt %s -p plan-memory --print-op-generic | relex-opt | filecheck %s
// RUN: relex-opt %s -p plan-memory --check-each -o /dev/null 2>&1 | filecheck %s --check-prefix=SKIPPED
// SKIPPED-NOT: plan-memory':

func.func private @f(%x: memref<8xf32>, %y: memref<8xf32>) {
  "memref.copy"(%x, %y) : (memref<8xf32>, memref<8xf32>) -> ()
  func.return
}
func.func private @g(%x: memref<5000xf32>, %y: memref<5000xf32>) {
  "memref.copy"(%x, %y) : (memref<5000xf32>, memref<5000xf32>) -> ()
  func.return
}
func.func private @alias(%x: memref<8xf32>) -> memref<8xf32> {
  func.return %x : memref<8xf32>
}

tir.prim_func private @relu(%X: memref<8xf32>) outs(%Y: memref<8xf32>) attributes {tir.noalias, tir.op_pattern = "elementwise"} {
  %zero = arith.constant 0.0 : f32
  tir.for %i in (8) {
    tir.block @Y (%vi: spatial<8> = %i) {
      %x = memref.load %X[%vi] : memref<8xf32>
      %y = arith.maximumf %x, %zero : f32
      memref.store %y, %Y[%vi] : memref<8xf32>
    }
  }
}

// CHECK: tir.prim_func private @relu_in_place() outs(%Y: memref<8xf32>) attributes {tir.noalias} {
// CHECK:   tir.block @Y
// CHECK:     %x = memref.load %Y[%vi]
// CHECK:     memref.store %y, %Y[%vi]

tir.prim_func private @reverse(%X: memref<8xf32>) outs(%Y: memref<8xf32>) attributes {tir.noalias} {
  %c7 = arith.constant 7 : index
  tir.for %i in (8) {
    tir.block @Y (%vi: spatial<8> = %i) {
      %j = arith.subi %c7, %vi : index
      %x = memref.load %X[%j] : memref<8xf32>
      memref.store %x, %Y[%vi] : memref<8xf32>
    }
  }
}

tir.prim_func private @twice(%X: memref<8xf32>) outs(%Y: memref<8xf32>) attributes {tir.noalias} {
  tir.for %again, %i in (2, 8) {
    tir.block @Y (%vi: spatial<8> = %i) {
      %x = memref.load %X[%vi] : memref<8xf32>
      %y = arith.addf %x, %x : f32
      memref.store %y, %Y[%vi] : memref<8xf32>
    }
  }
}

// Of three buffers of 32 bytes two are in use at a time. They stand on multiples of 64, on the stack.
// CHECK-LABEL: func.func @chain
// CHECK-NEXT:    %c0 = arith.constant 0 : index
// CHECK-NEXT:    %c64 = arith.constant 64 : index
// CHECK-NEXT:    %arena = memref.alloca() {alignment = 64 : i64} : memref<96xi8>
// CHECK-NEXT:    %a = memref.view %arena[%c0][] : memref<96xi8> to memref<8xf32>
// CHECK-NEXT:    func.call @f(%x, %a)
// CHECK-NEXT:    %b = memref.view %arena[%c64][] : memref<96xi8> to memref<8xf32>
// CHECK-NEXT:    func.call @f(%a, %b)
// CHECK-NEXT:    %c = memref.view %arena[%c0][] : memref<96xi8> to memref<8xf32>
// CHECK-NEXT:    func.call @f(%b, %c)
// CHECK-NEXT:    func.call @f(%c, %out)
// CHECK-NEXT:    func.return
func.func @chain(%x: memref<8xf32>, %out: memref<8xf32>) {
  %a = memref.alloc() {alignment = 64 : i64} : memref<8xf32>
  func.call @f(%x, %a) : (memref<8xf32>, memref<8xf32>) -> ()
  %b = memref.alloc() {alignment = 64 : i64} : memref<8xf32>
  func.call @f(%a, %b) : (memref<8xf32>, memref<8xf32>) -> ()
  %c = memref.alloc() {alignment = 64 : i64} : memref<8xf32>
  func.call @f(%b, %c) : (memref<8xf32>, memref<8xf32>) -> ()
  func.call @f(%c, %out) : (memref<8xf32>, memref<8xf32>) -> ()
  memref.dealloc %a : memref<8xf32>
  memref.dealloc %b : memref<8xf32>
  memref.dealloc %c : memref<8xf32>
  func.return
}

// What is large comes from the heap; a single large buffer stays as it is.
// CHECK-LABEL: func.func @large
// CHECK:         %arena = memref.alloc() {alignment = 64 : i64} : memref<40032xi8>
// CHECK-NEXT:    %a = memref.view %arena[%c0]
// CHECK:         %b = memref.view %arena[%c20032]
// CHECK:         memref.dealloc %arena
// CHECK-NEXT:    func.return
func.func @large(%x: memref<5000xf32>, %out: memref<5000xf32>) {
  %a = memref.alloc() : memref<5000xf32>
  %b = memref.alloc() : memref<5000xf32>
  func.call @g(%x, %a) : (memref<5000xf32>, memref<5000xf32>) -> ()
  func.call @g(%a, %b) : (memref<5000xf32>, memref<5000xf32>) -> ()
  func.call @g(%b, %out) : (memref<5000xf32>, memref<5000xf32>) -> ()
  memref.dealloc %a : memref<5000xf32>
  memref.dealloc %b : memref<5000xf32>
  func.return
}

// CHECK-LABEL: func.func @single
// CHECK-NEXT:    memref.alloc() : memref<5000xf32>
func.func @single(%x: memref<5000xf32>, %out: memref<5000xf32>) {
  %a = memref.alloc() : memref<5000xf32>
  func.call @g(%x, %a) : (memref<5000xf32>, memref<5000xf32>) -> ()
  func.call @g(%a, %out) : (memref<5000xf32>, memref<5000xf32>) -> ()
  memref.dealloc %a : memref<5000xf32>
  func.return
}

// A cast, a view, and what a call, a condition or a loop returns may all be the buffer: %a is in use to the end.
// CHECK-LABEL: func.func @aliases
// CHECK-DAG:     %a = memref.view %arena[%c0]
// CHECK-DAG:     %b = memref.view %arena[%c64]
func.func @aliases(%x: memref<8xf32>, %out: memref<8xf32>, %condition: i1) {
  %c0 = arith.constant 0 : index
  %a = memref.alloc() : memref<8xf32>
  func.call @f(%x, %a) : (memref<8xf32>, memref<8xf32>) -> ()
  %same = func.call @alias(%a) : (memref<8xf32>) -> memref<8xf32>
  %chosen = "scf.if"(%condition) ({
    "scf.yield"(%same) : (memref<8xf32>) -> ()
  }, {
    "scf.yield"(%x) : (memref<8xf32>) -> ()
  }) : (i1) -> memref<8xf32>
  %any = "memref.cast"(%chosen) : (memref<8xf32>) -> memref<?xf32>
  %b = memref.alloc() : memref<8xf32>
  func.call @f(%x, %b) : (memref<8xf32>, memref<8xf32>) -> ()
  func.call @f(%b, %out) : (memref<8xf32>, memref<8xf32>) -> ()
  %element = memref.load %any[%c0] : memref<?xf32>
  memref.store %element, %out[%c0] : memref<8xf32>
  memref.dealloc %a : memref<8xf32>
  memref.dealloc %b : memref<8xf32>
  func.return
}

// What is written in a loop and read in its next round is in use during the whole loop.
// CHECK-LABEL: func.func @loop
// CHECK-DAG:     %a = memref.view %arena[%[[A:.+]]][]
// CHECK-DAG:     %b = memref.view %arena[%[[B:.+]]][]
// CHECK:         scf.for
func.func @loop(%x: memref<8xf32>, %out: memref<8xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %a = memref.alloc() : memref<8xf32>
  %b = memref.alloc() : memref<8xf32>
  scf.for %i = %c0 to %c8 step %c1 {
    func.call @f(%x, %a) : (memref<8xf32>, memref<8xf32>) -> ()
    func.call @f(%a, %b) : (memref<8xf32>, memref<8xf32>) -> ()
    // What a trip allocates has the same place in all of them.
    // CHECK: %inner = memref.view %arena
    %inner = memref.alloc() : memref<8xf32>
    func.call @f(%b, %inner) : (memref<8xf32>, memref<8xf32>) -> ()
    memref.dealloc %inner : memref<8xf32>
  }
  func.call @f(%b, %out) : (memref<8xf32>, memref<8xf32>) -> ()
  memref.dealloc %b : memref<8xf32>
  memref.dealloc %a : memref<8xf32>
  func.return
}

// A buffer that is returned, never freed, freed under a condition, or whose address is taken, stays.
// CHECK-LABEL: func.func @escaping
// CHECK-NOT:     memref.view
// CHECK:         func.return
func.func @escaping(%x: memref<8xf32>, %condition: i1) -> (memref<8xf32>, index) {
  %returned = memref.alloc() : memref<8xf32>
  %never = memref.alloc() : memref<8xf32>
  %sometimes = memref.alloc() : memref<8xf32>
  %address = memref.alloc() : memref<8xf32>
  func.call @f(%returned, %never) : (memref<8xf32>, memref<8xf32>) -> ()
  scf.if %condition {
    memref.dealloc %sometimes : memref<8xf32>
  }
  %p = "memref.extract_aligned_pointer_as_index"(%address) : (memref<8xf32>) -> index
  memref.dealloc %address : memref<8xf32>
  func.return %returned, %p : memref<8xf32>, index
}

// The last reader of %a and %b takes each element where it writes it; the last reader of %c does not, nor do the
// readers of %d and %e.
// CHECK-LABEL: func.func @in_place
// CHECK:         func.call @f(%x, %a)
// CHECK-NEXT:    tir.call @relu_in_place(%a)
// CHECK-NEXT:    tir.call @relu_in_place(%a)
// CHECK-NEXT:    %d = memref.view
// CHECK-NEXT:    tir.call @reverse(%a, %d)
// CHECK-NEXT:    %e = memref.view
// CHECK-NEXT:    tir.call @twice(%d, %e)
// CHECK-NEXT:    %g = memref.view
// CHECK-NEXT:    tir.call @relu(%e, %g)
// CHECK-NEXT:    func.call @f(%e, %g)
func.func @in_place(%x: memref<8xf32>, %out: memref<8xf32>) {
  %a = memref.alloc() : memref<8xf32>
  func.call @f(%x, %a) : (memref<8xf32>, memref<8xf32>) -> ()
  %b = memref.alloc() : memref<8xf32>
  tir.call @relu(%a, %b) : memref<8xf32>, memref<8xf32>
  %c = memref.alloc() : memref<8xf32>
  tir.call @relu(%b, %c) : memref<8xf32>, memref<8xf32>
  %d = memref.alloc() : memref<8xf32>
  tir.call @reverse(%c, %d) : memref<8xf32>, memref<8xf32>
  %e = memref.alloc() : memref<8xf32>
  tir.call @twice(%d, %e) : memref<8xf32>, memref<8xf32>
  %g = memref.alloc() : memref<8xf32>
  tir.call @relu(%e, %g) : memref<8xf32>, memref<8xf32>
  func.call @f(%e, %g) : (memref<8xf32>, memref<8xf32>) -> ()
  func.call @f(%g, %out) : (memref<8xf32>, memref<8xf32>) -> ()
  memref.dealloc %a : memref<8xf32>
  memref.dealloc %b : memref<8xf32>
  memref.dealloc %c : memref<8xf32>
  memref.dealloc %d : memref<8xf32>
  memref.dealloc %e : memref<8xf32>
  memref.dealloc %g : memref<8xf32>
  func.return
}

// Sizes of the run: %c is as large as %a, and takes its place; %m lies behind both.
// CHECK-LABEL: func.func @sizes
// CHECK-NEXT:    %c0 = arith.constant 0 : index
// CHECK-NEXT:    %n = memref.dim %x, %c0
// CHECK-NEXT:    %c64 = arith.constant 64 : index
// CHECK-NEXT:    %[[BEHIND:.+]] = arith.muli %n, %c64
// CHECK-NEXT:    %c128 = arith.constant 128 : index
// CHECK-NEXT:    %[[ALL:.+]] = arith.muli %n, %c128
// CHECK-NEXT:    %arena = memref.alloc(%[[ALL]]) {alignment = 64 : i64} : memref<?xi8>
// CHECK:         %a = memref.view %arena[%c0][%d] : memref<?xi8> to memref<?x16xf32>
// CHECK:         %b = memref.view %arena[%[[BEHIND]]][%d]
// CHECK:         %c = memref.view %arena[%c0][%e]
// CHECK:         memref.dealloc %arena
func.func @sizes(%x: memref<?x16xf32> {relex.dims = ["n", ""]}, %out: memref<?x16xf32> {relex.dims = ["n", ""]}) {
  %zero = arith.constant 0 : index
  %d = memref.dim %x, %zero : memref<?x16xf32>
  %a = memref.alloc(%d) : memref<?x16xf32>
  "memref.copy"(%x, %a) : (memref<?x16xf32>, memref<?x16xf32>) -> ()
  %e = memref.dim %out, %zero : memref<?x16xf32>
  %b = memref.alloc(%d) : memref<?x16xf32>
  "memref.copy"(%a, %b) : (memref<?x16xf32>, memref<?x16xf32>) -> ()
  %c = memref.alloc(%e) : memref<?x16xf32>
  "memref.copy"(%b, %c) : (memref<?x16xf32>, memref<?x16xf32>) -> ()
  "memref.copy"(%c, %out) : (memref<?x16xf32>, memref<?x16xf32>) -> ()
  memref.dealloc %a : memref<?x16xf32>
  memref.dealloc %b : memref<?x16xf32>
  memref.dealloc %c : memref<?x16xf32>
  func.return
}

// A size that follows from no argument.
// CHECK-LABEL: func.func @unknown
// CHECK-NOT:     memref.view
func.func @unknown(%sizes: memref<1xindex>, %n: index, %x: memref<8xf32>) {
  %zero = arith.constant 0 : index
  %d = memref.load %sizes[%zero] : memref<1xindex>
  %a = memref.alloc(%d) : memref<?x16xf32>
  %b = memref.alloc(%n) : memref<?x16xf32>
  %element = memref.load %x[%zero] : memref<8xf32>
  memref.store %element, %a[%zero, %zero] : memref<?x16xf32>
  memref.store %element, %b[%zero, %zero] : memref<?x16xf32>
  memref.dealloc %a : memref<?x16xf32>
  memref.dealloc %b : memref<?x16xf32>
  func.return
}

// Buffers of the first block that others use, too.
// CHECK-LABEL: func.func @blocks
// CHECK-NEXT:    %c0 = arith.constant 0 : index
// CHECK-NEXT:    %arena = memref.alloca() {alignment = 64 : i64} : memref<32xi8>
// CHECK-NEXT:    %a = memref.alloc()
// CHECK-NEXT:    %b = memref.view %arena[%c0]
func.func @blocks(%x: memref<8xf32>, %out: memref<8xf32>) {
  %a = memref.alloc() : memref<8xf32>
  %b = memref.alloc() : memref<8xf32>
  func.call @f(%x, %b) : (memref<8xf32>, memref<8xf32>) -> ()
  func.call @f(%b, %a) : (memref<8xf32>, memref<8xf32>) -> ()
  memref.dealloc %b : memref<8xf32>
  cf.br ^end
^end:
  func.call @f(%a, %out) : (memref<8xf32>, memref<8xf32>) -> ()
  memref.dealloc %a : memref<8xf32>
  func.return
}

// What a loop carries from iteration to iteration is the buffer that it began with, or another one.
// CHECK-LABEL: func.func @handed_on
// CHECK:         memref<224xi8>
func.func @handed_on(%x: memref<8xf32>, %out: memref<8xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %a = memref.alloc() : memref<8xf32>
  %b = memref.alloc() : memref<8xf32>
  %c = memref.alloc() : memref<8xf32>
  %d = memref.alloc() : memref<8xf32>
  func.call @f(%x, %a) : (memref<8xf32>, memref<8xf32>) -> ()
  func.call @f(%x, %b) : (memref<8xf32>, memref<8xf32>) -> ()
  %last, %other = scf.for %i = %c0 to %c3 step %c1 iter_args(%p = %a, %q = %b) -> (memref<8xf32>, memref<8xf32>) {
    scf.yield %q, %p : memref<8xf32>, memref<8xf32>
  }
  func.call @f(%x, %c) : (memref<8xf32>, memref<8xf32>) -> ()
  func.call @f(%c, %d) : (memref<8xf32>, memref<8xf32>) -> ()
  func.call @f(%d, %out) : (memref<8xf32>, memref<8xf32>) -> ()
  func.call @f(%last, %out) : (memref<8xf32>, memref<8xf32>) -> ()
  memref.dealloc %a : memref<8xf32>
  memref.dealloc %b : memref<8xf32>
  memref.dealloc %c : memref<8xf32>
  memref.dealloc %d : memref<8xf32>
  func.return
}

// Not in place: an element read by all, a sum, an element read by a later loop, one that is read after it is written, and
// an input that is two arguments. What the later loop writes may be in place: the loop before has read all it needs.
tir.prim_func private @first(%X: memref<8xf32>) outs(%Y: memref<8xf32>) attributes {tir.noalias} {
  %c0 = arith.constant 0 : index
  tir.for %i in (8) {
    tir.block @Y (%vi: spatial<8> = %i) {
      %x = memref.load %X[%vi] : memref<8xf32>
      %z = memref.load %X[%c0] : memref<8xf32>
      %y = arith.addf %x, %z : f32
      memref.store %y, %Y[%vi] : memref<8xf32>
    }
  }
}
tir.prim_func private @sum(%X: memref<8xf32>) outs(%Y: memref<8xf32>) attributes {tir.noalias} {
  tir.for %i, %k in (8, 2) {
    tir.block @Y (%vi: spatial<8> = %i, %vk: reduce<2> = %k) {
      %x = memref.load %X[%vi] : memref<8xf32>
      %z = memref.load %Y[%vi] : memref<8xf32>
      %y = arith.addf %x, %z : f32
      memref.store %y, %Y[%vi] : memref<8xf32>
    }
  }
}
tir.prim_func private @later(%X: memref<8xf32>) outs(%Y: memref<8xf32>, %Z: memref<8xf32>) attributes {tir.noalias} {
  tir.for %i in (8) {
    tir.block @Y (%vi: spatial<8> = %i) {
      %x = memref.load %X[%vi] : memref<8xf32>
      memref.store %x, %Y[%vi] : memref<8xf32>
    }
  }
  tir.for %j in (8) {
    tir.block @Z (%vj: spatial<8> = %j) {
      %x = memref.load %X[%vj] : memref<8xf32>
      memref.store %x, %Z[%vj] : memref<8xf32>
    }
  }
}
tir.prim_func private @add(%X: memref<8xf32>, %W: memref<8xf32>) outs(%Y: memref<8xf32>) {
  tir.for %i in (8) {
    tir.block @Y (%vi: spatial<8> = %i) {
      %x = memref.load %X[%vi] : memref<8xf32>
      %w = memref.load %W[%vi] : memref<8xf32>
      %y = arith.addf %x, %w : f32
      memref.store %y, %Y[%vi] : memref<8xf32>
    }
  }
}

// CHECK-LABEL: func.func @not_in_place
// CHECK:         tir.call @first(%a, %b)
// CHECK:         tir.call @sum(%b, %c)
// CHECK:         tir.call @later_in_place(%d, %c)
// CHECK:         tir.call @add(%c, %c, %g)
// CHECK:         tir.call @add_in_place(%d, %g)
func.func @not_in_place(%x: memref<8xf32>, %out: memref<8xf32>) {
  %a = memref.alloc() : memref<8xf32>
  func.call @f(%x, %a) : (memref<8xf32>, memref<8xf32>) -> ()
  %b = memref.alloc() : memref<8xf32>
  tir.call @first(%a, %b) : memref<8xf32>, memref<8xf32>
  %c = memref.alloc() : memref<8xf32>
  func.call @f(%x, %c) : (memref<8xf32>, memref<8xf32>) -> ()
  tir.call @sum(%b, %c) : memref<8xf32>, memref<8xf32>
  %d = memref.alloc() : memref<8xf32>
  %e = memref.alloc() : memref<8xf32>
  tir.call @later(%c, %d, %e) : memref<8xf32>, memref<8xf32>, memref<8xf32>
  %g = memref.alloc() : memref<8xf32>
  tir.call @add(%e, %e, %g) : memref<8xf32>, memref<8xf32>, memref<8xf32>
  %h = memref.alloc() : memref<8xf32>
  tir.call @add(%g, %d, %h) : memref<8xf32>, memref<8xf32>, memref<8xf32>
  func.call @f(%d, %out) : (memref<8xf32>, memref<8xf32>) -> ()
  func.call @f(%h, %out) : (memref<8xf32>, memref<8xf32>) -> ()
  memref.dealloc %a : memref<8xf32>
  memref.dealloc %b : memref<8xf32>
  memref.dealloc %c : memref<8xf32>
  memref.dealloc %d : memref<8xf32>
  memref.dealloc %e : memref<8xf32>
  memref.dealloc %g : memref<8xf32>
  memref.dealloc %h : memref<8xf32>
  func.return
}

// A trip that reads a view of what it replaces, and a loop that carries what a trip has read, keep both places.
tir.prim_func private @both(%X: memref<8xf32>, %V: memref<2x4xf32>) outs(%Y: memref<8xf32>) attributes {tir.noalias} {
  %c7 = arith.constant 7 : index
  %c4 = arith.constant 4 : index
  tir.for %i in (8) {
    tir.block @Y (%vi: spatial<8> = %i) {
      %x = memref.load %X[%vi] : memref<8xf32>
      %r = arith.subi %c7, %vi : index
      %a = arith.divui %r, %c4 : index
      %b = arith.remui %r, %c4 : index
      %z = memref.load %V[%a, %b] : memref<2x4xf32>
      %y = arith.addf %x, %z : f32
      memref.store %y, %Y[%vi] : memref<8xf32>
    }
  }
}

// CHECK-LABEL: func.func @view_in_loop
// CHECK:         scf.for %i = {{.*}} iter_args(%s = %a, %t = %b)
// CHECK:           tir.call @both(%s, %v, %t)
func.func @view_in_loop(%x: memref<8xf32>, %n: index, %out: memref<8xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %a = memref.alloc() {alignment = 64 : i64} : memref<8xf32>
  memref.copy %x, %a : memref<8xf32> to memref<8xf32>
  %b = memref.alloc() {alignment = 64 : i64} : memref<8xf32>
  %r:2 = scf.for %i = %c0 to %n step %c1 iter_args(%s = %a, %t = %b) -> (memref<8xf32>, memref<8xf32>) {
    %v = memref.expand_shape %s [[0, 1]] output_shape [2, 4] : memref<8xf32> into memref<2x4xf32>
    tir.call @both(%s, %v, %t) : memref<8xf32>, memref<2x4xf32>, memref<8xf32>
    scf.yield %t, %s : memref<8xf32>, memref<8xf32>
  }
  memref.copy %r#0, %out : memref<8xf32> to memref<8xf32>
  memref.dealloc %a : memref<8xf32>
  memref.dealloc %b : memref<8xf32>
  func.return
}

// CHECK-LABEL: func.func @carried_twice
// CHECK:         scf.for %i = {{.*}} iter_args(%s = %a, %t = %b, %old = %a)
// CHECK:           tir.call @relu(%s, %t)
func.func @carried_twice(%x: memref<8xf32>, %n: index, %out: memref<8xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %a = memref.alloc() {alignment = 64 : i64} : memref<8xf32>
  memref.copy %x, %a : memref<8xf32> to memref<8xf32>
  %b = memref.alloc() {alignment = 64 : i64} : memref<8xf32>
  %r:3 = scf.for %i = %c0 to %n step %c1 iter_args(%s = %a, %t = %b, %old = %a) -> (memref<8xf32>, memref<8xf32>, memref<8xf32>) {
    tir.call @relu(%s, %t) : memref<8xf32>, memref<8xf32>
    scf.yield %t, %s, %s : memref<8xf32>, memref<8xf32>, memref<8xf32>
  }
  memref.copy %r#2, %out : memref<8xf32> to memref<8xf32>
  memref.dealloc %a : memref<8xf32>
  memref.dealloc %b : memref<8xf32>
  func.return
}

// @put copies its input, and changes an element: in place, it only changes that.
// CHECK: tir.prim_func private @put_in_place(%at: memref<1xi64>) outs(%Y: memref<8xf32>) attributes {tir.noalias} {
// CHECK-NEXT: %c0 = arith.constant 0 : index
// CHECK-NEXT: tir.block @put () {
// CHECK-NOT: tir.for
// CHECK: func.func @overwritten
tir.prim_func private @put(%X: memref<8xf32>, %at: memref<1xi64>) outs(%Y: memref<8xf32>) attributes {tir.noalias} {
  %c0 = arith.constant 0 : index
  tir.for %i in (8) {
    tir.block @copy (%vi: spatial<8> = %i) {
      %x = memref.load %X[%vi] : memref<8xf32>
      memref.store %x, %Y[%vi] : memref<8xf32>
    }
  }
  tir.block @put () {
    %place = memref.load %at[%c0] : memref<1xi64>
    %i = arith.index_cast %place : i64 to index
    %old = memref.load %Y[%i] : memref<8xf32>
    %new = arith.addf %old, %old : f32
    memref.store %new, %Y[%i] : memref<8xf32>
  }
}

// An argument that is overwritten at the end is free from its last reader on: for what is made of it, and for %n, which
// is made when it is not read any more. The last call reads %x, so %m needs memory.
// CHECK-SAME: (%x: memref<8xf32> {relex.inout}, %y: memref<8xf32> {relex.inout}, %z: memref<8xf32> {relex.inout}, %at: memref<1xi64>)
// CHECK:      tir.call @put_in_place(%at, %x)
// CHECK-NEXT: tir.call @relu_in_place(%x)
// CHECK-NEXT: func.call @f(%x, %y)
// CHECK-NEXT: %m = memref.view
// CHECK-NEXT: tir.call @reverse(%z, %m)
// CHECK-NEXT: "memref.copy"(%m, %z)
// CHECK-NEXT: func.return
func.func @overwritten(%x: memref<8xf32> {relex.inout}, %y: memref<8xf32> {relex.inout}, %z: memref<8xf32> {relex.inout}, %at: memref<1xi64>) {
  %a = memref.alloc() : memref<8xf32>
  tir.call @put(%x, %at, %a) : memref<8xf32>, memref<1xi64>, memref<8xf32>
  %b = memref.alloc() : memref<8xf32>
  tir.call @relu(%a, %b) : memref<8xf32>, memref<8xf32>
  %n = memref.alloc() : memref<8xf32>
  func.call @f(%b, %n) : (memref<8xf32>, memref<8xf32>) -> ()
  %m = memref.alloc() : memref<8xf32>
  tir.call @reverse(%z, %m) : memref<8xf32>, memref<8xf32>
  memref.copy %b, %x : memref<8xf32> to memref<8xf32>
  memref.copy %n, %y : memref<8xf32> to memref<8xf32>
  memref.copy %m, %z : memref<8xf32> to memref<8xf32>
  memref.dealloc %a : memref<8xf32>
  memref.dealloc %b : memref<8xf32>
  memref.dealloc %n : memref<8xf32>
  memref.dealloc %m : memref<8xf32>
  func.return
}

// %a is read after %x is overwritten, so it is elsewhere.
// CHECK-LABEL: func.func @overwritten_before
// CHECK:      tir.call @relu(%x, %a)
// CHECK-NEXT: tir.call @reverse(%a, %x)
// CHECK-NEXT: "memref.copy"(%a, %out)
func.func @overwritten_before(%x: memref<8xf32> {relex.inout}, %out: memref<8xf32>) {
  %a = memref.alloc() : memref<8xf32>
  tir.call @relu(%x, %a) : memref<8xf32>, memref<8xf32>
  %b = memref.alloc() : memref<8xf32>
  tir.call @reverse(%a, %b) : memref<8xf32>, memref<8xf32>
  memref.copy %b, %x : memref<8xf32> to memref<8xf32>
  memref.copy %a, %out : memref<8xf32> to memref<8xf32>
  memref.dealloc %a : memref<8xf32>
  memref.dealloc %b : memref<8xf32>
  func.return
}
