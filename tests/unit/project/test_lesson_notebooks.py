"""The lessons as notebooks: they have the code of the pages, run in a kernel, and show what the pages show."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import make_site
import notebooks
import pytest
from navigation import NOTEBOOKS

ROOT = Path(__file__).parents[3]
IN_FULL = ("2-end-to-end", "4-libraries", "tour")
"""The pages that run in a kernel with --full only: starts take seconds, and test_docs.py runs the code of all pages."""


def notebook_of(page: str) -> Any:
    nbformat = pytest.importorskip("nbformat", reason="nbformat is not installed")
    made = nbformat.reads(notebooks.make_notebook(page), 4)
    nbformat.validate(made)
    return made


def cells_of(page: str) -> list[Any]:
    return notebook_of(page).cells


def shown_by(outputs: Sequence[Mapping[str, Any]]) -> str:
    """The text that a cell prints or shows."""
    texts = (o["text"] if o["output_type"] == "stream" else f"{o['data']['text/plain']}\n" for o in outputs)
    return "".join(texts)


def in_color(output: Mapping[str, Any]) -> bool:
    return "text/html" in output.get("data", {})


@pytest.mark.parametrize("page", NOTEBOOKS)
def test_cells_are_those_of_the_page(page: str) -> None:
    text, cells = (ROOT / page).read_text(), cells_of(page)
    code = [cell for cell in cells if cell.cell_type == "code"]
    assert [f"{cell.source}\n" for cell in code] == re.findall(r"^```python\n(.*?)^```$", text, re.M | re.S)
    blocks: list[tuple[str, str]] = re.findall(r"^```(mlir|diff|text)\n(.*?)^```$", text, re.M | re.S)
    assert [shown_by(cell.outputs) for cell in code if cell.outputs] == [printed for _, printed in blocks]
    prose = "\n".join(cell.source for cell in cells if cell.cell_type == "markdown")
    assert prose.startswith("# ")
    assert "```python" not in prose
    linked: list[str] = re.findall(r"\]\(([^)]*)\)", prose)
    assert {target for target in linked if ":" not in target} <= {notebooks.name_of(page) for page in NOTEBOOKS}


def test_headings_and_links_stay() -> None:
    cells = cells_of("docs/lessons/2-end-to-end.md")
    assert cells[0].source.startswith(
        "# Lesson 2: a network from end to end\n\n[Lesson 1](1-tensor-functions.ipynb) wrote"
    )
    assert "```mermaid" in cells[0].source
    assert any("\n## " in f"\n{cell.source}" for cell in cells[1:] if cell.cell_type == "markdown")


def test_modules_and_changes_are_in_color() -> None:
    outputs = [
        output
        for cell in cells_of("docs/lessons/3-transformations.md")
        if cell.cell_type == "code"
        for output in cell.outputs
    ]
    shown = [output.data["text/html"] for output in outputs if output.output_type == "display_data"]
    assert any('<div class="added">' in html for html in shown)
    assert all('<span class="op">' in html for html in shown)


def test_the_site_offers_them(tmp_path: Path) -> None:
    page = "docs/lessons/1-tensor-functions.md"
    make_site.write_page(tmp_path, page, set(make_site.written_pages()))
    lines = (tmp_path / page).read_text().splitlines()
    assert lines[4] == "{download}`This page as a Jupyter notebook <1-tensor-functions.ipynb>`"
    assert (tmp_path / "docs/lessons/1-tensor-functions.ipynb").read_text() == notebooks.make_notebook(page)
    make_site.write_page(tmp_path, "docs/sizes.md", set(make_site.written_pages()))
    assert "{download}" not in (tmp_path / "docs/sizes.md").read_text()


@pytest.mark.parametrize(
    "page", [pytest.param(p, marks=[pytest.mark.full] if Path(p).stem in IN_FULL else []) for p in NOTEBOOKS]
)
# Packages of Jupyter warn of each other.
@pytest.mark.filterwarnings("default")
def test_they_run(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("ipykernel", reason="ipykernel is not installed")
    nbclient = pytest.importorskip("nbclient", reason="nbclient is not installed")
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    notebook = notebook_of(page)
    expected = [cell.outputs for cell in notebook.cells if cell.cell_type == "code"]
    nbclient.NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(tmp_path)}}).execute()
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert len(cells) > 5
    for cell, outputs in zip(cells, expected, strict=True):
        # A line that says `...` stands for several.
        parts = re.split(r"^\s*\.\.\.\n", shown_by(outputs), flags=re.MULTILINE)
        assert re.fullmatch(".*".join(map(re.escape, parts)), shown_by(cell.outputs), re.DOTALL), cell.source
        # What a cell shows in color is in color without running it, too.
        if any(map(in_color, cell.outputs)):
            assert any(map(in_color, outputs)), cell.source
    shows = any(re.search(r"\bshow\(", cell.source) for cell in cells)
    assert shows == any(in_color(output) for cell in cells for output in cell.outputs)
