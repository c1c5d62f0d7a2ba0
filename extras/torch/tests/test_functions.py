"""Functions of numbers, element by element: digits, ranges and special numbers."""

from __future__ import annotations

import logging
from collections.abc import Callable
from math import inf, nan
from typing import Any

import numpy as np
import pytest
from compiling import compiled

torch: Any = pytest.importorskip("torch", reason="PyTorch is not installed; make torch installs it")
functional: Any = torch.nn.functional
pytestmark = [
    pytest.mark.usefixtures("fresh"),
    pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning", "ignore::UserWarning"),
]


FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    **{name: getattr(torch, name) for name in ("erfc", "exp2", "expm1", "log10", "log1p", "log2", "sign")},
    **{name: getattr(functional, name) for name in ("celu", "elu", "hardshrink", "hardswish", "leaky_relu")},
    **{name: getattr(functional, name) for name in ("logsigmoid", "mish", "selu", "softplus", "softshrink")},
    "gelu": lambda x: functional.gelu(x, approximate="tanh"),
    "threshold": lambda x: functional.threshold(x, 0.2, 20.0),
    "softplus beside a threshold": lambda x: functional.softplus(x, 2.0, 1.0),
    "hypot": lambda x: torch.hypot(x, x.flip(0)),
    "lerp": lambda x: torch.lerp(x, x.flip(0), 0.75),
    "logit": lambda x: torch.logit(x, 0.01),
    "round": lambda x: torch.round(x, decimals=-1),
}

SIZES = [
    0.0,
    1e-30,
    1e-9,
    1e-4,
    0.1,
    0.5,
    1.0,
    1.5,
    3.0,
    8.0,
    10.0,
    20.0,
    35.0,
    64.0,
    88.5,
    1e3,
    1e10,
    1e25,
    inf,
]
NUMBERS = [*SIZES, *(-size for size in SIZES), nan, nan]


def results(dtype: Any) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    """Return what relex makes of numbers of a type, what torch makes of them, and of the same numbers in f64."""

    def every(x: Any) -> Any:
        return {name: function(x) for name, function in FUNCTIONS.items()}

    x = torch.tensor(NUMBERS, dtype=torch.float64).to(dtype)
    return compiled(every)(x), every(x), every(x.double())


@pytest.mark.parametrize("name", ["float32", "float64", "float16", "bfloat16"])
def test_functions_have_the_digits_of_their_type(name: str, caplog: pytest.LogCaptureFixture) -> None:
    dtype = getattr(torch, name)
    with caplog.at_level(logging.WARNING, "relex.torch"):
        found, eager, exact = results(dtype)
    assert not [record for record in caplog.records if record.name == "relex.torch"]
    info = torch.finfo(dtype)
    for function in FUNCTIONS:
        a, b, c = (given[function].double().numpy() for given in (found, eager, exact))
        np.testing.assert_array_equal(np.isnan(a), np.isnan(b), function)
        is_number = np.isfinite(c) & (abs(c) <= info.max)
        # Torch's own f64 is off by some units, too. The hyperbolic form of gelu loses digits where it is small.
        smallest = 1 if function == "gelu" else info.smallest_normal
        units = (6 if dtype is torch.float64 else 4) * np.maximum(abs(c), smallest)
        assert (abs(a[is_number] - c[is_number]) <= (info.eps * units)[is_number]).all(), function
        with np.errstate(over="ignore"):
            rounded = exact[function].to(dtype).double().numpy()
        np.testing.assert_array_equal(a[~is_number], rounded[~is_number], function)


def test_powers_have_exact_logarithms() -> None:
    x = 2.0 ** torch.arange(-140, 128)
    assert torch.equal(compiled(torch.log2)(x), torch.arange(-140.0, 128.0))
    assert torch.equal(compiled(torch.exp2)(torch.arange(-140.0, 128.0)), x)
