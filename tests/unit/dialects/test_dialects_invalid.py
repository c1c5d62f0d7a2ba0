"""
Wrong programs of the dialects: the exact message, line and column of every mistake.

The programs are in tests/lit/dialects/*/invalid.mlir. Below the line of a mistake stands `// ^ error: message`,
the caret at its column, or `//< error: message` for column 1.
"""

import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from relex.dialects import CompileError, parse_module

FOLDER = Path(__file__).parents[2] / "lit" / "dialects"
FILES = sorted(FOLDER.glob("*/invalid.mlir"))
ANNOTATION = re.compile(r"//(?P<caret> *[\^<]) error: (?P<message>.*)")


@dataclass(frozen=True)
class Program:
    """One chunk of a file: its text, the lines before it, and its mistakes as (line, column, message)."""

    path: Path
    text: str
    offset: int
    mistakes: list[tuple[int, int, str]]

    def __str__(self) -> str:
        return f"{self.path.parent.name}-{self.offset + 1}"


def read_programs(path: Path) -> list[Program]:
    programs: list[Program] = []
    offset = 0
    for text in re.split(r"^// -----$", path.read_text(), flags=re.MULTILINE):
        mistakes: list[tuple[int, int, str]] = []
        place = 0
        for number, line in enumerate(text.split("\n"), offset + 1):
            if (annotation := ANNOTATION.fullmatch(line)) is None:
                place = number
                continue
            caret = annotation["caret"]
            mistakes.append((place, 1 if caret == "<" else len("//" + caret), annotation["message"]))
        programs.append(Program(path, text, offset, mistakes))
        offset += text.count("\n")
    return programs


@pytest.mark.parametrize("program", [p for path in FILES for p in read_programs(path)], ids=str)
def test_every_mistake_is_named_at_its_place(program: Program):
    with pytest.raises(CompileError) as error:
        parse_module(program.text, "file.mlir", line_offset=program.offset)
    found = error.value.diagnostics
    assert [(d.line, d.column, d.message) for d in found] == program.mistakes
    lines = program.path.read_text().split("\n")
    for diagnostic in found:
        assert diagnostic.file == "file.mlir"
        assert diagnostic.source_line == lines[diagnostic.line - 1]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.parent.name)
def test_the_tool_goes_on_behind_a_wrong_program(path: Path):
    tool = Path(sys.executable).parent / "relex-opt"
    run = subprocess.run([tool, path, "--split-input-file"], capture_output=True, text=True)
    assert run.returncode == 1
    assert "Traceback" not in run.stderr
    found = re.findall(rf"^{re.escape(str(path))}:(\d+):(\d+): error: (.*)$", run.stderr, flags=re.MULTILINE)
    expected = [mistake for program in read_programs(path) for mistake in program.mistakes]
    assert [(int(line), int(column), message) for line, column, message in found] == expected
