"""Models of the zoo by relex, beside eager PyTorch and its own compiler: python -m benchmarks.torch_inductor

Each of 15 models runs in a process: eagerly, by `torch.compile` with inductor and with relex, by both with weights as
constants (`freezing` of inductor, `freeze` of relex), and exported and imported by `from_exported`. Calls take turns on
one thread. The table has medians of processor time, which other programs disturb least, and what relex takes relative
to the better of eager PyTorch and inductor, with weights as arguments or as constants as relex has them.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from multiprocessing import set_forkserver_preload
from pathlib import Path
from statistics import geometric_mean, median
from time import perf_counter, process_time
from typing import Any

from benchmarks.contenders import limit_threads
from benchmarks.examining import Found, Stage, cell, examined, write_rows
from benchmarks.torch_models import difference, leaves
from benchmarks.torch_zoo import TOLERANCE, make

MODELS = (
    "timm/resnet18", "timm/mobilenetv3_small_100", "timm/efficientnet_b0", "timm/convnext_atto",
    "timm/vit_tiny_patch16_224", "timm/swin_tiny_patch4_window7_224", "timm/mobilevit_xxs", "timm/resmlp_12_224",
    "torchvision/squeezenet1_1", "torchvision/alexnet", "text/bert", "text/gpt2", "text/llama", "text/mixtral",
    "text/modernbert",
)  # fmt: skip

SAMPLE_SECONDS = 6
"""How long the calls of a model take turns."""

WAYS = ("eager", "inductor", "inductor, frozen", "relex", "relex, frozen", "relex, exported")

OTHERS: Mapping[str, Sequence[str]] = {
    "relex": ("eager", "inductor"),
    "relex, frozen": ("eager", "inductor", "inductor, frozen"),
    "relex, exported": ("eager", "inductor", "inductor, frozen"),
}
"""What the ways of relex are compared with: inductor may make constants of weights where relex does."""


def in_turns(calls: Mapping[str, Callable[[], Any]]) -> dict[str, float]:
    """Return the median processor time of each of some calls, in seconds."""
    times: dict[str, list[float]] = {name: [] for name in calls}
    end = perf_counter() + SAMPLE_SECONDS
    while perf_counter() < end or len(times[next(iter(times))]) < 3:
        for name, call in calls.items():
            begin = process_time()
            call()
            times[name].append(process_time() - begin)
    return {name: median(own) for name, own in times.items()}


def examine(name: str, stage: Stage) -> None:
    """Compile a model in all ways, compare results, and measure calls."""
    torch: Any = import_module("torch")
    from relex.frontend.torch import from_exported
    from relex.runtime import build

    import_module("relex.frontend.torch.dynamo")
    inductor: Any = import_module("torch._inductor.config")
    inductor.force_disable_caches = True
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    with torch.no_grad():
        model, arguments, _ = make(name)
        given = arguments(2, 16)
        wanted = leaves(model(*given))
        made: dict[str, Callable[[], Any]] = {
            "eager": lambda: model,
            "inductor": lambda: torch.compile(model),
            "inductor, frozen": lambda: torch.compile(model),
            "relex": lambda: torch.compile(model, backend="relex"),
            "relex, frozen": lambda: torch.compile(model, backend="relex", options={"freeze": True}),
            "relex, exported": lambda: build(from_exported(torch.export.export(model, tuple(given))))["main"],
        }
        calls: dict[str, Callable[[], Any]] = {}
        for way, make_way in made.items():
            stage(f"{way}: takes too long")
            torch._dynamo.reset()
            inductor.freezing = "frozen" in way
            begin = process_time()
            called = make_way()
            apart = difference(leaves(called(*given)), wanted)
            if not apart <= TOLERANCE:
                return stage(f"{way}: a difference of {apart:.1e}")
            stage(f"{way}: takes too long", **{f"{way}, first result": process_time() - begin})
            calls[way] = lambda called=called: called(*given)
        stage("right", **in_turns(calls))


def relative(found: Found, way: str) -> float:
    """Return the time of a way of relex, relative to the best of the others."""
    return found[way] / min(found[other] for other in OTHERS[way])


def line(name: str, row: Mapping[str, Found]) -> str:
    """Return the row of a model."""
    found = row["all"]
    if found["verdict"] != "right":
        return f"| {name} | {cell(found['verdict'])} |"
    times = [f"{found[way] * 1e3:.2f} ms" for way in WAYS]
    seconds = [f"{found[f'{way}, first result']:.0f} s" for way in WAYS[1:]]
    return f"| {name} | {' | '.join([*times, *(f'{relative(found, way):.2f}' for way in OTHERS), *seconds])} |"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the models, and print a table."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.torch_inductor",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--seconds", type=float, default=400, help="the time limit of a model (400)")
    parser.add_argument("--only", nargs="+", default=[""], metavar="TEXT", help="only models with these in their names")
    parser.add_argument("--results", type=Path, default=Path("build/torch_inductor.json"), help="the file of results")
    options = parser.parse_args(arguments)
    limit_threads(1)
    set_forkserver_preload(["benchmarks.torch_packages"])
    heads = ["model", *WAYS, *(f"{way}, relative" for way in OTHERS), *(f"first result, {way}" for way in WAYS[1:])]
    print(f"| {' | '.join(heads)} |", f"|---|{'---:|' * (len(heads) - 1)}", sep="\n")
    known = write_rows(
        [name for name in MODELS if any(text in name for text in options.only)],
        lambda name: {"all": examined(examine, name, seconds=options.seconds, method="forkserver")},
        line,
        options.results,
    )
    right = [row["all"] for row in known.values() if row["all"]["verdict"] == "right"]
    for way in OTHERS if right else ():
        mean = geometric_mean(relative(found, way) for found in right)
        print(f"{way}: {mean:.2f} of the best of {', '.join(OTHERS[way])} (geometric mean of {len(right)} models)")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
