"""
Good programs with a mistake in them: relex-opt says what is wrong, or takes them; it never stumbles, hangs or crashes.

RELEX_MUTATIONS and RELEX_MUTATION_SEED make a longer or another search.
"""

from __future__ import annotations

import os
import random
import re
import signal
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from relex.tools.opt.relex_opt import main

ROOT = Path(__file__).parents[3]
COUNT = int(os.environ.get("RELEX_MUTATIONS", "250"))
SEED = int(os.environ.get("RELEX_MUTATION_SEED", "0"))
SECONDS_PER_CASE = 300
"""After which something hangs, on the slowest of machines."""
MAX_LENGTH = 4000

TOKEN = re.compile(r'"[^"\n]*"|[%@^#!]?[\w.$-]+|->|\S')
PIPELINES = [
    [],
    ["--print-op-generic"],
    ["-p", "canonicalize,cse"],
    ["-p", "relex-pipeline{to=loops}"],
    ["-p", "relex-pipeline{to=llvm}"],
    ["-p", "convert-to-llvm"],
    ["-p", "convert-arith-to-llvm,convert-func-to-llvm,convert-cf-to-llvm,finalize-memref-to-llvm"],
    ["-p", "relex-pipeline{to=llvm}", "-t", "llvm"],
    ["--report-unsupported"],
]


def programs() -> list[str]:
    """The good programs of the repository, without comments."""
    files = [*sorted((ROOT / "examples").rglob("*.mlir")), *sorted((ROOT / "tests" / "lit").rglob("*.mlir"))]
    texts = [text for file in files for text in re.split(r"^// -----$", file.read_text(), flags=re.MULTILINE)]
    plain = (re.sub(r"^ *//.*\n", "", text, flags=re.MULTILINE).strip() for text in texts)
    return [text for text in plain if 0 < len(text) <= MAX_LENGTH]


def delete(text: str, rng: random.Random) -> str:
    token = rng.choice(list(TOKEN.finditer(text)))
    return text[: token.start()] + text[token.end() :]


def double(text: str, rng: random.Random) -> str:
    token = rng.choice(list(TOKEN.finditer(text)))
    return f"{text[: token.end()]} {token[0]}{text[token.end() :]}"


def swap(text: str, rng: random.Random) -> str:
    """Exchange two tokens: near ones, or any two."""
    tokens = list(TOKEN.finditer(text))
    i = rng.randrange(len(tokens))
    j = rng.choice([min(i + 1, len(tokens) - 1), rng.randrange(len(tokens))])
    first, second = sorted((tokens[i], tokens[j]), key=lambda token: token.start())
    if first is second:
        return text
    between = text[first.end() : second.start()]
    return text[: first.start()] + second[0] + between + first[0] + text[second.end() :]


def replace(text: str, rng: random.Random) -> str:
    """Write one token of the program in the place of another."""
    tokens = list(TOKEN.finditer(text))
    old, new = rng.choice(tokens), rng.choice(tokens)
    return text[: old.start()] + new[0] + text[old.end() :]


def truncate(text: str, rng: random.Random) -> str:
    return text[: rng.randrange(len(text))]


def change_character(text: str, rng: random.Random) -> str:
    i = rng.randrange(len(text))
    return text[:i] + rng.choice("\0\t\n \"#%&'()*+,-./09:;<=>?@AZ[\\]^_`az{|}~\x7f\u00e9\U0001f600") + text[i + 1 :]


def delete_line(text: str, rng: random.Random) -> str:
    lines = text.split("\n")
    del lines[rng.randrange(len(lines))]
    return "\n".join(lines)


def swap_lines(text: str, rng: random.Random) -> str:
    lines = text.split("\n")
    i, j = rng.randrange(len(lines)), rng.randrange(len(lines))
    lines[i], lines[j] = lines[j], lines[i]
    return "\n".join(lines)


MUTATIONS: list[Callable[[str, random.Random], str]] = [
    delete,
    double,
    swap,
    replace,
    truncate,
    change_character,
    delete_line,
    swap_lines,
]


def mutate(text: str, rng: random.Random) -> str:
    for _ in range(rng.choice([1, 1, 1, 2, 3])):
        if TOKEN.search(text):
            text = rng.choice(MUTATIONS)(text, rng)
    return text


class Hang(BaseException):
    """No part of the compiler may catch this."""


@contextmanager
def limited(seconds: int) -> Generator[None]:
    def stop(number: int, frame: object) -> None:
        raise Hang

    old = signal.signal(signal.SIGALRM, stop)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, old)


def problem(text: str, args: list[str], path: Path, capture: pytest.CaptureFixture[str]) -> str | None:
    """What relex-opt should not have done with a program."""
    path.write_text(text)
    try:
        with limited(SECONDS_PER_CASE):
            code = main([str(path), *args])
    except (Exception, Hang) as e:
        capture.readouterr()
        return f"raised {type(e).__name__}: {e}"
    error = capture.readouterr().err
    if code == 0:
        return None
    if not re.match(rf"{re.escape(str(path))}(:\d+:\d+)?: error: \S", error):
        return f"said {error!r}"
    return error if "internal error" in error or "Traceback" in error else None


def test_mutated_programs(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    rng = random.Random(SEED)
    good = programs()
    assert len(good) > 50
    failures: list[str] = []
    for _ in range(COUNT):
        text, args = mutate(rng.choice(good), rng), rng.choice(PIPELINES)
        if (found := problem(text, args, tmp_path / "a.mlir", capsys)) is not None:
            failures.append(f"{' '.join(args)}\n{text}\n==> {found}")
    assert not failures, "\n\n".join(failures)


@pytest.mark.parametrize("name", ["mlp.mlir", "mlp_tir.mlir"])
def test_truncated_programs(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    """Some of the places where a file may end, from one end to the other."""
    text = (ROOT / "examples" / "digits" / name).read_text()
    for end in range(0, len(text), max(1, len(text) // 50)):
        assert problem(text[:end], [], tmp_path / "a.mlir", capsys) is None
