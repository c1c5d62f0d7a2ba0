; The pool in an object file for C: it gets its number of threads when the file is loaded, and ends with the program, or
; with the shared library that it is in.

@_relex_parallel = hidden alias void (ptr, ptr, i64, i64), ptr @share

@variable = internal constant [18 x i8] c"RELEX_NUM_THREADS\00"
@message = internal constant [43 x i8] c"relex: expected %s of 1 to %d, found '%s'\0A\00"

declare i32 @pthread_atfork(ptr, ptr, ptr)
declare ptr @getenv(ptr)
declare i64 @strtol(ptr, ptr, i32)
declare i32 @dprintf(i32, ptr, ...)

define internal void @begin() {
  call void @reset()
  %1 = call i32 @pthread_atfork(ptr null, ptr null, ptr @reset)
  %threads = call i64 @threads_wanted()
  %helpers = sub i64 %threads, 1
  call void @set_helpers(i64 %helpers)
  ret void
}

define internal void @end() {
  call void @set_helpers(i64 0)
  call void @stop()
  ret void
}

; The number of threads that the environment asks for; else, or if that is none, the number of processors.
define internal i64 @threads_wanted() {
start:
  %end = alloca ptr, align 8
  %text = call ptr @getenv(ptr @variable)
  %is.set = icmp ne ptr %text, null
  br i1 %is.set, label %read, label %default

read:
  %count = call i64 @strtol(ptr %text, ptr %end, i32 10)
  %after = load ptr, ptr %end
  %next = load i8, ptr %after
  %is.number = icmp eq i8 %next, 0
  %helpers = sub i64 %count, 1
  %is.possible = icmp ult i64 %helpers, ${most}
  %good = and i1 %is.number, %is.possible
  br i1 %good, label %found, label %wrong

found:
  ret i64 %count

wrong:
  %1 = call i32 (i32, ptr, ...) @dprintf(i32 2, ptr @message, ptr @variable, i32 ${most}, ptr %text)
  br label %default

default:
  %all = call i64 @processors()
  %some = call i64 @llvm.umax.i64(i64 %all, i64 1)
  %least = call i64 @llvm.umin.i64(i64 %some, i64 ${most})
  ret i64 %least
}
