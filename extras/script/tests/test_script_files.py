"""Files in TVMScript: constants that stand beside them, and one of several modules."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pytest

from relex import build, parse
from relex.dialects import CompileError
from relex.dialects.errors import RelexError, UnknownNameError
from relex.frontend.script import parse_script
from relex.tools.opt import relex_opt
from relex.tools.run import relex_run

SCRIPT = """
@I.ir_module
class Sum:
    @R.function
    def main(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        return R.add(x, metadata["relax.expr.Constant"][0])

@I.ir_module
class Product:
    @R.function
    def main(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        return R.multiply(x, metadata["relax.expr.Constant"][1])
"""
X, A, B = (np.array(values, np.float32) for values in ([1, 2], [3, 4], [5, 6]))
METADATA = {"relax.expr.Constant": [A, B]}


@pytest.fixture(autouse=True)
def in_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("x.py").write_text(SCRIPT)
    np.savez("metadata.npz", metadata_0=A, metadata_1=B)
    Path("metadata.pkl").write_bytes(pickle.dumps(METADATA))
    np.save("x.npy", X)


@pytest.mark.parametrize("line", ["raise SystemExit(7)", "open('run', 'w')"])
def test_nothing_is_executed(line: str) -> None:
    """A file is parsed, whatever else is in it."""
    Path("y.py").write_text(f"import os\n{line}\n{SCRIPT}\n{line}\n")
    np.testing.assert_array_equal(build("y.py:Sum", metadata=METADATA)["main"](X), X + A)
    assert relex_opt.main(["y.py:Sum", "--metadata", "metadata.pkl"]) == 0
    assert not Path("run").exists()


@pytest.mark.parametrize(
    "metadata", [METADATA, {"metadata_0": A, "metadata_1": B}, "metadata.npz", Path("metadata.pkl")]
)
def test_one_of_two_modules_and_its_constants(metadata: dict[str, object] | str | Path) -> None:
    np.testing.assert_array_equal(build("x.py:Sum", metadata=metadata)["main"](X), X + A)
    np.testing.assert_array_equal(build(Path("x.py:Product"), metadata=metadata)["main"](X), X * B)
    assert "relex.multiply" in str(parse("x.py:Product", metadata=metadata))


def test_in_the_tools(capsys: pytest.CaptureFixture[str]) -> None:
    for file in ("metadata.npz", "metadata.pkl"):
        assert relex_opt.main(["x.py:Product", "--metadata", file]) == 0
        out = capsys.readouterr().out
        assert "relex.multiply" in out
        assert "relex.add" not in out
        for option in ("--metadata", "--params"):
            arguments = ["x.py:Sum", option, file, "--input", "x.npy", "--output", "y.npy"]
            assert relex_run.main(arguments) == 0, capsys.readouterr().err
            np.testing.assert_array_equal(np.load("y.npy"), X + A)
            Path("y.npy").unlink()


def test_two_modules_without_a_choice(capsys: pytest.CaptureFixture[str]) -> None:
    expected = "x.py:9:1: error: expected one module in a file, found 'Sum' and 'Product'; 'x.py:Sum' is one of them"
    with pytest.raises(CompileError) as caught:
        build("x.py", metadata=METADATA)
    assert str(caught.value).startswith(expected)
    assert relex_opt.main(["x.py", "--metadata", "metadata.npz"]) == 1
    assert capsys.readouterr().err.startswith(expected)
    with pytest.raises(CompileError, match="found 'Sum' and 'Product'; module='Sum' chooses one"):
        parse_script(SCRIPT)
    assert "relex.add" in str(parse_script(SCRIPT, module="Sum", params=METADATA))


def test_wrong_choices(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(UnknownNameError, match=r"x\.py: no module 'Sums'; there are Sum, Product"):
        parse("x.py:Sums")
    Path("x.mlir").write_text("func.func @main() { return }")
    expected = "expected 'x.mlir' alone, found 'x.mlir:Sum': *.mlir files hold one module"
    with pytest.raises(RelexError) as caught:
        parse("x.mlir:Sum")
    assert str(caught.value) == expected
    assert relex_opt.main(["x.mlir:Sum"]) == 1
    assert expected in capsys.readouterr().err
    assert "Traceback" not in capsys.readouterr().err


def test_missing_constants() -> None:
    message = r"x\.py:12:30: error: .* is not in the script; expected an array 'metadata_1' among the parameters"
    for metadata in (None, {"relax.expr.Constant": [A]}, {"relay.Constant": [A, B]}, {"relax.expr.Constant": 3}):
        with pytest.raises(CompileError, match=message):
            build("x.py:Product", metadata=metadata)
    Path("y.py").write_text(SCRIPT.replace("[0]", "[-1]"))
    for given in ([], [A]):
        with pytest.raises(CompileError, match=r"y\.py:6:25: error: .* is not in the script"):
            build("y.py:Sum", metadata={"relax.expr.Constant": given})
    with pytest.raises(RelexError, match="expected 'metadata' with the path of a script, found a program that has all"):
        build("func.func @main() { return }", metadata=METADATA)
    with pytest.raises(RelexError, match=r"expected a dictionary .* as 'metadata', found int"):
        build("x.py:Sum", metadata=3)  # pyright: ignore[reportArgumentType]
    with pytest.raises(CompileError, match="'metadata_0': "):
        build("x.py:Sum", metadata={"metadata_0": np.array(["a"])})
