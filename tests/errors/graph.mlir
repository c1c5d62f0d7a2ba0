// Graphs and loop functions that do not verify. All rules: tests/lit/dialects/*/invalid.mlir.
// ARGS:

func.func @f(%x: tensor<4xf32>, %y: tensor<5xf32>) {
// expected-error@+1:8 {{'relex.add' op expected shapes that broadcast, found 4 and 5}}
  %z = relex.add %x, %y : (tensor<4xf32>, tensor<5xf32>) -> tensor<4xf32>
  func.return
}

// -----

func.func @f(%x: tensor<2x4xf32>, %w: tensor<3x5xf32>) {
// expected-error@+1:8 {{'relex.dense' op expected equal last sizes of data and weight, found 4 and 5}}
  %z = relex.dense %x, %w : (tensor<2x4xf32>, tensor<3x5xf32>) -> tensor<2x3xf32>
  func.return
}

// -----

func.func @f(%x: tensor<4xf32>) -> tensor<5xf32> {
// expected-error@+1:8 {{'relex.relu' op expected result type tensor<4xf32>, found tensor<5xf32>}}
  %z = relex.relu %x : (tensor<4xf32>) -> tensor<5xf32>
  func.return %z : tensor<5xf32>
}

// -----

func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
// expected-error@+1:8 {{'relex.call_tir' op expected a 'tir.prim_func' named @g, found no such symbol}}
  %z = relex.call_tir @g(%x) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %z : tensor<4xf32>
}

// -----

func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
// expected-error@+1:8 {{'relex.call_tir' op expected argument 0 to fit memref<5xf32> of @g, found tensor<4xf32>}}
  %z = relex.call_tir @g(%x) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %z : tensor<4xf32>
}
tir.prim_func @g(%x: memref<5xf32>) outs(%y: memref<4xf32>) {}

// -----

func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  %out = relex.dataflow -> tensor<4xf32> {
// expected-error@+1:5 {{'func.call' op expected to be pure inside 'relex.dataflow', but it may have any side effect}}
    func.call @g() : () -> ()
    relex.output %x : tensor<4xf32>
  }
  func.return %out : tensor<4xf32>
}
func.func private @g()

// -----

func.func @f(%x: memref<4xf32>) {
// expected-error@+1:8 {{'relex.relu' op memref<4xf32> should be of base attribute tensor}}
  %z = relex.relu %x : (memref<4xf32>) -> memref<4xf32>
  func.return
}

// -----

// expected-error@+1:26 {{shape mismatch in dense literal: expected [3] shape from the type, but got [2] shape}}
%0 = relex.constant dense<[1.0, 2.0]> : tensor<3xf32>

// -----

tir.prim_func @f(%x: memref<4xf32>) outs(%y: memref<4xf32>) {
  tir.for %i in (4) {
// expected-error@+1:5 {{'tir.block' op expected %vi: spatial<8> to be bound to 0..7, found 0..3}}
    tir.block @b (%vi: spatial<8> = %i) {
    }
  }
}

// -----

// expected-error@+1:37 {{expected region, found '->'}}
tir.prim_func @f(%x: memref<4xf32>) -> f32 {
}

// -----

// expected-error@+1:26 {{shape mismatch in dense literal: expected 2 elements from the type, but got 1 elements}}
%0 = relex.constant dense<"0x0000803F00"> : tensor<2xf32>

// -----

func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
// expected-error@+1:8 {{'relex.dataflow' op expected 'relex.output' at the end of the block}}
  %y = relex.dataflow -> tensor<4xf32> {
// expected-error@+1:10 {{'relex.relu' op operation relex.relu terminates block in single-block region but is not a terminator}}
    %z = relex.relu %x : (tensor<4xf32>) -> tensor<4xf32>
  }
  func.return %y : tensor<4xf32>
}

// -----

// expected-error@+1:1 {{'relex.output' op 'relex.output' expects parent op 'relex.dataflow'}}
relex.output

// -----

tir.prim_func @f(%x: memref<4xf32>) outs(%y: memref<4xf32>) {
  tir.for %i in (4) {
    tir.block @b (%vi: spatial<4> = %i) {
    }
// expected-error@+1:5 {{'tir.block' op expected a block name that is unique in its function, found @b again}}
    tir.block @b (%vi: spatial<4> = %i) {
    }
  }
}
