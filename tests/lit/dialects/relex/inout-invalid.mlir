// RUN: relex-opt %s --split-input-file --verify-diagnostics -p cse

// expected-error@+1 {{expected argument 0 with 'relex.inout' to be a tensor, found f32}}
func.func @number(%x: f32 {relex.inout = 0 : i64}) -> f32 {
  func.return %x : f32
}

// -----

// expected-error@+1 {{expected 'relex.inout' to be the number of a result, found 1 : i64}}
func.func @no_result(%x: tensor<2xf32> {relex.inout = 1 : i64}) -> tensor<2xf32> {
  func.return %x : tensor<2xf32>
}

// -----

// expected-error@+1 {{expected 'relex.inout' to be the number of a result, found unit}}
func.func @no_number(%x: tensor<2xf32> {relex.inout}) -> tensor<2xf32> {
  func.return %x : tensor<2xf32>
}

// -----

// expected-error@+1 {{expected result 0 to be tensor<2xf32>, as argument 1, whose place it takes, found tensor<3xf32>}}
func.func @other_type(%x: tensor<3xf32>, %y: tensor<2xf32> {relex.inout = 0 : i64}) -> tensor<3xf32> {
  func.return %x : tensor<3xf32>
}

// -----

// expected-error@+1 {{expected result 0 to take the place of one argument, found 2}}
func.func @two_places(%x: tensor<2xf32> {relex.inout = 0 : i64}, %y: tensor<2xf32> {relex.inout = 0 : i64}) -> tensor<2xf32> {
  func.return %x : tensor<2xf32>
}
