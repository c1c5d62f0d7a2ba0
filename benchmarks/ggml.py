"""Products with weights in blocks by ggml, the library of llama.cpp, whose functions are called by `ctypes`.

The package `llama-cpp-python` has the libraries, or the folder that the environment variable `GGML` names.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable
from ctypes import c_bool, c_char_p, c_int, c_int64, c_size_t, c_void_p
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]

TYPES = {
    "Q4_0": 2, "Q4_1": 3, "Q5_0": 6, "Q5_1": 7, "Q8_0": 8, "Q4_K": 12, "Q5_K": 13, "Q6_K": 14, "IQ4_NL": 20,
    "IQ4_XS": 23, "MXFP4": 39,
}  # fmt: skip
"""The numbers that ggml gives to layouts; it has floats of 32 bits as 0."""

_SIGNATURES: dict[str, tuple[Any, ...]] = {
    # Result, and arguments.
    "ggml_new_tensor_2d": (c_void_p, c_void_p, c_int, c_int64, c_int64),
    "ggml_mul_mat": (c_void_p, c_void_p, c_void_p, c_void_p),
    "ggml_new_graph": (c_void_p, c_void_p),
    "ggml_build_forward_expand": (None, c_void_p, c_void_p),
    "ggml_backend_cpu_init": (c_void_p,),
    "ggml_backend_cpu_set_n_threads": (None, c_void_p, c_int),
    "ggml_backend_cpu_buffer_type": (c_void_p,),
    "ggml_backend_get_device": (c_void_p, c_void_p),
    "ggml_backend_dev_backend_reg": (c_void_p, c_void_p),
    "ggml_backend_reg_get_proc_address": (c_void_p, c_void_p, c_char_p),
    "ggml_backend_dev_supports_op": (c_bool, c_void_p, c_void_p),
    "ggml_backend_buft_get_alloc_size": (c_size_t, c_void_p, c_void_p),
    "ggml_backend_buft_alloc_buffer": (c_void_p, c_void_p, c_size_t),
    "ggml_backend_buffer_get_base": (c_void_p, c_void_p),
    "ggml_backend_buffer_free": (None, c_void_p),
    "ggml_backend_tensor_alloc": (c_int, c_void_p, c_void_p, c_void_p),
    "ggml_backend_tensor_set": (None, c_void_p, c_void_p, c_size_t, c_size_t),
    "ggml_backend_tensor_get": (None, c_void_p, c_void_p, c_size_t, c_size_t),
    "ggml_backend_graph_compute": (c_int, c_void_p, c_void_p),
}


class _Parameters(ctypes.Structure):
    _fields_ = (("size", c_size_t), ("buffer", c_void_p), ("no_alloc", c_bool))


def folder() -> Path | None:
    """Return the folder of the libraries; None if there are none."""
    if named := os.environ.get("GGML"):
        return Path(named)
    found = find_spec("llama_cpp")
    return Path(found.origin).parent / "lib" if found is not None and found.origin else None


class Ggml:
    """The functions of the libraries in a folder."""

    def __init__(self, libraries: Path):
        loaded = [ctypes.CDLL(str(libraries / f"libggml{name}.so"), ctypes.RTLD_GLOBAL) for name in ("-base", "-cpu")]
        for name, (result, *arguments) in _SIGNATURES.items():
            function = next(getattr(library, name) for library in loaded if hasattr(library, name))
            function.restype, function.argtypes = result, arguments
            setattr(self, name, function)
        init = loaded[0].ggml_init
        init.restype, init.argtypes = c_void_p, [_Parameters]
        self.context = init(_Parameters(2**22, None, True))
        self.backend = self.ggml_backend_cpu_init()

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(name)

    def _layouts_of_processor(self) -> list[int]:
        """Return the types of buffers that bring weights into an order for the processor, for AMX and for vectors."""
        device = self.ggml_backend_get_device(self.backend)
        name = b"ggml_backend_dev_get_extra_bufts"
        address = self.ggml_backend_reg_get_proc_address(self.ggml_backend_dev_backend_reg(device), name)
        found = ctypes.CFUNCTYPE(ctypes.POINTER(c_void_p), c_void_p)(address)(device)
        kinds: list[int] = []
        while (kind := found[len(kinds)]) is not None:
            kinds.append(kind)
        return kinds

    def _place(self, tensor: int, kind: int) -> None:
        buffer = self.ggml_backend_buft_alloc_buffer(kind, self.ggml_backend_buft_get_alloc_size(kind, tensor))
        self.ggml_backend_tensor_alloc(buffer, tensor, self.ggml_backend_buffer_get_base(buffer))

    def product(self, layout: str, weight: Array, x: Array, threads: int) -> Callable[[], Array]:
        """Return a call that multiplies `x` with a weight in blocks, in the order that ggml would choose for it."""
        rows, terms = x.shape
        columns = len(weight)
        device, usual = self.ggml_backend_get_device(self.backend), self.ggml_backend_cpu_buffer_type()
        kinds = [*self._layouts_of_processor(), usual]
        while True:
            kind = kinds.pop(0)
            w = self.ggml_new_tensor_2d(self.context, TYPES[layout], terms, columns)
            data = self.ggml_new_tensor_2d(self.context, 0, terms, rows)
            y = self.ggml_mul_mat(self.context, w, data)
            self._place(w, kind)
            if not kinds or self.ggml_backend_dev_supports_op(device, y):
                break
        self._place(data, usual)
        self._place(y, usual)
        graph = self.ggml_new_graph(self.context)
        self.ggml_build_forward_expand(graph, y)
        self.ggml_backend_tensor_set(w, weight.ctypes.data, 0, weight.nbytes)
        result = np.empty((rows, columns), np.float32)

        def call() -> Array:
            self.ggml_backend_cpu_set_n_threads(self.backend, threads)
            self.ggml_backend_tensor_set(data, x.ctypes.data, 0, x.nbytes)
            self.ggml_backend_graph_compute(self.backend, graph)
            self.ggml_backend_tensor_get(y, result.ctypes.data, 0, result.nbytes)
            return result

        return call


@cache
def library() -> Ggml:
    """Return the functions, loaded once."""
    found = folder()
    assert found is not None
    return Ggml(found)
