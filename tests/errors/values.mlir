// Values, blocks and symbols that are not there, or of another type.
// ARGS:

func.func @f(%x: i32) -> i32 {
// expected-error@+1:23 {{value %a is not defined}}
  %y = arith.addi %x, %a : i32
// expected-error@+1:19 {{value %b is not defined}}
  %z = arith.addi %b, %a : i32
  func.return %y : i32
}

// -----

// expected-error@+1:17 {{value %a is not defined}}
%0 = arith.addi %a, %a : i32

// -----

func.func @f(%x: i32) -> i32 {
// expected-error@+1:8 {{'arith.addi' op expected operands that are defined before, found %z}}
  %y = arith.addi %x, %z : i32
  %z = arith.addi %x, %x : i32
  func.return %y : i32
}

// -----

func.func @f(%x: i32) -> i32 {
// expected-error@+1:8 {{'arith.addi' op expected operands that are defined before, found %y}}
  %y = arith.addi %y, %x : i32
  func.return %y : i32
}

// -----

func.func @f(%x: i32) -> i64 {
  %y = arith.addi %x, %z : i32
// expected-error@+1:3 {{result %z is defined with type i64, but used with type i32}}
  %z = arith.constant 1 : i64
  func.return %z : i64
}

// -----

func.func @f(%x: i32) -> i64 {
// expected-error@+1:19 {{operand is used with type i64, but has been previously used or defined with type i32}}
  %y = arith.addi %x, %x : i64
  func.return %y : i64
}

// -----

func.func @f(%c: i1) -> i32 {
  scf.if %c {
    %x = arith.constant 1 : i32
  }
// expected-error@+1:15 {{value %x is not defined}}
  func.return %x : i32
}

// -----

func.func @f(%c: i1) -> i32 {
  scf.if %c {
// expected-error@+1:5 {{'test.op' op expected operands that are defined before, found %x}}
    "test.op"(%x) : (i32) -> ()
  }
  scf.if %c {
    %x = arith.constant 1 : i32
  }
  %y = arith.constant 1 : i32
  func.return %y : i32
}

// -----

func.func @f(%c: i1) -> i32 {
  cf.cond_br %c, ^bb1, ^bb2
^bb1:
  %x = arith.constant 1 : i32
  cf.br ^bb2
^bb2:
// expected-error@+1:3 {{'func.return' op expected operands that are defined before, found %x}}
  func.return %x : i32
}

// -----

func.func @f() {
// expected-error@+1:9 {{block ^bb1 is not defined}}
  cf.br ^bb1
}

// -----

func.func @f(%c: i1) {
// expected-error@+2:24 {{block ^bb2 is not defined}}
// expected-error@+1:18 {{block ^bb1 is not defined}}
  cf.cond_br %c, ^bb1, ^bb2
^bb3:
// expected-error@+1:9 {{block ^bb4 is not defined}}
  cf.br ^bb4
}

// -----

func.func @f() {
  cf.br ^bb1
^bb1:
  cf.br ^bb1
// expected-error@+1:1 {{block ^bb1 is already defined}}
^bb1:
  func.return
}

// -----

func.func @f() {
// expected-error@+1:3 {{'func.call' op '@g' could not be found in symbol table}}
  func.call @g() : () -> ()
// expected-error@+1:3 {{'func.call' op '@h' could not be found in symbol table}}
  func.call @h() : () -> ()
  func.return
}

// -----

func.func @f() {
  func.return
}
// expected-error@+1:1 {{'func.func' op expected a symbol that is unique, found @f again}}
func.func @f() {
  func.return
}

// -----

func.func @f(%x: i32) {
// expected-error@+1:3 {{'func.call' op operand type mismatch: expected operand type i64, but provided i32 for operand number 0}}
  func.call @g(%x) : (i32) -> ()
  func.return
}
func.func private @g(i64)

// -----

func.func @f(%x: i32) {
// expected-error@+1:8 {{'func.call' op result type mismatch: expected result type f32, but provided i32 for result number 0}}
  %y = func.call @g(%x) : (i32) -> i32
  func.return
}
func.func private @g(i32) -> f32

// -----

func.func @f() {
  %x:2 = "test.op"() : () -> (i32, i32)
// expected-error@+1:13 {{SSA value tuple index out of bounds: tuple is of size 2 but tried to access element 2}}
  "test.op"(%x#2) : (i32) -> ()
  func.return
}

// -----

func.func @f(%x: i32) {
  func.func @g() -> i32 {
// expected-error@+1:5 {{'func.return' op expected operands that are defined before, found %x}}
    func.return %x : i32
  }
  func.return
}
