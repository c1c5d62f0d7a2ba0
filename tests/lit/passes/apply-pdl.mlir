// RUN: relex-opt %s -p apply-pdl | filecheck %s
// RUN: relex-opt %S/Inputs/minus.mlir -p 'apply-pdl{pdl-file=%s}' --print-debuginfo | filecheck %s --check-prefix=FILE

// Rules in the module itself. The one with more benefit comes first, and properties are passed on or stated.

// FILE:          func.func @minus
// FILE-NEXT:       %0 = relex.subtract %x, %y : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> loc("{{.*}}minus.mlir":3:8)
// FILE-NEXT:       func.return %0
// FILE-NOT:      pdl

// CHECK-LABEL: func.func @main
// CHECK-NEXT:    %0 = relex.subtract %x, %y : (tensor<?x4xf32>, tensor<4xf32>) -> tensor<?x4xf32>
// CHECK-NEXT:    %1 = relex.log_softmax %0 axis = 1 : (tensor<?x4xf32>) -> tensor<?x4xf32>
// CHECK-NEXT:    %2 = relex.relu %1 : (tensor<?x4xf32>) -> tensor<?x4xf32>
// CHECK-NEXT:    %3 = relex.clip %1 min = 1.000000e+00 : f32 : (tensor<?x4xf32>) -> tensor<?x4xf32>
// CHECK-NEXT:    func.return %2, %3
// CHECK:         pdl.pattern @subtract_instead
func.func @main(%x: tensor<?x4xf32>, %y: tensor<4xf32>) -> (tensor<?x4xf32>, tensor<?x4xf32>) {
  %0 = relex.negative %y : (tensor<4xf32>) -> tensor<4xf32>
  %1 = relex.add %x, %0 : (tensor<?x4xf32>, tensor<4xf32>) -> tensor<?x4xf32>
  %2 = relex.softmax %1 axis = 1 : (tensor<?x4xf32>) -> tensor<?x4xf32>
  %3 = relex.log %2 : (tensor<?x4xf32>) -> tensor<?x4xf32>
  %4 = relex.clip %3 min = 0.0 : f32 : (tensor<?x4xf32>) -> tensor<?x4xf32>
  %5 = relex.clip %3 min = 1.0 : f32 : (tensor<?x4xf32>) -> tensor<?x4xf32>
  func.return %4, %5 : tensor<?x4xf32>, tensor<?x4xf32>
}

pdl.pattern @never_reached : benefit(1) {
  %type = pdl.type
  %x = pdl.operand
  %log = pdl.operation "relex.log"(%x : !pdl.value) -> (%type : !pdl.type)
  pdl.rewrite %log {
    pdl.replace %log with (%x : !pdl.value)
  }
}

pdl.pattern @log_softmax : benefit(2) {
  %type = pdl.type
  %axis = pdl.attribute
  %x = pdl.operand
  %softmax = pdl.operation "relex.softmax"(%x : !pdl.value) {"axis" = %axis} -> (%type : !pdl.type)
  %values = pdl.result 0 of %softmax
  %log = pdl.operation "relex.log"(%values : !pdl.value) -> (%type : !pdl.type)
  pdl.rewrite %log {
    %new = pdl.operation "relex.log_softmax"(%x : !pdl.value) {"axis" = %axis} -> (%type : !pdl.type)
    pdl.replace %log with %new
  }
}

pdl.pattern @relu : benefit(1) {
  %type = pdl.type
  %zero = pdl.attribute = 0.0 : f32
  %x = pdl.operand
  %clip = pdl.operation "relex.clip"(%x : !pdl.value) {"min" = %zero} -> (%type : !pdl.type)
  pdl.rewrite %clip {
    %new = pdl.operation "relex.relu"(%x : !pdl.value) -> (%type : !pdl.type)
    pdl.replace %clip with %new
  }
}

pdl.pattern @subtract_instead : benefit(1) {
  %negative_type = pdl.type
  %type = pdl.type
  %x = pdl.operand
  %y = pdl.operand
  %negative = pdl.operation "relex.negative"(%y : !pdl.value) -> (%negative_type : !pdl.type)
  %minus_y = pdl.result 0 of %negative
  %sum = pdl.operation "relex.add"(%x, %minus_y : !pdl.value, !pdl.value) -> (%type : !pdl.type)
  pdl.rewrite %sum {
    %difference = pdl.operation "relex.subtract"(%x, %y : !pdl.value, !pdl.value) -> (%type : !pdl.type)
    pdl.replace %sum with %difference
  }
}
