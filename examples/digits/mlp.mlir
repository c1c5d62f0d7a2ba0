// The two-layer perceptron on graph operators: one image at a time, and the whole test set as one batch.
// relex-run examples/digits/mlp.mlir --params examples/digits/weights.npz --input x.npy

func.func @main(%x: tensor<1x784xf32>, %w0: tensor<128x784xf32>, %b0: tensor<128xf32>,
                %w1: tensor<10x128xf32>, %b1: tensor<10xf32>) -> tensor<1x10xf32> {
  %scores = relex.dataflow -> tensor<1x10xf32> {
    %lv0 = relex.dense %x, %w0 : (tensor<1x784xf32>, tensor<128x784xf32>) -> tensor<1x128xf32>
    %lv1 = relex.add %lv0, %b0 : (tensor<1x128xf32>, tensor<128xf32>) -> tensor<1x128xf32>
    %lv2 = relex.relu %lv1 : (tensor<1x128xf32>) -> tensor<1x128xf32>
    %lv3 = relex.dense %lv2, %w1 : (tensor<1x128xf32>, tensor<10x128xf32>) -> tensor<1x10xf32>
    %gv = relex.add %lv3, %b1 : (tensor<1x10xf32>, tensor<10xf32>) -> tensor<1x10xf32>
    relex.output %gv : tensor<1x10xf32>
  }
  func.return %scores : tensor<1x10xf32>
}

func.func @batch(%x: tensor<360x784xf32>, %w0: tensor<128x784xf32>, %b0: tensor<128xf32>,
                 %w1: tensor<10x128xf32>, %b1: tensor<10xf32>) -> tensor<360x10xf32> {
  %scores = relex.dataflow -> tensor<360x10xf32> {
    %lv0 = relex.dense %x, %w0 : (tensor<360x784xf32>, tensor<128x784xf32>) -> tensor<360x128xf32>
    %lv1 = relex.add %lv0, %b0 : (tensor<360x128xf32>, tensor<128xf32>) -> tensor<360x128xf32>
    %lv2 = relex.relu %lv1 : (tensor<360x128xf32>) -> tensor<360x128xf32>
    %lv3 = relex.dense %lv2, %w1 : (tensor<360x128xf32>, tensor<10x128xf32>) -> tensor<360x10xf32>
    %gv = relex.add %lv3, %b1 : (tensor<360x10xf32>, tensor<10xf32>) -> tensor<360x10xf32>
    relex.output %gv : tensor<360x10xf32>
  }
  func.return %scores : tensor<360x10xf32>
}
