// RUN: relex-opt %s -p legalize-ops | filecheck %s
// RUN: relex-opt %s -p legalize-ops{strict=true} | filecheck %s --check-prefix=STRICT
// STRICT-NOT: fastmath
// RUN: relex-opt %s -p legalize-ops | relex-opt | filecheck %s

func.func @main(%x: tensor<2x3xf32>, %image: tensor<1x2x4x4xf32>, %weight: tensor<3x2x3x3xf32>, %places: tensor<5xi8>) {
  %0 = relex.pad %x pad_width = [0, 0, 1, 0] : (tensor<2x3xf32>) -> tensor<2x4xf32>
  %1 = relex.softmax %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %2 = relex.argmax %x axis = 1 : (tensor<2x3xf32>) -> tensor<2xi64>
  %3 = relex.conv2d %image, %weight padding = [1, 1] : (tensor<1x2x4x4xf32>, tensor<3x2x3x3xf32>) -> tensor<1x3x4x4xf32>
  %4 = relex.take %x, %places axis = 1 : (tensor<2x3xf32>, tensor<5xi8>) -> tensor<2x5xf32>
  %5 = relex.reshape %x shape = [6] : (tensor<2x3xf32>) -> tensor<6xf32>
  %6 = relex.expand_dims %x axis = [0] : (tensor<2x3xf32>) -> tensor<1x2x3xf32>
  %7 = relex.concat %x, %x axis = 1 : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x6xf32>
  func.return
}

// Where the padding is nothing is read.
// CHECK-LABEL: tir.prim_func private @pad(
// CHECK:         [[INSIDE:%.+]] = arith.cmpi sge, %vi1, %{{.+}} : index
// CHECK-NEXT:    [[VALUE:%.+]] = scf.if [[INSIDE]] -> (f32) {
// CHECK:           [[PLACE:%.+]] = arith.subi %vi1, %{{.+}} : index
// CHECK-NEXT:      memref.load %x[%vi0, [[PLACE]]] : memref<2x3xf32>
// CHECK:         } else {
// CHECK:         memref.store [[VALUE]], %pad[%vi0, %vi1] : memref<2x4xf32>

// One loop nest for each stage. Sums may be done in any order, and their quotients by reciprocals.
// CHECK-LABEL: tir.prim_func private @softmax(
// CHECK:         tir.block @largest (%vi0: spatial<2> = %i0, %vi1: spatial<1> = %i1, %vk1: reduce<3> = %k1) {
// CHECK:           arith.constant 0xff800000 : f32
// CHECK:           arith.maximumf %{{.+}}, %{{.+}} : f32
// CHECK:         tir.block @powers
// CHECK:           arith.subf %{{.+}}, %{{.+}} : f32
// CHECK-NEXT:      math.exp %{{.+}} : f32
// CHECK:         tir.block @total
// CHECK:           arith.addf %{{.+}}, %{{.+}} fastmath<reassoc,contract> : f32
// CHECK:         tir.block @softmax
// CHECK:           arith.divf %{{[^ ]+}}, %{{[^ ]+}} fastmath<arcp> : f32

// The smallest place of what is the largest, or NaN.
// CHECK-LABEL: tir.prim_func private @argmax(
// CHECK:         tir.block @best
// CHECK:         tir.block @argmax
// CHECK:           [[X:%.+]] = memref.load %x[
// CHECK:           arith.cmpf oeq, [[X]], %{{.+}} : f32
// CHECK-NEXT:      arith.cmpf une, [[X]], [[X]] : f32
// CHECK:           arith.select
// CHECK-NEXT:      arith.minsi %{{.+}}, %{{.+}} : i64

// The padded data is a separate stage: the inner loop has no condition.
// CHECK-LABEL: tir.prim_func private @conv2d(
// CHECK:         %padded = tir.alloc_buffer : memref<1x2x6x6xf32>
// CHECK:         tir.block @conv2d
// CHECK-NOT:       scf.if
// CHECK:           [[Y:%.+]] = arith.addi %vy, %vr : index
// CHECK-NEXT:      [[X:%.+]] = arith.addi %vx, %vs : index
// CHECK-NEXT:      memref.load %padded[%vn, %vc, [[Y]], [[X]]] : memref<1x2x6x6xf32>

// Any index reads inside.
// CHECK-LABEL: tir.prim_func private @take(
// CHECK:         arith.index_cast %{{.+}} : i8 to index
// CHECK:         arith.maxsi
// CHECK:         arith.minsi

// CHECK-LABEL: tir.prim_func private @reshape(
// CHECK:         [[I:%.+]] = arith.divui %vi0, %{{.+}} : index
// CHECK:         [[J:%.+]] = arith.remui %vi0, %{{.+}} : index
// CHECK-NEXT:    memref.load %x[[[I]], [[J]]] : memref<2x3xf32>

// Dimensions that stay cost no arithmetic.
// CHECK-LABEL: tir.prim_func private @expand_dims(
// CHECK-NOT:     arith
// CHECK:         memref.load %x[%vi1, %vi2] : memref<2x3xf32>

// CHECK-LABEL: tir.prim_func private @concat(
// CHECK:         scf.if
// CHECK:           memref.load %x0[%vi0, %vi1] : memref<2x3xf32>
// CHECK:         else
// CHECK:           arith.subi
// CHECK:           memref.load %x1[
