from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T


@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def first(X: T.Buffer((1, 128), "float32"), Z: T.Buffer((1, 128), "float32"), Y: T.Buffer((1, 128), "float32")):
        for i, j in T.grid(1, 128):
            with T.sblock("Y"):
                vi, vj = T.axis.remap("SS", [i, j])
                T.reads(X[vi, vj])
                T.writes(Y[vi, vj])
                Y[vi, vj] = X[vi, vj]

    @T.prim_func(s_tir=True)
    def relu0(X: T.Buffer((1, 128), "float32"), Y: T.Buffer((1, 128), "float32")):
        for i, j in T.grid(1, 128):
            with T.sblock("Y"):
                vi, vj = T.axis.remap("SS", [i, j])
                T.reads(X[vi, vj])
                T.writes(Y[vi, vj])
                Y[vi, vj] = T.max(X[vi, vj], T.float32(0.0))

    @R.function
    def main(x: R.Tensor((1, 128), dtype="float32")) -> R.Tensor((1, 128), dtype="float32"):
        cls = Module
        with R.dataflow():
            gv0 = R.call_tir(cls.relu0, (x,), out_ty=R.Tensor((1, 128), dtype="float32"))
            R.output(gv0)
        gv1: R.Tensor((1, 128), dtype="float32") = R.builtin.alloc_tensor(
            R.shape([1, 128]), R.dtype("float32"), 0, R.str("global")
        )
        with R.dataflow():
            out = R.call_tir(cls.first, (gv0, gv1), out_ty=R.Tensor((1, 128), dtype="float32"))
            R.output(out)
        return out
