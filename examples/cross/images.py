"""Writes the first test images of the LeNet example to a file: `python images.py 20 images.bin`."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).parents[1] / "lenet"))
network: Any = import_module("network")

count, file = int(sys.argv[1]), Path(sys.argv[2])
images, _, labels = network.load_digits()
file.write_bytes(images[:count].astype("<f4").tobytes())
print("".join(map(str, labels[:count])))
