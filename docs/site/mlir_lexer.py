"""Colours for MLIR, which Pygments does not know."""

from __future__ import annotations

from typing import ClassVar

from pygments.lexer import RegexLexer
from pygments.token import Comment, Keyword, Name, Number, Operator, Punctuation, String, Text


class MlirLexer(RegexLexer):
    """The lexical syntax that the dialects have in common."""

    name = "MLIR"
    aliases: ClassVar = ["mlir"]
    tokens: ClassVar = {
        "root": [
            (r"\s+", Text),
            (r"//.*", Comment.Single),
            (r'"(\\.|[^"\\])*"', String),
            (r"[%^][\w.$#-]+", Name.Variable),
            (r'@([\w.$-]+|"[^"]*")', Name.Function),
            (r"[#!][\w.]+", Name.Class),
            (r"\b(tensor|memref|vector)<[\w?]*", Keyword.Type),
            (r"\b([su]?i\d+|b?f\d+\w*|index|none)\b", Keyword.Type),
            (r"\b[a-z]\w*\.[\w.]+", Keyword),
            (r"-?\b(0x[\da-fA-F]+|\d+(\.\d+)?(e[+-]?\d+)?)\b", Number),
            (r"[A-Za-z_]\w*", Name),
            (r"->|::|[=+*<>?:|-]", Operator),
            (r"[()\[\]{},]", Punctuation),
            (r".", Text),
        ]
    }
