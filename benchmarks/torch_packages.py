"""Imports PyTorch, packages of models, and what compiles them: processes that examine models begin with these."""

from __future__ import annotations

from importlib import import_module
from typing import Any

USED = (
    "torch._dynamo",
    "torch._inductor.compile_fx",
    "torch.export",
    "timm",
    "transformers",
    "relex.frontend.torch.dynamo",
    "relex.frontend.torch.program",
    "relex.runtime.compilation",
)


def _same(x: Any) -> Any:
    return x


def import_torchvision() -> None:
    """Import torchvision, also where its operators in C++ do not fit the version of PyTorch."""
    library: Any = import_module("torch.library")
    register = library.register_fake

    def registered(name: Any, *others: Any, **options: Any) -> Any:
        if isinstance(name, str) and name.startswith("torchvision::"):
            return _same
        return register(name, *others, **options)

    library.register_fake = registered
    try:
        import_module("torchvision")
    finally:
        library.register_fake = register


def import_all() -> None:
    """Import all of them."""
    import_torchvision()
    for name in USED:
        import_module(name)


import_all()
