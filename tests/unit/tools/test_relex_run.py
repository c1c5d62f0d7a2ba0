"""What `relex-run` says of calls that are wrong. Its results are in `tests/lit/tools/relex-run*.mlir`."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import numpy as np
import pytest

from relex.dialects.parser import parse_module
from relex.extras import EXTRAS
from relex.tools.run.relex_run import main
from relex.tools.run.signature_help import count_flops

PROGRAM = """
func.func @main(%x: tensor<1x3xf32>, %b: tensor<3xf32>) -> (tensor<1x3xf32>, tensor<1x3xf32>) {
  %y = relex.add %x, %b : (tensor<1x3xf32>, tensor<3xf32>) -> tensor<1x3xf32>
  %z = relex.relu %y : (tensor<1x3xf32>) -> tensor<1x3xf32>
  func.return %y, %z : tensor<1x3xf32>, tensor<1x3xf32>
}

func.func @other(%x: tensor<3xf32>) -> tensor<3xf32> {
  func.return %x : tensor<3xf32>
}
"""

WRONG = {
    "too few": ("p.mlir --input x.npy", "main() expected 2 arguments (x, b), found none for b"),
    "none for a profile": ("p.mlir --profile", "main() expected 2 arguments (x, b), found none for x, b"),
    "a size that is not there": ("p.mlir --random n=3", "main() has no size 'n'; there are none"),
    "no size": ("p.mlir --random n", "expected --random with sizes such as n=16, found 'n'"),
    "emit and run": ("p.mlir --emit asm --input x.npy", "expected --emit alone or with --output"),
    "unknown triple": ("p.mlir --emit asm --target nowhere", "no code generator for triple 'nowhere'"),
    "benchmark of an interpreter": (
        "p.mlir --random --benchmark --level core",
        "expected --level native with --benchmark",
    ),
    "shape": (
        "p.mlir --input b.npy --input b.npy",
        "main() argument 'x': expected shape (1, 3), found (3,)",
    ),
    "no list": ("p.mlir --input [1,2,]", "cannot read '[1,2,]': expected a list of numbers such as [1.5,2] or"),
    "a list of another shape": ("p.mlir --input [1,2,3] --input b.npy", "expected shape (1, 3), found (3,)"),
    "a list of texts": ('p.mlir --input [["a","b","c"]] --input b.npy', "expected dtype float32, found str"),
    "name": ("p.mlir --input y=b.npy", "main() expected 2 arguments (x, b), found one named 'y'"),
    "name twice": ("p.mlir --input b=b.npy --input b=b.npy", "expected every --input name once"),
    "entry": ("p.mlir --entry nobody", "no function 'nobody'; there are main, other"),
    "no array": ("p.mlir --input none.npy", "cannot read 'none.npy'"),
    "not an array": (
        "p.mlir --input p.mlir",
        "cannot read 'p.mlir': expected an .npy file, as numpy.save writes it, found a file of another kind",
    ),
    "archive": ("p.mlir --input p.npz", "expected an .npy file, as numpy.save writes it, found an archive"),
    "damaged parameters": ("p.mlir --input x.npy --params p.mlir", "cannot read 'p.mlir'"),
    "an array as parameters": (
        "p.mlir --params x.npy",
        "expected an .npz file, as numpy.savez writes it, found a single array",
    ),
    "no program": ("none.mlir", "cannot read 'none.mlir': No such file"),
    "no folder": ("p.mlir --input x.npy --params p.npz --output none/y.npy", "cannot write 'none/y.npy'"),
    "outputs": (
        "p.mlir --input x.npy --params p.npz --output a --output b --output c",
        "expected at most 2 --output, found 3",
    ),
}


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("p.mlir").write_text(PROGRAM)
    np.save("x.npy", np.array([[1, -2, 3]], np.float32))
    np.save("b.npy", np.ones(3, np.float32))
    np.savez("p.npz", b=np.ones(3, np.float32))


@pytest.mark.parametrize("what", WRONG)
def test_wrong_calls(what: str, capsys: pytest.CaptureFixture[str]):
    arguments, message = WRONG[what]
    assert main(arguments.split()) == 1
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith("relex-run: error: ")
    assert message in said.err


def test_object_code_goes_to_pipes_but_not_to_terminals(
    capfdbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch
):
    assert main(["p.mlir", "--emit", "obj"]) == main(["p.mlir", "--emit", "obj", "--output", "p.o"]) == 0
    assert capfdbinary.readouterr().out == Path("p.o").read_bytes()
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    assert main(["p.mlir", "--emit", "obj"]) == 1
    said = capfdbinary.readouterr()
    assert said.out == b""
    assert b"expected --output FILE.o with --emit obj: object code is not for a terminal" in said.err


def test_wrong_programs(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"func.func @main() { nonsense }")))
    assert main(["-"]) == 1
    assert capsys.readouterr().err.splitlines() == [
        "<stdin>:1:21: error: operation nonsense is not registered",
        "func.func @main() { nonsense }",
        "                    ^",
    ]


def test_operations_of_a_call_follow_from_its_shapes() -> None:
    program = """
    func.func @main(%x: tensor<ROWSx8xf32>, %w: tensor<2x8xf32>) -> tensor<ROWSx2xf32> {
      %0 = relex.dense %x, %w : (tensor<ROWSx8xf32>, tensor<2x8xf32>) -> tensor<ROWSx2xf32>
      %1 = relex.relu %0 : (tensor<ROWSx2xf32>) -> tensor<ROWSx2xf32>
      func.return %1 : tensor<ROWSx2xf32>
    }
    """
    open_sizes, closed = (parse_module(program.replace("ROWS", rows)) for rows in ("?", "3"))
    assert count_flops(open_sizes, "main") is None
    assert count_flops(open_sizes, "main", [(3, 8), (2, 8)]) == count_flops(closed, "main") == 3 * 2 * (8 * 2 + 1)


def test_operations_of_loops_are_counted_for_each_trip() -> None:
    program = """
    func.func @main(%x: tensor<?xf32>, %c: i1) -> tensor<?xf32> {{
      %zero = arith.constant 0 : index
      %one = arith.constant 1 : index
      %ten = arith.constant 10 : index
      %n = tensor.dim %x, %zero : tensor<?xf32>
      %y = scf.for %i = %one to {end} step %one iter_args(%a = %x) -> (tensor<?xf32>) {{
        {trip}
        scf.yield %b : tensor<?xf32>
      }}
      func.return %y : tensor<?xf32>
    }}
    """
    add = "%b = relex.add %a, %x : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>"
    branch = f"%b = scf.if %c -> (tensor<?xf32>) {{ {add.replace('%b', '%s')}\n scf.yield %s : tensor<?xf32> }}"
    branch += " else { scf.yield %a : tensor<?xf32> }"

    def count(end: str, trip: str) -> int | None:
        return count_flops(parse_module(program.format(end=end, trip=trip)), "main", [(4,), ()])

    assert count("%ten", add) == 9 * 4
    assert count("%n", add) == 3 * 4
    assert count("%zero", add) == 0
    assert count("%ten", branch) is None


def test_operations_of_functions_that_are_called_are_not_counted() -> None:
    program = """
    func.func @main(%x: tensor<?xf32>, %y: tensor<?xf32>) -> tensor<?xf32> {
      %0 = func.call @f(%x) : (tensor<?xf32>) -> tensor<?xf32>
      %1 = relex.add %y, %0 : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
      %2 = relex.exp %1 : (tensor<?xf32>) -> tensor<?xf32>
      func.return %2 : tensor<?xf32>
    }
    func.func private @f(%x: tensor<?xf32>) -> tensor<?xf32> {
      %0 = relex.exp %x : (tensor<?xf32>) -> tensor<?xf32>
      func.return %0 : tensor<?xf32>
    }
    """
    assert count_flops(parse_module(program), "main", [(3,), (3,)]) is None


def test_other_packages_write_files_of_their_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "p.mlir").write_text(PROGRAM)
    (tmp_path / "names.py").write_text(
        "from pathlib import Path\n"
        "def write(module, path, **options):\n"
        "    Path(path).write_text(' '.join(op.sym_name.data for op in module.ops))\n"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    assert main(["p.mlir", "--save", "p.names"]) == 1
    assert "expected --save with a file named *.relex or *.o, found 'p.names'" in capsys.readouterr().err
    monkeypatch.setitem(EXTRAS, "names", {"object writers": {".names": "names:write"}})
    assert main(["p.mlir", "--save", "p.names"]) == 0
    assert (tmp_path / "p.names").read_text() == "main other"
