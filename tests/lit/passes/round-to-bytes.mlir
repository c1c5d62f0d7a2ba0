// RUN: relex-opt %s -p round-to-bytes | filecheck %s
// RUN: relex-opt %s -p round-to-bytes,round-to-bytes | filecheck %s
// RUN: relex-opt %s -p round-to-bytes --check-each -o /dev/null

// CHECK-LABEL: func.func @signed
// CHECK:         [[C:%.+]] = relex.clip {{%.+}} min = -1.240000e+02 : f32 max = 1.310000e+02 : f32
// CHECK-NEXT:    [[M:%.+]] = relex.constant dense<1.2582912e+07> : tensor<f32>
// CHECK-NEXT:    [[S:%.+]] = relex.add [[C]], [[M]]
// CHECK-NEXT:    [[B:%.+]] = relex.bitcast [[S]] dtype = i32
// CHECK-NEXT:    [[Z:%.+]] = relex.constant dense<-4> : tensor<i32>
// CHECK-NEXT:    [[I:%.+]] = relex.add [[B]], [[Z]]
// CHECK-NEXT:    [[Y:%.+]] = relex.astype [[I]] dtype = i8
// CHECK-NEXT:    func.return [[Y]]
func.func @signed(%x: tensor<4xi32>) -> tensor<4xi8> {
  %factor = relex.constant dense<0.25> : tensor<f32>
  %zero = relex.constant dense<-4> : tensor<i32>
  %0 = relex.astype %x dtype = f32 : (tensor<4xi32>) -> tensor<4xf32>
  %1 = relex.multiply %0, %factor : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %2 = relex.round %1 : (tensor<4xf32>) -> tensor<4xf32>
  %3 = relex.clip %2 min = -16777216.0 : f32 max = 16777216.0 : f32 : (tensor<4xf32>) -> tensor<4xf32>
  %4 = relex.astype %3 dtype = i32 : (tensor<4xf32>) -> tensor<4xi32>
  %5 = relex.add %4, %zero : (tensor<4xi32>, tensor<i32>) -> tensor<4xi32>
  %6 = relex.clip %5 min = -128 : i32 max = 127 : i32 : (tensor<4xi32>) -> tensor<4xi32>
  %7 = relex.astype %6 dtype = i8 : (tensor<4xi32>) -> tensor<4xi8>
  func.return %7 : tensor<4xi8>
}

// Without a zero point, unsigned bytes are never negative: the relu is a part of the clip.
// CHECK-LABEL: func.func @relu
// CHECK-NOT:     relu
// CHECK:         relex.clip {{%.+}} min = 0.000000e+00 : f32 max = 2.550000e+02 : f32
func.func @relu(%x: tensor<4xi32>) -> tensor<4xui8> {
  %factor = relex.constant dense<0.25> : tensor<f32>
  %0 = relex.astype %x dtype = f32 : (tensor<4xi32>) -> tensor<4xf32>
  %1 = relex.multiply %0, %factor : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %2 = relex.relu %1 : (tensor<4xf32>) -> tensor<4xf32>
  %3 = relex.round %2 : (tensor<4xf32>) -> tensor<4xf32>
  %4 = relex.astype %3 dtype = i32 : (tensor<4xf32>) -> tensor<4xi32>
  %5 = relex.clip %4 min = 0 : i32 max = 255 : i32 : (tensor<4xi32>) -> tensor<4xi32>
  %6 = relex.astype %5 dtype = ui8 : (tensor<4xi32>) -> tensor<4xui8>
  func.return %6 : tensor<4xui8>
}

// NaN becomes the zero point.
// CHECK-LABEL: func.func @floats
// CHECK:         relex.round
func.func @floats(%x: tensor<4xf32>) -> tensor<4xui8> {
  %2 = relex.round %x : (tensor<4xf32>) -> tensor<4xf32>
  %3 = relex.astype %2 dtype = i32 : (tensor<4xf32>) -> tensor<4xi32>
  %4 = relex.clip %3 min = 0 : i32 max = 255 : i32 : (tensor<4xi32>) -> tensor<4xi32>
  %5 = relex.astype %4 dtype = ui8 : (tensor<4xi32>) -> tensor<4xui8>
  func.return %5 : tensor<4xui8>
}

// What exceeds 32 bits becomes the largest integer, to which a zero point cannot be added.
// CHECK-LABEL: func.func @far
// CHECK:         relex.round
func.func @far(%x: tensor<4xi32>) -> tensor<4xui8> {
  %factor = relex.constant dense<2.0> : tensor<f32>
  %zero = relex.constant dense<100> : tensor<i32>
  %0 = relex.astype %x dtype = f32 : (tensor<4xi32>) -> tensor<4xf32>
  %1 = relex.multiply %0, %factor : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %2 = relex.round %1 : (tensor<4xf32>) -> tensor<4xf32>
  %3 = relex.astype %2 dtype = i32 : (tensor<4xf32>) -> tensor<4xi32>
  %4 = relex.add %3, %zero : (tensor<4xi32>, tensor<i32>) -> tensor<4xi32>
  %5 = relex.clip %4 min = 0 : i32 max = 255 : i32 : (tensor<4xi32>) -> tensor<4xi32>
  %6 = relex.astype %5 dtype = ui8 : (tensor<4xi32>) -> tensor<4xui8>
  func.return %6 : tensor<4xui8>
}
