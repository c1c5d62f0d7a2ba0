"""The Python text of a program: parsed, never executed, with a source location for every error."""

from __future__ import annotations

import ast
import warnings

from xdsl.dialects.builtin import FileLineColLoc, IntAttr, StringAttr

from relex.dialects.errors import CompileError, Diagnostic, expect_kind

_MAX_SHOWN = 60


class ScriptError(Exception):
    """An error in a part of a script."""

    def __init__(self, node: ast.AST, message: str):
        super().__init__(message)
        self.node = node


def shown(node: ast.AST) -> str:
    """Return a part of a script for error messages: its beginning, on one line."""
    text = ast.unparse(node).replace("'", '"').split("\n")[0]
    return text if len(text) <= _MAX_SHOWN else f"{text[:_MAX_SHOWN]}..."


def name_of(node: ast.AST) -> str:
    """Return the name that a part of a script is. Raises `ScriptError` for anything else."""
    if not isinstance(node, ast.Name):
        raise ScriptError(node, f"expected a name, found '{shown(node)}'")
    return node.id


class ScriptSource:
    """The text of a script and its syntax tree. `line_offset` is the number of lines before it in its file.

    Raises `CompileError` for text that is not Python.
    """

    def __init__(self, text: str, name: str = "<string>", line_offset: int = 0):
        expect_kind(text, str, "the text of a script")
        self.name = name
        self.text = text
        self._file = StringAttr(name)
        self._lines = text.split("\n")
        self.line_offset = line_offset
        self.tree = self._parse(text)

    def _parse(self, text: str) -> ast.Module:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # About invalid escape sequences.
                return ast.parse(text, self.name)
        except SyntaxError as e:
            line = min(max(e.lineno or 1, 1), len(self._lines))
            raise CompileError(self._at(line, max(e.offset or 1, 1), f"expected Python, found {e.msg}")) from e
        except (RecursionError, MemoryError) as e:
            raise CompileError(self._at(1, 1, "expected a program that nests less deeply")) from e
        except ValueError as e:
            raise CompileError(self._at(1, 1, f"expected Python, found {e}")) from e

    def diagnose(self, error: ScriptError) -> Diagnostic:
        """Return the diagnostic for an error."""
        line, column = self._position(error.node)
        return self._at(line, column, str(error))

    def location(self, node: ast.AST) -> FileLineColLoc:
        """Return the location of a part of the script, for an op."""
        line, column = self._position(node)
        return FileLineColLoc(self._file, IntAttr(line + self.line_offset), IntAttr(column))

    def _at(self, line: int, column: int, message: str) -> Diagnostic:
        return Diagnostic(message, self.name, line + self.line_offset, column, self._lines[line - 1].rstrip("\r"))

    def _position(self, node: ast.AST) -> tuple[int, int]:
        """Return the line and column in this text, both counted from 1; Python counts columns in bytes, from 0."""
        line: int = getattr(node, "lineno", 1)
        offset: int = getattr(node, "col_offset", 0)
        before = self._lines[line - 1].encode()[:offset]
        return line, len(before.decode(errors="ignore")) + 1
