"""The documentation site is built without a warning, and searched without a network."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import make_site
import navigation
import pytest

for _package in ("furo", "myst_parser", "sphinx"):
    pytest.importorskip(_package, reason="needs the packages of the extra docs")


def test_site(tmp_path: Path) -> None:
    command = [sys.executable, make_site.__file__, "--output", str(tmp_path)]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (run.returncode, run.stderr) == (0, "")
    html = tmp_path / "html"
    assert run.stdout == f"{html / 'index.html'}\n"
    pages = [page for part in navigation.NAVIGATION.values() for page in part]
    assert [page for page in pages if not (html / page).with_suffix(".html").exists()] == []
    assert "glossari" in (html / "searchindex.js").read_text()
    assert 'class="k">func.func' in (html / "index.html").read_text()
