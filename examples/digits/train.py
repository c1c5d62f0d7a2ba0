"""Create `digits.npz` and `weights.npz`: train the two-layer network of the digits example.

Needs scikit-learn (`pip install -e .[dev]`). Every run writes the same arrays.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np
from data import DIGITS, WEIGHTS, Floats, as_inputs, load_digits, load_weights, reference
from numpy.typing import NDArray

# scikit-learn has no type annotations.
datasets: Any = import_module("sklearn.datasets")
model_selection: Any = import_module("sklearn.model_selection")
neural_network: Any = import_module("sklearn.neural_network")

Bytes = NDArray[np.uint8]
Digits = tuple[Bytes, Bytes]
"""Images (N, 28, 28) with values 0..255, and their labels (N,) in 0..9."""

SEED = 2
TEST_IMAGES = 360
HIDDEN = 128
MOST_EPOCHS = 400


def main() -> None:
    """Create both files and report."""
    (train_images, train_labels), (test_images, test_labels) = split_digits()
    np.savez_compressed(DIGITS, images=test_images, labels=test_labels)
    np.savez_compressed(WEIGHTS, allow_pickle=False, **train(train_images, train_labels))
    report()


def split_digits() -> tuple[Digits, Digits]:
    """Return the training and test digits, with the same frequency of classes in both."""
    digits = datasets.load_digits()
    images, labels = scale(digits.images), digits.target.astype(np.uint8)
    split = model_selection.train_test_split(images, labels, test_size=TEST_IMAGES, stratify=labels, random_state=SEED)
    train_images, test_images, train_labels, test_labels = split
    return (train_images, train_labels), (test_images, test_labels)


def scale(images: NDArray[np.float64]) -> Bytes:
    """Scale images (N, 8, 8) with values 0..16 to (N, 28, 28) with values 0..255, bilinearly.

    A new pixel is 2/7 as wide as an old one, so centres are at whole fourteenths of an old pixel: in integers, the
    rounding is the same on every machine.
    """
    centres = np.clip(4 * np.arange(28) - 5, 0, 7 * 14)
    weights = np.maximum(14 - np.abs(centres[:, None] - 14 * np.arange(8)), 0)
    scaled = weights @ images.astype(np.int64) @ weights.T
    full = 16 * 14 * 14
    return ((255 * scaled + full // 2) // full).astype(np.uint8)


def train(images: Bytes, labels: Bytes) -> dict[str, Floats]:
    """Return the trained parameters w0, b0, w1, b1, with weights as (outputs, inputs)."""
    model = neural_network.MLPClassifier((HIDDEN,), max_iter=MOST_EPOCHS, random_state=SEED)
    model.fit(as_inputs(images).astype(np.float64), labels)
    (w0, w1), (b0, b1) = model.coefs_, model.intercepts_
    return {"w0": coarse(w0.T), "b0": coarse(b0), "w1": coarse(w1.T), "b1": coarse(b1)}


def coarse(values: NDArray[np.float64]) -> Floats:
    """Round to multiples of 1/4096.

    Training in double precision differs between machines in the last bits; rounding hides that.
    """
    return (np.rint(values * 4096) / 4096).astype(np.float32)


def report() -> None:
    """Read the files back and print the accuracy of the network, and the smallest margin between its best two
    scores."""
    images, labels = load_digits()
    scores = reference(images, **load_weights())
    second, best = np.sort(scores, axis=1)[:, -2:].T
    print(f"{len(labels)} test images, accuracy: {100 * np.mean(scores.argmax(axis=1) == labels):.1f} %")
    print(f"smallest distance between the best two scores of an image: {np.min(best - second):.4f}")


if __name__ == "__main__":
    main()
