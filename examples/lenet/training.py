"""Create `weights.npz`: train the network of the LeNet example in NumPy, with hand-written gradients.

Needs scikit-learn for the images (`pip install -e .[dev]`). Every run writes the same arrays.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np
from network import (
    SHAPES,
    WEIGHTS,
    Floats,
    Weights,
    as_inputs,
    convolve,
    digits,
    load_digits,
    load_weights,
    pool,
    reference,
    relu,
    windows,
)
from numpy.typing import NDArray

SEED = 1
EPOCHS = 30
BATCH = 32
STEP = 2e-3
"""Adam's initial learning rate; it decays to almost zero in the last epoch."""


def main() -> None:
    """Train the network, write the weights, and report."""
    np.savez_compressed(WEIGHTS, allow_pickle=False, **train(*training_digits()))
    images, _, labels = load_digits()
    scores = reference(images, **load_weights())
    second, best = np.sort(scores, axis=1)[:, -2:].T
    print(f"{len(labels)} test images, accuracy: {100 * np.mean(scores.argmax(axis=1) == labels):.1f} %")
    print(f"smallest distance between the best two scores of an image: {np.min(best - second):.4f}")


def training_digits() -> tuple[Floats, NDArray[np.int64]]:
    """Return the training images (N, 1, 8, 8), the same as the perceptron's, and their labels (N,)."""
    perceptron: Any = import_module("train")
    (images, labels), _ = perceptron.split_digits()
    return as_inputs(digits.as_inputs(images)).astype(np.float64), labels.astype(np.int64)


def train(images: Floats, labels: NDArray[np.int64], epochs: int = EPOCHS) -> Weights:
    """Train the parameters with Adam for `epochs` epochs, on random batches."""
    rng = np.random.default_rng(SEED)
    weights = {name: initial(rng, shape) for name, shape in SHAPES.items()}
    moments = {name: (np.zeros(shape), np.zeros(shape)) for name, shape in SHAPES.items()}
    steps = epochs * (len(images) // BATCH)
    for step in range(steps):
        chosen = rng.integers(len(images), size=BATCH)
        _, slopes = loss_and_gradients(images[chosen], labels[chosen], weights)
        rate = STEP * (1 - step / steps)
        for name, slope in slopes.items():
            first, second = moments[name]
            first += 0.1 * (slope - first)
            second += 0.001 * (slope**2 - second)
            unbiased = first / (1 - 0.9 ** (step + 1)), second / (1 - 0.999 ** (step + 1))
            weights[name] -= rate * unbiased[0] / (np.sqrt(unbiased[1]) + 1e-8)
    # Arithmetic differs between machines in the last bits; rounding hides that.
    return {name: (np.rint(array * 4096) / 4096).astype(np.float32) for name, array in weights.items()}


def initial(rng: np.random.Generator, shape: tuple[int, ...]) -> Floats:
    """Return initial weights that preserve the variance of activations; biases are 0."""
    inputs = int(np.prod(shape[1:]))
    is_bias = inputs == 1
    return np.zeros(shape) if is_bias else rng.normal(0, np.sqrt(2 / inputs), shape)


def loss_and_gradients(x: Floats, labels: NDArray[np.int64], weights: Weights) -> tuple[float, Weights]:
    """Return the cross entropy, averaged over the images, and its gradient for each parameter."""
    w = weights
    conv0 = convolve(x, w["k0"]) + w["b0"]
    relu0 = relu(conv0)
    pool0 = pool(relu0)
    conv1 = convolve(pool0, w["k1"]) + w["b1"]
    flat = relu(conv1).reshape(len(x), -1)
    dense2 = flat @ w["w2"].T + w["b2"]
    relu2 = relu(dense2)
    scores = relu2 @ w["w3"].T + w["b3"]

    powers = np.exp(scores - scores.max(axis=1, keepdims=True))
    likely = powers / powers.sum(axis=1, keepdims=True)
    own = np.arange(len(x)), labels
    loss = -np.log(likely[own]).mean()

    d_scores = likely.copy()
    d_scores[own] -= 1
    d_scores /= len(x)
    d_dense2 = (d_scores @ w["w3"]) * (dense2 > 0)
    d_conv1 = (d_dense2 @ w["w2"]).reshape(conv1.shape) * (conv1 > 0)
    d_pool0 = convolve(d_conv1, backwards(w["k1"]))
    d_conv0 = spread(d_pool0, relu0, pool0) * (conv0 > 0)
    return float(loss), {
        "k0": kernel_gradient(x, d_conv0),
        "b0": d_conv0.sum(axis=(0, 2, 3)).reshape(SHAPES["b0"]),
        "k1": kernel_gradient(pool0, d_conv1),
        "b1": d_conv1.sum(axis=(0, 2, 3)).reshape(SHAPES["b1"]),
        "w2": d_dense2.T @ flat,
        "b2": d_dense2.sum(axis=0),
        "w3": d_scores.T @ relu2,
        "b3": d_scores.sum(axis=0),
    }


def backwards(kernels: Floats) -> Floats:
    """Return the kernels that propagate the gradient of a convolution's result to its input."""
    return kernels[:, :, ::-1, ::-1].transpose(1, 0, 2, 3)


def kernel_gradient(x: Floats, d_result: Floats) -> Floats:
    """Return the gradient for the kernels of a convolution of `x`, given the gradient of its result."""
    slopes = np.tensordot(d_result, windows(x), axes=((0, 2, 3), (0, 1, 2)))
    return slopes.reshape(d_result.shape[1], x.shape[1], 3, 3)


def spread(d_pooled: Floats, x: Floats, pooled: Floats) -> Floats:
    """Return the gradient for the input of a pooling: each maximum receives the gradient of the result."""
    return np.kron(d_pooled, np.ones((2, 2))) * (x == np.kron(pooled, np.ones((2, 2))))


if __name__ == "__main__":
    main()
