"""The contenders, one small file each.

A contender is an object `Backend` in a module of this package, and an entry in `CONTENDERS`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatch
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
    cut: Mapping[str, str] | None = None
    """The environment variables that keep it to AVX2 where there is AVX-512, None if nothing does."""
    uncut: Sequence[str] = ()
    """Patterns of the rows in which they do not keep it to that."""

    @property
    def version(self) -> str | None:
        """The installed version, None if not installed."""
        try:
            return version(self.package)
        except PackageNotFoundError:
            return None

    def takes(self, row: str, is_file: bool, features: str) -> bool:
        """Return whether a row is measured: one that it can read, and be kept to some features in."""
        return (self.reads_onnx or not is_file) and not (features and any(fnmatch(row, name) for name in self.uncut))

    def load(self) -> Backend:
        """Import the backend."""
        module, _, name = self.place.partition(":")
        return getattr(import_module(f"{__name__}.{module}"), name)


AVX2 = "avx2"
AVX2_CPU = "haswell"
"""LLVM's name of the processor that programs are compiled for without AVX-512."""
CPU_VARIABLE = "RELEX_CPU"
"""`relex.dialects.target.features.VARIABLE`, without importing relex in the processes of others."""

NUMPY_CUT = {
    # NumPy's own loops, by their names in its versions, and the products of OpenBLAS.
    "NPY_DISABLE_CPU_FEATURES": "AVX512F AVX512CD AVX512_SKX AVX512_CLX AVX512_CNL AVX512_ICL AVX512_SPR X86_V4",
    "OPENBLAS_CORETYPE": "Haswell",
}
TORCH_CUT = {"ONEDNN_MAX_CPU_ISA": "AVX2", "ATEN_CPU_CAPABILITY": "avx2", "MKL_ENABLE_INSTRUCTIONS": "AVX2"}
RELEX_CUT = {CPU_VARIABLE: AVX2_CPU}
# Without the second flag, YNNPACK computes products with AVX-512, whatever the first says.
JAX_CUT = {"XLA_FLAGS": "--xla_cpu_max_isa=AVX2 --xla_cpu_experimental_ynn_fusion_type="}
OPENVINO_CUT = {"OV_CPU_MAX_ISA": "avx2", "ONEDNN_MAX_CPU_ISA": "AVX2"}
# Its copy of MLAS computes products with constant weights and takes all that the processor has.
OPENVINO_UNCUT = ("MLP*", "transformer*", "BERT*", "GPT*", "dense*constant")

CONTENDERS = {
    contender.title: contender
    for contender in (
        Contender("relex", "relex-compiler", "in_relex:RELEX", reads_onnx=True, cut=RELEX_CUT),
        Contender("NumPy", "numpy", "in_numpy:NUMPY", cut=NUMPY_CUT),
        Contender("ONNX Runtime", "onnxruntime", "in_onnx:ONNX_RUNTIME", reads_onnx=True),
        Contender("OpenVINO", "openvino", "in_onnx:OPENVINO", reads_onnx=True, cut=OPENVINO_CUT, uncut=OPENVINO_UNCUT),
        Contender("PyTorch", "torch", "in_torch:EAGER", cut=TORCH_CUT),
        Contender("PyTorch compiled", "torch", "in_torch:COMPILED", cut=TORCH_CUT),
        Contender("JAX", "jax", "in_jax:JAX", cut=JAX_CUT),
        Contender("TVM", "apache-tvm", "in_tvm:DEFAULT", cut=RELEX_CUT),
        Contender("TVM fusing", "apache-tvm", "in_tvm:FUSING", cut=RELEX_CUT),
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


def limit_features() -> None:
    """Keep the libraries of this process's children to AVX2, those that can be kept to it."""
    for contender in CONTENDERS.values():
        os.environ.update(contender.cut or {})
