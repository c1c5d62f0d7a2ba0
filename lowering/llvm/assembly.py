"""Assembly by function."""

from __future__ import annotations

import re

from relex.dialects.target.machine import INTERNAL_PREFIX

_LABEL = re.compile(r'^("?)([\w.$-]+)\1:')
_DIRECTIVE = re.compile(r"\s*\.(?!L)(?:p2align|cfi_|type|size|globl|section|text|file|ident|addrsig|weak|hidden)")


def split_assembly(text: str) -> dict[str, str]:
    """Return the instructions of each function in a file of assembly, with their labels, by the names of the functions
    in the LLVM dialect."""
    found: dict[str, list[str]] = {}
    body: list[str] | None = None
    is_code = False
    for line in text.splitlines():
        if re.match(r"\s*\.(text|section)", line):
            is_code, body = ".text" in line, None
        label = _LABEL.match(line)
        if is_code and label and not label[2].startswith(".L"):
            body = found.setdefault(label[2], [])
        elif re.match(r"\s*\.size|\.Lfunc_end", line):
            body = None
        elif body is not None and not _DIRECTIVE.match(line):
            body.append(line)
    return {name.removeprefix(INTERNAL_PREFIX): "\n".join(lines) for name, lines in found.items() if lines}
