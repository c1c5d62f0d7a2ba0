"""The importer of ONNX models: names, sizes, places of errors, and files that are no models."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import onnx
import pytest
from models import FLOAT, INT64, model, node, value
from onnx import NodeProto, TensorProto, helper, numpy_helper
from xdsl.dialects.func import FuncOp

from relex.dialects.errors import CompileError, RelexError
from relex.dialects.function_arguments import argument_names
from relex.frontend.onnx import from_onnx
from relex.reference import interpret
from relex.runtime import build
from relex.tools.opt.relex_opt import main as relex_opt
from relex.tools.run.relex_run import main as relex_run

WEIGHT = numpy_helper.from_array(np.arange(12, dtype=np.float32).reshape(3, 4), "weight")


def dense(**changes: Any) -> onnx.ModelProto:
    """A dense layer with a dynamic batch."""
    nodes = [node("Gemm", "x weight", "h", name="/fc/Gemm", transB=1), node("Relu", "h", "y", name="/act")]
    return model(nodes, [value("x", FLOAT, ["batch", 4])], ["y"], [WEIGHT], **changes)


def run(m: onnx.ModelProto, *args: Any, **options: Any) -> Any:
    return interpret(from_onnx(m, **options))["main"](*args)


def function(m: onnx.ModelProto, **options: Any) -> FuncOp:
    (found,) = from_onnx(m, **options).ops
    assert isinstance(found, FuncOp)
    return found


def errors(m: onnx.ModelProto | bytes | str | Path, **options: Any) -> list[str]:
    with pytest.raises(CompileError) as caught:
        from_onnx(m, **options)
    return str(caught.value).splitlines()


@pytest.mark.parametrize(
    ("user", "what"),
    [
        (node("CumSum", "x n", "y", name="/sums"), "'CumSum' node: expected an axis"),
    ],
    ids=["CumSum"],
)
def test_numbers_that_are_open(user: NodeProto, what: str) -> None:
    m = model([node("Shape", "x", "n", start=0, end=1), user], [value("x", FLOAT, ["batch", 4])], ["y"])
    expected = f"{what} that is known at import, found batch; fix dynamic sizes with `shapes=`"
    assert errors(m) == [f"net:/sums: error: {expected}"]
    assert function(m, shapes={"batch": 1}) is not None


def test_names_and_places() -> None:
    main = function(dense())
    assert argument_names(main) == ["x"]
    assert [str(op.location) for op in main.body.block.ops][1:3] == [
        'loc("net:/fc/Gemm":0:0)',
        'loc("net:/act":0:0)',
    ]
    assert 'relex.dims = ["batch", ""]' in str(main)


@pytest.mark.parametrize("shapes", [{"batch": 2}, {"x": (2, 4)}])
def test_shapes_close_sizes(shapes: Any) -> None:
    assert str(function(dense(), shapes=shapes).function_type.inputs.data[0]) == "tensor<2x4xf32>"


@pytest.mark.parametrize(
    ("shapes", "expected"),
    [
        ({"y": 2}, "'shapes' expected names among batch, x, found y"),
        ({"x": (2, 5)}, "net:x: error: input: expected a shape like (batch, 4) in 'shapes', found (2, 5)"),
        ({"batch": -1}, f"net:x: error: input: expected sizes from 0 to {2**57}, found -1"),
        ({"batch": 2**60}, f"net:x: error: input: expected sizes from 0 to {2**57}, found {2**60}"),
    ],
)
def test_shapes_that_do_not_fit(shapes: Any, expected: str) -> None:
    with pytest.raises(RelexError) as caught:
        from_onnx(dense(), shapes=shapes)
    assert str(caught.value) == expected


def test_open_batch_compiled() -> None:
    main = build(from_onnx(dense()))["main"]
    weight = numpy_helper.to_array(WEIGHT)
    for batch in (1, 3):
        x = np.linspace(-1, 1, batch * 4, dtype=np.float32).reshape(batch, 4)
        np.testing.assert_allclose(main(x), np.maximum(x @ weight.T, 0), rtol=1e-6)


def test_shape_computation_on_open_sizes() -> None:
    """`x.reshape(x.shape[0], 2, x.shape[1] // 2)` and back, as exporters write it."""
    nodes = [
        node("Shape", "x", "s"),
        node("Gather", "s zero", "n"),
        node("Gather", "s one", "c"),
        node("Div", "c two", "half"),
        node("Unsqueeze", "n axes", "n1"),
        node("Unsqueeze", "half axes", "half1"),
        node("Concat", "n1 twos half1", "to", axis=0),
        node("Reshape", "x to", "r"),
        node("Transpose", "r", "t", perm=[0, 2, 1]),
        node("Concat", "n1 minus", "back", axis=0),
        node("Reshape", "t back", "y"),
    ]
    scalars = {"zero": 0, "one": 1, "two": 2, "axes": [0], "twos": [2], "minus": [-1]}
    constants = [numpy_helper.from_array(np.array(v, np.int64), name) for name, v in scalars.items()]
    m = model(nodes, [value("x", FLOAT, ["n", 6])], ["y"], constants)
    x = np.arange(12, dtype=np.float32).reshape(2, 6)
    np.testing.assert_array_equal(run(m, x), x.reshape(2, 2, 3).transpose(0, 2, 1).reshape(2, 6))


def test_values_freeze_inputs() -> None:
    m = model([node("CumSum", "x axis", "y")], [value("x", FLOAT, [2, 3]), value("axis", INT64, [])], ["y"])
    x = np.ones((2, 3), np.float32)
    assert run(m, x, values={"axis": 0})[1].tolist() == [2, 2, 2]
    (message,) = errors(m)
    assert message == (
        "net:CumSum_0: error: 'CumSum' node: expected an axis, known at import, found a tensor of the program; "
        "'values' freezes an input, and 'shapes' fixes sizes"
    )


def test_all_problems_at_once(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    nodes = [
        node("RandomNormalLike", "x", "a", name="/noise"),
        node("Relu", "a", "b", name="/between"),
        node("NoSuch", "b", "c", name="/unknown"),
        node("Pad", "x pads", "d", name="/pad", mode="around"),
        node("Add", "c d", "y", name="/add"),
    ]
    pads = numpy_helper.from_array(np.array([1, 1, 1, 1]), "pads")
    m = model(nodes, [value("x", FLOAT, [2, 4])], ["y"], [pads], checked=False)
    path = tmp_path / "model.onnx"
    path.write_bytes(m.SerializeToString())
    assert relex_opt([str(path), "--report-unsupported"]) == 1
    lines = capfd.readouterr().err.splitlines()
    assert [line.removeprefix(str(path)) for line in lines] == [
        ":/noise: error: 'RandomNormalLike' node: random numbers",
        ":/unknown: error: 'NoSuch' node: no such operator in version 17",
        ":/pad: error: 'Pad' node attribute 'mode': expected constant, reflect, edge or wrap, found around",
    ]


def test_tools_take_models(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "model.onnx"
    path.write_bytes(dense().SerializeToString())
    np.save(tmp_path / "x.npy", np.ones((1, 4), np.float32))
    assert relex_run([str(path), "--input", str(tmp_path / "x.npy"), "--output", str(tmp_path / "y.npy")]) == 0
    np.testing.assert_array_equal(np.load(tmp_path / "y.npy"), [[6, 22, 38]])
    assert relex_opt([str(path), "-p", "legalize-ops", "--report-unsupported"]) == 0
    assert "everything is supported" in capfd.readouterr().out
    assert build(path)["main"](np.ones((2, 4), np.float32)).shape == (2, 3)


@pytest.fixture
def reshaping(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A model in the current folder, with dynamic sizes and an input that is a shape."""
    m = model(
        [node("Reshape", "x shape", "y")],
        [value("x", FLOAT, ["batch", "seq", 4]), value("shape", INT64, [2])],
        ["y"],
    )
    monkeypatch.chdir(tmp_path)
    Path("model.onnx").write_bytes(m.SerializeToString())
    np.save("shape.npy", np.array([6, 4]))
    np.save("x.npy", np.ones((2, 3, 4), np.float32))


@pytest.mark.usefixtures("reshaping")
@pytest.mark.parametrize(
    ("options", "x", "y"),
    [
        ("--shapes batch=2,seq=3 --values shape=6,4", "tensor<2x3x4xf32>", "tensor<6x4xf32>"),
        ("--shapes batch=2 --shapes seq=3 --values shape=shape.npy", "tensor<2x3x4xf32>", "tensor<6x4xf32>"),
        ("--shapes x=2x3x4 --values shape=[6,4]", "tensor<2x3x4xf32>", "tensor<6x4xf32>"),
        ("--shapes x=2x?x4 --values shape=-1,4", 'tensor<2x?x4xf32> {relex.dims = ["", "seq", ""]}', "tensor<?x4xf32>"),
        (
            "--shapes x=?x?x4,seq=3 --values shape=-1,4",
            'tensor<?x3x4xf32> {relex.dims = ["batch", "", ""]}',
            "tensor<?",
        ),
    ],
)
def test_sizes_and_values_on_the_command_line(options: str, x: str, y: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert relex_opt(["model.onnx", *options.split()]) == 0
    assert f"@main(%x: {x}) -> {y}" in capfd.readouterr().out
    assert relex_run(["model.onnx", *options.split(), "--input", "x.npy", "--output", "y.npy"]) == 0
    np.testing.assert_array_equal(np.load("y.npy"), np.ones((6, 4)))


@pytest.mark.usefixtures("reshaping")
@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ("--shapes batch:2", "expected --shapes with NAME=4 or NAME=1x3x224x224, found 'batch:2'"),
        ("--shapes x=2xsx4", "expected --shapes with NAME=4 or NAME=1x3x224x224, found 'x=2xsx4'"),
        ("--shapes batch=1,batch=2", "expected each name once in --shapes, found batch, batch"),
        ("--shapes x=2x3 --values shape=6,4", "expected a shape like (batch, seq, 4) in 'shapes', found (2, 3)"),
        ("--shapes n=3", "'shapes' expected names among batch, seq, shape, x, found n"),
        ("--values shape", "expected --values with NAME=VALUE, found 'shape'"),
        ("--values shape=a.npz", "expected --values with an .npy file, a number, or numbers like 1,8, found"),
        ("--values shape=none.npy", "cannot read 'none.npy': No such file or directory"),
        ("--values shape=1.5,4", "expected elements of int64 in 'values', found float64"),
        ("--values y=3", "'values' expected names among batch, seq, shape, x, found y"),
    ],
)
def test_wrong_sizes_and_values_on_the_command_line(
    options: str, expected: str, capfd: pytest.CaptureFixture[str]
) -> None:
    for tool in (relex_opt, relex_run):
        assert tool(["model.onnx", *options.split()]) == 1
        assert expected in capfd.readouterr().err


def test_without_the_package(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "model.onnx").write_bytes(b"")
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(RelexError, match=r"pip install \"relex-compiler\[onnx\]\""):
        build(tmp_path / "model.onnx")


@pytest.mark.parametrize(
    ("nodes", "expected"),
    [
        ([node("Relu", "missing", "y")], "missing"),
        ([node("Relu", "b", "a"), node("Relu", "a", "b"), node("Relu", "a", "y")], "topologically sorted"),
        ([node("Relu", "x", "y"), node("Relu", "x", "y")], "y"),
        ([node("Relu", "x x", "y")], "Relu"),
        ([node("Add", "x whole", "y")], "f32 and i64"),
        ([node("Concat", "x x", "y", axis=7)], "axis"),
        ([node("Conv", "x x", "y")], "Conv_0"),
    ],
)
def test_wrong_graphs(nodes: Sequence[NodeProto], expected: str) -> None:
    """Each is one error with a place."""
    whole = numpy_helper.from_array(np.ones(4, np.int64), "whole")
    m = model(nodes, [value("x", FLOAT, ["batch", 4])], ["y"], [whole], checked=False)
    (message, *_) = errors(m)
    assert message.startswith("net")
    assert expected in "\n".join(errors(m))


def test_files_that_are_no_models(tmp_path: Path) -> None:
    data = dense().SerializeToString()
    for damaged in (b"", b"\0", data[: len(data) // 2], b"\xff" * 50, b"not a model"):
        path = tmp_path / "damaged.onnx"
        path.write_bytes(damaged)
        assert errors(path)[0].startswith(f"{path}: error: ")
        assert relex_run([str(path)]) == 1
    with pytest.raises(RelexError, match="No such file"):
        from_onnx(tmp_path / "absent.onnx")


def test_mutated_bytes_never_crash() -> None:
    """Whatever is in a file, there is a module or a `RelexError`."""
    data = bytearray(dense().SerializeToString())
    random = np.random.default_rng(0)
    for _ in range(150):
        changed = bytearray(data)
        for place in random.integers(0, len(data), 3):
            changed[place] = random.integers(0, 256)
        try:
            from_onnx(bytes(changed))
        except RelexError:
            pass


def test_functions_of_the_model() -> None:
    double = helper.make_function(
        "mine", "Scale", ["a"], ["b"],
        [helper.make_node("Constant", [], ["k"], value_float=2.0), helper.make_node("Mul", ["a", "k"], ["b"])],
        [helper.make_opsetid("", 17)],
    )  # fmt: skip
    nodes = [node("Scale", "x", "y", name="/scale", domain="mine")]
    m = model(nodes, [value("x", FLOAT, ["n"])], ["y"], functions=[double])
    np.testing.assert_array_equal(run(m, np.ones(3, np.float32)), [2, 2, 2])
    assert "/scale/Mul_1" in str([op.location for op in function(m).body.block.ops])


def test_functions_that_call_themselves() -> None:
    recursive = helper.make_function(
        "mine", "Again", ["a"], ["b"],
        [helper.make_node("Again", ["a"], ["b"], domain="mine")],
        [helper.make_opsetid("mine", 1)],
    )  # fmt: skip
    m = model(
        [node("Again", "x", "y", domain="mine")], [value("x", FLOAT, [1])], ["y"], functions=[recursive], checked=False
    )
    assert "must not be recursive" in errors(m)[0]


def external(location: str, **entries: int) -> TensorProto:
    """A tensor of 3 x 4 whose data is in another file."""
    tensor = TensorProto(name="weight", dims=[3, 4], data_type=FLOAT, data_location=TensorProto.EXTERNAL)
    for key, entry in {"location": location, **entries}.items():
        tensor.external_data.add(key=key, value=str(entry))
    return tensor


def save_external(folder: Path, tensor: TensorProto) -> Path:
    folder.mkdir(exist_ok=True)
    m = dense()
    m.graph.initializer[0].CopyFrom(tensor)
    path = folder / "model.onnx"
    path.write_bytes(m.SerializeToString())
    return path


def test_external_data(tmp_path: Path) -> None:
    folder = tmp_path / "model"
    path = save_external(folder, external("weight.bin", offset=16, length=48))
    (folder / "weight.bin").write_bytes(bytes(16) + np.arange(12, dtype=np.float32).tobytes())
    result = build(path)["main"](np.ones((1, 4), np.float32))
    np.testing.assert_array_equal(result, [[6, 22, 38]])


@pytest.mark.parametrize(
    ("location", "entries", "expected"),
    [
        ("../secret.bin", {}, "expected data in the folder of the model"),
        ("/etc/passwd", {}, "expected data in the folder of the model"),
        ("link.bin", {}, "expected data in the folder of the model"),
        ("absent.bin", {}, "found none of this name"),
        ("short.bin", {}, "expected 48 bytes"),
        ("short.bin", {"offset": -8}, "expected 48 bytes"),
        ("short.bin", {"length": 8}, "expected 48 bytes"),
    ],
)
def test_external_data_that_is_refused(tmp_path: Path, location: str, entries: dict[str, int], expected: str) -> None:
    (tmp_path / "secret.bin").write_bytes(bytes(48))
    path = save_external(tmp_path / "model", external(location, **entries))
    (path.parent / "short.bin").write_bytes(bytes(8))
    (path.parent / "link.bin").symlink_to(tmp_path / "secret.bin")
    (message, *_) = errors(path)
    assert message.startswith(f"{path}:weight: error: ")
    assert expected in message


def test_no_more_memory_than_the_file_justifies() -> None:
    """Sizes that a file merely states are no reason to allocate anything."""
    huge = TensorProto(name="weight", dims=[1 << 20, 1 << 20], data_type=FLOAT, raw_data=bytes(48))
    m = dense()
    m.graph.initializer[0].CopyFrom(huge)
    assert "expected 4398046511104 bytes of data for shape 1048576x1048576, found 48" in errors(m)[0]
    shape = numpy_helper.from_array(np.array([1 << 20, 1 << 20]), "shape")
    filled = model([node("ConstantOfShape", "shape", "y")], [], ["y"], [shape])
    assert "broadcast_to" in str(from_onnx(filled))
    limits = [numpy_helper.from_array(np.array(v), n) for n, v in {"a": 0, "b": 1 << 40, "c": 1}.items()]
    assert "expected a range of" in errors(model([node("Range", "a b c", "y")], [], ["y"], limits))[0]


@pytest.mark.parametrize("elem_type", [TensorProto.INT4, TensorProto.UINT4, TensorProto.INT2, TensorProto.UINT2])
def test_packed_weights(elem_type: int) -> None:
    """Weights of 4 bits are packed in files, an odd number of them too, and have a byte each in the program."""
    dtype = helper.tensor_dtype_to_np_dtype(elem_type)
    low, high = ml_dtypes.iinfo(dtype).min, ml_dtypes.iinfo(dtype).max
    numbers = np.arange(15).reshape(5, 3) % (high - low + 1) + low
    weight = numpy_helper.from_array(numbers.astype(dtype), "weight")
    assert len(weight.raw_data) < 15
    scale = numpy_helper.from_array(np.array([0.5, 0.25, 2], np.float32), "scale")
    m = model(
        [node("DequantizeLinear", "weight scale", "w", axis=1), node("MatMul", "x w", "y")],
        [value("x", FLOAT, ["n", 5])],
        ["y"],
        [weight, scale],
        version=25,
    )
    x = np.linspace(-1, 1, 10, dtype=np.float32).reshape(2, 5)
    expected = x @ (numbers * np.array([0.5, 0.25, 2], np.float32)).astype(np.float32)
    np.testing.assert_allclose(run(m, x), expected, rtol=1e-6)
    np.testing.assert_allclose(build(from_onnx(m))["main"](x), expected, rtol=1e-5)


def test_branches_on_data() -> None:
    def branch(operator: str) -> onnx.GraphProto:
        return helper.make_graph([helper.make_node(operator, ["x"], ["r"])], operator, [], [value("r", FLOAT, [3])])

    choice = node("If", "c", "y", then_branch=branch("Neg"), else_branch=branch("Abs"))
    m = model([choice], [value("x", FLOAT, [3]), value("c", TensorProto.BOOL, [])], ["y"])
    x = np.array([-1, 2, 3], np.float32)
    np.testing.assert_array_equal(run(m, x, np.array(True)), -x)
    np.testing.assert_array_equal(run(m, x, np.array(False)), abs(x))


@pytest.mark.parametrize("version", range(7, 29))
def test_versions(version: int) -> None:
    """Every version of the standard's operators is taken: a softmax over two dimensions, before 13 and after."""
    nodes = [node("Softmax", "x", "s", axis=1), node("Squeeze", "s", "y", axes=[0])]
    constants: list[TensorProto] = []
    if version >= 13:
        nodes[1] = node("Squeeze", "s axes", "y")
        constants = [numpy_helper.from_array(np.array([0]), "axes")]
    m = model(nodes, [value("x", FLOAT, [1, 2, 3])], ["y"], constants, version=version)
    x = np.arange(6, dtype=np.float32).reshape(1, 2, 3)
    powers = np.exp(x - x.max())
    total = powers.sum() if version < 13 else powers.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(run(m, x), (powers / total)[0], rtol=1e-6)


def test_old_versions_are_converted() -> None:
    m = model([node("Relu", "x", "y")], [value("x", FLOAT, [3])], ["y"], version=6)
    np.testing.assert_array_equal(run(m, np.array([-1, 0, 2], np.float32)), [0, 0, 2])
