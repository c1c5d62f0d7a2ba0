"""`tvm.topi`: the operators as tensor expressions."""

from __future__ import annotations

from relex.frontend import topi as nn
from relex.frontend.topi import __dir__ as __dir__
from relex.frontend.topi import __getattr__ as __getattr__

__all__ = ["nn"]
