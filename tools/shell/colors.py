"""Colors on terminals: whether to use them, and the colors of errors."""

from __future__ import annotations

import os
from typing import TextIO

from relex.dialects.errors import Style, plain

_SEVERITIES = {"error": "31", "internal error": "31", "warning": "35", "remark": "34", "note": "36"}
_CODES = {**{name: f"1;{code}" for name, code in _SEVERITIES.items()}, "place": "1", "message": "1", "caret": "1;32"}
"""ANSI codes of the parts of a diagnostic."""


def is_colored(file: TextIO) -> bool:
    """Return whether to write colors to a file: to terminals, unless the environment variable NO_COLOR is set, and with
    FORCE_COLOR to any file. If both are set, there are none, as in Python itself."""
    if os.environ.get("NO_COLOR"):
        return False
    return bool(os.environ.get("FORCE_COLOR")) or (file.isatty() and os.environ.get("TERM") != "dumb")


def colored(text: str, code: str) -> str:
    """Return a text with the ANSI codes for a color before it, and for none after it."""
    return f"\x1b[{code}m{text}\x1b[0m"


def style_for(file: TextIO) -> Style:
    """Return the style of diagnostics that are written to a file."""
    return _colored_part if is_colored(file) else plain


def _colored_part(kind: str, text: str) -> str:
    return colored(text, _CODES[kind]) if kind in _CODES else text
