"""Errors that comments announce: what they match, and where."""

import pytest

from relex.dialects.errors import CompileError, Diagnostic
from relex.tools.opt.verify_diagnostics import compare, find_expectations
from relex.tools.shell.diagnostics import Source


def differences(text: str, *errors: tuple[int, str]) -> list[str]:
    """What `compare` says of a text with errors at these lines, as `line:column: message`."""
    source = Source("a.mlir", text)
    found = [Diagnostic(message, "a.mlir", line, 3 if line else 0) for line, message in errors]
    return [f"{d.line}:{d.column}: {d.message}" for d in compare(source, found)]


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("x // expected-error {{no luck}}", 1),
        ("x // expected-error{{luck}}", 1),
        ("// expected-error@+1 {{no luck}}\\nx", 2),
        ("x\n\n// expected-error @-2 {{no luck}}", 1),
        ("// expected-error@below {{no luck}}\nx", 2),
        ("x\n// expected-error@above {{no luck}}", 1),
        ("// expected-error@unknown {{no luck}}", 0),
        ("x // expected-error-re {{no {{[luck]+}}}}", 1),
        ("x // expected-error-re {{n{{.}} l{{.*}}k}}", 1),
    ],
)
def test_met(text: str, line: int):
    text = text.replace("\\n", "\n")
    assert differences(text, (line, "really no luck")) == []
    assert differences(text) != []
    assert len(differences(text, (line + 1, "really no luck"))) == 2
    assert len(differences(text, (line, "something else"))) == 2


def test_columns():
    assert differences("x // expected-error@:3 {{a}}", (1, "a")) == []
    assert differences("// expected-error@+1:3 {{a}}\nx", (2, "a")) == []
    assert len(differences("x // expected-error@:4 {{a}}", (1, "a"))) == 2


def test_comments_that_stand_together_speak_of_the_same_line():
    text = "// expected-error@below {{a}}\n// expected-error@below {{b}}\nx\n// expected-error@above {{c}}\n"
    text += "// expected-error@above {{d}}"
    assert differences(text, *((3, message) for message in "dbca")) == []


def test_several_in_one_line():
    text = "x // expected-error {{a}} expected-error {{b}}"
    assert differences(text, (1, "b"), (1, "a")) == []
    assert differences(text, (1, "b")) == ['1:6: expected error "a" was not produced']


def test_each_is_met_once():
    text = "x // expected-error {{a}}"
    assert differences(text, (1, "a"), (1, "a")) == ["1:3: unexpected error: a"]


def test_nothing_but_errors_is_ever_produced():
    assert differences("x // expected-warning {{a}}", (1, "a")) == [
        "1:3: unexpected error: a",
        '1:6: expected warning "a" was not produced',
    ]


def test_braces_in_messages():
    assert differences("x // expected-error {{expected '}'}}", (1, "expected '}'")) == []
    assert differences("x // expected-error {{found {} twice}}", (1, "found {} twice")) == []
    assert differences("x // expected-error {{a.c}}", (1, "abc")) != []


def test_errors_of_other_files_are_unexpected():
    found = Diagnostic("a", "b.mlir", 1, 1)
    assert len(compare(Source("a.mlir", "x // expected-error {{a}}"), [found])) == 2


def test_lines_count_from_the_start_of_the_file():
    (expectation,) = find_expectations(Source("a.mlir", "\nx // expected-error {{a}}", line_offset=10))
    assert (expectation.line, expectation.comment.line, expectation.comment.column) == (12, 12, 6)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("// expected-error@here {{a}}", "expected @+N, @-N, @above, @below or @unknown, found '@here'"),
        ("// expected-error {{a", "expected '}}' at the end of the message"),
        ("// expected-error-re {{a{{(}}}}", "expected a regular expression: "),
    ],
)
def test_comments_that_cannot_be_read(text: str, expected: str):
    with pytest.raises(CompileError) as caught:
        find_expectations(Source("a.mlir", text))
    assert str(caught.value).startswith(f"a.mlir:1:4: error: {expected}")


def test_prose_is_no_expectation():
    assert find_expectations(Source("a.mlir", "// see expected-error and {{x}}")) == []
