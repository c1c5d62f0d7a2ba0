// What LLVM is to do with a loop, from the LLVM dialect to LLVM IR, and what it then does.

// RUN: relex-opt %s -t llvm | filecheck %s --check-prefix=LLVM
// RUN: relex-opt %s -p "set-target{triple=x86_64-unknown-linux-gnu cpu=haswell}" -t asm | filecheck %s --check-prefix=ASM

// LLVM-LABEL: define void @"unrolled"
// LLVM: br label %{{.+}}, !llvm.loop ![[FIRST:.+]]
// LLVM-LABEL: define void @"rolled"
// LLVM: br label %{{.+}}, !llvm.loop ![[SECOND:.+]]
// LLVM-LABEL: define void @"by_four"
// LLVM: br label %{{.+}}, !llvm.loop ![[THIRD:.+]]
// LLVM-DAG: ![[FOUR:.+]] = !{ !"llvm.loop.unroll.count", i32 4 }
// LLVM-DAG: ![[THIRD]] = !{ ![[THIRD]], ![[FOUR]] }
// LLVM-DAG: ![[FULL:.+]] = !{ !"llvm.loop.unroll.full" }
// LLVM-DAG: ![[FIRST]] = !{ ![[FIRST]], ![[FULL]] }
// LLVM-DAG: ![[SECOND]] = !{ ![[SECOND]], !{{.+}} }

// ASM-LABEL: unrolled:
// ASM-COUNT-40: vsqrtsd
// ASM-NOT: vsqrtsd
// ASM: retq
// ASM-LABEL: rolled:
// ASM: vsqrtsd
// ASM-NOT: vsqrtsd
// ASM: retq
// ASM-LABEL: by_four:
// ASM-COUNT-4: vsqrtsd
// ASM-NOT: vsqrtsd
// ASM: retq
llvm.func @unrolled(%p: !llvm.ptr) {
  %zero = llvm.mlir.constant(0) : i64
  %one = llvm.mlir.constant(1) : i64
  %end = llvm.mlir.constant(40) : i64
  llvm.br ^loop(%zero : i64)
^loop(%i: i64):
  %more = llvm.icmp "slt" %i, %end : i64
  llvm.cond_br %more, ^body, ^exit
^body:
  %0 = llvm.load %p : !llvm.ptr -> f64
  %1 = llvm.intr.sqrt(%0) : (f64) -> f64
  llvm.store %1, %p : f64, !llvm.ptr
  %next = llvm.add %i, %one : i64
  llvm.br ^loop(%next : i64) {loop_annotation = #llvm.loop_annotation<unroll = <full = true>>}
^exit:
  llvm.return
}

llvm.func @rolled(%p: !llvm.ptr) {
  %zero = llvm.mlir.constant(0) : i64
  %one = llvm.mlir.constant(1) : i64
  %end = llvm.mlir.constant(4) : i64
  llvm.br ^loop(%zero : i64)
^loop(%i: i64):
  %more = llvm.icmp "slt" %i, %end : i64
  llvm.cond_br %more, ^body, ^exit
^body:
  %0 = llvm.load %p : !llvm.ptr -> f64
  %1 = llvm.intr.sqrt(%0) : (f64) -> f64
  llvm.store %1, %p : f64, !llvm.ptr
  %next = llvm.add %i, %one : i64
  llvm.br ^loop(%next : i64) {loop_annotation = #llvm.loop_annotation<unroll = <disable = true>>}
^exit:
  llvm.return
}

llvm.func @by_four(%p: !llvm.ptr) {
  %zero = llvm.mlir.constant(0) : i64
  %one = llvm.mlir.constant(1) : i64
  %end = llvm.mlir.constant(40) : i64
  llvm.br ^loop(%zero : i64)
^loop(%i: i64):
  %more = llvm.icmp "slt" %i, %end : i64
  llvm.cond_br %more, ^body, ^exit
^body:
  %0 = llvm.load %p : !llvm.ptr -> f64
  %1 = llvm.intr.sqrt(%0) : (f64) -> f64
  llvm.store %1, %p : f64, !llvm.ptr
  %next = llvm.add %i, %one : i64
  llvm.br ^loop(%next : i64) {loop_annotation = #llvm.loop_annotation<unroll = <count = 4 : i32>>}
^exit:
  llvm.return
}
