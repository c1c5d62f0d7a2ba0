// One compilation of a perceptron for batches of every size, stage by stage.
// RUN: env RELEX_OPT_FLAGS= relex-opt %s -p relex-pipeline{to=graph} | filecheck %s --check-prefix=GRAPH
// RUN: env RELEX_OPT_FLAGS= relex-opt %s -p infer-sizes,legalize-ops | filecheck %s --check-prefix=LOOPS
// RUN: relex-opt %s -p infer-sizes,legalize-ops,lower-call-tir,convert-tir-to-scf | filecheck %s --check-prefix=CORE
// RUN: env RELEX_OPT_FLAGS= relex-opt %s -p relex-pipeline{to=llvm} -t obj -o %t.o

// GRAPH: func.func @main(%x: tensor<?x24xf32> {relex.dims = ["x_d0", ""]}, %w0: tensor<16x24xf32>, {{.*}}) -> (tensor<?x10xf32> {relex.dims = ["x_d0", ""]}) {
// GRAPH-NEXT: relex.dense

// LOOPS:      func.func @main(%x: tensor<?x24xf32> {relex.dims = ["x_d0", ""]}, {{.*}}) -> (tensor<?x10xf32> {relex.dims = ["x_d0", ""]}) {
// LOOPS-NEXT:   %[[C0:.*]] = arith.constant 0 : index
// LOOPS-NEXT:   %[[N:.*]] = tensor.dim %x, %[[C0]] : tensor<?x24xf32>
// LOOPS-NEXT:   %h = relex.call_tir @dense(%x, %w0) sizes(%[[N]]) : (tensor<?x24xf32>, tensor<16x24xf32>) -> tensor<?x16xf32>
// LOOPS-NEXT:   %a = relex.call_tir @add(%h, %b0) sizes(%[[N]])
// LOOPS:      tir.prim_func private @dense(%x: memref<?x24xf32> {relex.dims = ["x_d0", ""]}, %w: memref<16x24xf32>) outs(%dense: memref<?x16xf32> {relex.dims = ["x_d0", ""]}) attributes {tir.noalias} {
// LOOPS-NEXT:   %[[C0:.*]] = arith.constant 0 : index
// LOOPS-NEXT:   %[[N:.*]] = memref.dim %x, %[[C0]] : memref<?x24xf32>
// LOOPS-NEXT:   tir.for %i0 @i0, %i1 @i1, %k @k in (%[[N]], 16, 24) {
// LOOPS-NEXT:     tir.block @dense (%vi0: spatial<%[[N]]> = %i0, %vi1: spatial<16> = %i1, %vk: reduce<24> = %k) {

// CORE:      func.func @main(%x: memref<?x24xf32> {relex.dims = ["x_d0", ""]}, {{.*}}, %out: memref<?x10xf32> {relex.dims = ["x_d0", ""]}) attributes {llvm.emit_c_interface} {
// CORE-NEXT:   %[[C0:.*]] = arith.constant 0 : index
// CORE-NEXT:   %[[N:.*]] = memref.dim %x, %[[C0]] : memref<?x24xf32>
// CORE-NEXT:   %h = memref.alloc(%[[N]]) {alignment = 64 : i64} : memref<?x16xf32>
// CORE-NEXT:   func.call @dense(%x, %w0, %h)
// CORE:        func.call @add1({{.*}}, %b1, %out)

func.func @main(%x: tensor<?x24xf32>, %w0: tensor<16x24xf32>, %b0: tensor<16xf32>,
                %w1: tensor<10x16xf32>, %b1: tensor<10xf32>) -> tensor<?x10xf32> {
  %h = relex.dense %x, %w0 : (tensor<?x24xf32>, tensor<16x24xf32>) -> tensor<?x16xf32>
  %a = relex.add %h, %b0 : (tensor<?x16xf32>, tensor<16xf32>) -> tensor<?x16xf32>
  %r = relex.relu %a : (tensor<?x16xf32>) -> tensor<?x16xf32>
  %g = relex.dense %r, %w1 : (tensor<?x16xf32>, tensor<10x16xf32>) -> tensor<?x10xf32>
  %y = relex.add %g, %b1 : (tensor<?x10xf32>, tensor<10xf32>) -> tensor<?x10xf32>
  func.return %y : tensor<?x10xf32>
}

// Results of private functions are allocated by their callers; sizes that a callee knows better are cast.
// CORE:      func.func private @twice(%p: memref<?xf32> {relex.dims = ["p_d0"]}, %out: memref<?xf32> {relex.dims = ["2 * p_d0"]})
// CORE:      func.func @calls(%q: memref<?xf32> {relex.dims = ["3"]}, %out: memref<?xf32> {relex.dims = ["6"]})
// CORE:        %[[C6:.*]] = arith.constant 6 : index
// CORE:        %t = memref.alloc(%[[C6]])
// CORE-NEXT:   func.call @twice(%q, %t) : (memref<?xf32>, memref<?xf32>) -> ()
// CORE-NEXT:   %[[T:.*]] = "memref.cast"(%t) : (memref<?xf32>) -> memref<6xf32>
// CORE:        func.call @six(%[[T]], %{{.*}}) : (memref<6xf32>, memref<6xf32>) -> ()
// CORE:      func.func private @dense(%x: memref<?x24xf32> {relex.dims = ["x_d0", ""], llvm.noalias}
// CORE:        %[[N:.*]] = memref.dim %x, %{{.*}} : memref<?x24xf32>
// CORE-NEXT:   scf.for %i0 = %c0 to %[[N]] step %c1 {
func.func private @twice(%p: tensor<?xf32>) -> tensor<?xf32> {
  %t = relex.concat %p, %p : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
  func.return %t : tensor<?xf32>
}
func.func @calls(%q: tensor<?xf32>) -> tensor<?xf32> {
  %c6 = arith.constant 6 : index
  %t = func.call @twice(%q) : (tensor<?xf32>) -> tensor<?xf32>
  %s = relex.call_tir @six(%t) sizes(%c6) : (tensor<?xf32>) -> tensor<?xf32>
  func.return %s : tensor<?xf32>
}
tir.prim_func private @six(%X: memref<6xf32>) outs(%Y: memref<6xf32>) attributes {tir.noalias} {
  tir.for %i in (6) {
    tir.block @Y (%v: spatial<6> = %i) {
      %x = memref.load %X[%v] : memref<6xf32>
      memref.store %x, %Y[%v] : memref<6xf32>
    }
  }
}
