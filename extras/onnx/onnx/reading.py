"""Entry points for ONNX files: the functions that users and tools call, before the package `onnx` is imported."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from relex.dialects.errors import expect_kind
from relex.dialects.readers import bytes_of
from relex.frontend.importing import expect_package

if TYPE_CHECKING:
    from onnx import ModelProto
    from xdsl.dialects.builtin import ModuleOp

Shape = Sequence[int | str | None]

Shapes = Mapping[str, Shape | Sequence[Shape] | int]
"""The shapes of inputs, by their names, and the sizes that stand for names of sizes. None stands for a size that stays
as the model declares it. A sequence has a shape for each element, or a number of elements."""


def from_onnx(
    model: str | PathLike[str] | bytes | ModelProto,
    shapes: Shapes | None = None,
    values: Mapping[str, Any] | None = None,
) -> ModuleOp:
    """Return the module for an ONNX model: the path of a file, its bytes, or a `ModelProto`.

    The graph becomes the function `main`, whose arguments have the names of the graph's inputs. Sizes that the model
    names stay dynamic; `shapes` fixes them, by the name of a size, or of an input: `{"batch": 1}`,
    `{"x": (1, 3, 8, 8)}`. `values` gives inputs that become constants. Each element of a sequence is an argument or a
    result: `{"s": 2}` in `shapes` says how many there are.

    Raises `CompileError` with everything that cannot be imported, and `RelexError` for a file that cannot be read.
    """
    expect_package("onnx", "ONNX models")
    from onnx import ModelProto

    from relex.frontend.onnx.model import import_model, read_model

    shapes, values = shapes or {}, values or {}
    if isinstance(model, ModelProto):
        return import_model(model, model.graph.name or "model", None, shapes, values)
    if isinstance(model, bytes):
        return import_model(read_model(model, "<bytes>"), "<bytes>", None, shapes, values)
    expect_kind(model, str | PathLike, "the path of an ONNX file, its bytes or a model")
    path = Path(model)
    # The bytes are not kept: `read_model` copies them.
    return import_model(read_model(bytes_of(path), str(path)), str(path), path.parent, shapes, values)


def read_onnx(
    data: bytes, name: str = "<bytes>", *, shapes: Shapes | None = None, values: Mapping[str, Any] | None = None
) -> ModuleOp:
    """Read the bytes of an ONNX file, as the tools do. Data beside it is in the folder of the file `name`. `shapes` and
    `values` are as in `from_onnx`."""
    expect_package("onnx", "ONNX models")
    from relex.frontend.onnx.model import import_model, read_model

    folder = Path(name).parent if Path(name).is_file() else None
    model = read_model(data, name)
    # It has a copy of the weights, and the import makes another.
    del data
    return import_model(model, name, folder, shapes or {}, values or {})
