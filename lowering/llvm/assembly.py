"""Assembly by function."""

from __future__ import annotations

import re
from collections.abc import Sequence

from relex.dialects.target.machine import INTERNAL_PREFIX

_LABEL = re.compile(r'^("?)([\w.$-]+)\1:')
_DIRECTIVE = re.compile(r"\s*\.(?!L)(?:p2align|cfi_|type|size|globl|section|text|file|ident|addrsig|weak|hidden)")


_LINE = re.compile(r"\s*\.loc\s+\d+\s+(\d+)")
_DEBUG = re.compile(r"\.L(tmp|func_begin|sec_end)\d+:|\s*\.(loc|cv_)|\s*#DEBUG_VALUE")

Lines = Sequence[tuple[str, int]]
"""Lines of assembly, and for each the number of the line that it comes from; 0 if that is unknown."""


def split_assembly(text: str) -> dict[str, str]:
    """Return the instructions of each function in a file of assembly, with their labels, by the names of the functions
    in the LLVM dialect."""
    return {name: "\n".join(line for line, _ in lines) for name, lines in lines_of_assembly(text).items()}


def lines_of_assembly(text: str) -> dict[str, Lines]:
    """Return what `split_assembly` does, as lines, with the numbers that directives `.loc` state."""
    found: dict[str, list[tuple[str, int]]] = {}
    body: list[tuple[str, int]] | None = None
    is_code, number = False, 0
    for line in text.splitlines():
        if re.match(r"\s*\.(text|section)", line):
            is_code, body = ".text" in line, None
        label = _LABEL.match(line)
        if is_code and label and not label[2].startswith(".L"):
            body, number = found.setdefault(label[2], []), 0
        elif re.match(r"\s*\.size|\.Lfunc_end", line):
            body = None
        elif stated := _LINE.match(line):
            number = int(stated[1])
        elif body is not None and not _DIRECTIVE.match(line) and not _DEBUG.match(line):
            body.append((line, number))
    return {name.removeprefix(INTERNAL_PREFIX): lines for name, lines in found.items() if lines}
