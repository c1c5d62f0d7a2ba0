"""Scripts that TVM prints and that say less, or more than once, what their bodies do: read, with warnings."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from relex.dialects.errors import CompileWarning
from relex.dialects.tir import BlockOp
from relex.frontend.script import parse_script
from relex.runtime import build
from relex.tools.opt import relex_opt
from relex.tools.run import relex_run

TVM_PRINTS = """@T.prim_func
def f(X: T.Buffer((9,), "float32"), Y: T.Buffer((8,), "float32"), Z: T.Buffer((8,), "float32")):
    for i in range(8):
        with T.sblock("T_add"):
            vi = T.axis.spatial(8, i)
            T.reads(X[vi])
            T.writes(Y[vi])
            Y[vi] = X[vi] + X[vi + 1]
    for i in range(8):
        with T.sblock("T_add"):
            vi = T.axis.spatial(8, i)
            T.reads()
            T.writes(Z[vi])
            Z[vi] = Y[vi] + X[vi] + X[vi]
"""


def test_what_tvm_prints_is_read_with_warnings():
    with pytest.warns(CompileWarning) as caught:
        module = parse_script(TVM_PRINTS, "printed.py")
    assert [(w.filename, w.lineno, str(w.message).splitlines()[0]) for w in caught] == [
        ("printed.py", 6, "printed.py:6:21: warning: expected all that the block reads of 'X', found X[vi]"),
        (
            "printed.py",
            10,
            "printed.py:10:23: warning: expected a name that no other block has, found 'T_add'; used 'T_add1'",
        ),
        ("printed.py", 12, "printed.py:12:13: warning: expected 'Y' in T.reads, as the block reads it"),
        ("printed.py", 12, "printed.py:12:13: warning: expected 'X' in T.reads, as the block reads it"),
    ]
    assert [op.block_name.data for op in module.walk() if isinstance(op, BlockOp)] == ["T_add", "T_add1"]
    x = np.arange(9, dtype=np.float32)
    y, z = build(module)["f"](x)
    np.testing.assert_array_equal(y, x[:8] + x[1:])
    np.testing.assert_array_equal(z, y + x[:8] + x[:8])


def test_blocks_without_a_name_get_one():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        text = TVM_PRINTS.replace('"T_add"', "").replace("reads(X[vi])", "reads(X[vi:vi + 2])")
        module = parse_script(text.replace("reads()", "reads(X[vi], Y[vi])"))
    assert [op.block_name.data for op in module.walk() if isinstance(op, BlockOp)] == ["block", "block1"]


@pytest.mark.parametrize("main", [relex_opt.main, relex_run.main])
def test_tools_print_warnings_of_scripts(
    main: Callable[[list[str]], int], tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    np.save(tmp_path / "x.npy", np.ones(9, np.float32))
    script = tmp_path / "printed.py"
    script.write_text(TVM_PRINTS)
    arguments = (
        [] if main is relex_opt.main else ["--entry", "f", "--input", str(tmp_path / "x.npy"), "--level", "graph"]
    )
    assert main([str(script), *arguments]) == 0
    lines = capsys.readouterr().err.splitlines()
    assert lines[:3] == [
        f"{script}:6:21: warning: expected all that the block reads of 'X', found X[vi]",
        "            T.reads(X[vi])",
        "                    ^",
    ]
    assert sum(" warning: " in line for line in lines) == 4
