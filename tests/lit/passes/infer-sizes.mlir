// RUN: relex-opt %s -p infer-sizes --split-input-file --verify-diagnostics | filecheck %s

// Sizes that must be equal get one name.
// CHECK-LABEL: func.func @equal
// CHECK-SAME: (%x: tensor<?x4xf32> {relex.dims = ["x_d0", ""]}, %y: tensor<?x4xf32> {relex.dims = ["x_d0", ""]}) -> (tensor<?x4xf32> {relex.dims = ["x_d0", ""]}) {
func.func @equal(%x: tensor<?x4xf32>, %y: tensor<?x4xf32>) -> tensor<?x4xf32> {
  %z = relex.add %x, %y : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<?x4xf32>
  func.return %z : tensor<?x4xf32>
}

// Names that are given stay; a size may turn out to be a number, or a sum.
// CHECK-LABEL: func.func @given
// CHECK-SAME: %x: tensor<?x?xf32> {relex.dims = ["n", "3"]}
// CHECK-SAME: %y: tensor<?x3xf32> {relex.dims = ["y_d0", ""]}
// CHECK-SAME: %z: tensor<?x3xf32> {relex.dims = ["n + y_d0", ""]}
// CHECK-SAME: -> (tensor<?x3xf32> {relex.dims = ["n + y_d0", ""]})
func.func @given(%x: tensor<?x?xf32> {relex.dims = ["n", ""]}, %y: tensor<?x3xf32>, %z: tensor<?x3xf32>) -> tensor<?x3xf32> {
  %xy = relex.concat %x, %y : (tensor<?x?xf32>, tensor<?x3xf32>) -> tensor<?x3xf32>
  %s = relex.subtract %xy, %z : (tensor<?x3xf32>, tensor<?x3xf32>) -> tensor<?x3xf32>
  func.return %s : tensor<?x3xf32>
}

// What no name can say is required by itself.
// CHECK-LABEL: func.func @required
// CHECK-SAME: -> (tensor<?x?xf32> {relex.dims = ["x_d0", "x_d0"]}, tensor<?x2xf32> {relex.dims = ["x_d0 + x_d0 // 2", ""]}, tensor<3xf32>)
// CHECK-SAME: attributes {relex.requires = ["2 * (x_d0 // 2) == x_d0", "1 <= x_d0", "x_d0 * x_d0 <= 2305843009213693951"]}
func.func @required(%x: tensor<?x3xf32>) -> (tensor<?x?xf32>, tensor<?x2xf32>, tensor<3xf32>) {
  %t = relex.permute_dims %x : (tensor<?x3xf32>) -> tensor<3x?xf32>
  %xx = relex.matmul %x, %t : (tensor<?x3xf32>, tensor<3x?xf32>) -> tensor<?x?xf32>
  %r = relex.reshape %x shape = [-1, 2] : (tensor<?x3xf32>) -> tensor<?x2xf32>
  %m = relex.max %x axis = [0] : (tensor<?x3xf32>) -> tensor<3xf32>
  func.return %xx, %r, %m : tensor<?x?xf32>, tensor<?x2xf32>, tensor<3xf32>
}

// Requirements of a function become requirements of its callers. Shapes may be computed.
// CHECK-LABEL: func.func private @callee
// CHECK-SAME: (%a: tensor<?xf32> {relex.dims = ["a_d0"]}, %b: tensor<?xf32> {relex.dims = ["2 * a_d0"]}) -> (tensor<?xf32> {relex.dims = ["3 * a_d0"]})
func.func private @callee(%a: tensor<?xf32>, %b: tensor<?xf32>) -> tensor<?xf32> {
  %aa = relex.concat %a, %a : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
  %s = relex.add %b, %aa : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
  %r = relex.concat %s, %a : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
  func.return %r : tensor<?xf32>
}
// CHECK-LABEL: func.func @caller
// CHECK-SAME: (%p: tensor<?xf32> {relex.dims = ["p_d0"]}, %q: tensor<?xf32> {relex.dims = ["2 * p_d0"]}, %v: tensor<?xf32> {relex.dims = ["3 * p_d0"]}) -> (tensor<?xf32> {relex.dims = ["3 * p_d0"]})
func.func @caller(%p: tensor<?xf32>, %q: tensor<?xf32>, %v: tensor<?xf32>) -> tensor<?xf32> {
  %r = func.call @callee(%p, %q) : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
  %c0 = arith.constant 0 : index
  %c3 = arith.constant 3 : index
  %n = tensor.dim %p, %c0 : tensor<?xf32>
  %m = arith.muli %n, %c3 : index
  %w = relex.call_dps_packed "env.f"(%v) sizes(%m) : (tensor<?xf32>) -> tensor<?xf32>
  %s = relex.add %r, %w : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
  %t = relex.add %s, %v : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
  func.return %t : tensor<?xf32>
}

// A dynamic size that must be 1 does not broadcast: it equals the other size, as everywhere else.
// CHECK-LABEL: func.func @open_one
// CHECK-SAME: %u: tensor<?xf32> {relex.dims = ["1"]}, %y: tensor<?x?xf32> {relex.dims = ["y_d0", "1"]}) -> (tensor<2xf32>, tensor<?x?xf32> {relex.dims = ["y_d0", "1"]})
func.func @open_one(%x: tensor<2xf32>, %i: tensor<1xi64>, %u: tensor<?xf32>, %y: tensor<?x?xf32>) -> (tensor<2xf32>, tensor<?x?xf32>) {
  %s = relex.scatter_elements %x, %i, %u : (tensor<2xf32>, tensor<1xi64>, tensor<?xf32>) -> tensor<2xf32>
  %a = relex.add %u, %y : (tensor<?xf32>, tensor<?x?xf32>) -> tensor<?x?xf32>
  func.return %s, %a : tensor<2xf32>, tensor<?x?xf32>
}

// Static functions stay as they are.
// CHECK-LABEL: func.func @static
// CHECK-SAME: (%x: tensor<4xf32>) -> tensor<4xf32> {
func.func @static(%x: tensor<4xf32>) -> tensor<4xf32> {
  func.return %x : tensor<4xf32>
}

// -----

func.func @never(%x: tensor<?xf32>) -> tensor<?xf32> {
  %xx = relex.concat %x, %x : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
  %y = relex.pad %x pad_width = [0, 1] : (tensor<?xf32>) -> tensor<?xf32>
  %z = relex.pad %y pad_width = [0, 1] : (tensor<?xf32>) -> tensor<?xf32>
  // expected-error@+1 {{'relex.add' op expected shapes that broadcast, found ? and ?}}
  %s = relex.add %y, %z : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
  func.return %xx : tensor<?xf32>
}

// -----

func.func @open_one(%x: tensor<?xf32> {relex.dims = ["1"]}, %y: tensor<5xf32>) -> tensor<5xf32> {
  // expected-error@+1 {{'relex.add' op expected sizes with 5 == ?, found 5 and 1}}
  %s = relex.add %x, %y : (tensor<?xf32>, tensor<5xf32>) -> tensor<5xf32>
  func.return %s : tensor<5xf32>
}

// -----

// CHECK-LABEL: func.func @late
// CHECK-SAME: -> (tensor<?xf32> {relex.dims = ["x_d0"]})
func.func @late(%x: tensor<?xf32>, %i: tensor<1xi64>) -> tensor<?xf32> {
  // CHECK: %n = "test.op"
  // CHECK: [[HOLDS:%.+]] = arith.cmpi sle, %c0, %n : index
  // CHECK: func.call @relex_found_size
  // CHECK-NEXT: cf.assert [[HOLDS]], "'relex.alloc_tensor' expected 0 <= n"
  // CHECK: cf.assert {{.*}}, "'relex.alloc_tensor' expected n <= 144115188075855872"
  // CHECK: cf.assert {{.*}}, "'relex.add' expected n == x_d0"
  %n = "test.op"() : () -> index
  // CHECK-NEXT: %y = relex.alloc_tensor sizes(%n)
  %y = relex.alloc_tensor sizes(%n) : tensor<?xf32>
  %z = relex.add %x, %y : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
  func.return %y : tensor<?xf32>
}

// -----

// CHECK-LABEL: func.func @counted
func.func @counted(%x: tensor<?xf32>) -> tensor<?x1xi64> {
  // CHECK: relex.nonzero
  %y = relex.nonzero %x : (tensor<?xf32>) -> tensor<?x1xi64>
  // CHECK-NOT: = relex.match_sizes
  // CHECK: cf.assert {{.*}}, "'relex.match_sizes' expected y_rows == 4"
  %z = relex.match_sizes %y sizes = ["4", ""] : (tensor<?x1xi64>) -> tensor<4x1xi64>
  // CHECK: tensor.cast
  %w = tensor.cast %z : tensor<4x1xi64> to tensor<?x1xi64>
  func.return %w : tensor<?x1xi64>
}

// -----

// expected-error@+1 {{'func.func' op expected 'relex.dims' with 1 texts for tensor<?xf32>, found ["n", "m"]}}
func.func @rank(%x: tensor<?xf32> {relex.dims = ["n", "m"]}) {
  func.return
}

// -----

// expected-error@+1 {{'func.func' op cannot read 'relex.dims': expected a size made of names, numbers, + - * // % min max, found 'n / 2'}}
func.func @text(%x: tensor<?xf32> {relex.dims = ["n / 2"]}) {
  func.return
}

// -----

// expected-error@+1 {{'func.func' op expected an argument with a size that is 'n' alone, found none}}
func.func @unbound(%x: tensor<?xf32> {relex.dims = ["2 * n"]}) {
  func.return
}

// -----

// expected-error@+1 {{'func.func' op expected sizes with n == 4, found 3 and 4}}
func.func @twice(%x: tensor<3xf32> {relex.dims = ["n"]}, %y: tensor<4x?xf32> {relex.dims = ["n", ""]}) {
  func.return
}

// -----

// expected-error@+1 {{'func.func' op cannot read 'relex.requires': expected a comparison by '==' or '<=', found 'n < 3'}}
func.func @requires(%x: tensor<?xf32> {relex.dims = ["n"]}) attributes {relex.requires = ["n < 3"]} {
  func.return
}

// -----

// Loops without iterations access nothing, and require nothing. The init of a reduction over nothing runs.

// CHECK-LABEL: func.func @calls_nothing(
// CHECK-NOT: relex.requires
// CHECK-LABEL: func.func @calls_init(
// CHECK-SAME: relex.requires = ["1 <= x_d0"]
func.func @calls_nothing(%x: tensor<?xf32>) -> tensor<0x2xf32> {
  %y = relex.call_tir @nothing(%x) : (tensor<?xf32>) -> tensor<0x2xf32>
  func.return %y : tensor<0x2xf32>
}
func.func @calls_init(%x: tensor<?xf32>) -> tensor<2xf32> {
  %y = relex.call_tir @init(%x) : (tensor<?xf32>) -> tensor<2xf32>
  func.return %y : tensor<2xf32>
}
tir.prim_func private @nothing(%X: memref<?xf32>) outs(%Y: memref<0x2xf32>) {
  %c0 = arith.constant 0 : index
  tir.for %i, %j in (0, 2) {
    tir.block @Y (%vi: spatial<0> = %i, %vj: spatial<2> = %j) {
      %x = memref.load %X[%c0] : memref<?xf32>
      memref.store %x, %Y[%vi, %vj] : memref<0x2xf32>
    }
  }
}
tir.prim_func private @init(%X: memref<?xf32>) outs(%Y: memref<2xf32>) {
  %c0 = arith.constant 0 : index
  tir.for %i, %k in (2, 0) {
    tir.block @Y (%vi: spatial<2> = %i, %vk: reduce<0> = %k) {
      tir.init {
        %x = memref.load %X[%c0] : memref<?xf32>
        memref.store %x, %Y[%vi] : memref<2xf32>
      }
      %x = memref.load %X[%vk] : memref<?xf32>
      memref.store %x, %Y[%vi] : memref<2xf32>
    }
  }
}
