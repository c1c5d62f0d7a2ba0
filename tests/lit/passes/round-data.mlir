// RUN: relex-opt %s -p round-data | filecheck %s
// RUN: relex-opt %s -p round-data,multiply-blocks,delay-scales | filecheck %s --check-prefix=WORDS
// RUN: relex-opt %s -p round-data --check-each -o /dev/null
// RUN: relex-run %s --random --precision i8 --dump-pass-pipeline 2>&1 | filecheck %s --check-prefix=PIPELINE

// PIPELINE: set-target,round-data,multiply-blocks

// Data are rounded once for both weights, and multiplied in words, which have eight digits of 4 bits.
// CHECK-LABEL: func.func @main
// CHECK:         [[X:%.+]] = relex.round_blocks %x size = 32
// CHECK-NEXT:    relex.dense [[X]], {{%.+}} : (tensor<3x32xf32>, tensor<1x32xf32>)
// CHECK:         relex.dense [[X]], {{%.+}} : (tensor<3x32xf32>, tensor<2x32xf32>)
// CHECK-NOT:     relex.round_blocks
// WORDS:         [[S:%.+]] = relex.block_scales %x size = 32 : (tensor<3x32xf32>) -> tensor<3x1xf32>
// WORDS-NEXT:    [[D:%.+]] = relex.block_digits %x, [[S]]
// WORDS-NEXT:    [[W:%.+]] = relex.pack_bytes [[D]] axis = -1 : (tensor<3x32xi8>) -> tensor<3x8xi32>
// WORDS-NEXT:    relex.round_blocks %x size = 32
// WORDS-NEXT:    [[A:%.+]] = relex.constant dense<0> : tensor<1x2xui8>
// WORDS-NEXT:    [[C:%.+]] = relex.constant dense<0> : tensor<1x4xi32>
// WORDS-NEXT:    relex.dense_words [[W]], [[S]], [[A]], [[C]] layout = "Q4_0" least = -8
// WORDS:         relex.dense_words [[W]], [[S]], {{%.+}}, {{%.+}} layout = "Q8_0" least = -128
builtin.module attributes {relex.target = {triple = "x86_64-unknown-linux-gnu", cpu = "icelake-server", features = ""}} {
  func.func @main(%x: tensor<3x32xf32>) -> (tensor<3x1xf32>, tensor<3x2xf32>) {
    %w = relex.constant dense<0> : tensor<1x18xui8>
    %v = relex.constant dense<7> : tensor<2x34xui8>
    %0 = relex.dequantize_blocks %w layout = "Q4_0" : (tensor<1x18xui8>) -> tensor<1x32xf32>
    %1 = relex.dense %x, %0 : (tensor<3x32xf32>, tensor<1x32xf32>) -> tensor<3x1xf32>
    %2 = relex.dequantize_blocks %v layout = "Q8_0" : (tensor<2x34xui8>) -> tensor<2x32xf32>
    %3 = relex.dense %x, %2 : (tensor<3x32xf32>, tensor<2x32xf32>) -> tensor<3x2xf32>
    func.return %1, %3 : tensor<3x1xf32>, tensor<3x2xf32>
  }
}
