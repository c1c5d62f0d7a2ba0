"""`tvm.topi`: the operators as tensor expressions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from relex.frontend import topi

nn = topi


def __getattr__(name: str) -> Callable[..., Any]:
    return getattr(topi, name)


def __dir__() -> list[str]:
    return dir(topi)
