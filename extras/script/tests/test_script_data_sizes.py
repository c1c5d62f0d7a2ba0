"""Scripts with sizes that depend on elements."""

from __future__ import annotations

from textwrap import dedent

import numpy as np
import pytest

from relex.dialects import CompileError
from relex.dialects.exceptions import ShapeError
from relex.frontend.script import parse_script, print_script
from relex.runtime import build

SCRIPT = """
@R.function
def main(x: R.Tensor(("n",), "float32"), y: R.Tensor(("m",), "float32")):
    k = T.int64()
    with R.dataflow():
        c = R.compress(x, R.greater(x, R.const(0.0, "float32")))
        d = R.match_cast(c, R.Tensor((k,), "float32"))
        e = R.match_cast(y, R.Tensor((k + 1,), "float32"))
        p = R.nonzero(x)
        R.output(d, e, p)
    return d, e, p
"""


def test_match_cast_and_nonzero() -> None:
    module = parse_script(SCRIPT)
    x, y = np.array([1, -2, 3], np.float32), np.ones(3, np.float32)
    for program in (module, parse_script(print_script(module))):
        main = build(program)["main"]
        chosen, same, places = main(x, y)
        assert chosen.tolist() == [1, 3]
        assert same.tolist() == y.tolist()
        assert places.tolist() == [[0, 1, 2]]  # A row for each dimension, as in TVM.
        with pytest.raises(ShapeError, match=r"'relex\.match_sizes' expected c_kept \+ 1 == m, found 3"):
            main(x, np.ones(4, np.float32))


def test_a_size_by_name() -> None:
    module = parse_script(
        dedent("""
    @I.ir_module
    class Module:
        @T.prim_func
        def fill(x: T.Buffer(("n",), "float32"), y: T.Buffer(("n",), "float32")):
            n = T.int64()
            for i in T.serial(n):
                with T.sblock("y"):
                    vi = T.axis.spatial(n, i)
                    y[vi] = x[vi] + T.float32(1)

        @R.function
        def main(x: R.Tensor(("n",), "float32")):
            k = T.int64()
            cls = Module
            c = R.match_cast(R.compress(x, R.greater(x, R.const(0.0, "float32"))), R.Tensor((k,), "float32"))
            return R.call_tir(cls.fill, (c,), out_ty=R.Tensor((k,), "float32"))
    """)
    )
    assert build(module)["main"](np.array([1, -2, 3], np.float32)).tolist() == [2, 4]


def test_a_type_that_does_not_fit() -> None:
    with pytest.raises(CompileError, match="expected a type that"):
        parse_script(
            dedent("""
        @R.function
        def main(x: R.Tensor(("n",), "float32")):
            return R.match_cast(x, R.Tensor((n, 1), "float32"))
        """)
        )


def test_a_name_of_no_size() -> None:
    with pytest.raises(CompileError, match="expected an argument that has a size 'k'"):
        parse_script(
            dedent("""
        @R.function
        def main(x: R.Tensor(("n",), "float32")):
            k = T.int64()
            return x
        """)
        )
