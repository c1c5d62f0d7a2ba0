; What runs when an object file is loaded and unloaded, on macOS.

%Hook = type { i32, ptr, ptr }

@llvm.global_ctors = appending global [1 x %Hook] [%Hook { i32 65535, ptr @begin, ptr null }]
@llvm.global_dtors = appending global [1 x %Hook] [%Hook { i32 65535, ptr @end, ptr null }]
