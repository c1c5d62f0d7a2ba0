"""The programs that the documentation shows are what the tools print."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from relex.dialects.parser import parse_module

DOCS = Path(__file__).parents[2] / "docs"
RELEX_OPT = [str(Path(sys.executable).parent / "relex-opt")]


def steps(page: str) -> list[tuple[str | None, str]]:
    """The blocks of a page, each with the `relex-opt` command in front of it."""
    pattern = r"(?:^`relex-opt ([^`]*)`\n\n)?^```(?:mlir|llvm)\n(.*?)^```$"
    found = re.findall(pattern, (DOCS / page).read_text(), re.MULTILINE | re.DOTALL)
    return [(command or None, text) for command, text in found]


def assert_shows(shown: str, printed: str) -> None:
    """Every run of lines between lines that say `...` stands in the printed text, in this order.

    A line that ends with an open parenthesis shows the beginning of a line.
    """
    lines = [line.strip() for line in printed.splitlines()]
    at = 0
    for part in re.split(r"^\s*\.\.\.\s*$", shown, flags=re.MULTILINE):
        wanted = [line.strip() for line in part.strip().splitlines()]
        places = (i for i in range(at, len(lines) - len(wanted) + 1) if all(map(same, wanted, lines[i:])))
        start = next(places, None)
        assert start is not None, f"not printed:\n{part}\nin:\n{printed}"
        at = start + len(wanted)


def same(wanted: str, line: str) -> bool:
    return line.startswith(wanted) if wanted.endswith("(") else line == wanted


@pytest.mark.parametrize("page", ["llvm.md"])
def test_each_block_is_what_the_command_prints(page: str) -> None:
    text = ""
    for command, shown in steps(page):
        if command is None:
            text = shown
            parse_module(text)
            continue
        arguments = [word for word in command.split() if not word.endswith(".mlir")]
        text = subprocess.run([*RELEX_OPT, *arguments], input=text, capture_output=True, text=True, check=True).stdout
        assert_shows(shown, text)


def test_adding_an_op(tmp_path: Path) -> None:
    """The files of the page make a package whose own test passes, and the command prints what the page shows."""
    page = (DOCS / "adding-an-op.md").read_text()
    files: dict[str, str] = {}
    for name, text in re.findall(r"^`([\w.]+)`\n\n^```\w+\n(.*?)^```$", page, re.MULTILINE | re.DOTALL):
        files[name] = "\n\n".join([*filter(None, [files.get(name)]), text])
    assert files.keys() == {"audio.py", "program.mlir", "test_audio.py"}
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    pytest_here = [sys.executable, "-m", "pytest", "-q", "-W", "error", "-p", "no:cacheprovider", "test_audio.py"]
    run = subprocess.run(pytest_here, cwd=tmp_path, capture_output=True, text=True)
    assert run.returncode == 0, run.stdout
    ((command, shown),) = [step for step in steps("adding-an-op.md") if step[0] is not None]
    assert command is not None
    arguments = command.split()
    printed = subprocess.run([*RELEX_OPT, *arguments], cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    assert_shows(shown, printed)


def test_something_else_is_noticed() -> None:
    assert_shows("a\n...\nc(\n", "a\nb\nc(d)\n")
    for wrong in ("b\n...\na\n", "a\nc\n", "...\nd\n"):
        with pytest.raises(AssertionError):
            assert_shows(wrong, "a\nb\nc\n")
