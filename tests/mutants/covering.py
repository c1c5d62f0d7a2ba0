"""
Which tests belong to a file of the source.

Names say it: the pass `fuse-ops` is `passes/graph/fuse_ops.py`, its tests are `tests/lit/passes/fuse-ops.mlir` and
`test_fuse_ops.py` in `tests/unit`. A file that has no tests of its own name is tested through the files that import it.
So the tests are ordered by how many imports lie between a file and the one that a test is named after, or imports.
Tests that share rare words with the edited function, such as words of a message, or the name of an op, are near, too.
"""

from __future__ import annotations

import re
import tomllib
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from functools import cache, cached_property
from math import log
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")

NOT_OF_A_FILE = (
    "test_layers",
    "test_packaging",
    "test_installed",
    "test_docs",
    "test_readme",
    "test_demo",
    "test_seeds",
)
"""Tests of the checkout, of what is installed, and of pages: they start other processes or take long."""

WIDE = (
    "tests/unit/end_to_end/test_tiny.py",
    "tests/unit/end_to_end/test_operator_values.py",
    "tests/unit/end_to_end/test_all_levels.py",
    "tests/unit/end_to_end/test_random_graphs.py",
    "tests/unit/reference/test_check_each.py",
    "tests/unit/passes/test_pass_orders.py",
)
"""Tests of everything, for what other tests of a file do not find."""


ALIKE = 6
"""How many tests run early because they speak of the same things as the edited function."""


class Covering:
    """The tests of each file of a tree."""

    def __init__(self, root: Path):
        self.root = root
        settings = tomllib.loads((root / "pyproject.toml").read_text())["tool"]["setuptools"]
        folders: dict[str, str] = settings["package-dir"]
        self.modules = {
            module_name(package, file.relative_to(root / folder)): file
            for package, folder in folders.items()
            for file in sorted((root / folder).rglob("*.py"))
        }
        self.names = {file: name for name, file in self.modules.items()}
        self.named_after = cache(self._named_after)

    def tests(self, file: Path, text: str = "", farthest: int = 3) -> list[tuple[int, Path]]:
        """Return the tests of a source file with their distances: nearest first, where those that are most like a text
        are near, too."""
        found: dict[Path, int] = {}
        for distance, modules in enumerate(self._importers(self.names[file], farthest)):
            for module in sorted(modules):
                for test in self.named_after(module):
                    found.setdefault(test, distance)
                for test in self._importing_tests[module]:
                    found.setdefault(test, distance + 1)
        for test in WIDE:
            found.setdefault(self.root / test, farthest + 1)
        for test in self.alike(text)[:ALIKE]:
            found[test] = min(found.get(test, 1), 1)
        # Small ones before large ones.
        return sorted(((d, test) for test, d in found.items()), key=lambda pair: (pair[0], pair[1].stat().st_size))

    def alike(self, text: str) -> list[Path]:
        """Return the tests that share words with a text: those first that share many that are rare in tests."""
        wanted = words_of(text)
        weight = {word: log(len(self._words) / self._frequency[word]) for word in wanted if self._frequency[word]}
        scores = {
            test: sum(weight[word] for word in wanted & words) / len(words) ** 0.25
            for test, words in self._words.items()
        }
        return sorted((test for test, score in scores.items() if score), key=lambda test: -scores[test])

    @cached_property
    def _words(self) -> dict[Path, set[str]]:
        """The words of each test."""
        return {test: words_of(test.read_text()) for test in (*self._lit, *self._unit)}

    @cached_property
    def _frequency(self) -> Counter[str]:
        """How many tests have each word."""
        return Counter(word for words in self._words.values() for word in words)

    def _importers(self, module: str, farthest: int) -> Iterator[set[str]]:
        """Yield the module, the modules that import it, those that import these, and so on."""
        met = level = {module}
        for _ in range(farthest + 1):
            yield level
            level = {importer for known in level for importer in self._importing_modules[known]} - met
            met = met | level

    def _named_after(self, module: str) -> list[Path]:
        """Return the tests with the name of a module, and the tests of its folder where it has a folder of tests."""
        *_, folder, stem = module.split(".")
        lit = re.compile(rf"{re.escape(stem.replace('_', '-'))}(-.*)?")
        unit = re.compile(rf"test_(.*_)?{re.escape(stem)}(_.*)?")
        found = [test for test in self._lit if lit.fullmatch(test.stem)]
        found += [test for test in self._unit if unit.fullmatch(test.stem)]
        if module.startswith("relex.dialects."):
            found += [test for test in self._lit if test.parent.name == folder]
        return found

    @cached_property
    def _lit(self) -> list[Path]:
        return sorted((self.root / "tests" / "lit").rglob("*.mlir"))

    @cached_property
    def _unit(self) -> list[Path]:
        # Where PyTorch is not installed, its tests find nothing.
        folders = [
            self.root / "tests" / "unit",
            *sorted({*self.root.glob("extras/*/tests")} - {self.root / "extras/torch/tests"}),
        ]
        files = [file for folder in folders for file in folder.rglob("test_*.py")]
        return sorted(file for file in files if file.stem not in NOT_OF_A_FILE)

    @cached_property
    def _importing_modules(self) -> defaultdict[str, set[str]]:
        """The modules that import each module."""
        # What `relex.passes` and the like import is everything, and late.
        found = self._inverse((name, file) for name, file in self.modules.items() if name.count(".") > 1)
        for name in self.modules:
            # The modules of a package with a table enter something there.
            if self._has_table(package := name.rpartition(".")[0]):
                found[name].add(package)
        return found

    @cached_property
    def _importing_tests(self) -> defaultdict[str, set[Path]]:
        """The tests that import each module."""
        return self._inverse((file, file) for file in self._unit)

    def _inverse(self, files: Iterable[tuple[T, Path]]) -> defaultdict[str, set[T]]:
        found: defaultdict[str, set[T]] = defaultdict(set)
        for key, file in files:
            for module in self._imports(file):
                found[module].add(key)
        return found

    def _imports(self, file: Path) -> Iterator[str]:
        """Yield the modules that a file imports; where it imports a name of a package, the module that defines it."""
        for package, block, line in IMPORT.findall(file.read_text()):
            for name in re.findall(r"(?<!\bas )\b(?!as\b)\w+", block or line):
                if f"{package}.{name}" in self.modules:
                    yield f"{package}.{name}"
                elif package in self.modules and self.modules[package].name != "__init__.py":
                    yield package
                elif self._has_table(package):
                    yield package
                else:
                    yield from self._definitions[name] or [package]

    def _has_table(self, package: str) -> bool:
        return package.count(".") > 1 and package in self._with_tables

    @cached_property
    def _with_tables(self) -> set[str]:
        """The packages whose modules enter something into a table."""
        return {name.rpartition(".")[0] for name in self.modules if name.endswith("_table")}

    @cached_property
    def _definitions(self) -> defaultdict[str, list[str]]:
        """The modules that define each name."""
        found: defaultdict[str, list[str]] = defaultdict(list)
        for module, file in self.modules.items():
            for name in DEFINITION.findall(file.read_text()):
                found[name].append(module)
        return found


def words_of(text: str) -> set[str]:
    """Return the words of a text in small letters; names such as `AllocaScopeOp` have several."""
    return {word.lower() for word in re.findall(r"[A-Z]?[a-z]{2,}|[A-Z]{2,}", text)}


IMPORT = re.compile(r"^ *from (relex[\w.]*) import (?:\(([^)]*)\)|(.*))", re.MULTILINE)
"""The package, and names in parentheses or up to the end of the line."""

DEFINITION = re.compile(r"^(?:(?:class|def) )?(\w+)(?=[(:]|: .* = | = )", re.MULTILINE)
"""The name of a class, a function or a variable of a module."""


def module_name(package: str, file: Path) -> str:
    """Return the name by which a file of a package is imported."""
    parts = file.with_suffix("").parts
    return ".".join([package, *(parts[:-1] if parts[-1] == "__init__" else parts)])
