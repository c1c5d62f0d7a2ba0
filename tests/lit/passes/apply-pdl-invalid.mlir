// RUN: relex-opt %s -p apply-pdl --split-input-file --verify-diagnostics
// RUN: not relex-opt %s -p 'apply-pdl{pdl-file=no-file.mlir}' --split-input-file 2>&1 | filecheck %s --check-prefix=FILE
// FILE: error: pass 'apply-pdl' cannot read 'no-file.mlir': No such file or directory

func.func @f(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{rule @swap of pass 'apply-pdl' was applied 10000 times without end}}
  %0 = relex.add %x, %y : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}
pdl.pattern @swap : benefit(1) {
  %type = pdl.type
  %x = pdl.operand
  %y = pdl.operand
  %op = pdl.operation "relex.add"(%x, %y : !pdl.value, !pdl.value) -> (%type : !pdl.type)
  pdl.rewrite %op {
    %new = pdl.operation "relex.add"(%y, %x : !pdl.value, !pdl.value) -> (%type : !pdl.type)
    pdl.replace %op with %new
  }
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{'relex.exp' op expected result type tensor<4xf32>, found tensor<7xf32> after pass 'apply-pdl'}}
  %0 = relex.log %x : (tensor<4xf32>) -> tensor<4xf32>
  "test.op"(%0) : (tensor<4xf32>) -> ()
  func.return
}
pdl.pattern @other_type : benefit(1) {
  %type = pdl.type
  %x = pdl.operand
  %op = pdl.operation "relex.log"(%x : !pdl.value) -> (%type : !pdl.type)
  pdl.rewrite %op {
    %other = pdl.type : tensor<7xf32>
    %new = pdl.operation "relex.exp"(%x : !pdl.value) -> (%other : !pdl.type)
    pdl.replace %op with %new
  }
}

// -----

func.func @f(%x: tensor<4xf32>) {
  %0 = relex.log %x : (tensor<4xf32>) -> tensor<4xf32>
  "test.op"(%0) : (tensor<4xf32>) -> ()
  func.return
}
// expected-error @+1 {{'pdl.pattern' op @unknown cannot be applied: Could not find op type for name relex.nothing in context}}
pdl.pattern @unknown : benefit(1) {
  %type = pdl.type
  %x = pdl.operand
  %op = pdl.operation "relex.log"(%x : !pdl.value) -> (%type : !pdl.type)
  pdl.rewrite %op {
    %new = pdl.operation "relex.nothing"(%x : !pdl.value) -> (%type : !pdl.type)
    pdl.replace %op with %new
  }
}

// -----

pdl.pattern : benefit(1) {
  %x = pdl.operand
  %op = pdl.operation "relex.log"(%x : !pdl.value)
  // expected-error @+1 {{'pdl.rewrite' op expected a root and a body; native rewrites are not supported}}
  pdl.rewrite %op with "function"
}

// -----

pdl.pattern : benefit(1) {
  %type = pdl.type
  %x = pdl.operand
  %op = pdl.operation "relex.log"(%x : !pdl.value) -> (%type : !pdl.type)
  // expected-error @+1 {{'pdl.apply_native_constraint' op is not supported by this pass}}
  pdl.apply_native_constraint "constraint"(%x : !pdl.value)
  pdl.rewrite %op {
    pdl.replace %op with (%x : !pdl.value)
  }
}

// -----

pdl.pattern : benefit(1) {
  %type = pdl.type
  // expected-error @+1 {{'pdl.operands' op is not supported by this pass}}
  %xs = pdl.operands
  %op = pdl.operation "relex.concat"(%xs : !pdl.range<value>) -> (%type : !pdl.type)
  pdl.rewrite %op {
    pdl.erase %op
  }
}
