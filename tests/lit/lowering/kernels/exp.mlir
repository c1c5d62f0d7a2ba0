// A loop around a function is computed on whole vectors, on any target: by arithmetic alone, without a call.

// RUN: relex-opt %s -p "set-target{triple=x86_64-unknown-linux-gnu cpu=skylake-avx512},relex-pipeline" -t asm | filecheck %s --check-prefix=AVX512
// RUN: relex-opt %s -p "set-target{triple=x86_64-unknown-linux-gnu cpu=haswell},relex-pipeline" -t asm | filecheck %s --check-prefix=AVX2
// RUN: relex-opt %s -p "set-target{triple=x86_64-unknown-linux-gnu cpu=x86-64},relex-pipeline" -t asm | filecheck %s --check-prefix=SSE
// RUN: relex-opt %s -p "set-target{triple=aarch64-unknown-linux-gnu},relex-pipeline" -t asm | filecheck %s --check-prefix=NEON

// AVX512-NOT: exp
// AVX512-NOT: call
// AVX512:     vfmadd{{.*}}mm
// AVX512-NOT: call
// AVX512:     ret

// AVX2-NOT: exp
// AVX2-NOT: call
// AVX2:     vfmadd{{.*}}ymm
// AVX2-NOT: call
// AVX2:     ret

// SSE-NOT: exp
// SSE-NOT: call
// SSE:     mulps
// SSE-NOT: call
// SSE:     ret

// NEON-NOT: {{\sbl\s}}
// NEON:     fmla v{{.*}}.4s
// NEON-NOT: {{\sbl\s}}
// NEON:     ret

func.func @main(%x: tensor<512xf32>) -> tensor<512xf32> {
  %y = relex.exp %x : (tensor<512xf32>) -> tensor<512xf32>
  func.return %y : tensor<512xf32>
}
