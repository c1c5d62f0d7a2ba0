// What the default compilation cannot lower.
// ARGS: -p relex-pipeline{to=llvm}

// expected-error@+1:1 {{'func.func' op expected a function of one block, found 2}}
func.func @main(%c: i1, %x: tensor<4xf32>) -> tensor<4xf32> {
  cf.cond_br %c, ^bb1, ^bb1
^bb1:
  func.return %x : tensor<4xf32>
}

// -----

func.func @main() {
// expected-error@+1:3 {{'test.op' op expected ops of the core level, found 'test.op', which has no form in the LLVM dialect}}
  "test.op"() : () -> ()
  func.return
}

// -----

func.func @main() -> tensor<4xf32> {
// expected-error@+1:8 {{'tensor.empty' op cannot be lowered to buffers; expected ops of the relex dialect on tensors}}
  %y = tensor.empty() : tensor<4xf32>
  func.return %y : tensor<4xf32>
}

// -----

// expected-error@+1:1 {{'func.func' op expected types of the core level (integers, floats, index, vector, memref), found 'complex<f32>'}}
func.func @main(%x: complex<f32>) {
  func.return
}

// -----

// expected-error@+1:1 {{'func.func' op expected elements of f16 or bf16 or f32 or f64 or i1 or i8 or i16 or i32 or i64 or ui8 or ui16 or ui32 or ui64 or f8E4M3FN or f8E4M3FNUZ or f8E5M2 or f8E5M2FNUZ or i2 or i4 or ui2 or ui4 in a public function, found tensor<4xf80>}}
func.func @main(%x: tensor<4xf80>) -> tensor<4xf80> {
  func.return %x : tensor<4xf80>
}

// -----

// expected-error@+1:1 {{'func.func' op expected elements of f16 or bf16 or f32 or f64 or i1 or i8 or i16 or i32 or i64 or ui8 or ui16 or ui32 or ui64 or f8E4M3FN or f8E4M3FNUZ or f8E5M2 or f8E5M2FNUZ or i2 or i4 or ui2 or ui4 in a public function, found tensor<4xf128>}}
func.func @main(%x: tensor<4xf128>) -> tensor<4xf128> {
  func.return %x : tensor<4xf128>
}
