// RUN: RELEX_ROUNDTRIP
// RUN: RELEX_GENERIC_ROUNDTRIP

tir.prim_func @f() {}

// CHECK-LABEL: schedule.sequence for @f {
schedule.sequence for @f {
  // CHECK-NEXT: schedule.label_loops
  schedule.label_loops
  // CHECK-NEXT: schedule.label_loops into [@loop0]
  schedule.label_loops into [@loop0]
  // CHECK-NEXT: schedule.split @i by [?, 8]
  schedule.split @i by [?, 8]
  // CHECK-NEXT: schedule.split @i_1 by [2, ?, 2] into [@a, @b, @c] {note}
  schedule.split @i_1 by [2, ?, 2] into [@a, @b, @c] {note}
  // CHECK-NEXT: schedule.reorder [@b, @a]
  schedule.reorder [@b, @a]
  // CHECK-NEXT: schedule.fuse [@b, @a] into [@ba]
  schedule.fuse [@b, @a] into [@ba]
  // CHECK-NEXT: schedule.partition [@c, @d] by 4 into [@Y_rest, @c_rest, @d_rest]
  schedule.partition [@c, @d] by 4 into [@Y_rest, @c_rest, @d_rest]
  // CHECK-NEXT: schedule.dispatch [@c, @d] on @e from 4 into [@Y_rest1, @c_rest1, @d_rest1]
  schedule.dispatch [@c, @d] on @e from 4 into [@Y_rest1, @c_rest1, @d_rest1]
  // CHECK-NEXT: schedule.pad @c to 4
  schedule.pad @c to 4
  // CHECK-NEXT: schedule.parallel @i_0
  schedule.parallel @i_0
  // CHECK-NEXT: schedule.vectorize @c
  schedule.vectorize @c
  // CHECK-NEXT: schedule.unroll @ba
  schedule.unroll @ba
  // CHECK-NEXT: schedule.compute_at @Y at @i into [@ax0]
  schedule.compute_at @Y at @i into [@ax0]
  // CHECK-NEXT: schedule.reverse_compute_at @Z at @i
  schedule.reverse_compute_at @Z at @i
  // CHECK-NEXT: schedule.compute_inline @Y
  schedule.compute_inline @Y
  // CHECK-NEXT: schedule.reverse_compute_inline @Z
  schedule.reverse_compute_inline @Z
  // CHECK-NEXT: schedule.cache_read @Y read 1 into [@X_local, @ax0]
  schedule.cache_read @Y read 1 into [@X_local, @ax0]
  // CHECK-NEXT: schedule.cache_write @Y write 0
  schedule.cache_write @Y write 0
  // CHECK-NEXT: schedule.decompose_reduction @Y at @k into [@Y_init]
  schedule.decompose_reduction @Y at @k into [@Y_init]
  // CHECK-NEXT: schedule.rfactor @Y along @k_1 at @k_0 into [@Y_rf_init, @Y_rf]
  schedule.rfactor @Y along @k_1 at @k_0 into [@Y_rf_init, @Y_rf]
  // CHECK-NEXT: schedule.rfactor @Y along @k at @k
  schedule.rfactor @Y along @k at @k
  // CHECK-NEXT: schedule.transform_layout @Y write 0 by affine_map<(d0, d1) -> ((d0 floordiv 16), d1, (d0 mod 16))>
  schedule.transform_layout @Y write 0 by affine_map<(i, j) -> (i floordiv 16, j, i mod 16)>
  // CHECK-NEXT: schedule.transform_layout @Y read 1 by affine_map<(d0, d1) -> (d1, d0)>
  schedule.transform_layout @Y read 1 by affine_map<(i, j) -> (j, i)>
  // CHECK-NEXT: schedule.order_as_integers @Y
  schedule.order_as_integers @Y
  // CHECK-NEXT: schedule.unguard @Y
  schedule.unguard @Y
  // CHECK-NEXT: schedule.zero_fill @Y
  schedule.zero_fill @Y
  // CHECK-NEXT: schedule.prefetch @Y read 1 at @k ahead 128
  schedule.prefetch @Y read 1 at @k ahead 128
  // CHECK-NEXT: schedule.skip_padding @k
  schedule.skip_padding @k
  // CHECK-NEXT: schedule.tensorize @k by "tdpbusd"
  schedule.tensorize @k by "tdpbusd"
  // CHECK-NEXT: schedule.compact_buffer @Y write 0
  schedule.compact_buffer @Y write 0
}

// CHECK: schedule.sequence for @f attributes {note} {
schedule.sequence for @f attributes {note} {
}
