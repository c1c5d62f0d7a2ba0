"""The example programs, where they are installed: functions return the folders of models with trained weights.

    import numpy as np
    import relex

    weights = np.load(relex.examples.digits() / "weights.npz")

`python -m relex examples` copies all examples to a new folder `examples`.
"""

from __future__ import annotations

from pathlib import Path

from relex.lazy import listed

__all__ = ["FOLDER", "digits", "lenet"]

__dir__ = listed(__name__, *__all__)

FOLDER = Path(__file__).parent
"""The folder of all examples."""


def digits() -> Path:
    """Return the folder of a two-layer perceptron that recognizes handwritten digits: `mlp.mlir`, the same network as
    loops in `mlp_tir.mlir`, the weights in `weights.npz`, and images with their labels in `digits.npz`."""
    return FOLDER / "digits"


def lenet() -> Path:
    """Return the folder of a convolutional network for the images of `digits`: `lenet.mlir` and `weights.npz`."""
    return FOLDER / "lenet"
