// RUN: relex-opt %s -p fuse-tir --split-input-file | filecheck %s
// RUN: relex-opt %s -p fuse-tir,fuse-tir --split-input-file | filecheck %s

// One function of the same name; buffers, blocks and loops keep their names, made unique. The functions that nobody
// calls any more are gone, unless they are public.
// CHECK-LABEL: func.func @main(
// CHECK-NEXT:    %y = relex.call_tir @twice_negated(%x) : (tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT:    func.return %y
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = relex.call @twice_negated(%x) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %y : tensor<4xf32>
}
// CHECK:       tir.prim_func private @twice_negated(%data: memref<4xf32>) outs(%Z: memref<4xf32>) attributes {tir.noalias, relex.mine} {
// CHECK-NEXT:    %Y = tir.alloc_buffer : memref<4xf32>
// CHECK-NEXT:    tir.for %i @i in (4) {
// CHECK-NEXT:      tir.block @negate (%v: spatial<4> = %i) {
// CHECK-NEXT:        %x = memref.load %data[%v]
// CHECK-NEXT:        %y = arith.negf %x
// CHECK-NEXT:        memref.store %y, %Y[%v]
// CHECK-NEXT:      }
// CHECK-NEXT:    }
// CHECK-NEXT:    tir.for %i_1 @i1 in (4) {
// CHECK-NEXT:      tir.block @negate1 (%v_1: spatial<4> = %i_1) {
// CHECK-NEXT:        %x_1 = memref.load %Y[%v_1]
// CHECK-NEXT:        %y_1 = arith.negf %x_1
// CHECK-NEXT:        memref.store %y_1, %Z[%v_1]
// CHECK-NEXT:      }
// CHECK-NEXT:    }
// CHECK-NEXT:  }
// CHECK-NOT:   @negate(
// CHECK:       tir.prim_func @public_negate(
func.func private @twice_negated(%data: tensor<4xf32>) -> tensor<4xf32> attributes {relex.mine, relex.primitive} {
  %0 = relex.call_tir @negate(%data) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = relex.call_tir @public_negate(%0) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %1 : tensor<4xf32>
}
tir.prim_func private @negate(%X: memref<4xf32>) outs(%Y: memref<4xf32>) attributes {tir.noalias, tir.op_pattern = "elementwise"} {
  tir.for %i @i in (4) {
    tir.block @negate (%v: spatial<4> = %i) {
      %x = memref.load %X[%v] : memref<4xf32>
      %y = arith.negf %x : f32
      memref.store %y, %Y[%v] : memref<4xf32>
    }
  }
}
tir.prim_func @public_negate(%X: memref<4xf32>) outs(%Z: memref<4xf32>) attributes {tir.noalias, tir.op_pattern = "elementwise"} {
  tir.for %i @i in (4) {
    tir.block @negate (%v: spatial<4> = %i) {
      %x = memref.load %X[%v] : memref<4xf32>
      %y = arith.negf %x : f32
      memref.store %y, %Z[%v] : memref<4xf32>
    }
  }
}

// -----

// Buffers of a part that may share memory are not said to be apart. Several results, some of them returned twice, or
// not computed at all; constants and dataflow blocks inside; argument attributes.
// CHECK-LABEL: func.func @results(
// CHECK-NEXT:    %c = relex.constant dense<[1.0, 2.0]>
// CHECK-NEXT:    %0, %1, %2, %3 = relex.call_tir @group(%x, %c)
// CHECK:       tir.prim_func private @group(%a: memref<2xf32> {relex.name = "data"}, %c: memref<2xf32>) outs(%Y: memref<2xf32>, %{{.+}}: memref<2xf32>, %{{.+}}: memref<2xf32>, %{{.+}}: memref<2xf32>) {
// CHECK:         tir.block @B ()
// CHECK-NEXT:      %x = memref.load %a
// CHECK-NEXT:      %w = memref.load %c
// CHECK:           memref.store %{{.+}}, %Y[
// CHECK:         "memref.copy"(%Y, %
// CHECK-NEXT:    "memref.copy"(%a,
// CHECK-NEXT:    "memref.copy"(%c,
func.func @results(%x: tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) {
  %0, %1, %2, %3 = relex.call @group(%x) : (tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>)
  func.return %0, %1, %2, %3 : tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>
}
func.func private @group(%a: tensor<2xf32> {relex.name = "data"}) -> (tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) attributes {relex.primitive} {
  %c = relex.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %r = relex.dataflow -> tensor<2xf32> {
    %d = relex.constant dense<[1.0, 2.0]> : tensor<2xf32>
    %0 = relex.call_tir @first(%a, %d) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
    relex.output %0 : tensor<2xf32>
  }
  func.return %r, %r, %a, %c : tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>
}
tir.prim_func private @first(%X: memref<2xf32>, %W: memref<2xf32>) outs(%Y: memref<2xf32>) {
  %c0 = arith.constant 0 : index
  tir.block @B () {
    %x = memref.load %X[%c0] : memref<2xf32>
    %w = memref.load %W[%c0] : memref<2xf32>
    %y = arith.addf %x, %w : f32
    memref.store %y, %Y[%c0] : memref<2xf32>
  }
}

// -----

// A group that calls a group.
// CHECK-LABEL: func.func @nested(
// CHECK-NEXT:    relex.call_tir @outer(%x)
// CHECK:       tir.prim_func private @outer(%x: memref<f32>) outs(%Y: memref<f32>) attributes {tir.noalias} {
// CHECK-NEXT:    %Y_1 = tir.alloc_buffer : memref<f32>
// CHECK-NEXT:    %Y_2 = tir.alloc_buffer : memref<f32>
// CHECK-NEXT:    tir.block @B () {
// CHECK:         tir.block @B1 () {
// CHECK:         tir.block @B2 () {
// CHECK-NOT:   tir.prim_func private @step(
func.func @nested(%x: tensor<f32>) -> tensor<f32> {
  %0 = relex.call @outer(%x) : (tensor<f32>) -> tensor<f32>
  func.return %0 : tensor<f32>
}
func.func private @outer(%x: tensor<f32>) -> tensor<f32> attributes {relex.primitive} {
  %0 = relex.call @inner(%x) : (tensor<f32>) -> tensor<f32>
  %1 = relex.call_tir @step(%0) : (tensor<f32>) -> tensor<f32>
  func.return %1 : tensor<f32>
}
func.func private @inner(%x: tensor<f32>) -> tensor<f32> attributes {relex.primitive} {
  %0 = relex.call_tir @step(%x) : (tensor<f32>) -> tensor<f32>
  %1 = relex.call_tir @step(%0) : (tensor<f32>) -> tensor<f32>
  func.return %1 : tensor<f32>
}
tir.prim_func private @step(%X: memref<f32>) outs(%Y: memref<f32>) attributes {tir.noalias} {
  tir.block @B () {
    %x = memref.load %X[] : memref<f32>
    memref.store %x, %Y[] : memref<f32>
  }
}

// -----

// Sizes of local buffers are computed in the loop function, sizes of results by the callers.
// CHECK-LABEL: func.func @dynamic_sizes(
// CHECK-NEXT:    %[[C0:.+]] = arith.constant 0 : index
// CHECK-NEXT:    %[[N:.+]] = tensor.dim %x, %[[C0]]
// CHECK-NEXT:    %{{.+}} = relex.call_tir @chain(%x) sizes(%[[N]]) : (tensor<?x2xf32>) -> tensor<?x2xf32>
// CHECK:       tir.prim_func private @chain(%a: memref<?x2xf32>) outs(%Y: memref<?x2xf32>) {
// CHECK-NEXT:    %c0 = arith.constant 0 : index
// CHECK-NEXT:    %n = memref.dim %a, %c0 : memref<?x2xf32>
// CHECK-NEXT:    %Y_1 = tir.alloc_buffer sizes(%n) : memref<?x2xf32>
// CHECK:         %m = memref.dim %Y_1, %c0
func.func @dynamic_sizes(%x: tensor<?x2xf32>) -> tensor<?x2xf32> {
  %0 = relex.call @chain(%x) : (tensor<?x2xf32>) -> tensor<?x2xf32>
  func.return %0 : tensor<?x2xf32>
}
func.func private @chain(%a: tensor<?x2xf32>) -> tensor<?x2xf32> attributes {relex.primitive} {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %a, %c0 : tensor<?x2xf32>
  %0 = relex.call_tir @relu(%a) sizes(%n) : (tensor<?x2xf32>) -> tensor<?x2xf32>
  %m = tensor.dim %0, %c0 : tensor<?x2xf32>
  %1 = relex.call_tir @relu(%0) sizes(%m) : (tensor<?x2xf32>) -> tensor<?x2xf32>
  func.return %1 : tensor<?x2xf32>
}
tir.prim_func private @relu(%X: memref<?x2xf32>) outs(%Y: memref<?x2xf32>) {
  %c0 = arith.constant 0 : index
  %n = memref.dim %X, %c0 : memref<?x2xf32>
  tir.for %i in (%n) {
    tir.block @B (%v: spatial<%n> = %i) {
      %x = memref.load %X[%v, %c0] : memref<?x2xf32>
      memref.store %x, %Y[%v, %c0] : memref<?x2xf32>
    }
  }
}

// -----

// Library functions do not become loops, nor does what never ends, or what other calls than `relex.call` need.
// CHECK-LABEL: func.func @left_alone(
// CHECK-NEXT:    %0 = relex.call @library(
// CHECK-NEXT:    %1 = relex.call @called(
// CHECK-NEXT:    %2 = func.call @called(
// CHECK-LABEL: func.func private @called(
// CHECK-LABEL: func.func private @library(
// CHECK-LABEL: func.func private @calls_itself(
func.func @left_alone(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = relex.call @library(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = relex.call @called(%0) : (tensor<4xf32>) -> tensor<4xf32>
  %2 = func.call @called(%1) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %2 : tensor<4xf32>
}
func.func private @called(%x: tensor<4xf32>) -> tensor<4xf32> attributes {relex.primitive} {
  %0 = relex.call_tir @copy(%x) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}
tir.prim_func private @copy(%X: memref<4xf32>) outs(%Y: memref<4xf32>) {
  tir.for %i in (4) {
    tir.block @B (%v: spatial<4> = %i) {
      %x = memref.load %X[%v] : memref<4xf32>
      memref.store %x, %Y[%v] : memref<4xf32>
    }
  }
}
func.func private @library(%x: tensor<4xf32>) -> tensor<4xf32> attributes {relex.primitive} {
  %0 = relex.call_dps_packed "env.f"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}
func.func private @calls_itself(%x: tensor<4xf32>) -> tensor<4xf32> attributes {relex.primitive} {
  %0 = relex.call @calls_itself(%x) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}

// -----

// Equal private groups become one function, the function of the first; a group that differs stays another one, and so
// does one that others may call.
// CHECK-LABEL: func.func @layers(
// CHECK-NEXT:    %0 = relex.call_tir @layer0(%x)
// CHECK-NEXT:    %1 = relex.call_tir @layer0(%0)
// CHECK-NEXT:    %2 = relex.call_tir @layer2(%1)
// CHECK-NEXT:    %3 = relex.call_tir @layer3(%2)
// CHECK-NEXT:    func.return %3
// CHECK:       tir.prim_func private @layer0(
// CHECK-NOT:   @layer1
// CHECK:       tir.prim_func @layer3(
// CHECK:       tir.prim_func private @layer2({{.*}} attributes {tir.noalias, relex.mine} {
func.func @layers(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = relex.call @layer0(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = relex.call @layer1(%0) : (tensor<4xf32>) -> tensor<4xf32>
  %2 = relex.call @layer2(%1) : (tensor<4xf32>) -> tensor<4xf32>
  %3 = relex.call @layer3(%2) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %3 : tensor<4xf32>
}
func.func private @layer0(%a: tensor<4xf32>) -> tensor<4xf32> attributes {relex.primitive} {
  %0 = relex.call_tir @negate(%a) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = relex.call_tir @negate(%0) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %1 : tensor<4xf32>
}
func.func private @layer1(%b: tensor<4xf32>) -> tensor<4xf32> attributes {relex.primitive} {
  %0 = relex.call_tir @negate(%b) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = relex.call_tir @negate(%0) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %1 : tensor<4xf32>
}
func.func @layer3(%b: tensor<4xf32>) -> tensor<4xf32> attributes {relex.primitive} {
  %0 = relex.call_tir @negate(%b) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = relex.call_tir @negate(%0) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %1 : tensor<4xf32>
}
func.func private @layer2(%b: tensor<4xf32>) -> tensor<4xf32> attributes {relex.mine, relex.primitive} {
  %0 = relex.call_tir @negate(%b) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = relex.call_tir @negate(%0) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %1 : tensor<4xf32>
}
tir.prim_func private @negate(%X: memref<4xf32>) outs(%Y: memref<4xf32>) attributes {tir.noalias, tir.op_pattern = "elementwise"} {
  tir.for %i @i in (4) {
    tir.block @negate (%v: spatial<4> = %i) {
      %x = memref.load %X[%v] : memref<4xf32>
      %y = arith.negf %x : f32
      memref.store %y, %Y[%v] : memref<4xf32>
    }
  }
}

// -----

// A strict part keeps its rounding in what it is fused with.
// CHECK: tir.prim_func private @partly_strict(%x: memref<2xf32>) outs(%Y: memref<2xf32>) attributes {relex.strict} {
func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = relex.call @partly_strict(%x) : (tensor<2xf32>) -> tensor<2xf32>
  func.return %0 : tensor<2xf32>
}
func.func private @partly_strict(%x: tensor<2xf32>) -> tensor<2xf32> attributes {relex.primitive} {
  %0 = relex.call_tir @negate(%x) : (tensor<2xf32>) -> tensor<2xf32>
  %1 = relex.call_tir @square(%0) : (tensor<2xf32>) -> tensor<2xf32>
  func.return %1 : tensor<2xf32>
}
tir.prim_func private @negate(%X: memref<2xf32>) outs(%Y: memref<2xf32>) attributes {tir.noalias} {
  tir.for %i in (2) {
    tir.block @Y (%vi: spatial<2> = %i) {
      %x = memref.load %X[%vi] : memref<2xf32>
      %y = arith.negf %x : f32
      memref.store %y, %Y[%vi] : memref<2xf32>
    }
  }
}
tir.prim_func private @square(%X: memref<2xf32>) outs(%Y: memref<2xf32>) attributes {relex.strict} {
  tir.for %i in (2) {
    tir.block @Y (%vi: spatial<2> = %i) {
      %x = memref.load %X[%vi] : memref<2xf32>
      %y = arith.mulf %x, %x : f32
      memref.store %y, %Y[%vi] : memref<2xf32>
    }
  }
}

// -----
// A buffer is as long as the loops that write it say, even where its size is known to be a number.
// CHECK-LABEL: tir.prim_func private @one_negated(
// CHECK:         %[[SIZE:.+]] = memref.dim %x, %{{.+}} : memref<?xf32>
// CHECK-NEXT:    %[[BUFFER:.+]] = tir.alloc_buffer sizes(%[[SIZE]]) : memref<?xf32>
// CHECK:         tir.for %i @i in (%n) {
// CHECK:           memref.store %{{.+}}, %[[BUFFER]][%v] : memref<?xf32>
func.func @main(%x: tensor<?xf32> {relex.dims = ["1"]}) -> tensor<f32> {
  %0 = relex.call @one_negated(%x) : (tensor<?xf32>) -> tensor<f32>
  func.return %0 : tensor<f32>
}
func.func private @one_negated(%x: tensor<?xf32> {relex.dims = ["1"]}) -> tensor<f32> attributes {relex.primitive} {
  %c1 = arith.constant 1 : index
  %0 = relex.call_tir @negate(%x) sizes(%c1) : (tensor<?xf32>) -> tensor<?xf32>
  %1 = relex.call_tir @squeeze(%0) : (tensor<?xf32>) -> tensor<f32>
  func.return %1 : tensor<f32>
}
tir.prim_func private @negate(%x: memref<?xf32> {relex.dims = ["n"]}) outs(%y: memref<?xf32> {relex.dims = ["n"]}) {
  %c0 = arith.constant 0 : index
  %n = memref.dim %x, %c0 : memref<?xf32>
  tir.for %i @i in (%n) {
    tir.block @negate (%v: spatial<%n> = %i) {
      %0 = memref.load %x[%v] : memref<?xf32>
      %1 = arith.negf %0 : f32
      memref.store %1, %y[%v] : memref<?xf32>
    }
  }
}
tir.prim_func private @squeeze(%x: memref<?xf32> {relex.dims = ["1"]}) outs(%y: memref<f32>) {
  tir.block @squeeze () {
    %c0 = arith.constant 0 : index
    %0 = memref.load %x[%c0] : memref<?xf32>
    memref.store %0, %y[] : memref<f32>
  }
}
