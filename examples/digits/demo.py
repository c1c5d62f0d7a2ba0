"""Compile the perceptron twice, from graph operators and from hand-written loops, and classify handwritten digits.

Exits with 1 if a prediction differs from NumPy's, or if fewer than 95 % are right.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

import numpy as np
from data import Floats, load_digits, load_weights, reference, show

from relex.dialects import parse_module
from relex.passes import BindParamsPass
from relex.runtime import Executable, build

HERE = Path(__file__).parent
MODELS = ("mlp.mlir", "mlp_tir.mlir")
SHOWN = 4
"""Index of the test image to draw, a clear one."""
REQUIRED_ACCURACY = 0.95


def compile_model(file: str) -> tuple[Executable, float]:
    """Return the model with its weights bound, and the time from text to native code in seconds."""
    weights = load_weights()
    text = (HERE / file).read_text()
    start = perf_counter()
    module = parse_module(text, file)
    for function in ("main", "batch"):
        module = BindParamsPass(function, weights)(module)
    executable = build(module)
    return executable, perf_counter() - start


def time_call(function: Callable[[], Any]) -> float:
    """Return the median time of a call in seconds."""
    times: list[float] = []
    until = perf_counter() + 0.2
    while perf_counter() < until or len(times) < 5:
        times.append(time_once(function))
    return median(times)


def time_once(function: Callable[[], Any]) -> float:
    """Return the time of one call in seconds."""
    start = perf_counter()
    function()
    return perf_counter() - start


def ratio(function: Callable[[], Any], other: Callable[[], Any]) -> float:
    """Return how many times as long a call of a function takes as one of another, which take turns."""
    pairs = [(time_once(function), time_once(other)) for _ in range(200)]
    times, others = zip(*pairs, strict=True)
    return min(times) / min(others)


def check(name: str, executable: Executable, images: Floats, labels: np.ndarray[Any, Any]) -> bool:
    """Classify all images one by one and as a batch, compare with NumPy, and report. Return False if something is
    wrong."""
    weights = load_weights()
    main, batch = executable["main"], executable["batch"]
    expected = reference(images, **weights)
    ok = True
    for how, scores in (
        ("one by one", np.concatenate([main(image[None]) for image in images])),
        ("as a batch", batch(images)),
    ):
        predicted = scores.argmax(axis=1)
        accuracy = float((predicted == labels).mean())
        wrong = int((predicted != expected.argmax(axis=1)).sum())
        difference = abs(scores - expected).max()
        print(f"  {how}  accuracy: {100 * accuracy:.1f} %   largest difference to NumPy: {difference:.1e}")
        if wrong:
            print(f"  {wrong} of {len(labels)} predictions differ from NumPy's", file=sys.stderr)
        if accuracy < REQUIRED_ACCURACY:
            print(f"  expected an accuracy of {100 * REQUIRED_ACCURACY:.0f} % or more", file=sys.stderr)
        ok = ok and not wrong and accuracy >= REQUIRED_ACCURACY
    for how, ours, numpys in (
        ("one image", lambda: main(images[:1]), lambda: reference(images[:1], **weights)),
        (f"{len(images)} images", lambda: batch(images), lambda: reference(images, **weights)),
    ):
        print(f"  {how:10}  relex {1e6 * time_call(ours):8.1f} us   NumPy {1e6 * time_call(numpys):8.1f} us")
    return ok


def run() -> int:
    """Run the example and return the exit code."""
    images, labels = load_digits()
    print(show(images[SHOWN]))
    ok = True
    batches: list[Callable[[], Any]] = []
    for file in MODELS:
        executable, seconds = compile_model(file)
        batches.append(partial(executable["batch"], images))
        scores = executable["main"](images[SHOWN : SHOWN + 1])
        print(f"\n{file}: compiled in {1e3 * seconds:.0f} ms; this is a {scores.argmax()} (label: {labels[SHOWN]})")
        ok = check(file, executable, images, labels) and ok
    operators, loops = batches
    print(f"\n{len(images)} images: {MODELS[1]} takes {ratio(loops, operators):.2f} times as long as {MODELS[0]}")
    return 0 if ok else 1


if __name__ == "__main__":
    sys.exit(run())
