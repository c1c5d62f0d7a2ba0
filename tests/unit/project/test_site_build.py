"""The documentation site is built without a warning, and searched without a server or a network."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import make_site
import navigation
import pytest

for _package in ("furo", "myst_parser", "sphinx"):
    pytest.importorskip(_package, reason="needs the packages of the extra docs")

CHROMIUM = shutil.which("chromium")


@pytest.fixture(scope="module")
def html(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, make_site.__file__, "--output", str(folder)]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (run.returncode, run.stderr) == (0, "")
    assert run.stdout == f"{folder / 'html' / 'index.html'}\n"
    return folder / "html"


def test_all_pages_are_there(html: Path) -> None:
    pages = [page for part in navigation.NAVIGATION.values() for page in part]
    assert [page for page in pages if not (html / page).with_suffix(".html").exists()] == []
    assert 'class="k">func.func' in (html / "index.html").read_text()


@pytest.mark.parametrize("word", ["tiling", "roofline", "quantize", "bfloat16", "autotuning", "tutorial"])
def test_words_that_people_type_are_in_the_index(word: str, html: Path) -> None:
    index = json.loads((html / "searchindex.js").read_text().removeprefix("Search.setIndex(").removesuffix(")"))
    stem: Any = import_module("sphinx.search.en").SearchEnglish({}).stem
    found: int | list[int] = index["terms"][stem(word)]
    places = [found] if isinstance(found, int) else found
    names = {index["docnames"][place] for place in places}
    assert "docs/glossary" in names


def test_pages_are_listed_by_kind(html: Path) -> None:
    captions = re.findall(r'class="caption-text">([^<]*)<', (html / "index.html").read_text())
    assert {caption.partition(":")[0] for caption in captions} == {"Start", "Course", "How-to", "Reference"}
    page = (html / "docs" / "onnx.html").read_text()
    assert re.search(r"<em>How-to: \d+ minutes to read.</em>", page)


@pytest.mark.skipif(CHROMIUM is None, reason="chromium was not found")
def test_search(html: Path, tmp_path: Path) -> None:
    assert CHROMIUM is not None
    chromium = [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path / 'profile'}"]
    # Its clock goes as fast as it can, for 10,000 milliseconds: results appear one after the other.
    options = ["--host-resolver-rules=MAP * ~NOTFOUND", "--virtual-time-budget=10000", "--dump-dom"]
    address = f"{(html / 'search.html').as_uri()}?q=footprint"
    page = subprocess.run(
        [*chromium, *options, address], capture_output=True, text=True, timeout=120, check=True
    ).stdout
    found: list[str] = re.findall(r'<li class="kind-\w+"><a href="([^"?]*)', page)
    assert {"docs/glossary.html", "reference/primitives.html"} <= {*found}
