// RUN: relex-opt %s --split-input-file -p fold-constants | filecheck %s
// RUN: relex-opt %s --split-input-file -p fold-constants{growth=3} | filecheck %s --check-prefix=GROWTH
// RUN: relex-opt %s --split-input-file -p fold-constants{work=12} | filecheck %s --check-prefix=WORK
// RUN: not relex-opt %s -p fold-constants{work=long} 2>&1 | filecheck %s --check-prefix=WRONG
// WRONG: relex-opt: error: pass 'fold-constants': expected int for option 'work', found long

// The addition reads 4 elements as each of its operands, and writes 4. The second operator would
// read and write 8 more.
// WORK-LABEL: func.func @work
// WORK-NEXT: %b = relex.constant dense<{{\[}}[2.0, 4.0], [6.0, 8.0]]>
// WORK-NEXT: relex.permute_dims %b
func.func @work() -> tensor<2x2xf32> {
  %a = relex.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>
  %b = relex.add %a, %a : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  %t = relex.permute_dims %b : (tensor<2x2xf32>) -> tensor<2x2xf32>
  func.return %t : tensor<2x2xf32>
}

// -----

// Something else needs the weight as well. There may be twice as many bytes as before: one copy of it, whatever comes in
// between, but not a second one.
// CHECK-LABEL: func.func @other_users
// CHECK-NOT: relex.{{permute_dims|reshape}}
// CHECK: relex.constant {{.*}} : tensor<600x500xf32>
// CHECK-NOT: relex.{{permute_dims|reshape}}
// CHECK: relex.negative
// GROWTH-LABEL: func.func @other_users
// GROWTH-NOT: relex.{{permute_dims|reshape|negative}}
// GROWTH: relex.output
func.func @other_users() -> (tensor<600x500xf32>, tensor<300x1000xf32>, tensor<300x1000xf32>) {
  %w = relex.constant dense<1.0> : tensor<300x1000xf32>
  %0, %1, %2 = relex.dataflow -> tensor<600x500xf32>, tensor<300x1000xf32>, tensor<300x1000xf32> {
    %t = relex.permute_dims %w : (tensor<300x1000xf32>) -> tensor<1000x300xf32>
    %r = relex.reshape %t shape = [600, 500] : (tensor<1000x300xf32>) -> tensor<600x500xf32>
    %n = relex.negative %w : (tensor<300x1000xf32>) -> tensor<300x1000xf32>
    relex.output %r, %n, %w : tensor<600x500xf32>, tensor<300x1000xf32>, tensor<300x1000xf32>
  }
  func.return %0, %1, %2 : tensor<600x500xf32>, tensor<300x1000xf32>, tensor<300x1000xf32>
}

// -----

// With the last of its users the weight goes, too.
// CHECK-LABEL: func.func @last_user
// CHECK-NOT: relex.{{permute_dims|negative}}
// CHECK: func.return
func.func @last_user() -> (tensor<1000x300xf32>, tensor<300x1000xf32>) {
  %w = relex.constant dense<1.0> : tensor<300x1000xf32>
  %t = relex.permute_dims %w : (tensor<300x1000xf32>) -> tensor<1000x300xf32>
  %n = relex.negative %w : (tensor<300x1000xf32>) -> tensor<300x1000xf32>
  func.return %t, %n : tensor<1000x300xf32>, tensor<300x1000xf32>
}

// -----

// A gigabyte of a few zeros stays few zeros.
// CHECK-LABEL: func.func @gigabyte
// CHECK: relex.broadcast_to
func.func @gigabyte() -> tensor<16384x16384xf32> {
  %z = relex.constant dense<0.0> : tensor<f32>
  %0 = relex.broadcast_to %z shape = [16384, 16384] : (tensor<f32>) -> tensor<16384x16384xf32>
  func.return %0 : tensor<16384x16384xf32>
}

// -----

// Weights that are computed from small constants are folded, whatever their size; what is computed from larger ones, such
// as unpacked bytes, is not, nor what no product takes.
// CHECK-LABEL: func.func @computed_weights
// CHECK: [[W:%.+]] = relex.constant dense<-3.0> : tensor<256x256xf32>
// CHECK: relex.dense %x, [[W]]
// CHECK: relex.astype {{.*}} -> tensor<256x256xf32>
// CHECK: relex.add {{.*}} -> tensor<256x256xf32>
func.func @computed_weights(%x: tensor<1x256xf32>) -> (tensor<1x256xf32>, tensor<1x256xf32>, tensor<256x256xf32>) {
  %a = relex.constant dense<1.0> : tensor<256x1xf32>
  %b = relex.constant dense<2.0> : tensor<256xf32>
  %sum = relex.add %a, %b : (tensor<256x1xf32>, tensor<256xf32>) -> tensor<256x256xf32>
  %w = relex.negative %sum : (tensor<256x256xf32>) -> tensor<256x256xf32>
  %0 = relex.dense %x, %w : (tensor<1x256xf32>, tensor<256x256xf32>) -> tensor<1x256xf32>
  %bytes = relex.constant dense<3> : tensor<256x256xi8>
  %v = relex.astype %bytes dtype = f32 : (tensor<256x256xi8>) -> tensor<256x256xf32>
  %1 = relex.dense %x, %v : (tensor<1x256xf32>, tensor<256x256xf32>) -> tensor<1x256xf32>
  %c = relex.constant dense<0.5> : tensor<256x1xf32>
  %2 = relex.add %c, %b : (tensor<256x1xf32>, tensor<256xf32>) -> tensor<256x256xf32>
  func.return %0, %1, %2 : tensor<1x256xf32>, tensor<1x256xf32>, tensor<256x256xf32>
}
