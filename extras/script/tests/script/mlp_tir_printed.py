import tvm
from tvm.script import relax as R, tir as T
from tvm.script.relax import Tensor


@tvm.script.ir_module
class Module:
    @R.function
    def main(x: Tensor((1, 784), "float32")) -> Tensor(None, "float32", ndim=2):
        with R.dataflow():
            lv1: Tensor((1, 128), "float32") = fused_dense_add0(x, meta[relay.Constant][0], meta[relay.Constant][1])
            lv2 = R.call_tir(relu, (lv1,), (1, 128), dtype="float32")
            lv4: Tensor((1, 10), "float32") = fused_dense_add1(lv2, meta[relay.Constant][2], meta[relay.Constant][3])
            gv: Tensor((1, 10), "float32") = lv4
            R.output(gv)
        return gv

    @T.prim_func
    def dense(
        rxplaceholder: T.Buffer[(1, 784), "float32"],
        rxplaceholder_1: T.Buffer[(T.int64(128), T.int64(784)), "float32"],
        T_matmul_NT: T.Buffer[(1, T.int64(128)), "float32"],
    ) -> None:
        T.func_attr({"global_symbol": "dense", "tir.noalias": True, "layout_free_buffers": [1]})
        for i0, i1, i2 in T.grid(1, T.int64(128), 784):
            with T.block("T_matmul_NT"):
                i = T.axis.spatial(1, i0)
                j = T.axis.spatial(T.int64(128), i1)
                k = T.axis.reduce(784, i2)
                T.reads(rxplaceholder[i, k], rxplaceholder_1[j, k])
                T.writes(T_matmul_NT[i, j])
                with T.init():
                    T_matmul_NT[i, j] = T.float32(0)
                T_matmul_NT[i, j] = T_matmul_NT[i, j] + rxplaceholder[i, k] * rxplaceholder_1[j, k]

    @T.prim_func
    def add1(
        rxplaceholder: T.Buffer[(1, T.int64(10)), "float32"],
        rxplaceholder_1: T.Buffer[T.int64(10), "float32"],
        T_add: T.Buffer[(1, T.int64(10)), "float32"],
    ) -> None:
        T.func_attr({"global_symbol": "add1", "tir.noalias": True})
        for i0, i1 in T.grid(1, T.int64(10)):
            with T.block("T_add"):
                ax0 = T.axis.spatial(1, i0)
                ax1 = T.axis.spatial(T.int64(10), i1)
                T.reads(rxplaceholder[ax0, ax1], rxplaceholder_1[ax1])
                T.writes(T_add[ax0, ax1])
                T_add[ax0, ax1] = rxplaceholder[ax0, ax1] + rxplaceholder_1[ax1]

    @T.prim_func
    def add(
        rxplaceholder: T.Buffer[(1, T.int64(128)), "float32"],
        rxplaceholder_1: T.Buffer[T.int64(128), "float32"],
        T_add: T.Buffer[(1, T.int64(128)), "float32"],
    ) -> None:
        T.func_attr({"global_symbol": "add", "tir.noalias": True})
        for i0, i1 in T.grid(1, T.int64(128)):
            with T.block("T_add"):
                ax0 = T.axis.spatial(1, i0)
                ax1 = T.axis.spatial(T.int64(128), i1)
                T.reads(rxplaceholder[ax0, ax1], rxplaceholder_1[ax1])
                T.writes(T_add[ax0, ax1])
                T_add[ax0, ax1] = rxplaceholder[ax0, ax1] + rxplaceholder_1[ax1]

    @R.function
    def fused_dense_add1(
        x1: Tensor((1, 128), "float32"), w: Tensor((10, 128), "float32"), b: Tensor((10,), "float32")
    ) -> Tensor(None, "float32", ndim=2):
        with R.dataflow():
            lv = R.call_tir(dense1, (x1, w), (1, 10), dtype="float32")
            gv1 = R.call_tir(add1, (lv, b), (1, 10), dtype="float32")
            R.output(gv1)
        return gv1

    @T.prim_func
    def dense1(
        rxplaceholder: T.Buffer[(1, T.int64(128)), "float32"],
        rxplaceholder_1: T.Buffer[(T.int64(10), T.int64(128)), "float32"],
        T_matmul_NT: T.Buffer[(1, T.int64(10)), "float32"],
    ) -> None:
        T.func_attr({"global_symbol": "dense1", "tir.noalias": True, "layout_free_buffers": [1]})
        for i0, i1, i2 in T.grid(1, T.int64(10), T.int64(128)):
            with T.block("T_matmul_NT"):
                i = T.axis.spatial(1, i0)
                j = T.axis.spatial(T.int64(10), i1)
                k = T.axis.reduce(T.int64(128), i2)
                T.reads(rxplaceholder[i, k], rxplaceholder_1[j, k])
                T.writes(T_matmul_NT[i, j])
                with T.init():
                    T_matmul_NT[i, j] = T.float32(0)
                T_matmul_NT[i, j] = T_matmul_NT[i, j] + rxplaceholder[i, k] * rxplaceholder_1[j, k]

    @T.prim_func
    def relu(
        rxplaceholder: T.Buffer[(1, T.int64(128)), "float32"], compute: T.Buffer[(1, T.int64(128)), "float32"]
    ) -> None:
        T.func_attr({"global_symbol": "relu", "tir.noalias": True})
        for i0, i1 in T.grid(1, T.int64(128)):
            with T.block("compute"):
                i0_1 = T.axis.spatial(1, i0)
                i1_1 = T.axis.spatial(T.int64(128), i1)
                T.reads(rxplaceholder[i0_1, i1_1])
                T.writes(compute[i0_1, i1_1])
                compute[i0_1, i1_1] = T.max(rxplaceholder[i0_1, i1_1], T.float32(0))

    @R.function
    def fused_dense_add0(
        x2: Tensor((1, 784), "float32"), w1: Tensor((128, 784), "float32"), b1: Tensor((128,), "float32")
    ) -> Tensor(None, "float32", ndim=2):
        with R.dataflow():
            lv3 = R.call_tir(dense, (x2, w1), (1, 128), dtype="float32")
            gv2 = R.call_tir(add, (lv3, b1), (1, 128), dtype="float32")
            R.output(gv2)
        return gv2
