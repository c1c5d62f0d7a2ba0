"""In Pyodide, Python compiled to WebAssembly, as browsers run it, `docs/tour.md` prints what it shows."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tomllib
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
NODE = shutil.which("node")
PYODIDE = Path(sys.prefix, "pyodide", "node_modules", "pyodide", "pyodide.mjs")

RUN = """
import { readFileSync } from "node:fs";
const [pyodide, packages, program] = process.argv.slice(2);
const { loadPyodide } = await import(pyodide);
const python = await loadPyodide({ stdout: (line) => console.log(line) });
python.mountNodeFS("/packages", packages);
python.runPython("import sys; sys.path.insert(0, '/packages'); sys.dont_write_bytecode = True");
python.runPython(readFileSync(program, "utf8"));
"""


@pytest.fixture
def packages(tmp_path: Path) -> Path:
    """A folder with what a browser would load as wheels: all of it is Python."""
    folder = tmp_path / "packages"
    ignore = shutil.ignore_patterns("__pycache__")
    for name in ("xdsl", "immutabledict", "ordered_set"):
        file = import_module(name).__file__
        assert file is not None
        shutil.copytree(Path(file).parent, folder / name, ignore=ignore)
    shutil.copy(str(import_module("typing_extensions").__file__), folder)
    folders: dict[str, str] = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["package-dir"]
    for name, source in folders.items():
        shutil.copytree(ROOT / source, folder.joinpath(*name.split(".")), ignore=ignore)
    return folder


@pytest.mark.skipif(NODE is None, reason="node was not found")
@pytest.mark.skipif(not PYODIDE.exists(), reason="Pyodide is not installed: make pyodide")
def test_the_tour(packages: Path, tmp_path: Path) -> None:
    assert NODE is not None
    page = (ROOT / "docs" / "tour.md").read_text()
    blocks: list[tuple[str, str]] = re.findall(r"^```(\w+)\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    program, run = tmp_path / "tour.py", tmp_path / "run.mjs"
    program.write_text("".join(text for language, text in blocks if language == "python"))
    run.write_text(RUN)
    command = [NODE, str(run), str(PYODIDE), str(packages), str(program)]
    process = subprocess.run(command, capture_output=True, text=True, check=False)
    assert process.returncode == 0, process.stderr[-2000:]
    assert process.stdout == "".join(text for language, text in blocks if language in ("text", "mlir"))
