"""One name for one thing: classes have different names, and so have nearly all files."""

from __future__ import annotations

import ast
import subprocess
from collections import defaultdict
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
SOURCE = ("api", "relex_dialects", "passes", "lowering", "runtime", "reference", "frontend", "tools", "extras")


def source_files() -> list[Path]:
    listed = subprocess.run(["git", "ls-files", *SOURCE], cwd=ROOT, capture_output=True, text=True, check=False)
    if listed.returncode:
        pytest.skip("needs a checkout")
    paths = [Path(line) for line in listed.stdout.splitlines() if line.endswith(".py")]
    return [path for path in paths if "tests" not in path.parts and "template" not in path.parts]


def test_no_two_classes_have_the_same_name():
    files: dict[str, list[str]] = defaultdict(list)
    for path in source_files():
        for node in ast.walk(ast.parse((ROOT / path).read_text())):
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                files[node.name].append(str(path))
    assert len(files) > 500
    assert {name: found for name, found in files.items() if len(found) > 1} == {}


def test_at_most_three_files_have_the_same_name():
    files: dict[str, list[str]] = defaultdict(list)
    for path in source_files():
        if path.name != "__init__.py":
            files[path.name].append(str(path))
    assert len(files) > 400
    assert {name: found for name, found in files.items() if len(found) > 3} == {}
