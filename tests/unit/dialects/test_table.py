"""Open tables: what is found in them, and what they refuse."""

from __future__ import annotations

from pathlib import Path

import pytest

from relex.dialects.errors import DuplicateError, RelexError
from relex.dialects.relex import Operator
from relex.dialects.table import TABLES, Table, find, flat
from relex.lowering.legalizations import LEGALIZATIONS, legalizes
from relex.lowering.te import Tensor


class Base: ...


class Derived(Base): ...


class Other: ...


@pytest.fixture(autouse=True)
def no_more_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    """The tables of a test are in nobody's way."""
    monkeypatch.setattr("relex.dialects.table.TABLES", [])


def test_an_entry_of_the_nearest_class() -> None:
    table = Table[type, str]("test")
    table.add("base", Base)
    assert (table.find(Base()), table.find(Derived()), table.find(Other())) == ("base", "base", None)
    table.add("derived", Derived)
    assert (table.find(Base()), table.find(Derived())) == ("base", "derived")
    assert find(dict(table), Derived()) == "derived"


def test_nothing_is_overwritten_by_accident() -> None:
    table = Table[type, object]("test")

    @table.rule(Base, Derived)
    def first() -> None: ...

    def second() -> None: ...

    expected = r"^test: expected one entry for test_table.Derived, found test_.*first \(line \d+\) and test_.*second"
    with pytest.raises(DuplicateError, match=expected):
        table.rule(Other, Derived)(second)
    assert issubclass(DuplicateError, RelexError)
    assert issubclass(DuplicateError, ValueError)
    # All or nothing.
    assert dict(table) == {Base: first, Derived: first}
    table[Derived] = second
    assert dict(table) == {Base: first, Derived: second}


def test_a_file_that_is_executed_twice_makes_its_entries_once(tmp_path: Path) -> None:
    table = Table[type, object]("test")
    text = "@table.rule(Base)\ndef rule(): ...\n"
    for _ in range(2):
        exec(compile(text, str(tmp_path / "a.py"), "exec"), {"table": table, "Base": Base, "__name__": "a"})
    with pytest.raises(DuplicateError):
        exec(compile(text, str(tmp_path / "b.py"), "exec"), {"table": table, "Base": Base, "__name__": "b"})


def test_tables_made_of_tables() -> None:
    first, second = Table[type, str]("first"), Table[type, str]("second")
    whole = Table[type, str]("whole", first, second)
    first.add("of the first", Base)
    second.add("of the second", Base)
    assert whole.find(Derived()) == "of the second"
    with pytest.raises(DuplicateError, match=r"whole: .* found 'of the second' and 'third'"):
        whole.add("third", Base)
    assert flat(whole) == dict(whole)
    whole[Base] = "of the whole"
    assert flat(whole) == dict(whole)
    assert (first[Base], second[Base], whole[Base]) == ("of the first", "of the second", "of the whole")


def test_an_entry_that_is_put_back_is_whose_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    table = Table[type, object]("test")
    table.add(first := object(), Base)
    with monkeypatch.context() as patch:
        patch.setitem(table, Base, object())
        patch.setitem(table, Other, object())
        assert {name.partition(".")[0] for name in table.entered_by.values()} == {"_pytest"}
        assert table.of_others == {Base, Other}
    assert table[Base] is first
    assert table.entered_by == {Base: __name__}
    assert table.of_others == {Base}


def test_entries_of_relex_are_not_of_others() -> None:
    table = Table[type, object]("test")
    table.add(object(), Base)
    exec("table[Base] = object()", {"table": table, "Base": Base, "__name__": "relex.passes"})
    assert not table.of_others
    table[Base] = object()
    assert table.of_others == {Base}
    del table[Base]
    assert not table.of_others


def identity(op: Operator, x: Tensor) -> Tensor:
    return x


def test_all_tables_are_known() -> None:
    assert any(table is LEGALIZATIONS for table in TABLES)
    kind = next(iter(LEGALIZATIONS))
    with pytest.raises(DuplicateError, match=r"legalizations: .*relex\.lowering\.legalizations\..* and test_table\."):
        legalizes(kind)(identity)
