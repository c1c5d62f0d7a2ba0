"""Builds the documentation site: `make docs`.

The pages are copied to `build/docs/source`, together with those made from the code; Sphinx makes `build/docs/html` of
them. Anything that it warns of is an error, and so is a link that leads nowhere, or a file that would be fetched from
the web.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from posixpath import relpath

from dialect_pages import dialect_pages
from html_check import mistakes
from in_page import add_pyodide
from links import broken, relinked, resolved
from navigation import HOME, NAVIGATION, NOTEBOOKS, TASKS, about, written_pages
from notebooks import make_notebook, name_of
from pictures import drawn
from reference_pages import write_reference

ROOT = Path(__file__).resolve().parents[2]
IMAGES = (".svg", ".png")
LANGUAGES = {".py": "python", ".mlir": "mlir", ".toml": "toml", ".c": "c", ".h": "c"}
"""The files that pages about folders show."""


def write_sources(target: Path) -> None:
    """Write what Sphinx reads to a folder."""
    written = set(written_pages())
    for page in sorted(written):
        write_page(target, page, written)
    for name, text in {**write_reference(), **dialect_pages()}.items():
        page = f"reference/{name}.md"
        _write(target / page, below_title(text, about(page, text)))
    with (target / "index.md").open("a") as home:
        home.write(contents())


def write_page(target: Path, page: str, written: set[str]) -> None:
    """Copy a page with what it shows; links to files that are no pages lead to pages that show them."""

    def change(link: str) -> str:
        path, anchor = resolved(page, link)
        if Path(path).suffix in IMAGES:
            (target / path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / path, target / path)
        elif path not in written:
            _write(target / "sources" / f"{path}.md", source_page(path))
            path = f"sources/{path}.md"
        there = relpath(staged(path), Path(staged(page)).parent)
        return f"{there}#{anchor}" if anchor else there

    text = (ROOT / page).read_text()
    lines = [about(page, text)]
    if page in NOTEBOOKS:
        (target / page).parent.mkdir(parents=True, exist_ok=True)
        (target / page).with_suffix(".ipynb").write_text(make_notebook(page))
        lines.append(f"{{download}}`This page as a Jupyter notebook <{name_of(page)}>`")
    text = below_title(text, *lines)
    text = drawn(text)
    _write(target / staged(page), relinked(text, change))


def below_title(text: str, *lines: str) -> str:
    """Return a page with lines below its title, each a paragraph."""
    title, _, rest = text.partition("\n")
    return "\n\n".join([title, *lines, rest.lstrip("\n")])


def staged(page: str) -> str:
    """Return the name of a page of the repository on the site."""
    return "index.md" if page == HOME else page


def source_page(path: str) -> str:
    """Return a page that shows a file, or the files of a folder."""
    top = ROOT / path
    files = [top] if top.is_file() else sorted(f for f in top.rglob("*") if f.suffix in LANGUAGES)
    parts = [f"---\norphan: true\n---\n\n# {path}\n"]
    for file in files:
        heading = f"## {file.relative_to(top)}\n\n" if file != top else ""
        parts.append(f"{heading}`````{LANGUAGES.get(file.suffix, 'text')}\n{file.read_text()}`````\n")
    return "\n".join(parts)


def contents() -> str:
    """Return the table of contents, as the home page has it."""
    parts = [
        "\n".join(["```{toctree}", ":hidden:", f":caption: {title}", "", *map(entry, pages), "```"])
        for title, pages in NAVIGATION.items()
    ]
    return "\n" + "\n\n".join(parts) + "\n"


def entry(page: str) -> str:
    """Return the line of a page in a table of contents."""
    return f"{TASKS[page]} </{page}>" if page in TASKS else f"/{page}"


def _write(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


def build(target: Path, pyodide: Path | None = None) -> int:
    """Make `html` in a folder, with Pyodide from another one; return the exit code."""
    sources, html = target / "source", target / "html"
    if wrong := broken(ROOT, written_pages()):
        return _report(f"leads nowhere: {link}" for link in wrong)
    for folder in (sources, html):
        shutil.rmtree(folder, ignore_errors=True)
    write_sources(sources)
    here = Path(__file__).parent
    options = ["-q", "-W", "--keep-going", "-c", str(here), "-d", str(target / "doctrees")]
    command = [sys.executable, "-m", "sphinx", *options, str(sources), str(html)]
    code = subprocess.run(command, cwd=here, check=False).returncode
    if pyodide is not None and not code:
        add_pyodide(pyodide, html / "_static", target / "packages")
    return _report(mistakes(html)) or code


def _report(found: Iterable[str]) -> int:
    """Print lines about what is wrong; return 1 if there are any."""
    lines = list(found)
    print(*lines, sep="\n", end="\n" if lines else "", file=sys.stderr)
    return int(bool(lines))


def main() -> int:
    parser = argparse.ArgumentParser(description="Builds the documentation site.")
    parser.add_argument("--output", type=Path, default=ROOT / "build" / "docs", metavar="DIR")
    parser.add_argument("--pyodide", type=Path, metavar="DIR", help="run cells in the page, by the Pyodide in DIR")
    args = parser.parse_args()
    output: Path = args.output
    # The width of what the tools print, and no colours.
    os.environ |= {"COLUMNS": "100", "NO_COLOR": "1"}
    code = build(output.resolve(), args.pyodide)
    if not code:
        print(output / "html" / "index.html")
    return code


if __name__ == "__main__":
    sys.exit(main())
