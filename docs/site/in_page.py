"""Puts Pyodide on the site, with the packages that cells of pages import: see `static/run.js`."""

from __future__ import annotations

import shutil
import tomllib
from importlib import import_module
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def copy_packages(target: Path) -> None:
    """Copy relex and what it needs to a folder; all of it is Python."""
    ignore = shutil.ignore_patterns("__pycache__")
    for name in ("xdsl", "immutabledict", "ordered_set"):
        file = import_module(name).__file__
        assert file is not None
        shutil.copytree(Path(file).parent, target / name, ignore=ignore)
    shutil.copy(str(import_module("typing_extensions").__file__), target)
    folders: dict[str, str] = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["package-dir"]
    for name, source in folders.items():
        shutil.copytree(ROOT / source, target.joinpath(*name.split(".")), ignore=ignore)


def add_pyodide(pyodide: Path, static: Path, scratch: Path) -> None:
    """Copy a folder with Pyodide, as npm installs it or as a release has it, to the static files of a site, and add
    the packages. `scratch` is a folder that is made anew."""
    shutil.copytree(pyodide, static / "pyodide", ignore=shutil.ignore_patterns("*.map", "*.d.ts", "console*", "*.md"))
    shutil.rmtree(scratch, ignore_errors=True)
    copy_packages(scratch)
    shutil.make_archive(str(static / "pyodide" / "relex"), "zip", scratch)
