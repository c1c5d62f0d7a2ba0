"""Serve the network for handwritten digits over HTTP, in micro-batches, on mosec.

    python examples/server/server.py --max-batch 32 --delay 1 --port 8000

A request is a POST to /classify with the 784 bytes of an image; the answer is `{"digit": 7}`. Requests that arrive
within the delay become one call of the compiled function, whose batch size is dynamic.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from mosec import Server, Worker
from mosec.args import build_arguments_parser

import relex

MODEL = "DIGITS_MODEL"
"""The environment variable that tells workers the file of the model."""
BYTES = 784
"""The size of an image."""


class Classifier(Worker):
    """A process that classifies the images of a batch. It loads the compiled program: the compiler is not imported."""

    def __init__(self) -> None:
        super().__init__()
        self.classify = load_function(os.environ[MODEL])

    def deserialize(self, data: bytes) -> bytes:
        """Return the body of a request as it is.

        mosec knows one status for all requests of a batch. So a wrong request is not refused here, which would refuse
        the others too: it gets its own answer.
        """
        return data

    def serialize(self, data: Any) -> bytes:
        """Return the body of an answer."""
        return json.dumps(data).encode()

    def forward(self, data: Any) -> Any:
        """Answer a batch. If batches have one request, mosec passes the request itself."""
        return self.answers(data) if self.max_batch_size > 1 else self.answers([data])[0]

    def answers(self, bodies: Sequence[bytes]) -> list[dict[str, Any]]:
        """Return the answers to requests, by one call for all images."""
        images = b"".join(body for body in bodies if len(body) == BYTES)
        digits = iter(self.classify(np.frombuffer(images, np.uint8).reshape(-1, BYTES)).tolist())
        return [
            {"digit": next(digits)}
            if len(body) == BYTES
            else {"error": f"expected an image of {BYTES} bytes, found {len(body)}"}
            for body in bodies
        ]


def load_function(path: str) -> Callable[[Any], Any]:
    """Return the function of a saved program, or the function of an ONNX model by ONNX Runtime."""
    if path.endswith(".relex"):
        return relex.load(path)["main"]
    onnxruntime: Any = import_module("onnxruntime")
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(path, options)
    return lambda images: session.run(["digit"], {"image": images})[0]


def write_model(folder: Path, runtime: str) -> Path:
    """Write the file that the workers load. With relex, this compiles."""
    from model import digits_model

    model = folder / "digits.onnx"
    model.write_bytes(digits_model().SerializeToString())
    if runtime == "onnxruntime":
        return model
    program = folder / "digits.relex"
    relex.build(model).save(program)
    return program


def positive(text: str) -> int:
    """Return a number of 1 or more: mosec takes 0 for its default."""
    if (number := int(text)) < 1:
        raise ValueError
    return number


def parse() -> argparse.Namespace:
    """Parse the command line: options of this program and of mosec."""
    mosecs = build_arguments_parser()
    # Its own default is every address of the machine.
    mosecs.set_defaults(address="127.0.0.1")
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        parents=[mosecs],
        conflict_handler="resolve",
    )
    ours = parser.add_argument_group("micro-batches")
    ours.add_argument("--max-batch", type=positive, default=32, help="requests in a batch, at most (default: 32)")
    ours.add_argument("--delay", type=positive, default=1, help="milliseconds that a batch waits for more (default: 1)")
    ours.add_argument("--processes", type=positive, default=1, help="processes that classify (default: 1)")
    ours.add_argument("--runtime", choices=("relex", "onnxruntime"), default="relex")
    return parser.parse_args()


def new_server() -> Server:
    """Return a server with the options of the command line, or end the process: its port may be in use."""
    try:
        return Server()
    except RuntimeError as e:
        raise SystemExit(f"server.py: error: {e}") from None


def main() -> None:
    """Compile the model, and serve it until a signal ends the process."""
    options = parse()
    with tempfile.TemporaryDirectory() as folder:
        os.environ["MOSEC_ADDRESS"] = options.address
        os.environ["MOSEC_PATH"] = str(Path(folder, "sockets"))
        server = new_server()
        path = write_model(Path(folder), options.runtime)
        # Each process computes on one thread: processes are what uses more cores.
        environment = {MODEL: str(path), "RELEX_NUM_THREADS": "1"}
        server.append_worker(
            Classifier,
            num=options.processes,
            max_batch_size=options.max_batch,
            max_wait_time=options.delay,
            env=[environment] * options.processes,
            route="/classify",
        )
        server.run()


if __name__ == "__main__":
    main()
