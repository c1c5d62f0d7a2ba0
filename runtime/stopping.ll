; The end of loops that are to stop: after a signal whose Python handler raises, after an exception of a library
; function, or after a deadline. At the end of each trip, compiled loops read `@reasons`, and call `@may_go_on` if there
; are any.

; Why loops may have to stop, as two halves: whether a signal has come, and how many runs hold an exception or are late.
@reasons = global [2 x i16] zeroinitializer, align 4

@main_thread = global i64 0                                       ; The thread that handles signals.
@previous = global ptr null                                       ; The handler in whose place `@interrupted` is or was.
@asked = global ptr null                                          ; Says whether this thread's run may go on.
@type = global ptr null                                           ; What the handler has raised.
@value = global ptr null
@trace = global ptr null

declare i32 @PyGILState_Ensure()
declare void @PyGILState_Release(i32)
declare i32 @PyErr_CheckSignals()
declare void @PyErr_Fetch(ptr, ptr, ptr)
declare void @PyErr_NormalizeException(ptr, ptr, ptr)
declare i64 @PyThread_get_thread_ident()

define i1 @may_go_on() {
  %thread = call i64 @PyThread_get_thread_ident()
  %main = load i64, ptr @main_thread
  %is_main = icmp eq i64 %thread, %main
  br i1 %is_main, label %handle, label %ask

handle:
  store atomic i16 0, ptr @reasons monotonic, align 4
  %state = call i32 @PyGILState_Ensure()
  %status = call i32 @PyErr_CheckSignals()
  %is_fine = icmp eq i32 %status, 0
  br i1 %is_fine, label %handled, label %raised

raised:
  call void @PyErr_Fetch(ptr @type, ptr @value, ptr @trace)
  call void @PyErr_NormalizeException(ptr @type, ptr @value, ptr @trace)
  br label %handled

handled:
  call void @PyGILState_Release(i32 %state)
  br i1 %is_fine, label %ask, label %no

ask:
  %second = getelementptr inbounds i16, ptr @reasons, i64 1
  %held = load atomic i16, ptr %second monotonic, align 2
  %none_held = icmp eq i16 %held, 0
  br i1 %none_held, label %yes, label %in_python

in_python:
  %function = load ptr, ptr @asked
  %answer = call i32 %function()
  %is_yes = icmp ne i32 %answer, 0
  ret i1 %is_yes

yes:
  ret i1 true

no:
  ret i1 false
}

; What loops of programs saved by relex 0.2 call at the end of each trip.
define i1 @goes_on() {
  %reasons = load atomic i32, ptr @reasons monotonic, align 4
  %is_quiet = icmp eq i32 %reasons, 0
  br i1 %is_quiet, label %yes, label %look

look:
  %answer = call i1 @may_go_on()
  ret i1 %answer

yes:
  ret i1 true
}

; Whether `@previous` is the handler to call; else a signal is noted, until `@begin` has learned which one that is.
@is_settled = global i8 0
@early = global i8 0

define void @interrupted(i32 %signal) {
  store atomic i16 1, ptr @reasons monotonic, align 4
  %settled = load atomic i8, ptr @is_settled seq_cst, align 1
  %is_settled = icmp ne i8 %settled, 0
  br i1 %is_settled, label %handle, label %note

handle:
  %handler = load ptr, ptr @previous
  call void %handler(i32 %signal)
  ret void

note:
  %noted = atomicrmw xchg ptr @early, i8 1 seq_cst
  %later = load atomic i8, ptr @is_settled seq_cst, align 1
  %is_late = icmp ne i8 %later, 0                                  ; `@begin` in another thread may have looked before.
  br i1 %is_late, label %look, label %done

look:
  call void @handle_early()
  br label %done

done:
  ret void
}

define void @handle_early() {
  %early = atomicrmw xchg ptr @early, i8 0 seq_cst
  %is_early = icmp ne i8 %early, 0
  br i1 %is_early, label %handle, label %done

handle:
  call void @interrupted(i32 2)
  br label %done

done:
  ret void
}

; Calls of programs with loops that the main thread is in, one in another: Python handles signals there.
@depth = global i64 0

; Whether `@interrupted` handles SIGINT. A system call takes longer than many trips, so `@begin` and `@end` make one each.
@is_installed = global i8 0

declare ptr @PyOS_setsig(i32, ptr)

define i1 @is_main() {
  %thread = call i64 @PyThread_get_thread_ident()
  %main = load i64, ptr @main_thread
  %is_main = icmp eq i64 %thread, %main
  ret i1 %is_main
}

define void @begin() {
  %is_main = call i1 @is_main()
  br i1 %is_main, label %enter, label %done

enter:
  %depth = load i64, ptr @depth
  %deeper = add i64 %depth, 1
  store i64 %deeper, ptr @depth
  %is_first = icmp eq i64 %depth, 0
  br i1 %is_first, label %listen, label %done

listen:
  store atomic i16 0, ptr @reasons monotonic, align 4
  store atomic i8 0, ptr @is_settled seq_cst, align 1
  store atomic i8 0, ptr @early seq_cst, align 1
  %old = call ptr @PyOS_setsig(i32 2, ptr @interrupted)            ; 2: SIGINT
  %address = ptrtoint ptr %old to i64
  %rest = sub i64 %address, 2                                      ; 0: SIG_DFL, 1: SIG_IGN, -1: SIG_ERR
  %has_handler = icmp ult i64 %rest, -3
  br i1 %has_handler, label %learn, label %other

learn:
  %is_other = icmp ne ptr %old, @interrupted                       ; Else it is the one that is known.
  br i1 %is_other, label %replace, label %settle

replace:
  store ptr %old, ptr @previous
  br label %settle

settle:
  store i8 1, ptr @is_installed
  store atomic i8 1, ptr @is_settled seq_cst, align 1
  call void @handle_early()
  br label %done

other:
  %has_failed = icmp eq i64 %address, -1
  br i1 %has_failed, label %done, label %leave

leave:
  %ours = call ptr @PyOS_setsig(i32 2, ptr %old)
  br label %done

done:
  ret void
}

define void @end() {
  %is_main = call i1 @is_main()
  br i1 %is_main, label %leave, label %done

leave:
  %depth = load i64, ptr @depth
  %outer = sub i64 %depth, 1
  store i64 %outer, ptr @depth
  %is_last = icmp eq i64 %outer, 0
  br i1 %is_last, label %look, label %done

look:
  %installed = load i8, ptr @is_installed
  %is_installed = icmp ne i8 %installed, 0
  br i1 %is_installed, label %restore, label %done

restore:
  store i8 0, ptr @is_installed
  %old = load ptr, ptr @previous
  %current = call ptr @PyOS_setsig(i32 2, ptr %old)
  store atomic i16 0, ptr @reasons monotonic, align 4
  %is_ours = icmp eq ptr %current, @interrupted                    ; Else a library function has set another one.
  br i1 %is_ours, label %done, label %keep

keep:
  %ours = call ptr @PyOS_setsig(i32 2, ptr %current)
  br label %done

done:
  ret void
}
