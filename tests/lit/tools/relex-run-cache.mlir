// What is compiled is kept, where people ask for it.

// RUN: rm -rf %t.cache && python -c "import numpy as np; np.save('%t.x.npy', np.float32([1, -2, 3]))"
// RUN: env RELEX_CACHE=%t.cache relex-run %s --input %t.x.npy | filecheck %s
// RUN: env RELEX_CACHE=%t.cache relex-run %s --input %t.x.npy --cache | filecheck %s
// RUN: ls %t.cache/*.relex | filecheck %s --check-prefix=FILES
// RUN: rm -rf %t.home && env XDG_CACHE_HOME=%t.home relex-run %s --input %t.x.npy | filecheck %s
// RUN: not ls %t.home/relex/*.relex
// RUN: env XDG_CACHE_HOME=%t.home relex-run %s --input %t.x.npy --cache | filecheck %s
// RUN: ls %t.home/relex/*.relex | filecheck %s --check-prefix=FILES
// CHECK: [1., 0., 3.]
// FILES:     {{/[0-9a-f]+}}.relex
// FILES-NOT: {{.}}

func.func @main(%x: tensor<3xf32>) -> tensor<3xf32> {
  %y = relex.relu %x : (tensor<3xf32>) -> tensor<3xf32>
  func.return %y : tensor<3xf32>
}
