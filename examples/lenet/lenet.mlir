// A small LeNet on graph operators: one image of 8x8 pixels at a time, and the whole test set as one batch.
// relex-run examples/lenet/lenet.mlir --params examples/lenet/weights.npz --input x.npy

func.func @main(%x: tensor<1x1x8x8xf32>, %k0: tensor<8x1x3x3xf32>, %b0: tensor<8x1x1xf32>,
                %k1: tensor<16x8x3x3xf32>, %b1: tensor<16x1x1xf32>, %w2: tensor<64x256xf32>, %b2: tensor<64xf32>,
                %w3: tensor<10x64xf32>, %b3: tensor<10xf32>) -> tensor<1x10xf32> {
  %scores = relex.dataflow -> tensor<1x10xf32> {
    %conv0 = relex.conv2d %x, %k0 padding = [1, 1] : (tensor<1x1x8x8xf32>, tensor<8x1x3x3xf32>) -> tensor<1x8x8x8xf32>
    %biased0 = relex.add %conv0, %b0 : (tensor<1x8x8x8xf32>, tensor<8x1x1xf32>) -> tensor<1x8x8x8xf32>
    %relu0 = relex.relu %biased0 : (tensor<1x8x8x8xf32>) -> tensor<1x8x8x8xf32>
    %pool0 = relex.max_pool2d %relu0 pool_size = [2, 2] strides = [2, 2] : (tensor<1x8x8x8xf32>) -> tensor<1x8x4x4xf32>
    %conv1 = relex.conv2d %pool0, %k1 padding = [1, 1] : (tensor<1x8x4x4xf32>, tensor<16x8x3x3xf32>) -> tensor<1x16x4x4xf32>
    %biased1 = relex.add %conv1, %b1 : (tensor<1x16x4x4xf32>, tensor<16x1x1xf32>) -> tensor<1x16x4x4xf32>
    %relu1 = relex.relu %biased1 : (tensor<1x16x4x4xf32>) -> tensor<1x16x4x4xf32>
    %flat = relex.reshape %relu1 shape = [1, 256] : (tensor<1x16x4x4xf32>) -> tensor<1x256xf32>
    %lv2 = relex.dense %flat, %w2 : (tensor<1x256xf32>, tensor<64x256xf32>) -> tensor<1x64xf32>
    %biased2 = relex.add %lv2, %b2 : (tensor<1x64xf32>, tensor<64xf32>) -> tensor<1x64xf32>
    %relu2 = relex.relu %biased2 : (tensor<1x64xf32>) -> tensor<1x64xf32>
    %lv3 = relex.dense %relu2, %w3 : (tensor<1x64xf32>, tensor<10x64xf32>) -> tensor<1x10xf32>
    %gv = relex.add %lv3, %b3 : (tensor<1x10xf32>, tensor<10xf32>) -> tensor<1x10xf32>
    relex.output %gv : tensor<1x10xf32>
  }
  func.return %scores : tensor<1x10xf32>
}

func.func @batch(%x: tensor<360x1x8x8xf32>, %k0: tensor<8x1x3x3xf32>, %b0: tensor<8x1x1xf32>,
                 %k1: tensor<16x8x3x3xf32>, %b1: tensor<16x1x1xf32>, %w2: tensor<64x256xf32>, %b2: tensor<64xf32>,
                 %w3: tensor<10x64xf32>, %b3: tensor<10xf32>) -> tensor<360x10xf32> {
  %scores = relex.dataflow -> tensor<360x10xf32> {
    %conv0 = relex.conv2d %x, %k0 padding = [1, 1] : (tensor<360x1x8x8xf32>, tensor<8x1x3x3xf32>) -> tensor<360x8x8x8xf32>
    %biased0 = relex.add %conv0, %b0 : (tensor<360x8x8x8xf32>, tensor<8x1x1xf32>) -> tensor<360x8x8x8xf32>
    %relu0 = relex.relu %biased0 : (tensor<360x8x8x8xf32>) -> tensor<360x8x8x8xf32>
    %pool0 = relex.max_pool2d %relu0 pool_size = [2, 2] strides = [2, 2] : (tensor<360x8x8x8xf32>) -> tensor<360x8x4x4xf32>
    %conv1 = relex.conv2d %pool0, %k1 padding = [1, 1] : (tensor<360x8x4x4xf32>, tensor<16x8x3x3xf32>) -> tensor<360x16x4x4xf32>
    %biased1 = relex.add %conv1, %b1 : (tensor<360x16x4x4xf32>, tensor<16x1x1xf32>) -> tensor<360x16x4x4xf32>
    %relu1 = relex.relu %biased1 : (tensor<360x16x4x4xf32>) -> tensor<360x16x4x4xf32>
    %flat = relex.reshape %relu1 shape = [360, 256] : (tensor<360x16x4x4xf32>) -> tensor<360x256xf32>
    %lv2 = relex.dense %flat, %w2 : (tensor<360x256xf32>, tensor<64x256xf32>) -> tensor<360x64xf32>
    %biased2 = relex.add %lv2, %b2 : (tensor<360x64xf32>, tensor<64xf32>) -> tensor<360x64xf32>
    %relu2 = relex.relu %biased2 : (tensor<360x64xf32>) -> tensor<360x64xf32>
    %lv3 = relex.dense %relu2, %w3 : (tensor<360x64xf32>, tensor<10x64xf32>) -> tensor<360x10xf32>
    %gv = relex.add %lv3, %b3 : (tensor<360x10xf32>, tensor<10xf32>) -> tensor<360x10xf32>
    relex.output %gv : tensor<360x10xf32>
  }
  func.return %scores : tensor<360x10xf32>
}
