// A reshape in the loop of its user reads consecutive elements: no division is left of the old indices.

// RUN: relex-opt %s -p "set-target{triple=x86_64-unknown-linux-gnu cpu=skylake-avx512},relex-pipeline" -t asm | python %S/Inputs/inner_loop.py | filecheck %s

// CHECK: {{^}}8 store, 8 vsqrtps from memory{{$}}
func.func @main(%x: tensor<5x21x21xf32>) -> tensor<2205xf32> {
  %0 = relex.reshape %x shape = [2205] : (tensor<5x21x21xf32>) -> tensor<2205xf32>
  %1 = relex.sqrt %0 : (tensor<2205xf32>) -> tensor<2205xf32>
  func.return %1 : tensor<2205xf32>
}
