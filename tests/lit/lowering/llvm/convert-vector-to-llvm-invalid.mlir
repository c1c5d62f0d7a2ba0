// RUN: not relex-opt %s -p convert-vector-to-llvm --split-input-file 2>&1 | filecheck %s

func.func @two_dimensions(%s: f32) {
  // CHECK: :5:8: error: 'vector.broadcast' op expected vectors of one dimension and a fixed length, found vector<2x4xf32>
  %0 = vector.broadcast %s : f32 to vector<2x4xf32>
  func.return
}

// -----

func.func @no_dimension(%s: f32) {
  // CHECK: :13:8: error: 'vector.broadcast' op expected vectors of one dimension and a fixed length, found vector<f32>
  %0 = vector.broadcast %s : f32 to vector<f32>
  func.return
}

// -----

func.func @transposed(%x: memref<?x?xf32>, %i: index, %p: f32) {
  // CHECK: :21:8: error: 'vector.transfer_read' op expected a transfer along the last dimension, found the permutation (d0, d1) -> (d0)
  %0 = vector.transfer_read %x[%i, %i], %p {permutation_map = affine_map<(d0, d1) -> (d0)>}
    : memref<?x?xf32>, vector<4xf32>
  func.return
}

// -----

func.func @gaps(%x: memref<?xf32, strided<[2]>>, %i: index) {
  // CHECK: :30:8: error: 'vector.load' op expected contiguous elements in the last dimension, found memref<?xf32, strided<[2]>>
  %0 = vector.load %x[%i] : memref<?xf32, strided<[2]>>, vector<4xf32>
  func.return
}

// -----

func.func @bits(%x: memref<?xi4>, %i: index) {
  // CHECK: :38:8: error: 'vector.load' op expected elements that fill whole bytes in a vector as in memory, found i4
  %0 = vector.load %x[%i] : memref<?xi4>, vector<4xi4>
  func.return
}

// -----

func.func @kind(%v: vector<4xf32>) {
  // CHECK: :46:8: error: 'vector.reduction' op expected a kind of reduction that f32 has, found 'xor'
  %0 = vector.reduction <xor>, %v : vector<4xf32> into f32
  func.return
}
