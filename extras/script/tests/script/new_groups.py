from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T


@I.ir_module
class Module:
    @T.prim_func(private=True, s_tir=True)
    def add(
        A: T.Buffer((T.int64(1), T.int64(128)), "float32"),
        B: T.Buffer((T.int64(128),), "float32"),
        T_add: T.Buffer((T.int64(1), T.int64(128)), "float32", elem_offset=0),
    ):
        T.func_attr({"op_pattern": 0, "tirx.noalias": True})
        # with T.sblock("root"):
        for ax0, ax1 in T.grid(T.int64(1), T.int64(128)):
            with T.sblock("T_add"):
                v_ax0, v_ax1 = T.axis.remap("SS", [ax0, ax1])
                T.reads(A[v_ax0, v_ax1], B[v_ax1])
                T.writes(T_add[v_ax0, v_ax1])
                T_add[v_ax0, v_ax1] = A[v_ax0, v_ax1] + B[v_ax1]

    @R.function(private=True)
    def fused_add_twice(
        x: R.Tensor((1, 128), dtype="float32"), b: R.Tensor((128,), dtype="float32")
    ) -> R.Tuple(R.Tensor((1, 128), dtype="float32"), R.Tensor((1, 128), dtype="float32")):
        R.func_attr({"Composite": "twice", "Primitive": True})
        cls = Module
        with R.dataflow():
            gv = R.call_tir(cls.add, (x, b), out_ty=R.Tensor((1, 128), dtype="float32"))
            gv1 = R.call_tir(cls.add, (gv, b), out_ty=R.Tensor((1, 128), dtype="float32"))
            R.output(gv, gv1)
        return (gv, gv1)

    @R.function
    def main(
        x: R.Tensor((1, 128), dtype="float32"), b: R.Tensor((128,), dtype="float32")
    ) -> R.Tensor((1, 128), dtype="float32"):
        cls = Module
        with R.dataflow():
            lv: R.Tuple(R.Tensor((1, 128), dtype="float32"), R.Tensor((1, 128), dtype="float32")) = (
                cls.fused_add_twice(x, b)
            )
            lv1: R.Tensor((1, 128), dtype="float32") = lv[0]
            lv2: R.Tensor((1, 128), dtype="float32") = lv[1]
            gv: R.Tensor((1, 128), dtype="float32") = R.multiply(lv1, lv2)
            R.output(gv)
        return gv
