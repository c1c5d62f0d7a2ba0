"""
Mistakes that other compilers made, with the numbers of their reports: relex does not make them.

A file has one program after the other: graphs in `graphs.mlir`, loop functions in `loops.mlir`, ONNX models in
`models.txt`, in the text format of the package onnx. In front of each are comments:

* `owner/repository#number: ...`, what was wrong there; the program itself is ours, and as small as possible;
* `NAME: EXPRESSION`, an argument, if random numbers will not do;
* `expect: EXPRESSION`, what the program computes of its arguments by NumPy, or several results;
* `refused: TEXT`, a part of the error that it is refused with;
* `passes: PIPELINE`, passes that leave its results as they are.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, cast

from onnx import ModelProto, checker, helper, parser
from xdsl.dialects.builtin import ModuleOp

from relex.dialects import parse_module
from relex.frontend.onnx import from_onnx

FOLDER = Path(__file__).parent
FILES = ("graphs.mlir", "loops.mlir", "models.txt")

REPORT = re.compile(r"^(?://|#) ((?:[\w.-]+/[\w.-]+#\d+(?:, )?)+): (.*)$")
FIELD = re.compile(r"^(?://|#) (\w+): (.*)$")


@dataclass(frozen=True)
class Replay:
    """A program, the reports of what was wrong with such a one, and what it computes."""

    reports: str
    what: str
    fields: Mapping[str, str]
    text: str
    file: str

    @property
    def module(self) -> ModuleOp:
        """Its program, alone in a module."""
        return from_onnx(model(self.text)) if self.file == "models.txt" else parse_module(self.text, self.file)

    @property
    def name(self) -> str:
        """The name of its function."""
        found = re.search(r"@(\w+)\(", self.text)
        return found[1] if found else "main"


@cache
def replays(name: str) -> list[Replay]:
    """Return the programs of a file."""
    found: list[Replay] = []
    for part in re.split(r"\n\n(?=// |# )", (FOLDER / name).read_text(encoding="utf-8"))[1:]:
        lines = part.splitlines()
        report = REPORT.match(lines[0])
        assert report, lines[0]
        fields = {match[1]: match[2] for line in lines[1:] if (match := FIELD.match(line))}
        text = "\n".join(line for line in lines if not line.startswith(("// ", "# ")))
        found.append(Replay(report[1], report[2], fields, text, name))
    return found


def model(text: str) -> ModelProto:
    """Return a model of the text of a graph."""
    made = helper.make_model(parser.parse_graph(text), opset_imports=[helper.make_opsetid("", 17)])
    cast(Any, checker).check_model(made)
    return made
