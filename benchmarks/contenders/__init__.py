"""Who takes part: one small file each.

A contender is an object `Backend` in a module of this package, and an entry in `CONTENDERS`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from benchmarks.arrays import Array
from benchmarks.rows import Row

Weights = Mapping[str, Array]
Compiled = Callable[..., Any]
"""Takes NumPy arrays, one for each input of a row, and returns one."""


def as_it_is(row: Row, weights: Weights) -> Any:
    return row, weights


@dataclass(frozen=True)
class Backend:
    """How to get from a row to a function.

    `write` makes what one would keep in a file: text, a saved model, or, where a model is a Python program, the row
    itself. It is not measured, and what it returns can be pickled. `compile` makes a function of that.
    """

    compile: Callable[[Any], Compiled]
    write: Callable[[Row, Weights], Any] = as_it_is


@dataclass(frozen=True)
class Contender:
    title: str
    package: str
    """What pip calls it."""
    place: str
    """The module of this package, and the name of a `Backend` in it."""

    @property
    def version(self) -> str | None:
        """None where it is not installed."""
        try:
            return version(self.package)
        except PackageNotFoundError:
            return None

    def load(self) -> Backend:
        module, _, name = self.place.partition(":")
        return getattr(import_module(f"{__name__}.{module}"), name)


CONTENDERS = {
    contender.title: contender
    for contender in (
        Contender("relex", "relex-compiler", "in_relex:RELEX"),
        Contender("NumPy", "numpy", "in_numpy:NUMPY"),
        Contender("ONNX Runtime", "onnxruntime", "in_onnx:ONNX_RUNTIME"),
        Contender("OpenVINO", "openvino", "in_onnx:OPENVINO"),
        Contender("PyTorch", "torch", "in_torch:EAGER"),
        Contender("PyTorch compiled", "torch", "in_torch:COMPILED"),
        Contender("JAX", "jax", "in_jax:JAX"),
        Contender("TVM", "apache-tvm", "in_tvm:DEFAULT"),
        Contender("TVM fusing", "apache-tvm", "in_tvm:FUSING"),
    )
}
"""All contenders by title, in the order of the tables."""


def limit_threads(count: int) -> None:
    """Tell the libraries of this process, and of those that it starts, how many threads to use. Some listen only when
    they are imported."""
    for library in ("OMP", "OPENBLAS", "MKL", "NUMEXPR", "VECLIB_MAXIMUM", "TVM", "RELEX"):
        os.environ[f"{library}_NUM_THREADS"] = str(count)


def thread_limit() -> int:
    return int(os.environ["OMP_NUM_THREADS"])
