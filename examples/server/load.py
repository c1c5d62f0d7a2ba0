"""Send images to the server over several connections, each of which sends the next when it has its answer.

    python examples/server/load.py --port 8000 --connections 64 --seconds 3

Exits with 1 if an answer is not the digit that NumPy finds.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import cycle, islice
from time import perf_counter, process_time

import numpy as np
from model import load_images, reference

HOST = "127.0.0.1"


@dataclass(frozen=True)
class Result:
    """What a run measured."""

    latencies: tuple[float, ...]
    """In seconds, of requests with the right answer."""
    wrong: tuple[str, ...]
    """Other answers."""
    seconds: float
    cpu: float
    """CPU time of this process, which takes part of the machine from the server."""

    @property
    def throughput(self) -> float:
        """Right answers per second."""
        return len(self.latencies) / self.seconds

    def percentile(self, percent: float) -> float:
        """Return the latency in milliseconds that this share of the requests did not exceed."""
        return 1e3 * float(np.percentile(self.latencies, percent)) if self.latencies else float("nan")


def request(body: bytes, path: str = "/classify") -> bytes:
    """Return the text of a request."""
    return f"POST {path} HTTP/1.1\r\nHost: {HOST}\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body


class Connection(asyncio.Protocol):
    """A connection that sends requests, one after the other. Clients for HTTP do more, and take longer for it."""

    def __init__(self, requests: Iterator[tuple[bytes, int]], until: float) -> None:
        self.requests, self.until = requests, until
        self.latencies: list[float] = []
        self.wrong: list[str] = []
        self.closed: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.received = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Send the first request."""
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        self.send()

    def send(self) -> None:
        """Send the next request, one at least."""
        self.start = perf_counter()
        if self.start >= self.until and (self.latencies or self.wrong):
            self.transport.close()
            return
        text, self.digit = next(self.requests)
        self.transport.write(text)

    def data_received(self, data: bytes) -> None:
        """Collect the answer; when it is complete, go on."""
        self.received += data
        head, blank, body = self.received.partition(b"\r\n\r\n")
        if not blank or len(body) < _length(head):
            return
        self.received = b""
        status = head.splitlines()[0]
        if head.startswith(b"HTTP/1.1 200") and json.loads(body) == {"digit": self.digit}:
            self.latencies.append(perf_counter() - self.start)
        else:
            self.wrong.append(f"{status.decode()}: {body.decode()}")
        self.send()

    def connection_lost(self, exc: Exception | None) -> None:
        """End, at the time or because the server closed the connection."""
        if exc or perf_counter() < self.until:
            self.wrong.append(f"connection lost: {exc}")
        self.closed.set_result(None)


def _length(head: bytes) -> int:
    lines = head.lower().splitlines()
    return next(int(line.partition(b":")[2]) for line in lines if line.startswith(b"content-length:"))


async def send_all(port: int, connections: int, seconds: float) -> Result:
    """Send requests for a time and return what was measured."""
    images = load_images()
    requests = [(request(image.tobytes()), int(digit)) for image, digit in zip(images, reference(images), strict=True)]
    loop = asyncio.get_running_loop()
    start, cpu = perf_counter(), process_time()

    def connection(index: int) -> Connection:
        return Connection(islice(cycle(requests), index, None), start + seconds)

    pairs = await asyncio.gather(
        *(loop.create_connection(lambda i=i: connection(i), HOST, port) for i in range(connections))
    )
    made = [protocol for _, protocol in pairs]
    await asyncio.gather(*(one.closed for one in made))
    latencies = tuple(latency for one in made for latency in one.latencies)
    wrong = tuple(answer for one in made for answer in one.wrong)
    return Result(latencies, wrong, perf_counter() - start, process_time() - cpu)


def measure(port: int, connections: int, seconds: float) -> Result:
    """Send requests for a time and return what was measured."""
    return asyncio.run(send_all(port, connections, seconds))


def main() -> int:
    """Send requests, print what was measured, and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--port", type=int, default=8000)
    parser.add_argument("--connections", type=int, default=64)
    parser.add_argument("--seconds", type=float, default=3)
    options = parser.parse_args()
    try:
        result = measure(options.port, options.connections, options.seconds)
    except ConnectionRefusedError:
        print(f"no server answers on port {options.port}: examples/server/server.py starts one", file=sys.stderr)
        return 1
    shares = ", ".join(f"{percent} %: {result.percentile(percent):.2f} ms" for percent in (50, 95, 99))
    print(f"{result.throughput:.0f} requests per second; latency {shares}; {len(result.wrong)} wrong answers")
    print(*result.wrong[:3], sep="\n", end="\n" if result.wrong else "", file=sys.stderr)
    return int(bool(result.wrong) or not result.latencies)


if __name__ == "__main__":
    sys.exit(main())
