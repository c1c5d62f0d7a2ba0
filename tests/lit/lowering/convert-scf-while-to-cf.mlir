// RUN: relex-opt %s -p convert-scf-while-to-cf | filecheck %s
// RUN: relex-opt %s -p convert-scf-while-to-cf,convert-scf-to-cf,convert-to-llvm -o /dev/null

// CHECK-LABEL: func.func @collatz
// CHECK-SAME: (%n: index) -> index {
func.func @collatz(%n: index) -> index {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %two = arith.constant 2 : index
  %three = arith.constant 3 : index
  // CHECK:      cf.br ^[[BEFORE:.+]](%n, %zero : index, index)
  // CHECK-NEXT: ^[[BEFORE]](%[[I:.+]]: index, %[[STEPS:.+]]: index):
  %last, %steps = scf.while (%i = %n, %s = %zero) : (index, index) -> (index, index) {
    // CHECK-NEXT: [[MORE:%.+]] = arith.cmpi ne, %[[I]], %one : index
    %more = arith.cmpi ne, %i, %one : index
    // CHECK-NEXT: cf.cond_br [[MORE]], ^[[AFTER:.+]](%[[I]], %[[STEPS]] : index, index), ^[[END:.+]]
    scf.condition(%more) %i, %s : index, index
  } do {
  // CHECK-NEXT: ^[[AFTER]](%{{.+}}: index, %{{.+}}: index):
  ^bb0(%j: index, %t: index):
    %rest = arith.remui %j, %two : index
    %odd = arith.cmpi ne, %rest, %zero : index
    // What is inside is converted, too.
    // CHECK: cf.cond_br %odd
    // CHECK-NOT: scf.
    %next = scf.if %odd -> (index) {
      %x = arith.muli %j, %three : index
      %y = arith.addi %x, %one : index
      scf.yield %y : index
    } else {
      %z = arith.divui %j, %two : index
      scf.yield %z : index
    }
    %u = arith.addi %t, %one : index
    // CHECK: cf.br ^[[BEFORE]](%{{.+}}, %{{.+}} : index, index)
    scf.yield %next, %u : index, index
  }
  // CHECK-NEXT: ^[[END]]:
  // CHECK-NEXT: func.return %[[STEPS]] : index
  func.return %steps : index
}

// And so is what is around.
// CHECK-LABEL: func.func @nest
// CHECK-NOT: scf.
func.func @nest(%n: index) -> index {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %sum = scf.for %i = %zero to %n step %one iter_args(%acc = %zero) -> (index) {
    %count = scf.while (%k = %zero) : (index) -> index {
      %less = arith.cmpi slt, %k, %i : index
      %never = scf.while (%l = %k) : (index) -> index {
        %no = arith.constant false
        scf.condition(%no) %l : index
      } do {
      ^bb0(%m: index):
        scf.yield %m : index
      }
      scf.condition(%less) %never : index
    } do {
    ^bb0(%k: index):
      %next = arith.addi %k, %one : index
      scf.yield %next : index
    }
    %all = arith.addi %acc, %count : index
    scf.yield %all : index
  }
  func.return %sum : index
}

// CHECK-LABEL: func.func @region
func.func @region(%c: i1, %a: i32, %b: i32) -> i32 {
  // CHECK:      cf.br ^[[FIRST:.+]]
  // CHECK-NEXT: ^[[FIRST]]:
  // CHECK-NEXT: cf.cond_br %c, ^{{.+}}, ^{{.+}}
  // CHECK:      cf.br ^[[LAST:.+]](%a : i32)
  // CHECK:      cf.br ^[[LAST]](%b : i32)
  // CHECK:      ^[[LAST]](%[[X:.+]]: i32):
  // CHECK-NEXT: func.return %[[X]] : i32
  %x = scf.execute_region -> i32 {
    cf.cond_br %c, ^then, ^else
  ^then:
    scf.yield %a : i32
  ^else:
    scf.yield %b : i32
  }
  func.return %x : i32
}

// What LLVM is to do with a loop goes to the branch that closes it.
// CHECK-LABEL: func.func @annotated
func.func @annotated(%n: index, %x: memref<4xf32>, %a: f32) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %four = arith.constant 4 : index
  // CHECK:      cf.br ^[[OUTER:.+]](%zero : index)
  // CHECK-NEXT: ^[[OUTER]](
  scf.for %i = %zero to %n step %one {
    // CHECK:      cf.br ^[[INNER:.+]](%zero : index)
    // CHECK-NEXT: ^[[INNER]](
    scf.for %j = %zero to %four step %one {
      %more = arith.cmpi ult, %i, %j : index
      // CHECK: cf.cond_br %more
      scf.if %more {
        memref.store %a, %x[%j] : memref<4xf32>
      }
    // CHECK: cf.br ^[[INNER]](%{{.+}} : index) {llvm.loop_annotation = #llvm.loop_annotation<unroll = <full = true>>}
    } {llvm.loop_annotation = #llvm.loop_annotation<unroll = <full = true>>}
    // CHECK: cf.br ^[[OUTER]](%{{.+}} : index)
    // CHECK-NOT: annotation
  }
  // CHECK: func.return
  func.return
}

// A function without these is left to the next pass.
// CHECK-LABEL: func.func @other
func.func @other(%n: index) {
  // CHECK: scf.for
  scf.for %i = %n to %n step %n {
    scf.yield
  }
  func.return
}
