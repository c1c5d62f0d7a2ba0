"""Measure the server with batches of one and with micro-batches, with relex and with ONNX Runtime; print a table.

    python examples/server/measure.py --rounds 5

All servers run at the same time; the rounds go from one to the next. Of each, the round with the most answers counts,
since other programs can only make a round slower.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Generator, Iterator
from contextlib import ExitStack, contextmanager
from itertools import product
from pathlib import Path
from socket import socket
from time import monotonic, sleep
from urllib.error import HTTPError, URLError
from urllib.request import urlopen

from load import HOST, Result, measure
from model import load_images

SERVER = Path(__file__).with_name("server.py")
STARTING, ENDING = 120.0, 60.0
"""Seconds that a server may take to start, and to end."""

Measured = dict[tuple[int, int, str], tuple[Result, float]]
"""By connections, largest batch and runtime: the best round, and how many images a call had."""


def free_port() -> int:
    """Return a port that nothing listens on."""
    with socket() as probe:
        probe.bind((HOST, 0))
        return probe.getsockname()[1]


@contextmanager
def serving(*options: str) -> Generator[int]:
    """Run the server with options; yield its port when it answers."""
    port = free_port()
    command = [sys.executable, str(SERVER), "--port", str(port), "--log-level", "error", *options]
    process = subprocess.Popen(command)
    try:
        wait_for(process, port)
        yield port
    finally:
        process.terminate()
        try:
            process.wait(ENDING)
        except subprocess.TimeoutExpired:
            process.kill()
            raise


def wait_for(process: subprocess.Popen[bytes], port: int) -> None:
    """Wait until the server answers a request."""
    until = monotonic() + STARTING
    while process.poll() is None and monotonic() < until:
        try:
            urlopen(f"http://{HOST}:{port}/classify", load_images()[0].tobytes(), timeout=STARTING).close()
        except (HTTPError, URLError, ConnectionError):
            sleep(0.05)
        else:
            return
    raise RuntimeError(f"the server does not answer; its exit code: {process.poll()}")


def batches_so_far(port: int) -> tuple[float, float]:
    """Return how many requests came in batches, and how many batches. mosec does not count batches of one."""
    with urlopen(f"http://{HOST}:{port}/metrics") as page:
        lines = page.read().decode().splitlines()

    def last(name: str) -> float:
        return next(
            (float(line.split()[-1]) for line in lines if line.startswith(f"mosec_service_batch_size_{name}")), 0
        )

    return last("sum"), last("count")


def measure_all(
    rounds: int, seconds: float, connections: list[int], batches: list[int], runtimes: list[str]
) -> Measured:
    """Measure each combination in turns."""
    best: Measured = {}
    with ExitStack() as stack:
        servers = {
            (runtime, batch): stack.enter_context(serving("--runtime", runtime, "--max-batch", str(batch)))
            for runtime, batch in product(runtimes, batches)
        }
        for _, count, ((runtime, batch), port) in product(range(rounds), connections, servers.items()):
            before = batches_so_far(port)
            result = measure(port, count, seconds)
            after = batches_so_far(port)
            if result.wrong:
                raise RuntimeError(f"{len(result.wrong)} wrong answers, such as {result.wrong[0]}")
            known = best.get((count, batch, runtime))
            if not known or result.throughput > known[0].throughput:
                formed = after[1] - before[1]
                best[count, batch, runtime] = result, (after[0] - before[0]) / formed if formed else 1
    return best


def table(measured: Measured, runtimes: list[str]) -> Iterator[str]:
    """Yield the lines of a table."""
    yield "| connections | batches of at most |" + "".join(
        f" {runtime}: images in a call | requests/s | latency: 50 %, 95 %, 99 % |" for runtime in runtimes
    )
    yield "|" + " ---: |" * (2 + 3 * len(runtimes))
    for count, batch in dict.fromkeys((count, batch) for count, batch, _ in measured):
        cells = [str(count), str(batch)]
        for runtime in runtimes:
            result, images = measured[count, batch, runtime]
            shares = ", ".join(f"{result.percentile(percent):.2f}" for percent in (50, 95, 99))
            cells += [f"{images:.1f}", f"{result.throughput:.0f}", f"{shares} ms"]
        yield "| " + " | ".join(cells) + " |"
    results = [result for result, _ in measured.values()]
    share = sum(result.cpu for result in results) / sum(result.seconds for result in results)
    yield f"\nThe load generator used {100 * share:.0f} % of a core."


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=1)
    parser.add_argument("--connections", type=int, nargs="+", default=[1, 16, 64])
    parser.add_argument("--batches", type=int, nargs="+", default=[1, 8, 32])
    parser.add_argument("--runtimes", nargs="+", default=["relex", "onnxruntime"])
    options = parser.parse_args()
    runtimes = list(dict.fromkeys(options.runtimes))
    measured = measure_all(options.rounds, options.seconds, options.connections, options.batches, runtimes)
    print(*table(measured, runtimes), sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
