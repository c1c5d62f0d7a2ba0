"""Scripts that call loop functions in place."""

from __future__ import annotations

import numpy as np
import pytest

from relex.dialects import CompileError
from relex.frontend.script import parse_script, print_script
from relex.lowering.lower_call_tir import LowerCallTirPass
from relex.lowering.plan_memory import PlanMemoryPass
from relex.lowering.relex_pipeline import RelexPipelinePass
from relex.runtime import build

ADDING = """
@I.ir_module
class Module:
    @T.prim_func(private=True)
    def add_row(A: T.Buffer((8, "n"), "float32"), b: T.handle, C: T.Buffer((), "float32")):
        n = T.int64()
        B = T.match_buffer(b, (n,), "float32")
        for i, j in T.grid(8, n):
            A[i, j] = A[i, j] + B[j]
        C[()] = T.float32(8)

    @R.function
    def main(x: R.Tensor((8, "n"), "float32"), y: R.Tensor(("n",), "float32")):
        n = T.int64()
        cls = Module
        z = R.exp(x)
        a, c = R.call_tir_inplace(
            cls.add_row,
            (z, y),
            inplace_indices=[0, -1],
            out_sinfo=[R.Tensor((8, n), "float32"), R.Tensor((), "float32")],
        )
        b, _ = R.call_tir_inplace(
            cls.add_row, (a, y), [0, -1], [R.Tensor((8, n), "float32"), R.Tensor((), "float32")]
        )
        return R.sum(b), c
"""


def test_arguments_change_in_place() -> None:
    module = parse_script(ADDING)
    x, y = np.ones((8, 3), np.float32), np.arange(3, dtype=np.float32)
    for program in (module, parse_script(print_script(module))):
        total, eight = build(program)["main"](x, y)
        np.testing.assert_allclose(total, (np.exp(x) + 2 * y).sum(), 1e-6)
        assert eight == 8
    planned = PlanMemoryPass()(LowerCallTirPass()(RelexPipelinePass(to="loops")(module)))
    assert str(planned).count("tir.call @add_row_in_place(") == 2


SCRIPT = """
@I.ir_module
class Module:
    @T.prim_func
    def double(X: T.Buffer((4,), "float32"), Y: T.Buffer((), "float32")):
        for i in T.serial(4):
            X[i] = X[i] * T.float32(2)
        Y[()] = X[0]

    @R.function
    def main(x: R.Tensor((4,), "float32")):
        cls = Module
        X_before = R.add(x, x)
        y, z = R.call_tir_inplace(cls.double, (X_before,), inplace_indices=[0, -1],
                                  out_ty=[R.Tensor((4,), "float32"), R.Tensor((), "float32")])
        return X_before, y, z
"""


def test_a_tensor_that_is_read_later_stays() -> None:
    x = np.arange(4, dtype=np.float32) + 1
    before, after, first = build(parse_script(SCRIPT))["main"](x)
    assert before.tolist() == [2, 4, 6, 8]
    assert after.tolist() == [4, 8, 12, 16]
    assert first == 4


OTHER = """
        w, v = R.call_tir_inplace(cls.double, (x,), [-1, 0], [R.Tensor((), "float32"), R.Tensor((4,), "float32")])
"""


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("[0, -1]", "[0, 0, -1]", "expected inplace_indices to be different arguments, or -1, found 0, 0, -1"),
        ("[0, -1]", "[1, -1]", "expected inplace_indices to be different arguments, or -1, found 1, -1"),
        ("[0, -1]", "[-1, -1, -1]", "expected inplace_indices to be different"),
        ("[0, -1]", "[]", "expected inplace_indices to be a list of arguments"),
        ("[0, -1]", "[True, -1]", "expected inplace_indices to be a list of arguments"),
        ("inplace_indices=[0, -1],", "", "expected an argument 'inplace_indices'"),
        ("cls.double", "cls.main", "expected a loop function, found graph function 'main'"),
        ("        X_before =", OTHER + "        X_before =", "expected all calls of 'double' to change the same"),
        ("R.Tensor((4,)", "R.Tensor((3,)", "double"),
        (
            "        X_before =",
            '        w = R.call_tir(cls.double, (x,), R.Tensor((), "float32"))\n        X_before =',
            "expected 'double' to be called by R.call_tir_inplace, as elsewhere",
        ),
        ("X: T.Buffer((4,),", 'X: T.Buffer(("n + 1",),', "expected names for the sizes of 'X', which a call changes"),
    ],
)
def test_wrong_calls(old: str, new: str, message: str) -> None:
    with pytest.raises(CompileError, match=message):
        parse_script(SCRIPT.replace(old, new))


@pytest.mark.parametrize("places", ["[0]", "[-1]"])
def test_nothing_to_change(places: str) -> None:
    """Of a function without parameters."""
    script = f"""
@I.ir_module
class Module:
    @T.prim_func
    def nothing():
        T.evaluate(0)

    @R.function
    def main(x: R.Tensor((4,), "float32")):
        return R.call_tir_inplace(Module.nothing, (), {places}, R.Tensor((4,), "float32"))
"""
    with pytest.raises(CompileError, match="expected inplace_indices to be different arguments, or -1, found"):
        parse_script(script)
