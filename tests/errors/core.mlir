// Ops of the upstream dialects that do not verify.
// ARGS:

func.func @f() -> i32 {
// expected-error@+1:3 {{'func.return' op expected arguments to have the same types as the function output types: expected [i32], got []}}
  func.return
}

// -----

func.func @f(%x: i32) -> f32 {
// expected-error@+1:3 {{'func.return' op expected arguments to have the same types as the function output types: expected [f32], got [i32]}}
  func.return %x : i32
}

// -----

func.func @f(%x: i32) {
// expected-error@+1:8 {{'arith.addi' op operation arith.addi terminates block in single-block region but is not a terminator}}
  %y = arith.addi %x, %x : i32
}

// -----

func.func @f() {
// expected-error@+1:3 {{'func.return' op 'func.return' must be the last operation in its parent block}}
  func.return
  func.return
}

// -----

// expected-error@+1:1 {{'func.return' op 'func.return' expects parent op 'func.func'}}
func.return

// -----

func.func @f(%x: f32) {
// expected-error@+1:8 {{'arith.addi' op unexpected attribute f32}}
  %y = arith.addi %x, %x : f32
  %z = arith.andi %x, %x : f32
  func.return
}

// -----

func.func @f(%x: i32, %y: i64) {
// expected-error@+1:8 {{'arith.addi' op operand 'rhs' at position 1 does not verify: attribute i32 expected from variable 'T', but got i64}}
  %z = "arith.addi"(%x, %y) : (i32, i64) -> i32
  func.return
}

// -----

func.func @f(%x: i32) {
// expected-error@+1:8 {{'arith.extsi' op destination bit-width must be larger than the input bit-width}}
  %y = arith.extsi %x : i32 to i16
  func.return
}

// -----

func.func @f(%x: i32) {
// expected-error@+1:8 {{'arith.cmpi' op unknown comparison mnemonic: greater}}
  %y = arith.cmpi greater, %x, %x : i32
  func.return
}

// -----

func.func @f(%x: f32) {
// expected-error@+1:21 {{operand is used with type i1, but has been previously used or defined with type f32}}
  %y = arith.select %x, %x, %x : f32
  func.return
}

// -----

func.func @f() {
// expected-error@+1:8 {{'arith.constant' op expected property 'value' in operation 'arith.constant'}}
  %c = "arith.constant"() : () -> i32
  func.return
}

// -----

func.func @f() {
// expected-error@+1:8 {{'arith.constant' op attribute i32 expected from variable 'T', but got i64}}
  %c = "arith.constant"() {value = 1 : i64} : () -> i32
  func.return
}

// -----

func.func @f(%m: memref<4xf32>, %i: index) {
// expected-error@+1:8 {{'memref.load' op expected an index for each dimension}}
  %x = memref.load %m[%i, %i] : memref<4xf32>
  func.return
}

// -----

func.func @f(%m: memref<4xf32>, %i: index, %x: f64) {
// expected-error@+1:16 {{operand is used with type f32, but has been previously used or defined with type f64}}
  memref.store %x, %m[%i] : memref<4xf32>
  func.return
}

// -----

func.func @f(%m: memref<4xf32>, %i: index, %x: f64) {
// expected-error@+1:3 {{'memref.store' op operand 'memref' at position 1 does not verify: attribute f64 expected from variable 'T', but got f32}}
  "memref.store"(%x, %m, %i) : (f64, memref<4xf32>, index) -> ()
  func.return
}

// -----

func.func @f() {
// expected-error@+1:8 {{'memref.alloc' op dimension operand count does not equal memref dynamic dimension count}}
  %m = memref.alloc() : memref<?xf32>
  func.return
}

// -----

func.func @f(%n: index) {
// expected-error@+1:8 {{'memref.alloc' op dimension operand count does not equal memref dynamic dimension count}}
  %m = memref.alloc(%n) : memref<4xf32>
  func.return
}

// -----

func.func @f() {
// expected-error@+1:8 {{'memref.get_global' op expected a symbol that is defined, found @none}}
  %m = memref.get_global @none : memref<4xf32>
  func.return
}

// -----

func.func @f(%i: index, %x: f32) {
// expected-error@+1:8 {{'scf.for' op expected a terminator at the end of its block, found an empty block}}
  %r = scf.for %j = %i to %i step %i iter_args(%a = %x) -> (f32) {
  }
  func.return
}

// -----

func.func @f(%i: index, %x: f32, %y: i32) {
// expected-error@+1:8 {{'scf.for' op expected yield arg #0 to be f32, but got i32. scf.yield of scf.for must match loop-carried variable types}}
  %r = scf.for %j = %i to %i step %i iter_args(%a = %x) -> (f32) {
    scf.yield %y : i32
  }
  func.return
}

// -----

func.func @f(%i: f32) {
// expected-error@+1:16 {{operand is used with type index, but has been previously used or defined with type f32}}
  scf.for %j = %i to %i step %i {
  }
  func.return
}

// -----

func.func @f(%c: i1, %x: f32) -> f32 {
// expected-error@+1:8 {{'scf.if' op expected an else region, as there are results}}
  %y = scf.if %c -> (f32) {
    scf.yield %x : f32
  }
  func.return %y : f32
}

// -----

func.func @f(%c: i32) {
// expected-error@+1:10 {{operand is used with type i1, but has been previously used or defined with type i32}}
  scf.if %c {
  }
  func.return
}

// -----

func.func @f(%x: f32) {
// expected-error@+1:3 {{'cf.br' op expected operands (i32) for successor 0, found (f32)}}
  cf.br ^bb1(%x : f32)
^bb1(%y: i32):
  func.return
}

// -----

func.func @f(%c: i1) {
// expected-error@+1:3 {{'cf.cond_br' op expected operands (i32) for successor 1, found ()}}
  cf.cond_br %c, ^bb1, ^bb2
^bb1:
  func.return
^bb2(%x: i32):
  func.return
}

// -----

llvm.func @f(%x: i32) -> f32 {
// expected-error@+1:3 {{'llvm.return' op expected operands (f32), found (i32)}}
  llvm.return %x : i32
}

// -----

llvm.func @f(%x: i32) {
// expected-error@+1:17 {{operand is used with type f32, but has been previously used or defined with type i32}}
  %y = llvm.add %x, %x : f32
  llvm.return
}

// -----

// expected-error@+1:1 {{'llvm.func' op LLVM function argument #0 has incompatible type 'memref<4xf32>'}}
llvm.func @f(%x: memref<4xf32>) {
  llvm.return
}

// -----

func.func @f(%x: vector<4xf32>, %y: vector<8xf32>) {
// expected-error@+1:8 {{'arith.addf' op operand 'rhs' at position 1 does not verify: attribute vector<4xf32> expected from variable 'T', but got vector<8xf32>}}
  %z = "arith.addf"(%x, %y) : (vector<4xf32>, vector<8xf32>) -> vector<4xf32>
  func.return
}

// -----

func.func @f() {
  %x = arith.constant 1 : i32
// expected-error@+1:8 {{'arith.addf' op operand 'lhs' at position 0 does not verify: Unexpected attribute i32}}
  %y = "arith.addf"(%x, %x) : (i32, i32) -> i32
// expected-error@+1:8 {{'arith.mulf' op operand 'lhs' at position 0 does not verify: Unexpected attribute i32}}
  %z = "arith.mulf"(%x, %x) : (i32, i32) -> i32
  func.return
}

// -----

func.func @f(%c: i1, %x: f32) -> f32 {
  %y = scf.if %c -> (f32) {
    scf.yield %x : f32
  } else {
// expected-error@+1:5 {{'scf.yield' op expected operands (f32), found (i1)}}
    scf.yield %c : i1
  }
  func.return %y : f32
}

// -----

func.func @f(%x: f32) -> f32 {
  %y = scf.while (%a = %x) : (f32) -> f32 {
    %c = arith.constant true
// expected-error@+1:5 {{'scf.condition' op expected operands (f32) after the condition, found (i1)}}
    scf.condition(%c) %c : i1
  } do {
  ^bb0(%b: f32):
    scf.yield %b : f32
  }
  func.return %y : f32
}

// -----

"memref.global"() {sym_name = "g", sym_visibility = "private", type = memref<4xf32>, initial_value} : () -> ()
func.func @f() {
// expected-error@+1:8 {{'memref.get_global' op expected result type memref<4xf32>, found memref<5xf32>}}
  %m = memref.get_global @g : memref<5xf32>
  func.return
}

// -----

llvm.func @f() {
// expected-error@+1:8 {{'llvm.mlir.addressof' op expected a symbol that is defined, found @none}}
  %p = llvm.mlir.addressof @none : !llvm.ptr
  llvm.return
}

// -----

func.func @f(%i: i32, %x: f32) {
// expected-error@+1:3 {{'cf.switch' op expected operands (f32) for successor 1, found (i32)}}
  cf.switch %i : i32, [
    default: ^bb1(%x : f32),
    42: ^bb2(%i : i32)
  ]
^bb1(%a: f32):
  func.return
^bb2(%b: f32):
  func.return
}
