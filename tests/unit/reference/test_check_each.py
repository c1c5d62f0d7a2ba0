"""Every pass keeps what functions compute: over all programs of the lit tests, and the examples."""

from __future__ import annotations

import io
import re
import shlex
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from relex import lowering, passes
from relex.reference.equivalence import execution
from relex.tools.opt.relex_opt import main
from relex.tools.options.pipelines import flatten, instantiate, parse_passes

ROOT = Path(__file__).parents[3]
LIT = ROOT / "tests" / "lit"


def commands(path: Path) -> list[list[str]]:
    """The arguments of the relex-opt calls in the RUN lines of a file that run passes on files and are to succeed."""
    found: list[list[str]] = []
    for line in re.findall(r"^// RUN: (relex-opt [^|<>\n]*)", path.read_text(), re.MULTILINE):
        text = re.sub(r"&&.*|-o \S+|\d$", "", line).replace("%s", str(path)).replace("%S", str(path.parent))
        words = shlex.split(text)[1:]
        if (
            "%t" not in text
            and "examples" not in text
            and any(word.startswith("-p") for word in words)
            and words not in found
        ):
            found.append(words)
    return found


LEFT_OUT = (
    *("check-each.mlir", "legalize-ops-overrides.mlir", "verify-roundtrip.mlir", "load-passes.mlir"),
    *("fuzz-pass.mlir", "bisect.mlir", "failing-passes.mlir", "schedule-cpu-asm.mlir"),
)
"""Files that load what changes programs, and one with kernels that take long and that `schedule-cpu.mlir` has too."""


def steps(words: list[str]) -> tuple[str, ...]:
    """The file of a command, its options but for the form of the output, and the passes, with pipelines split."""
    words = shlex.split(re.sub(r" -t \w+| --print-op-generic", "", shlex.join(words)))
    known = {**passes.PASSES, **lowering.PASSES}
    at = words.index("-p") if "-p" in words else len(words)
    found = [str(Path(words[0]).resolve()), *words[1:at], *words[at + 2 :]]
    for spec in parse_passes("".join(words[at + 1 : at + 2])):
        is_ours = spec.name in known
        found += map(repr, flatten(instantiate("pass", known[spec.name](), spec))) if is_ours else [str(spec)]
    return tuple(found)


# Each pass is checked, so that the longest of several pipelines on the same file is enough.
CHAINS = {
    steps(words): (f"{path.relative_to(LIT)}-{i}", words)
    for path in sorted(LIT.rglob("*.mlir"))
    if path.name not in LEFT_OUT
    for i, words in enumerate(commands(path))
}
COMMANDS = dict(
    named
    for chain, named in CHAINS.items()
    if not any(len(other) > len(chain) and other[: len(chain)] == chain for other in CHAINS)
)


ENOUGH = 2
"""The number of programs that each pass is checked on, unless all are wanted."""


def cases() -> Iterator[object]:
    """The commands, while their passes have not been met often enough."""
    met: Counter[str] = Counter()
    for name, words in COMMANDS.items():
        _, *used = (step.partition("(")[0] for step in steps(words) if not step.startswith("-"))
        # Programs of other files, for the tools of MLIR.
        is_repeated = name.split("/")[-1].startswith(("mlir-opt.mlir", "from-mlir-opt.mlir"))
        is_more = is_repeated or all(met[step] >= ENOUGH for step in used)
        if not is_more:
            met.update(set(used))
        yield pytest.param(name, marks=[pytest.mark.full] if is_more else [])


def run(words: list[str], monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> str:
    """What relex-opt says on stderr; it must succeed."""
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(io.BytesIO()))
    code = main([*words, "--check-each=samples:1"])
    err = capfd.readouterr().err
    assert code == 0, err
    return err


def test_commands_are_found() -> None:
    assert len(COMMANDS) > 30
    assert any("relex-pipeline" in word for words in COMMANDS.values() for word in words)


@pytest.mark.parametrize("name", list(cases()))
def test_lit_inputs(name: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(execution, "STEPS", 20_000)
    run(COMMANDS[name], monkeypatch, capfd)


# The package of the other folder is not installed here.
EXAMPLES = [path for path in sorted(ROOT.glob("examples/**/*.mlir")) if path.parent.name != "out_of_tree"]


@pytest.mark.parametrize(
    "example",
    # What LeNet consists of is checked operator by operator in `test_equivalence.py`, and `mlp_tir` is `mlp` in loops.
    [
        pytest.param(path, marks=pytest.mark.full if path.stem in ("lenet", "mlp_tir") else [], id=path.stem)
        for path in EXAMPLES
    ],
)
def test_examples(example: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    # What takes more at one level is compared at the next, as machine code in the end.
    monkeypatch.setattr(execution, "STEPS", 10_000)
    err = run([str(example), "-p", "relex-pipeline"], monkeypatch, capfd)
    assert "after pass 'convert-to-llvm'" not in err
