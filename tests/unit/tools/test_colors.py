"""Errors of the tools in color: on terminals, and as NO_COLOR and FORCE_COLOR say."""

from __future__ import annotations

import io
import re
import sys

import pytest

from relex.dialects.errors import CompileError, Diagnostic, InternalError
from relex.tools.campaign import relex_fuzz
from relex.tools.learn import relex_learn
from relex.tools.opt import relex_opt
from relex.tools.run import relex_run
from relex.tools.shell.colors import is_colored, style_for
from relex.tools.tuning import relex_tune

TOOLS = {
    tool.__name__.rpartition(".")[2]: tool.main for tool in (relex_fuzz, relex_learn, relex_opt, relex_run, relex_tune)
}


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    for variable in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    return Terminal()


def plain(text: str) -> str:
    return re.sub(r"\x1b\[[\d;]*m", "", text)


@pytest.mark.parametrize(
    ("variables", "on_terminal", "elsewhere"),
    [
        ({}, True, False),
        ({"NO_COLOR": "1"}, False, False),
        ({"NO_COLOR": ""}, True, False),
        ({"FORCE_COLOR": "1"}, True, True),
        ({"FORCE_COLOR": ""}, True, False),
        ({"FORCE_COLOR": "1", "NO_COLOR": "1"}, False, False),
        ({"TERM": "dumb"}, False, False),
        ({"TERM": "dumb", "FORCE_COLOR": "1"}, True, True),
    ],
    ids=str,
)
def test_variables(
    variables: dict[str, str], on_terminal: bool, elsewhere: bool, terminal: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert is_colored(terminal) == on_terminal
    assert is_colored(io.StringIO()) == elsewhere


def test_parts_of_a_diagnostic(terminal: Terminal) -> None:
    style = style_for(terminal)
    error = Diagnostic("expected a", "f.mlir", 3, 2, "\t]", notes=("b",))
    assert error.text(style) == (
        "\x1b[1mf.mlir:3:2:\x1b[0m \x1b[1;31merror:\x1b[0m \x1b[1mexpected a\x1b[0m\n"
        "\t]\n\t\x1b[1;32m^\x1b[0m\n\x1b[1;36mnote:\x1b[0m b"
    )
    assert error.text(style_for(io.StringIO())) == str(error)
    assert "\x1b[1;35mwarning:\x1b[0m" in Diagnostic("a", severity="warning").text(style)
    both = CompileError([error, error])
    assert both.text(style) == f"{error.text(style)}\n{error.text(style)}"
    assert "\x1b" not in str(both)
    internal = InternalError(error)
    assert plain(internal.text(style)) == str(internal)
    assert str(internal).endswith("\nnote: run with --debug for the Python traceback")


@pytest.mark.parametrize("tool", TOOLS)
def test_errors_of_all_tools(tool: str, terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    printed: dict[bool, str] = {}
    for file in (terminal, io.StringIO()):
        monkeypatch.setattr(sys, "stderr", file)
        assert TOOLS[tool](["--none"]) == 1
        printed[file.isatty()] = file.getvalue()
    assert printed[True].startswith(f"\x1b[1m{tool.replace('_', '-')}:\x1b[0m \x1b[1;31merror:\x1b[0m \x1b[1m")
    assert plain(printed[True]) == printed[False]
    assert "\x1b" not in printed[False]
