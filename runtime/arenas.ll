; Blocks that nobody uses, and the functions that take and return them. There are no locks: a thread takes a block by
; exchanging its place in the table with null, and puts one where it finds null.

; 16 blocks for each of four sizes between a power of two and the next.
@blocks = internal global [4096 x ptr] zeroinitializer, align 64
@released = global i64 0
@message = private constant [21 x i8] c"relex: out of memory\0A"

declare ptr @aligned_alloc(i64, i64)
declare void @free(ptr)
declare i64 @time(ptr)
declare i64 @write(i32, ptr, i64)
declare void @abort()
declare i64 @llvm.ctlz.i64(i64, i1)
declare i64 @llvm.umax.i64(i64, i64)
declare i64 @llvm.ushl.sat.i64(i64, i64)
declare i64 @llvm.uadd.sat.i64(i64, i64)

; Take the block at a place of the table, or null.
define internal ptr @take(ptr %slot) alwaysinline {
entry:
  %seen = load atomic ptr, ptr %slot monotonic, align 8
  %empty = icmp eq ptr %seen, null
  br i1 %empty, label %end, label %exchange
exchange:
  %taken = atomicrmw xchg ptr %slot, ptr null acquire
  br label %end
end:
  %block = phi ptr [null, %entry], [%taken, %exchange]
  ret ptr %block
}

; Put a block at a place of the table; returns whether that was free.
define internal i1 @put(ptr %slot, ptr %block) alwaysinline {
entry:
  %seen = load atomic ptr, ptr %slot monotonic, align 8
  %empty = icmp eq ptr %seen, null
  br i1 %empty, label %exchange, label %end
exchange:
  %pair = cmpxchg ptr %slot, ptr null, ptr %block release monotonic
  %put = extractvalue { ptr, i1 } %pair, 1
  br label %end
end:
  %done = phi i1 [false, %entry], [%put, %exchange]
  ret i1 %done
}

; In front of what a call gets are 64 bytes that belong to the block: its row in the table, its size, when it was taken.
define ptr @allocate(i64 %size) {
entry:
  %least = call i64 @llvm.umax.i64(i64 %size, i64 256)
  %highest = sub i64 %least, 1
  %zeros = call i64 @llvm.ctlz.i64(i64 %highest, i1 true)
  %exponent = sub i64 63, %zeros
  %shift = sub i64 %exponent, 2
  %leading = lshr i64 %highest, %shift
  %above = add i64 %leading, 1
  %capacity = call i64 @llvm.ushl.sat.i64(i64 %above, i64 %shift)
  %quarter = and i64 %leading, 3
  %rows = mul i64 %exponent, 4
  %row = add i64 %rows, %quarter
  %first = mul i64 %row, 16
  %now = call i64 @time(ptr null)
  %then = load atomic i64, ptr @released monotonic, align 8
  %since = sub i64 %now, %then
  %due = icmp sgt i64 %since, ${half_idle}
  br i1 %due, label %release, label %search
release:
  store atomic i64 %now, ptr @released monotonic, align 8
  call i64 @release(i64 ${max_idle})
  br label %search
search:
  %k = phi i64 [0, %entry], [0, %release], [%next, %another]
  %index = add i64 %first, %k
  %slot = getelementptr ptr, ptr @blocks, i64 %index
  %taken = call ptr @take(ptr %slot)
  %empty = icmp eq ptr %taken, null
  br i1 %empty, label %another, label %found
another:
  %next = add i64 %k, 1
  %more = icmp ult i64 %next, 16
  br i1 %more, label %search, label %make
make:
  %whole = call i64 @llvm.uadd.sat.i64(i64 %capacity, i64 64)
  %new = call ptr @aligned_alloc(i64 64, i64 %whole)
  %none = icmp eq ptr %new, null
  br i1 %none, label %again, label %fresh
again:
  call i64 @release(i64 -1)
  %last = call ptr @aligned_alloc(i64 64, i64 %whole)
  %hopeless = icmp eq ptr %last, null
  br i1 %hopeless, label %fail, label %fresh
fail:
  call i64 @write(i32 2, ptr @message, i64 21)
  call void @abort()
  unreachable
fresh:
  %made = phi ptr [%new, %make], [%last, %again]
  store i64 %first, ptr %made
  %made_size = getelementptr i64, ptr %made, i64 1
  store i64 %capacity, ptr %made_size
  br label %found
found:
  %block = phi ptr [%taken, %search], [%made, %fresh]
  %stamp = getelementptr i64, ptr %block, i64 2
  store i64 %now, ptr %stamp
  %result = getelementptr i8, ptr %block, i64 64
  ret ptr %result
}

define void @deallocate(ptr %given) {
entry:
  %nothing = icmp eq ptr %given, null
  br i1 %nothing, label %end, label %start
start:
  %block = getelementptr i8, ptr %given, i64 -64
  %first = load i64, ptr %block
  br label %search
search:
  %k = phi i64 [0, %start], [%next, %another]
  %index = add i64 %first, %k
  %slot = getelementptr ptr, ptr @blocks, i64 %index
  %done = call i1 @put(ptr %slot, ptr %block)
  br i1 %done, label %end, label %another
another:
  %next = add i64 %k, 1
  %more = icmp ult i64 %next, 16
  br i1 %more, label %search, label %release
release:
  call void @free(ptr %block)
  br label %end
end:
  ret void
}

; Free the blocks that were taken more than some seconds ago. Returns how many bytes are in those that are left.
define i64 @release(i64 %age) {
entry:
  %now = call i64 @time(ptr null)
  br label %loop
loop:
  %k = phi i64 [0, %entry], [%next, %another]
  %kept = phi i64 [0, %entry], [%held, %another]
  %slot = getelementptr ptr, ptr @blocks, i64 %k
  %taken = call ptr @take(ptr %slot)
  %empty = icmp eq ptr %taken, null
  br i1 %empty, label %another, label %look
look:
  %stamp = getelementptr i64, ptr %taken, i64 2
  %then = load i64, ptr %stamp
  %since = sub i64 %now, %then
  %old = icmp sgt i64 %since, %age
  br i1 %old, label %free, label %keep
keep:
  %size = getelementptr i64, ptr %taken, i64 1
  %bytes = load i64, ptr %size
  %more_kept = add i64 %kept, %bytes
  %done = call i1 @put(ptr %slot, ptr %taken)
  br i1 %done, label %another, label %free
free:
  call void @free(ptr %taken)
  br label %another
another:
  %held = phi i64 [%kept, %loop], [%more_kept, %keep], [%kept, %free]
  %next = add i64 %k, 1
  %more = icmp ult i64 %next, 4096
  br i1 %more, label %loop, label %end
end:
  ret i64 %held
}
