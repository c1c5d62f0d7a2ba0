"""Settings for all tests with PyTorch."""

import logging
from collections.abc import Generator
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import pytest
from compiling import messages


@pytest.fixture(autouse=True, scope="session")
def one_thread() -> None:
    """Keep torch's other threads from waiting busily: all tensors are small."""
    if find_spec("torch") is not None:
        import_module("torch").set_num_threads(1)


@pytest.fixture(autouse=True)
def seeded() -> None:
    """Draw the same numbers in every run: of all weights, some make a network that multiplies an error of rounding."""
    if find_spec("torch") is not None:
        import_module("torch").manual_seed(0)


@pytest.fixture
def fresh() -> Generator[None]:
    """Compile each function anew, without gradients."""
    torch, dynamo = import_module("torch"), import_module("torch._dynamo")
    dynamo.reset()
    no_grad: Any = torch.no_grad()
    with no_grad:
        yield
    dynamo.reset()


@pytest.fixture
def all_by_relex(caplog: pytest.LogCaptureFixture) -> Generator[None]:
    """Expect that no graph of the test is left to torch."""
    with caplog.at_level(logging.WARNING, "relex.torch"):
        yield
    assert messages(caplog) == []
