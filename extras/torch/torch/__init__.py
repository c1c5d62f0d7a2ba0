"""Models of PyTorch as modules: `from_exported`, and the open table of what ATen's operators become."""

from __future__ import annotations

from typing import TYPE_CHECKING

from relex.lazy import lazy_exports

if TYPE_CHECKING:
    from relex.frontend.graph_expressions import Operand as Operand
    from relex.frontend.importing.values import Computed as Computed
    from relex.frontend.importing.values import Known as Known
    from relex.frontend.importing.values import Tensor as Tensor
    from relex.frontend.importing.values import refuse as refuse
    from relex.frontend.torch.import_table import imports as imports
    from relex.frontend.torch.node import TorchNode as TorchNode
    from relex.frontend.torch.reading import from_exported as from_exported
    from relex.frontend.torch.reading import read_exported as read_exported
    from relex.frontend.torch.reading import state_of as state_of
else:
    __getattr__, __dir__, __all__ = lazy_exports(__name__)
