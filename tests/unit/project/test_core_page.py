"""The page `docs/core.md`: what it says is where it says, in the order in which a build gets there."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
TEXT = (ROOT / "docs" / "core.md").read_text()
WALK, _, INDEX = TEXT.partition("## Where is it decided?")
ANSWERS: list[tuple[str, str, str]] = re.findall(r"^\| (.+\?) \| `([\w/.]+)` \| `([\w.]+)` \|$", INDEX, re.MULTILINE)

TRACED = """
import sys
from relex.runtime import build

entered = {}

def enter(frame, event, argument):
    if event == "call":
        entered.setdefault(frame.f_code.co_filename)

import numpy
x, w = numpy.ones((4, 8), "float32"), numpy.ones((16, 8), "float32")
sys.setprofile(enter)
build(sys.argv[1], cache=False)["main"](x, w)
sys.setprofile(None)
print(*entered, sep=chr(10))
"""
"""Prints the files of the functions that building and calling the program of the page calls, in order."""

ONLY_NUMBERS = "passes/cpu/cost.py"
"""A file without functions."""


@pytest.mark.parametrize(("question", "file", "function"), ANSWERS)
def test_answers_are_there(question: str, file: str, function: str) -> None:
    body: list[ast.stmt] = ast.parse((ROOT / file).read_text()).body
    for name in function.split("."):
        (found,) = (n for n in body if isinstance(n, ast.ClassDef | ast.FunctionDef) and n.name == name)
        body = found.body


def test_every_question_has_an_answer() -> None:
    assert len(ANSWERS) == sum(line.startswith("| ") for line in INDEX.splitlines()) - 1 > 20


def test_files_are_named_in_the_order_in_which_a_build_enters_them() -> None:
    (program,) = re.findall(r"^```mlir\n(.*?)^```$", WALK, re.MULTILINE | re.DOTALL)
    command = [sys.executable, "-c", TRACED, program]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    # Packages may be links to their folders.
    paths = [Path(line).resolve() for line in printed if not line.startswith("<")]
    entered = [path.relative_to(ROOT).as_posix() for path in paths if path.is_relative_to(ROOT)]
    items: list[str] = re.findall(r"^\d+\. (.*?)(?=^\d+\. |^## |\Z)", WALK, re.MULTILINE | re.DOTALL)
    last = [
        max(entered.index(file) for file in re.findall(r"`([\w/]+\.py)`", item) if file != ONLY_NUMBERS)
        for item in items
    ]
    assert len(items) > 20
    assert last == sorted(last)
