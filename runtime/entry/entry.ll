; The native entry to compiled code, written against the C APIs of CPython and NumPy.
;
; `@spec` describes a Python type whose vectorcall is `@call`. An object has a list of plans, made in Python
; (`plans.py`); a plan holds what all calls with arguments of certain dtypes and shapes have in common. If a plan matches
; the arguments, and the arrays that results are to be written into, the call runs no Python. All other calls, invalid
; ones included, go to a method of the object, which validates everything and reports errors.

; The first fields of an object: reference count and type; of a tuple: its length, since Python 3.14 its hash, and its
; items. The fields of a dtype and an array follow NumPy's headers.
%Object = type { i64, ptr }
%Tuple = type { %Object, i64, [${hashes} x i64], [0 x ptr] }
%Dtype = type { %Object, ptr, i8, i8, i8, i8, i32 }               ; ..., kind, character, byte order, flags, number
%Ndarray = type { %Object, ptr, i32, ptr, ptr, ptr, ptr, i32 }    ; ..., data, rank, sizes, strides, base, dtype, flags

; An instance of the type of `@spec`: an object, its vectorcall, its first plan.
%Function = type { %Object, ptr, ptr }

; The next plan; the code, which is called with a frame; the numbers of arguments, of results, and of words in the frame;
; whether the keyword `out` stands for arrays of results; whether the last two words of the frame say what has failed;
; whether a call changes arguments. The arrays follow, arguments first, and then a template of the frame, in which only
; addresses are missing.
%Plan = type { ptr, ptr, i64, i64, i64, i64, i64, i64 }

; The dtype and its number; the rank; the offset of the descriptor in words; for booleans, how many bytes must be 0 or 1;
; the size in bytes; whether a call changes it.
%Array = type { ptr, i64, i64, i64, i64, i64, i64 }

%Member = type { ptr, i32, i64, i32, ptr }                        ; name, type, offset, flags, documentation
%Slot = type { i32, ptr }
%Spec = type { ptr, i32, i32, i32, ptr }                          ; name, size, item size, flags, slots

@PyArray_Type = external global %Object
@PyTuple_Type = external global %Object
@_Py_NoneStruct = external global %Object
@name_of_method = external global %Object                         ; Python strings.
@name_of_results = external global %Object
@name_of_failing = external global %Object

declare ptr @PyVectorcall_Call(ptr, ptr, ptr)
declare ptr @PyObject_GetAttr(ptr, ptr)
declare ptr @PyObject_Vectorcall(ptr, ptr, i64, ptr)
declare ptr @PyLong_FromLongLong(i64)
declare ptr @PyTuple_New(i64)
declare i32 @PyTuple_SetItem(ptr, i64, ptr)
declare void @Py_IncRef(ptr)
declare void @Py_DecRef(ptr)
declare ptr @PyEval_SaveThread()
declare void @PyEval_RestoreThread(ptr)
declare ptr @PyArray_NewFromDescr(ptr, ptr, i32, ptr, ptr, ptr, i32, ptr)

; The type

@type_name = internal constant [32 x i8] c"relex.runtime.entry.NativeCalls\00"
@vectorcall_offset = internal constant [21 x i8] c"__vectorcalloffset__\00"
@entry_name = internal constant [7 x i8] c"_entry\00"
@plans_name = internal constant [7 x i8] c"_plans\00"

@members = internal constant [4 x %Member] [
  %Member { ptr @vectorcall_offset, i32 19, i64 16, i32 1, ptr null },    ; 19: Py_ssize_t, 1: read-only
  %Member { ptr @entry_name, i32 19, i64 16, i32 0, ptr null },
  %Member { ptr @plans_name, i32 19, i64 24, i32 0, ptr null },
  %Member zeroinitializer
]
@slots = internal constant [3 x %Slot] [
  %Slot { i32 50, ptr @PyVectorcall_Call },                               ; Py_tp_call
  %Slot { i32 72, ptr @members },                                         ; Py_tp_members
  %Slot zeroinitializer
]
@spec = constant %Spec { ptr @type_name, i32 32, i32 0, i32 3072, ptr @slots }   ; can be subclassed, has a vectorcall

; The call

define ptr @call(ptr %self, ptr %arguments, i64 %flags_and_count, ptr %names) {
start:
  %first.at = getelementptr %Function, ptr %self, i32 0, i32 2
  %first = load ptr, ptr %first.at
  %count = and i64 %flags_and_count, 9223372036854775807
  %has_names = icmp ne ptr %names, null
  br i1 %has_names, label %named, label %search

named:
  %is_out = call i1 @are_results(ptr %names)
  %out.at = getelementptr ptr, ptr %arguments, i64 %count
  br i1 %is_out, label %search, label %python

search:
  %out = phi ptr [ null, %start ], [ %out.at, %named ], [ %out, %other ]
  %plan = phi ptr [ %first, %start ], [ %first, %named ], [ %next, %other ]
  %none = icmp eq ptr %plan, null
  br i1 %none, label %python, label %try

try:
  %fits = call i1 @fits(ptr %plan, ptr %arguments, i64 %count)
  br i1 %fits, label %results, label %other

other:
  %next = load ptr, ptr %plan
  br label %search

results:
  %is_given = icmp ne ptr %out, null
  br i1 %is_given, label %given, label %native

given:
  %arrays = call ptr @given(ptr %plan, ptr %arguments, ptr %out)
  %wrong = icmp eq ptr %arrays, null
  br i1 %wrong, label %python, label %native

native:
  %into = phi ptr [ null, %results ], [ %arrays, %given ]
  %result = call ptr @run(ptr %self, ptr %plan, ptr %arguments, ptr %into)
  ret ptr %result

python:
  %checked = call ptr @call_method(ptr %self, ptr %arguments, i64 %flags_and_count, ptr %names)
  ret ptr %checked
}

define internal ptr @call_method(ptr %self, ptr %arguments, i64 %flags_and_count, ptr %names) noinline {
  %method = call ptr @PyObject_GetAttr(ptr %self, ptr @name_of_method)
  %missing = icmp eq ptr %method, null
  br i1 %missing, label %failed, label %found

found:
  %result = call ptr @PyObject_Vectorcall(ptr %method, ptr %arguments, i64 %flags_and_count, ptr %names)
  call void @Py_DecRef(ptr %method)
  ret ptr %result

failed:
  ret ptr null
}

; Return whether the arguments are arrays of a plan's dtypes and shapes, in the layout that compiled code reads, and those
; that the call changes may change.
define internal i1 @fits(ptr %plan, ptr %arguments, i64 %count) alwaysinline {
start:
  %inputs.at = getelementptr %Plan, ptr %plan, i32 0, i32 2
  %inputs = load i64, ptr %inputs.at
  %outputs.at = getelementptr %Plan, ptr %plan, i32 0, i32 3
  %outputs = load i64, ptr %outputs.at
  %arrays = getelementptr %Plan, ptr %plan, i32 1
  %all = add i64 %inputs, %outputs
  %frame = getelementptr %Array, ptr %arrays, i64 %all
  %enough = icmp eq i64 %inputs, %count
  br i1 %enough, label %head, label %no

head:
  %i = phi i64 [ 0, %start ], [ %next, %body ]
  %more = icmp slt i64 %i, %inputs
  br i1 %more, label %body, label %yes

body:
  %array = getelementptr %Array, ptr %arrays, i64 %i
  %value.at = getelementptr ptr, ptr %arguments, i64 %i
  %value = load ptr, ptr %value.at
  %good = call i1 @is_readable(ptr %array, ptr %frame, ptr %value)
  %next = add i64 %i, 1
  br i1 %good, label %head, label %no

yes:
  %changes.at = getelementptr %Plan, ptr %plan, i32 0, i32 7
  %changes = load i64, ptr %changes.at
  %reads_only = icmp eq i64 %changes, 0
  br i1 %reads_only, label %good.all, label %changing

changing:
  %may_change = call i1 @may_change(ptr %arrays, ptr %arguments, i64 %count)
  ret i1 %may_change

good.all:
  ret i1 true

no:
  ret i1 false
}

; Return whether the arguments that a call changes are writable, and share no memory with others.
define internal i1 @may_change(ptr %arrays, ptr %arguments, i64 %count) noinline {
start:
  br label %head

head:
  %i = phi i64 [ 0, %start ], [ %i.next, %next ]
  %i.more = icmp slt i64 %i, %count
  br i1 %i.more, label %one, label %yes

one:
  %array = getelementptr %Array, ptr %arrays, i64 %i
  %value.at = getelementptr ptr, ptr %arguments, i64 %i
  %value = load ptr, ptr %value.at
  %changes.at = getelementptr %Array, ptr %array, i32 0, i32 6
  %changes = load i64, ptr %changes.at
  %is_read = icmp eq i64 %changes, 0
  br i1 %is_read, label %next, label %changed

changed:
  %may_write = call i1 @is_writable(ptr %value)
  br i1 %may_write, label %other.head, label %no

other.head:
  %j = phi i64 [ 0, %changed ], [ %j.next, %other ]
  %j.more = icmp slt i64 %j, %count
  br i1 %j.more, label %other, label %next

other:
  %other.array = getelementptr %Array, ptr %arrays, i64 %j
  %other.value.at = getelementptr ptr, ptr %arguments, i64 %j
  %other.value = load ptr, ptr %other.value.at
  %common = call i1 @overlap(ptr %array, ptr %value, ptr %other.array, ptr %other.value)
  %is_other = icmp ne i64 %i, %j
  %shared = and i1 %common, %is_other
  %j.next = add i64 %j, 1
  br i1 %shared, label %no, label %other.head

next:
  %i.next = add i64 %i, 1
  br label %head

yes:
  ret i1 true

no:
  ret i1 false
}

; Return whether the only named argument is that for results.
define internal i1 @are_results(ptr %names) alwaysinline {
start:
  %count.at = getelementptr %Tuple, ptr %names, i32 0, i32 1
  %count = load i64, ptr %count.at
  %is_one = icmp eq i64 %count, 1
  br i1 %is_one, label %one, label %no

one:
  %name.at = getelementptr %Tuple, ptr %names, i32 0, i32 3
  %name = load ptr, ptr %name.at
  %is_out = icmp eq ptr %name, @name_of_results          ; Names in the text of programs are interned.
  ret i1 %is_out

no:
  ret i1 false
}

; Return the array at `%out`, or those in the tuple there, if results of a plan may be written into them: of the right
; dtypes and shapes, writable, and not sharing memory; else null.
define internal ptr @given(ptr %plan, ptr %arguments, ptr %out) noinline {
start:
  %inputs.at = getelementptr %Plan, ptr %plan, i32 0, i32 2
  %inputs = load i64, ptr %inputs.at
  %outputs.at = getelementptr %Plan, ptr %plan, i32 0, i32 3
  %outputs = load i64, ptr %outputs.at
  %takes.at = getelementptr %Plan, ptr %plan, i32 0, i32 5
  %takes = load i64, ptr %takes.at
  %arrays = getelementptr %Plan, ptr %plan, i32 1
  %all = add i64 %inputs, %outputs
  %frame = getelementptr %Array, ptr %arrays, i64 %all
  %takes_out = icmp ne i64 %takes, 0
  br i1 %takes_out, label %which, label %no

which:
  %is_one = icmp eq i64 %outputs, 1
  br i1 %is_one, label %check, label %in_tuple

in_tuple:
  %tuple = load ptr, ptr %out
  %type.at = getelementptr %Object, ptr %tuple, i32 0, i32 1
  %type = load ptr, ptr %type.at
  %is_tuple = icmp eq ptr %type, @PyTuple_Type
  br i1 %is_tuple, label %length, label %no

length:
  %length.at = getelementptr %Tuple, ptr %tuple, i32 0, i32 1
  %length.found = load i64, ptr %length.at
  %items = getelementptr %Tuple, ptr %tuple, i32 0, i32 3
  %as_many = icmp eq i64 %length.found, %outputs
  br i1 %as_many, label %check, label %no

check:
  %results = phi ptr [ %out, %which ], [ %items, %length ]
  br label %result.head

result.head:
  %o = phi i64 [ 0, %check ], [ %o.next, %result.next ]
  %o.more = icmp slt i64 %o, %outputs
  br i1 %o.more, label %result, label %yes

result:
  %o.place = add i64 %inputs, %o
  %array = getelementptr %Array, ptr %arrays, i64 %o.place
  %value.at = getelementptr ptr, ptr %results, i64 %o
  %value = load ptr, ptr %value.at
  %good = call i1 @is_readable(ptr %array, ptr %frame, ptr %value)
  br i1 %good, label %writable, label %no

writable:
  %may_write = call i1 @is_writable(ptr %value)
  br i1 %may_write, label %other.head, label %no

other.head:                                              ; All arguments, and the results before this one.
  %i = phi i64 [ 0, %writable ], [ %i.next, %other ]
  %i.more = icmp slt i64 %i, %o.place
  br i1 %i.more, label %other, label %result.next

other:
  %is_input = icmp slt i64 %i, %inputs
  %i.result = sub i64 %i, %inputs
  %input.at = getelementptr ptr, ptr %arguments, i64 %i
  %earlier.at = getelementptr ptr, ptr %results, i64 %i.result
  %other.at = select i1 %is_input, ptr %input.at, ptr %earlier.at
  %other.value = load ptr, ptr %other.at
  %other.array = getelementptr %Array, ptr %arrays, i64 %i
  %overlap = call i1 @overlap(ptr %array, ptr %value, ptr %other.array, ptr %other.value)
  %i.next = add i64 %i, 1
  br i1 %overlap, label %no, label %other.head

result.next:
  %o.next = add i64 %o, 1
  br label %result.head

yes:
  ret ptr %results

no:
  ret ptr null
}

define internal i1 @is_writable(ptr %value) alwaysinline {
  %flags.at = getelementptr %Ndarray, ptr %value, i32 0, i32 7
  %flags = load i32, ptr %flags.at
  %write = and i32 %flags, 1024
  %may_write = icmp ne i32 %write, 0
  ret i1 %may_write
}

; Return whether two row-major arrays have bytes in common.
define internal i1 @overlap(ptr %array, ptr %value, ptr %other.array, ptr %other.value) alwaysinline {
  %bytes.at = getelementptr %Array, ptr %array, i32 0, i32 5
  %bytes = load i64, ptr %bytes.at
  %data.at = getelementptr %Ndarray, ptr %value, i32 0, i32 1
  %data = load i64, ptr %data.at
  %end = add i64 %data, %bytes
  %other.bytes.at = getelementptr %Array, ptr %other.array, i32 0, i32 5
  %other.bytes = load i64, ptr %other.bytes.at
  %other.data.at = getelementptr %Ndarray, ptr %other.value, i32 0, i32 1
  %other.data = load i64, ptr %other.data.at
  %other.end = add i64 %other.data, %other.bytes
  %begin = call i64 @llvm.umax.i64(i64 %data, i64 %other.data)
  %last = call i64 @llvm.umin.i64(i64 %end, i64 %other.end)
  %common = icmp ult i64 %begin, %last
  ret i1 %common
}

define internal i1 @is_readable(ptr %array, ptr %frame, ptr %value) alwaysinline {
start:
  %type.at = getelementptr %Object, ptr %value, i32 0, i32 1
  %type = load ptr, ptr %type.at
  %is_array = icmp eq ptr %type, @PyArray_Type
  br i1 %is_array, label %check_dtype, label %no

check_dtype:
  %dtype.at = getelementptr %Ndarray, ptr %value, i32 0, i32 6
  %dtype = load ptr, ptr %dtype.at
  %expected_dtype = load ptr, ptr %array
  %same_dtype = icmp eq ptr %dtype, %expected_dtype
  br i1 %same_dtype, label %check_layout, label %check_number

check_number:                                            ; Unpickled arrays have their own dtype objects.
  %number.at = getelementptr %Dtype, ptr %dtype, i32 0, i32 6
  %number.32 = load i32, ptr %number.at
  %number = sext i32 %number.32 to i64
  %expected_number.at = getelementptr %Array, ptr %array, i32 0, i32 1
  %expected_number = load i64, ptr %expected_number.at
  %same_number = icmp eq i64 %number, %expected_number
  %order.at = getelementptr %Dtype, ptr %dtype, i32 0, i32 4
  %order = load i8, ptr %order.at
  %is_native = icmp eq i8 %order, 61                     ; '='
  %has_none = icmp eq i8 %order, 124                     ; '|'
  %right_order = or i1 %is_native, %has_none
  %right_number = and i1 %same_number, %right_order
  br i1 %right_number, label %check_layout, label %no

check_layout:
  %flags.at = getelementptr %Ndarray, ptr %value, i32 0, i32 7
  %flags = load i32, ptr %flags.at
  %layout = and i32 %flags, 257                          ; 1: row-major, 256: aligned
  %is_plain = icmp eq i32 %layout, 257
  %rank.at = getelementptr %Ndarray, ptr %value, i32 0, i32 2
  %rank.32 = load i32, ptr %rank.at
  %rank = sext i32 %rank.32 to i64
  %expected_rank.at = getelementptr %Array, ptr %array, i32 0, i32 2
  %expected_rank = load i64, ptr %expected_rank.at
  %same_rank = icmp eq i64 %rank, %expected_rank
  %right_layout = and i1 %is_plain, %same_rank
  br i1 %right_layout, label %check_sizes, label %no

check_sizes:
  %sizes.at = getelementptr %Ndarray, ptr %value, i32 0, i32 3
  %sizes = load ptr, ptr %sizes.at
  %expected_sizes = call ptr @sizes_in_frame(ptr %array, ptr %frame)
  br label %check_size

check_size:
  %d = phi i64 [ 0, %check_sizes ], [ %next, %size ]
  %more = icmp slt i64 %d, %rank
  br i1 %more, label %size, label %check_truths

size:
  %size.at = getelementptr i64, ptr %sizes, i64 %d
  %size.found = load i64, ptr %size.at
  %size.expected.at = getelementptr i64, ptr %expected_sizes, i64 %d
  %size.expected = load i64, ptr %size.expected.at
  %same_size = icmp eq i64 %size.found, %size.expected
  %next = add i64 %d, 1
  br i1 %same_size, label %check_size, label %no

check_truths:
  %truths.at = getelementptr %Array, ptr %array, i32 0, i32 4
  %truths = load i64, ptr %truths.at
  %has_truths = icmp ne i64 %truths, 0
  br i1 %has_truths, label %truth_values, label %yes

truth_values:
  %data.at = getelementptr %Ndarray, ptr %value, i32 0, i32 1
  %data = load ptr, ptr %data.at
  %are_truths = call i1 @are_zeros_and_ones(ptr %data, i64 %truths)
  ret i1 %are_truths

yes:
  ret i1 true

no:
  ret i1 false
}

; Return whether all bytes are 0 or 1: a boolean view of other memory may hold any byte. Reads eight bytes at a time, then
; the rest one by one.
define internal i1 @are_zeros_and_ones(ptr %bytes, i64 %count) {
start:
  br label %words.head

words.head:
  %w = phi i64 [ 0, %start ], [ %w.next, %words.body ]
  %seen = phi i64 [ 0, %start ], [ %seen.next, %words.body ]
  %w.next = add i64 %w, 8
  %w.more = icmp sle i64 %w.next, %count
  br i1 %w.more, label %words.body, label %bytes.head

words.body:
  %word.at = getelementptr i8, ptr %bytes, i64 %w
  %word = load i64, ptr %word.at, align 1
  %seen.next = or i64 %seen, %word
  br label %words.head

bytes.head:
  %b = phi i64 [ %w, %words.head ], [ %b.next, %bytes.body ]
  %all = phi i64 [ %seen, %words.head ], [ %all.next, %bytes.body ]
  %b.more = icmp slt i64 %b, %count
  br i1 %b.more, label %bytes.body, label %end

bytes.body:
  %byte.at = getelementptr i8, ptr %bytes, i64 %b
  %byte = load i8, ptr %byte.at
  %byte.64 = zext i8 %byte to i64
  %all.next = or i64 %all, %byte.64
  %b.next = add i64 %b, 1
  br label %bytes.head

end:
  %others = and i64 %all, -72340172838076674               ; All bits but the lowest of each byte.
  %good = icmp eq i64 %others, 0
  ret i1 %good
}

define internal ptr @sizes_in_frame(ptr %array, ptr %frame) alwaysinline {
  %place.at = getelementptr %Array, ptr %array, i32 0, i32 3
  %place = load i64, ptr %place.at
  %sizes = add i64 %place, ${sizes}
  %sizes.at = getelementptr i64, ptr %frame, i64 %sizes
  ret ptr %sizes.at
}

; Run the code of a plan on arguments that match it, into these arrays, or new ones if there are none. Everything used
; once results are being allocated is on the stack: from then on, other threads may run and drop the plan.
define internal ptr @run(ptr %self, ptr %plan, ptr %arguments, ptr %given) alwaysinline {
start:
  %code.at = getelementptr %Plan, ptr %plan, i32 0, i32 1
  %code = load ptr, ptr %code.at
  %inputs.at = getelementptr %Plan, ptr %plan, i32 0, i32 2
  %inputs = load i64, ptr %inputs.at
  %outputs.at = getelementptr %Plan, ptr %plan, i32 0, i32 3
  %outputs = load i64, ptr %outputs.at
  %words.at = getelementptr %Plan, ptr %plan, i32 0, i32 4
  %words = load i64, ptr %words.at
  %may_fail.at = getelementptr %Plan, ptr %plan, i32 0, i32 6
  %may_fail = load i64, ptr %may_fail.at
  %arrays = getelementptr %Plan, ptr %plan, i32 1
  %all = add i64 %inputs, %outputs
  %template = getelementptr %Array, ptr %arrays, i64 %all
  %frame = alloca i64, i64 %words, align 16
  %results = alloca ptr, i64 %outputs, align 16
  %bytes = shl i64 %words, 3
  call void @llvm.memcpy.p0.p0.i64(ptr align 16 %frame, ptr align 8 %template, i64 %bytes, i1 false)
  br label %inputs.head

inputs.head:
  %i = phi i64 [ 0, %start ], [ %i.next, %inputs.body ]
  %i.more = icmp slt i64 %i, %inputs
  br i1 %i.more, label %inputs.body, label %outputs.head

inputs.body:
  %input = getelementptr %Array, ptr %arrays, i64 %i
  %argument.at = getelementptr ptr, ptr %arguments, i64 %i
  %argument = load ptr, ptr %argument.at
  call void @put_address(ptr %input, ptr %frame, ptr %argument)
  %i.next = add i64 %i, 1
  br label %inputs.head

outputs.head:
  %o = phi i64 [ 0, %inputs.head ], [ %o.next, %outputs.put ]
  %o.more = icmp slt i64 %o, %outputs
  br i1 %o.more, label %outputs.make, label %execute

outputs.make:
  %o.place = add i64 %inputs, %o
  %output = getelementptr %Array, ptr %arrays, i64 %o.place
  %is_new = icmp eq ptr %given, null
  br i1 %is_new, label %outputs.new, label %outputs.given

outputs.new:
  %new = call ptr @new_array(ptr %output, ptr %frame)
  %no_memory = icmp eq ptr %new, null
  br i1 %no_memory, label %failed, label %outputs.put

outputs.given:
  %old.at = getelementptr ptr, ptr %given, i64 %o
  %old = load ptr, ptr %old.at
  call void @Py_IncRef(ptr %old)
  br label %outputs.put

outputs.put:
  %result = phi ptr [ %new, %outputs.new ], [ %old, %outputs.given ]
  %result.at = getelementptr ptr, ptr %results, i64 %o
  store ptr %result, ptr %result.at
  call void @put_address(ptr %output, ptr %frame, ptr %result)
  %o.next = add i64 %o, 1
  br label %outputs.head

execute:
  %thread = call ptr @PyEval_SaveThread()
  call void %code(ptr %frame)
  call void @PyEval_RestoreThread(ptr %thread)
  %checks = icmp ne i64 %may_fail, 0
  br i1 %checks, label %check, label %done

check:
  %failure.place = sub i64 %words, 2
  %failure.at = getelementptr i64, ptr %frame, i64 %failure.place
  %failure = load i64, ptr %failure.at
  %has_failed = icmp ne i64 %failure, 0
  br i1 %has_failed, label %failure.raise, label %done

done:
  %returned = call ptr @as_returned(ptr %results, i64 %outputs)
  ret ptr %returned

failure.raise:
  call void @forget(ptr %results, i64 %outputs)
  call void @raise(ptr %self, ptr %failure.at)
  ret ptr null

failed:
  call void @forget(ptr %results, i64 %o)
  ret ptr null
}

; Call the method that raises the error of a failure, given its number and an index.
define internal void @raise(ptr %self, ptr %failure.at) noinline {
  %arguments = alloca [2 x ptr]
  %index.at = getelementptr i64, ptr %failure.at, i64 1
  %failure = load i64, ptr %failure.at
  %index = load i64, ptr %index.at
  %first = call ptr @PyLong_FromLongLong(i64 %failure)
  %second = call ptr @PyLong_FromLongLong(i64 %index)
  %second.at = getelementptr ptr, ptr %arguments, i64 1
  store ptr %first, ptr %arguments
  store ptr %second, ptr %second.at
  %no_first = icmp eq ptr %first, null
  %no_second = icmp eq ptr %second, null
  %no_memory = or i1 %no_first, %no_second
  br i1 %no_memory, label %end, label %call

call:
  %method = call ptr @PyObject_GetAttr(ptr %self, ptr @name_of_failing)
  %missing = icmp eq ptr %method, null
  br i1 %missing, label %end, label %found

found:
  %none = call ptr @PyObject_Vectorcall(ptr %method, ptr %arguments, i64 2, ptr null)
  call void @Py_DecRef(ptr %method)
  br label %end

end:
  call void @Py_DecRef(ptr %first)                       ; Does nothing for null.
  call void @Py_DecRef(ptr %second)
  ret void
}

define internal void @put_address(ptr %array, ptr %frame, ptr %value) alwaysinline {
  %data.at = getelementptr %Ndarray, ptr %value, i32 0, i32 1
  %data = load ptr, ptr %data.at
  %place.at = getelementptr %Array, ptr %array, i32 0, i32 3
  %place = load i64, ptr %place.at
  %allocated = getelementptr i64, ptr %frame, i64 %place
  %aligned = getelementptr i64, ptr %allocated, i64 ${aligned}
  store ptr %data, ptr %allocated
  store ptr %data, ptr %aligned
  ret void
}

define internal ptr @new_array(ptr %array, ptr %frame) alwaysinline {
  %dtype = load ptr, ptr %array
  %rank.at = getelementptr %Array, ptr %array, i32 0, i32 2
  %rank.64 = load i64, ptr %rank.at
  %rank = trunc i64 %rank.64 to i32
  %sizes = call ptr @sizes_in_frame(ptr %array, ptr %frame)
  call void @Py_IncRef(ptr %dtype)                       ; NumPy steals this reference.
  %new = call ptr @PyArray_NewFromDescr(ptr @PyArray_Type, ptr %dtype, i32 %rank, ptr %sizes, ptr null, ptr null, i32 0, ptr null)
  ret ptr %new
}

; Return the only result, a tuple of several, or None.
define internal ptr @as_returned(ptr %results, i64 %count) alwaysinline {
start:
  switch i64 %count, label %several [ i64 0, label %none
                                      i64 1, label %one ]

none:
  call void @Py_IncRef(ptr @_Py_NoneStruct)
  ret ptr @_Py_NoneStruct

one:
  %result = load ptr, ptr %results
  ret ptr %result

several:
  %tuple = call ptr @PyTuple_New(i64 %count)
  %no_memory = icmp eq ptr %tuple, null
  br i1 %no_memory, label %failed, label %body

body:
  %i = phi i64 [ 0, %several ], [ %next, %body ]
  %item.at = getelementptr ptr, ptr %results, i64 %i
  %item = load ptr, ptr %item.at
  call i32 @PyTuple_SetItem(ptr %tuple, i64 %i, ptr %item)
  %next = add i64 %i, 1
  %more = icmp slt i64 %next, %count
  br i1 %more, label %body, label %end

end:
  ret ptr %tuple

failed:
  call void @forget(ptr %results, i64 %count)
  ret ptr null
}

define internal void @forget(ptr %objects, i64 %count) {
start:
  br label %head

head:
  %i = phi i64 [ 0, %start ], [ %next, %body ]
  %more = icmp slt i64 %i, %count
  br i1 %more, label %body, label %end

body:
  %object.at = getelementptr ptr, ptr %objects, i64 %i
  %object = load ptr, ptr %object.at
  call void @Py_DecRef(ptr %object)
  %next = add i64 %i, 1
  br label %head

end:
  ret void
}

declare i64 @llvm.umax.i64(i64, i64)
declare i64 @llvm.umin.i64(i64, i64)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
