// What is no LLVM IR.
// ARGS: -t llvm

// expected-error@+1:1 {{'func.func' op expected ops of the LLVM dialect, found 'func.func'; run relex-pipeline{to=llvm} first}}
func.func @f() {
  func.return
}

// -----

llvm.func @f() -> !llvm.struct<(i32, f32)> {
// expected-error@+1:3 {{'func.call' op '@f' does not reference a valid function}}
  func.call @f() : () -> ()
// expected-error@+1:3 {{'llvm.return' op expected operands (!llvm.struct<(i32, f32)>), found ()}}
  llvm.return
}
