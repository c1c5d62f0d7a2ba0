// RUN: relex-opt %s --split-input-file --verify-diagnostics -p convert-to-llvm

func.func @rank(%x: memref<8x16xf32>, %i: index) {
  // expected-error@+1 {{expected 2 indices, one for each dimension, found 1}}
  memref.prefetch %x[%i], read, locality<2>, data : memref<8x16xf32>
  func.return
}

// -----

func.func @locality(%x: memref<8xf32>, %i: index) {
  // expected-error@+1 {{expected a locality of 0 to 3, found 4}}
  memref.prefetch %x[%i], read, locality<4>, data : memref<8xf32>
  func.return
}

// -----

func.func @kind(%x: memref<8xf32>, %i: index) {
  // expected-error@+1 {{expected read or write}}
  memref.prefetch %x[%i], both, locality<3>, data : memref<8xf32>
  func.return
}

// -----

func.func @instructions(%x: memref<8xf32>, %i: index) {
  // expected-error@+1 {{expected to prefetch data, found instructions}}
  memref.prefetch %x[%i], read, locality<3>, instr : memref<8xf32>
  func.return
}
