# Loop functions in TVMScript that are wrong.
# ARGS:

@T.prim_func
def f(X: T.Buffer((8,), "float32"), Y: T.Buffer((8,), "float32")):
# expected-error@+1:14 {{'T.thread_binding' is not supported, as there are no GPU threads; write 'T.parallel'}}
    for i in T.thread_binding(8, thread="threadIdx.x"):
        Y[i] = X[i]

# -----

@T.prim_func
def f(X: T.Buffer((8,), "float32"), Y: T.Buffer((8,), "float32")):
# expected-error@+1:14 {{'T.serail' is not supported; did you mean 'T.serial'?}}
    for i in T.serail(8):
        Y[i] = X[i]

# -----

@T.prim_func
def f(X: T.Buffer((8,), "float32"), Y: T.Buffer((8,), "float32")):
# expected-error@+1:14 {{expected range, T.grid, T.serial, T.parallel, T.vectorized or T.unroll, found 'X'}}
    for i in X:
        Y[i] = X[i]

# -----

@T.prim_func
def f(X: T.Buffer((8,), "float32"), Y: T.Buffer((8,), "float32")):
# expected-error@+1:17 {{expected 2 extents, one for each variable, found 1}}
    for i, j in T.grid(8):
        Y[i] = X[j]

# -----

@T.prim_func
def f(X: T.Buffer((8,), "float32"), Y: T.Buffer((8,), "float32")):
# expected-error@+1:12 {{expected one variable for 'range', found 2}}
    for i, j in range(8):
        Y[i] = X[j]

# -----

@T.prim_func
def f(X: T.Buffer((8,), "float32"), Y: T.Buffer((8,), "float32")):
# expected-error@+1:26 {{expected a step of 1 or more, found 0; count from 0 instead}}
    for i in range(0, 8, 0):
        Y[i] = X[i]

# -----

@T.prim_func
def f(X: T.Buffer((8,), "float32"), Y: T.Buffer((8,), "float32")):
# expected-error@+1:5 {{'while True:' is not supported in a loop function; expected for, with, if, assert, a store or a new name for a value}}
    while True:
        Y[0] = X[0]

# -----

@T.prim_func
def f(X: T.Buffer((8,), "float32"), Y: T.Buffer((8,), "float32")):
# expected-error@+1:20 {{expected an extent from 0 to 9223372036854775807, found -8}}
    for i in range(-8):
        Y[i] = X[i]

# -----

@T.prim_func
def f(X: T.Buffer((8,), "float32"), Y: T.Buffer((8,), "float32")):
    for i in range(8):
# expected-error@+1:16 {{name 'Z' is not defined}}
        Y[i] = Z[i]

# -----

@T.prim_func
def f(X: T.Buffer((8, 4), "float32"), Y: T.Buffer((8,), "float32")):
    for i in range(8):
# expected-error@+1:16 {{expected 2 indices for a buffer of shape 8x4, found 1}}
        Y[i] = X[i]

# -----

@T.prim_func
def f(X: T.Buffer((8,), "float32"), Y: T.Buffer((8,), "float32")):
    for i in range(9):
# expected-error@+1:16 {{'memref.load' op expected index 0 of %X in 0..7, found 0..8}}
        Y[i] = X[i]

# -----

@T.prim_func
def f(X: T.Buffer((8,), "float32"), Y: T.Buffer((8,), "float32")):
    for i in range(8):
# expected-error@+1:18 {{expected an index, found a range; only T.reads and T.writes take ranges}}
        Y[i] = X[0:8]

# -----

@T.prim_func
def f(X: T.Buffer((8,), "float32"), Y: T.Buffer((8,), "float32")):
    for i in range(8):
# expected-error@+1:16 {{expected a scalar, found buffer 'X'; write 'X[...]'}}
        Y[i] = X

# -----

@T.prim_func
def f(X: T.Buffer((8,), "float32"), Y: T.Buffer((8,), "int32")):
    for i in range(8):
# expected-error@+1:9 {{expected a value of int32 to store, found float32; write T.Cast}}
        Y[i] = X[i] * 2.0

# -----

@T.prim_func
def f(X: T.Buffer((8,), "int32"), Y: T.Buffer((8,), "int32")):
    for i in range(8):
# expected-error@+1:16 {{'/' is not supported on int32}}
        Y[i] = X[i] / 2

# -----

@T.prim_func
def f(X: T.Buffer((8,), "int32"), Y: T.Buffer((8,), "int32")):
    for i in range(8):
# expected-error@+1:16 {{'T.exp' is not supported on int32}}
        Y[i] = T.exp(X[i])

# -----

@T.prim_func
def f(X: T.Buffer((8,), "int8"), Y: T.Buffer((8,), "int8")):
    for i in range(8):
# expected-error@+1:16 {{expected a number of int8, found 300}}
        Y[i] = X[i] + 300

# -----

@T.prim_func
def f(X: T.Buffer((8,), "int32"), Y: T.Buffer((8,), "int32")):
    for i in range(8):
# expected-error@+1:16 {{expected a divisor other than 0}}
        Y[i] = X[i] // (1 - 1)

# -----

@T.prim_func
def f(X: T.Buffer((8,), "float32"), Y: T.Buffer((8,), "float32")):
    for i in range(8):
# expected-error@+1:16 {{'T.maximum' is not supported; did you mean 'T.max'?}}
        Y[i] = T.maximum(X[i], 0)

# -----

@T.prim_func
def f(X: T.Buffer((8,), "float32"), Y: T.Buffer((8,), "float32")):
    for i in range(8):
# expected-error@+1:16 {{Python's 'max' is not supported; write 'T.max'}}
        Y[i] = max(X[i], 0)

# -----

@T.prim_func
def f(X: T.Buffer((8,), "float32"), Y: T.Buffer((8,), "float32")):
    for i in range(8):
# expected-error@+1:16 {{expected an argument 'b' for 'T.max'}}
        Y[i] = T.max(X[i])

# -----

@T.prim_func
def f(X: T.Buffer((8,), "float32"), Y: T.Buffer((8,), "float32")):
    for i in range(8):
# expected-error@+1:23 {{expected a dtype among float16, bfloat16, float32, float64, bool, int8, int16, int32, int64, uint8, uint16, uint32, uint64, float8_e4m3fn, float8_e4m3fnuz, float8_e5m2, float8_e5m2fnuz, int2, int4, uint2, uint4, found 'float99'}}
        Y[i] = T.Cast("float99", X[i])

# -----

@T.prim_func
def f(X: T.Buffer((8,), "float32"), Y: T.Buffer((8,), "float32")):
    for i in range(8):
# expected-error@+1:26 {{expected a number, found 'many'}}
        Y[i] = T.float32("many")

# -----

@T.prim_func
def f(X: T.Buffer((8,), "float32"), Y: T.Buffer((8,), "float32")):
    for i in range(8):
# expected-error@+1:16 {{expected one of the operators + - * / // % ** & | ^ << >>}}
        Y[i] = X[i] @ X[i]

# -----

@T.prim_func
def f(X: T.Buffer((8,), "float32"), Y: T.Buffer((8,), "float32")):
    for i in range(8):
# expected-error@+1:18 {{expected an integer, found a number of float32}}
        Y[i] = X[i + 0.5]

# -----

@T.prim_func
def f(X: T.Buffer((8,), "float32"), Y: T.Buffer((8,), "float32")):
    for i in range(8):
# expected-error@+1:16 {{expected a scalar expression, found '[X[i]]'}}
        Y[i] = [X[i]]

# -----

@T.prim_func
def f(X: T.Buffer((8,), "float32"), Y: T.Buffer((8,), "float32")):
    for i in range(8):
# expected-error@+1:16 {{expected a number of int8, found 1000}}
        Y[i] = T.int8(1000)

# -----

@T.prim_func
def f(X: T.Buffer((8,), "float32"), Y: T.Buffer((8,), "float32")):
    for i in range(8):
# expected-error@+1:12 {{expected a boolean, found a number of float32}}
        if X[i]:
            Y[i] = X[i]

# -----

@T.prim_func
def f(X: T.Buffer((8,), "float32"), Y: T.Buffer((8,), "float32")):
    for i in range(8):
        x = X[i]
# expected-error@+1:9 {{expected a new name, found 'x' again; only elements of buffers change}}
        x = x + 1.0
        Y[i] = x

# -----

@T.prim_func
def f(X: T.Buffer((8,), "float32"), Y: T.Buffer((8,), "float32")):
    for i in range(8):
# expected-error@+1:9 {{statement has no effect: 'X[i] + 1.0'}}
        X[i] + 1.0
        Y[i] = X[i]

# -----

@T.prim_func
def f(X: T.Buffer((8,), "float32"), Y: T.Buffer((8,), "float32")):
# expected-error@+1:10 {{expected T.sblock or T.init, found 'T.launch'}}
    with T.launch(8):
        Y[0] = X[0]

# -----

@T.prim_func
def f(X: T.Buffer((8,), "float32"), Y: T.Buffer((8,), "float32")):
    for i in range(8):
        with T.sblock("Y"):
# expected-error@+1:18 {{'T.axis.opaque' is not supported; expected T.axis.spatial, .reduce or .remap}}
            vi = T.axis.opaque(8, i)
            Y[vi] = X[vi]

# -----

@T.prim_func
def f(X: T.Buffer((8,), "float32"), Y: T.Buffer((8,), "float32")):
    for i in range(8):
        with T.sblock("Y"):
# expected-error@+1:22 {{expected 2 kinds and loops, as there are names, found 2 and 1}}
            vi, vj = T.axis.remap("SS", [i])
            Y[vi] = X[vj]

# -----

@T.prim_func
def f(X: T.Buffer((8,), "float32"), Y: T.Buffer((8,), "float32")):
    for i in range(8):
        with T.sblock("Y"):
# expected-error@+1:37 {{expected a loop variable, found 'i + 1'; T.axis.spatial takes expressions}}
            vi = T.axis.remap("S", [i + 1])
            Y[vi] = X[vi]

# -----

@T.prim_func
def f(X: T.Buffer((8,), "float32"), Y: T.Buffer((8,), "float32")):
    for i in range(8):
        with T.sblock("Y"):
# expected-error@+1:37 {{expected kinds S (spatial) or R (reduce), found 'T'}}
            vi = T.axis.remap("T", [i])
            Y[vi] = X[vi]

# -----

@T.prim_func
def f(X: T.Buffer((8,), "float32"), Y: T.Buffer((8,), "float32")):
    for i in range(8):
        with T.sblock("Y"):
            vi = T.axis.spatial(8, i)
# expected-error@+1:21 {{'memref.load' op expected to use the variables of its block, found loop variable %i; bind it to a variable of @Y}}
            Y[vi] = X[i]

# -----

@T.prim_func
def f(X: T.Buffer((8,), "float32"), Y: T.Buffer((8,), "float32")):
    for i in range(8):
        with T.sblock("Y"):
            vi = T.axis.reduce(8, i)
# expected-error@+1:13 {{'memref.store' op expected no reduce variable in the indices, found %vi}}
            Y[vi] = X[vi]

# -----

@T.prim_func
def f(X: T.Buffer((8,), "float32"), Y: T.Buffer((8,), "float32")):
    for i in range(8):
# expected-error@+1:9 {{'tir.block' op expected %vi: spatial<4> to be bound to 0..3, found 0..7}}
        with T.sblock("Y"):
            vi = T.axis.spatial(4, i)
            Y[vi] = X[vi]

# -----

@T.prim_func
def f(X: T.Buffer((8,), "float32"), Y: T.Buffer((8,), "float32")):
    for i in range(8):
# expected-error@+1:14 {{expected 'T.init' directly in a block}}
        with T.init():
            Y[i] = 0.0

# -----

@T.prim_func
def f(X: T.Buffer((8,), "float32"), Y: T.Buffer((8,), "float32")):
    for i in range(8):
        with T.sblock("Y"):
            vi = T.axis.spatial(8, i)
            T.reads(X[vi])
# expected-error@+1:13 {{expected 'Y' in T.writes, as the block writes it}}
            T.writes(X[vi])
            Y[vi] = X[vi]

# -----

@T.prim_func
def f(X: T.Buffer((8,), "float32"), Y: T.Buffer((8,), "float32")):
    for i in range(8):
        with T.sblock("Y"):
            vi = T.axis.spatial(8, i)
# expected-error@+1:22 {{expected all that the block writes of 'Y', found Y[0:4]}}
            T.writes(Y[0:4])
            Y[vi] = X[vi]

# -----

@T.prim_func
def f(X: T.Buffer((8,), "float32"), Y: T.Buffer((8,), "float32")):
    for i in range(8):
        with T.sblock("Y"):
            vi = T.axis.spatial(8, i)
# expected-error@+1:21 {{expected a part of a buffer, as in X[i, 0:8], found 'X'}}
            T.reads(X)
            Y[vi] = X[vi]

# -----

@T.prim_func
def f(X: T.Buffer((8,), "float32"), Y: T.Buffer((8,), "float32")):
    for i in range(8):
        with T.sblock("Y"):
            vi = T.axis.spatial(8, i)
            T.reads(X[vi])
# expected-error@+1:13 {{expected 'T.reads' once in a block}}
            T.reads(X[vi])
            Y[vi] = X[vi]

# -----

@T.prim_func
def f(X: T.Buffer((8,), "float32"), Y: T.Buffer((8,), "float32")):
# expected-error@+1:5 {{expected 'T.reads' directly in a block}}
    T.reads(X[0])
    for i in range(8):
        Y[i] = X[i]

# -----

@T.prim_func
# expected-error@+1:37 {{expected the parameters after output 'Y' to be written too, found 'X'; outputs stand last}}
def f(Y: T.Buffer((8,), "float32"), X: T.Buffer((8,), "float32")):
    for i in range(8):
        Y[i] = X[i]

# -----

@T.prim_func
# expected-error@+1:7 {{expected a type for parameter 'X': T.Buffer(shape, dtype)}}
def f(X, Y: T.Buffer((8,), "float32")):
    for i in range(8):
        Y[i] = X[i]

# -----

@T.prim_func
# expected-error@+1:10 {{expected T.Buffer(shape, dtype), T.handle or a dtype, found 'T.Tensor((8,), "float32")'}}
def f(X: T.Tensor((8,), "float32"), Y: T.Buffer((8,), "float32")):
    for i in range(8):
        Y[i] = X[i]

# -----

@T.prim_func
# expected-error@+1:10 {{expected elements without a sign in a loop function, found uint8; graph functions take unsigned integers}}
def f(X: T.Buffer((8,), "uint8"), Y: T.Buffer((8,), "float32")):
    for i in range(8):
        Y[i] = X[i]

# -----

@T.prim_func
# expected-error@+1:42 {{expected scope to be 'global', found 'shared': buffers are dense, row-major and do not alias}}
def f(X: T.Buffer((8,), "float32", scope="shared"), Y: T.Buffer((8,), "float32")):
    for i in range(8):
        Y[i] = X[i]

# -----

@T.prim_func
# expected-error@+1:20 {{expected a size from 0 to 9223372036854775807, found -8}}
def f(X: T.Buffer((-8,), "float32"), Y: T.Buffer((8,), "float32")):
    for i in range(8):
        Y[i] = X[i]

# -----

@T.prim_func
# expected-error@+1:7 {{expected a buffer for 'x': T.match_buffer(x, shape, dtype)}}
def f(x: T.handle, Y: T.Buffer((8,), "float32")):
    for i in range(8):
        Y[i] = 0.0

# -----

@T.prim_func
def f(Y: T.Buffer(("n + 1",), "float32")):
# expected-error@+1:20 {{name 'n' is not defined}}
    for i in range(n):
        Y[i] = 0.0

# -----

@I.ir_module
class Module:
    @T.prim_func
    def f(X: T.Buffer((8,), "float32"), Y: T.Buffer((8,), "float32")):
# expected-error@+1:21 {{expected global_symbol to be the name of the function, 'f'}}
        T.func_attr({"global_symbol": "g"})
        for i in range(8):
            Y[i] = X[i]

# -----

@T.prim_func
def f(X: T.Buffer((8,), "float32"), Y: T.Buffer((8,), "float32")):
    for i in range(8):
# expected-error@+1:34 {{expected a value of "float64", found float32; write T.Cast}}
        Y[i] = T.exp(X[i], dtype="float64")

# -----

@T.prim_func
def f(X: T.Buffer((8,), "float32"), Y: T.Buffer((8,), "float32")):
# expected-error@+1:36 {{expected scope to be 'global', found 'shared': buffers are dense, row-major and do not alias}}
    Z = T.alloc_buffer((8,), scope="shared")
    for i in range(8):
        Y[i] = X[i]

# -----

@T.prim_func
def f(X: T.Buffer((8,), "float32"), Y: T.Buffer((8,), "float32")):
# expected-error@+1:17 {{expected op_pattern to be among 0, 1, 2, 3, 4, 8, found 5}}
    T.func_attr({"op_pattern": 5})
    for i in range(8):
        Y[i] = X[i]

# -----

# Several mistakes at once; what follows from them is not one more.
@T.prim_func
def f(X: T.Buffer((8,), "float32"), Y: T.Buffer((8,), "float32")):
    for i in range(8):
# expected-error@+1:13 {{'T.foo' is not supported; did you mean 'T.floor'?}}
        x = T.foo(X[i])
        y = x + T.bar(x)
        Y[i] = x + y
    for j in range(8):
# expected-error@+1:16 {{expected 1 index for a buffer of shape 8, found 2}}
        Y[j] = X[j, 0]

# -----

@T.prim_func
def f(X: T.Buffer((8,), "float16"), Y: T.Buffer((8,), "float16")):
    for i in range(8):
# expected-error@+1:23 {{expected a number of float16, found 65520}}
        Y[i] = X[i] + T.float16(65520)

# -----

@T.prim_func
def f(X: T.Buffer((8,), "float16"), Y: T.Buffer((8,), "float32")):
    for i in range(8):
# expected-error@+1:23 {{expected a number of float32, found 1e+300}}
        Y[i] = X[i] + T.Cast("float32", 1e300)

# -----

@T.prim_func
def f(X: T.Buffer((8,), "float32"), Y: T.Buffer((8,), "float32")):
    for i in range(8):
# expected-error@+1:16 {{expected a number of float32, found 100000000000000000000000000000000000000000000000000}}
        Y[i] = X[i] + 100000000000000000000000000000000000000000000000000

# -----

@T.prim_func
# expected-error@+1:20 {{expected a size from 0 to 9223372036854775807, found 9223372036854775808}}
def f(X: T.Buffer((2**63,), "float32"), Y: T.Buffer((8,), "float32")):
    for i in range(8):
        Y[i] = X[i]

# -----

@T.prim_func
# expected-error@+1:20 {{expected a number, found an integer of more than 128 bits}}
def f(X: T.Buffer((2**2000,), "float32"), Y: T.Buffer((8,), "float32")):
    for i in range(8):
        Y[i] = X[i]

# -----

@T.prim_func
def f(X: T.Buffer((8,), "float32"), Y: T.Buffer((8,), "float32")):
# expected-error@+1:14 {{expected an extent from 0 to 9223372036854775807, found 1180591620717411303424}}
    for i in T.serial(0, 1 << 70):
        Y[i] = X[i]

# -----

@T.prim_func
def f(X: T.Buffer((8,), "float32"), Y: T.Buffer((8,), "float32")):
    for i in range(8):
        with T.block("Y"):
# expected-error@+1:32 {{expected an extent from 0 to 9223372036854775807, found 9223372036854775808}}
            v = T.axis.spatial(9223372036854775808, i)
            Y[v] = X[v]

# -----

@T.prim_func
def f(X: T.Buffer((8,), "float32"), Y: T.Buffer((8,), "float32")):
# expected-error@+1:20 {{expected a number, found a shift by -1 bits}}
    for i in range(1 << -1):
        Y[i] = X[i]
