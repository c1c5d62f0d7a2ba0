"""Compile a small convolutional network and classify handwritten digits.

Exits with 1 if a prediction differs from NumPy's, or if fewer than 97 % are right.
"""

from __future__ import annotations

import sys
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from network import digits, load_digits, load_weights, reference

from relex.dialects import parse_module
from relex.passes import BindParamsPass
from relex.runtime import Executable, build

MODEL = Path(__file__).with_name("lenet.mlir")
SHOWN = 4
"""Index of the test image to draw, a clear one."""
REQUIRED_ACCURACY = 0.97


def compile_model() -> Executable:
    """Compile the network with its weights bound."""
    module = parse_module(MODEL.read_text(), MODEL.name)
    for function in ("main", "batch"):
        module = BindParamsPass(function, load_weights())(module)
    return build(module)


def check(how: str, scores: Any, expected: Any, labels: Any) -> bool:
    """Compare scores with NumPy's and with the labels, and report. Return False if something is wrong."""
    predicted = scores.argmax(axis=1)
    accuracy = float((predicted == labels).mean())
    wrong = int((predicted != expected.argmax(axis=1)).sum())
    difference = abs(scores - expected).max()
    print(f"  {how}  accuracy: {100 * accuracy:.1f} %   largest difference to NumPy: {difference:.1e}")
    if wrong:
        print(f"  {wrong} of {len(labels)} predictions differ from NumPy's", file=sys.stderr)
    if accuracy < REQUIRED_ACCURACY:
        print(f"  expected an accuracy of {100 * REQUIRED_ACCURACY:.0f} % or more", file=sys.stderr)
    return not wrong and accuracy >= REQUIRED_ACCURACY


def run() -> int:
    """Run the example and return the exit code."""
    images, rows, labels = load_digits()
    print(digits.show(rows[SHOWN]))
    start = perf_counter()
    executable = compile_model()
    main, batch = executable["main"], executable["batch"]
    print(f"\n{MODEL.name}: compiled in {1e3 * (perf_counter() - start):.0f} ms; ", end="")
    print(f"this is a {main(images[SHOWN : SHOWN + 1]).argmax()} (label: {labels[SHOWN]})")
    expected = reference(images, **load_weights())
    one_by_one = np.concatenate([main(image[None]) for image in images])
    results = [check("one by one", one_by_one, expected, labels), check("as a batch", batch(images), expected, labels)]
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(run())
