// RUN: relex-opt %s -p "set-target{triple=x86_64-unknown-linux-gnu cpu=haswell},delay-scales" | filecheck %s
// RUN: relex-opt %s -p "set-target{triple=x86_64-unknown-linux-gnu cpu=haswell},delay-scales,delay-scales" | filecheck %s
// RUN: relex-opt %s -p "set-target{triple=x86_64-unknown-linux-gnu cpu=haswell},delay-scales" --check-each -o /dev/null
// RUN: relex-opt %s -p "set-target{triple=riscv64-unknown-linux-gnu},delay-scales" | filecheck %s --check-prefix=NONE

// NONE-NOT: relex.matmul {{.*}} -> tensor<{{.*}}xi32>

// Scales of columns stay apart from scales of rows, and one number becomes a part of them.
// CHECK-LABEL: func.func @columns
// CHECK:         [[S:%.+]] = relex.matmul {{.*}} : (tensor<?x64xi32>, tensor<64x32xi32>) -> tensor<?x32xi32>
// CHECK-NEXT:    [[F:%.+]] = relex.astype [[S]] dtype = f32
// CHECK-NEXT:    [[C:%.+]] = relex.constant dense<0.125> : tensor<1x32xf32>
// CHECK-NEXT:    [[Y:%.+]] = relex.multiply [[F]], [[C]]
// CHECK-NEXT:    func.return [[Y]]
func.func @columns(%x: tensor<?x64xui8>) -> tensor<?x32xf32> {
  %zero = relex.constant dense<5> : tensor<i32>
  %a = relex.constant dense<0.5> : tensor<f32>
  %w = relex.constant dense<3> : tensor<64x32xi8>
  %b = relex.constant dense<0.25> : tensor<1x32xf32>
  %0 = relex.astype %x dtype = i32 : (tensor<?x64xui8>) -> tensor<?x64xi32>
  %1 = relex.subtract %0, %zero : (tensor<?x64xi32>, tensor<i32>) -> tensor<?x64xi32>
  %2 = relex.astype %1 dtype = f32 : (tensor<?x64xi32>) -> tensor<?x64xf32>
  %3 = relex.multiply %a, %2 : (tensor<f32>, tensor<?x64xf32>) -> tensor<?x64xf32>
  %4 = relex.astype %w dtype = f32 : (tensor<64x32xi8>) -> tensor<64x32xf32>
  %5 = relex.multiply %4, %b : (tensor<64x32xf32>, tensor<1x32xf32>) -> tensor<64x32xf32>
  %6 = relex.matmul %3, %5 : (tensor<?x64xf32>, tensor<64x32xf32>) -> tensor<?x32xf32>
  func.return %6 : tensor<?x32xf32>
}

// A scale that varies along the terms of the sums stays where it is, and so do sums that may exceed 32 bits.
// CHECK-LABEL: func.func @terms
// CHECK:         relex.matmul {{.*}} -> tensor<32x32xf32>
// CHECK:         relex.matmul {{.*}} -> tensor<32x32xf32>
func.func @terms(%x: tensor<32x64xui8>, %w: tensor<64x32xui8>, %v: tensor<32x40000xui8>, %u: tensor<40000x32xui8>)
    -> (tensor<32x32xf32>, tensor<32x32xf32>) {
  %b = relex.constant dense<0.25> : tensor<64x1xf32>
  %0 = relex.astype %x dtype = f32 : (tensor<32x64xui8>) -> tensor<32x64xf32>
  %1 = relex.astype %w dtype = f32 : (tensor<64x32xui8>) -> tensor<64x32xf32>
  %2 = relex.multiply %1, %b : (tensor<64x32xf32>, tensor<64x1xf32>) -> tensor<64x32xf32>
  %3 = relex.matmul %0, %2 : (tensor<32x64xf32>, tensor<64x32xf32>) -> tensor<32x32xf32>
  %4 = relex.astype %v dtype = f32 : (tensor<32x40000xui8>) -> tensor<32x40000xf32>
  %5 = relex.astype %u dtype = f32 : (tensor<40000x32xui8>) -> tensor<40000x32xf32>
  %6 = relex.matmul %4, %5 : (tensor<32x40000xf32>, tensor<40000x32xf32>) -> tensor<32x32xf32>
  func.return %3, %6 : tensor<32x32xf32>, tensor<32x32xf32>
}
