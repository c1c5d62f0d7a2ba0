// RUN: relex-opt %s -p convert-cf-to-llvm | filecheck %s

// CHECK-LABEL: func.func @loop
func.func @loop(%n: index, %a: memref<?xf32>) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  // CHECK: llvm.br ^head(%{{.+}}, %{{.+}} : i64, !llvm.struct<(!llvm.ptr, !llvm.ptr, i64, !llvm.array<1 x i64>, !llvm.array<1 x i64>)>)
  cf.br ^head(%zero, %a : index, memref<?xf32>)
// CHECK-NEXT: ^head([[I:%.+]]: i64, [[B:%.+]]: !llvm.struct
^head(%i: index, %b: memref<?xf32>):
  // CHECK-DAG: [[INDEX:%.+]] = builtin.unrealized_conversion_cast [[I]] : i64 to index
  // CHECK-DAG: [[BUFFER:%.+]] = builtin.unrealized_conversion_cast [[B]] : !llvm.struct<{{.+}}> to memref<?xf32>
  // CHECK: [[MORE:%.+]] = arith.cmpi slt, [[INDEX]], %n : index
  %more = arith.cmpi slt, %i, %n : index
  // CHECK-NEXT: llvm.cond_br [[MORE]], ^body, ^exit
  cf.cond_br %more, ^body, ^exit
^body:
  // CHECK: memref.load [[BUFFER]][[[INDEX]]] : memref<?xf32>
  %x = memref.load %b[%i] : memref<?xf32>
  // CHECK-NEXT: [[NEXT:%.+]] = arith.addi [[INDEX]], %{{.+}} : index
  // CHECK-NEXT: [[NEW:%.+]] = builtin.unrealized_conversion_cast [[NEXT]] : index to i64
  %j = arith.addi %i, %one : index
  // A value that only passes through is not cast there and back.
  // CHECK-NEXT: llvm.br ^head([[NEW]], [[B]] :
  cf.br ^head(%j, %b : index, memref<?xf32>)
^exit:
  // CHECK: func.return
  func.return
}

// CHECK-LABEL: func.func @switch
func.func @switch(%flag: i32, %x: index) -> index {
  // CHECK-NEXT: [[X:%.+]] = builtin.unrealized_conversion_cast %x : index to i64
  // CHECK-NEXT: llvm.switch %flag : i32, ^[[END:.+]]([[X]] : i64) [
  // CHECK-NEXT:   5: ^[[OTHER:.+]],
  // CHECK-NEXT:   -7: ^[[END]]([[X]] : i64)
  // CHECK-NEXT: ]
  cf.switch %flag : i32, [
    default: ^end(%x : index),
    5: ^other,
    -7: ^end(%x : index)
  ]
^other:
  cf.br ^end(%x : index)
^end(%y: index):
  func.return %y : index
}

// Says why it stops the program.
// CHECK-LABEL: func.func @assert
func.func @assert(%holds: i1) {
  // CHECK-NEXT: llvm.cond_br %holds, ^[[HOLDS:.+]], ^[[FAILS:.+]]
  // CHECK-NEXT: ^[[HOLDS]]:
  // CHECK-NEXT: func.return
  // CHECK-NEXT: ^[[FAILS]]:
  // CHECK-NEXT: [[TEXT:%.+]] = llvm.mlir.addressof @relex.message.6e6f : !llvm.ptr
  // CHECK-NEXT: llvm.call @puts([[TEXT]]) : (!llvm.ptr) -> ()
  // CHECK-NEXT: llvm.call @abort() : () -> ()
  // CHECK-NEXT: llvm.unreachable
  cf.assert %holds, "no"
  func.return
}

// CHECK-LABEL: func.func @annotated
func.func @annotated(%c: i1) {
  cf.br ^loop
^loop:
  cf.cond_br %c, ^again, ^exit
^again:
  // CHECK: llvm.br ^loop {loop_annotation = #llvm.loop_annotation<unroll = <disable = true>>}
  cf.br ^loop {llvm.loop_annotation = #llvm.loop_annotation<unroll = <disable = true>>}
^exit:
  func.return
}
