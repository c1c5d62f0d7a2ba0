"""Models of timm, transformers and torchvision, with random weights, beside PyTorch: python -m benchmarks.torch_zoo

    pip install timm transformers torchvision

Each model runs in a process: by `torch.compile(backend="relex")`, exported and imported by `from_exported`, and
exported with a dynamic batch (and, for models of text, a dynamic length). The first and the last way are called at two
sizes. Results are compared with eager PyTorch's. The table says what is right, else the first line of the error; how
often the first way breaks a model into several graphs, and how many of them PyTorch runs itself; the seconds of
processor time up to the first result, export included; and the time of a call on one thread as a share of eager
PyTorch's. Images are small, and models of text have two layers of 64 features.

Results are in a file, and what is there is not done once more, unless `--again` is given: an interrupted run goes on.
`--page FILE` writes the table from what is there.
"""

from __future__ import annotations

import argparse
import json
import logging
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import date
from importlib import import_module
from importlib.metadata import version
from multiprocessing import set_forkserver_preload
from pathlib import Path
from statistics import geometric_mean
from time import process_time
from typing import Any

from benchmarks.contenders import limit_threads
from benchmarks.examining import LONGEST, Found, Stage, amount, cell, examined, ratio
from benchmarks.machine import describe
from benchmarks.torch_models import difference, leaves, timed

WAYS = ("compiled", "exported", "dynamic")
TOLERANCE = 1e-3

TIMM = (
    "resnet18", "mobilenetv3_small_100", "efficientnet_b0", "convnext_atto", "regnetx_002", "densenet121", "vgg11_bn",
    "mobilevit_xxs", "vit_tiny_patch16_224", "deit_tiny_patch16_224", "swin_tiny_patch4_window7_224", "ghostnet_100",
    "mnasnet_small", "rexnet_100", "hrnet_w18_small", "dla34", "repvgg_a0", "res2net50_14w_8s", "resnest14d",
    "skresnet18", "edgenext_xx_small", "efficientformer_l1", "levit_128s", "poolformer_s12", "pvt_v2_b0",
    "mixer_s32_224", "resmlp_12_224", "mobileone_s0", "lcnet_050", "tf_mixnet_s",
)  # fmt: skip
TORCHVISION = (
    "resnet18", "mobilenet_v2", "mobilenet_v3_small", "squeezenet1_1", "shufflenet_v2_x0_5", "densenet121", "googlenet",
    "mnasnet0_5", "regnet_y_400mf", "alexnet", "swin_t", "convnext_tiny",
)  # fmt: skip
TEXT = (
    "bert", "roberta", "distilbert", "albert", "electra", "deberta-v2", "mpnet", "gpt2", "gpt_neo", "gptj", "gpt_neox",
    "opt", "llama", "mistral", "mixtral", "qwen2", "qwen3", "gemma", "gemma2", "phi", "phi3", "falcon", "bloom",
    "starcoder2", "stablelm", "cohere", "olmo", "mamba", "xlm-roberta", "nystromformer", "modernbert", "smollm3",
)  # fmt: skip
VISION = ("vit", "deit", "swin", "beit", "convnext", "dinov2")

SMALL: Mapping[str, Any] = {
    "hidden_size": 64, "d_model": 64, "n_embd": 64, "dim": 64, "embedding_size": 64, "word_embed_proj_dim": 64,
    "intermediate_size": 128, "ffn_dim": 128, "hidden_dim": 128, "n_inner": 128, "d_ff": 128,
    "num_hidden_layers": 2, "n_layer": 2, "n_layers": 2, "num_layers": 2,
    "num_attention_heads": 4, "n_head": 4, "n_heads": 4, "num_heads": 4, "num_key_value_heads": 2, "head_dim": 16,
    "rotary_dim": 8, "vocab_size": 128, "max_position_embeddings": 128, "n_positions": 128, "pad_token_id": 0,
    "bos_token_id": 1, "eos_token_id": 2, "sliding_window": 64, "attention_types": [[["global", "local"], 1]],
    "image_size": 64, "num_experts": 4, "num_local_experts": 4, "attention_dropout": 0.0,
}  # fmt: skip
"""Small values of fields of configurations; a model takes those that its configuration has."""


def make(name: str) -> tuple[Any, Callable[[int, int], list[Any]], bool]:
    """Return a model, what makes arguments for a batch and a length, and whether the length may vary."""
    torch: Any = import_module("torch")
    kind, _, model = name.partition("/")
    torch.manual_seed(0)
    if kind == "text":
        made = _of_transformers(model, False)

        def tokens(batch: int, length: int) -> list[Any]:
            return [torch.randint(3, 100, (batch, length), generator=torch.Generator().manual_seed(length))]

        return made, tokens, True
    if kind == "vision":
        made, pixels = _of_transformers(model, True), 64
    elif kind == "timm":
        timm: Any = import_module("timm")
        fixed = {"img_size": 64} if model.startswith(("vit", "deit", "mixer", "resmlp")) else {}
        fixed = {"img_size": 224} if model.startswith("swin") else fixed
        made = timm.create_model(model, num_classes=10, **fixed)
        pixels = fixed.get("img_size", 224 if model.startswith(("levit", "efficientformer")) else 64)
    else:
        made, pixels = getattr(import_module("torchvision").models, model)(weights=None, num_classes=10), 64

    def images(batch: int, length: int) -> list[Any]:
        return [torch.rand((batch, 3, pixels, pixels), generator=torch.Generator().manual_seed(length))]

    return made.eval(), images, False


def _of_transformers(name: str, is_vision: bool) -> Any:
    transformers: Any = import_module("transformers")
    default: Any = transformers.AutoConfig.for_model(name)
    kind: Any = default.__class__
    computed = {field for field in SMALL if isinstance(getattr(kind, field, None), property)}
    fields = {field: value for field, value in SMALL.items() if hasattr(default, field) and field not in computed}
    if name in ("swin", "convnext"):
        fields = {"image_size": 64, "window_size": 2} if name == "swin" else {}
    config = transformers.AutoConfig.for_model(name, **fields)
    config.use_cache = False
    model = transformers.AutoModel.from_config(config).eval()

    module: Any = import_module("torch").nn.Module

    class First(module):
        """The model with its first result alone."""

        def __init__(self) -> None:
            super().__init__()  # pyright: ignore[reportUnknownMemberType]
            self.model = model

        def forward(self, x: Any) -> Any:
            return self.model(**{"pixel_values" if is_vision else "input_ids": x}, return_dict=False)[0]

    return First().eval()


def examine(name: str, way: str, sizes: int, stage: Stage) -> None:
    """Run a model one way at one or two sizes, and report what is found so far, step by step."""
    torch: Any = import_module("torch")
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    stage("eager PyTorch takes too long")
    with torch.no_grad():
        model, arguments, has_length = make(name)
        eager = [(given, leaves(model(*given))) for given in (arguments(2, 16), arguments(3, 23))]
        first = eager[0][0]
        stage("PyTorch's export takes too long" if way != "compiled" else "the compilation takes too long")
        begin, is_first = process_time(), True
        called = _called(model, first, way, has_length, stage)
        for given, wanted in eager[: 1 if way == "exported" else sizes]:
            apart = difference(leaves(called(*given)), wanted)
            if is_first:  # The next call is compiled anew for dynamic sizes.
                stage("a later call takes too long", seconds=process_time() - begin, sizes=sizes)
                is_first = False
            if not apart <= TOLERANCE:
                return stage(f"wrong: a difference of {apart:.1e}")
        stage("right", time=timed(lambda: called(*first)), eager=timed(lambda: model(*first)))


def _called(model: Any, first: list[Any], way: str, has_length: bool, stage: Stage) -> Any:
    torch: Any = import_module("torch")
    if way == "compiled":
        import_module("relex.frontend.torch")
        counted = _Counted()
        logging.getLogger("relex").addHandler(counted)
        compiled = torch.compile(model, backend="relex")

        def call(*given: Any) -> Any:
            results = compiled(*given)
            breaks = sum(import_module("torch._dynamo.utils").counters["graph_break"].values())
            stage("a call takes too long", left=counted.count, reason=counted.reason[:LONGEST], breaks=breaks)
            return results

        return call
    from relex.frontend.torch import from_exported
    from relex.runtime import build

    shapes = None
    if way == "dynamic":
        shapes = (
            {0: torch.export.Dim("batch", max=64), **({1: torch.export.Dim("length", max=120)} if has_length else {})},
        )
    program = torch.export.export(model, tuple(first), dynamic_shapes=shapes)
    stage("the compilation takes too long")
    return build(from_exported(program), cache=False)["main"]


class _Counted(logging.Handler):
    """Counts the graphs that PyTorch runs, and keeps the reason for the last one."""

    count = 0
    reason = ""

    def emit(self, record: logging.LogRecord) -> None:
        self.count += "is run by torch" in record.getMessage()
        self.reason = record.getMessage().partition("is run by torch: ")[2] or self.reason


def _blame(verdict: str, message: str) -> str:
    return message if verdict.startswith(("the", "a call")) else f"PyTorch: {message}"


def names() -> Iterator[str]:
    """Return the names of all models."""
    for kind, models in {"timm": TIMM, "torchvision": TORCHVISION, "text": TEXT, "vision": VISION}.items():
        yield from (f"{kind}/{model}" for model in models)


def is_whole(found: Found) -> bool:
    """Return whether results are right, and all of them are relex's."""
    return found["verdict"] == "right" and not found.get("left")


def line(name: str, found: Mapping[str, Found], ways: Sequence[str]) -> str:
    """Return the row of a model."""

    def cells(one: Found) -> Iterator[str]:
        if not one:
            yield from ("not tried", "-", "-")
            return
        broken = f", {one['breaks']} breaks" if one.get("breaks") else ""
        left = f", {one['left']} graphs run by PyTorch: {one['reason']}" if one.get("left") else ""
        yield cell(f"{one['verdict']}{broken}{left}")
        yield amount(one, "seconds", "{:.1f} s")
        yield ratio(one, "time", "eager")

    return f"| {name} | {' | '.join(text for way in ways for text in cells(found.get(way, {})))} |"


def summary(way: str, known: Mapping[str, Mapping[str, Found]]) -> str:
    """Return what was found of all models in a way, as a sentence."""
    found = [one[way] for one in known.values() if way in one]
    times = [one["time"] / one["eager"] for one in found if is_whole(one)]
    mean = f"; their calls take {geometric_mean(times):.2f} of eager PyTorch's time (geometric mean)" if times else ""
    whole = "right, and no graph is left to PyTorch" if way == "compiled" else "right"
    breaks = sum(bool(one.get("breaks")) for one in found)
    twice = sum(is_whole(one) and one["sizes"] == 2 for one in found)
    sizes = f", {twice} of them at two sizes each" if way != "exported" else ""
    broken = f"; {breaks} are broken into several graphs" if breaks else ""
    return f"{way}: of {len(found)} models {len(times)} are {whole}{sizes}{broken}{mean}."


def page(known: Mapping[str, Mapping[str, Found]]) -> str:
    """Return the table of all that is known, as a page."""
    packages = ("torch", "timm", "transformers", "torchvision")
    ways = [way for way in WAYS if any(way in one for one in known.values())]
    about = [f"{name}: {text}" for name, text in describe().items()]
    about += ["versions: " + ", ".join(f"{name} {version(name)}" for name in packages)]
    about += [f"measured: {date.today().isoformat()}, on one thread"]
    return "\n".join((
        "# Models of PyTorch",
        "",
        "Models of timm, transformers and torchvision, with random weights. `python -m benchmarks.torch_zoo` measures",
        "them, and says what the columns are.",
        "",
        *(f"* {text}" for text in about),
        "",
        *(f"* {summary(way, known)}" for way in ways),
        f"* {len(known)} of {len([*names()])} models were tried.",
        "",
        "| model |" + "".join(f" {way} | first result | time |" for way in ways),
        "|---|" + "---|---:|---:|" * len(ways),
        *(line(name, known[name], ways) for name in names() if name in known),
        "",
    ))  # fmt: skip


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the models."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.torch_zoo", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=300, help="the time limit of a model in one way (300)")
    parser.add_argument("--only", nargs="+", default=[""], metavar="TEXT", help="only models with these in their names")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="only one of N models")
    parser.add_argument("--ways", nargs="+", choices=WAYS, default=WAYS)
    parser.add_argument("--sizes", type=int, choices=[1, 2], default=2, help="the number of sizes of calls (2)")
    parser.add_argument("--results", type=Path, default=Path("build/torch_zoo.json"), help="the file of results")
    parser.add_argument("--again", action="store_true", help="also what is in the file of results")
    parser.add_argument("--page", type=Path, metavar="FILE", help="write the table to a file, and measure nothing")
    options = parser.parse_args(arguments)
    path: Path = options.results
    known: dict[str, dict[str, Found]] = json.loads(path.read_text()) if path.exists() else {}
    if options.page:
        options.page.write_text(page(known))
        return 0
    limit_threads(1)
    set_forkserver_preload(["benchmarks.torch_packages"])
    path.parent.mkdir(parents=True, exist_ok=True)
    chosen = [name for name in names() if any(text in name for text in options.only)][:: options.every]
    for way in options.ways:
        for name in chosen:
            row = known.setdefault(name, {})
            if options.again or way not in row:
                row[way] = examined(
                    examine, name, way, options.sizes, seconds=options.seconds, blame=_blame, method="forkserver"
                )
                path.write_text(json.dumps(known, indent=1))
            print(line(name, row, [way]), flush=True)
        print(summary(way, known))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
