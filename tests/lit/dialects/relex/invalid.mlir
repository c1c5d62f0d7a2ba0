// RUN: not relex-opt %s --split-input-file
// Below the line of each mistake stands its message, with a caret at its column ("<": column 1);
// tests/unit/dialects/test_dialects_invalid.py compares.

// Types

func.func @unranked(%x: tensor<*xf32>) {
  %0 = relex.relu %x : (tensor<*xf32>) -> tensor<*xf32>
//     ^ error: 'relex.relu' op tensor<*xf32> should be of base attribute tensor
  func.return
}

// -----

func.func @no_tensor(%x: memref<4xf32>) {
  %0 = relex.relu %x : (memref<4xf32>) -> tensor<4xf32>
//     ^ error: 'relex.relu' op memref<4xf32> should be of base attribute tensor
  func.return
}

// -----

func.func @element_type(%x: tensor<4xindex>) {
  %0 = relex.relu %x : (tensor<4xindex>) -> tensor<4xindex>
//     ^ error: 'relex.relu' op expected one of bf16, f16, f32, f64, f8E4M3FN, f8E4M3FNUZ, f8E5M2, f8E5M2FNUZ, i1, i16, i2, i32, i4, i64, i8, ui16, ui2, ui32, ui4, ui64, ui8, but got index
  func.return
}

// -----

func.func @signed(%x: tensor<4xsi8>) {
  %0 = relex.relu %x : (tensor<4xsi8>) -> tensor<4xsi8>
//     ^ error: 'relex.relu' op expected one of bf16, f16, f32, f64, f8E4M3FN, f8E4M3FNUZ, f8E5M2, f8E5M2FNUZ, i1, i16, i2, i32, i4, i64, i8, ui16, ui2, ui32, ui4, ui64, ui8, but got si8
  func.return
}

// -----

func.func @encoding(%x: tensor<4xf32, "sparse">) {
  %0 = relex.relu %x : (tensor<4xf32, "sparse">) -> tensor<4xf32>
//     ^ error: 'relex.relu' op expected attribute none but got "sparse"
  func.return
}

// -----

// Operators

func.func @shapes(%x: tensor<3x4xf32>, %y: tensor<3xf32>) {
  %0 = relex.add %x, %y : (tensor<3x4xf32>, tensor<3xf32>) -> tensor<3x4xf32>
//     ^ error: 'relex.add' op expected shapes that broadcast, found 3x4 and 3
  func.return
}

// -----

func.func @shapes_of_three(%x: tensor<2x1xf32>, %y: tensor<3xf32>, %z: tensor<4xf32>) {
  %0 = relex.ewise_fma %x, %y, %z : (tensor<2x1xf32>, tensor<3xf32>, tensor<4xf32>) -> tensor<2x3xf32>
//     ^ error: 'relex.ewise_fma' op expected shapes that broadcast, found 2x1 and 3 and 4
  func.return
}

// -----

func.func @element_types(%x: tensor<4xf32>, %y: tensor<4xf64>) {
  %0 = relex.maximum %x, %y : (tensor<4xf32>, tensor<4xf64>) -> tensor<4xf64>
//     ^ error: 'relex.maximum' op expected operands of one element type, found f32 and f64
  func.return
}

// -----

func.func @result_shape(%x: tensor<3x1xf32>, %y: tensor<4xf32>) {
  %0 = relex.multiply %x, %y : (tensor<3x1xf32>, tensor<4xf32>) -> tensor<3x1xf32>
//     ^ error: 'relex.multiply' op expected result type tensor<3x4xf32>, found tensor<3x1xf32>
  func.return
}

// -----

// Nothing is known about the size of the result, nor is it 1.
func.func @result_dynamic(%x: tensor<?xf32>) {
  %0 = relex.minimum %x, %x : (tensor<?xf32>, tensor<?xf32>) -> tensor<4xf32>
//     ^ error: 'relex.minimum' op expected result type tensor<?xf32>, found tensor<4xf32>
  func.return
}

// -----

func.func @result_element_type(%x: tensor<3xf32>) {
  %0 = relex.relu %x : (tensor<3xf32>) -> tensor<3xf64>
//     ^ error: 'relex.relu' op expected result type tensor<3xf32>, found tensor<3xf64>
  func.return
}

// -----

func.func @subtract_i1(%x: tensor<3xi1>) {
  %0 = relex.subtract %x, %x : (tensor<3xi1>, tensor<3xi1>) -> tensor<3xi1>
//     ^ error: 'relex.subtract' op expected operands of f16 or bf16 or f32 or f64 or i8 or i16 or i32 or i64 or ui8 or ui16 or ui32 or ui64, found i1
  func.return
}

// -----

func.func @divide_integers(%x: tensor<3xi32>) {
  %0 = relex.divide %x, %x : (tensor<3xi32>, tensor<3xi32>) -> tensor<3xi32>
//     ^ error: 'relex.divide' op expected operands of f16 or bf16 or f32 or f64, found i32
  func.return
}

// -----

func.func @dense_data(%x: tensor<f32>, %w: tensor<5x4xf32>) {
  %0 = relex.dense %x, %w : (tensor<f32>, tensor<5x4xf32>) -> tensor<5xf32>
//     ^ error: 'relex.dense' op expected data of rank 1 or more, found a scalar
  func.return
}

// -----

func.func @dense_weight(%x: tensor<3x4xf32>, %w: tensor<2x5x4xf32>) {
  %0 = relex.dense %x, %w : (tensor<3x4xf32>, tensor<2x5x4xf32>) -> tensor<3x5xf32>
//     ^ error: 'relex.dense' op expected a weight of rank 2, NxK, found 2x5x4
  func.return
}

// -----

// The weight is transposed: 5x4, not 4x5.
func.func @dense_sizes(%x: tensor<3x4xf32>, %w: tensor<4x5xf32>) {
  %0 = relex.dense %x, %w : (tensor<3x4xf32>, tensor<4x5xf32>) -> tensor<3x5xf32>
//     ^ error: 'relex.dense' op expected equal last sizes of data and weight, found 4 and 5
  func.return
}

// -----

func.func @dense_element_types(%x: tensor<3x4xf32>, %w: tensor<5x4xf16>) {
  %0 = relex.dense %x, %w : (tensor<3x4xf32>, tensor<5x4xf16>) -> tensor<3x5xf32>
//     ^ error: 'relex.dense' op expected operands of one element type, found f32 and f16
  func.return
}

// -----

func.func @matmul_scalar(%x: tensor<3x4xf32>, %y: tensor<f32>) {
  %0 = relex.matmul %x, %y : (tensor<3x4xf32>, tensor<f32>) -> tensor<3x4xf32>
//     ^ error: 'relex.matmul' op expected operands of rank 1 or more, found a scalar
  func.return
}

// -----

func.func @matmul_sizes(%x: tensor<3x4xf32>, %y: tensor<5x4xf32>) {
  %0 = relex.matmul %x, %y : (tensor<3x4xf32>, tensor<5x4xf32>) -> tensor<3x4xf32>
//     ^ error: 'relex.matmul' op expected equal sizes of the summed dimension, found 4 and 5
  func.return
}

// -----

// A size of 1 that is summed over does not broadcast.
func.func @matmul_one(%x: tensor<3x1xf32>, %y: tensor<4x5xf32>) {
  %0 = relex.matmul %x, %y : (tensor<3x1xf32>, tensor<4x5xf32>) -> tensor<3x5xf32>
//     ^ error: 'relex.matmul' op expected equal sizes of the summed dimension, found 1 and 4
  func.return
}

// -----

func.func @matmul_batch(%x: tensor<2x3x4xf32>, %y: tensor<3x4x5xf32>) {
  %0 = relex.matmul %x, %y : (tensor<2x3x4xf32>, tensor<3x4x5xf32>) -> tensor<2x3x5xf32>
//     ^ error: 'relex.matmul' op expected shapes that broadcast, found 2 and 3
  func.return
}

// -----

func.func @too_few_types(%x: tensor<4xf32>) {
  %0 = relex.add %x, %x : (tensor<4xf32>) -> tensor<4xf32>
//                         ^ error: expected 2 operand types, but got 1
  func.return
}

// -----

func.func @two_results(%x: tensor<4xf32>) {
  %0, %1 = relex.relu %x : (tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
//                                             ^ error: expected 1 result type, but got 2
  func.return
}

// -----

func.func @generic_operands(%x: tensor<4xf32>) {
  %0 = "relex.add"(%x) : (tensor<4xf32>) -> tensor<4xf32>
//     ^ error: 'relex.add' op expected 2 operands, but got 1
  func.return
}

// -----

func.func @generic_results(%x: tensor<4xf32>) {
  "relex.add"(%x, %x) : (tensor<4xf32>, tensor<4xf32>) -> ()
//^ error: 'relex.add' op expected 1 result, but got 0
  func.return
}

// -----

func.func @generic_property(%x: tensor<4xf32>) {
  %0 = "relex.relu"(%x) <{slope = 1.0 : f32}> : (tensor<4xf32>) -> tensor<4xf32>
//     ^ error: 'relex.relu' op property 'slope' is not defined by the operation 'relex.relu': use the dictionary attribute to add arbitrary information to the operation
  func.return
}

// -----

func.func @undefined() {
  %0 = relex.relu %missing : (tensor<4xf32>) -> tensor<4xf32>
//                ^ error: value %missing is not defined
  func.return
}

// -----

func.func @before_definition(%x: tensor<4xf32>) {
  %0 = relex.relu %1 : (tensor<4xf32>) -> tensor<4xf32>
//     ^ error: 'relex.relu' op expected operands that are defined before, found a value
  %1 = relex.relu %x : (tensor<4xf32>) -> tensor<4xf32>
  func.return
}

// -----

// Constants

func.func @constant_shape() {
  %0 = relex.constant dense<[1.0, 2.0]> : tensor<3xf32>
//                         ^ error: shape mismatch in dense literal: expected [3] shape from the type, but got [2] shape
  func.return
}

// -----

func.func @constant_dynamic() {
  %0 = relex.constant dense<1.0> : tensor<?xf32>
//                         ^ error: dense literal attribute should have a static shape
  func.return
}

// -----

func.func @constant_element_type() {
  %0 = relex.constant dense<1> : tensor<2xindex>
//     ^ error: 'relex.constant' op result 'result' at position 0 does not verify: Expected one of bf16, f16, f32, f64, f8E4M3FN, f8E4M3FNUZ, f8E5M2, f8E5M2FNUZ, i1, i16, i2, i32, i4, i64, i8, ui16, ui2, ui32, ui4, ui64, ui8, but got index
  func.return
}

// -----

func.func @constant_vector() {
  %0 = relex.constant dense<1> : vector<2xi32>
//     ^ error: 'relex.constant' op result 'result' at position 0 does not verify: vector<2xi32> should be of base attribute tensor
  func.return
}

// -----

func.func @constant_range() {
  %0 = relex.constant dense<[1, 256]> : tensor<2xi8>
//     ^ error: 'relex.constant' op integer value 256 is out of range for type i8 which supports values in the range [-128, 256)
  func.return
}

// -----

func.func @constant_number() {
  %0 = relex.constant 1.0 : tensor<f32>
//                    ^ error: expected 'dense', found '1.0'
  func.return
}

// -----

func.func @constant_bits() {
  %0 = relex.constant dense<[1.0, 0x1FFFFFFFF]> : tensor<2xf32>
//                                ^ error: expected at most 32 bits
  func.return
}

// -----

func.func @constant_negative_bits() {
  %0 = relex.constant dense<[1.0, -0x7FC00000]> : tensor<2xf32>
//                                ^ error: expected the bits of a float, found a negative number
  func.return
}

// -----

func.func @constant_bytes() {
  %0 = relex.constant dense<"0000C07F"> : tensor<1xf32>
//                           ^ error: expected bytes in the form "0x..."
  func.return
}

// -----

func.func @constant_bytes_short() {
  %0 = relex.constant dense<"0x0000C07F0000"> : tensor<2xf32>
//                         ^ error: shape mismatch in dense literal: expected 2 elements from the type, but got 1 elements
  func.return
}

// -----

func.func @constant_bytes_odd() {
  %0 = relex.constant dense<"0x0000C07"> : tensor<1xf32>
//                         ^ error: hex string in denseAttr is invalid
  func.return
}

// -----

// To MLIR these are eight elements, to xDSL one value for all.
func.func @constant_bits_of_i1() {
  %0 = relex.constant dense<"0x01"> : tensor<8xi1>
//                           ^ error: expected i1 as true and false, or one byte for each, 00 or 01
  func.return
}

// -----

func.func @constant_bytes_of_i1() {
  %0 = relex.constant dense<"0x0102"> : tensor<2xi1>
//                           ^ error: expected i1 as true and false, or one byte for each, 00 or 01
  func.return
}

// -----

func.func @constant_type() {
  %0 = "relex.constant"() <{value = dense<1.0> : tensor<2xf32>}> : () -> tensor<3xf32>
//     ^ error: 'relex.constant' op expected a value of type tensor<3xf32>, found tensor<2xf32>
  func.return
}

// -----

func.func @constant_attribute() {
  %0 = "relex.constant"() <{value = 1.0 : f32}> : () -> tensor<f32>
//     ^ error: 'relex.constant' op 1.000000e+00 : f32 should be of base attribute dense
  func.return
}

// -----

func.func @constant_nothing() {
  %0 = "relex.constant"() : () -> tensor<f32>
//     ^ error: 'relex.constant' op expected property 'value' in operation 'relex.constant'
  func.return
}

// -----

// Sizes

func.func @alloc_missing() {
  %0 = relex.alloc_tensor : tensor<?xf32>
//     ^ error: 'relex.alloc_tensor' op expected 1 sizes, one for each '?' of the results, found 0
  func.return
}

// -----

func.func @alloc_superfluous(%n: index) {
  %0 = relex.alloc_tensor sizes(%n) : tensor<4xf32>
//     ^ error: 'relex.alloc_tensor' op expected 0 sizes, one for each '?' of the results, found 1
  func.return
}

// -----

func.func @alloc_type(%n: i64) {
  %0 = relex.alloc_tensor sizes(%n) : tensor<?xf32>
//                              ^ error: operand is used with type index, but has been previously used or defined with type i64
  func.return
}

// -----

tir.prim_func private @f(%X: memref<?xf32>) outs(%Y: memref<?xf32>) {}
func.func @call_tir_sizes(%x: tensor<?xf32>, %n: index) {
  %0 = relex.call_tir @f(%x) sizes(%n, %n) : (tensor<?xf32>) -> tensor<?xf32>
//     ^ error: 'relex.call_tir' op expected 1 sizes, one for each '?' of the results, found 2
  func.return
}

// -----

func.func @call_dps_packed_sizes(%x: tensor<?xf32>) {
  %0 = relex.call_dps_packed "env.relu"(%x) : (tensor<?xf32>) -> tensor<?xf32>
//     ^ error: 'relex.call_dps_packed' op expected 1 sizes, one for each '?' of the results, found 0
  func.return
}

// -----

// Calls

func.func @call_tir_missing(%x: tensor<4xf32>) {
  %0 = relex.call_tir @missing(%x) : (tensor<4xf32>) -> tensor<4xf32>
//     ^ error: 'relex.call_tir' op expected a 'tir.prim_func' named @missing, found no such symbol
  func.return
}

// -----

func.func private @f(tensor<4xf32>) -> tensor<4xf32>
func.func @call_tir_function(%x: tensor<4xf32>) {
  %0 = relex.call_tir @f(%x) : (tensor<4xf32>) -> tensor<4xf32>
//     ^ error: 'relex.call_tir' op expected @f to be a 'tir.prim_func', found a 'func.func'
  func.return
}

// -----

tir.prim_func private @f(%X: memref<4xf32>) outs(%Y: memref<4xf32>) {}
func.func @call_tir_arguments(%x: tensor<4xf32>) {
  %0 = relex.call_tir @f(%x, %x) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
//     ^ error: 'relex.call_tir' op expected 1 arguments for @f, found 2
  func.return
}

// -----

tir.prim_func private @f(%X: memref<4xf32>) outs(%Y: memref<4xf32>) {}
func.func @call_tir_results(%x: tensor<4xf32>) {
  relex.call_tir @f(%x) : (tensor<4xf32>) -> ()
//^ error: 'relex.call_tir' op expected 1 results for @f, found 0
  func.return
}

// -----

tir.prim_func private @f(%X: memref<4xf32>) outs(%Y: memref<4xf32>) {}
func.func @call_tir_argument_size(%x: tensor<5xf32>) {
  %0 = relex.call_tir @f(%x) : (tensor<5xf32>) -> tensor<4xf32>
//     ^ error: 'relex.call_tir' op expected argument 0 to fit memref<4xf32> of @f, found tensor<5xf32>
  func.return
}

// -----

tir.prim_func private @f(%X: memref<4xf32>) outs(%Y: memref<4xf32>) {}
func.func @call_tir_result_rank(%x: tensor<4xf32>) {
  %0 = relex.call_tir @f(%x) : (tensor<4xf32>) -> tensor<4x1xf32>
//     ^ error: 'relex.call_tir' op expected result 0 to fit memref<4xf32> of @f, found tensor<4x1xf32>
  func.return
}

// -----

tir.prim_func private @f(%X: memref<4xf32>) outs(%Y: memref<4xf32>) {}
func.func @call_tir_element_type(%x: tensor<4xf64>) {
  %0 = relex.call_tir @f(%x) : (tensor<4xf64>) -> tensor<4xf32>
//     ^ error: 'relex.call_tir' op expected argument 0 to fit memref<4xf32> of @f, found tensor<4xf64>
  func.return
}

// -----

tir.prim_func private @f(%a: f32) outs(%Y: memref<4xf32>) {}
func.func @call_tir_scalar(%x: tensor<f32>) {
  %0 = relex.call_tir @f(%x) : (tensor<f32>) -> tensor<4xf32>
//     ^ error: 'relex.call_tir' op expected argument 0 to fit f32 of @f, found tensor<f32>
  func.return
}

// -----

func.func @call_tir_nested_symbol(%x: tensor<4xf32>) {
  %0 = relex.call_tir @f::@g(%x) : (tensor<4xf32>) -> tensor<4xf32>
//     ^ error: 'relex.call_tir' op expected SymbolRefAttr with no nested symbols: underlying verification failure: expected empty array, but got ["g"]
  func.return
Underlying verification failure: expected empty array, but got ["g"]
}

// -----

func.func @call_tir_segments(%x: tensor<4xf32>) {
  %0 = "relex.call_tir"(%x) <{callee = @f, operandSegmentSizes = array<i32: 2, 0>}> : (tensor<4xf32>) -> tensor<4xf32>
//     ^ error: 'relex.call_tir' op operand count (1) does not match with the total size (2) specified in attribute 'operandSegmentSizes'
  func.return
}

// -----

func.func @call_tir_callee(%x: tensor<4xf32>) {
  %0 = "relex.call_tir"(%x) <{operandSegmentSizes = array<i32: 1, 0>}> : (tensor<4xf32>) -> tensor<4xf32>
//     ^ error: 'relex.call_tir' op expected property 'callee' in operation 'relex.call_tir'
  func.return
}

// -----

// The mistake is in the function: nothing is said about the call.
"tir.prim_func"() <{sym_name = "f", function_type = (memref<4xf32>, memref<4xf32>) -> ()}> ({
//< error: 'tir.prim_func' op expected property 'num_outputs' in operation 'tir.prim_func'
^bb0(%X: memref<4xf32>, %Y: memref<4xf32>):
}) : () -> ()
func.func @call_tir_of_wrong_function(%x: tensor<4xf32>) {
  %0 = relex.call_tir @f(%x) : (tensor<4xf32>) -> tensor<4xf32>
  func.return
}

// -----

func.func @call_dps_packed_name(%x: tensor<4xf32>) {
  %0 = relex.call_dps_packed ""(%x) : (tensor<4xf32>) -> tensor<4xf32>
//     ^ error: 'relex.call_dps_packed' op expected the name of a library function, found an empty string
  func.return
}

// -----

func.func @call_missing(%x: tensor<4xf32>) {
  %0 = relex.call @missing(%x) : (tensor<4xf32>) -> tensor<4xf32>
//     ^ error: 'relex.call' op expected a 'func.func' named @missing, found no such symbol
  func.return
}

// -----

tir.prim_func @f() {}
func.func @call_loops() {
  relex.call @f() : () -> ()
//^ error: 'relex.call' op expected @f to be a 'func.func', found a 'tir.prim_func'
  func.return
}

// -----

func.func private @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  func.return %x : tensor<4xf32>
}
func.func @call_unmarked(%x: tensor<4xf32>) {
  %0 = relex.call @f(%x) : (tensor<4xf32>) -> tensor<4xf32>
//     ^ error: 'relex.call' op expected @f to be marked 'relex.primitive'; 'func.call' calls others
  func.return
}

// -----

func.func private @f(tensor<4xf32>) -> tensor<4xf32> attributes {relex.primitive}
func.func @call_declaration(%x: tensor<4xf32>) {
  %0 = relex.call @f(%x) : (tensor<4xf32>) -> tensor<4xf32>
//     ^ error: 'relex.call' op expected @f to have a body
  func.return
}

// -----

func.func private @f(%x: tensor<4xf32>) -> tensor<4xf32> attributes {relex.primitive} {
  func.return %x : tensor<4xf32>
}
func.func @call_type(%x: tensor<5xf32>) {
  %0 = relex.call @f(%x) : (tensor<5xf32>) -> tensor<5xf32>
//     ^ error: 'relex.call' op expected a call of type (tensor<4xf32>) -> tensor<4xf32>, as @f has it
  func.return
}

// -----

func.func private @f(%x: tensor<4xf32>) -> tensor<4xf32> attributes {relex.primitive} {
  relex.call_dps_packed "env.log"(%x) {side_effects} : (tensor<4xf32>) -> ()
  func.return %x : tensor<4xf32>
}
func.func @call_impure(%x: tensor<4xf32>) {
  %0 = relex.call @f(%x) : (tensor<4xf32>) -> tensor<4xf32>
//     ^ error: 'relex.call' op expected @f to be pure, found 'relex.call_dps_packed' in it, which reads memory and writes memory
  func.return
}

// -----

// Dataflow blocks

func.func @dataflow_writes(%x: tensor<4xf32>) {
  relex.dataflow {
    relex.call_dps_packed "env.log"(%x) {side_effects} : (tensor<4xf32>) -> ()
//  ^ error: 'relex.call_dps_packed' op expected to be pure inside 'relex.dataflow', but it reads memory and writes memory
    relex.output
  }
  func.return
}

// -----

func.func @dataflow_allocates() {
  relex.dataflow {
    %0 = relex.alloc_tensor : tensor<4xf32>
//       ^ error: 'relex.alloc_tensor' op expected to be pure inside 'relex.dataflow', but it allocates memory
    relex.output
  }
  func.return
}

// -----

func.func private @f()
func.func @dataflow_calls() {
  relex.dataflow {
    func.call @f() : () -> ()
//  ^ error: 'func.call' op expected to be pure inside 'relex.dataflow', but it may have any side effect
    relex.output
  }
  func.return
}

// -----

func.func @dataflow_nested(%c: i1, %m: memref<f32>) {
  %one = arith.constant 1.0 : f32
  relex.dataflow {
    scf.if %c {
      memref.store %one, %m[] : memref<f32>
//    ^ error: 'memref.store' op expected to be pure inside 'relex.dataflow', but it writes memory
    }
    relex.output
  }
  func.return
}

// -----

func.func @dataflow_results(%x: tensor<4xf32>) {
  %0 = relex.dataflow -> tensor<4xf32> {
//     ^ error: 'relex.dataflow' op expected 'relex.output' of (tensor<4xf32>), as the block says, found ()
    relex.output
  }
  func.return
}

// -----

func.func @dataflow_result_types(%x: tensor<4xf32>) {
  %0, %1 = relex.dataflow -> tensor<4xf32>, tensor<5xf32> {
//         ^ error: 'relex.dataflow' op expected 'relex.output' of (tensor<4xf32>, tensor<5xf32>), as the block says, found (tensor<4xf32>, tensor<4xf32>)
    relex.output %x, %x : tensor<4xf32>, tensor<4xf32>
  }
  func.return
}

// -----

func.func @dataflow_end(%x: tensor<4xf32>) {
  relex.dataflow {
//^ error: 'relex.dataflow' op expected 'relex.output' at the end of the block
    %0 = relex.relu %x : (tensor<4xf32>) -> tensor<4xf32>
//       ^ error: 'relex.relu' op operation relex.relu terminates block in single-block region but is not a terminator
  }
  func.return
}

// -----

func.func @dataflow_ends_twice() {
  relex.dataflow {
    relex.output
//  ^ error: 'relex.output' op 'relex.output' must be the last operation in its parent block
    relex.output
  }
  func.return
}

// -----

func.func @dataflow_empty() {
  relex.dataflow {
//^ error: 'relex.dataflow' op region 'body' at position 0 expected a single block, but got 0 blocks
  }
  func.return
}

// -----

func.func @dataflow_other_end() {
  "relex.dataflow"() ({
//^ error: 'relex.dataflow' op expected 'relex.output' at the end of the block
    "test.termop"() : () -> ()
  }) : () -> ()
  func.return
}

// -----

func.func @dataflow_arguments() {
  "relex.dataflow"() ({
//^ error: 'relex.dataflow' op expected a block without arguments, found 1
  ^bb0(%x: tensor<4xf32>):
    relex.output
  }) : () -> ()
  func.return
}

// -----

func.func @dataflow_blocks() {
  "relex.dataflow"() ({
//^ error: 'relex.dataflow' op region 'body' at position 0 expected a single block, but got 2 blocks
    relex.output
  ^bb1:
    relex.output
  }) : () -> ()
  func.return
}

// -----

func.func @dataflow_regions() {
  "relex.dataflow"() : () -> ()
//^ error: 'relex.dataflow' op expected 1 region, but got 0
  func.return
}

// -----

func.func @output_parent(%c: i1) {
  scf.if %c {
//^ error: 'scf.if' op 'scf.if' terminates with operation relex.output instead of scf.yield
    relex.output
//  ^ error: 'relex.output' op 'relex.output' expects parent op 'relex.dataflow'
  }
  func.return
}

// -----

// Properties

func.func @axis(%x: tensor<2x3xf32>) {
  %0 = relex.sum %x axis = [2] : (tensor<2x3xf32>) -> tensor<2xf32>
//     ^ error: 'relex.sum' op expected an axis in -2..1 for rank 2, found 2
  func.return
}

// -----

func.func @result(%x: tensor<2x3xf32>) {
  %0 = relex.argmax %x axis = 1 : (tensor<2x3xf32>) -> tensor<2xf32>
//     ^ error: 'relex.argmax' op expected result type tensor<2xi64>, found tensor<2xf32>
  func.return
}

// -----

func.func @missing_property(%x: tensor<2x3xf32>) {
  %0 = "relex.reshape"(%x) : (tensor<2x3xf32>) -> tensor<6xf32>
//     ^ error: 'relex.reshape' op expected property 'shape' in operation 'relex.reshape'
  func.return
}

// -----

func.func @kind_of_property(%x: tensor<2x3xf32>) {
  %0 = "relex.reshape"(%x) <{shape = [6]}> : (tensor<2x3xf32>) -> tensor<6xf32>
//     ^ error: 'relex.reshape' op [6 : i64] should be of base attribute array
  func.return
}

// -----

func.func @type_of_number(%x: tensor<2xf32>) {
  %0 = relex.clip %x min = 0 : i32 : (tensor<2xf32>) -> tensor<2xf32>
//     ^ error: 'relex.clip' op expected a number of type f32, found 0 : i32
  func.return
}

// -----

func.func @nothing_to_join() -> tensor<0xf32> {
  %0 = relex.concat : () -> tensor<0xf32>
//     ^ error: 'relex.concat' op expected tensors to join, found none
  func.return %0 : tensor<0xf32>
}

// -----

func.func @windows(%x: tensor<1x1x2x2xf32>) {
  %0 = relex.max_pool2d %x pool_size = [3, 3] : (tensor<1x1x2x2xf32>) -> tensor<1x1x1x1xf32>
//     ^ error: 'relex.max_pool2d' op expected windows of 2 elements at most, as the padded data has, found 3
  func.return
}

// -----

func.func @property_in_dictionary(%x: tensor<2x3xf32>) {
  %0 = relex.softmax %x {axis = 0} : (tensor<2x3xf32>) -> tensor<2x3xf32>
//     ^ error: 'relex.softmax' op expected 'axis' in its own syntax, found it in the dictionary of other attributes
  func.return
}

// -----

func.func @unknown_layout(%x: tensor<3x18xui8>) {
  %0 = relex.dequantize_blocks %x layout = "Q4" : (tensor<3x18xui8>) -> tensor<3x32xf32>
//     ^ error: 'relex.dequantize_blocks' op expected a layout of blocks, such as Q8_0, found 'Q4'
  func.return
}

// -----

func.func @parts_of_blocks(%x: tensor<3x20xui8>) {
  %0 = relex.dequantize_blocks %x layout = "Q4_0" : (tensor<3x20xui8>) -> tensor<3x32xf32>
//     ^ error: 'relex.dequantize_blocks' op expected data in blocks of 18 bytes, found 20
  func.return
}

// -----

func.func @rows_of_blocks(%x: tensor<64xf32>, %w: tensor<3x2x36xui8>) {
  %0 = relex.dense_block_rows %x, %w layout = "Q4_0" : (tensor<64xf32>, tensor<3x2x36xui8>) -> tensor<3x2xf32>
//     ^ error: 'relex.dense_block_rows' op expected a weight of rank 2, found 3x2x36
  func.return
}

// -----

func.func @terms_of_blocks(%x: tensor<32xf32>, %w: tensor<3x36xui8>) {
  %0 = relex.dense_block_rows %x, %w layout = "Q4_0" : (tensor<32xf32>, tensor<3x36xui8>) -> tensor<3xf32>
//     ^ error: 'relex.dense_block_rows' op expected equal last sizes of data and weight, found 32 and 64
  func.return
}

// -----

func.func @numbers_of_blocks(%x: tensor<64xf32>, %s: tensor<3x2xui8>, %d: tensor<3x32xui8>) {
  %0 = relex.dense_blocks %x, %s, %d layout = "Q4_0" : (tensor<64xf32>, tensor<3x2xui8>, tensor<3x32xui8>) -> tensor<3xf32>
//     ^ error: 'relex.dense_blocks' op expected equal numbers of blocks of scales and digits, found 1 and 2
  func.return
}

// -----

func.func @parts_of_rounded_blocks(%x: tensor<48xf32>) {
  %0 = relex.round_blocks %x size = 32 : (tensor<48xf32>) -> tensor<48xf32>
//     ^ error: 'relex.round_blocks' op expected data in blocks of 32, found 48
  func.return
}

// -----

func.func @scales_of_other_rank(%x: tensor<2x32xf32>, %s: tensor<2xf32>) {
  %0 = relex.block_digits %x, %s : (tensor<2x32xf32>, tensor<2xf32>) -> tensor<2x32xi8>
//     ^ error: 'relex.block_digits' op expected data and a scale for each block of them, of the same rank
  func.return
}

// -----

func.func @words_of_other_digits(%x: tensor<2x8xi32>, %f: tensor<2x1xf32>, %s: tensor<3x2xui8>, %d: tensor<3x3xi32>) {
  %0 = relex.dense_words %x, %f, %s, %d layout = "Q4_0" least = -8 : (tensor<2x8xi32>, tensor<2x1xf32>, tensor<3x2xui8>, tensor<3x3xi32>) -> tensor<2x3xf32>
//     ^ error: 'relex.dense_words' op expected equal words of digits and of data, found 6 and 8
  func.return
}

// -----

func.func @panels_of_other_width(%s: tensor<2x4x16xui8>) {
  %0 = relex.unpack_scales %s layout = "Q4_0" : (tensor<2x4x16xui8>) -> tensor<1x2x2x16xf32>
//     ^ error: 'relex.unpack_scales' op expected scales in panels of 32 columns, found 2x4x16
  func.return
}

// -----

func.func @factors_of_other_groups(%f: tensor<1x2x3x32xf32>, %d: tensor<2x32x32xui8>) {
  %0 = relex.unpack_pairs %f, %d layout = "Q4_0" columns = 40 : (tensor<1x2x3x32xf32>, tensor<2x32x32xui8>) -> tensor<32x40xi32>
//     ^ error: 'relex.unpack_pairs' op expected factors of each group of the digits, found 1x2x3x32
  func.return
}

// -----

func.func @unknown_tile(%x: tensor<1x2x8x8x4xf32>) {
  %0 = relex.winograd_input_transform %x tile = 3 : (tensor<1x2x8x8x4xf32>) -> tensor<25x4x8xf32>
//     ^ error: 'relex.winograd_input_transform' op expected tiles of 2 or 4, found 3
  func.return
}

// -----

func.func @windows_of_tiles(%x: tensor<1x2x2x8x4xf32>) {
  %0 = relex.winograd_input_transform %x tile = 4 : (tensor<1x2x2x8x4xf32>) -> tensor<36x2x8xf32>
//     ^ error: 'relex.winograd_input_transform' op expected windows of 2 elements at most, as the padded data has, found 3
  func.return
}

// -----

func.func @numbers_of_tiles(%x: tensor<16x4x8xf32>) {
  %0 = relex.winograd_output_transform %x tile = 4 size = [8, 8] block = 4 : (tensor<16x4x8xf32>) -> tensor<1x2x8x8x4xf32>
//     ^ error: 'relex.winograd_output_transform' op expected 36 numbers of a tile of 4, found 16
  func.return
}

// -----

func.func @rows_of_tiles(%x: tensor<36x5x8xf32>) {
  %0 = relex.winograd_output_transform %x tile = 4 size = [8, 8] block = 4 : (tensor<36x5x8xf32>) -> tensor<1x2x8x8x4xf32>
//     ^ error: 'relex.winograd_output_transform' op expected tiles of images of 4, found 5
  func.return
}

// -----

func.func @blocks_of_channels(%x: tensor<36x4x8xf32>) {
  %0 = relex.winograd_output_transform %x tile = 4 size = [8, 8] block = 3 : (tensor<36x4x8xf32>) -> tensor<1x2x8x8x3xf32>
//     ^ error: 'relex.winograd_output_transform' op expected channels in blocks of 3, found 8
  func.return
}

// -----

func.func @assert_of_many(%c: tensor<2xi1>) {
  relex.assert %c, "expected more" : tensor<2xi1>
//^ error: 'relex.assert' op expected attribute tensor<i1> but got tensor<2xi1>
  func.return
}

// -----

func.func @assert_in_dataflow(%c: tensor<i1>) {
  relex.dataflow {
    relex.assert %c, "expected more" : tensor<i1>
//  ^ error: 'relex.assert' op expected to be pure inside 'relex.dataflow', but it reads memory and writes memory
    relex.output
  }
  func.return
}
