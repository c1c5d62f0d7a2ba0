// RUN: not relex-opt %s -p finalize-memref-to-llvm --split-input-file 2>&1 | filecheck %s

func.func @unranked(%x: memref<*xf32>) {
  // CHECK: :5:8: error: 'memref.cast' op expected a ranked memref, found memref<*xf32>
  %0 = "memref.cast"(%x) : (memref<*xf32>) -> memref<4xf32>
  func.return
}

// -----

func.func @subview(%x: memref<8x16xf32>) {
  // CHECK: :13:8: error: 'memref.subview' op expected a result type with the sizes and strides of the view, found memref<2x4xf32>
  %0 = memref.subview %x[0, 0][2, 4][1, 1] : memref<8x16xf32> to memref<2x4xf32>
  func.return
}

// -----

func.func @offset(%x: memref<8x16xf32>) {
  // CHECK: :21:8: error: 'memref.subview' op expected a result type with the sizes, strides and offset of the view
  %0 = memref.subview %x[1, 0][2, 4][1, 1] : memref<8x16xf32> to memref<2x4xf32, strided<[16, 1]>>
  func.return
}

// -----

func.func @collapse(%x: memref<8x16xf32, strided<[32, 1]>>) {
  // CHECK: :29:8: error: 'memref.collapse_shape' op expected dimensions [0, 1] without gaps between them, found memref<8x16xf32, strided<[32, 1]>>
  %0 = memref.collapse_shape %x [[0, 1]] : memref<8x16xf32, strided<[32, 1]>> into memref<128xf32, strided<[1]>>
  func.return
}
