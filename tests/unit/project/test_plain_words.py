"""The words that `make lint` refuses are found in prose, wherever a line ends, and nowhere else."""

import plain_words
import pytest
from plain_words import Found, refused_in

BETTER = plain_words.WORDS["nothing but"]
"""What to write instead of the words in these tests."""

PROSE = {
    "docstring": '"""Zeros.\n\nThey hold nothing\n    but zeros.\n"""',
    "comment": "x = 1\n\n# This holds nothing\n# but zeros.",
    "comment after code": "x = 1\n\nx = 2  # Nothing but a number.",
    "message": 'fail(\n    op,\n    f"{x} has nothing"\n    f" but {y}"\n)',
    "one quote": "\n\nfail('expected nothing but it')",
    "attribute": 'x: int = 1\n\n"""Nothing but one."""',
}


@pytest.mark.parametrize("text", PROSE.values(), ids=PROSE)
def test_prose_of_a_program(text: str) -> None:
    assert [(found.line, found.better) for found in refused_in("passes/a.py", text)] == [(3, BETTER)]


@pytest.mark.parametrize("text", ["nothing = but", "x = nothing\nbut = 1", "nothing  # but", '"nothing", "but"'])
def test_code_is_no_prose(text: str) -> None:
    assert not [*refused_in("passes/a.py", text)]


def test_programs_in_tests_are_no_prose() -> None:
    text = 'PROGRAM = """\n// nothing but a program\n"""\n'
    assert not [*refused_in("tests/unit/test_a.py", text)]
    assert [*refused_in("passes/a.py", text)]
    assert [*refused_in("tests/unit/test_a.py", f"{text}# nothing but a comment\n")]


def test_pages_without_their_code() -> None:
    text = "# Nothing\n\nA `nothing but` is\n\n```python\n# nothing but code\n```\n\n* Nothing\n  but a list.\n"
    assert [*refused_in("docs/a.md", text)] == [Found(9, "Nothing but", BETTER)]


def test_comments_of_mlir() -> None:
    text = "// RUN: nothing but\n// CHECK-NEXT: nothing but\n// It holds nothing\n// but %c.\ncall // nothing but\n"
    assert [*refused_in("tests/lit/a.mlir", text)] == [Found(3, "nothing but", BETTER)]


@pytest.mark.parametrize("word", ["the open sizes", "a batch that is open", "those of x", "They suit.", "values meet"])
def test_words(word: str) -> None:
    assert [*refused_in("docs/a.md", word)]


@pytest.mark.parametrize(
    "word", ["open the file", "an open table", "those off", "a suite", "suitable", "to meet a goal"]
)
def test_other_words(word: str) -> None:
    assert not [*refused_in("docs/a.md", word)]


def test_what_is_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(plain_words.ALLOWED, ("docs/a.md", "nothing but"), "a quotation")
    assert not [*refused_in("docs/a.md", "nothing but")]
    assert [*refused_in("docs/b.md", "nothing but")]


def test_what_is_allowed_still_stands_there() -> None:
    for name, phrase in plain_words.ALLOWED:
        text = (plain_words.ROOT / name).read_text()
        assert phrase in {found.phrase for found in plain_words.refused(plain_words.text_of(name, text))}, (
            name,
            phrase,
        )


def test_files_are_found() -> None:
    names = {*plain_words.files([])}
    assert {"README.md", "docs/tour.md", "passes/driver/running.py", "tests/unit/project/test_plain_words.py"} <= names
    assert {*plain_words.files(["docs"])} < names
    assert "CHANGELOG.md" not in names
