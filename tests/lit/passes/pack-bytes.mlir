// RUN: relex-opt %s -p "set-target{triple=x86_64-unknown-linux-gnu cpu=icelake-server},pack-bytes" | filecheck %s
// RUN: relex-opt %s -p "set-target{triple=x86_64-unknown-linux-gnu cpu=icelake-server},pack-bytes,pack-bytes" | filecheck %s
// RUN: relex-opt %s -p "set-target{triple=x86_64-unknown-linux-gnu cpu=icelake-server},pack-bytes" --check-each -o /dev/null
// RUN: relex-opt %s -p "set-target{triple=riscv64-unknown-linux-gnu},pack-bytes" | filecheck %s --check-prefix=NONE
// RUN: relex-opt %s -p pack-bytes | filecheck %s --check-prefix=NONE

// RUN: relex-opt %s -p "set-target{triple=x86_64-unknown-linux-gnu cpu=sapphirerapids},pack-bytes" | filecheck %s --check-prefix=TILES
// RUN: relex-opt %s -p "set-target{triple=x86_64-unknown-linux-gnu cpu=sapphirerapids},pack-bytes" --check-each -o /dev/null
// RUN: relex-opt %s -p "set-target{triple=x86_64-unknown-linux-gnu cpu=sapphirerapids},pack-bytes{strict=true}" | filecheck %s --check-prefix=STRICT

// RUN: relex-opt %s -p "set-target{triple=x86_64-unknown-linux-gnu cpu=haswell},pack-bytes" | filecheck %s --check-prefix=SHORTS
// RUN: relex-opt %s -p "set-target{triple=x86_64-unknown-linux-gnu cpu=haswell},pack-bytes" --check-each -o /dev/null

// NONE-NOT: pack
// STRICT-NOT: relex.matmul_pairs

// A zero point is subtracted after the sum, times the sums of the columns, which are known here.
// Two integers of 16 bits in a word need no such terms.
// SHORTS-LABEL: func.func @weights
// SHORTS-NEXT:    [[N:%.+]] = relex.astype %x dtype = i16 : (tensor<?x64xui8>) -> tensor<?x64xi16>
// SHORTS-NEXT:    [[Z:%.+]] = relex.constant dense<5> : tensor<i16>
// SHORTS-NEXT:    [[D:%.+]] = relex.subtract [[N]], [[Z]]
// SHORTS-NEXT:    [[X:%.+]] = relex.pack_bytes [[D]] axis = -1 : (tensor<?x64xi16>) -> tensor<?x32xi32>
// SHORTS-NEXT:    [[W:%.+]] = relex.constant dense<196611> : tensor<32x32xi32>
// SHORTS-NEXT:    [[P:%.+]] = relex.matmul_shorts [[X]], [[W]] : (tensor<?x32xi32>, tensor<32x32xi32>) -> tensor<?x32xi32>
// SHORTS-NEXT:    func.return [[P]]
// CHECK-LABEL: func.func @weights
// CHECK-NEXT:    [[X:%.+]] = relex.pack_bytes %x axis = -1 : (tensor<?x64xui8>) -> tensor<?x16xi32>
// CHECK-NEXT:    [[W:%.+]] = relex.constant dense<50529027> : tensor<16x32xi32>
// CHECK-NEXT:    [[P:%.+]] = relex.matmul_packed [[X]], [[W]] : (tensor<?x16xi32>, tensor<16x32xi32>) -> tensor<?x32xi32>
// CHECK-NEXT:    [[S:%.+]] = relex.constant dense<960> : tensor<1x32xi32>
// CHECK-NEXT:    [[Y:%.+]] = relex.subtract [[P]], [[S]]
// CHECK-NEXT:    func.return [[Y]]
func.func @weights(%x: tensor<?x64xui8>) -> tensor<?x32xi32> {
  %w = relex.constant dense<3> : tensor<64x32xi8>
  %zero = relex.constant dense<5> : tensor<i32>
  %0 = relex.astype %x dtype = i32 : (tensor<?x64xui8>) -> tensor<?x64xi32>
  %1 = relex.subtract %0, %zero : (tensor<?x64xi32>, tensor<i32>) -> tensor<?x64xi32>
  %2 = relex.astype %w dtype = i32 : (tensor<64x32xi8>) -> tensor<64x32xi32>
  %3 = relex.matmul %1, %2 : (tensor<?x64xi32>, tensor<64x32xi32>) -> tensor<?x32xi32>
  func.return %3 : tensor<?x32xi32>
}

// Signs are changed by 128: of the left words, and of the right bytes before zeros fill the last word.
// CHECK-LABEL: func.func @signs
// CHECK:         [[X:%.+]] = relex.pack_bytes %x axis = -1 : (tensor<8x30xi8>) -> tensor<8x8xi32>
// CHECK-NEXT:    [[H:%.+]] = relex.constant dense<-2139062144> : tensor<i32>
// CHECK-NEXT:    [[U:%.+]] = relex.bitwise_xor [[X]], [[H]]
// CHECK-NEXT:    [[B:%.+]] = relex.constant dense<128> : tensor<ui8>
// CHECK-NEXT:    [[V:%.+]] = relex.bitwise_xor %w, [[B]]
// CHECK-NEXT:    [[W:%.+]] = relex.pack_bytes [[V]] axis = -2 : (tensor<30x16xui8>) -> tensor<8x16xi32>
// CHECK-NEXT:    relex.matmul_packed [[U]], [[W]]
func.func @signs(%x: tensor<8x30xi8>, %w: tensor<30x16xui8>) -> tensor<8x16xi32> {
  %0 = relex.astype %x dtype = i32 : (tensor<8x30xi8>) -> tensor<8x30xi32>
  %1 = relex.astype %w dtype = i32 : (tensor<30x16xui8>) -> tensor<30x16xi32>
  %2 = relex.matmul %0, %1 : (tensor<8x30xi32>, tensor<30x16xi32>) -> tensor<8x16xi32>
  func.return %2 : tensor<8x16xi32>
}

// Padding is the zero point of the data, here 2, in each byte.
// CHECK-LABEL: func.func @convolution
// CHECK:         relex.pad {{.*}} pad_width = [0, 0, 0, 0, 1, 1, 1, 1] pad_value = 33686018 : i32
// CHECK:         relex.conv2d_packed {{.*}} padding = [0] : (tensor<1x1x10x10xi32>, tensor<4x1x3x3xi32>) -> tensor<1x4x8x8xi32>
func.func @convolution(%x: tensor<1x3x8x8xui8>, %w: tensor<4x3x3x3xi8>) -> tensor<1x4x8x8xi32> {
  %zero = relex.constant dense<2> : tensor<i32>
  %0 = relex.astype %x dtype = i32 : (tensor<1x3x8x8xui8>) -> tensor<1x3x8x8xi32>
  %1 = relex.subtract %0, %zero : (tensor<1x3x8x8xi32>, tensor<i32>) -> tensor<1x3x8x8xi32>
  %2 = relex.astype %w dtype = i32 : (tensor<4x3x3x3xi8>) -> tensor<4x3x3x3xi32>
  %3 = relex.conv2d %1, %2 padding = [1] : (tensor<1x3x8x8xi32>, tensor<4x3x3x3xi32>) -> tensor<1x4x8x8xi32>
  func.return %3 : tensor<1x4x8x8xi32>
}

// Zeros fill tiles of words of bytes, too, but not words that no tile takes.
// TILES-LABEL: func.func @rows_of_bytes
// TILES:         relex.matmul_packed {{.*}} : (tensor<4x80xi32>, tensor<80x64xi32>) -> tensor<4x64xi32>
func.func @rows_of_bytes(%x: tensor<4x300xui8>, %w: tensor<300x64xi8>) -> tensor<4x64xi32> {
  %0 = relex.astype %x dtype = i32 : (tensor<4x300xui8>) -> tensor<4x300xi32>
  %1 = relex.astype %w dtype = i32 : (tensor<300x64xi8>) -> tensor<300x64xi32>
  %2 = relex.matmul %0, %1 : (tensor<4x300xi32>, tensor<300x64xi32>) -> tensor<4x64xi32>
  func.return %2 : tensor<4x64xi32>
}

// TILES-LABEL: func.func @few_rows_of_bytes
// TILES:         relex.matmul_packed {{.*}} : (tensor<3x75xi32>, tensor<75x64xi32>) -> tensor<3x64xi32>
func.func @few_rows_of_bytes(%x: tensor<3x300xui8>, %w: tensor<300x64xi8>) -> tensor<3x64xi32> {
  %0 = relex.astype %x dtype = i32 : (tensor<3x300xui8>) -> tensor<3x300xi32>
  %1 = relex.astype %w dtype = i32 : (tensor<300x64xi8>) -> tensor<300x64xi32>
  %2 = relex.matmul %0, %1 : (tensor<3x300xi32>, tensor<300x64xi32>) -> tensor<3x64xi32>
  func.return %2 : tensor<3x64xi32>
}

// Nothing is known about the terms, or the zero point differs between them.
// CHECK-LABEL: func.func @stays
// CHECK-NOT:     pack
func.func @stays(%x: tensor<64x?xui8>, %w: tensor<?x64xi8>, %z: tensor<64xi32>, %y: tensor<64x64xui8>)
    -> (tensor<64x64xi32>, tensor<64x64xi32>) {
  %0 = relex.astype %x dtype = i32 : (tensor<64x?xui8>) -> tensor<64x?xi32>
  %1 = relex.astype %w dtype = i32 : (tensor<?x64xi8>) -> tensor<?x64xi32>
  %2 = relex.matmul %0, %1 : (tensor<64x?xi32>, tensor<?x64xi32>) -> tensor<64x64xi32>
  %3 = relex.astype %y dtype = i32 : (tensor<64x64xui8>) -> tensor<64x64xi32>
  %4 = relex.subtract %3, %z : (tensor<64x64xi32>, tensor<64xi32>) -> tensor<64x64xi32>
  %5 = relex.matmul %4, %3 : (tensor<64x64xi32>, tensor<64x64xi32>) -> tensor<64x64xi32>
  func.return %2, %5 : tensor<64x64xi32>, tensor<64x64xi32>
}

// Pairs of bf16, converted to f32 or not, and zeros that fill tiles.
// CHECK-LABEL: func.func @pairs
// CHECK-NOT:     relex.pack
// TILES-LABEL: func.func @pairs
// TILES-NEXT:    [[W:%.+]] = relex.pack_bytes %w axis = -1 : (tensor<64x300xbf16>) -> tensor<64x150xi32>
// TILES-NEXT:    [[B:%.+]] = relex.permute_dims [[W]] : (tensor<64x150xi32>) -> tensor<150x64xi32>
// TILES-NEXT:    [[A:%.+]] = relex.pack_bytes %x axis = -1 : (tensor<?x300xbf16>) -> tensor<?x150xi32>
// TILES-NEXT:    [[C:%.+]] = relex.pad [[A]] pad_width = [0, 0, 0, 10] pad_value = 0 : i32
// TILES-NEXT:    [[D:%.+]] = relex.pad [[B]] pad_width = [0, 10, 0, 0] pad_value = 0 : i32
// TILES-NEXT:    [[P:%.+]] = relex.matmul_pairs [[C]], [[D]] : (tensor<?x160xi32>, tensor<160x64xi32>) -> tensor<?x64xf32>
// TILES:         [[Q:%.+]] = relex.matmul_pairs
// TILES-NEXT:    [[R:%.+]] = relex.astype [[Q]] dtype = bf16
// TILES-NEXT:    func.return [[P]], [[R]]
func.func @pairs(%x: tensor<?x300xbf16>, %w: tensor<64x300xbf16>) -> (tensor<?x64xf32>, tensor<?x64xbf16>) {
  %0 = relex.astype %x dtype = f32 : (tensor<?x300xbf16>) -> tensor<?x300xf32>
  %1 = relex.astype %w dtype = f32 : (tensor<64x300xbf16>) -> tensor<64x300xf32>
  %2 = relex.dense %0, %1 : (tensor<?x300xf32>, tensor<64x300xf32>) -> tensor<?x64xf32>
  %3 = relex.dense %x, %w : (tensor<?x300xbf16>, tensor<64x300xbf16>) -> tensor<?x64xbf16>
  func.return %2, %3 : tensor<?x64xf32>, tensor<?x64xbf16>
}

// Few rows take as long as the weight takes to come from memory.
// TILES-LABEL: func.func @few_rows
// TILES-NOT:     relex.matmul_pairs
func.func @few_rows(%x: tensor<3x256xbf16>, %w: tensor<64x256xbf16>) -> tensor<3x64xbf16> {
  %0 = relex.dense %x, %w : (tensor<3x256xbf16>, tensor<64x256xbf16>) -> tensor<3x64xbf16>
  func.return %0 : tensor<3x64xbf16>
}

// Convolutions of pairs of bf16, whose weight is a constant of numbers that bf16 has. Channels on their own stay.
// CHECK-LABEL: func.func @images
// CHECK-NOT:     relex.pack
// TILES-LABEL: func.func @images
// TILES:         [[A:%.+]] = relex.pad %x pad_width = [0, 0, 0, 0, 1, 1, 1, 1, 0, 0]
// TILES-NEXT:    [[B:%.+]] = relex.pack_bytes [[A]] axis = 4 : (tensor<1x2x10x10x32xbf16>) -> tensor<1x2x10x10x16xi32>
// TILES:         [[C:%.+]] = relex.conv2d_blocked_pairs [[B]], {{%.+}} padding = [0]
// TILES-SAME:      (tensor<1x2x10x10x16xi32>, tensor<2x2x3x3x16x32xi32>) -> tensor<1x2x8x8x32xf32>
// TILES:         [[D:%.+]] = relex.conv2d_blocked {{.+}} depthwise
// TILES:         [[E:%.+]] = relex.conv2d_blocked {{%.+}}, {{%.+}} : (tensor<1x2x8x8x32xf32>, tensor<1x2x1x1x32x32xf32>)
// TILES:         func.return [[C]], [[D]], [[E]]
func.func @images(%x: tensor<1x2x8x8x32xbf16>)
    -> (tensor<1x2x8x8x32xf32>, tensor<1x2x6x6x32xf32>, tensor<1x1x8x8x32xf32>) {
  %w = relex.constant dense<0.5> : tensor<2x2x3x3x32x32xf32>
  %v = relex.constant dense<0.5> : tensor<2x1x3x3x1x32xf32>
  %u = relex.constant dense<0.1> : tensor<1x2x1x1x32x32xf32>
  %0 = relex.astype %x dtype = f32 : (tensor<1x2x8x8x32xbf16>) -> tensor<1x2x8x8x32xf32>
  %1 = relex.conv2d_blocked %0, %w padding = [1] : (tensor<1x2x8x8x32xf32>, tensor<2x2x3x3x32x32xf32>) -> tensor<1x2x8x8x32xf32>
  %2 = relex.conv2d_blocked %0, %v depthwise : (tensor<1x2x8x8x32xf32>, tensor<2x1x3x3x1x32xf32>) -> tensor<1x2x6x6x32xf32>
  %3 = relex.conv2d_blocked %0, %u : (tensor<1x2x8x8x32xf32>, tensor<1x2x1x1x32x32xf32>) -> tensor<1x1x8x8x32xf32>
  func.return %1, %2, %3 : tensor<1x2x8x8x32xf32>, tensor<1x2x6x6x32xf32>, tensor<1x1x8x8x32xf32>
}

// The channels of a place become words side by side, and a row of a window a row of words.
// TILES-LABEL: func.func @pixels
// TILES:         [[A:%.+]] = relex.permute_dims %x axes = [0, 2, 3, 1]
// TILES-NEXT:    [[B:%.+]] = relex.pad [[A]] pad_width = [0, 0, 3, 3, 3, 3, 0, 1] {{.+}} -> tensor<1x38x38x4xbf16>
// TILES-NEXT:    [[C:%.+]] = relex.pack_bytes [[B]] axis = 3 : (tensor<1x38x38x4xbf16>) -> tensor<1x38x38x2xi32>
// TILES-NEXT:    [[D:%.+]] = relex.reshape [[C]] shape = [1, 1, 38, 76]
// TILES:         relex.conv2d_blocked_pairs [[D]], {{%.+}} strides = [2, 4] padding = [0]
// TILES-SAME:      (tensor<1x1x38x76xi32>, tensor<1x1x7x14x1x32xi32>) -> tensor<1x1x16x16x32xf32>
func.func @pixels(%x: tensor<1x3x32x32xbf16>) -> tensor<1x1x16x16x32xf32> {
  %w = relex.constant dense<0.5> : tensor<1x3x7x7x1x32xf32>
  %0 = relex.astype %x dtype = f32 : (tensor<1x3x32x32xbf16>) -> tensor<1x3x32x32xf32>
  %1 = relex.conv2d_blocked %0, %w strides = [2, 2] padding = [3] : (tensor<1x3x32x32xf32>, tensor<1x3x7x7x1x32xf32>) -> tensor<1x1x16x16x32xf32>
  func.return %1 : tensor<1x1x16x16x32xf32>
}
