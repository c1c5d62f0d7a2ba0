"""Everything that the README shows is true."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from relex.dialects import parse_module
from relex.lowering import LegalizeOpsPass

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()
BLOCKS: list[tuple[str, str]] = re.findall(r"^```(\w*)\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)


def blocks(language: str) -> list[str]:
    return [text for found, text in BLOCKS if found == language]


def test_before_and_after() -> None:
    before, after = (parse_module(text) for text in blocks("mlir"))
    assert LegalizeOpsPass()(before).is_structurally_equivalent(after)
    assert len(blocks("mlir")[1].splitlines()) < 25


@pytest.mark.parametrize("code", blocks("python"), ids=lambda code: code.split("\n", 1)[0])
def test_python(code: str, tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(code)
    subprocess.run([sys.executable, "-W", "error", "program.py"], cwd=tmp_path, check=True, capture_output=True)


def test_shell(tmp_path: Path) -> None:
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    for command in "".join(blocks("sh")).splitlines():
        subprocess.run(
            shlex.split(command), cwd=tmp_path, env={**os.environ, "PATH": path}, check=True, capture_output=True
        )
    assert (tmp_path / "mlp.o").stat().st_size > 0
    assert (tmp_path / "y.npy").stat().st_size > 0


def test_make_targets() -> None:
    makefile = (ROOT / "Makefile").read_text()
    for target in re.findall(r"make (\w+)", README):
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target


def test_map() -> None:
    folders = re.findall(r"^\| `([\w/]+)` ", README, re.MULTILINE)
    assert folders
    for folder in folders:
        assert (ROOT / folder).is_dir(), folder
