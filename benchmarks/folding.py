"""The cost of constant folding in a network with the shapes of vgg19, with 575 MB of random weights.

Its dense layers have weights in the order `[K, N]`, as in other frameworks, so each is transposed first; the largest
has 411 MB. Memory is the peak resident memory of this process during a step (Linux only).
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from time import process_time
from typing import TypeVar

import numpy as np
from xdsl.dialects.builtin import ModuleOp

from relex.dialects import make_context
from relex.dialects.relex import ConstantOp, PermuteDimsOp
from relex.frontend import BlockBuilder, Expr, Var, const, op
from relex.passes import FoldConstantsPass

STAGES = [(64, 2), (128, 2), (256, 4), (512, 4), (512, 4)]
"""Channels and number of convolutions; each stage ends with a pooling that halves height and width."""

DENSE = [25088, 4096, 4096, 1000]

T = TypeVar("T")


def vgg19(size: int = 224) -> ModuleOp:
    """Build the network for a square image of this size."""
    rng = np.random.default_rng(0)

    def weight(*shape: int) -> Expr:
        return const(rng.standard_normal(shape, np.float32))

    builder = BlockBuilder()
    image = Var("image", (1, 3, size, size), "float32")
    with builder.function("main", [image]):
        with builder.dataflow():
            x: Expr = image
            channels = 3
            for width, count in STAGES:
                for _ in range(count):
                    x = builder.emit(op.conv2d(x, weight(width, channels, 3, 3), padding=[1]))
                    x = builder.emit(op.relu(op.add(x, weight(width, 1, 1))))
                    channels = width
                x = builder.emit(op.max_pool2d(x, pool_size=[2, 2], strides=[2, 2]))
            x = builder.emit(op.reshape(x, shape=[1, DENSE[0]]))
            for inner, outer in pairwise(DENSE):
                x = builder.emit(op.dense(x, op.permute_dims(weight(inner, outer))))
                x = builder.emit(op.add(x, weight(outer)))
            result = builder.emit_output(x)
        builder.emit_func_output(result)
    return builder.get()


def measured(step: str, run: Callable[[], T]) -> T:
    """Run a step and print its processor time, the memory before it, and its peak memory."""
    before = _memory("VmRSS")
    # Reset the peak.
    Path("/proc/self/clear_refs").write_text("5")
    start = process_time()
    result = run()
    seconds = process_time() - start
    print(f"{step:32}{seconds:8.2f} s  from {before:5.0f} MB, at most {_memory('VmHWM'):5.0f} MB", flush=True)
    return result


def _memory(what: str) -> float:
    """Return an entry of `/proc/self/status` in megabytes."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(what)) * 1024 / 1e6


def main() -> None:
    """Build the network and fold its constants."""
    module = measured("build the module", vgg19)
    constants = [len(o.value.data.data) for o in module.walk() if isinstance(o, ConstantOp)]
    print(f"{len(constants)} constants, {sum(constants) / 1e6:.0f} MB, the largest {max(constants) / 1e6:.0f} MB")
    measured("fold-constants", lambda: FoldConstantsPass(strict=True).apply(make_context(), module))
    left = sum(isinstance(o, PermuteDimsOp) for o in module.walk())
    print(f"{left} operators on constants are left")


if __name__ == "__main__":
    main()
