"""Settings for all tests with PyTorch."""

from importlib import import_module
from importlib.util import find_spec

import pytest


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
