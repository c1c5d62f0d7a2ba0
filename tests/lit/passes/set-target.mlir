// RUN: relex-opt %s -p set-target | filecheck %s --check-prefix=HOST
// RUN: relex-opt %s -p "set-target{triple=x86_64-unknown-linux-gnu cpu=haswell}" | filecheck %s
// RUN: relex-opt %s -p "set-target{cpu=haswell},set-target{features=\"+avx2\"}" | filecheck %s --check-prefix=TWICE
// RUN: relex-opt %s -p "set-target{cpu=haswell},set-target" | filecheck %s --check-prefix=KEPT
// RUN: env RELEX_CPU=generic relex-opt %s -p set-target | filecheck %s --check-prefix=VARIABLE

// HOST: builtin.module attributes {relex.target = {triple = "{{.+}}", cpu = "{{.+}}", features = "{{.*}}"}} {
// CHECK: builtin.module attributes {relex.target = {triple = "x86_64-unknown-linux-gnu", cpu = "haswell", features = ""}} {
// TWICE: builtin.module attributes {relex.target = {triple = "{{.+}}", cpu = "haswell", features = "+avx2"}} {
// KEPT: builtin.module attributes {relex.target = {triple = "{{.+}}", cpu = "haswell", features = ""}} {
// VARIABLE: builtin.module attributes {relex.target = {triple = "{{.+}}", cpu = "generic", features = ""}} {
builtin.module {}
