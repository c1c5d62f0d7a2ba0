"""ONNX models as modules: `from_onnx`, and the open table of what the operators become."""

from __future__ import annotations

from typing import TYPE_CHECKING

from relex.lazy import lazy_exports

if TYPE_CHECKING:
    from relex.frontend.graph_expressions import Operand as Operand
    from relex.frontend.onnx.import_table import imports as imports
    from relex.frontend.onnx.node import OnnxNode as OnnxNode
    from relex.frontend.onnx.reading import from_onnx as from_onnx
    from relex.frontend.onnx.reading import read_onnx as read_onnx
    from relex.frontend.onnx.values import Computed as Computed
    from relex.frontend.onnx.values import Known as Known
    from relex.frontend.onnx.values import Tensor as Tensor
    from relex.frontend.onnx.values import refuse as refuse
else:
    __getattr__, __dir__, __all__ = lazy_exports(__name__)
