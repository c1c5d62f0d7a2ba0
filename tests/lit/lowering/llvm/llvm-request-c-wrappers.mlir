// RUN: relex-opt %s -p llvm-request-c-wrappers | filecheck %s

// CHECK: func.func @f() attributes {llvm.emit_c_interface} {
func.func @f() {
  func.return
}

// CHECK: func.func private @outside(f32) -> () attributes {llvm.emit_c_interface}
func.func private @outside(f32)
