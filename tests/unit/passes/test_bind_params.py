"""Binding arrays to parameters."""

from __future__ import annotations

import json
import pickle
import re
from collections.abc import Sequence
from io import BytesIO
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import numpy as np
import pytest
from programs import Array

from relex.dialects import RelexError, parse_module
from relex.dialects.array_files.array_files import load_array, load_arrays
from relex.dialects.errors import DTypeError, PassError, ShapeError, UnknownNameError
from relex.passes import BindParamsPass
from relex.runtime import build

PROGRAM = """
func.func @main(%x: tensor<2x2xf32>, %w: tensor<2x2xf32>, %w_1: tensor<2x2xf32>, %unused: tensor<3xf32>)
    -> tensor<2x2xf32> {
  %y = relex.add %x, %w : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  %z = relex.multiply %y, %w_1 : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  func.return %z : tensor<2x2xf32>
}
"""
PARSED = parse_module(PROGRAM)
TWICE = """
func.func @main(%w: tensor<8xui8>) -> tensor<8xui8> {
  %y = relex.add %w, %w : (tensor<8xui8>, tensor<8xui8>) -> tensor<8xui8>
  func.return %y : tensor<8xui8>
}
"""
X, W, UNUSED = np.array([[0, 1], [2, 3]], np.float32), np.array([[1, 2], [3, 4]], np.float32), np.zeros(3, np.float32)


@pytest.mark.parametrize(
    "w",
    [W, W.T, np.repeat(W, 2, axis=1)[:, ::2], W.astype(">f4")],
    ids=["plain", "column-major", "strided", "big-endian"],
)
def test_any_layout_is_read_right(w: Array) -> None:
    module = parse_module(PROGRAM)
    before = str(module)
    ex = build(BindParamsPass(params={"w": w, "w_1": W, "unused": UNUSED})(module))
    np.testing.assert_array_equal(ex["main"](X), (X + w) * W)
    assert str(module) == before


@pytest.mark.parametrize(
    "value",
    [
        np.float64(2.5),
        np.arange(20) % 3 == 0,
        np.array([1, np.nan, -np.inf], np.float16),
        np.zeros((0, 4), np.int8),
        np.array([0x7FC00001, 0xFF800001, 0x80000000], np.uint32).view(np.float32),
    ],
    ids=["scalar", "bool", "float16", "empty", "NaN bits"],
)
def test_every_bit_is_kept(value: Any) -> None:
    types = {"float64": "f64", "bool": "20xi1", "float16": "3xf16", "int8": "0x4xi8", "float32": "3xf32"}
    t = f"tensor<{types[value.dtype.name]}>"
    module = parse_module(f"func.func @main(%x: {t}) -> {t} {{ func.return %x : {t} }}")
    found = build(BindParamsPass(params={"x": value})(module))["main"]()
    assert (found.dtype, found.shape, found.tobytes()) == (value.dtype, value.shape, value.tobytes())


WRONG: dict[str, tuple[dict[str, Any], type[RelexError], str]] = {
    "name": ({"v": W}, UnknownNameError, "@main has no parameter 'v'; its parameters are x, w, w_1, unused"),
    "shape": ({"w": W[:1]}, ShapeError, "parameter 'w': expected shape (2, 2), found (1, 2)"),
    "dtype": ({"w": W.astype(np.float16)}, DTypeError, "parameter 'w': expected elements of f32, found float16"),
    "list": ({"w": W.tolist()}, DTypeError, "parameter 'w': expected elements of f32, found float64"),
    "None": ({"w": None}, DTypeError, "parameter 'w': expected elements of f32, found object"),
    "complex": ({"w": W.astype(complex)}, DTypeError, "parameter 'w': expected elements of f32, found complex128"),
    "masked": ({"w": np.ma.masked_array(W)}, DTypeError, "parameter 'w': expected an array without a mask"),
}


@pytest.mark.parametrize("kind", WRONG)
def test_wrong_arrays(kind: str) -> None:
    params, error, message = WRONG[kind]
    with pytest.raises(error, match=re.escape(message)):
        BindParamsPass(params=params)(parse_module(PROGRAM))


def test_wrong_parameters() -> None:
    module = parse_module("""
      func.func @main(%x: tensor<?xf32>, %n: index, %y: tensor<1xf32>, %z: tensor<1xf32> {relex.name = "y"}) {
        func.return
      }
      func.func @caller(%x: tensor<?xf32>, %n: index, %y: tensor<1xf32>) {
        func.call @main(%x, %n, %y, %y) : (tensor<?xf32>, index, tensor<1xf32>, tensor<1xf32>) -> ()
        func.return
      }
    """)
    with pytest.raises(PassError, match="calls @main, so its parameters cannot be bound"):
        BindParamsPass(params={"x": UNUSED})(module)
    for op in list(module.ops)[1:]:
        op.detach()
    with pytest.raises(ShapeError, match=r"'x': expected a tensor of known shape to bind, found tensor<\?xf32>"):
        BindParamsPass(params={"x": UNUSED})(module)
    with pytest.raises(DTypeError, match="'n': expected a tensor to bind, found an argument of type index"):
        BindParamsPass(params={"n": 3})(module)
    with pytest.raises(UnknownNameError, match="@main has more than one parameter 'y'; its parameters are x, n, y, y"):
        BindParamsPass(params={"y": UNUSED[:1]})(module)


def test_damaged_files(tmp_path: Path) -> None:
    file = tmp_path / "params.npz"
    np.savez_compressed(file, w=np.arange(1000.0))
    good = file.read_bytes()
    flipped = bytes(byte ^ 255 if 100 <= i < 140 else byte for i, byte in enumerate(good))
    np.savez(file, w=np.array([{}]))
    for data in (b"", b"nonsense", good[:50], flipped, file.read_bytes()):
        file.write_bytes(data)
        for mapped in (False, True):
            with pytest.raises(RelexError, match=f"cannot read '{re.escape(str(file))}'"):
                load_arrays(file, mapped=mapped)


def mapped_arrays(arrays: dict[str, Any]) -> set[str]:
    """The names of arrays that are views of a mapped file, or of nothing that they own."""
    return {name for name, array in arrays.items() if not array.flags.writeable}


def test_archives_are_mapped(tmp_path: Path) -> None:
    """Names decide where the arrays of an archive are: some of these are at an address for floats, others are not, and
    those are read. Bytes are anywhere."""
    file = tmp_path / "params.npz"
    arrays: dict[str, Any] = {"x" * n: np.arange(7, dtype=np.float32) + n for n in range(1, 9)}
    columns = np.asfortranarray(np.arange(6, dtype=np.int8).reshape(2, 3))
    arrays |= {"bytes": np.arange(5, dtype=np.uint8), "columns": columns}
    arrays |= {"none": np.zeros((0, 4), np.int16), "one": np.array(3, np.int8), "half": np.arange(3, dtype=np.int8) > 1}
    np.savez(file, **arrays)
    found = load_arrays(file, mapped=True)
    assert list(found) == list(arrays)
    for name, array in arrays.items():
        np.testing.assert_array_equal(found[name], array, strict=True)
        assert found[name].flags.aligned
    mapped = mapped_arrays(found)
    assert {"bytes", "columns", "one", "half"} <= mapped
    assert 0 < len([name for name in mapped if name.startswith("x")]) < 8
    assert not mapped_arrays(load_arrays(file))
    np.savez_compressed(file, **arrays)
    found = load_arrays(file, mapped=True)
    assert not mapped_arrays(found)
    np.testing.assert_array_equal(found["x"], arrays["x"])


@pytest.mark.parametrize(
    "members", [("a", "a.npy"), ("a.npy", "a.npy.npy"), ("a.npy", "a.npy"), ("b.npy", "a.npy"), ("a.npy",)]
)
@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_names_that_two_members_have_are_read(members: Sequence[str], tmp_path: Path) -> None:
    file = tmp_path / "params.npz"
    with ZipFile(file, "w") as archive:
        for number, member in enumerate(members):
            contents = BytesIO()
            np.save(contents, np.full(3, number, np.int8))
            archive.writestr(member, contents.getvalue())
    read, mapped = load_arrays(file), load_arrays(file, mapped=True)
    assert read.keys() == mapped.keys()
    for name, array in read.items():
        np.testing.assert_array_equal(mapped[name], array)


def test_mapped_weights_are_arguments(tmp_path: Path) -> None:
    """A call reads a mapped weight where it is: what is written to the file afterwards is what the next call reads."""
    file = tmp_path / "params.npz"
    np.savez(file, w=np.arange(8, dtype=np.uint8))
    w = load_arrays(file, mapped=True)["w"]
    main = build(parse_module(TWICE))["main"]
    np.testing.assert_array_equal(main(w), 2 * np.arange(8, dtype=np.uint8))
    contents = file.read_bytes()
    with file.open("r+b") as stream:
        stream.seek(contents.index(bytes(range(8))))
        stream.write(bytes(range(10, 18)))
    np.testing.assert_array_equal(main(w), 2 * np.arange(10, 18, dtype=np.uint8))


def safetensors(header: object, data: bytes) -> bytes:
    """A file of the format safetensors."""
    text = json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + data


@pytest.mark.parametrize("mapped", [False, True])
def test_safetensors(mapped: bool, tmp_path: Path) -> None:
    file = tmp_path / "params.safetensors"
    w, b = np.arange(6, dtype=np.float32).reshape(2, 3), np.array([True, False])
    header = {
        "__metadata__": {"format": "pt"},
        "w": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]},
        "b": {"dtype": "BOOL", "shape": [2], "data_offsets": [24, 26]},
    }
    file.write_bytes(safetensors(header, w.tobytes() + b.tobytes()))
    arrays = load_arrays(file, mapped=mapped)
    assert arrays.keys() == {"w", "b"}
    assert arrays["w"].flags.aligned
    np.testing.assert_array_equal(arrays["w"], w)
    np.testing.assert_array_equal(arrays["b"], b)


@pytest.mark.parametrize("mapped", [False, True])
def test_safetensors_are_not_copied(mapped: bool, tmp_path: Path) -> None:
    """Headers are filled up with spaces, so that arrays are aligned."""
    text = json.dumps({"w": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}})
    text += " " * (-len(text) % 8)
    file = tmp_path / "params.safetensors"
    file.write_bytes(len(text).to_bytes(8, "little") + text.encode() + np.array([1, 2], np.float32).tobytes())
    w = load_arrays(file, mapped=mapped)["w"]
    assert w.tolist() == [1, 2]
    assert not w.flags.owndata
    assert not w.flags.writeable


@pytest.mark.parametrize("mapped", [False, True])
@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"", "expected a header"),
        (b"\xff" * 20, "expected a header of 18446744073709551615 bytes, found a file of 20"),
        (bytes(8), "expected a header in JSON"),
        (b"\2" + bytes(7) + b"{]", "expected a header in JSON"),
        (safetensors([], b""), "expected a header with the names of arrays"),
        (safetensors({"w": 3}, b""), "expected dtype, shape and data_offsets of 'w'"),
        (safetensors({"w": {"dtype": "C64", "shape": [], "data_offsets": [0, 8]}}, bytes(8)), "expected a dtype among"),
        (
            safetensors({"w": {"dtype": "F32", "shape": [1 << 40], "data_offsets": [0, 8]}}, bytes(8)),
            "expected 4398046511104 bytes for 'w', found 0 to 8 of 8",
        ),
        (
            safetensors({"w": {"dtype": "F32", "shape": [2], "data_offsets": [-8, 0]}}, bytes(8)),
            "expected 8 bytes for 'w', found -8 to 0 of 8",
        ),
    ],
)
def test_damaged_safetensors(data: bytes, expected: str, mapped: bool, tmp_path: Path) -> None:
    file = tmp_path / "params.safetensors"
    file.write_bytes(data)
    with pytest.raises(RelexError, match=re.escape(expected)) as caught:
        load_arrays(file, mapped=mapped)
    assert str(file) in str(caught.value)


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_pickles(protocol: int, tmp_path: Path) -> None:
    arrays: dict[str, Any] = {"w": W, "t": W.T, "big": W.astype(">f4"), "b": np.array([True, False]), "n": np.int64(3)}
    arrays["empty"] = np.zeros((0, 2))
    (tmp_path / "params.pkl").write_bytes(pickle.dumps({**arrays, "list": [W, UNUSED]}, protocol))
    found = load_arrays(tmp_path / "params.pkl")
    np.testing.assert_array_equal(found.pop("list")[1], UNUSED)
    assert found.keys() == arrays.keys()
    for name, array in arrays.items():
        np.testing.assert_array_equal(found[name], array, strict=True)
    (tmp_path / "w.pkl").write_bytes(pickle.dumps({"w": W, "w_1": W, "unused": UNUSED}, protocol))
    np.testing.assert_array_equal(build(BindParamsPass(file=str(tmp_path / "w.pkl"))(PARSED))["main"](X), (X + W) * W)


class Executed:
    def __reduce__(self) -> tuple[Any, ...]:
        return (print, ("executed",))


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"w": Executed()}, "expected arrays of NumPy, found builtins.print"),
        ({"w": np.array([None])}, "expected arrays of numbers, found elements of O8"),
        ([W], "expected a dictionary of arrays by name, found list"),
        ({1: W}, "expected a dictionary of arrays by name, found dict"),
        ({"w": None}, "expected arrays of NumPy, found None"),
    ],
)
def test_pickles_of_something_else(
    value: Any, expected: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "params.pkl"
    file.write_bytes(pickle.dumps(value))
    with pytest.raises(RelexError, match=rf"params\.pkl': {expected}$"):
        load_arrays(file)
    file.write_bytes(pickle.dumps(value)[:-4])
    with pytest.raises(RelexError, match=r"cannot read '.*params\.pkl': "):
        load_arrays(file)
    assert capsys.readouterr().out == ""


class Foreign:
    """A tensor of another library: DLPack and nothing else."""

    def __init__(self, array: Array):
        self._array = array

    def __dlpack__(self, **options: Any) -> Any:
        return self._array.__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self._array.__dlpack_device__()


def fail(self: Foreign, **_: Any) -> Any:
    raise BufferError("not in CPU memory")


def test_tensors_of_other_libraries(monkeypatch: pytest.MonkeyPatch) -> None:
    bound = BindParamsPass("main", {"w": Foreign(W), "w_1": Foreign(W + 1)})(PARSED)
    np.testing.assert_array_equal(build(bound)["main"](X, UNUSED), (X + W) * (W + 1))
    monkeypatch.setattr(Foreign, "__dlpack__", fail)
    with pytest.raises(
        DTypeError, match=r"parameter 'w': expected a DLPack tensor that NumPy can read, found .*Foreign: not in CPU"
    ):
        BindParamsPass("main", {"w": Foreign(W)})(PARSED)


def test_files_that_are_not_there(tmp_path: Path) -> None:
    for load in (load_array, load_arrays):
        with pytest.raises(RelexError, match=r"none': No such file or directory$"):
            load(tmp_path / "none")
        with pytest.raises(RelexError, match=r": Is a directory$"):
            load(tmp_path)


def test_what_the_pass_takes() -> None:
    module = parse_module("func.func @main() { return }")
    with pytest.raises(DTypeError, match="pass 'bind-params' expected arrays by name as 'params', found str"):
        BindParamsPass("main", "weights.npz")(module)  # pyright: ignore[reportArgumentType]
    with pytest.raises(DTypeError, match="pass 'bind-params' expected the name of a function, found dict"):
        BindParamsPass({"w": UNUSED})(module)  # pyright: ignore[reportArgumentType]
