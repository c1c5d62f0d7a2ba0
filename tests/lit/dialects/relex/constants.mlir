// RUN: RELEX_ROUNDTRIP
// RUN: RELEX_GENERIC_ROUNDTRIP
// RUN: relex-opt %s --elide=3 | filecheck %s --check-prefix ELIDED

// CHECK-LABEL: func.func @listed
// ELIDED-LABEL: func.func @listed
func.func @listed() {
  // CHECK-NEXT: relex.constant dense<[0.5, -0.0, 1.0e-05, 3.4028235e+38]> : tensor<4xf32>
  // ELIDED-NEXT: relex.constant dense_resource<__elided__> : tensor<4xf32>
  %0 = relex.constant dense<[0.5, -0.0, 1.0e-5, 3.4028235e38]> : tensor<4xf32>
  // CHECK-NEXT: relex.constant dense<[0.1, 5.0e-324]> : tensor<2xf64>
  // ELIDED-NEXT: relex.constant dense<[0.1, 5.0e-324]> : tensor<2xf64>
  %1 = relex.constant dense<[0.1, 5.0e-324]> : tensor<2xf64>
  // CHECK-NEXT: relex.constant dense<[1.5, 0.0999755859375]> : tensor<2xf16>
  %2 = relex.constant dense<[1.5, 0.1]> : tensor<2xf16>
  // CHECK-NEXT: relex.constant dense<[1.5, -0.100097656]> : tensor<2xbf16>
  %3 = relex.constant dense<[1.5, -0.1]> : tensor<2xbf16>
  // CHECK-NEXT: relex.constant dense<{{\[\[}}1, -2], [3, 4]]> : tensor<2x2xi32>
  // ELIDED: relex.constant dense_resource<__elided__> : tensor<2x2xi32>
  %4 = relex.constant dense<[[1, -2], [3, 4]]> : tensor<2x2xi32>
  // CHECK-NEXT: relex.constant dense<[-128, 127, -1]> : tensor<3xi8>
  %5 = relex.constant dense<[-128, 127, 255]> : tensor<3xi8>
  // CHECK-NEXT: relex.constant dense<[-9223372036854775808, 9223372036854775807]> : tensor<2xi64>
  %6 = relex.constant dense<[-9223372036854775808, 9223372036854775807]> : tensor<2xi64>
  func.return
}

// i1 is a list at any length.
// CHECK-LABEL: func.func @booleans
func.func @booleans() {
  // CHECK-NEXT: relex.constant dense<[true, false]> : tensor<2xi1>
  %0 = relex.constant dense<[true, false]> : tensor<2xi1>
  // CHECK-NEXT: relex.constant dense<[true, false, true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, true]> : tensor<18xi1>
  %1 = relex.constant dense<[true, false, true, true, true, true, true, true, true, true, true, true, true, true,
                             true, true, true, true]> : tensor<18xi1>
  func.return
}

// CHECK-LABEL: func.func @splats
// ELIDED-LABEL: func.func @splats
func.func @splats() {
  // CHECK-NEXT: relex.constant dense<0.25> : tensor<100x100xf32>
  // ELIDED-NEXT: relex.constant dense<0.25> : tensor<100x100xf32>
  %0 = relex.constant dense<0.25> : tensor<100x100xf32>
  // CHECK-NEXT: relex.constant dense<7> : tensor<2xi64>
  %1 = relex.constant dense<[7, 7]> : tensor<2xi64>
  // CHECK-NEXT: relex.constant dense<false> : tensor<20xi1>
  %2 = relex.constant dense<false> : tensor<20xi1>
  func.return
}

// CHECK-LABEL: func.func @scalars_and_nothing
func.func @scalars_and_nothing() {
  // CHECK-NEXT: relex.constant dense<-1.0> : tensor<f64>
  %0 = relex.constant dense<-1.0> : tensor<f64>
  // CHECK-NEXT: relex.constant dense<true> : tensor<i1>
  %1 = relex.constant dense<true> : tensor<i1>
  // CHECK-NEXT: relex.constant dense<> : tensor<0x784xf32>
  %2 = relex.constant dense<> : tensor<0x784xf32>
  // CHECK-NEXT: relex.constant {note} dense<> : tensor<3x0xi1>
  %3 = relex.constant {note} dense<> : tensor<3x0xi1>
  func.return
}

// More than 16 elements are bytes, and so are floats without a decimal form. A list may give the bits of a float.
// CHECK-LABEL: func.func @bytes
func.func @bytes() {
  // CHECK-NEXT: relex.constant dense<"0x000102030405060708090A0B0C0D0E0F10"> : tensor<17xi8>
  %0 = relex.constant dense<[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16]> : tensor<17xi8>
  // CHECK-NEXT: relex.constant dense<[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15]> : tensor<16xi8>
  %1 = relex.constant dense<"0x000102030405060708090A0B0C0D0E0F"> : tensor<16xi8>
  // CHECK-NEXT: relex.constant dense<"0x0000C07F0000803F000080FF"> : tensor<3xf32>
  %2 = relex.constant dense<[0x7FC00000, 1.0, 0xff800000]> : tensor<3xf32>
  // CHECK-NEXT: relex.constant dense<"0x0000C07F"> : tensor<50xf32>
  %3 = relex.constant dense<0x7FC00000> : tensor<50xf32>
  // CHECK-NEXT: relex.constant dense<"0x007E"> : tensor<f16>
  %4 = relex.constant dense<0x7E00> : tensor<f16>
  // CHECK-NEXT: relex.constant dense<"0x803FC07F"> : tensor<2xbf16>
  %5 = relex.constant dense<[1.0, 0x7FC0]> : tensor<2xbf16>
  // CHECK-NEXT: relex.constant dense<"0x000000000000F07F"> : tensor<1xf64>
  %6 = relex.constant dense<0x7FF0000000000000> : tensor<1xf64>
  // CHECK-NEXT: relex.constant dense<[255, 16]> : tensor<2xi32>
  %7 = relex.constant dense<[0xFF, 0x10]> : tensor<2xi32>
  func.return
}
