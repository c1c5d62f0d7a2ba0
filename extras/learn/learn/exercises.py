"""The exercises as people read them: a title, a task, a file to begin with, and hints. Answers are in files apart."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from relex.dialects.spelling import advice
from relex.tools.shell.diagnostics import ToolError

SUFFIXES = {"python": ".py", "mlir": ".mlir"}
"""The suffixes of solutions, by the language of their block."""

BLOCK = re.compile(r"^```(python|mlir)\n(.*?)^```\n", re.MULTILINE | re.DOTALL)
HEADING = re.compile(r"^## (\d+\.\d+) (.*)\n", re.MULTILINE)
HINT = re.compile(r"^\d+\. (.*(?:\n   .*)*)", re.MULTILINE)


LESSONS = ("1", "2", "3", "4", "5", "6")


@dataclass(frozen=True)
class Exercise:
    """An exercise of a lesson. `start` is the file to begin with, `suffix` the suffix of its name."""

    number: str
    title: str
    task: str
    start: str
    suffix: str
    hints: Sequence[str]

    @property
    def file(self) -> str:
        """The name of its solution."""
        return f"{self.number}{self.suffix}"


def _sections(name: str) -> dict[str, tuple[str, str]]:
    """Return the titles and texts of a file of the folder `lessons`, by number."""
    parts = HEADING.split((files("relex.tools.learn") / "lessons" / name).read_text(encoding="utf-8"))[1:]
    return {number: (title, text) for number, title, text in zip(parts[::3], parts[1::3], parts[2::3], strict=True)}


@cache
def exercises() -> Mapping[str, Exercise]:
    """Return all exercises, by number."""
    found: dict[str, Exercise] = {}
    for lesson in LESSONS:
        for number, (title, text) in _sections(f"{lesson}.md").items():
            task, hints = text.split("### Hints")
            block = BLOCK.search(task)
            assert block is not None, number
            words = BLOCK.sub("", task).strip()
            shown = tuple(hint.replace("\n   ", "\n") for hint in HINT.findall(hints))
            found[number] = Exercise(number, title, words, block[2], SUFFIXES[block[1]], shown)
    return found


def find_exercise(number: str) -> Exercise:
    """Return an exercise. Raises `ToolError`, with a similar number, if there is none."""
    known = exercises()
    if number not in known:
        raise ToolError(f"no exercise '{number}'; {advice(number, known, 'relex-learn list shows all of them')}")
    return known[number]


def answer_of(exercise: Exercise) -> str:
    """Return a solution."""
    block = BLOCK.search(_sections(f"{exercise.number.partition('.')[0]}.answers.md")[exercise.number][1])
    assert block is not None, exercise.number
    return block[2]
