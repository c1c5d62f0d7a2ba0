"""The code of relex's own LLVM IR, which is compiled once for all processes of a user."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from own_cache import use_own_cache

from relex.runtime import builtin_code
from relex.runtime.builtin_code import SUFFIX, machine_code
from relex.runtime.linking import link_ir

ONE = "define i32 @one() { ret i32 1 }"
TWO = "define i32 @two() { ret i32 2 }"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the cache, which does not exist yet."""
    return use_own_cache(tmp_path, monkeypatch)


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What LLVM has compiled."""
    found: list[str] = []
    inner: Callable[[str], bytes] = builtin_code.compiled

    def count(text: str) -> bytes:
        found.append(text)
        return inner(text)

    monkeypatch.setattr(builtin_code, "compiled", count)
    return found


def test_the_second_time_it_is_only_read(folder: Path, compiled: list[str]) -> None:
    code = machine_code(ONE)
    assert machine_code(ONE) == code
    assert machine_code(TWO) != code
    assert compiled == [ONE, TWO]
    assert [path.suffix for path in folder.iterdir()] == [SUFFIX] * 2


def test_it_is_linked(compiled: list[str]) -> None:
    assert [link_ir(ONE, ["one"]).address("one") > 0 for _ in range(2)] == [True, True]
    assert compiled == [ONE]


def test_effort_makes_it_different(compiled: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    machine_code(ONE)
    monkeypatch.setattr(builtin_code, "LEVEL", 0)
    machine_code(ONE)
    assert compiled == [ONE, ONE]


def test_damaged_code_is_compiled_again(folder: Path, compiled: list[str]) -> None:
    code = machine_code(ONE)
    (file,) = folder.iterdir()
    whole = file.read_bytes()
    for damaged in (b"", whole[:-1], whole[:-1] + b"?", code):
        file.write_bytes(damaged)
        assert machine_code(ONE) == code
        assert file.read_bytes() == whole
    assert compiled == [ONE] * 5


def test_nothing_is_kept_if_the_cache_is_off(
    folder: Path, compiled: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RELEX_CACHE", "off")
    assert machine_code(ONE) == machine_code(ONE)
    assert compiled == [ONE, ONE]
    assert not folder.exists()


def test_a_folder_that_others_can_write_is_not_used(folder: Path, compiled: list[str]) -> None:
    folder.mkdir()
    folder.chmod(0o777)
    assert machine_code(ONE) == machine_code(ONE)
    assert compiled == [ONE, ONE]
    assert list(folder.iterdir()) == []


def test_the_folder_of_the_environment_is_used(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RELEX_CACHE", str(tmp_path / "named"))
    machine_code(ONE)
    assert not folder.exists()
    assert len(list((tmp_path / "named").iterdir())) == 1
