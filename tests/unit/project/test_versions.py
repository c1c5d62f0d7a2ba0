"""The version, what relex runs with, and what the pages say of both."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from relex.runtime.container import VERSION

ROOT = Path(__file__).parents[3]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
CHANGELOG = (ROOT / "CHANGELOG.md").read_text()
PAGE = (ROOT / "docs" / "versions.md").read_text()


def cells(page: str, row: str) -> list[str]:
    """The other cells of the row that begins so."""
    (found,) = re.findall(rf"^\| {re.escape(row)} \| (.*) \|$", page, re.MULTILINE)
    return found.split(" | ")


def test_the_version_is_the_last_that_was_released() -> None:
    released = re.findall(r"^## \[(\d+\.\d+\.\d+)\] - \d{4}-\d{2}-\d{2}$", CHANGELOG, re.MULTILINE)
    assert released[0] == PROJECT["version"]
    assert released == sorted(released, key=lambda version: [*map(int, version.split("."))], reverse=True)
    assert CHANGELOG.index("## [Unreleased]") < CHANGELOG.index(f"## [{released[0]}]")


def test_the_matrix_is_what_the_package_asks_for() -> None:
    prefix = "Programming Language :: Python :: 3."
    versions = [c.removeprefix(prefix[:-2]) for c in PROJECT["classifiers"] if c.startswith(prefix)]
    assert cells(PAGE, "Python")[0] == ", ".join(versions)
    assert PROJECT["requires-python"] == f">={versions[0]}"
    makefile = (ROOT / "Makefile").read_text()
    assert re.findall(r"^PYTHONS := (.*)$", makefile, re.MULTILINE) == [" ".join(versions)]
    oldest, newest = cells(PAGE, "xDSL")[0].split(", ")
    (xdsl,) = [text for text in PROJECT["dependencies"] if text.startswith("xdsl")]
    major, minor = newest.split(".")
    assert xdsl == f"xdsl[llvm]>={oldest},<{major}.{int(minor) + 1}"
    (numpy,) = [text for text in PROJECT["dependencies"] if text.startswith("numpy")]
    assert cells(PAGE, "NumPy")[0] == f"{numpy.removeprefix('numpy>=')} and newer"
    (torch,) = [t for t in PROJECT["optional-dependencies"]["torch"] if t.startswith("torch")]
    assert cells(PAGE, "PyTorch")[0] == f"{torch.removeprefix('torch>=')} and newer"


def test_formats_of_saved_executables_are_listed() -> None:
    minor = ".".join(PROJECT["version"].split(".")[:2])
    assert cells(PAGE, minor) == [str(VERSION)]


def test_the_changelog_is_short() -> None:
    """Some ten entries for a version, each of a few lines: pages and results have the rest. Before a release,
    there may be some more."""
    for version in re.split(r"^## ", CHANGELOG, flags=re.MULTILINE)[1:]:
        entries = re.findall(r"^- (?:.|\n  )*", version, re.MULTILINE)
        assert len(entries) <= (20 if version.startswith("[Unreleased]") else 12), version[:20]
        assert all(entry.count("\n") < 4 for entry in entries)


def test_the_recipe_for_conda_is_what_the_package_asks_for() -> None:
    recipe = (ROOT / "recipe" / "meta.yaml").read_text()
    assert f'version: "{PROJECT["version"]}"' in recipe
    assert f'summary: "{PROJECT["description"]}"' in recipe
    scripts = dict(re.findall(r"^    - (relex-\w+) = (\S+)$", recipe, re.MULTILINE))
    assert scripts == PROJECT["scripts"]
    listed = {line.replace(" ", "") for line in re.findall(r"^    - (.*)$", recipe, re.MULTILINE)}
    assert {text.replace("[llvm]", "") for text in PROJECT["dependencies"]} - listed == {"llvmlite"}
    assert f"python{PROJECT['requires-python']}" in listed
    assert any(text.startswith("llvmlite>=") for text in listed)


@pytest.mark.parametrize("workflow", ["ci", "site"])
def test_workflows_run_what_there_is(workflow: str) -> None:
    text = (ROOT / ".github" / "workflows" / f"{workflow}.yml").read_text()
    makefile = (ROOT / "Makefile").read_text()
    commands = re.findall(r"- run: (\S+)(?: (\S+))?$", text, re.MULTILINE)
    assert commands
    for command, target in commands:
        assert command in ("make", "git", "|") or (ROOT / command).is_file()
        assert command != "make" or re.search(rf"^{target}:", makefile, re.MULTILINE)
