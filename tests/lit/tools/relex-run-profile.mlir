// RUN: python -c "import numpy as np; np.save('%t.x.npy', np.float32([1, -2]))"
// RUN: relex-run %s --library %S/Inputs/my_library.py --input %t.x.npy --profile 2>&1 | filecheck %s
// RUN: relex-run %s --library %S/Inputs/my_library.py --input x=%t.x.npy --profile 2>%t.table | filecheck %s --check-prefix=RESULT
// RUN: filecheck %s < %t.table
// CHECK:      main(): {{.* a run, .* of it in calls; .* runs}}
// CHECK-NEXT: {{calls .*time .*share .*GB/s .*GF/s .*bytes .*flops .*function}}
// CHECK-NEXT: {{1 .* us .*%.* 16 .*  2  add\(2xf32\) -> \(2xf32\)}}
// CHECK-NEXT: {{1 .* us .*%.* 16 .*  -  env.relu\(2xf32\) -> \(2xf32\)}}
// RESULT-NOT: main
// RESULT: [2., 0.]

// RUN: not relex-run %s --library %S/Inputs/my_library.py --input %t.x.npy --profile --level core 2>&1 | filecheck %s --check-prefix=LEVEL
// LEVEL: relex-run: error: expected --level native with --profile: what is interpreted takes other times

func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  %y = relex.add %x, %x : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  %z = relex.call_dps_packed "env.relu"(%y) : (tensor<2xf32>) -> tensor<2xf32>
  func.return %z : tensor<2xf32>
}
