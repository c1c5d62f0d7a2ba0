; A thread pool that shares one loop at a time, on POSIX threads.
;
; The thread that calls `@share` begins the loop alone, and measures whether the rest takes long enough to be shared,
; which may depend on sizes that are known at run time only. If so, it opens a job and takes chunks of its iterations like
; all others. So it never waits for a thread that does not show up: at the end it closes the job and waits only for
; threads that entered it. A nested call, or one from another thread meanwhile, runs all its iterations itself. A loop
; that was measured before, and by that takes long enough, is shared from its first iteration on; it is measured again
; from time to time.
;
; Each thread begins with its own part, by whose counter it takes chunks, and continues with what is left of the parts
; of others. It has the same part of each loop, so that what it computed may still be in its caches, and the cache lines
; of the counters rarely move from one processor to another.
;
; On a busy machine, the system may wake a thread on the processor of the caller, where it would only take time from the
; caller: such a thread does not spin, and moves to the other processors, where the system gives it its share.

%Lock = type [16 x i64]                     ; Large enough for any system's mutex or condition variable.
%Range = type { i64, i64, [6 x i64] }       ; The first iteration that is not taken yet, the end, the rest of a line.

@busy = internal global i32 0               ; 1 while a thread is in `@share`.
@helpers = internal global i64 0            ; The maximum number of threads besides the caller.
@started = internal global i64 0            ; The number of threads that exist.
@threads = internal global [256 x ptr] zeroinitializer
@stopped = internal global i32 0            ; 1 when threads must exit.

@chunk = internal global ptr null           ; The job: the function to call for a chunk of iterations,
@frame = internal global ptr null           ; its arguments,
@step = internal global i64 0               ; the size of a chunk of iterations,
@parts = internal global i64 0              ; and the parts that they are divided into, one for each thread.
@ranges = internal global [${most} x %Range] zeroinitializer, align 64

@chunks.known = internal global [1024 x ptr] zeroinitializer  ; Functions that were measured, by a part of their address,
@times.known = internal global [1024 x i64] zeroinitializer   ; the time of 1024 iterations of each,
@calls = internal global i64 0              ; and the number of calls, of which some measure again.

@missed = internal global i64 0             ; The time of recent loops that only threads awake would have shared,
@looked = internal global i64 0             ; and when the last one of them was looked at.

@home = internal global i32 -1              ; The processor that the caller was on; negative if it is not known.

@number = internal global i64 0             ; The job number, by which idle threads notice a new one.
@state = internal global i64 0              ; The number of threads in the job; negative while it is open.

@lock = internal global %Lock zeroinitializer, align 64
@wake = internal global %Lock zeroinitializer, align 64
@sleepers = internal global i64 0

declare i32 @pthread_create(ptr, ptr, ptr, ptr)
declare i32 @pthread_join(ptr, ptr)
declare i32 @pthread_mutex_init(ptr, ptr)
declare i32 @pthread_mutex_lock(ptr)
declare i32 @pthread_mutex_unlock(ptr)
declare i32 @pthread_cond_init(ptr, ptr)
declare i32 @pthread_cond_wait(ptr, ptr)
declare i32 @pthread_cond_broadcast(ptr)
declare i32 @sched_yield()
declare i32 @clock_gettime(i32, ptr)

; The caller

define void @share(ptr %chunk, ptr %frame, i64 %first, i64 %last) {
start:
  %helpers = load atomic i64, ptr @helpers monotonic, align 8
  %count = sub i64 %last, %first
  %alone = icmp eq i64 %helpers, 0
  %few = icmp slt i64 %count, 2
  %no = or i1 %alone, %few
  br i1 %no, label %serial, label %try

try:
  %taken = cmpxchg ptr @busy, i32 0, i32 1 acquire monotonic
  %mine = extractvalue { i32, i1 } %taken, 1
  br i1 %mine, label %begin, label %serial

serial:
  call void %chunk(ptr %frame, i64 %first, i64 %last)
  ret void

begin:
  %threads = add i64 %helpers, 1
  %parts = mul i64 %threads, 32
  %share = udiv i64 %count, %parts
  %size = call i64 @llvm.umax.i64(i64 %share, i64 1)
  %address = ptrtoint ptr %chunk to i64
  %place = lshr i64 %address, 4
  %slot = and i64 %place, 1023
  %chunk.known = getelementptr [1024 x ptr], ptr @chunks.known, i64 0, i64 %slot
  %time.known = getelementptr [1024 x i64], ptr @times.known, i64 0, i64 %slot
  %measured = load ptr, ptr %chunk.known
  %is.known = icmp eq ptr %measured, %chunk
  %per.1024 = load i64, ptr %time.known
  %all.1024 = mul i64 %per.1024, %count
  %expected = lshr i64 %all.1024, 10
  %some.awake = call i1 @some_are_awake()
  %least = select i1 %some.awake, i64 ${sure_awake}, i64 ${sure_asleep}
  %is.long = icmp uge i64 %expected, %least
  %calls = load i64, ptr @calls
  %more.calls = add i64 %calls, 1
  store i64 %more.calls, ptr @calls
  %phase = and i64 %more.calls, 15
  %may.trust = icmp ne i64 %phase, 0
  %trusted = and i1 %is.known, %may.trust
  %sure = and i1 %trusted, %is.long
  br i1 %sure, label %open, label %measure

measure:
  %begun = add i64 %first, %size
  %before = call i64 @now()
  call void %chunk(ptr %frame, i64 %first, i64 %begun)
  %after = call i64 @now()
  %time = sub i64 %after, %before
  %time.1024 = shl i64 %time, 10
  %one.1024 = udiv i64 %time.1024, %size
  store ptr %chunk, ptr %chunk.known
  store i64 %one.1024, ptr %time.known
  %rest = sub i64 %last, %begun
  %times = udiv i64 %rest, %size
  %rest.time = mul i64 %time, %times
  %worth = call i1 @is_worth_it(i64 %rest.time, i64 %after)
  br i1 %worth, label %open, label %go.on

go.on:
  store atomic i32 0, ptr @busy release, align 4
  call void %chunk(ptr %frame, i64 %begun, i64 %last)
  ret void

open:
  %from = phi i64 [ %first, %begin ], [ %begun, %measure ]
  %left = sub i64 %last, %from
  call void @start(i64 %helpers)
  store ptr %chunk, ptr @chunk
  store ptr %frame, ptr @frame
  %home = call i32 @here()
  store atomic i32 %home, ptr @home monotonic, align 4
  %chunks = mul i64 %threads, 8
  %part = udiv i64 %left, %chunks
  %step = call i64 @llvm.umax.i64(i64 %part, i64 1)
  store i64 %step, ptr @step
  call void @divide(i64 %from, i64 %last, i64 %threads)
  store atomic i64 -9223372036854775808, ptr @state seq_cst, align 8
  call void @announce()
  call void @work(i64 0)
  %entered = atomicrmw and ptr @state, i64 9223372036854775807 seq_cst
  br label %wait

wait:
  %turn = phi i64 [ 0, %open ], [ %turns, %again ]
  %inside = load atomic i64, ptr @state acquire, align 8
  %done = icmp eq i64 %inside, 0
  br i1 %done, label %leave, label %again

again:
  %turns = add i64 %turn, 1
  call void @pass(i64 %turn)
  br label %wait

leave:
  store atomic i32 0, ptr @busy release, align 4
  ret void
}

; Whether it is worth to share what takes a thread this number of nanoseconds. Threads that are awake take part at once;
; to wake others costs the caller 3 microseconds, and they take 10 to 20 to come. That is also worth it if loops in short
; succession, each too short, take long enough together: more of them are likely to follow.
define internal i1 @is_worth_it(i64 %time, i64 %now) {
start:
  %enough = icmp uge i64 %time, ${awake}
  br i1 %enough, label %look, label %no

look:
  %some.awake = call i1 @some_are_awake()
  br i1 %some.awake, label %yes, label %asleep

asleep:
  %looked = load i64, ptr @looked
  %pause = sub i64 %now, %looked
  %recent = icmp ult i64 %pause, ${patience}
  %missed = load i64, ptr @missed
  %before = select i1 %recent, i64 %missed, i64 0
  %together = add i64 %before, %time
  %worth = icmp uge i64 %together, ${asleep}
  %rest = select i1 %worth, i64 0, i64 %together
  store i64 %rest, ptr @missed
  store i64 %now, ptr @looked
  ret i1 %worth

yes:
  ret i1 true

no:
  ret i1 false
}

; Whether there is a thread that does not sleep.
define internal i1 @some_are_awake() {
  %started = load i64, ptr @started
  %sleepers = load atomic i64, ptr @sleepers monotonic, align 8
  %some = icmp slt i64 %sleepers, %started
  ret i1 %some
}

; The time in nanoseconds.
define internal i64 @now() {
  %spec = alloca { i64, i64 }, align 8
  %error = call i32 @clock_gettime(i32 ${clock}, ptr %spec)
  %seconds = load i64, ptr %spec
  %place = getelementptr { i64, i64 }, ptr %spec, i64 0, i32 1
  %rest = load i64, ptr %place
  %whole = mul i64 %seconds, 1000000000
  %time = add i64 %whole, %rest
  ret i64 %time
}

; Start threads up to this number; if the system grants no more, the pool continues with those that it has.
define internal void @start(i64 %wanted) {
start:
  %already = load i64, ptr @started
  br label %check

check:
  %count = phi i64 [ %already, %start ], [ %more, %count.up ]
  %enough = icmp uge i64 %count, %wanted
  br i1 %enough, label %done, label %create

create:
  %place = getelementptr [256 x ptr], ptr @threads, i64 0, i64 %count
  %index = inttoptr i64 %count to ptr
  %error = call i32 @pthread_create(ptr %place, ptr null, ptr @run, ptr %index)
  %good = icmp eq i32 %error, 0
  br i1 %good, label %count.up, label %give.up

count.up:
  %more = add i64 %count, 1
  store i64 %more, ptr @started
  br label %check

give.up:
  store atomic i64 %count, ptr @helpers monotonic, align 8
  ret void

done:
  ret void
}

; Notify the threads of a new job, or that they must exit.
define internal void @announce() {
  %before = atomicrmw add ptr @number, i64 1 seq_cst
  %sleepers = load atomic i64, ptr @sleepers seq_cst, align 8
  %none = icmp eq i64 %sleepers, 0
  br i1 %none, label %done, label %wake.up

wake.up:
  %1 = call i32 @pthread_mutex_lock(ptr @lock)
  %2 = call i32 @pthread_cond_broadcast(ptr @wake)
  %3 = call i32 @pthread_mutex_unlock(ptr @lock)
  ret void

done:
  ret void
}

; Divide iterations into as many parts as there are threads, as even as can be; some are empty if there are few.
define internal void @divide(i64 %first, i64 %last, i64 %parts) {
start:
  store i64 %parts, ptr @parts
  %count = sub i64 %last, %first
  br label %next

next:
  %part = phi i64 [ 0, %start ], [ %following, %next ]
  %begin = phi i64 [ %first, %start ], [ %end, %next ]
  %following = add i64 %part, 1
  %product = mul i64 %count, %following
  %before = udiv i64 %product, %parts
  %end = add i64 %first, %before
  %range = getelementptr [${most} x %Range], ptr @ranges, i64 0, i64 %part
  %end.at = getelementptr %Range, ptr %range, i64 0, i32 1
  store i64 %end, ptr %end.at
  store atomic i64 %begin, ptr %range monotonic, align 8
  %left = icmp ult i64 %following, %parts
  br i1 %left, label %next, label %done

done:
  ret void
}

; Take chunks until none are left, from part `%own` on.
define internal void @work(i64 %own) {
start:
  %chunk = load ptr, ptr @chunk
  %frame = load ptr, ptr @frame
  %step = load i64, ptr @step
  %parts = load i64, ptr @parts
  br label %visit

visit:
  %turn = phi i64 [ 0, %start ], [ %following, %leave ]
  %sum = add i64 %own, %turn
  %part = urem i64 %sum, %parts
  %range = getelementptr [${most} x %Range], ptr @ranges, i64 0, i64 %part
  %end.at = getelementptr %Range, ptr %range, i64 0, i32 1
  %end = load i64, ptr %end.at
  br label %look

look:
  %now = load atomic i64, ptr %range monotonic, align 8
  %some = icmp slt i64 %now, %end
  br i1 %some, label %take, label %leave

take:
  %first = atomicrmw add ptr %range, i64 %step monotonic
  %left = icmp slt i64 %first, %end
  br i1 %left, label %call, label %leave

call:
  %sum.step = add i64 %first, %step
  %last = call i64 @llvm.smin.i64(i64 %sum.step, i64 %end)
  call void %chunk(ptr %frame, i64 %first, i64 %last)
  br label %look

leave:
  %following = add i64 %turn, 1
  %more = icmp ult i64 %following, %parts
  br i1 %more, label %visit, label %done

done:
  ret void
}

; The other threads

define internal ptr @run(ptr %argument) {
start:
  %index = ptrtoint ptr %argument to i64
  %allowed = alloca %Processors, align 8
  call void @get_processors(ptr %allowed)
  br label %idle

idle:
  %seen = phi i64 [ 0, %start ], [ %number, %awake ], [ %number, %busy ], [ %number, %enter ]
  %number = call i64 @await(i64 %seen)
  %stopped = load atomic i32, ptr @stopped acquire, align 4
  %is.stopped = icmp ne i32 %stopped, 0
  br i1 %is.stopped, label %end, label %awake

awake:
  %helpers = load atomic i64, ptr @helpers monotonic, align 8
  %needed = icmp ult i64 %index, %helpers
  br i1 %needed, label %place, label %idle

place:
  %in.the.way = call i1 @is_at_home()
  br i1 %in.the.way, label %move, label %enter

move:
  %home = load atomic i32, ptr @home monotonic, align 4
  call void @avoid(ptr %allowed, i32 %home)
  br label %enter

enter:
  %inside = load atomic i64, ptr @state seq_cst, align 8
  %open = icmp slt i64 %inside, 0
  br i1 %open, label %entering, label %idle

entering:
  %one.more = add i64 %inside, 1
  %swap = cmpxchg ptr @state, i64 %inside, i64 %one.more seq_cst seq_cst
  %entered = extractvalue { i64, i1 } %swap, 1
  br i1 %entered, label %busy, label %enter

busy:
  %own = add i64 %index, 1
  call void @work(i64 %own)
  %out = atomicrmw sub ptr @state, i64 1 seq_cst
  br label %idle

end:
  ret ptr null
}

; Whether the calling thread runs on the processor that the caller was on.
define internal i1 @is_at_home() {
  %home = load atomic i32, ptr @home monotonic, align 4
  %here = call i32 @here()
  %same = icmp eq i32 %here, %home
  %known = icmp sge i32 %here, 0
  %both = and i1 %same, %known
  ret i1 %both
}

; Wait for a job with another number than `%seen` and return that number: spin at first, unless that keeps the caller
; from running, then sleep.
define internal i64 @await(i64 %seen) {
start:
  %begun = call i64 @now()
  br label %look

look:
  %number = load atomic i64, ptr @number acquire, align 8
  %changed = icmp ne i64 %number, %seen
  br i1 %changed, label %found, label %again

again:
  %in.the.way = call i1 @is_at_home()
  br i1 %in.the.way, label %sleep, label %apart

apart:
  call void @relax()
  %now = call i64 @now()
  %waited = sub i64 %now, %begun
  %patient = icmp ult i64 %waited, ${patience}
  br i1 %patient, label %look, label %sleep

found:
  ret i64 %number

sleep:
  %1 = call i32 @pthread_mutex_lock(ptr @lock)
  %2 = atomicrmw add ptr @sleepers, i64 1 seq_cst
  br label %check

check:
  %later = load atomic i64, ptr @number seq_cst, align 8
  %is.new = icmp ne i64 %later, %seen
  br i1 %is.new, label %wake.up, label %wait

wait:
  %3 = call i32 @pthread_cond_wait(ptr @wake, ptr @lock)
  br label %check

wake.up:
  %4 = atomicrmw sub ptr @sleepers, i64 1 seq_cst
  %5 = call i32 @pthread_mutex_unlock(ptr @lock)
  ret i64 %later
}

; Back off in iteration `%turn` of a waiting loop: spin at first, then yield.
define internal void @pass(i64 %turn) {
  %short = icmp ult i64 %turn, 200
  br i1 %short, label %here, label %others

here:
  call void @relax()
  ret void

others:
  %1 = call i32 @sched_yield()
  ret void
}

; The pool as a whole

define void @set_helpers(i64 %count) {
  store atomic i64 %count, ptr @helpers monotonic, align 8
  ret void
}

; Start over without threads: initially, and in a forked process, which has none of them.
define void @reset() {
  store i64 0, ptr @started
  store i64 0, ptr @sleepers
  store i64 0, ptr @number
  store i64 0, ptr @state
  store i32 0, ptr @stopped
  %1 = call i32 @pthread_mutex_init(ptr @lock, ptr null)
  %2 = call i32 @pthread_cond_init(ptr @wake, ptr null)
  store atomic i32 0, ptr @busy release, align 4
  ret void
}

; Stop all threads, after the job that may be running. Later jobs start new ones.
define void @stop() {
start:
  br label %try

try:
  %taken = cmpxchg ptr @busy, i32 0, i32 1 acquire monotonic
  %mine = extractvalue { i32, i1 } %taken, 1
  br i1 %mine, label %alone, label %wait

wait:
  %1 = call i32 @sched_yield()
  br label %try

alone:
  store atomic i32 1, ptr @stopped seq_cst, align 4
  call void @announce()
  %started = load i64, ptr @started
  br label %check

check:
  %count = phi i64 [ 0, %alone ], [ %more, %join ]
  %left = icmp ult i64 %count, %started
  br i1 %left, label %join, label %done

join:
  %place = getelementptr [256 x ptr], ptr @threads, i64 0, i64 %count
  %thread = load ptr, ptr %place
  %2 = call i32 @pthread_join(ptr %thread, ptr null)
  %more = add i64 %count, 1
  br label %check

done:
  call void @reset()
  ret void
}
