// RUN: relex-opt %s -p move-bytes | filecheck %s
// RUN: relex-opt %s -p move-bytes,move-bytes | filecheck %s
// RUN: relex-opt %s -p move-bytes --check-each -o /dev/null
// RUN: relex-opt %s -p "relex-pipeline{to=graph strict=true}" | filecheck %s --check-prefix=STRICT

// STRICT-COUNT-3: relex.max_pool1d {{.+}}xf32>

// A pad with the number of a byte, in front of a function that the pad does not change.
// CHECK-LABEL: func.func @pad
// CHECK:         [[P:%.+]] = relex.pad %x pad_width = [0, 1] pad_value = 7 : ui8
// CHECK-NEXT:    [[F:%.+]] = relex.astype [[P]] dtype = f32
// CHECK-NEXT:    [[S:%.+]] = relex.subtract [[F]]
// CHECK-NEXT:    relex.exp [[S]]
func.func @pad(%x: tensor<3xui8>) -> tensor<4xf32> {
  %zero = relex.constant dense<7.0> : tensor<f32>
  %0 = relex.astype %x dtype = f32 : (tensor<3xui8>) -> tensor<3xf32>
  %1 = relex.subtract %0, %zero : (tensor<3xf32>, tensor<f32>) -> tensor<3xf32>
  %2 = relex.pad %1 pad_width = [0, 1] : (tensor<3xf32>) -> tensor<4xf32>
  %3 = relex.exp %2 : (tensor<4xf32>) -> tensor<4xf32>
  func.return %3 : tensor<4xf32>
}

// No byte is a half: what is padded with it stays a float, until bytes are made of it.
// CHECK-LABEL: func.func @pad_of_no_byte
// CHECK:         relex.pad {{.*}} pad_value = 5.000000e-01 : f32
// CHECK-LABEL: func.func @padded_bytes
// CHECK-NEXT:    [[P:%.+]] = relex.pad %x pad_width = [0, 1] pad_value = 1 : ui8
// CHECK-NEXT:    func.return [[P]]
func.func @pad_of_no_byte(%x: tensor<3xui8>) -> tensor<4xf32> {
  %0 = relex.astype %x dtype = f32 : (tensor<3xui8>) -> tensor<3xf32>
  %1 = relex.pad %0 pad_width = [0, 1] pad_value = 0.5 : f32 : (tensor<3xf32>) -> tensor<4xf32>
  func.return %1 : tensor<4xf32>
}
func.func @padded_bytes(%x: tensor<3xui8>) -> tensor<4xui8> {
  %half = relex.constant dense<0.75> : tensor<f32>
  %0 = relex.astype %x dtype = f32 : (tensor<3xui8>) -> tensor<3xf32>
  %1 = relex.pad %0 pad_width = [0, 1] pad_value = 0.5 : f32 : (tensor<3xf32>) -> tensor<4xf32>
  %2 = relex.add %1, %half : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %3 = relex.floor %2 : (tensor<4xf32>) -> tensor<4xf32>
  %4 = relex.astype %3 dtype = ui8 : (tensor<4xf32>) -> tensor<4xui8>
  func.return %4 : tensor<4xui8>
}

// Maxima of bytes are maxima of what never falls.
// CHECK-LABEL: func.func @maximum
// CHECK-NEXT:    relex.max_pool1d %x
// CHECK-SAME:      tensor<1x1x4xui8>
// CHECK-LABEL: func.func @minimum
// CHECK:         relex.max_pool1d {{.+}}tensor<1x1x4xf32>
func.func @maximum(%x: tensor<1x1x4xui8>) -> tensor<1x1x2xf32> {
  %0 = relex.astype %x dtype = f32 : (tensor<1x1x4xui8>) -> tensor<1x1x4xf32>
  %1 = relex.max_pool1d %0 pool_size = [2] strides = [2] : (tensor<1x1x4xf32>) -> tensor<1x1x2xf32>
  func.return %1 : tensor<1x1x2xf32>
}
func.func @minimum(%x: tensor<1x1x4xui8>) -> tensor<1x1x2xf32> {
  %0 = relex.astype %x dtype = f32 : (tensor<1x1x4xui8>) -> tensor<1x1x4xf32>
  %1 = relex.negative %0 : (tensor<1x1x4xf32>) -> tensor<1x1x4xf32>
  %2 = relex.max_pool1d %1 pool_size = [2] strides = [2] : (tensor<1x1x4xf32>) -> tensor<1x1x2xf32>
  func.return %2 : tensor<1x1x2xf32>
}

// Windows of padding alone are -inf, which no byte is.
// CHECK-LABEL: func.func @maximum_of_padding
// CHECK:         relex.max_pool1d {{.+}}tensor<1x1x4xf32>
func.func @maximum_of_padding(%x: tensor<1x1x4xui8>) -> tensor<1x1x4xf32> {
  %0 = relex.astype %x dtype = f32 : (tensor<1x1x4xui8>) -> tensor<1x1x4xf32>
  %1 = relex.max_pool1d %0 pool_size = [2] strides = [2] padding = [2] : (tensor<1x1x4xf32>) -> tensor<1x1x4xf32>
  func.return %1 : tensor<1x1x4xf32>
}

// Operands of several scales are quantized before they are joined, which leaves one as it is.
// CHECK-LABEL: func.func @join
// CHECK:         [[B:%.+]] = relex.look_up %y table = [-77, -76,
// CHECK-NOT:     relex.look_up
// CHECK:         relex.concat %x, [[B]]
// CHECK-SAME:      -> tensor<5xi8>
func.func @join(%x: tensor<2xi8>, %y: tensor<3xi8>) -> tensor<5xi8> {
  %a = relex.constant dense<0.5> : tensor<f32>
  %b = relex.constant dense<0.3> : tensor<f32>
  %0 = relex.astype %x dtype = f32 : (tensor<2xi8>) -> tensor<2xf32>
  %1 = relex.multiply %0, %a : (tensor<2xf32>, tensor<f32>) -> tensor<2xf32>
  %2 = relex.astype %y dtype = f32 : (tensor<3xi8>) -> tensor<3xf32>
  %3 = relex.multiply %2, %b : (tensor<3xf32>, tensor<f32>) -> tensor<3xf32>
  %4 = relex.concat %1, %3 : (tensor<2xf32>, tensor<3xf32>) -> tensor<5xf32>
  %5 = relex.divide %4, %a : (tensor<5xf32>, tensor<f32>) -> tensor<5xf32>
  %6 = relex.round %5 : (tensor<5xf32>) -> tensor<5xf32>
  %7 = relex.astype %6 dtype = i8 : (tensor<5xf32>) -> tensor<5xi8>
  func.return %7 : tensor<5xi8>
}

// CHECK-LABEL: func.func @relu
// CHECK-NEXT:    relex.clip %x min = 0 : i8 max = 127 : i8
// CHECK-LABEL: func.func @wraps
// CHECK:         relex.add
func.func @relu(%x: tensor<2xi8>) -> tensor<2xi8> {
  %0 = relex.astype %x dtype = f32 : (tensor<2xi8>) -> tensor<2xf32>
  %1 = relex.relu %0 : (tensor<2xf32>) -> tensor<2xf32>
  %2 = relex.astype %1 dtype = i8 : (tensor<2xf32>) -> tensor<2xi8>
  func.return %2 : tensor<2xi8>
}
func.func @wraps(%x: tensor<2xi8>) -> tensor<2xi8> {
  %one = relex.constant dense<1> : tensor<i32>
  %0 = relex.astype %x dtype = i32 : (tensor<2xi8>) -> tensor<2xi32>
  %1 = relex.add %0, %one : (tensor<2xi32>, tensor<i32>) -> tensor<2xi32>
  %2 = relex.astype %1 dtype = i8 : (tensor<2xi32>) -> tensor<2xi8>
  func.return %2 : tensor<2xi8>
}

// The scale may have more dimensions than what is moved has in the end.
// CHECK-LABEL: func.func @fewer_dimensions
// CHECK:         relex.reshape %x {{.+}}xui8>
// CHECK:         [[S:%.+]] = relex.constant dense<0.3> : tensor<f32>
// CHECK-NEXT:    relex.multiply {{%.+}}, [[S]]
func.func @fewer_dimensions(%x: tensor<1x2x3x1xui8>) -> tensor<6xf32> {
  %s = relex.constant dense<0.3> : tensor<1x1x1x1xf32>
  %0 = relex.astype %x dtype = f32 : (tensor<1x2x3x1xui8>) -> tensor<1x2x3x1xf32>
  %1 = relex.multiply %0, %s : (tensor<1x2x3x1xf32>, tensor<1x1x1x1xf32>) -> tensor<1x2x3x1xf32>
  %2 = relex.reshape %1 shape = [6] : (tensor<1x2x3x1xf32>) -> tensor<6xf32>
  func.return %2 : tensor<6xf32>
}

// Other functions of bytes are tables, of bytes that are made of bytes as well.
// CHECK-LABEL: func.func @squares
// CHECK-NEXT:    [[Y:%.+]] = relex.look_up %x table = [0, 1, 4, 9, 16, 25, 36, 49, 64, 81, 100, 121, 144, 169, 196, 225, 255] :
// CHECK-NEXT:    [[Z:%.+]] = relex.look_up %x table = [0, 0, 2, 4, 8, 12, 18, 24, 32, 40, 50, 60, 72, 84, 98, 112, 127] :
// CHECK-NEXT:    [[B:%.+]] = relex.bitcast [[Z]] dtype = i8
// CHECK-NEXT:    func.return [[Y]], [[B]]
func.func @squares(%x: tensor<3xui8>) -> (tensor<3xui8>, tensor<3xi8>) {
  %half = relex.constant dense<0.5> : tensor<f32>
  %0 = relex.astype %x dtype = f32 : (tensor<3xui8>) -> tensor<3xf32>
  %1 = relex.multiply %0, %0 : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  %y = relex.astype %1 dtype = ui8 : (tensor<3xf32>) -> tensor<3xui8>
  %2 = relex.astype %y dtype = f32 : (tensor<3xui8>) -> tensor<3xf32>
  %3 = relex.multiply %2, %half : (tensor<3xf32>, tensor<f32>) -> tensor<3xf32>
  %4 = relex.round %3 : (tensor<3xf32>) -> tensor<3xf32>
  %z = relex.astype %4 dtype = i8 : (tensor<3xf32>) -> tensor<3xi8>
  func.return %y, %z : tensor<3xui8>, tensor<3xi8>
}

// With two tensors of bytes there is no table.
// CHECK-LABEL: func.func @sum
// CHECK-NOT:     look_up
func.func @sum(%x: tensor<3xui8>, %y: tensor<3xui8>) -> tensor<3xui8> {
  %0 = relex.astype %x dtype = f32 : (tensor<3xui8>) -> tensor<3xf32>
  %1 = relex.astype %y dtype = f32 : (tensor<3xui8>) -> tensor<3xf32>
  %2 = relex.add %0, %1 : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  %3 = relex.astype %2 dtype = ui8 : (tensor<3xf32>) -> tensor<3xui8>
  func.return %3 : tensor<3xui8>
}
