"""The server of `examples/server`: micro-batches over HTTP."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from socket import socket
from typing import Any
from urllib.request import urlopen

import pytest

pytest.importorskip("mosec")
pytest.importorskip("onnx")

EXAMPLE = Path(__file__).parents[3] / "examples" / "server"
MODULES = ("load", "measure", "model", "server")


@pytest.fixture
def example(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, Any]]:
    monkeypatch.setattr(sys, "path", [str(EXAMPLE), *sys.path])
    yield {name: import_module(name) for name in MODULES}
    for name in MODULES:
        del sys.modules[name]


def test_requests_are_answered_in_batches(example: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    load, measure, model = (example[name] for name in ("load", "measure", "model"))
    digits = model.reference(model.load_images())

    def mistaken(_: object) -> Any:
        return (digits + 1) % 10

    with measure.serving("--max-batch", "8", "--delay", "20", "--timeout", "60000") as port:
        result = load.measure(port, connections=8, seconds=0.5)
        requests, batches = measure.batches_so_far(port)
        monkeypatch.setattr(load, "reference", mistaken)
        wrong = load.measure(port, connections=1, seconds=0.1)
        with urlopen(f"http://{load.HOST}:{port}/classify", b"abc") as answer:
            refused = json.load(answer)
    assert not result.wrong
    assert len(result.latencies) <= requests
    assert batches < requests / 2
    assert not wrong.latencies
    assert wrong.wrong[0] == f'HTTP/1.1 200 OK: {{"digit": {digits[0]}}}'
    assert refused == {"error": "expected an image of 784 bytes, found 3"}


def test_a_wrong_request_does_not_spoil_its_batch(
    example: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server, model = example["server"], example["model"]
    monkeypatch.setenv(server.MODEL, str(server.write_model(tmp_path, "relex")))
    images = model.load_images()[:3]
    first, second, third = (bytes(image) for image in images)
    digits = [{"digit": digit} for digit in model.reference(images).tolist()]
    error = {"error": "expected an image of 784 bytes, found 0"}
    worker = server.Classifier()
    assert worker.answers([first, b"", second, third]) == [digits[0], error, *digits[1:]]
    assert worker.answers([b""]) == [error]


@pytest.mark.parametrize("option", [["--delay", "0"], ["--max-bach", "8"]])
def test_wrong_options(option: list[str], example: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["server.py", *option])
    with pytest.raises(SystemExit):
        example["server"].parse()


def test_a_port_that_is_in_use(example: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("MOSEC_ADDRESS", "MOSEC_PATH"):
        monkeypatch.setenv(variable, "")  # The program sets them; they are restored after the test.
    with socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        monkeypatch.setattr(sys, "argv", ["server.py", "--port", str(other.getsockname()[1])])
        with pytest.raises(SystemExit, match=r"^server\.py: error: .* is in use"):
            example["server"].main()
