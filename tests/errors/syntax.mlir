// Text that does not parse.
// ARGS:

// expected-error@+1:15 {{expected argument or type, found '{'}}
func.func @f( {
  func.return
}

// -----

// expected-error@+1:22 {{expected ')', found '->'}}
func.func @f(%x: i32 -> i32 {
  func.return %x : i32
}

// -----

func.func @f() {
// expected-error@+1:14 {{expected an operation, a block or '}', found the end of the text}}
  func.return

// -----

func.func @f() {
  func.return
}
// expected-error@+1:1 {{expected an operation, found '}'}}
}

// -----

func.func @f() {
// expected-error@+1:3 {{expected an operation, a block or '}', found ')'}}
  )
}

// -----

// expected-error@+1:1 {{expected an operation, found ')'}}
)

// -----

// expected-error@+1:11 {{expected a symbol name, found '{'}}
func.func {

// -----

// expected-error@+1:1 {{operation func is not registered}}
func @f() {

// -----

func.func @f(%x: i32) {
// expected-error@+1:3 {{operation arith.nothing is not registered}}
  arith.nothing %x : i32
  func.return
}

// -----

func.func @f(%x: i32) {
// expected-error@+1:3 {{operation nodialect.op is not registered}}
  nodialect.op %x : i32
  func.return
}

// -----

func.func @f(%x: i32) -> i32 {
// expected-error@+1:22 {{expected ',', found '%x'}}
  %y = arith.addi %x %x : i32
  func.return %y : i32
}

// -----

func.func @f(%x: i32) -> i32 {
// expected-error@+1:23 {{expected an operand, found ':'}}
  %y = arith.addi %x, : i32
  func.return %y : i32
}

// -----

func.func @f(%x: i32) -> i32 {
// expected-error@+1:26 {{expected ':', found 'i32'}}
  %y = arith.addi %x, %x i32
  func.return %y : i32
}

// -----

func.func @f(%x: i32) -> i32 {
// expected-error@+1:27 {{expected a type, found 'func.return'}}
  %y = arith.addi %x, %x :
  func.return %y : i32
}

// -----

func.func @f(%x: i32) -> i32 {
// expected-error@+1:6 {{expected '=' after operation result list, found 'arith.addi'}}
  %y arith.addi %x, %x : i32
  func.return %y : i32
}

// -----

func.func @f(%x: i32) -> i32 {
// expected-error@+1:3 {{operation has 1 results, but was given 2 to bind}}
  %y, %z = arith.addi %x, %x : i32
  func.return %y : i32
}

// -----

// expected-error@+1:27 {{expected shape type, found 'f33'}}
func.func @f(%x: tensor<4xf33>) {
  func.return
}

// -----

// expected-error@+1:27 {{expected shape type, found '>'}}
func.func @f(%x: tensor<4x>) {
  func.return
}

// -----

// expected-error@+1:30 {{expected '>' after builtin parameter list, found ')'}}
func.func @f(%x: memref<4xf32) {
  func.return
}

// -----

// expected-error@+1:18 {{'nothing.type' is not registered}}
func.func @f(%x: !nothing.type) {
  func.return
}

// -----

// expected-error@+1:18 {{undefined symbol alias '!alias'}}
func.func @f(%x: !alias) {
  func.return
}

// -----

// expected-error@+1:28 {{identifier not in space d1}}
#map = affine_map<(d0) -> (d1)>

// -----

#a = 1 : i32
// expected-error@+1:1 {{re-declaration of alias '#a'}}
#a = 2 : i32

// -----

func.func @f() {
// expected-error@+1:8 {{'arith.constant' op unexpected attribute "four"}}
  %c = arith.constant "four" : i32
  func.return
}

// -----

func.func @f() {
// expected-error@+1:29 {{floating point value is not valid for integer type}}
  %c = arith.constant 1.5 : i32
  func.return
}

// -----

func.func @f() {
// expected-error@+1:23 {{expected an attribute, found ':'}}
  %c = arith.constant : i32
  func.return
}

// -----

func.func @f() {
// expected-error@+1:28 {{shape mismatch in dense literal: expected [3] shape from the type, but got [2] shape}}
  %c = arith.constant dense<[1, 2]> : tensor<3xi32>
  func.return
}

// -----

func.func @f() {
// expected-error@+1:28 {{tensor literal has inconsistent ranks between elements}}
  %c = arith.constant dense<[[1, 2], [3]]> : tensor<2x2xi32>
  func.return
}

// -----

// expected-error@+1:23 {{SSA value %x is already defined}}
func.func @f(%x: i32, %x: i32) {
  func.return
}

// -----

func.func @f(%x: i32) {
// expected-error@+1:3 {{SSA value %x is already defined}}
  %x = arith.constant 1 : i32
  func.return
}

// -----

// expected-error@+1:26 {{duplicate key 'a' in dictionary attribute}}
"test.op"() {a = 1, a = 2} : () -> ()

// -----

// expected-error@+1:18 {{end of file reached before closing string literal}}
"test.op"() {a = "never closed} : () -> ()

// -----

// expected-error@+1:18 {{@ identifier expected to start with letter, '_', or '"'}}
"test.op"() {a = @} : () -> ()

// -----

// expected-error@+1:25 {{operation i32 is not registered}}
"test.op"() : () -> i32 i32

// -----

// expected-error@+1:17 {{expected 0 operand types but had 1}}
"test.op"(%x) : () -> ()

// -----

// expected-error@+1:2 {{operation unknown.op is not registered}}
"unknown.op"() : () -> ()

// -----

func.func @f() {
// expected-error@+1:13 {{expected an attribute, found 'f'}}
  func.call f() : () -> ()
  func.return
}

// -----

// expected-error@+1:127 {{expected an operation, a block or '}', found the end of the text}}
"test.op"() ({"test.op"() ({"test.op"() ({"test.op"() ({"test.op"() ({"test.op"() ({"test.op"() ({"test.op"() ({"test.op"() ({

// -----

func.func @f(%x: i32) -> i32 {
// expected-error@+1:27 {{expected 2 operand types but had 1}}
  %y = "arith.addi"(%x) : (i32, i32) -> i32
  func.return %y : i32
}

// -----

// expected-error@+1:11 {{expected an operand, found the end of the text}}
relex.relu

// -----

func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
// expected-error@+1:24 {{expected '(', found 'tensor'}}
  %y = relex.relu %x : tensor<4xf32> -> tensor<4xf32>
  func.return %y : tensor<4xf32>
}

// -----

func.func @f(%x: memref<4xf32>, %i: index) -> f32 {
// expected-error@+1:22 {{expected '[', found '('}}
  %y = memref.load %x(%i) : memref<4xf32>
  func.return %y : f32
}

// -----

tir.prim_func @f(%x: memref<4xf32>) {
// expected-error@+1:17 {{expected '(', found '4'}}
  tir.for %i in 4 {
  }
}

// -----

// expected-error@+1:29 {{expected a size of at most 9223372036854775807, found 1180591620717411303424}}
func.func @main() -> tensor<1180591620717411303424xf32> {
  %y = relex.alloc_tensor : tensor<1180591620717411303424xf32>
  func.return %y : tensor<1180591620717411303424xf32>
}

// -----

// expected-error@+1:34 {{expected a size of at most 9223372036854775807, found 9223372036854775808}}
tir.prim_func @main(%X: memref<4x9223372036854775808xf32>) {
}

// -----

func.func @main() -> index {
// expected-error@+1:23 {{expected an index from -9223372036854775808 to 9223372036854775807, found 9223372036854775808}}
  %n = arith.constant 9223372036854775808 : index
  func.return %n : index
}

// -----

func.func @main(%x: tensor<4xf32>) -> tensor<?xf32> {
// expected-error@+1:8 {{'relex.reshape' op expected integers of 64 bits, found one out of range}}
  %y = relex.reshape %x shape = [9223372036854775808] : (tensor<4xf32>) -> tensor<?xf32>
  func.return %y : tensor<?xf32>
}
