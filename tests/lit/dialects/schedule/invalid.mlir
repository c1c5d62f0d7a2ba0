// RUN: not relex-opt %s --split-input-file
// Below the line of each mistake stands its message, with a caret at its column ("<": column 1);
// tests/unit/dialects/test_dialects_invalid.py compares.

func.func private @f()
schedule.sequence for @f {}
//< error: 'schedule.sequence' op expected @f to be a 'tir.prim_func', found a 'func.func'

// -----

tir.prim_func @f() {}
schedule.sequence for @f {
//< error: 'schedule.sequence' op expected primitives of schedules, found 'arith.constant'
  %0 = arith.constant 0 : index
}

// -----

schedule.vectorize @i
//< error: 'schedule.vectorize' op 'schedule.vectorize' expects parent op 'schedule.sequence'

// -----

tir.prim_func @f() {}
schedule.sequence for @f {
  schedule.split @i by []
//^ error: 'schedule.split' op expected one factor or more, found none
  schedule.split @i by [?, ?]
//^ error: 'schedule.split' op expected at most one factor that is left open, found 2
  schedule.split @i by [4, 0]
//^ error: 'schedule.split' op expected factors of 1 or more, found 0
  schedule.split @i by [4, 2] into [@a, @a]
//^ error: 'schedule.split' op expected new names that differ
  schedule.reorder []
//^ error: 'schedule.reorder' op expected one loop or more, found none
  schedule.fuse [@i, @i]
//^ error: 'schedule.fuse' op expected loops that differ
  schedule.partition [@i] by 0
//^ error: 'schedule.partition' op expected a multiple of 1 or more, found 0
  schedule.dispatch [@i] on @i from 0
//^ error: 'schedule.dispatch' op expected 1 iteration or more, found 0
  schedule.pad @i to 0
//^ error: 'schedule.pad' op expected a multiple of 1 or more, found 0
  schedule.prefetch @Y read 0 at @i ahead 0
//^ error: 'schedule.prefetch' op expected to prefetch 1 iteration ahead or more, found 0
  schedule.cache_read @Y read -1
//^ error: 'schedule.cache_read' op expected an index of 0 or more, found -1
  schedule.transform_layout @Y write 0 by affine_map<(i)[n] -> (i + n)>
//^ error: 'schedule.transform_layout' op expected a map without symbols
}
