"""Functions compiled by `torch.compile` in tests."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

import pytest


def compiled(function: Callable[..., Any], **settings: Any) -> Callable[..., Any]:
    """Compile a function by relex, which leaves to torch what it lacks."""
    from relex.frontend.torch.dynamo import relex

    return import_module("torch").compile(function, backend=relex, **settings)


def compiled_alone(function: Callable[..., Any], **settings: Any) -> Callable[..., Any]:
    """Compile a function by relex, without a graph that torch runs itself: an error of relex is an error of the
    call."""
    backend: Any = import_module("relex.frontend.torch.dynamo")

    def compile_graph(graph: Any, inputs: Any) -> Any:
        return backend.compile_graph(graph, inputs)

    return import_module("torch").compile(function, backend=compile_graph, **settings)


def messages(caplog: pytest.LogCaptureFixture) -> list[str]:
    """Return what relex has logged in the test, also for a fixture that asks when it is over: torch logs much more."""
    return [record.getMessage() for record in caplog.get_records("call") if record.name == "relex.torch"]
