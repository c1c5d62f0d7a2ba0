// RUN: relex-opt %s -p canonicalize | filecheck %s
// RUN: relex-opt %s -p canonicalize,canonicalize | filecheck %s

// CHECK-LABEL: func.func @permutations(
func.func @permutations(%x: tensor<2x3x?xf32>) -> (tensor<2x3x?xf32>, tensor<2x3x?xf32>, tensor<2x?x3xf32>) {
  // CHECK-NEXT: %e = relex.permute_dims %x axes = [0, 2, 1] : (tensor<2x3x?xf32>) -> tensor<2x?x3xf32>
  // CHECK-NEXT: func.return %x, %x, %e
  %a = relex.permute_dims %x axes = [0, 1, -1] : (tensor<2x3x?xf32>) -> tensor<2x3x?xf32>
  %b = relex.permute_dims %x : (tensor<2x3x?xf32>) -> tensor<?x3x2xf32>
  %c = relex.permute_dims %b : (tensor<?x3x2xf32>) -> tensor<2x3x?xf32>
  %d = relex.permute_dims %x axes = [2, 0, 1] : (tensor<2x3x?xf32>) -> tensor<?x2x3xf32>
  %e = relex.permute_dims %d axes = [1, 0, 2] : (tensor<?x2x3xf32>) -> tensor<2x?x3xf32>
  func.return %a, %c, %e : tensor<2x3x?xf32>, tensor<2x3x?xf32>, tensor<2x?x3xf32>
}

// CHECK-LABEL: func.func @shapes(
func.func @shapes(%x: tensor<2x6xf32>) -> (tensor<2x6xf32>, tensor<2x6xf32>, tensor<2x6xf32>, tensor<3x4xf32>, tensor<1x2x6x1xf32>) {
  // CHECK-NEXT: %f = relex.reshape %x shape = [3, 4]
  // CHECK-NEXT: %h = relex.reshape %x shape = [1, 2, 6, 1]
  // CHECK-NEXT: func.return %x, %x, %x, %f, %h
  %a = relex.reshape %x shape = [2, -1] : (tensor<2x6xf32>) -> tensor<2x6xf32>
  %b = relex.expand_dims %x axis = [-1] : (tensor<2x6xf32>) -> tensor<2x6x1xf32>
  %c = relex.squeeze %b : (tensor<2x6x1xf32>) -> tensor<2x6xf32>
  %d = relex.squeeze %x : (tensor<2x6xf32>) -> tensor<2x6xf32>
  %e = relex.reshape %x shape = [12] : (tensor<2x6xf32>) -> tensor<12xf32>
  %f = relex.reshape %e shape = [3, -1] : (tensor<12xf32>) -> tensor<3x4xf32>
  %g = relex.expand_dims %x axis = [0] : (tensor<2x6xf32>) -> tensor<1x2x6xf32>
  %h = relex.expand_dims %g axis = [3] : (tensor<1x2x6xf32>) -> tensor<1x2x6x1xf32>
  func.return %a, %c, %d, %f, %h : tensor<2x6xf32>, tensor<2x6xf32>, tensor<2x6xf32>, tensor<3x4xf32>, tensor<1x2x6x1xf32>
}

// CHECK-LABEL: func.func @shapes_of_unknown_size(
func.func @shapes_of_unknown_size(%x: tensor<?x4xf32>, %y: tensor<1x?xf32>) -> (tensor<?x4xf32>, tensor<?x4xf32>, tensor<1x?xf32>, tensor<?x4xf32>) {
  // CHECK-NEXT: func.return %x, %x, %y, %x
  %a = relex.reshape %x shape = [-1, 4] : (tensor<?x4xf32>) -> tensor<?x4xf32>
  %b = relex.expand_dims %x axis = [1] : (tensor<?x4xf32>) -> tensor<?x1x4xf32>
  %c = relex.squeeze %b axis = [-2] : (tensor<?x1x4xf32>) -> tensor<?x4xf32>
  %d = relex.squeeze %y axis = [0] : (tensor<1x?xf32>) -> tensor<?xf32>
  %e = relex.expand_dims %d axis = [0] : (tensor<?xf32>) -> tensor<1x?xf32>
  %f = relex.broadcast_to %x shape = [-1, 4] : (tensor<?x4xf32>) -> tensor<?x4xf32>
  func.return %a, %c, %e, %f : tensor<?x4xf32>, tensor<?x4xf32>, tensor<1x?xf32>, tensor<?x4xf32>
}

// An unknown size may be any, and without elements no size follows from the others.
// CHECK-LABEL: func.func @other_shapes(
func.func @other_shapes(%x: tensor<?x4xf32>, %y: tensor<?x?xf32>, %z: tensor<1x?xf32>) -> (tensor<3x4xf32>, tensor<?x2xf32>, tensor<?x1xf32>, tensor<1x?xf32>) {
  // CHECK-COUNT-3: relex.reshape
  // CHECK:         relex.squeeze
  // CHECK-NEXT:    relex.expand_dims
  // CHECK-NEXT:    relex.squeeze
  // CHECK-NEXT:    relex.expand_dims
  %a = relex.reshape %x shape = [3, 4] : (tensor<?x4xf32>) -> tensor<3x4xf32>
  %b = relex.reshape %x shape = [2, -1] : (tensor<?x4xf32>) -> tensor<2x?xf32>
  %c = relex.reshape %b shape = [-1, 2] : (tensor<2x?xf32>) -> tensor<?x2xf32>
  %d = relex.squeeze %z axis = [0] : (tensor<1x?xf32>) -> tensor<?xf32>
  %e = relex.expand_dims %d axis = [1] : (tensor<?xf32>) -> tensor<?x1xf32>
  %f = relex.squeeze %y axis = [0] : (tensor<?x?xf32>) -> tensor<?xf32>
  %g = relex.expand_dims %f axis = [0] : (tensor<?xf32>) -> tensor<1x?xf32>
  func.return %a, %c, %e, %g : tensor<3x4xf32>, tensor<?x2xf32>, tensor<?x1xf32>, tensor<1x?xf32>
}

// CHECK-LABEL: func.func @places(
func.func @places(%x: tensor<2x3xf32>, %e: tensor<0x3xf32>) -> (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<4x3xf32>, tensor<4x2x3xf32>, tensor<2x3xf32>) {
  // CHECK-NEXT: %d = relex.concat %x, %x :
  // CHECK-NEXT: %g = relex.broadcast_to %x shape = [4, 2, 3]
  // CHECK-NEXT: func.return %x, %x, %x, %x, %d, %g, %x
  %a = relex.strided_slice %x axes = [1] begin = [0] end = [9] : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %b = relex.concat %x axis = 1 : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %c = relex.concat %e, %x, %e : (tensor<0x3xf32>, tensor<2x3xf32>, tensor<0x3xf32>) -> tensor<2x3xf32>
  %p = relex.pad %x pad_width = [0, 0, 0, 0] pad_value = 1.0 : f32 : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %d = relex.concat %x, %e, %x : (tensor<2x3xf32>, tensor<0x3xf32>, tensor<2x3xf32>) -> tensor<4x3xf32>
  %f = relex.broadcast_to %x shape = [1, 2, 3] : (tensor<2x3xf32>) -> tensor<1x2x3xf32>
  %g = relex.broadcast_to %f shape = [4, 2, 3] : (tensor<1x2x3xf32>) -> tensor<4x2x3xf32>
  %h = relex.broadcast_to %x shape = [2, 3] : (tensor<2x3xf32>) -> tensor<2x3xf32>
  func.return %a, %b, %c, %p, %d, %g, %h : tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<4x3xf32>, tensor<4x2x3xf32>, tensor<2x3xf32>
}

// CHECK-LABEL: func.func @other_places(
func.func @other_places(%x: tensor<2x3xf32>, %y: tensor<?x3xf32>, %e: tensor<0x3xf32>) -> (tensor<2x3xf32>, tensor<?x3xf32>, tensor<0x3xf32>, tensor<2x3xf32>) {
  // CHECK-NEXT: relex.strided_slice %x
  // CHECK-NEXT: relex.strided_slice %y
  // CHECK-NEXT: relex.strided_slice %x
  // CHECK-NEXT: relex.pad
  // CHECK-NEXT: func.return %{{.+}}, %{{.+}}, %e, %{{.+}}
  %a = relex.strided_slice %x axes = [1] begin = [-1] end = [-9] strides = [-1] : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %b = relex.strided_slice %y axes = [0] begin = [0] end = [9] : (tensor<?x3xf32>) -> tensor<?x3xf32>
  %c = relex.concat %e, %e : (tensor<0x3xf32>, tensor<0x3xf32>) -> tensor<0x3xf32>
  %d = relex.strided_slice %x axes = [0] begin = [1] end = [2] : (tensor<2x3xf32>) -> tensor<1x3xf32>
  %f = relex.pad %d pad_width = [1, 0, 0, 0] : (tensor<1x3xf32>) -> tensor<2x3xf32>
  func.return %a, %b, %c, %f : tensor<2x3xf32>, tensor<?x3xf32>, tensor<0x3xf32>, tensor<2x3xf32>
}

// CHECK-LABEL: func.func @numbers_that_do_nothing(
func.func @numbers_that_do_nothing(%x: tensor<?x4xf32>, %i: tensor<4xi32>, %c: tensor<4xi1>) -> (tensor<?x4xf32>, tensor<4xi32>, tensor<4xi1>) {
  // CHECK-NEXT: func.return %x, %i, %c
  %one = relex.constant dense<1.0> : tensor<4xf32>
  %zero = relex.constant dense<0.0> : tensor<f32>
  %minus = relex.constant dense<-0.0> : tensor<1x4xf32>
  %0 = relex.add %minus, %x : (tensor<1x4xf32>, tensor<?x4xf32>) -> tensor<?x4xf32>
  %1 = relex.subtract %0, %zero : (tensor<?x4xf32>, tensor<f32>) -> tensor<?x4xf32>
  %2 = relex.multiply %one, %1 : (tensor<4xf32>, tensor<?x4xf32>) -> tensor<?x4xf32>
  %3 = relex.divide %2, %one : (tensor<?x4xf32>, tensor<4xf32>) -> tensor<?x4xf32>
  %zeros = relex.constant dense<0> : tensor<4xi32>
  %ones = relex.constant dense<1> : tensor<4xi32>
  %4 = relex.add %i, %zeros : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi32>
  %5 = relex.multiply %4, %ones : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi32>
  %true = relex.constant dense<true> : tensor<i1>
  %false = relex.constant dense<false> : tensor<i1>
  %6 = relex.add %c, %false : (tensor<4xi1>, tensor<i1>) -> tensor<4xi1>
  %7 = relex.multiply %6, %true : (tensor<4xi1>, tensor<i1>) -> tensor<4xi1>
  func.return %3, %5, %7 : tensor<?x4xf32>, tensor<4xi32>, tensor<4xi1>
}

// What NaN, infinities and zeros of two signs forbid.
// CHECK-LABEL: func.func @numbers_that_do_something(
func.func @numbers_that_do_something(%x: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK:      relex.add
  // CHECK-NEXT: relex.subtract
  // CHECK-NEXT: relex.subtract
  // CHECK-NEXT: relex.multiply
  // CHECK-NEXT: relex.divide
  // CHECK-NEXT: relex.divide
  // CHECK-NEXT: relex.subtract
  // CHECK-NEXT: relex.equal
  // CHECK-NEXT: relex.where
  // CHECK-NEXT: relex.add
  // CHECK-NEXT: func.return
  %zero = relex.constant dense<0.0> : tensor<4xf32>
  %minus = relex.constant dense<-0.0> : tensor<4xf32>
  %one = relex.constant dense<1.0> : tensor<4xf32>
  %mixed = relex.constant dense<[-0.0, -0.0, -0.0, 0.0]> : tensor<4xf32>
  %0 = relex.add %x, %zero : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %1 = relex.subtract %0, %minus : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %2 = relex.subtract %zero, %1 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %3 = relex.multiply %2, %zero : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %4 = relex.divide %one, %3 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %5 = relex.divide %4, %4 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %6 = relex.subtract %5, %5 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %7 = relex.equal %6, %6 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
  %8 = relex.where %7, %6, %x : (tensor<4xi1>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %9 = relex.add %8, %mixed : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return %9 : tensor<4xf32>
}

// CHECK-LABEL: func.func @numbers_that_broadcast(
func.func @numbers_that_broadcast(%x: tensor<4xf32>, %y: tensor<?xf32>, %c: tensor<2x4xi1>) -> (tensor<2x4xf32>, tensor<4xf32>, tensor<2x4xf32>) {
  // CHECK: relex.add
  // CHECK: relex.multiply
  // CHECK: relex.where
  %minus = relex.constant dense<-0.0> : tensor<2x1xf32>
  %one = relex.constant dense<1.0> : tensor<4xf32>
  %0 = relex.add %x, %minus : (tensor<4xf32>, tensor<2x1xf32>) -> tensor<2x4xf32>
  %1 = relex.multiply %y, %one : (tensor<?xf32>, tensor<4xf32>) -> tensor<4xf32>
  %2 = relex.where %c, %x, %x : (tensor<2x4xi1>, tensor<4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  func.return %0, %1, %2 : tensor<2x4xf32>, tensor<4xf32>, tensor<2x4xf32>
}

// CHECK-LABEL: func.func @twice(
func.func @twice(%x: tensor<?xf32>) -> (tensor<?xf32>, tensor<?xf32>, tensor<?xf32>, tensor<?xf32>, tensor<?xf32>, tensor<?xf32>) {
  // CHECK-NEXT: %b = relex.relu %x
  // CHECK-NEXT: %d = relex.abs %x
  // CHECK-NEXT: %f = relex.floor %x
  // CHECK-NEXT: %h = relex.clip %x max = 6.0
  // CHECK-NEXT: func.return %b, %x, %x, %d, %f, %h
  %a = relex.maximum %x, %x : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
  %b = relex.relu %a : (tensor<?xf32>) -> tensor<?xf32>
  %c = relex.relu %b : (tensor<?xf32>) -> tensor<?xf32>
  %m = relex.negative %x : (tensor<?xf32>) -> tensor<?xf32>
  %n = relex.negative %m : (tensor<?xf32>) -> tensor<?xf32>
  %o = relex.minimum %n, %n : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
  %p = relex.clip %o : (tensor<?xf32>) -> tensor<?xf32>
  %d = relex.abs %m : (tensor<?xf32>) -> tensor<?xf32>
  %e = relex.abs %d : (tensor<?xf32>) -> tensor<?xf32>
  %f = relex.floor %x : (tensor<?xf32>) -> tensor<?xf32>
  %g = relex.floor %f : (tensor<?xf32>) -> tensor<?xf32>
  %h = relex.clip %x max = 6.0 : f32 : (tensor<?xf32>) -> tensor<?xf32>
  %i = relex.clip %h max = 6.0 : f32 : (tensor<?xf32>) -> tensor<?xf32>
  func.return %c, %o, %p, %e, %g, %i : tensor<?xf32>, tensor<?xf32>, tensor<?xf32>, tensor<?xf32>, tensor<?xf32>, tensor<?xf32>
}

// CHECK-LABEL: func.func @not_twice(
func.func @not_twice(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK-NEXT: relex.maximum
  // CHECK-NEXT: relex.exp
  // CHECK-NEXT: relex.exp
  // CHECK-NEXT: relex.clip
  // CHECK-NEXT: relex.clip
  // CHECK-NEXT: func.return
  %a = relex.maximum %x, %y : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %b = relex.exp %a : (tensor<4xf32>) -> tensor<4xf32>
  %c = relex.exp %b : (tensor<4xf32>) -> tensor<4xf32>
  %d = relex.clip %c max = 0.0 : f32 : (tensor<4xf32>) -> tensor<4xf32>
  %e = relex.clip %d max = -0.0 : f32 : (tensor<4xf32>) -> tensor<4xf32>
  func.return %e : tensor<4xf32>
}

// CHECK-LABEL: func.func @choices(
func.func @choices(%x: tensor<4xf32>, %y: tensor<4xf32>, %c: tensor<4xi1>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  // CHECK-NEXT: func.return %x, %y, %x
  %true = relex.constant dense<true> : tensor<4xi1>
  %false = relex.constant dense<[false, false, false, false]> : tensor<4xi1>
  %0 = relex.where %true, %x, %y : (tensor<4xi1>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %1 = relex.where %false, %x, %y : (tensor<4xi1>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %2 = relex.where %c, %x, %x : (tensor<4xi1>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return %0, %1, %2 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// CHECK-LABEL: func.func @fma(
func.func @fma(%x: tensor<4xf32>, %y: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  // CHECK:      %0 = relex.add %x, %y
  // CHECK-NEXT: %1 = relex.add %x, %y
  // CHECK-NEXT: %2 = relex.multiply %x, %y
  // CHECK-NEXT: %3 = relex.ewise_fma
  %one = relex.constant dense<1.0> : tensor<f32>
  %zero = relex.constant dense<0.0> : tensor<f32>
  %minus = relex.constant dense<-0.0> : tensor<f32>
  %0 = relex.ewise_fma %one, %x, %y : (tensor<f32>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %1 = relex.ewise_fma %x, %one, %y : (tensor<4xf32>, tensor<f32>, tensor<4xf32>) -> tensor<4xf32>
  %2 = relex.ewise_fma %x, %y, %minus : (tensor<4xf32>, tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %3 = relex.ewise_fma %x, %y, %zero : (tensor<4xf32>, tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  func.return %0, %1, %2, %3 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// CHECK-LABEL: func.func @conversions(
func.func @conversions(%x: tensor<4xf32>, %i: tensor<4xi32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xi32>, tensor<4xi8>, tensor<4xf32>, tensor<4xi1>) {
  // CHECK-NEXT: %f = relex.astype %i dtype = i8
  // CHECK-NEXT: %h = relex.astype %i dtype = f32
  // CHECK-NEXT: %j = relex.astype %i dtype = i1
  // CHECK-NEXT: func.return %x, %x, %i, %f, %h, %j
  %a = relex.astype %x dtype = f32 : (tensor<4xf32>) -> tensor<4xf32>
  %b = relex.astype %x dtype = f64 : (tensor<4xf32>) -> tensor<4xf64>
  %c = relex.astype %b dtype = f32 : (tensor<4xf64>) -> tensor<4xf32>
  %d = relex.astype %i dtype = f64 : (tensor<4xi32>) -> tensor<4xf64>
  %k = relex.astype %d dtype = i32 : (tensor<4xf64>) -> tensor<4xi32>
  %e = relex.astype %i dtype = i64 : (tensor<4xi32>) -> tensor<4xi64>
  %f = relex.astype %e dtype = i8 : (tensor<4xi64>) -> tensor<4xi8>
  %h = relex.astype %d dtype = f32 : (tensor<4xf64>) -> tensor<4xf32>
  %j = relex.astype %d dtype = i1 : (tensor<4xf64>) -> tensor<4xi1>
  func.return %a, %c, %k, %f, %h, %j : tensor<4xf32>, tensor<4xf32>, tensor<4xi32>, tensor<4xi8>, tensor<4xf32>, tensor<4xi1>
}

// Rounding, cutting off, wrapping around and stopping at an end are not the same.
// CHECK-LABEL: func.func @other_conversions(
func.func @other_conversions(%x: tensor<4xf64>, %i: tensor<4xi32>, %n: tensor<4xf32>) -> (tensor<4xf64>, tensor<4xi32>, tensor<4xi8>, tensor<4xf32>, tensor<4xi32>) {
  // CHECK-COUNT-10: relex.astype
  %a = relex.astype %x dtype = f32 : (tensor<4xf64>) -> tensor<4xf32>
  %b = relex.astype %a dtype = f64 : (tensor<4xf32>) -> tensor<4xf64>
  %c = relex.astype %i dtype = f32 : (tensor<4xi32>) -> tensor<4xf32>
  %d = relex.astype %c dtype = i32 : (tensor<4xf32>) -> tensor<4xi32>
  %e = relex.astype %i dtype = f64 : (tensor<4xi32>) -> tensor<4xf64>
  %f = relex.astype %e dtype = i8 : (tensor<4xf64>) -> tensor<4xi8>
  %g = relex.astype %n dtype = i64 : (tensor<4xf32>) -> tensor<4xi64>
  %h = relex.astype %g dtype = f32 : (tensor<4xi64>) -> tensor<4xf32>
  %j = relex.astype %i dtype = i8 : (tensor<4xi32>) -> tensor<4xi8>
  %k = relex.astype %j dtype = i32 : (tensor<4xi8>) -> tensor<4xi32>
  func.return %b, %d, %f, %h, %k : tensor<4xf64>, tensor<4xi32>, tensor<4xi8>, tensor<4xf32>, tensor<4xi32>
}

// What a block was given goes around it; equal results are one; without results the block is gone.
// CHECK-LABEL: func.func @blocks(
func.func @blocks(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  // CHECK-NEXT: %r = relex.dataflow -> tensor<4xf32> {
  // CHECK-NEXT:   %b = relex.exp %x
  // CHECK-NEXT:   relex.output %b
  // CHECK-NEXT: }
  // CHECK-NEXT: func.return %r, %x, %r, %x
  %r:3 = relex.dataflow -> tensor<4xf32>, tensor<4xf32>, tensor<4xf32> {
    %b = relex.exp %x : (tensor<4xf32>) -> tensor<4xf32>
    relex.output %b, %x, %b : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
  }
  %s = relex.dataflow -> tensor<4xf32> {
    relex.output %x : tensor<4xf32>
  }
  func.return %r#0, %r#1, %r#2, %s : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// CHECK-LABEL: func.func @assertions(
func.func @assertions(%c: tensor<i1>) {
  // CHECK-NOT: "always holds"
  // CHECK: relex.assert %{{.+}}, "never holds"
  // CHECK-NEXT: relex.assert %c, "may hold"
  // CHECK-NEXT: relex.assert %c, "may hold"
  %true = relex.constant dense<true> : tensor<i1>
  relex.assert %true, "always holds" : tensor<i1>
  %false = relex.constant dense<false> : tensor<i1>
  relex.assert %false, "never holds" : tensor<i1>
  relex.assert %c, "may hold" : tensor<i1>
  relex.assert %c, "may hold" : tensor<i1>
  func.return
}
