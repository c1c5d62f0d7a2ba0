"""From LLVM IR to object code, in this process or in workers."""
