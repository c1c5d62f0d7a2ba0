"""Programs written for TVM run as they are, but for one import: the programs of `examples/seeds`."""

from __future__ import annotations

import importlib.util
import linecache
import runpy
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from programs import Array
from xdsl.dialects.builtin import ModuleOp

from relex import parse
from relex.dialects import CompileError, parse_module
from relex.dialects.errors import DTypeError, RelexError, UnknownNameError
from relex.frontend.ir_module import IRModule
from relex.frontend.tvm import relax, tvm
from relex.lowering import LegalizeOpsPass
from relex.lowering.relex_pipeline import RelexPipelinePass

SEEDS = Path(__file__).parents[3] / "examples" / "seeds"
IMPORT = "from relex.frontend.tvm import tvm, relax, I, R, T"


def torch_by_numpy() -> ModuleType:
    """What the programs need of PyTorch: NumPy shares memory by DLPack and fills arrays just the same."""
    torch = ModuleType("torch")
    functions = {
        "from_dlpack": np.from_dlpack,
        "mm": np.matmul,
        "add": np.add,
        "maximum": np.maximum,
        "Tensor": np.float32,
    }
    vars(torch).update(functions)
    return torch


pytestmark = pytest.mark.usefixtures("own_library")


@pytest.fixture(autouse=True)
def _torch(monkeypatch: pytest.MonkeyPatch) -> None:
    """PyTorch, or what stands for it."""
    if importlib.util.find_spec("torch") is None:
        monkeypatch.setitem(sys.modules, "torch", torch_by_numpy())


@pytest.mark.parametrize("file", ["lecture_004.py", "blog_3.py", "notebook_4.py"])
def test_digits(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    path = SEEDS / file
    imports = [line for line in path.read_text().splitlines() if "relex" in line and "import" in line]
    assert imports == [IMPORT]
    names = runpy.run_path(str(path))
    tvm, vm, numpy_mlp = names["tvm"], names["vm"], names.get("numpy_mlp")
    params = names["mlp_params"]
    said = capsys.readouterr().out.splitlines()
    assert said[-1].endswith(str(names["label"]))
    with np.load(names["DIGITS"] / "digits.npz") as data:
        images, labels = data["images"].reshape(-1, 1, 784).astype("float32") / 255, data["labels"]
    found = np.array([vm["main"](tvm.nd.array(image)).numpy().argmax() for image in images])
    assert (found == labels).mean() > 0.95
    if numpy_mlp is not None:
        np.testing.assert_array_equal(found, numpy_mlp(images[:, 0], **params).argmax(1))


def execute(folder: Path, text: str) -> dict[str, Any]:
    """The names of a program."""
    path = folder / "program.py"
    path.write_text(text)
    linecache.clearcache()
    return runpy.run_path(str(path))


PROGRAM = """
@I.ir_module
class Program:
    @R.function
    def main(x: R.Tensor((2,), "float32")):
        with R.dataflow():
            y = R.nn.relu(x)
            R.output(y)
        return y
"""


def test_a_module_with_the_methods_of_tvms(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    program = execute(tmp_path, f"{IMPORT}\n{PROGRAM}")["Program"]
    assert isinstance(program, IRModule)
    assert isinstance(program, ModuleOp)
    assert list(program.functions) == ["main"]
    assert program["main"] is program.functions["main"]
    assert "main" in program
    assert "f" not in program
    with pytest.raises(UnknownNameError, match="no function 'f'; there are main"):
        program["f"]
    legal = LegalizeOpsPass()(program)
    assert isinstance(legal, IRModule)
    assert {*legal.functions} == {"main", "relu"}
    legal.show()
    assert capsys.readouterr().out.startswith("# from tvm.script import ir as I")
    RelexPipelinePass(to="llvm")(program).show()
    assert "llvm.func" in capsys.readouterr().out
    copy = IRModule.of(parse_module(str(program)))
    assert copy.is_structurally_equivalent(program)
    with pytest.raises(DTypeError, match=r"IRModule.of expected a module, found str"):
        IRModule.of("main")  # pyright: ignore[reportArgumentType]
    ex = tvm.compile(copy)
    for vm in (relax.VirtualMachine(ex, tvm.cpu()), relax.VirtualMachine(ex)):
        found = vm["main"](floats(-1, 1))
        assert isinstance(found, tvm.nd.NDArray)
        np.testing.assert_array_equal(found.numpy(), [0, 1])
        assert list(vm) == list(ex)
        assert len(vm) == len(ex)
        assert str(vm.device) == "cpu(0)"
    with pytest.raises(UnknownNameError, match="no function 'f'; there are main"):
        relax.VirtualMachine(ex)["f"]


make_machine: Any = relax.VirtualMachine
EMPTY = "func.func @f() { return }"


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: tvm.cpu(1), r"^expected the device cpu\(0\), found cpu\(1\)$"),
        (
            lambda: make_machine(None, tvm.cpu()),
            "^expected an executable, as 'build' makes one of a module, found None$",
        ),
        (lambda: make_machine(EMPTY), "^expected an executable, .*, found str$"),
        (lambda: make_machine(parse_module(EMPTY)), "^expected an executable, as 'build' .*, found .*ModuleOp$"),
        (lambda: make_machine(tvm.compile(EMPTY), "cuda"), r"^expected the device cpu\(0\), .* found 'cuda'$"),
        (lambda: make_machine(tvm.compile(EMPTY), ""), r"^expected the device cpu\(0\), .* gives it, found ''$"),
    ],
)
def test_wrong_devices_and_executables(call: Callable[[], object], message: str) -> None:
    with pytest.raises(RelexError, match=message):
        call()


def floats(*values: float) -> Array:
    return np.array(values, np.float32)


WAYS = [
    (IMPORT, "tvm.script", "R", "relax"),
    ("import relex.frontend.tvm as tvm", "tvm.script", "tvm.script.relax", "tvm.relax"),
    ("from relex.frontend import tvm", "tvm.script.ir", "tvm.script.relax", "tvm.relax.op"),
    ("from relex.frontend.tvm.script import ir, relax as S", "ir", "S", "S"),
]


@pytest.mark.parametrize(("first", "i", "r", "ops"), WAYS)
def test_names_of_tvm(first: str, i: str, r: str, ops: str, tmp_path: Path) -> None:
    """All spellings of the imports, in a running program and in a file."""
    text = PROGRAM.replace("R.nn", f"{ops}.nn").replace("R.", f"{r}.").replace("I.", f"{i}.")
    program = execute(tmp_path, f"{first}\n{text}")["Program"]
    assert isinstance(program, IRModule)
    assert program.is_structurally_equivalent(parse(tmp_path / "program.py"))


def test_library_functions_get_arrays_of_tvm() -> None:
    @tvm.register_func("test.halve")
    def halve(x: tvm.nd.NDArray, out: tvm.nd.NDArray) -> None:
        out.copyfrom(x.numpy() / 2)

    bb = relax.BlockBuilder()
    x = relax.Var("x", (3,), "float32")
    with bb.function("main", [x]):
        bb.emit_func_output(relax.op.call_dps_packed("test.halve", [x], (3,)))
    mod = tvm.transform.Sequential([relax.transform.FoldConstant(), relax.transform.DeadCodeElimination()])(bb.get())
    np.testing.assert_array_equal(relax.build(mod)["main"](tvm.nd.array(floats(2, 4, 6))), [1, 2, 3])
    with pytest.raises(RelexError, match=r"'test.halve' is registered already; override=True replaces it"):
        tvm.register_func("test.halve", halve)
    with pytest.raises(DTypeError, match="expected an array of numbers: expected numbers, found None"):
        tvm.nd.array(None)


CONSTANTS = """
@R.function
def main(x: R.Tensor((2,), "float32")):
    y = R.add(x, metadata["relax.expr.Constant"][1])
    return R.multiply(y, metadata["relax.expr.Constant"][0])
"""


def test_constants_from_a_dictionary_in_scope(tmp_path: Path) -> None:
    first = f"{IMPORT}\nimport numpy as np\nmetadata = {{'relax.expr.Constant': [np.float32([1, 2])"
    names = execute(tmp_path, f"{first}, tvm.nd.array(np.float32([3, 4]))]}}\n{CONSTANTS}")
    np.testing.assert_array_equal(relax.build(names["main"])["main"](floats(1, 1)), [4, 10])
    with pytest.raises(CompileError, match="is not in the script; expected an array 'metadata_1'"):
        execute(tmp_path, f"{first}]}}\n{CONSTANTS}")
