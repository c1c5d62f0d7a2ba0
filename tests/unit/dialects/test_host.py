"""The machine that a process runs on, with tiles only where the system permits them."""

from __future__ import annotations

import sys

import pytest

from relex.dialects.errors import RelexError
from relex.dialects.target import machine
from relex.dialects.target.llvm_binding import llvm
from relex.dialects.target.machine import ObjectCode, Target, may_use_tiles
from relex.runtime.loader import check_runs_here

FEATURES = {"avx2": True, "amx-tile": True, "amx-int8": True, "amx-bf16": True, "amx-fp16": False, "sse4a": False}


@pytest.fixture
def host_with_tiles(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """A processor with tiles. The list has the answers of the system, the last one of which is given."""
    answers = [True]
    monkeypatch.setattr(llvm, "get_host_cpu_features", lambda: FEATURES)
    monkeypatch.setattr(machine, "may_use_tiles", lambda: answers.pop())
    return answers


def host() -> Target:
    """The machine, found anew."""
    return Target.host.__wrapped__(Target)  # pyright: ignore[reportFunctionMemberAccess]


def test_permitted(host_with_tiles: list[bool]):
    assert host().enabled == {"avx2", "amx-tile", "amx-int8", "amx-bf16"}
    assert not host_with_tiles


def test_denied(host_with_tiles: list[bool]):
    host_with_tiles[:] = [False]
    found = host()
    assert found.enabled == {"avx2"}
    assert "-amx-tile" in found.features.split(",")


def test_asked_only_where_there_are_tiles(host_with_tiles: list[bool], monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(llvm, "get_host_cpu_features", lambda: {**FEATURES, "amx-tile": False})
    assert "avx2" in host().enabled
    assert host_with_tiles == [True]


def test_code_that_was_denied_tiles_is_refused(host_with_tiles: list[bool], monkeypatch: pytest.MonkeyPatch):
    host_with_tiles[:] = [False]
    found = host()
    monkeypatch.setattr(Target, "host", lambda: found)
    target = Target(found.triple, "sapphirerapids")
    with pytest.raises(
        RelexError, match="code for cpu 'sapphirerapids' needs what this machine lacks: amx-int8, amx-tile"
    ):
        check_runs_here(ObjectCode((b"",), (), (), {}, target, frozenset({"avx2", "amx-tile", "amx-int8"})))


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="asks Linux")
def test_the_system_answers():
    """It gives the permission on processors that have tiles alone, and again if it has given it before."""
    has_tiles = bool(llvm.get_host_cpu_features().get("amx-tile"))
    assert may_use_tiles() in ([True, False] if has_tiles else [False])
    assert may_use_tiles() == may_use_tiles()


def test_other_systems_do_not(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sys, "platform", "win32")
    assert not may_use_tiles()
