"""Models of PyTorch where PyTorch is not installed."""

from __future__ import annotations

import re
from importlib import util
from typing import Any

import pytest

from relex.dialects.errors import RelexError
from relex.frontend.torch import from_exported, read_exported


def test_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    found = util.find_spec

    def without_torch(name: str, package: str | None = None) -> Any:
        return None if name == "torch" else found(name, package)

    monkeypatch.setattr("relex.frontend.importing.find_spec", without_torch)
    for read in (from_exported, read_exported):
        with pytest.raises(RelexError, match=re.escape('pip install "relex-compiler[torch]"')):
            read(b"")
