"""Everything that the README shows is true; its programs and commands are run by test_docs_installed.py."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

from readme import README, ROOT, blocks

from relex.dialects import parse_module
from relex.lowering import LegalizeOpsPass, RelexPipelinePass
from relex.lowering.llvm.object_code import compile_to_assembly
from relex.passes import SetTargetPass


def test_before_and_after() -> None:
    before, after = (parse_module(text) for text in blocks("mlir"))
    assert LegalizeOpsPass()(before).is_structurally_equivalent(after)
    assert len(blocks("mlir")[1].splitlines()) < 25


def test_make_targets() -> None:
    makefile = (ROOT / "Makefile").read_text()
    for target in re.findall(r"make (\w+)", README):
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target


def test_map() -> None:
    table = README.partition("## Map")[2]
    cells = re.findall(r"^\| (`.*?`) \|", table, re.MULTILINE)
    folders = [folder for cell in cells for folder in re.findall("`(.*?)`", cell)]
    assert {"relex_dialects/", "passes/", "lowering/", "tools/", "extras/", "tests/"} <= set(folders)
    for folder in folders:
        assert (ROOT / folder).is_dir(), folder


def test_files_of_strangers() -> None:
    page = (ROOT / "SECURITY.md").read_text()
    tests = re.findall(r"`([\w/]+/test_\w+\.py)`", page)
    assert len(tests) >= 12
    rows = [row for row in re.findall(r"^\| .*", page, re.MULTILINE) if not row.endswith("| test |")]
    assert all("/test_" in row for row in rows)
    for file in tests:
        assert (ROOT / file).is_file(), file


def test_length() -> None:
    assert len(README.splitlines()) <= 160


def test_assembly() -> None:
    """The innermost loop has the instructions, in whatever registers."""
    machine = SetTargetPass("x86_64-unknown-linux-gnu", "haswell")
    found = compile_to_assembly(RelexPipelinePass()(machine(parse_module(blocks("mlir")[0]))))
    shown = [line.split()[0] for line in blocks("asm")[0].splitlines()[:-1]]
    loop = [line.split()[0] for line in found.splitlines() if line.startswith("\t")]
    at = next(i for i in range(len(loop)) if loop[i : i + 24].count("vfmadd231ps") == 12)
    assert set(shown) <= set(loop[at : at + 24])


def test_console(tmp_path: Path) -> None:
    """The commands print the lines that are shown, among others."""
    (tmp_path / "dense.mlir").write_text(blocks("mlir")[0])
    name, *rest = blocks("console")[0].split("$ ")[1:]
    variable, _, value = name.split("#")[0].removeprefix("export").strip().partition("=")
    for part in rest:
        command, *lines = part.splitlines()
        shown = [line.removesuffix("...") for line in lines if line != "..."]
        run = subprocess.run(
            [sys.executable, "-m", "relex", "opt", *shlex.split(command)[1:]],
            cwd=tmp_path,
            env={**os.environ, variable: value},
            capture_output=True,
            text=True,
            check=True,
        )
        for line in shown:
            assert any(printed.startswith(line) for printed in run.stderr.splitlines()), (line, run.stderr)
        assert shown or not run.stderr
