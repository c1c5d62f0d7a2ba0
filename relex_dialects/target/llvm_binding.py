"""LLVM, as the package llvmlite provides it: imported when native code is made or loaded, and not before. Without the
package, programs can still be parsed, rewritten and interpreted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from relex.dialects.exceptions import MissingPackageError
from relex.lazy import import_uncollected


class _OnFirstUse:
    """A module that is imported on first use."""

    def __init__(self, name: str):
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        try:
            module = import_uncollected(self._name)
        except ImportError as e:
            raise MissingPackageError(
                f"native code needs the package llvmlite, which cannot be imported ({e}); "
                "relex.interpret runs programs without native code"
            ) from e
        value = getattr(module, attribute)
        setattr(self, attribute, value)
        return value


if TYPE_CHECKING:
    import llvmlite.binding as llvm
    from llvmlite import ir
    from xdsl.backend.llvm import convert_op as xdsl_ops
    from xdsl.backend.llvm import convert_type as xdsl_types
else:
    llvm = _OnFirstUse("llvmlite.binding")
    ir = _OnFirstUse("llvmlite.ir")
    xdsl_ops = _OnFirstUse("xdsl.backend.llvm.convert_op")
    xdsl_types = _OnFirstUse("xdsl.backend.llvm.convert_type")

__all__ = ["ir", "llvm", "xdsl_ops", "xdsl_types"]
