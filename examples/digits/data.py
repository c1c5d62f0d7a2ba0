"""Data of the digits example: test images, trained weights, the network in NumPy, pictures for the terminal.

`train.py` creates the two files that this module reads.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]

FOLDER = Path(__file__).parent
DIGITS = FOLDER / "digits.npz"
WEIGHTS = FOLDER / "weights.npz"

SIDE = 28
"""Height and width of an image in pixels."""

CLASSES = ("0", "1", "2", "3", "4", "5", "6", "7", "8", "9")

INK = " .:-=+*#%@"
"""Characters from no ink to full ink."""

DARKEST_GREY, GREYS = 232, 24
"""The first of the greys among the 256 colours of a terminal, and their number."""


def load_digits() -> tuple[Floats, NDArray[np.int64]]:
    """Return the N test images as rows (N, 784) with values in [0, 1], and their N labels in 0..9."""
    with np.load(DIGITS) as file:
        return as_inputs(file["images"]), file["labels"].astype(np.int64)


def load_weights() -> dict[str, Floats]:
    """Return the parameters by name: w0 (128, 784), b0 (128,), w1 (10, 128), b1 (10,)."""
    with np.load(WEIGHTS) as file:
        return {name: file[name] for name in ("w0", "b0", "w1", "b1")}


def as_inputs(images: NDArray[np.uint8]) -> Floats:
    """Convert images (N, 28, 28) of bytes to the network's input rows (N, 784) with values in [0, 1]."""
    return images.reshape(-1, SIDE * SIDE).astype(np.float32) / np.float32(255)


def reference(x: Floats, w0: Floats, b0: Floats, w1: Floats, b1: Floats) -> Floats:
    """The network in NumPy: images (N, 784) to one score a class (N, 10)."""
    hidden = np.maximum(x @ w0.T + b0, np.float32(0))
    return hidden @ w1.T + b1


def show(image: Floats, *, colour: bool | None = None) -> str:
    """Draw one image of 784 values in [0, 1] as 14 lines of 28 characters.

    `colour` chooses between shades of grey and plain ASCII; the default depends on standard output.
    """
    pixels = np.clip(image, 0, 1).reshape(SIDE, SIDE)
    # A character is about twice as high as wide, so it shows two pixels, one above the other.
    upper, lower = pixels[0::2], pixels[1::2]
    if _shows_colour() if colour is None else colour:
        return "\n".join(_grey_line(*rows) for rows in zip(upper, lower, strict=True))
    return "\n".join(_ascii_line(row) for row in (upper + lower) / 2)


def _shows_colour() -> bool:
    """Return whether standard output is a terminal with colours and block characters, and the user wants them."""
    if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return False
    return sys.stdout.isatty() and sys.stdout.encoding.lower().startswith("utf")


def _grey_line(upper: Floats, lower: Floats) -> str:
    """Draw two rows of pixels as half blocks: the foreground colours the upper pixel, the background the lower one."""
    blocks = (f"\x1b[38;5;{_grey(u)};48;5;{_grey(d)}m▀" for u, d in zip(upper, lower, strict=True))
    return "".join(blocks) + "\x1b[0m"


def _grey(value: float) -> int:
    return DARKEST_GREY + round(float(value) * (GREYS - 1))


def _ascii_line(row: Floats) -> str:
    return "".join(INK[round(float(value) * (len(INK) - 1))] for value in row)
