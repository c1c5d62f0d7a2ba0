// RUN: not relex-opt %s --split-input-file
// Below the line of each mistake stands its message, with a caret at its column ("<": column 1);
// tests/unit/dialects/test_dialects_invalid.py compares. What is allowed beside it: rules.mlir.

// Functions

tir.prim_func @tensor(%x: tensor<4xf32>) {}
//< error: 'tir.prim_func' op expected argument 0 to be a buffer, found tensor<4xf32>

// -----

tir.prim_func @element_type(%x: memref<4xindex>) {}
//< error: 'tir.prim_func' op expected a buffer of f16 or bf16 or f32 or f64 or i1 or i8 or i16 or i32 or i64 or f8E4M3FN or f8E4M3FNUZ or f8E5M2 or f8E5M2FNUZ, found memref<4xindex>

// -----

tir.prim_func @layout(%x: memref<4xf32, strided<[2]>>) {}
//< error: 'tir.prim_func' op expected a buffer of identity layout, found memref<4xf32, strided<[2]>>

// -----

tir.prim_func @memory_space(%x: memref<4xf32, 3 : i32>) {}
//< error: 'tir.prim_func' op expected a buffer in the default memory space, found memref<4xf32, 3 : i32>

// -----

tir.prim_func @unranked(%x: memref<*xf32>) {}
//< error: 'tir.prim_func' op expected argument 0 to be a buffer, found memref<*xf32>

// -----

tir.prim_func @scalar_output() outs(%y: f32) {}
//< error: 'tir.prim_func' op expected output 0 to be a buffer, found f32

// -----

tir.prim_func @no_region() attributes {a}
//                                       ^ error: expected region, found 'tir.prim_func'
tir.prim_func @next() {}

// -----

func.func @outer(%x: f32) {
  tir.prim_func @isolated() {
    %0 = arith.negf %x : f32
//       ^ error: 'arith.negf' op expected operands that are defined before, found %x
  }
  func.return
}

// -----

tir.prim_func @twice() {}
tir.prim_func @twice() {}
//< error: 'tir.prim_func' op expected a symbol that is unique, found @twice again

// -----

"tir.prim_func"() <{sym_name = "f", function_type = (i32) -> i32, num_outputs = 0 : i64}> ({
//< error: 'tir.prim_func' op expected no results, found 1; outputs are buffers
^bb0(%a: i32):
}) : () -> ()

// -----

"tir.prim_func"() <{sym_name = "f", function_type = (memref<4xf32>) -> (), num_outputs = 2 : i64}> ({
//< error: 'tir.prim_func' op expected at most 1 outputs, found 2
^bb0(%a: memref<4xf32>):
}) : () -> ()

// -----

"tir.prim_func"() <{sym_name = "f", function_type = (memref<4xf32>) -> (), num_outputs = -1 : i64}> ({
//< error: 'tir.prim_func' op expected at most 1 outputs, found -1
^bb0(%a: memref<4xf32>):
}) : () -> ()

// -----

"tir.prim_func"() <{sym_name = "f", function_type = (memref<4xf32>) -> (), num_outputs = 1 : i32}> ({
//< error: 'tir.prim_func' op expected attribute i64 but got i32
^bb0(%a: memref<4xf32>):
}) : () -> ()

// -----

"tir.prim_func"() <{sym_name = "f", function_type = (memref<4xf32>) -> (), num_outputs = 1 : i64}> ({
//< error: 'tir.prim_func' op expected the block's arguments to have the types of the function's inputs
^bb0(%a: memref<5xf32>):
}) : () -> ()

// -----

"tir.prim_func"() <{sym_name = "f", function_type = (memref<4xf32>) -> (), num_outputs = 1 : i64}> ({
//< error: 'tir.prim_func' op expected the block's arguments to have the types of the function's inputs
^bb0:
}) : () -> ()

// -----

"tir.prim_func"() <{sym_name = "f", function_type = (i32) -> (), num_outputs = 0 : i64, arg_attrs = []}> ({
//< error: 'tir.prim_func' op expected attributes for 1 arguments, found 0
^bb0(%a: i32):
}) : () -> ()

// -----

"tir.prim_func"() <{sym_name = "f", function_type = () -> (), num_outputs = 0 : i64, sym_visibility = "hidden"}> ({
//< error: 'tir.prim_func' op expected visibility public or private or nested, found hidden
^bb0:
}) : () -> ()

// -----

"tir.prim_func"() <{sym_name = "f", function_type = () -> (), num_outputs = 0 : i64}> ({
//< error: 'tir.prim_func' op region 'body' at position 0 expected a single block, but got 0 blocks
}) : () -> ()

// -----

"tir.prim_func"() <{function_type = () -> (), num_outputs = 0 : i64}> ({
//< error: 'tir.prim_func' op expected property 'sym_name' in operation 'tir.prim_func'
^bb0:
}) : () -> ()

// -----

"tir.prim_func"() <{sym_name = "", function_type = () -> (), num_outputs = 0 : i64}> ({
//< error: 'tir.prim_func' op expected a name of one letter or more, found an empty string
^bb0:
}) : () -> ()

// -----

// Functions write what they declare as outputs, and their own buffers.
tir.prim_func @input(%X: memref<8xf32>) outs(%Y: memref<8xf32>) {
  %zero = arith.constant 0.0 : f32
  tir.for %i in (8) {
    tir.block @X (%v: spatial<8> = %i) {
      memref.store %zero, %X[%v] : memref<8xf32>
//    ^ error: 'memref.store' op expected to write an output or a local buffer, found %X
    }
  }
}

// -----

tir.prim_func @block_names() {
  tir.block @a () {
  }
  tir.for %i in (2) {
    tir.block @a () {
//  ^ error: 'tir.block' op expected a block name that is unique in its function, found @a again
    }
  }
}

// -----

tir.prim_func @labels() {
  tir.for %i @i in (8) {
  }
  tir.for %j, %k @i in (8, 8) {
//            ^ error: 'tir.for' op expected a loop label that is unique in its function, found @i again
  }
}

// -----

// Buffers and calls

tir.prim_func @sizes() {
  %0 = tir.alloc_buffer : memref<?xf32>
//     ^ error: 'tir.alloc_buffer' op expected 1 sizes, one for each '?' of the type, found 0
}

// -----

tir.prim_func @sizes(%n: index) {
  %0 = tir.alloc_buffer sizes(%n) : memref<4xf32>
//     ^ error: 'tir.alloc_buffer' op expected 0 sizes, one for each '?' of the type, found 1
}

// -----

tir.prim_func @layout() {
  %0 = tir.alloc_buffer : memref<4xf32, strided<[2]>>
//     ^ error: 'tir.alloc_buffer' op expected a buffer of identity layout, found memref<4xf32, strided<[2]>>
}

// -----

tir.prim_func @memory_space() {
  %0 = tir.alloc_buffer : memref<4xf32, 3 : i32>
//     ^ error: 'tir.alloc_buffer' op expected a buffer in the default memory space, found memref<4xf32, 3 : i32>
}

// -----

tir.prim_func @element_type() {
  %0 = tir.alloc_buffer : memref<4xindex>
//     ^ error: 'tir.alloc_buffer' op expected one of bf16, f16, f32, f64, f8E4M3FN, f8E4M3FNUZ, f8E5M2, f8E5M2FNUZ, i1, i16, i32, i64, i8, but got index
}

// -----

func.func @call_missing(%x: memref<4xf32>) {
  tir.call @missing(%x) : memref<4xf32>
//^ error: 'tir.call' op expected a 'tir.prim_func' named @missing, found no such symbol
  func.return
}

// -----

func.func private @f(memref<4xf32>)
func.func @call_function(%x: memref<4xf32>) {
  tir.call @f(%x) : memref<4xf32>
//^ error: 'tir.call' op expected @f to be a 'tir.prim_func', found a 'func.func'
  func.return
}

// -----

tir.prim_func @f(%X: memref<4xf32>) outs(%Y: memref<4xf32>) {}
func.func @call_arguments(%x: memref<4xf32>) {
  tir.call @f(%x) : memref<4xf32>
//^ error: 'tir.call' op expected arguments (memref<4xf32>, memref<4xf32>) as @f has them, found (memref<4xf32>)
  func.return
}

// -----

tir.prim_func @f(%X: memref<4xf32>) outs(%Y: memref<4xf32>) {}
func.func @call_types(%x: memref<4xf32>, %y: memref<?xf32>) {
  tir.call @f(%x, %y) : memref<4xf32>, memref<?xf32>
//^ error: 'tir.call' op expected arguments (memref<4xf32>, memref<4xf32>) as @f has them, found (memref<4xf32>, memref<?xf32>)
  func.return
}

// -----

// Loops

tir.prim_func @too_few_extents() {
  tir.for %i, %j in (8) {
//                  ^ error: expected 2 extents, one for each variable, found 1
  }
}

// -----

tir.prim_func @negative_extent() {
  tir.for %i in (-1) {
//               ^ error: expected integer literal, found '-'
  }
}

// -----

tir.prim_func @huge_extent() {
  tir.for %i in (9223372036854775808) {
//               ^ error: expected an extent of at most 9223372036854775807, found 9223372036854775808
  }
}

// -----

tir.prim_func @extent_of_own_variable() {
  tir.for %i, %j in (8, %i) {
//                      ^ error: value %i is not defined
  }
}

// -----

tir.prim_func @extent_type(%n: i64) {
  tir.for %i in (%n) {
//               ^ error: operand is used with type index, but has been previously used or defined with type i64
  }
}

// -----

tir.prim_func @unknown_kind() {
  tir.for fast %i in (8) {
//        ^ error: expected a variable, or a kind of loop: serial, parallel, vectorized, unrolled, found 'fast'
  }
}

// -----

tir.prim_func @same_variable() {
  tir.for %i, %i in (8, 8) {
//            ^ error: SSA value %i is already defined
  }
}

// -----

tir.prim_func @two_extents(%n: index) {
  "tir.for"(%n) <{static_extent = 8 : i64}> ({
//^ error: 'tir.for' op expected one extent, either a number or a value
  ^bb0(%i: index):
  }) : (index) -> ()
}

// -----

tir.prim_func @no_extent() {
  "tir.for"() ({
//^ error: 'tir.for' op expected one extent, either a number or a value
  ^bb0(%i: index):
  }) : () -> ()
}

// -----

tir.prim_func @two_values(%n: index) {
  "tir.for"(%n, %n) ({
//^ error: 'tir.for' op expected 0 or 1 operands, but got 2
  ^bb0(%i: index):
  }) : (index, index) -> ()
}

// -----

tir.prim_func @negative() {
  "tir.for"() <{static_extent = -8 : i64}> ({
//^ error: 'tir.for' op expected an extent of 0 or more, found -8
  ^bb0(%i: index):
  }) : () -> ()
}

// -----

tir.prim_func @extent_width() {
  "tir.for"() <{static_extent = 8 : i32}> ({
//^ error: 'tir.for' op expected attribute i64 but got i32
  ^bb0(%i: index):
  }) : () -> ()
}

// -----

tir.prim_func @empty_label() {
  "tir.for"() <{static_extent = 8 : i64, label = ""}> ({
//^ error: 'tir.for' op expected a label of one letter or more, found an empty string
  ^bb0(%i: index):
  }) : () -> ()
}

// -----

tir.prim_func @no_variable() {
  "tir.for"() <{static_extent = 8 : i64}> ({
//^ error: 'tir.for' op expected one variable of type index
  ^bb0:
  }) : () -> ()
}

// -----

tir.prim_func @variable_type() {
  "tir.for"() <{static_extent = 8 : i64}> ({
//^ error: 'tir.for' op expected one variable of type index
  ^bb0(%i: i32):
  }) : () -> ()
}

// -----

tir.prim_func @no_block() {
  "tir.for"() <{static_extent = 8 : i64}> ({}) : () -> ()
//^ error: 'tir.for' op region 'body' at position 0 expected a single block, but got 0 blocks
}

// -----

tir.prim_func @no_region() {
  "tir.for"() <{static_extent = 8 : i64}> : () -> ()
//^ error: 'tir.for' op expected 1 region, but got 0
}

// -----

tir.prim_func @wrong_kind() {
  "tir.for"() <{static_extent = 8 : i64, kind = "serial"}> ({
//^ error: 'tir.for' op "serial" should be of base attribute tir.loop_kind
  ^bb0(%i: index):
  }) : () -> ()
}

// -----

// Blocks: form

tir.prim_func @kinds(%n: index) {
  "tir.block"(%n) <{block_name = "a", kinds = [#tir<iter_kind spatial>, #tir<iter_kind reduce>], static_extents = array<i64: 8>, operandSegmentSizes = array<i32: 1, 0>}> ({
//^ error: 'tir.block' op expected 2 bindings, extents and variables, as there are kinds, found 1, 1 and 1
  ^bb0(%v: index):
  }) : (index) -> ()
}

// -----

tir.prim_func @extents(%n: index) {
  "tir.block"(%n) <{block_name = "a", kinds = [#tir<iter_kind spatial>], static_extents = array<i64: 8, 8>, operandSegmentSizes = array<i32: 1, 0>}> ({
//^ error: 'tir.block' op expected 1 bindings, extents and variables, as there are kinds, found 1, 2 and 1
  ^bb0(%v: index):
  }) : (index) -> ()
}

// -----

tir.prim_func @variables(%n: index) {
  "tir.block"(%n) <{block_name = "a", kinds = [#tir<iter_kind spatial>], static_extents = array<i64: 8>, operandSegmentSizes = array<i32: 1, 0>}> ({
//^ error: 'tir.block' op expected 1 bindings, extents and variables, as there are kinds, found 1, 1 and 0
  ^bb0:
  }) : (index) -> ()
}

// -----

tir.prim_func @bindings(%n: index) {
  "tir.block"() <{block_name = "a", kinds = [#tir<iter_kind spatial>], static_extents = array<i64: 8>, operandSegmentSizes = array<i32: 0, 0>}> ({
//^ error: 'tir.block' op expected 1 bindings, extents and variables, as there are kinds, found 0, 1 and 1
  ^bb0(%v: index):
  }) : () -> ()
}

// -----

tir.prim_func @missing_extent(%n: index) {
  "tir.block"(%n) <{block_name = "a", kinds = [#tir<iter_kind spatial>], static_extents = array<i64: -9223372036854775808>, operandSegmentSizes = array<i32: 1, 0>}> ({
//^ error: 'tir.block' op expected 1 values for dynamic extents, found 0
  ^bb0(%v: index):
  }) : (index) -> ()
}

// -----

tir.prim_func @superfluous_extent(%n: index) {
  "tir.block"(%n, %n) <{block_name = "a", kinds = [#tir<iter_kind spatial>], static_extents = array<i64: 8>, operandSegmentSizes = array<i32: 1, 1>}> ({
//^ error: 'tir.block' op expected 0 values for dynamic extents, found 1
  ^bb0(%v: index):
  }) : (index, index) -> ()
}

// -----

tir.prim_func @negative_extent(%n: index) {
  "tir.block"(%n) <{block_name = "a", kinds = [#tir<iter_kind spatial>], static_extents = array<i64: -3>, operandSegmentSizes = array<i32: 1, 0>}> ({
//^ error: 'tir.block' op expected extents of 0 or more, found -3
  ^bb0(%v: index):
  }) : (index) -> ()
}

// -----

tir.prim_func @extent_width(%n: index) {
  "tir.block"(%n) <{block_name = "a", kinds = [#tir<iter_kind spatial>], static_extents = array<i32: 8>, operandSegmentSizes = array<i32: 1, 0>}> ({
//^ error: 'tir.block' op expected attribute i64 but got i32
  ^bb0(%v: index):
  }) : (index) -> ()
}

// -----

tir.prim_func @extent_kind(%n: index) {
  "tir.block"(%n) <{block_name = "a", kinds = [#tir<iter_kind spatial>], static_extents = array<f32: 8.0>, operandSegmentSizes = array<i32: 1, 0>}> ({
//^ error: 'tir.block' op expected attribute i64 but got f32
  ^bb0(%v: index):
  }) : (index) -> ()
}

// -----

tir.prim_func @variable_type(%n: index) {
  "tir.block"(%n) <{block_name = "a", kinds = [#tir<iter_kind spatial>], static_extents = array<i64: 8>, operandSegmentSizes = array<i32: 1, 0>}> ({
//^ error: 'tir.block' op expected variables of type index
  ^bb0(%v: i64):
  }) : (index) -> ()
}

// -----

tir.prim_func @no_block(%n: index) {
  "tir.block"(%n) <{block_name = "a", kinds = [#tir<iter_kind spatial>], static_extents = array<i64: 8>, operandSegmentSizes = array<i32: 1, 0>}> ({}) : (index) -> ()
//^ error: 'tir.block' op region 'body' at position 0 expected a single block, but got 0 blocks
}

// -----

tir.prim_func @segments(%n: index) {
  "tir.block"(%n) <{block_name = "a", kinds = [#tir<iter_kind spatial>], static_extents = array<i64: 8>, operandSegmentSizes = array<i32: 2, 0>}> ({
//^ error: 'tir.block' op operand count (1) does not match with the total size (2) specified in attribute 'operandSegmentSizes'
  ^bb0(%v: index):
  }) : (index) -> ()
}

// -----

// The mistake is in the block: nothing is said about its init.
tir.prim_func @init_of_wrong_block(%n: index) {
  "tir.block"(%n) <{block_name = "a", kinds = [#tir<iter_kind reduce>, #tir<iter_kind reduce>], static_extents = array<i64: 8>, operandSegmentSizes = array<i32: 1, 0>}> ({
//^ error: 'tir.block' op expected 2 bindings, extents and variables, as there are kinds, found 1, 1 and 1
  ^bb0(%v: index):
    tir.init {
    }
  }) : (index) -> ()
}

// -----

tir.prim_func @no_name() {
  "tir.block"() <{kinds = [], static_extents = array<i64>, operandSegmentSizes = array<i32: 0, 0>}> ({
//^ error: 'tir.block' op expected property 'block_name' in operation 'tir.block'
  ^bb0:
  }) : () -> ()
}

// -----

tir.prim_func @no_properties() {
  "tir.block"() ({
//^ error: 'tir.block' op expected operandSegmentSizes property in tir.block operation
  ^bb0:
  }) : () -> ()
}

// -----

tir.prim_func @empty_name() {
  "tir.block"() <{block_name = "", kinds = [], static_extents = array<i64>, operandSegmentSizes = array<i32: 0, 0>}> ({
//^ error: 'tir.block' op expected a block name of one letter or more, found an empty string
  ^bb0:
  }) : () -> ()
}

// -----

tir.prim_func @binding_type(%n: i32) {
  tir.block @a (%v: spatial<8> = %n) {
//                               ^ error: operand is used with type index, but has been previously used or defined with type i32
  }
}

// -----

tir.prim_func @unknown_kind(%n: index) {
  tir.block @a (%v: temporal<8> = %n) {
//                  ^ error: expected `spatial`, or `reduce`
  }
}

// -----

tir.prim_func @no_extent(%n: index) {
  tir.block @a (%v: spatial = %n) {
//                          ^ error: expected '<', found '='
  }
}

// -----

// Blocks: bindings

tir.prim_func @too_few() outs(%Y: memref<8xf32>) {
  %zero = arith.constant 0.0 : f32
  tir.for %i in (7) {
    tir.block @Y (%v: spatial<8> = %i) {
//  ^ error: 'tir.block' op expected %v: spatial<8> to be bound to 0..7, found 0..6
      memref.store %zero, %Y[%v] : memref<8xf32>
    }
  }
}

// -----

tir.prim_func @too_many() outs(%Y: memref<8xf32>) {
  %zero = arith.constant 0.0 : f32
  tir.for %i in (9) {
    tir.block @Y (%v: spatial<8> = %i) {
//  ^ error: 'tir.block' op expected %v: spatial<8> to be bound to 0..7, found 0..8
      memref.store %zero, %Y[%v] : memref<8xf32>
    }
  }
}

// -----

tir.prim_func @reduce() outs(%Y: memref<8xf32>) {
  %zero = arith.constant 0.0 : f32
  tir.for %i in (9) {
    tir.block @Y (%v: reduce<8> = %i) {
//  ^ error: 'tir.block' op expected %v: reduce<8> to be bound to 0..7, found 0..8
    }
  }
}

// -----

tir.prim_func @none() outs(%Y: memref<8xf32>) {
  %zero = arith.constant 0.0 : f32
  tir.for %i in (0) {
    tir.block @Y (%v: spatial<8> = %i) {
//  ^ error: 'tir.block' op expected %v: spatial<8> to be bound to 0..7, found no value
      memref.store %zero, %Y[%v] : memref<8xf32>
    }
  }
}

// -----

tir.prim_func @offset() outs(%Y: memref<8xf32>) {
  %zero = arith.constant 0.0 : f32
  tir.for %i in (8) {
    %c1 = arith.constant 1 : index
    %0 = arith.addi %i, %c1 : index
    tir.block @Y (%v: spatial<8> = %0) {
//  ^ error: 'tir.block' op expected %v: spatial<8> to be bound to 0..7, found 1..8
      memref.store %zero, %Y[%v] : memref<8xf32>
    }
  }
}

// -----

tir.prim_func @constant() outs(%Y: memref<8xf32>) {
  %zero = arith.constant 0.0 : f32
  tir.for %i in (8) {
    %c3 = arith.constant 3 : index
    tir.block @Y (%v: spatial<8> = %c3) {
//  ^ error: 'tir.block' op expected %v: spatial<8> to be bound to 0..7, found 3
      memref.store %zero, %Y[%v] : memref<8xf32>
    }
  }
}

// -----

tir.prim_func @split() outs(%Y: memref<8xf32>) {
  %zero = arith.constant 0.0 : f32
  tir.for %io, %ii in (2, 3) {
    %c4 = arith.constant 4 : index
    %0 = arith.muli %io, %c4 : index
    %1 = arith.addi %0, %ii : index
    tir.block @Y (%v: spatial<8> = %1) {
//  ^ error: 'tir.block' op expected %v: spatial<8> to be bound to 0..7, found 0..6 with gaps
      memref.store %zero, %Y[%v] : memref<8xf32>
    }
  }
}

// -----

// 0, 1, 3, 4, 6, 7
tir.prim_func @gaps() outs(%Y: memref<8xf32>) {
  %zero = arith.constant 0.0 : f32
  tir.for %io, %ii in (3, 2) {
    %c3 = arith.constant 3 : index
    %0 = arith.muli %io, %c3 : index
    %1 = arith.addi %0, %ii : index
    tir.block @Y (%v: spatial<8> = %1) {
//  ^ error: 'tir.block' op expected %v: spatial<8> to be bound to 0..7, found 0..7 with gaps
      memref.store %zero, %Y[%v] : memref<8xf32>
    }
  }
}

// -----

tir.prim_func @quotient() outs(%Y: memref<8xf32>) {
  %zero = arith.constant 0.0 : f32
  tir.for %f in (28) {
    %c4 = arith.constant 4 : index
    %0 = arith.floordivsi %f, %c4 : index
    tir.block @Y (%v: spatial<8> = %0) {
//  ^ error: 'tir.block' op expected %v: spatial<8> to be bound to 0..7, found 0..6
      memref.store %zero, %Y[%v] : memref<8xf32>
    }
  }
}

// -----

tir.prim_func @remainder() outs(%Y: memref<8xf32>) {
  %zero = arith.constant 0.0 : f32
  tir.for %f in (32) {
    %c4 = arith.constant 4 : index
    %0 = arith.remsi %f, %c4 : index
    tir.block @Y (%v: spatial<8> = %0) {
//  ^ error: 'tir.block' op expected %v: spatial<8> to be bound to 0..7, found 0..3
      memref.store %zero, %Y[%v] : memref<8xf32>
    }
  }
}

// -----

tir.prim_func @negative() outs(%Y: memref<8xf32>) {
  %zero = arith.constant 0.0 : f32
  tir.for %i in (8) {
    %c0 = arith.constant 0 : index
    %0 = arith.subi %c0, %i : index
    tir.block @Y (%v: spatial<8> = %0) {
//  ^ error: 'tir.block' op expected %v: spatial<8> to be bound to 0..7, found -7..0
      memref.store %zero, %Y[%v] : memref<8xf32>
    }
  }
}

// -----

tir.prim_func @clamped() outs(%Y: memref<8xf32>) {
  %zero = arith.constant 0.0 : f32
  tir.for %i in (9) {
    %c6 = arith.constant 6 : index
    %0 = arith.minsi %i, %c6 : index
    tir.block @Y (%v: spatial<8> = %0) {
//  ^ error: 'tir.block' op expected %v: spatial<8> to be bound to 0..7, found 0..6
      memref.store %zero, %Y[%v] : memref<8xf32>
    }
  }
}

// -----

tir.prim_func @guard_adds_nothing(%c: i1) outs(%Y: memref<8xf32>) {
  %zero = arith.constant 0.0 : f32
  tir.for %i in (7) {
    scf.if %c {
      tir.block @Y (%v: spatial<8> = %i) {
//    ^ error: 'tir.block' op expected %v: spatial<8> to be bound to 0..7, found 0..6
        memref.store %zero, %Y[%v] : memref<8xf32>
      }
    }
  }
}

// -----

// A condition around the loops as a whole cuts off nothing.
tir.prim_func @guard_of_all(%c: i1) outs(%Y: memref<8xf32>) {
  %zero = arith.constant 0.0 : f32
  scf.if %c {
    tir.for %i in (9) {
      tir.block @Y (%v: spatial<8> = %i) {
//    ^ error: 'tir.block' op expected %v: spatial<8> to be bound to 0..7, found 0..8
        memref.store %zero, %Y[%v] : memref<8xf32>
      }
    }
  }
}

// -----

tir.prim_func @nested() outs(%Y: memref<8xf32>) {
  %zero = arith.constant 0.0 : f32
  tir.for %io in (2) {
    tir.block @outer (%vo: spatial<2> = %io) {
      tir.for %ii in (3) {
        %c4 = arith.constant 4 : index
        %0 = arith.muli %vo, %c4 : index
        %1 = arith.addi %0, %ii : index
        tir.block @inner (%v: spatial<8> = %1) {
//      ^ error: 'tir.block' op expected %v: spatial<8> to be bound to 0..7, found 0..6 with gaps
          memref.store %zero, %Y[%v] : memref<8xf32>
        }
      }
    }
  }
}

// -----

// Blocks: values

tir.prim_func @loop_variable(%X: memref<8x4xf32>) outs(%Y: memref<8xf32>) {
  %zero = arith.constant 0.0 : f32
  tir.for %i, %j in (8, 4) {
    tir.block @Y (%vi: spatial<8> = %i, %vj: reduce<4> = %j) {
      %x = memref.load %X[%i, %vj] : memref<8x4xf32>
//         ^ error: 'memref.load' op expected to use the variables of its block, found loop variable %i; bind it to a variable of @Y
      memref.store %x, %Y[%vi] : memref<8xf32>
    }
  }
}

// -----

tir.prim_func @loop_variable_inside(%X: memref<8x4xf32>) outs(%Y: memref<8xf32>) {
  %zero = arith.constant 0.0 : f32
  tir.for %i, %j in (8, 4) {
    tir.block @Y (%vi: spatial<8> = %i, %vj: reduce<4> = %j) {
      tir.for %k in (4) {
        %x = memref.load %X[%vi, %j] : memref<8x4xf32>
//           ^ error: 'memref.load' op expected to use the variables of its block, found loop variable %j; bind it to a variable of @Y
        memref.store %x, %Y[%vi] : memref<8xf32>
      }
    }
  }
}

// -----

tir.prim_func @computed(%X: memref<8x4xf32>) outs(%Y: memref<8xf32>) {
  %zero = arith.constant 0.0 : f32
  tir.for %i, %j in (8, 4) {
    %0 = arith.index_cast %i : index to i32
    %x = arith.sitofp %0 : i32 to f32
    tir.block @Y (%vi: spatial<8> = %i, %vj: reduce<4> = %j) {
      memref.store %x, %Y[%vi] : memref<8xf32>
//    ^ error: 'memref.store' op expected to use the variables of its block, found value %x; bind it to a variable of @Y
    }
  }
}

// -----

// What is in memory may change from one iteration to the next.
tir.prim_func @loaded(%X: memref<8x4xf32>) outs(%Y: memref<8xf32>) {
  %zero = arith.constant 0.0 : f32
  tir.for %i, %j in (8, 4) {
    %c0 = arith.constant 0 : index
    %x = memref.load %X[%c0, %c0] : memref<8x4xf32>
    tir.block @Y (%vi: spatial<8> = %i, %vj: reduce<4> = %j) {
      memref.store %x, %Y[%vi] : memref<8xf32>
//    ^ error: 'memref.store' op expected to use the variables of its block, found value %x; bind it to a variable of @Y
    }
  }
}

// -----

tir.prim_func @hidden(%c: i1) outs(%Y: memref<8xf32>) {
  %zero = arith.constant 0.0 : f32
  tir.for %i, %j in (8, 4) {
    %x = scf.if %c -> (f32) {
      %0 = arith.index_cast %i : index to i32
      %1 = arith.sitofp %0 : i32 to f32
      scf.yield %1 : f32
    } else {
      scf.yield %zero : f32
    }
    tir.block @Y (%vi: spatial<8> = %i, %vj: reduce<4> = %j) {
      memref.store %x, %Y[%vi] : memref<8xf32>
//    ^ error: 'memref.store' op expected to use the variables of its block, found value %x; bind it to a variable of @Y
    }
  }
}

// -----

tir.prim_func @extent(%X: memref<8x4xf32>) outs(%Y: memref<8xf32>) {
  %zero = arith.constant 0.0 : f32
  tir.for %i, %j in (8, 4) {
    tir.block @Y (%vi: spatial<8> = %i, %vj: reduce<4> = %j) {
      tir.for %k in (%i) {
//    ^ error: 'tir.for' op expected to use the variables of its block, found loop variable %i; bind it to a variable of @Y
      }
      memref.store %zero, %Y[%vi] : memref<8xf32>
    }
  }
}

// -----

tir.prim_func @other_loop() outs(%Y: memref<8xf32>) {
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  scf.for %i = %c0 to %c8 step %c1 {
    tir.block @Y () {
      memref.store %zero, %Y[%i] : memref<8xf32>
//    ^ error: 'memref.store' op expected to use the variables of its block, found loop variable %i; bind it to a variable of @Y
    }
  }
}

// -----

tir.prim_func @outer_block() outs(%Y: memref<8xf32>) {
  %zero = arith.constant 0.0 : f32
  tir.for %i in (8) {
    tir.block @outer (%vo: spatial<8> = %i) {
      tir.block @inner () {
        memref.store %zero, %Y[%vo] : memref<8xf32>
//      ^ error: 'memref.store' op expected to use the variables of its block, found block variable %vo; bind it to a variable of @inner
      }
    }
  }
}

// -----

// Blocks: writes

tir.prim_func @spatial(%X: memref<8x4xf32>) outs(%Y: memref<8xf32>) {
  %zero = arith.constant 0.0 : f32
  tir.for %i in (8) {
    %c0 = arith.constant 0 : index
    tir.block @Y (%vi: spatial<8> = %i) {
      memref.store %zero, %Y[%c0] : memref<8xf32>
//    ^ error: 'memref.store' op expected every spatial variable in the indices, found none with %vi
    }
  }
}

// -----

tir.prim_func @one_of_two(%X: memref<8x4xf32>) outs(%Y: memref<8xf32>) {
  %zero = arith.constant 0.0 : f32
  tir.for %i, %j in (8, 4) {
    tir.block @Y (%vi: spatial<8> = %i, %vj: spatial<4> = %j) {
      memref.store %zero, %Y[%vi] : memref<8xf32>
//    ^ error: 'memref.store' op expected every spatial variable in the indices, found none with %vj
    }
  }
}

// -----

tir.prim_func @dynamic(%n: index) outs(%Y: memref<8xf32>) {
  %zero = arith.constant 0.0 : f32
  tir.for %i in (%n) {
    %c0 = arith.constant 0 : index
    tir.block @Y (%vi: spatial<%n> = %i) {
      memref.store %zero, %Y[%c0] : memref<8xf32>
//    ^ error: 'memref.store' op expected every spatial variable in the indices, found none with %vi
    }
  }
}

// -----

tir.prim_func @reduce(%X: memref<8x4xf32>) outs(%Z: memref<8x4xf32>) {
  %zero = arith.constant 0.0 : f32
  tir.for %i, %j in (8, 4) {
    tir.block @Y (%vi: spatial<8> = %i, %vj: reduce<4> = %j) {
      memref.store %zero, %Z[%vi, %vj] : memref<8x4xf32>
//    ^ error: 'memref.store' op expected no reduce variable in the indices, found %vj
    }
  }
}

// -----

tir.prim_func @reduce_inside(%X: memref<8x4xf32>) outs(%Z: memref<11xf32>) {
  %zero = arith.constant 0.0 : f32
  tir.for %i, %j in (8, 4) {
    tir.block @Y (%vi: spatial<8> = %i, %vj: reduce<4> = %j) {
      %0 = arith.addi %vi, %vj : index
      memref.store %zero, %Z[%0] : memref<11xf32>
//    ^ error: 'memref.store' op expected no reduce variable in the indices, found %vj
    }
  }
}

// -----

tir.prim_func @through_memory(%I: memref<4xi32>) outs(%Z: memref<8x4xf32>) {
  %zero = arith.constant 0.0 : f32
  tir.for %i, %j in (8, 4) {
    tir.block @Y (%vi: spatial<8> = %i, %vj: reduce<4> = %j) {
      %0 = memref.load %I[%vj] : memref<4xi32>
      %1 = arith.index_cast %0 : i32 to index
      memref.store %zero, %Z[%vi, %1] : memref<8x4xf32>
//    ^ error: 'memref.store' op expected no reduce variable in the indices, found %vj
    }
  }
}

// -----

// Every run of the outer block writes the same places.
tir.prim_func @nested() outs(%Y: memref<8xf32>) {
  %zero = arith.constant 0.0 : f32
  tir.for %i in (8) {
    tir.block @outer (%vo: spatial<8> = %i) {
      tir.for %j in (8) {
        tir.block @inner (%v: spatial<8> = %j) {
          memref.store %zero, %Y[%v] : memref<8xf32>
//        ^ error: 'memref.store' op expected every spatial variable in the indices, found none with %vo
        }
      }
    }
  }
}

// -----

// Within the life of %T, %vi has one value, but %vj has four.
tir.prim_func @local_buffer() {
  %zero = arith.constant 0.0 : f32
  tir.for %i in (8) {
    %T = tir.alloc_buffer : memref<4xf32>
    tir.for %j in (4) {
      tir.block @T (%vi: spatial<8> = %i, %vj: spatial<4> = %j) {
        memref.store %zero, %T[%vi] : memref<4xf32>
//      ^ error: 'memref.store' op expected every spatial variable in the indices, found none with %vj
      }
    }
  }
}

// -----

// Inits

tir.prim_func @init_outside() {
  tir.init {
//^ error: 'tir.init' op 'tir.init' expects parent op 'tir.block'
  }
}

// -----

tir.prim_func @init_in_loop() {
  tir.for %k in (8) {
    tir.block @a (%v: reduce<8> = %k) {
      tir.for %l in (1) {
        tir.init {
//      ^ error: 'tir.init' op 'tir.init' expects parent op 'tir.block'
        }
      }
    }
  }
}

// -----

tir.prim_func @init_second() {
  tir.for %k in (8) {
    tir.block @a (%v: reduce<8> = %k) {
      %0 = arith.constant 0 : index
      tir.init {
//    ^ error: 'tir.init' op expected to be the first op of its block
      }
    }
  }
}

// -----

tir.prim_func @init_spatial() outs(%Y: memref<8xf32>) {
  %zero = arith.constant 0.0 : f32
  tir.for %i in (8) {
    tir.block @Y (%v: spatial<8> = %i) {
      tir.init {
//    ^ error: 'tir.init' op expected a block with a reduce variable, found spatial ones only
        memref.store %zero, %Y[%v] : memref<8xf32>
      }
    }
  }
}

// -----

tir.prim_func @init_arguments() {
  tir.for %k in (8) {
    tir.block @a (%v: reduce<8> = %k) {
      "tir.init"() ({
//    ^ error: 'tir.init' op expected no variables; the block's variables count
      ^bb0(%i: index):
      }) : () -> ()
    }
  }
}

// -----

tir.prim_func @init_index(%X: memref<8x4xf32>) outs(%Z: memref<8x4xf32>) {
  %zero = arith.constant 0.0 : f32
  tir.for %i, %j in (8, 4) {
    tir.block @Y (%vi: spatial<8> = %i, %vj: reduce<4> = %j) {
      tir.init {
        memref.store %zero, %Z[%vi, %vj] : memref<8x4xf32>
//      ^ error: 'memref.store' op expected no reduce variable in the indices, found %vj
      }
      memref.store %zero, %Z[%vi, %vi] : memref<8x4xf32>
    }
  }
}

// -----

tir.prim_func @init_value(%X: memref<8x4xf32>) outs(%Y: memref<8xf32>) {
  %zero = arith.constant 0.0 : f32
  tir.for %i, %j in (8, 4) {
    tir.block @Y (%vi: spatial<8> = %i, %vj: reduce<4> = %j) {
      tir.init {
        %x = memref.load %X[%vi, %vj] : memref<8x4xf32>
//           ^ error: 'memref.load' op expected no reduce variable in 'tir.init', found %vj
        memref.store %x, %Y[%vi] : memref<8xf32>
      }
    }
  }
}

// -----

// Accesses

tir.prim_func @rank(%X: memref<8x4xf32>) outs(%Y: memref<8xf32>) {
  %zero = arith.constant 0.0 : f32
  tir.for %i in (1) {
    tir.block @Y (%vi: spatial<1> = %i) {
      memref.store %zero, %Y[] : memref<8xf32>
//    ^ error: 'memref.store' op expected an index for each dimension
    }
  }
}

// -----

tir.prim_func @above(%X: memref<8x4xf32>) outs(%Y: memref<8xf32>) {
  %zero = arith.constant 0.0 : f32
  tir.for %i in (9) {
    tir.block @Y (%vi: spatial<9> = %i) {
      memref.store %zero, %Y[%vi] : memref<8xf32>
//    ^ error: 'memref.store' op expected index 0 of %Y in 0..7, found 0..8
    }
  }
}

// -----

tir.prim_func @below(%X: memref<8xf32>) outs(%Y: memref<8xf32>) {
  %zero = arith.constant 0.0 : f32
  tir.for %i in (8) {
    tir.block @Y (%vi: spatial<8> = %i) {
      %c1 = arith.constant 1 : index
      %0 = arith.subi %vi, %c1 : index
      %x = memref.load %X[%0] : memref<8xf32>
//         ^ error: 'memref.load' op expected index 0 of %X in 0..7, found -1..6
      memref.store %x, %Y[%vi] : memref<8xf32>
    }
  }
}

// -----

tir.prim_func @second_dimension(%X: memref<8x4xf32>) outs(%Y: memref<8xf32>) {
  %zero = arith.constant 0.0 : f32
  tir.for %i in (8) {
    tir.block @Y (%vi: spatial<8> = %i) {
      %x = memref.load %X[%vi, %vi] : memref<8x4xf32>
//         ^ error: 'memref.load' op expected index 1 of %X in 0..3, found 0..7
      memref.store %x, %Y[%vi] : memref<8xf32>
    }
  }
}

// -----

tir.prim_func @in_loop(%X: memref<8x4xf32>) outs(%Y: memref<8xf32>) {
  %zero = arith.constant 0.0 : f32
  tir.for %i in (3) {
    tir.block @Y (%vi: spatial<3> = %i) {
      tir.for %p in (2) {
        %c4 = arith.constant 4 : index
        %0 = arith.muli %vi, %c4 : index
        %1 = arith.addi %0, %p : index
        memref.store %zero, %Y[%1] : memref<8xf32>
//      ^ error: 'memref.store' op expected index 0 of %Y in 0..7, found 0..9
      }
    }
  }
}

// -----

// An init runs even where there is nothing to reduce.
tir.prim_func @in_init(%X: memref<8x4xf32>) outs(%Y: memref<8xf32>) {
  %zero = arith.constant 0.0 : f32
  tir.for %i, %j in (9, 0) {
    tir.block @Y (%vi: spatial<9> = %i, %vj: reduce<0> = %j) {
      tir.init {
        memref.store %zero, %Y[%vi] : memref<8xf32>
//      ^ error: 'memref.store' op expected index 0 of %Y in 0..7, found 0..8
      }
    }
  }
}

// -----

tir.prim_func @empty(%X: memref<8x4xf32>) outs(%E: memref<0xf32>) {
  %zero = arith.constant 0.0 : f32
  tir.for %i in (1) {
    tir.block @Y (%vi: spatial<1> = %i) {
      memref.store %zero, %E[%vi] : memref<0xf32>
//    ^ error: 'memref.store' op expected no access to %E, which has no elements
    }
  }
}

// -----

tir.prim_func @quotient(%X: memref<4xf32>) outs(%Y: memref<10xf32>) {
  %zero = arith.constant 0.0 : f32
  tir.for %i in (10) {
    tir.block @Y (%vi: spatial<10> = %i) {
      %c2 = arith.constant 2 : index
      %0 = arith.divui %vi, %c2 : index
      %x = memref.load %X[%0] : memref<4xf32>
//         ^ error: 'memref.load' op expected index 0 of %X in 0..3, found 0..4
      memref.store %x, %Y[%vi] : memref<10xf32>
    }
  }
}

// -----

// Whatever the smaller values are, all are outside.
tir.prim_func @certain(%X: memref<8x4xf32>) outs(%Y: memref<8xf32>) {
  %zero = arith.constant 0.0 : f32
  tir.for %i in (9) {
    tir.block @Y (%vi: spatial<9> = %i) {
      %c8 = arith.constant 8 : index
      %0 = arith.remui %vi, %c8 : index
      %1 = arith.muli %0, %0 : index
      %2 = arith.maxsi %0, %c8 : index
      memref.store %zero, %Y[%2] : memref<8xf32>
//    ^ error: 'memref.store' op expected index 0 of %Y in 0..7, found 8
    }
  }
}

// -----

tir.prim_func @no_block() outs(%Y: memref<8xf32>) {
  %zero = arith.constant 0.0 : f32
  %c8 = arith.constant 8 : index
  memref.store %zero, %Y[%c8] : memref<8xf32>
//^ error: 'memref.store' op expected index 0 of %Y in 0..7, found 8
}

// -----

tir.prim_func @no_block_in_loop() outs(%Y: memref<8xf32>) {
  %zero = arith.constant 0.0 : f32
  tir.for %i in (9) {
    memref.store %zero, %Y[%i] : memref<8xf32>
//  ^ error: 'memref.store' op expected index 0 of %Y in 0..7, found 0..8
  }
}

// -----

tir.prim_func @pattern() attributes {tir.op_pattern = "easy"} {}
//< error: 'tir.prim_func' op expected 'tir.op_pattern' to be one of elementwise, broadcast, injective, reduction, out-elementwise-fusable, opaque, found "easy"

// -----

tir.prim_func @maybe_strict() attributes {relex.strict = false} {}
//< error: 'tir.prim_func' op expected 'relex.strict' to have no value, found false

// -----

tir.prim_func @maybe_noalias() attributes {tir.noalias = "yes"} {}
//< error: 'tir.prim_func' op expected 'tir.noalias' to have no value, found "yes"

// -----

func.func @dot4(%a: i32, %b: vector<4xi32>) {
  %0 = "tir.dot4"(%a, %b) : (i32, vector<4xi32>) -> i32
//     ^ error: 'tir.dot4' op operand 'rhs' at position 1 does not verify: attribute i32 expected from variable 'WORDS', but got vector<4xi32>
  func.return
}

// -----

func.func @look_up_float(%a: f32) {
  %0 = tir.look_up %a in dense<0> : tensor<16xi8> : f32 -> i8
//     ^ error: 'tir.look_up' op expected integers of 8, 16, 32 or 64 bits to look up, found f32
  func.return
}

// -----

func.func @look_up_in_few(%a: i32) {
  %0 = tir.look_up %a in dense<0> : tensor<15xi8> : i32 -> i8
//     ^ error: 'tir.look_up' op expected a table of 16 or 256 numbers, found tensor<15xi8>
  func.return
}

// -----

func.func @look_up_other_type(%a: vector<4xi32>) {
  %0 = tir.look_up %a in dense<0> : tensor<16xi8> : vector<4xi32> -> vector<4xi32>
//     ^ error: 'tir.look_up' op expected a result of vector<4xi8>, found vector<4xi32>
  func.return
}

// -----

func.func @look_up_bit(%a: vector<4xi1>) {
  %0 = tir.look_up %a in dense<0> : tensor<16xi8> : vector<4xi1> -> vector<4xi8>
//     ^ error: 'tir.look_up' op expected integers of 8, 16, 32 or 64 bits to look up, found vector<4xi1>
  func.return
}

// -----

func.func @look_up_bits(%a: i8) {
  %0 = tir.look_up %a in dense<false> : tensor<16xi1> : i8 -> i1
//     ^ error: 'tir.look_up' op expected numbers of i8, i16, i32, i64, f16, bf16, f32, f64 in a table, found tensor<16xi1>
  func.return
}

// -----

func.func @look_up_plane(%a: vector<2x8xi8>) {
  %0 = tir.look_up %a in dense<0> : tensor<16xi8> : vector<2x8xi8> -> vector<2x8xi8>
//     ^ error: 'tir.look_up' op expected vectors of one dimension, found vector<2x8xi8>
  func.return
}

// -----

func.func @pairs_of_other_length(%u: vector<4xi32>) {
  %0 = tir.dot2 %u, %u : vector<4xi32> -> vector<8xf32>
//     ^ error: 'tir.dot2' op expected a result of vector<4xf32>, found vector<8xf32>
  func.return
}

// -----

func.func @odd_shapes() {
  tir.configure_tiles [16, 64, 3]
//^ error: 'tir.configure_tiles' op expected two numbers for each of 8 tiles at most, found 3
  func.return
}

// -----

func.func @large_tile() {
  tir.configure_tiles [16, 64, 17, 64]
//^ error: 'tir.configure_tiles' op expected 1 to 16 rows of 4 to 64 bytes, in words, found 17 by 64
  func.return
}

// -----

func.func @tile_of_parts() {
  tir.configure_tiles [16, 62]
//^ error: 'tir.configure_tiles' op expected 1 to 16 rows of 4 to 64 bytes, in words, found 16 by 62
  func.return
}

// -----

func.func @ninth_tile(%x: memref<4x8xi32>, %i: index) {
  tir.load_tile 8, %x[%i, %i] rows 0 step 1 : memref<4x8xi32>
//^ error: 'tir.load_tile' op expected a tile from 0 to 7, found 8
  func.return
}

// -----

func.func @indices_of_tile(%x: memref<4x8xi32>, %i: index) {
  tir.load_tile 0, %x[%i] rows 0 step 1 : memref<4x8xi32>
//^ error: 'tir.load_tile' op expected 2 indices, one for each dimension, found 1
  func.return
}

// -----

func.func @rows_along_nothing(%x: memref<4x8xi32>, %i: index) {
  tir.load_tile 0, %x[%i, %i] rows 2 step 1 : memref<4x8xi32>
//^ error: 'tir.load_tile' op expected rows along one of 2 dimensions, found 2
  func.return
}

// -----

func.func @rows_in_one_place(%x: memref<4x8xi32>, %i: index) {
  tir.store_tile 0, %x[%i, %i] rows 0 step 0 : memref<4x8xi32>
//^ error: 'tir.store_tile' op expected rows 1 place apart or more, found 0
  func.return
}

// -----

func.func @tile_of_bits(%x: memref<4x8xi4>, %i: index) {
  tir.store_tile 0, %x[%i, %i] rows 0 step 1 : memref<4x8xi4>
//^ error: 'tir.store_tile' op expected elements that fill bytes and rows, found i4
  func.return
}

// -----

func.func @unknown_product() {
  tir.multiply_tiles "tdp" 0, 1, 2
//^ error: 'tir.multiply_tiles' op expected one of tdpbssd, tdpbsud, tdpbusd, tdpbuud, tdpbf16ps, found 'tdp'
  func.return
}

// -----

func.func @product_with_itself() {
  tir.multiply_tiles "tdpbusd" 0, 1, 1
//^ error: 'tir.multiply_tiles' op expected three tiles that differ
  func.return
}

// -----

func.func @factor_of_no_tile() {
  tir.multiply_tiles "tdpbusd" 0, 1, 9
//^ error: 'tir.multiply_tiles' op expected a tile from 0 to 7, found 9
  func.return
}
