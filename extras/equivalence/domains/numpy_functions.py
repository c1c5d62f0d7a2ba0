"""Which ops compute NumPy's functions: what `Elements` looks up when a function is applied to it."""

from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from xdsl.dialects import math

from relex.reference.interpreter.math import FUNCTIONS

BINARY: dict[str, tuple[str, str, str]] = {
    "add": ("arith.addf", "arith.addi", "arith.ori"),
    "multiply": ("arith.mulf", "arith.muli", "arith.andi"),
    "divide": ("arith.divf", "", ""),
    "fmod": ("arith.remf", "arith.remsi", ""),
    "trunc_divide": ("", "arith.divsi", ""),
    "maximum": ("arith.maximumf", "arith.maxsi", "arith.ori"),
    "minimum": ("arith.minimumf", "arith.minsi", "arith.andi"),
    "bitwise_and": ("", "arith.andi", "arith.andi"),
    "bitwise_or": ("", "arith.ori", "arith.ori"),
    "bitwise_xor": ("", "arith.xori", "arith.xori"),
    "logical_and": ("", "", "arith.andi"),
    "logical_or": ("", "", "arith.ori"),
    "logical_xor": ("", "", "arith.xori"),
    "power": ("math.powf", "", ""),
    "arctan2": ("math.atan2", "", ""),
    "copysign": ("math.copysign", "", ""),
    "left_shift": ("", "arith.shli", ""),
    "right_shift": ("", "arith.shrsi", ""),
}
"""The ops for NumPy's functions of two numbers: of floats, integers and booleans."""

UNSIGNED = {
    "arith.remsi": "arith.remui",
    "arith.divsi": "arith.divui",
    "arith.maxsi": "arith.maxui",
    "arith.minsi": "arith.minui",
    "arith.shrsi": "arith.shrui",
}
"""The ops of unsigned integers, where these are others."""

COMPARISONS = {
    "equal": (1, 0),
    "not_equal": (13, 1),
    "greater": (2, 4),
    "greater_equal": (3, 5),
    "less": (4, 2),
    "less_equal": (5, 3),
}
"""The predicates for floats and integers."""

UNARY = {
    **{function.__name__: kind.name for kind, function in FUNCTIONS.items() if isinstance(function, np.ufunc)},
    "absolute": math.AbsFOp.name,
}
"""The ops for NumPy's functions of a float."""

FLAGS = {"arith.addf": "contract", "arith.mulf": "contract", "arith.divf": "arcp"}
"""The flags of ops in operators whose results are only fixed up to rounding."""

MOVES = {
    *(np.reshape, np.transpose, np.moveaxis, np.swapaxes, np.expand_dims, np.squeeze, np.broadcast_to, np.flip),
    *(np.concatenate, np.stack, np.take, np.take_along_axis, np.repeat, np.tile, np.ravel, sliding_window_view),
}
"""Functions that only move elements. Indices must be numbers."""

REDUCTIONS: dict[Any, str] = {
    np.sum: "add",
    np.prod: "multiply",
    np.max: "maximum",
    np.min: "minimum",
    np.any: "logical_or",
    np.all: "logical_and",
}
SCANS: dict[Any, str] = {np.cumsum: "add", np.cumprod: "multiply"}
STARTS = {"add": 0, "multiply": 1, "logical_or": False, "logical_and": True}
