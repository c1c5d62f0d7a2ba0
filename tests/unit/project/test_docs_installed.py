"""Readers who have installed relex's wheel can follow every page of the documentation, in an empty folder."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest
from distributions import ROOT, installed_wheel
from follow_page import steps
from machines import CACHE
from started import tools
from test_docs import DOCS, IN_PYTHON, SESSIONS

if int(version("setuptools").partition(".")[0]) < 77:
    pytest.skip("needs setuptools 77", allow_module_level=True)

OTHERS = ("operators.md",)
"""Pages whose blocks are the examples of docstrings."""

PAGES = [
    page
    for page in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    if page.name not in OTHERS and any(step.kind in ("command", "python") for step in steps(page.read_text()))
]

FOLLOWED = {DOCS / page for page in (*IN_PYTHON, *SESSIONS, "first-steps.md", "onnx.md", "torch.md")}
"""Pages that another test follows in an empty folder: the wheel has the same files (see `test_packaging.py`)."""


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, id=str(page.relative_to(ROOT)), marks=[pytest.mark.full] if page in FOLLOWED else [])
        for page in PAGES
    ],
)
def test_page(page: Path, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    packages = installed_wheel(tmp_path_factory)
    programs = tools(packages)
    home, work = tmp_path / "home", tmp_path / "work"
    home.mkdir()
    work.mkdir()
    path = os.pathsep.join([str(programs), str(Path(sys.executable).parent), os.environ["PATH"]])
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "RELEX"))}
    follow = [
        programs / "python",
        "-W",
        "error",
        ROOT / "tests" / "unit" / "support" / "follow_page.py",
        page,
        packages,
    ]
    # The C libraries that zig has compiled take half a minute each.
    environment = {**clean, "PATH": path, "HOME": str(home), "ZIG_GLOBAL_CACHE_DIR": str(CACHE)}
    run = subprocess.run(follow, cwd=work, env=environment, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout + run.stderr
