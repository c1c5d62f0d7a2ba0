# Graph functions in TVMScript that are wrong.
# ARGS:

# Two dataflow blocks: no module is named, and the last call does not fit its function.
@I.ir_module
class MyModule:
    @T.prim_func
    def relu0(X: T.Buffer((1, 128), "float32"), Y: T.Buffer((1, 128), "float32")):
        for i, j in T.grid(1, 128):
            with T.block("Y"):
                vi, vj = T.axis.remap("SS", [i, j])
                Y[vi, vj] = T.max(X[vi, vj], T.float32(0))

    @T.prim_func
    def linear0(
        X: T.Buffer((1, 784), "float32"),
        W: T.Buffer((128, 784), "float32"),
        B: T.Buffer((128,), "float32"),
        Z: T.Buffer((1, 128), "float32"),
    ):
        for i, j in T.grid(1, 128):
            with T.block("Z"):
                vi, vj = T.axis.remap("SS", [i, j])
                Z[vi, vj] = B[vj]

    @T.prim_func
    def linear1(
        X: T.Buffer((1, 128), "float32"),
        W: T.Buffer((10, 128), "float32"),
        B: T.Buffer((10,), "float32"),
        Z: T.Buffer((1, 10), "float32"),
    ):
        for i, j in T.grid(1, 10):
            with T.block("Z"):
                vi, vj = T.axis.remap("SS", [i, j])
                Z[vi, vj] = B[vj]

    @R.function
    def main(
        x: Tensor((1, 784), "float32"),
        w0: Tensor((128, 784), "float32"),
        b0: Tensor((128,), "float32"),
        w1: Tensor((10, 128), "float32"),
        b1: Tensor((10,), "float32"),
    ):
        with R.dataflow():
# expected-error@+1:30 {{name 'cls' is not defined; write 'cls = MyModule'}}
            lv0 = R.call_tir(cls.linear0, (x, w0, b0), out_sinfo=R.Tensor((1, 128), dtype="float32"))
# expected-error@+1:30 {{name 'cls' is not defined; write 'cls = MyModule'}}
            gv0 = R.call_tir(cls.relu0, (lv0,), out_sinfo=R.Tensor((1, 128), dtype="float32"))
            R.output(gv0)

        gv1 = R.alloc_tensor((1, 128), dtype="float32")

        with R.dataflow():
# expected-error@+2:19 {{'relex.call_tir' op expected argument 1 to fit memref<10x128xf32> of @linear1, found tensor<1x128xf32>}}
# expected-error@+1:30 {{name 'cls' is not defined; write 'cls = MyModule'}}
            out = R.call_tir(cls.linear1, (gv0, gv1, b0), out_sinfo=R.Tensor((1, 128), dtype="float32"))
            R.output(out)
        return out


# -----


@R.function
def main(x: R.Tensor((3, 4), "float32"), y: R.Tensor((5,), "float32")):
# expected-error@+1:12 {{'R.add' expected shapes that broadcast, found 3x4 and 5}}
    return R.add(x, y)


# -----


@R.function
def main(x: R.Tensor((3, 4), "float32")):
# expected-error@+1:12 {{'R.sofmax' is not supported; did you mean 'R.nn.softmax'?}}
    return R.sofmax(x)


# -----


@R.function
def main(x: R.Tensor((3, 4), "float32")):
# expected-error@+1:12 {{'R.nn.softmax' expected an axis in -2..1 for rank 2, found 2}}
    return R.nn.softmax(x, axis=2)


# -----


@R.function
def main(x: R.Tensor((3, 4), "float32")):
# expected-error@+1:28 {{expected data, axis, safe for 'R.nn.softmax', found 'dim'}}
    return R.nn.softmax(x, dim=1)


# -----


@R.function
def main(x: R.Tensor((3, 4), "float32")):
# expected-error@+1:12 {{expected an argument 'rhs' for 'R.add'}}
    return R.add(x)


# -----


@R.function
def main(x: R.Tensor((3, 4), "float32")):
# expected-error@+1:27 {{expected at most 2 arguments for 'R.matmul', found 3}}
    return R.matmul(x, x, x)


# -----


@R.function
def main(x: R.Tensor((1, 3, 8, 8), "float32"), w: R.Tensor((4, 3, 3, 3), "float32")):
# expected-error@+1:42 {{expected data_layout to be 'NCHW' in some order, found 'NCHW4c'}}
    return R.nn.conv2d(x, w, data_layout="NCHW4c")


# -----


@R.function
def main(x: R.Tensor((3, 4), "float32"), w: R.Tensor((4, 5), "float32")):
# expected-error@+1:37 {{expected a constant, found 'missing'}}
    return R.matmul(x, w, out_dtype=missing)


# -----


@R.function
def main(x: R.Tensor((3, 4), "float32")):
# expected-error@+1:24 {{expected a dtype among float16, bfloat16, float32, float64, bool, int8, int16, int32, int64, uint8, uint16, uint32, uint64, float8_e4m3fn, float8_e4m3fnuz, float8_e5m2, float8_e5m2fnuz, int2, int4, uint2, uint4, found 'uint17'}}
    return R.astype(x, "uint17")


# -----


@R.function
def main(x: R.Tensor((3, 4), "float32")):
# expected-error@+1:12 {{name 'y' is not defined}}
    return y


# -----


@R.function
def main(x: R.Tensor((3, 4), "float32")):
    with R.dataflow():
        lv = R.nn.relu(x)
        gv = R.nn.relu(lv)
        R.output(gv)
# expected-error@+1:22 {{the value is not visible outside of its dataflow block; name it in R.output}}
    return R.add(gv, lv)


# -----


@R.function
def main(x: R.Tensor((3, 4), "float32")):
    with R.dataflow():
# expected-error@+1:13 {{'relex.alloc_tensor' op expected to be pure inside 'relex.dataflow', but it allocates memory}}
        a = R.alloc_tensor((3, 4), "float32")
        gv = R.add(a, x)
        R.output(gv)
    return gv


# -----


@R.function
def main(x: R.Tensor((3, 4), "float32")):
# expected-error@+1:5 {{expected 'R.output' in a dataflow block}}
    R.output(x)
    return x


# -----


@R.function
# expected-error@+1:1 {{expected 'return' at the end of 'main'}}
def main(x: R.Tensor((3, 4), "float32")):
    y = R.nn.relu(x)


# -----


@R.function
def main(x: R.Tensor((3, 4), "float32")):
    return x
# expected-error@+1:5 {{unreachable statement after 'return'}}
    y = R.nn.relu(x)


# -----


@R.function
def main(x: R.Tensor((3, 4), "float32")) -> R.Tensor((4, 3), "float32"):
# expected-error@+1:5 {{expected R.Tensor((4, 3), "float32"), as declared, found tensor<3x4xf32>}}
    return R.nn.relu(x)


# -----


@R.function
def main(x: R.Tensor((3, 4), "float32")):
# expected-error@+1:5 {{expected R.Tensor((4, 3), "float32"), as declared, found tensor<3x4xf32>}}
    y: R.Tensor((4, 3), "float32") = R.nn.relu(x)
    return y


# -----


@R.function
# expected-error@+1:13 {{expected a dtype for a tensor, found none}}
def main(x: R.Tensor((3, 4))):
    return x


# -----


@R.function
# expected-error@+1:13 {{expected a shape or ndim for a tensor, found none}}
def main(x: R.Tensor(dtype="float32")):
    return x


# -----


@R.function
# expected-error@+1:13 {{expected R.Tensor(shape, dtype), found 'R.Object'}}
def main(x: R.Object):
    return x


# -----


@R.function
def main(x: R.Tensor((3, 4), "float32")):
# expected-error@+1:23 {{expected a function of the module, found no 'relu'}}
    return R.call_tir(relu, (x,), out_sinfo=R.Tensor((3, 4), "float32"))


# -----


@R.function
def main(x: R.Tensor((3, 4), "float32")):
# expected-error@+1:12 {{expected the type of the result for 'R.call_dps_packed': out_ty=R.Tensor(shape, dtype)}}
    return R.call_dps_packed("env.relu", (x,))


# -----


@R.function
def main(x: R.Tensor((3, 4), "float32")):
# expected-error@+1:12 {{'R.call_packed' is not supported here; library functions that fill their results are called by R.call_dps_packed}}
    return R.call_packed("env.relu", x)


# -----


@I.ir_module
class Module:
    @T.prim_func
    def relu(X: T.Buffer((4,), "float32"), Y: T.Buffer((4,), "float32")):
        for i in range(4):
            Y[i] = T.max(X[i], 0)

    @R.function
    def main(x: R.Tensor((4,), "float32")):
        cls = Module
# expected-error@+1:13 {{expected a graph function, found loop function 'relu'; write R.call_tir}}
        y = cls.relu(x)
# expected-error@+1:13 {{expected a function of the module, found no 'gelu'}}
        z = cls.gelu(x)
        a = R.call_tir(cls.relu, (x, x), out_sinfo=R.Tensor((4,), "float32"))
# expected-error@+1:24 {{expected a loop function, found graph function 'main'; call it directly}}
        b = R.call_tir(cls.main, (x,), out_sinfo=R.Tensor((4,), "float32"))
        return a


# -----


@I.ir_module
class Module:
    @R.function
    def f(x: R.Tensor((4,), "float32")):
        return Module.g(x)

    @R.function
    def g(x: R.Tensor((4,), "float32")):
# expected-error@+1:16 {{'f' calls itself: expected a graph function that states its type}}
        return Module.f(x)


# -----


@R.function
def main(x: R.Tensor((4,), "float32")):
# expected-error@+1:29 {{expected numbers of float32, in lists of equal lengths}}
    return R.add(x, R.const([[1.0], [2.0, 3.0]], "float32"))


# -----


@R.function
def main(x: R.Tensor((4,), "float32")):
# expected-error@+1:21 {{metadata["ir.GenericConst"][7] is not in the script; expected an array 'metadata_7' among the parameters}}
    return R.add(x, metadata["ir.GenericConst"][7])


# -----


@R.function
def main(x: R.Tensor(("n", 4), "float32")):
# expected-error@+1:68 {{name 'm' is not defined}}
    return R.call_dps_packed("env.relu", (x,), out_sinfo=R.Tensor((m, 4), "float32"))


# -----


@R.function
def main(x: R.Tensor((4,), "float32")):
# expected-error@+1:5 {{'for i in range(4):' is not supported in a graph function; expected an assignment, 'with R.dataflow():', 'if', 'while' or 'return'}}
    for i in range(4):
        x = R.nn.relu(x)
    return x


# -----


@R.function
def main(x: R.Tensor((4,), "float32")):
# expected-error@+1:5 {{expected a name, found 'x[0]'; tensors do not change}}
    x[0] = x
# expected-error@+1:12 {{expected a tuple to index; R.take and R.strided_slice index tensors}}
    return x[1]

# -----

@R.function
def main(x: R.Tensor((3, 4), "float32")):
# expected-error@+1:33 {{expected axis to be an integer, found 1.5}}
    return R.nn.softmax(x, axis=1.5)

# -----

@R.function
def main(x: R.Tensor((3, 4), "float32")):
# expected-error@+1:26 {{expected axis to be an integer or a list of integers or None, found (True,)}}
    return R.sum(x, axis=[True])

# -----

@R.function
def main(x: R.Tensor((3, 4), "float32")):
# expected-error@+1:25 {{expected max to be a number or None, found 'high'}}
    return R.clip(x, 0, "high")

# -----

@R.function
def main(x: R.Tensor((3, 4), "float32")):
# expected-error@+1:30 {{expected keepdims to be True or False, found 1}}
    return R.sum(x, keepdims=1)

# -----

@R.function
def main(x: R.Tensor((3, 4), "float32")):
# expected-error@+1:35 {{expected axes to be a list of integers or None, found (1000000000000000000000000000000,)}}
    return R.permute_dims(x, axes=[10 ** 30])

# -----

@R.function
def main(x: R.Tensor((3, 4), "float32")):
# expected-error@+1:21 {{expected tensors in parentheses, found 'x'}}
    return R.concat(x)

# -----

@R.function
def main(x: R.Tensor((3, 4), "float32")):
# expected-error@+1:12 {{'R.where' expected a condition of i1, found f32}}
    return R.where(x, 1.0, 2.0)

# -----

@R.function
def main(x: R.Tensor((3, 4), "float32")):
# expected-error@+1:18 {{expected a tensor among the operands, found numbers alone}}
    return R.add(1.0, 2.0)

# -----

@R.function
def main(x: R.Tensor((3, 4), "float32")):
# expected-error@+1:12 {{'R.linear' expected shapes that broadcast, found 3x3 and 3x4}}
    return R.linear(x, x, x)

# -----

@R.function
def main(x: R.Tensor((3, 4), "float32")):
# expected-error@+1:12 {{'R.matmul' expected equal sizes of the summed dimension, found 4 and 3}}
    return x @ x

# -----

# NumPy would make NaN of it.
@R.function
def main(x: R.Tensor((3, 4), "float32")):
# expected-error@+1:21 {{expected numbers of float32, in lists of equal lengths}}
    return R.add(x, None)

# -----

@R.function
def main(x: R.Tensor((3, 4), "float32")):
# expected-error@+1:29 {{expected numbers of float32, in lists of equal lengths}}
    return R.add(x, R.const("1.5", "float32"))

# -----

@R.function
def main(x: R.Tensor((3, 4), "float32")):
# expected-error@+1:43 {{expected the name of a library function, found 1}}
    return R.call_dps_packed(R.ExternFunc(1), (x,), out_sinfo=R.Tensor((3, 4), "float32"))

# -----

@R.function
def main(x: R.Tensor((3, 4), "float32")):
# expected-error@+1:30 {{expected an argument 'global_symbol' for 'R.ExternFunc'}}
    return R.call_dps_packed(R.ExternFunc(), (x,), out_sinfo=R.Tensor((3, 4), "float32"))
