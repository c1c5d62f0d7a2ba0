; What runs when an object file is loaded and unloaded, on Linux. `llvm.global_ctors` would go to sections of an older kind.

@at.begin = internal global ptr @begin, section ".init_array", align 8
@at.end = internal global ptr @end, section ".fini_array", align 8
@llvm.compiler.used = appending global [2 x ptr] [ptr @at.begin, ptr @at.end], section "llvm.metadata"
