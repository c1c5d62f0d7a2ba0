// RUN: not relex-opt %s --split-input-file -p lower-call-tir 2>&1 | filecheck %s

func.func @operator(%x: tensor<8xf32>) -> tensor<8xf32> {
  // CHECK: :5:8: error: 'relex.relu' op cannot be lowered to buffers; run 'legalize-ops' before 'lower-call-tir'
  %y = relex.relu %x : (tensor<8xf32>) -> tensor<8xf32>
  func.return %y : tensor<8xf32>
}

// -----

// CHECK: :12:1: error: 'func.func' op expected 'relex.dims' to say the sizes of a result of tensor<?xf32>
func.func private @declared(%x: tensor<8xf32>) -> tensor<?xf32>
func.func @dynamic(%x: tensor<8xf32>) -> tensor<?xf32> {
  %y = func.call @declared(%x) : (tensor<8xf32>) -> tensor<?xf32>
  func.return %y : tensor<?xf32>
}

// -----

// CHECK: :21:1: error: 'func.func' op expected a function of one block, found 2
func.func @branch(%x: tensor<8xf32>) -> tensor<8xf32> {
  cf.br ^bb1
^bb1:
  func.return %x : tensor<8xf32>
}

// -----

func.func @arith(%x: tensor<8xf32>) -> tensor<8xf32> {
  // CHECK: :31:8: error: 'arith.addf' op cannot be lowered to buffers; expected ops of the relex dialect on tensors
  %y = arith.addf %x, %x : tensor<8xf32>
  func.return %y : tensor<8xf32>
}

// -----

// CHECK: :38:1: error: 'func.func' op expected to end, found that @a calls @b calls @a
func.func @a(%x: tensor<8xf32>) -> tensor<8xf32> {
  %y = func.call @b(%x) : (tensor<8xf32>) -> tensor<8xf32>
  func.return %y : tensor<8xf32>
}

func.func @b(%x: tensor<8xf32>) -> tensor<8xf32> {
  %y = func.call @a(%x) : (tensor<8xf32>) -> tensor<8xf32>
  func.return %y : tensor<8xf32>
}
