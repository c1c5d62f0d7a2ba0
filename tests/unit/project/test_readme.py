"""Everything that the README shows is true; its programs and commands are run by test_docs_installed.py."""

from __future__ import annotations

import re

from readme import README, ROOT, blocks

from relex.dialects import parse_module
from relex.lowering import LegalizeOpsPass


def test_before_and_after() -> None:
    before, after = (parse_module(text) for text in blocks("mlir"))
    assert LegalizeOpsPass()(before).is_structurally_equivalent(after)
    assert len(blocks("mlir")[1].splitlines()) < 25


def test_make_targets() -> None:
    makefile = (ROOT / "Makefile").read_text()
    for target in re.findall(r"make (\w+)", README):
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target


def test_map() -> None:
    folders = re.findall(r"^\| `([\w/]+)` ", README, re.MULTILINE)
    assert folders
    for folder in folders:
        assert (ROOT / folder).is_dir(), folder
