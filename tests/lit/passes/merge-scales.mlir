// RUN: relex-opt %s -p merge-scales | filecheck %s
// RUN: relex-opt %s -p merge-scales,merge-scales | filecheck %s
// RUN: relex-opt %s -p merge-scales --check-each -o /dev/null
// RUN: relex-opt %s -p "relex-pipeline{to=graph strict=true}" | filecheck %s --check-prefix=STRICT

// STRICT-COUNT-5: relex.divide

// A bias that is a whole multiple of the factor is added to the integers, any other one is divided.
// CHECK-LABEL: func.func @bias
// CHECK:         [[B:%.+]] = relex.constant dense<[6, -2]> : tensor<2xi32>
// CHECK-NEXT:    [[I:%.+]] = relex.add {{%.+}}, [[B]]
// CHECK-NEXT:    [[F:%.+]] = relex.astype [[I]] dtype = f32
// CHECK-NEXT:    [[S:%.+]] = relex.constant dense<0.25> : tensor<f32>
// CHECK-NEXT:    [[M:%.+]] = relex.multiply [[F]], [[S]]
// CHECK-NEXT:    [[C:%.+]] = relex.clip [[M]] min = 0.000000e+00 : f32 max = 3.000000e+00 : f32
// CHECK-NEXT:    relex.round [[C]]
// CHECK:         [[D:%.+]] = relex.constant dense<0.375> : tensor<f32>
// CHECK-NEXT:    [[A:%.+]] = relex.add {{%.+}}, [[D]]
// CHECK-NEXT:    relex.round [[A]]
func.func @bias(%bytes: tensor<3x2xui8>) -> (tensor<3x2xf32>, tensor<3x2xf32>) {
  %x = relex.astype %bytes dtype = i32 : (tensor<3x2xui8>) -> tensor<3x2xi32>
  %factor = relex.constant dense<0.5> : tensor<f32>
  %scale = relex.constant dense<2.0> : tensor<f32>
  %b = relex.constant dense<[3.0, -1.0]> : tensor<2xf32>
  %d = relex.constant dense<0.75> : tensor<f32>
  %0 = relex.astype %x dtype = f32 : (tensor<3x2xi32>) -> tensor<3x2xf32>
  %1 = relex.multiply %0, %factor : (tensor<3x2xf32>, tensor<f32>) -> tensor<3x2xf32>
  %2 = relex.add %1, %b : (tensor<3x2xf32>, tensor<2xf32>) -> tensor<3x2xf32>
  %3 = relex.clip %2 min = 0.0 : f32 max = 6.0 : f32 : (tensor<3x2xf32>) -> tensor<3x2xf32>
  %4 = relex.divide %3, %scale : (tensor<3x2xf32>, tensor<f32>) -> tensor<3x2xf32>
  %5 = relex.round %4 : (tensor<3x2xf32>) -> tensor<3x2xf32>
  %6 = relex.astype %x dtype = f32 : (tensor<3x2xi32>) -> tensor<3x2xf32>
  %7 = relex.multiply %6, %factor : (tensor<3x2xf32>, tensor<f32>) -> tensor<3x2xf32>
  %8 = relex.add %7, %d : (tensor<3x2xf32>, tensor<f32>) -> tensor<3x2xf32>
  %9 = relex.divide %8, %scale : (tensor<3x2xf32>, tensor<f32>) -> tensor<3x2xf32>
  %10 = relex.round %9 : (tensor<3x2xf32>) -> tensor<3x2xf32>
  func.return %5, %10 : tensor<3x2xf32>, tensor<3x2xf32>
}

// Sums of 32 bits could wrap around.
// CHECK-LABEL: func.func @wraps
// CHECK-NOT:     relex.add {{.*}}xi32>
// CHECK:         relex.round
func.func @wraps(%x: tensor<4xi32>) -> tensor<4xf32> {
  %factor = relex.constant dense<0.5> : tensor<f32>
  %scale = relex.constant dense<2.0> : tensor<f32>
  %0 = relex.astype %x dtype = f32 : (tensor<4xi32>) -> tensor<4xf32>
  %1 = relex.multiply %0, %factor : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %2 = relex.add %1, %factor : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %3 = relex.divide %2, %scale : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %4 = relex.round %3 : (tensor<4xf32>) -> tensor<4xf32>
  func.return %4 : tensor<4xf32>
}

// What has other users is not divided, nor are floats that were no integers.
// CHECK-LABEL: func.func @stays
// CHECK:         relex.divide
// CHECK:         relex.divide
func.func @stays(%x: tensor<4xi32>, %y: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %factor = relex.constant dense<0.5> : tensor<f32>
  %scale = relex.constant dense<2.0> : tensor<f32>
  %0 = relex.astype %x dtype = f32 : (tensor<4xi32>) -> tensor<4xf32>
  %1 = relex.multiply %0, %factor : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %2 = relex.divide %1, %scale : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %3 = relex.round %2 : (tensor<4xf32>) -> tensor<4xf32>
  %4 = relex.multiply %y, %factor : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %5 = relex.divide %4, %scale : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %6 = relex.round %5 : (tensor<4xf32>) -> tensor<4xf32>
  func.return %1, %3, %6 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}
