; The processor that a thread runs on, on Linux.

declare i32 @sched_getcpu()
declare i32 @sched_getaffinity(i32, i64, ptr)
declare i32 @sched_setaffinity(i32, i64, ptr)

%Processors = type [16 x i64]               ; A bit for each processor.

; The number of the processor that the calling thread runs on.
define internal i32 @here() {
  %number = call i32 @sched_getcpu()
  ret i32 %number
}

; The processors that the calling thread may run on; none if the system does not say.
define internal void @get_processors(ptr %allowed) {
  store %Processors zeroinitializer, ptr %allowed
  %error = call i32 @sched_getaffinity(i32 0, i64 128, ptr %allowed)
  ret void
}

; The number of processors that the calling thread may run on; 0 if the system does not say.
define internal i64 @processors() {
start:
  %allowed = alloca %Processors, align 8
  call void @get_processors(ptr %allowed)
  br label %add

add:
  %word = phi i64 [ 0, %start ], [ %next, %add ]
  %sum = phi i64 [ 0, %start ], [ %more, %add ]
  %place = getelementptr i64, ptr %allowed, i64 %word
  %bits = load i64, ptr %place
  %ones = call i64 @llvm.ctpop.i64(i64 %bits)
  %more = add i64 %sum, %ones
  %next = add i64 %word, 1
  %left = icmp ult i64 %next, 16
  br i1 %left, label %add, label %done

done:
  ret i64 %more
}

; Let the calling thread run on all of these processors but one, if there are others.
define internal void @avoid(ptr %allowed, i32 %number) {
start:
  %others = alloca %Processors, align 8
  %all = load %Processors, ptr %allowed
  store %Processors %all, ptr %others
  %wide = zext i32 %number to i64
  %word = lshr i64 %wide, 6
  %bit = and i64 %wide, 63
  %known = icmp ult i64 %word, 16
  br i1 %known, label %take.out, label %done

take.out:
  %place = getelementptr i64, ptr %others, i64 %word
  %bits = load i64, ptr %place
  %one = shl i64 1, %bit
  %mask = xor i64 %one, -1
  %left = and i64 %bits, %mask
  store i64 %left, ptr %place
  %error = call i32 @sched_setaffinity(i32 0, i64 128, ptr %others)   ; An error if none are left.
  br label %done

done:
  ret void
}
