// RUN: relex-opt %s -p fold-constants | filecheck %s
// RUN: relex-opt %s -p fold-constants,fold-constants | filecheck %s
// RUN: relex-opt %s -p fold-constants{strict=true} | filecheck %s --check-prefix=STRICT
// RUN: relex-opt %s -p fold-constants{limit=0} | filecheck %s --check-prefix=LIMIT
// RUN: relex-opt %s -p fold-constants --print-debuginfo | filecheck %s --check-prefix=LOC

// CHECK-LABEL: func.func @chain
func.func @chain(%x: tensor<2x2xf32>) -> tensor<2x2xf32> {
  // CHECK-NEXT: %t = relex.constant dense<{{\[}}[2.0, 6.0], [4.0, 8.0]]> : tensor<2x2xf32>
  // CHECK-NEXT: %y = relex.add %x, %t
  // LOC: %t = relex.constant {{.*}} loc("{{.*}}fold-constants.mlir":14:8)
  %a = relex.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>
  %b = relex.add %a, %a : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  %t = relex.permute_dims %b : (tensor<2x2xf32>) -> tensor<2x2xf32>
  %y = relex.add %x, %t : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  func.return %y : tensor<2x2xf32>
}

// Equal constants are one, whoever made them and wherever they stand.
// CHECK-LABEL: func.func @equal_ones
func.func @equal_ones(%x: tensor<2xf32>) -> tensor<2xf32> {
  // CHECK-NEXT: [[C:%.+]] = relex.constant dense<[-1.0, -2.0]> : tensor<2xf32>
  // CHECK-NEXT: %r = relex.dataflow
  // CHECK-NEXT:   relex.multiply %x, [[C]]
  // CHECK-NEXT:   relex.ewise_fma %{{.+}}, [[C]], [[C]]
  %a = relex.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %r = relex.dataflow -> tensor<2xf32> {
    %b = relex.negative %a : (tensor<2xf32>) -> tensor<2xf32>
    %c = relex.constant dense<[-1.0, -2.0]> : tensor<2xf32>
    %d = relex.minimum %a, %c : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
    %0 = relex.multiply %x, %b : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
    %1 = relex.ewise_fma %0, %c, %d : (tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
    relex.output %1 : tensor<2xf32>
  }
  func.return %r : tensor<2xf32>
}

// Zeros of two signs are not equal, neither are types.
// CHECK-LABEL: func.func @different_ones
func.func @different_ones() -> (tensor<1xf32>, tensor<1xf32>, tensor<1xi32>) {
  // CHECK-NEXT: relex.constant dense<0.0> : tensor<1xf32>
  // CHECK-NEXT: relex.constant dense<-0.0> : tensor<1xf32>
  // CHECK-NEXT: relex.constant dense<0> : tensor<1xi32>
  // CHECK-NEXT: func.return
  %a = relex.constant dense<0.0> : tensor<1xf32>
  %b = relex.negative %a : (tensor<1xf32>) -> tensor<1xf32>
  %c = relex.astype %b dtype = i32 : (tensor<1xf32>) -> tensor<1xi32>
  func.return %a, %b, %c : tensor<1xf32>, tensor<1xf32>, tensor<1xi32>
}

// In a fused group too. NaN and infinity are numbers like others, but what NaN compiled code computes nobody knows.
// CHECK-LABEL: func.func private @group
// CHECK-NEXT:    relex.constant dense<"0x0000807F{{.*}}"> : tensor<3xf32>
// CHECK-NEXT:    func.return
// STRICT-LABEL: func.func private @group
// STRICT:         relex.divide
func.func private @group() -> tensor<3xf32> attributes {relex.primitive} {
  %a = relex.constant dense<[1.0, -1.0, 0.0]> : tensor<3xf32>
  %z = relex.constant dense<0.0> : tensor<f32>
  %b = relex.divide %a, %z : (tensor<3xf32>, tensor<f32>) -> tensor<3xf32>
  func.return %b : tensor<3xf32>
}

// A large result of small constants stays an operator; one that is not larger than they are does not.
// CHECK-LABEL: func.func @sizes
// LIMIT-LABEL: func.func @sizes
func.func @sizes() -> (tensor<1000x1000xf32>, tensor<2000xf32>, tensor<1024xf32>) {
  // CHECK: [[Z:%.+]] = relex.constant dense<0.0> : tensor<f32>
  // CHECK: relex.broadcast_to [[Z]] shape = [1000, 1000]
  // CHECK-NOT: relex.{{concat|broadcast_to}}
  // CHECK: func.return
  // LIMIT-COUNT-2: relex.broadcast_to
  // LIMIT-NOT: relex.{{concat|expand_dims|squeeze}}
  // LIMIT: func.return
  %z = relex.constant dense<0.0> : tensor<f32>
  %0 = relex.broadcast_to %z shape = [1000, 1000] : (tensor<f32>) -> tensor<1000x1000xf32>
  %a = relex.constant dense<1.0> : tensor<1000xf32>
  %b = relex.constant dense<2.0> : tensor<1000xf32>
  %1 = relex.concat %a, %b : (tensor<1000xf32>, tensor<1000xf32>) -> tensor<2000xf32>
  %c = relex.broadcast_to %z shape = [1024] : (tensor<f32>) -> tensor<1024xf32>
  %d = relex.expand_dims %a axis = [0] : (tensor<1000xf32>) -> tensor<1x1000xf32>
  %e = relex.squeeze %d : (tensor<1x1000xf32>) -> tensor<1000xf32>
  %2 = relex.concat %e, %b : (tensor<1000xf32>, tensor<1000xf32>) -> tensor<2000xf32>
  func.return %0, %2, %c : tensor<1000x1000xf32>, tensor<2000xf32>, tensor<1024xf32>
}

// Sums and functions may be computed otherwise by compiled code.
// CHECK-LABEL: func.func @inexact
// STRICT-LABEL: func.func @inexact
func.func @inexact() -> (tensor<f32>, tensor<2xf32>, tensor<2xf32>) {
  // CHECK-NOT: relex.{{sum|exp|sqrt}}
  // STRICT: relex.sum
  // STRICT: relex.exp
  // STRICT-NOT: relex.sqrt
  // STRICT: func.return
  %a = relex.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %0 = relex.sum %a : (tensor<2xf32>) -> tensor<f32>
  %1 = relex.exp %a : (tensor<2xf32>) -> tensor<2xf32>
  %2 = relex.sqrt %a : (tensor<2xf32>) -> tensor<2xf32>
  func.return %0, %1, %2 : tensor<f32>, tensor<2xf32>, tensor<2xf32>
}

// NaNs that are moved keep their bits.
// STRICT-LABEL: func.func @moved
// STRICT-NEXT: relex.constant dense<"0x010080FF563412FF"> : tensor<2xf32>
func.func @moved() -> tensor<2xf32> {
  %a = relex.constant dense<"0x563412FF010080FF"> : tensor<2xf32>
  %b = relex.strided_slice %a axes = [0] begin = [-1] end = [-9] strides = [-1] : (tensor<2xf32>) -> tensor<2xf32>
  func.return %b : tensor<2xf32>
}

// What depends on an argument, and calls, stay; bf16 is rounded as compiled code does.
// CHECK-LABEL: func.func @not_known
func.func @not_known(%x: tensor<?xf32>) -> (tensor<?xf32>, tensor<2xf32>, tensor<2xbf16>, tensor<2xbf16>) {
  // CHECK: relex.add %x
  // CHECK: relex.call_dps_packed
  // CHECK: relex.constant dense<[2.0, 4.0]> : tensor<2xbf16>
  // CHECK: relex.constant dense<[1.0, 2.0]> : tensor<2xbf16>
  %a = relex.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %b = relex.constant dense<1.0> : tensor<1xf32>
  %0 = relex.add %x, %b : (tensor<?xf32>, tensor<1xf32>) -> tensor<?xf32>
  %1 = relex.call_dps_packed "env.relu"(%a) : (tensor<2xf32>) -> tensor<2xf32>
  %c = relex.constant dense<[1.0, 2.0]> : tensor<2xbf16>
  %2 = relex.add %c, %c : (tensor<2xbf16>, tensor<2xbf16>) -> tensor<2xbf16>
  %3 = relex.astype %a dtype = bf16 : (tensor<2xf32>) -> tensor<2xbf16>
  func.return %0, %1, %2, %3 : tensor<?xf32>, tensor<2xf32>, tensor<2xbf16>, tensor<2xbf16>
}

// CHECK-LABEL: func.func @unused
// CHECK-NEXT:    func.return
func.func @unused() {
  %a = relex.constant dense<[1.0, 2.0]> : tensor<2xf32>
  func.return
}
