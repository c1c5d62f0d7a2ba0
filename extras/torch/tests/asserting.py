"""Functions with assertions, which pytest would rewrite in a file of tests."""

from __future__ import annotations

from importlib import import_module
from typing import Any

torch: Any = import_module("torch")


def positive(x: Any) -> Any:
    assert (x > 0).all(), "expected positive numbers"
    return x.log()


def finite(x: Any) -> Any:
    assert torch.isfinite(x).all()
    return x * 2


def asynchronous(x: Any) -> Any:
    torch._assert_async((x > 0).all())
    return x.log()


def of_a_number(x: Any) -> Any:
    torch._assert_async(x.sum(), "expected a sum other than zero")
    return x + 1
