"""The values of an imported ONNX graph: tensors, sequences, and missing ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

from relex.frontend.importing.graph_importer import Missing as Missing
from relex.frontend.importing.values import Computed as Computed
from relex.frontend.importing.values import Known as Known
from relex.frontend.importing.values import Tensor as Tensor
from relex.frontend.importing.values import Unsupported as Unsupported
from relex.frontend.importing.values import element_type_of as element_type_of
from relex.frontend.importing.values import refuse as refuse


class Items:
    """A sequence of tensors: how many there are is known at import."""

    def __init__(self, values: Sequence[Tensor], element_type: Any = None):
        self.values = tuple(values)
        self.element_type = element_type


class Empty:
    """An optional value that is absent."""


AnyValue: TypeAlias = Known | Computed | Items | Missing | Empty


def tensors_in(value: AnyValue) -> Sequence[Tensor]:
    """Return the tensors of a value: one, the elements of a sequence, or none."""
    if isinstance(value, Items):
        return value.values
    return [value] if isinstance(value, Known | Computed) else []
