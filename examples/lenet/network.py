"""The network of the LeNet example in NumPy, its weights, and its input images."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[Any]
Weights = dict[str, Floats]

FOLDER = Path(__file__).parent
WEIGHTS = FOLDER / "weights.npz"

# The images come from the digits example.
sys.path.append(str(FOLDER.parent / "digits"))
digits: Any = import_module("data")

SIDE = 8
"""Height and width of an image in pixels."""

KEPT = np.arange(SIDE) * 7 // 2 + 1
"""The rows and columns that are kept of an image of 28x28 pixels."""

SHAPES: dict[str, tuple[int, ...]] = {
    "k0": (8, 1, 3, 3),
    "b0": (8, 1, 1),
    "k1": (16, 8, 3, 3),
    "b1": (16, 1, 1),
    "w2": (64, 256),
    "b2": (64,),
    "w3": (10, 64),
    "b3": (10,),
}
"""The parameters: two convolutions and two dense layers, each with a bias."""


def as_inputs(rows: Floats) -> Floats:
    """Convert images as rows of 784 pixels (N, 784) to the network's input (N, 1, 8, 8)."""
    images = rows.reshape(-1, 1, digits.SIDE, digits.SIDE)
    return np.ascontiguousarray(images[:, :, KEPT][..., KEPT])


def load_digits() -> tuple[Floats, Floats, NDArray[np.int64]]:
    """Return the N test images (N, 1, 8, 8) with values in [0, 1], the same as rows (N, 784), and their labels (N,)."""
    rows, labels = digits.load_digits()
    return as_inputs(rows), rows, labels


def load_weights() -> Weights:
    """Return the parameters by name."""
    with np.load(WEIGHTS) as file:
        return {name: file[name] for name in SHAPES}


def reference(
    x: Floats, k0: Floats, b0: Floats, k1: Floats, b1: Floats, w2: Floats, b2: Floats, w3: Floats, b3: Floats
) -> Floats:
    """The network: images (N, 1, 8, 8) to one score a class (N, 10)."""
    pooled = pool(relu(convolve(x, k0) + b0))
    features = relu(convolve(pooled, k1) + b1)
    return relu(features.reshape(len(x), -1) @ w2.T + b2) @ w3.T + b3


def relu(x: Floats) -> Floats:
    """The maximum of each element and 0."""
    return np.maximum(x, x.dtype.type(0))


def windows(x: Floats) -> Floats:
    """Return the 3x3 windows around each pixel, with zero padding: (N, C, H, W) to (N, H, W, C * 9)."""
    padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
    found = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), axis=(2, 3))
    return found.transpose(0, 2, 3, 1, 4, 5).reshape(*x.shape[:1], *x.shape[2:], -1)


def convolve(x: Floats, kernels: Floats) -> Floats:
    """Convolve images (N, C, H, W) with kernels (O, C, 3, 3) to (N, O, H, W)."""
    return (windows(x) @ kernels.reshape(len(kernels), -1).T).transpose(0, 3, 1, 2)


def pool(x: Floats) -> Floats:
    """The maximum of each 2x2 pixels."""
    return np.maximum.reduce([x[..., i::2, j::2] for i in (0, 1) for j in (0, 1)])
