"""The contenders, one small file each.

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
"""Takes a NumPy array for each input of a row, and returns one."""


def as_it_is(row: Row, weights: Weights) -> Any:
    """Return the row and its weights unchanged."""
    return row, weights


@dataclass(frozen=True)
class Backend:
    """Turns a row into a function.

    `write` creates what would be stored in a file: text, a saved model, or, where a model is a Python program, the row
    itself. It is not measured, and its result must be picklable. `compile` turns that into a function.
    """

    compile: Callable[[Any], Compiled]
    write: Callable[[Row, Weights], Any] = as_it_is


@dataclass(frozen=True)
class Contender:
    """A library to compare, or one way of using it."""

    title: str
    package: str
    """Its distribution name for pip."""
    place: str
    """The module in this package and the name of a `Backend` in it."""
    reads_onnx: bool = False
    """Whether it takes rows that are ONNX files."""

    @property
    def version(self) -> str | None:
        """The installed version, None if not installed."""
        try:
            return version(self.package)
        except PackageNotFoundError:
            return None

    def load(self) -> Backend:
        """Import the backend."""
        module, _, name = self.place.partition(":")
        return getattr(import_module(f"{__name__}.{module}"), name)


CONTENDERS = {
    contender.title: contender
    for contender in (
        Contender("relex", "relex-compiler", "in_relex:RELEX", reads_onnx=True),
        Contender("NumPy", "numpy", "in_numpy:NUMPY"),
        Contender("ONNX Runtime", "onnxruntime", "in_onnx:ONNX_RUNTIME", reads_onnx=True),
        Contender("OpenVINO", "openvino", "in_onnx:OPENVINO", reads_onnx=True),
        Contender("PyTorch", "torch", "in_torch:EAGER"),
        Contender("PyTorch compiled", "torch", "in_torch:COMPILED"),
        Contender("JAX", "jax", "in_jax:JAX"),
        Contender("TVM", "apache-tvm", "in_tvm:DEFAULT"),
        Contender("TVM fusing", "apache-tvm", "in_tvm:FUSING"),
    )
}
"""All contenders by title, in the order of the tables."""


def limit_threads(count: int) -> None:
    """Set the number of threads for the libraries of this process and its children. Some read it only when they are
    imported."""
    for library in ("OMP", "OPENBLAS", "MKL", "NUMEXPR", "VECLIB_MAXIMUM", "TVM", "RELEX"):
        os.environ[f"{library}_NUM_THREADS"] = str(count)


def thread_limit() -> int:
    """Return the number of threads set by `limit_threads`."""
    return int(os.environ["OMP_NUM_THREADS"])
