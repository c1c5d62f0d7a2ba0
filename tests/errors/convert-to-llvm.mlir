// What has no form in the LLVM dialect.
// ARGS: --convert-to-llvm

// expected-error@+1:1 {{'func.func' op expected types of the core level (integers, floats, index, vector, memref), found 'tensor<4xf32>'}}
func.func @f(%x: tensor<4xf32>) {
  %y = relex.relu %x : (tensor<4xf32>) -> tensor<4xf32>
  func.return
}

// -----

func.func @f(%i: index) {
// expected-error@+1:3 {{'scf.for' op expected ops of the core level, found 'scf.for', which has no form in the LLVM dialect; run convert-scf-to-cf first}}
  scf.for %j = %i to %i step %i {
  }
  func.return
}

// -----

// expected-error@+1:1 {{'tir.prim_func' op expected ops of the core level, found 'tir.prim_func', which has no form in the LLVM dialect; run convert-tir-to-scf first}}
tir.prim_func @f(%x: memref<4xf32>) {
}

// -----

func.func @f(%m: memref<4xf32, affine_map<(d0) -> (d0 * 2)>>, %i: index) {
// expected-error@+1:8 {{'memref.load' op expected a memref with strides, found memref<4xf32, affine_map<(d0) -> ((d0 * 2))>>}}
  %x = memref.load %m[%i] : memref<4xf32, affine_map<(d0) -> (d0 * 2)>>
  func.return
}

// -----

// expected-error@+1:1 {{'func.func' op expected vectors of one dimension and a fixed length, found vector<2x2xf32>}}
func.func @f(%x: vector<2x2xf32>) {
  %y = arith.addf %x, %x : vector<2x2xf32>
  func.return
}

// -----

func.func @f() {
// expected-error@+1:3 {{'test.op' op expected ops of the core level, found 'test.op', which has no form in the LLVM dialect}}
  "test.op"() : () -> ()
// expected-error@+1:3 {{'test.op' op expected ops of the core level, found 'test.op', which has no form in the LLVM dialect}}
  "test.op"() : () -> ()
  func.return
}

// -----

func.func @f(%x: vector<4xf32>, %m: memref<4xf32>, %i: index) {
// expected-error@+1:16 {{operand is used with type f32, but has been previously used or defined with type vector<4xf32>}}
  memref.store %x, %m[%i] : memref<4xf32>
  func.return
}

// -----

// expected-error@+1:1 {{'func.func' op expected types of the core level (integers, floats, index, vector, memref), found 'memref<*xf32>'}}
func.func @f(%m: memref<*xf32>) {
  func.return
}

// -----

// expected-error@+1:12 {{expected an operand, found the end of the text}}
memref.load

// -----

// expected-error@+1:1 {{'func.func' op expected types of the core level (integers, floats, index, vector, memref), found 'tensor<2xi1>'}}
func.func @f(%x: f80, %y: tensor<2xi1>) {
  func.return
}
