// RUN: relex-opt %s -p convert-func-to-llvm,convert-vector-to-llvm,reconcile-unrealized-casts | filecheck %s
// RUN: relex-opt %s -p convert-vector-to-llvm | filecheck %s --check-prefix=ALONE

// Accesses are aligned as the elements are.
// CHECK-LABEL: llvm.func @memory
// ALONE-LABEL: func.func @memory
func.func @memory(%x: memref<?x16xf32>, %i: index, %mask: vector<4xi1>, %v: vector<4xf32>) -> vector<4xf32> {
  // ALONE: builtin.unrealized_conversion_cast %i : index to i64
  // CHECK:      [[P:%.+]] = llvm.getelementptr inbounds %x[%{{.+}}] : (!llvm.ptr, i64) -> !llvm.ptr, f32
  // CHECK-NEXT: [[A:%.+]] = llvm.load [[P]] {alignment = 4 : i64} : !llvm.ptr -> vector<4xf32>
  %0 = vector.load %x[%i, %i] : memref<?x16xf32>, vector<4xf32>
  // CHECK:      llvm.store [[A]], %{{.+}} {alignment = 4 : i64} : vector<4xf32>, !llvm.ptr
  vector.store %0, %x[%i, %i] : memref<?x16xf32>, vector<4xf32>
  // What the mask leaves out may lie outside.
  // CHECK:      [[Q:%.+]] = llvm.getelementptr %x[%{{.+}}] : (!llvm.ptr, i64) -> !llvm.ptr, f32
  // CHECK-NEXT: [[B:%.+]] = llvm.call_intrinsic "llvm.masked.load.v4f32.p0"([[Q]], %mask, %v) : (!llvm.ptr, vector<4xi1>, vector<4xf32>) -> vector<4xf32>
  %1 = vector.maskedload %x[%i, %i], %mask, %v : memref<?x16xf32>, vector<4xi1>, vector<4xf32> into vector<4xf32>
  // CHECK:      llvm.call_intrinsic "llvm.masked.store.v4f32.p0"([[B]], %{{.+}}, %mask) : (vector<4xf32>, !llvm.ptr, vector<4xi1>) -> ()
  vector.maskedstore %x[%i, %i], %mask, %1 : memref<?x16xf32>, vector<4xi1>, vector<4xf32>
  func.return %1 : vector<4xf32>
}

// An i1 takes a byte in memory; vectors of LLVM pack bits.
// CHECK-LABEL: llvm.func @bits
func.func @bits(%x: memref<?xi1>, %i: index, %mask: vector<4xi1>) -> vector<4xi1> {
  // CHECK:      [[A:%.+]] = llvm.load %{{.+}} {alignment = 1 : i64} : !llvm.ptr -> vector<4xi8>
  // CHECK-NEXT: [[B:%.+]] = llvm.trunc [[A]] : vector<4xi8> to vector<4xi1>
  %0 = vector.load %x[%i] : memref<?xi1>, vector<4xi1>
  // CHECK:      [[C:%.+]] = llvm.zext [[B]] : vector<4xi1> to vector<4xi8>
  // CHECK:      [[D:%.+]] = llvm.call_intrinsic "llvm.masked.load.v4i8.p0"(%{{.+}}, %mask{{.*}}, [[C]]) : (!llvm.ptr, vector<4xi1>, vector<4xi8>) -> vector<4xi8>
  // CHECK-NEXT: [[E:%.+]] = llvm.trunc [[D]] : vector<4xi8> to vector<4xi1>
  %1 = vector.maskedload %x[%i], %mask, %0 : memref<?xi1>, vector<4xi1>, vector<4xi1> into vector<4xi1>
  // CHECK:      [[F:%.+]] = llvm.zext [[E]] : vector<4xi1> to vector<4xi8>
  // CHECK:      llvm.store [[F]], %{{.+}} {alignment = 1 : i64} : vector<4xi8>, !llvm.ptr
  vector.store %1, %x[%i] : memref<?xi1>, vector<4xi1>
  // CHECK:      llvm.call_intrinsic "llvm.masked.store.v4i8.p0"(
  vector.maskedstore %x[%i], %mask, %1 : memref<?xi1>, vector<4xi1>, vector<4xi1>
  func.return %1 : vector<4xi1>
}

// CHECK-LABEL: llvm.func @transfers
func.func @transfers(%t: memref<?xf32>, %k: index, %pad: f32, %allowed: vector<4xi1>) {
  // CHECK:      llvm.getelementptr inbounds %t[%k]
  // CHECK-NEXT: [[A:%.+]] = llvm.load
  %0 = vector.transfer_read %t[%k], %pad {in_bounds = [true]} : memref<?xf32>, vector<4xf32>
  // CHECK-NEXT: [[ROOM:%.+]] = llvm.sub %t_size0, %k : i64
  // CHECK:      llvm.call_intrinsic "llvm.smax.i64"([[ROOM]]
  // CHECK:      llvm.call_intrinsic "llvm.smin.i64"
  // CHECK-NEXT: [[N:%.+]] = llvm.trunc %{{.+}} : i64 to i32
  // CHECK-NEXT: [[LANES:%.+]] = llvm.mlir.constant(dense<[0, 1, 2, 3]> : vector<4xi32>) : vector<4xi32>
  // CHECK:      [[INSIDE:%.+]] = llvm.icmp "sgt" %{{.+}}, [[LANES]] : vector<4xi32>
  // CHECK:      llvm.call_intrinsic "llvm.masked.store.v4f32.p0"([[A]], %{{.+}}, [[INSIDE]])
  vector.transfer_write %0, %t[%k] : vector<4xf32>, memref<?xf32>
  // CHECK:      [[BOTH:%.+]] = llvm.and %{{.+}}, %allowed : vector<4xi1>
  // CHECK:      llvm.call_intrinsic "llvm.masked.load.v4f32.p0"(%{{.+}}, [[BOTH]], %{{.+}})
  %1 = vector.transfer_read %t[%k], %pad, %allowed : memref<?xf32>, vector<4xf32>
  func.return
}

// CHECK-LABEL: llvm.func @elements
func.func @elements(%s: f32, %j: index, %w: vector<4xf32>, %u: vector<2xf32>) {
  // CHECK-NEXT: [[U:%.+]] = llvm.mlir.undef : vector<4xf32>
  // CHECK-NEXT: [[ZERO:%.+]] = llvm.mlir.constant(0) : i64
  // CHECK-NEXT: [[F:%.+]] = llvm.insertelement %s, [[U]][[[ZERO]] : i64] : vector<4xf32>
  // CHECK-NEXT: llvm.shufflevector [[F]], [[F]] [0, 0, 0, 0] : vector<4xf32>
  %0 = vector.broadcast %s : f32 to vector<4xf32>
  // CHECK:      llvm.extractelement %w[%{{.+}} : i64] : vector<4xf32>
  %1 = vector.extract %w[2] : f32 from vector<4xf32>
  // CHECK-NEXT: llvm.extractelement %w[%j : i64] : vector<4xf32>
  %2 = vector.extract %w[%j] : f32 from vector<4xf32>
  // CHECK-NEXT: llvm.insertelement %s, %w[%j : i64] : vector<4xf32>
  %3 = vector.insert %s, %w [%j] : f32 into vector<4xf32>
  // Vectors of two lengths are made one length first.
  // CHECK-NEXT: [[V:%.+]] = llvm.shufflevector %u, %u [0, 1, -1, -1] : vector<2xf32>
  // CHECK-NEXT: llvm.shufflevector [[V]], %w [1, 4, 7] : vector<4xf32>
  %4 = vector.shuffle %u, %w [1, 2, 5] : vector<2xf32>, vector<4xf32>
  // CHECK-NEXT: llvm.call_intrinsic "llvm.fmuladd.v4f32"(%w, %w, %w)
  %5 = vector.fma %w, %w, %w : vector<4xf32>
  // CHECK-NEXT: llvm.bitcast %w : vector<4xf32> to vector<8xi16>
  %6 = vector.bitcast %w : vector<4xf32> to vector<8xi16>
  func.return
}

// CHECK-LABEL: llvm.func @reductions
func.func @reductions(%y: vector<4xf32>, %n: vector<4xi32>, %b0: f32, %c: i32) {
  // In order, unless the op says otherwise.
  // CHECK-NEXT: [[ZERO:%.+]] = llvm.mlir.constant(0.000000e+00 : f32) : f32
  // CHECK-NEXT: llvm.call_intrinsic "llvm.vector.reduce.fadd.v4f32"([[ZERO]], %y) : (f32, vector<4xf32>) -> f32
  %0 = vector.reduction <add>, %y : vector<4xf32> into f32
  // CHECK-NEXT: llvm.call_intrinsic "llvm.vector.reduce.fmul.v4f32"(%b0, %y) {fastmathFlags = #llvm.fastmath<reassoc>}
  %1 = vector.reduction <mul>, %y, %b0 fastmath<reassoc> : vector<4xf32> into f32
  // CHECK-NEXT: [[M:%.+]] = llvm.call_intrinsic "llvm.vector.reduce.fmaximum.v4f32"(%y) : (vector<4xf32>) -> f32
  // CHECK-NEXT: llvm.call_intrinsic "llvm.maximum.f32"([[M]], %b0)
  %2 = vector.reduction <maximumf>, %y, %b0 : vector<4xf32> into f32
  // CHECK-NEXT: [[S:%.+]] = llvm.call_intrinsic "llvm.vector.reduce.add.v4i32"(%n) : (vector<4xi32>) -> i32
  // CHECK-NEXT: llvm.add %c, [[S]] : i32
  %3 = vector.reduction <add>, %n, %c : vector<4xi32> into i32
  // CHECK-NEXT: [[U:%.+]] = llvm.call_intrinsic "llvm.vector.reduce.umin.v4i32"(%n) : (vector<4xi32>) -> i32
  // CHECK-NEXT: llvm.call_intrinsic "llvm.umin.i32"(%c, [[U]])
  %4 = vector.reduction <minui>, %n, %c : vector<4xi32> into i32
  func.return
}
