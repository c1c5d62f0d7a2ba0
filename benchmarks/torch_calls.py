"""The overhead of `torch.compile(model, backend="relex")`: of a call with 1, 10 and 100 weights or arguments.

Each of them is a vector of 8 elements, and the result is twice the first argument and the sum of all others. relex is
compared with a backend that computes nothing, whose calls take what torch's guards take, with the backend "eager", and
with the model itself. All are measured in turns, many calls at a time; the lower quartile of the processor time is
reported.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from functools import partial
from importlib import import_module
from time import process_time
from typing import Any

from benchmarks.calls import Calls, measure

torch: Any = import_module("torch")

COUNTS = (1, 10, 100)


class Sum(torch.nn.Module):
    """The sum of some weights and all arguments, of which the first counts twice."""

    def __init__(self, count: int):
        super().__init__()  # pyright: ignore[reportUnknownMemberType]
        self.weights = torch.nn.ParameterList(torch.randn(8) for _ in range(count))

    def forward(self, *inputs: Any) -> Any:
        """Add all of them."""
        return sum([*inputs[1:], *self.weights], inputs[0] * 2)


def nothing(graph: Any, inputs: Any) -> Callable[..., Any]:
    """Return what a graph returns for its first call, at each call."""
    kept = [*graph.forward(*inputs)]
    return lambda *given: kept


def calls_of(model: Any, *inputs: Any) -> Calls:
    """Return calls of a model by each backend."""
    from relex.frontend.torch.dynamo import relex

    backends: dict[str, Any] = {"guards alone": nothing, "backend eager": "eager", "backend relex": relex}
    torch._dynamo.reset()  # It keeps few graphs of a function.
    calls: dict[str, Callable[[], object]] = {"the model": partial(model, *inputs)}
    for name, backend in backends.items():
        calls[name] = partial(torch.compile(model, backend=backend), *inputs)
        calls[name]()
    return calls


def main() -> None:
    """Print a table for each number of weights and of arguments."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=3.0, help="time for each table (3)")
    seconds = parser.parse_args().seconds
    torch.set_num_threads(1)
    for count in COUNTS:
        rows: dict[str, tuple[Any, int]] = {
            f"{count} weights": (Sum(count).eval(), 1),
            f"{count} arguments": (Sum(0).eval(), count),
        }
        for title, (model, arguments) in rows.items():
            calls = calls_of(model, *(torch.randn(8) for _ in range(arguments)))
            print(f"{title:32} {'ns a call':>10}")
            for name, time in measure(calls, seconds, process_time).items():
                print(f"  {name:30} {time:10.0f}")


if __name__ == "__main__":
    with torch.no_grad():
        main()
